//! Which policy holds for a repository: the user's own configuration, then the repository's `checkstone.toml`.
//! Without the latter there is none, unless the user asked for presets by detection.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use gate::policy::{Policy, Problem, ProblemKind, Problems, Source};
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

use crate::environment;
use crate::error::CommandError;
use crate::layout::counted;

pub(crate) const FILE_NAME: &str = "checkstone.toml";

/// A larger file is no policy.
const LARGEST: u64 = 1024 * 1024;

/// A policy file as it was read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PolicyText {
    /// How it is called in messages.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// The texts that make the policy of a repository, in the order in which they apply.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PolicyTexts {
    pub(crate) texts: Vec<PolicyText>,
    /// The repository's own file, where there is one.
    pub(crate) own_file: Option<PathBuf>,
    /// A file is there that cannot be a policy.
    unreadable: Option<Problem>,
}

/// What the files say: the policy, where there is one, and the user's own configuration in any case.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FoundTexts {
    pub(crate) policy: Option<PolicyTexts>,
    pub(crate) user: PolicyTexts,
}

impl PolicyTexts {
    /// `None` where the repository has no policy.
    pub(crate) fn of_repository(root: &Path) -> Option<Self> {
        FoundTexts::read(root).policy
    }
}

impl FoundTexts {
    pub(crate) fn read(root: &Path) -> Self {
        let mut unreadable = None;
        let mut text_of = |name: &str, text: Result<Option<String>, &'static str>| {
            text.unwrap_or_else(|message| {
                unreadable = Some(no_policy(name, message));
                Some(String::new())
            })
        };
        let (user, detect) = match text_of("config.toml", users_text()) {
            Some(text) => split_off_detection(&without_integrations(&text)),
            None => (String::new(), false),
        };
        let own_file = root.join(FILE_NAME);
        let own = text_of(FILE_NAME, inside(root, &own_file).and_then(|path| read(&path)));
        let mut texts = Vec::new();
        if !user.trim().is_empty() {
            texts.push(PolicyText { name: "config.toml".to_owned(), text: user });
        }
        let user = PolicyTexts { texts: texts.clone(), own_file: None, unreadable: unreadable.clone() };
        let (text, own_file) = match own {
            Some(text) => (PolicyText { name: FILE_NAME.to_owned(), text }, Some(own_file)),
            None if detect => match detected_presets(root).as_slice() {
                [] => return Self { policy: None, user },
                presets => {
                    let text = format!("presets = {presets:?}\n");
                    (PolicyText { name: "detected presets".to_owned(), text }, None)
                }
            },
            None => return Self { policy: None, user },
        };
        texts.push(text);
        Self { policy: Some(PolicyTexts { texts, own_file, unreadable }), user }
    }

    /// All there is, a policy or not.
    pub(crate) fn texts(&self) -> &PolicyTexts {
        self.policy.as_ref().unwrap_or(&self.user)
    }

    /// Whether any of the texts could be about autosave. Most are not, and need not be understood for it.
    pub(crate) fn mention_autosave(&self) -> bool {
        let mut texts = self.texts().texts.iter();
        texts.any(|text| text.text.contains("autosave"))
    }
}

impl PolicyTexts {
    /// The policy that a repository with this file would have.
    pub(crate) fn of_file(path: &Path) -> Result<Self, &'static str> {
        let own = read(path)?.ok_or("there is no such file")?;
        let (user, _) = split_off_detection(&without_integrations(&users_text()?.unwrap_or_default()));
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let mut texts = vec![PolicyText { name, text: own }];
        if !user.trim().is_empty() {
            texts.insert(0, PolicyText { name: "config.toml".to_owned(), text: user });
        }
        Ok(Self { texts, own_file: Some(path.to_owned()), unreadable: None })
    }

    pub(crate) fn load(&self) -> Result<Policy, Problems> {
        if let Some(problem) = &self.unreadable {
            return Err(Problems(vec![problem.clone()]));
        }
        let sources: Vec<Source<'_>> =
            self.texts.iter().map(|text| Source { name: &text.name, text: &text.text }).collect();
        Policy::load(&sources)
    }

    /// Whether the text could switch the gate off; only then must it be understood before git is started.
    pub(crate) fn may_switch_off(&self) -> bool {
        self.texts.iter().any(|text| text.text.contains("enabled"))
    }

    /// Whether the text could ask for a snapshot at the start of a turn; only then must it be understood at the prompt.
    pub(crate) fn may_want_snapshots(&self) -> bool {
        self.texts.iter().any(|text| text.text.contains("at_turn_start"))
    }

    /// Whether the gate is switched off here.
    pub(crate) fn switch_off(&self) -> bool {
        self.may_switch_off() && self.load().is_ok_and(|policy| !policy.gate.enabled)
    }
}

fn users_text() -> Result<Option<String>, &'static str> {
    environment::configuration_file().map_or(Ok(None), |path| read(&path))
}

/// The presets whose files lie at the root of a repository.
pub(crate) fn detected_presets(root: &Path) -> Vec<&'static str> {
    let signs: [(&str, &[&str]); 5] = [
        ("rust", &["Cargo.toml"]),
        ("python", &["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "tox.ini"]),
        ("node", &["package.json"]),
        ("go", &["go.mod"]),
        ("make", &["Makefile", "makefile", "GNUmakefile", "justfile", "Justfile"]),
    ];
    let has = |names: &[&str]| names.iter().any(|name| root.join(name).is_file());
    signs.into_iter().filter(|(_, names)| has(names)).map(|(preset, _)| preset).collect()
}

/// `presets = "auto"` is the user's word for detection, and no list of presets.
fn split_off_detection(text: &str) -> (String, bool) {
    let is_auto = |line: &str| line.replace([' ', '\t', '\''], "").replace('"', "").trim() == "presets=auto";
    let detect = text.lines().any(is_auto);
    let rest: String =
        text.split_inclusive('\n').map(|line| if is_auto(line.trim_end()) { "\n" } else { line }).collect();
    (rest, detect)
}

/// What the user says about services outside is no policy, and its tokens must not get into what is recorded with a
/// verdict. The lines stay, empty, so that every other one keeps its number.
fn without_integrations(text: &str) -> String {
    let names_it = |text: &str, next: &[char]| {
        text.strip_prefix("integrations").is_some_and(|rest| rest.trim_start().starts_with(next))
    };
    let mut within = false;
    let mut left = |line: &str| {
        let line = line.trim_start();
        if line.starts_with('[') {
            within = names_it(line.trim_start_matches('[').trim_start(), &['.', ']']);
        }
        !within && !names_it(line, &['.', '='])
    };
    text.split_inclusive('\n').map(|line| if left(line) { line } else { "\n" }).collect()
}

/// A policy that is broken, for commands that need a sound one.
pub(crate) fn mistakes(problems: &Problems) -> CommandError {
    let count = counted(problems.0.len(), "mistake");
    CommandError::usage(format!("the policy has {count}:\n{problems}"))
}

fn no_policy(name: &str, message: &'static str) -> Problem {
    let kind = ProblemKind::BadPath { message };
    Problem { file: name.to_owned(), line: 1, column: 1, found: name.to_owned(), kind }
}

/// A file of the repository, unless a link leads out of it.
pub(crate) fn inside(root: &Path, file: &Path) -> Result<PathBuf, &'static str> {
    if !file.is_symlink() {
        return Ok(file.to_owned());
    }
    let target = fs_err::canonicalize(file).map_err(|_| "the link leads nowhere")?;
    match fs_err::canonicalize(root) {
        Ok(root) if target.starts_with(&root) => Ok(target),
        _ => Err("the link leads out of the repository"),
    }
}

/// `None` where there is no such file. Nothing here waits: a named pipe is refused.
pub(crate) fn read(path: &Path) -> Result<Option<String>, &'static str> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => std::fs::File::from(file),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => return Ok(None),
        Err(_) => return Err("it cannot be opened"),
    };
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Err("it is not a regular file");
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|_| "it cannot be read")?;
    if bytes.len() as u64 > LARGEST {
        return Err("it is larger than 1 MiB");
    }
    String::from_utf8(bytes).map(Some).map_err(|_| "it is not UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_outside_are_no_policy() {
        let text = "presets = [\"rust\"]\nintegrations.linear.token = \"a\"\n[integrations.vercel]\ntoken = \"b\"\n\
                    [gate]\nenabled = true\n[[ integrations . webhook ]]\nurl = \"c\"\n[integrations_of_mine]\nx = 1\n";
        assert_eq!(
            without_integrations(text),
            "presets = [\"rust\"]\n\n\n\n[gate]\nenabled = true\n\n\n[integrations_of_mine]\nx = 1\n"
        );
    }

    #[test]
    fn detection_is_asked_for_in_the_users_own_words() {
        assert_eq!(
            split_off_detection("presets = \"auto\"\n[gate]\nx = 1\n"),
            ("\n[gate]\nx = 1\n".to_owned(), true)
        );
        assert_eq!(
            split_off_detection("presets = [\"rust\"]\n"),
            ("presets = [\"rust\"]\n".to_owned(), false)
        );
    }
}
