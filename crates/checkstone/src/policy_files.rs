//! Which policy holds for a repository: the user's own configuration, then the repository's `checkstone.toml`.
//! Without the latter there is none, unless the user asked for presets by detection.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use gate::policy::{Policy, Problems, Source};
use serde::{Deserialize, Serialize};

use crate::environment;

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
}

impl PolicyTexts {
    /// `None` where the repository has no policy.
    pub(crate) fn of_repository(root: &Path) -> Option<Self> {
        let user = environment::configuration_file().and_then(|path| read(&path));
        let (user, detect) = match user {
            Some(text) => split_off_detection(&text),
            None => (String::new(), false),
        };
        let own_file = root.join(FILE_NAME);
        let own = inside(root, &own_file).and_then(|path| read(&path));
        let mut texts = Vec::new();
        if !user.trim().is_empty() {
            texts.push(PolicyText { name: "config.toml".to_owned(), text: user });
        }
        match own {
            Some(text) => {
                texts.push(PolicyText { name: FILE_NAME.to_owned(), text });
                Some(Self { texts, own_file: Some(own_file) })
            }
            None if detect => {
                let presets = detected_presets(root);
                if presets.is_empty() {
                    return None;
                }
                texts.push(PolicyText {
                    name: "detected presets".to_owned(),
                    text: format!("presets = {presets:?}\n"),
                });
                Some(Self { texts, own_file: None })
            }
            None => None,
        }
    }

    pub(crate) fn load(&self) -> Result<Policy, Problems> {
        let sources: Vec<Source<'_>> =
            self.texts.iter().map(|text| Source { name: &text.name, text: &text.text }).collect();
        Policy::load(&sources)
    }

    /// Whether the text could switch the gate off; only then must it be understood before git is started.
    pub(crate) fn may_switch_off(&self) -> bool {
        self.texts.iter().any(|text| text.text.contains("enabled"))
    }
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

/// A file of the repository, unless a link leads out of it.
fn inside(root: &Path, file: &Path) -> Option<PathBuf> {
    let metadata = fs_err::symlink_metadata(file).ok()?;
    if !metadata.is_symlink() {
        return Some(file.to_owned());
    }
    let (target, root) = (fs_err::canonicalize(file).ok()?, fs_err::canonicalize(root).ok()?);
    target.starts_with(root).then_some(target)
}

fn read(path: &Path) -> Option<String> {
    let file = fs_err::File::open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

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
