//! Which policy holds for a repository: the user's own configuration, then the repository's `checkstone.toml`.
//! Without the latter there is none, unless the user asked for presets by detection.

use std::path::{Path, PathBuf};
use std::string::FromUtf8Error;

use files::{FileError, Links, regular_file};
use gate::policy::{Policy, Problem, Problems, Source, UserFile};
use programs::repository::Language;
use serde::{Deserialize, Serialize};

pub const FILE_NAME: &str = "checkstone.toml";

/// How the user's own configuration is called in messages.
pub const USER_FILE_NAME: &str = "config.toml";

/// How the presets are called that a repository's manifests ask for.
const DETECTED: &str = "detected presets";

/// A larger file is no policy.
const LARGEST: u64 = 1024 * 1024;

/// Why a text was not read; the caller knows the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnreadText {
    #[error("there is no such file")]
    Missing,
    #[error("the link is broken")]
    DanglingLink,
    #[error("the link points outside the repository")]
    LinkOutside,
    #[error("it is not a regular file")]
    NotAFile,
    #[error("it is larger than 1 MiB")]
    TooLarge,
    #[error("it cannot be opened")]
    NotOpened,
    #[error("it cannot be read")]
    NotRead,
    /// Where the first byte is that is not.
    #[error("it is not UTF-8")]
    NotUtf8 { line: usize, column: usize },
}

/// A policy file as it was read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyText {
    /// How it is called in messages.
    pub name: String,
    pub text: String,
}

/// The texts that make the policy of a repository, in the order in which they apply.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicyTexts {
    pub texts: Vec<PolicyText>,
    /// The repository's own file, where there is one.
    pub own_file: Option<PathBuf>,
    /// A file is there that cannot be a policy, or the user's own is broken.
    unreadable: Option<Problems>,
}

/// What the files say: the policy, where there is one, and the user's own configuration in any case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoundTexts {
    pub policy: Option<PolicyTexts>,
    pub user: PolicyTexts,
    /// The user's own configuration has something about a team.
    pub has_team: bool,
}

impl PolicyTexts {
    /// `None` if the repository has no policy.
    pub fn of_repository(root: &Path, user_file: Option<&Path>) -> Option<Self> {
        FoundTexts::read(root, user_file).policy
    }
}

impl FoundTexts {
    pub fn read(root: &Path, user_file: Option<&Path>) -> Self {
        let own = inside(root, &root.join(FILE_NAME)).and_then(|path| read(&path));
        Self::with_own(root, user_file, own)
    }

    /// What they would say if the repository's own file had this text.
    pub(crate) fn with_own(
        root: &Path,
        user_file: Option<&Path>,
        own: Result<Option<String>, UnreadText>,
    ) -> Self {
        let mut unreadable = None;
        let mut text_of = |name: &str, text: Result<Option<String>, UnreadText>| {
            text.unwrap_or_else(|problem| {
                unreadable = Some(Problems(vec![no_policy(name, problem)]));
                Some(String::new())
            })
        };
        let user = text_of(USER_FILE_NAME, users_text(user_file)).unwrap_or_default();
        let own_file = root.join(FILE_NAME);
        let own = text_of(FILE_NAME, own);
        let user = UserFile::read(USER_FILE_NAME, &user).unwrap_or_else(|problems| {
            unreadable = Some(problems);
            UserFile::default()
        });
        let (detect, has_team) = (user.detects_presets, user.has_team);
        let texts = users_texts(user);
        let user = PolicyTexts { texts: texts.clone(), own_file: None, unreadable: unreadable.clone() };
        let (text, own_file) = match own {
            Some(text) => (PolicyText { name: FILE_NAME.to_owned(), text }, Some(own_file)),
            None if detect => match detected_presets(root).as_slice() {
                [] => return Self { policy: None, user, has_team },
                presets => {
                    let text = format!("presets = {presets:?}\n");
                    (PolicyText { name: DETECTED.to_owned(), text }, None)
                }
            },
            // Nobody knows whether presets were asked for.
            None if unreadable.is_some() => return Self { policy: Some(user.clone()), user, has_team },
            None => return Self { policy: None, user, has_team },
        };
        let texts = texts.into_iter().chain([text]).collect();
        Self { policy: Some(PolicyTexts { texts, own_file, unreadable }), user, has_team }
    }

    /// All there is, a policy or not.
    pub fn texts(&self) -> &PolicyTexts {
        self.policy.as_ref().unwrap_or(&self.user)
    }

    /// Whether any of the texts could be about autosave. Most are not, and need not be understood for it.
    pub fn mention_autosave(&self) -> bool {
        let mut texts = self.texts().texts.iter();
        texts.any(|text| text.text.contains("autosave"))
    }
}

impl PolicyTexts {
    /// The policy that a repository with this file would have.
    pub fn of_file(path: &Path, user_file: Option<&Path>) -> Result<Self, UnreadText> {
        let own = read(path)?.ok_or(UnreadText::Missing)?;
        let user = UserFile::read(USER_FILE_NAME, &users_text(user_file)?.unwrap_or_default());
        let unreadable = user.as_ref().err().cloned();
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let mut texts = users_texts(user.unwrap_or_default());
        texts.push(PolicyText { name, text: own });
        Ok(Self { texts, own_file: Some(path.to_owned()), unreadable })
    }

    /// The policy that these texts were.
    pub(crate) fn of_texts(texts: Vec<PolicyText>, own_file: Option<PathBuf>) -> Self {
        Self { texts, own_file, unreadable: None }
    }

    pub(crate) fn is_readable(&self) -> bool {
        self.unreadable.is_none()
    }

    /// Whether the presets were picked by the manifests of the repository.
    pub(crate) fn is_detected(&self) -> bool {
        self.texts.last().is_some_and(|text| text.name == DETECTED)
    }

    /// Whether all that was detected before is detected now, and the user's own part is the same.
    pub(crate) fn detects_at_least(&self, before: &Self) -> bool {
        let presets = |texts: &Self| texts.load().map(|policy| policy.presets).unwrap_or_default();
        let (now, users) = (presets(self), self.texts.len().saturating_sub(1));
        self.is_detected()
            && self.texts.get(..users) == before.texts.get(..before.texts.len().saturating_sub(1))
            && presets(before).iter().all(|preset| now.contains(preset))
    }

    pub fn load(&self) -> Result<Policy, Problems> {
        if let Some(problems) = &self.unreadable {
            return Err(problems.clone());
        }
        let sources: Vec<Source<'_>> =
            self.texts.iter().map(|text| Source { name: &text.name, text: &text.text }).collect();
        Policy::load(&sources)
    }

    /// Whether the text could switch the gate off; only then must it be understood before git is started.
    pub fn may_switch_off(&self) -> bool {
        self.texts.iter().any(|text| text.text.contains("enabled"))
    }

    /// Whether the text could ask for a snapshot at the start of a turn; only then must it be understood at the prompt.
    pub fn may_want_snapshots(&self) -> bool {
        self.texts.iter().any(|text| text.text.contains("at_turn_start"))
    }

    /// Whether the gate is switched off here.
    pub fn is_switched_off(&self) -> bool {
        self.may_switch_off() && self.load().is_ok_and(|policy| !policy.gate.enabled)
    }
}

fn users_text(user_file: Option<&Path>) -> Result<Option<String>, UnreadText> {
    user_file.map_or(Ok(None), read)
}

/// The user's part of a policy, where there is one.
fn users_texts(user: UserFile) -> Vec<PolicyText> {
    let text = Some(user.policy).filter(|text| !text.trim().is_empty());
    text.map(|text| PolicyText { name: USER_FILE_NAME.to_owned(), text }).into_iter().collect()
}

/// The presets for the manifests at the root of a repository. Only names are looked at: every stop of a user who asked for
/// this pays for it.
pub fn detected_presets(root: &Path) -> Vec<&'static str> {
    let entries = fs_err::read_dir(root).into_iter().flatten();
    let names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    let mut presets: Vec<&str> =
        names.iter().filter_map(|name| preset_of(Language::of_manifest(name)?)).collect();
    let is_task_file =
        |name: &String| matches!(name.to_lowercase().as_str(), "makefile" | "gnumakefile" | "justfile");
    if presets.is_empty() && names.iter().any(is_task_file) {
        presets.push("make");
    }
    presets.sort_unstable();
    presets.dedup();
    presets
}

/// The preset for code of a language.
pub fn preset_of(language: Language) -> Option<&'static str> {
    Some(match language {
        Language::JavaScript | Language::Deno => "node",
        Language::Rust => "rust",
        Language::Go => "go",
        Language::Python => "python",
        Language::Java => "java",
        Language::DotNet => "dotnet",
        Language::C => "c",
        Language::Ruby => "ruby",
        Language::Php => "php",
        Language::Swift => "swift",
        Language::Elixir => "elixir",
        Language::Dart => "dart",
        Language::Shell => "shell",
        Language::OCaml | Language::Haskell | Language::Zig => return None,
    })
}

fn no_policy(name: &str, problem: UnreadText) -> Problem {
    match problem {
        UnreadText::NotUtf8 { line, column } => {
            Problem { line, column, ..Problem::of_file(name, problem.to_string()) }
        }
        _ => Problem::of_file(name, problem.to_string()),
    }
}

/// A file of the repository, unless a link leads out of it.
pub fn inside(root: &Path, file: &Path) -> Result<PathBuf, UnreadText> {
    if !file.is_symlink() {
        return Ok(file.to_owned());
    }
    let target = fs_err::canonicalize(file).map_err(|_| UnreadText::DanglingLink)?;
    match fs_err::canonicalize(root) {
        Ok(root) if target.starts_with(&root) => Ok(target),
        _ => Err(UnreadText::LinkOutside),
    }
}

/// `None` if there is no such file. Nothing here waits: a named pipe is refused.
pub fn read(path: &Path) -> Result<Option<String>, UnreadText> {
    match regular_file::read(path, Links::Follow, LARGEST) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|error| not_utf8(&error)),
        Err(FileError::NotFound { .. } | FileError::NotAFolder { .. }) => Ok(None),
        Err(FileError::NotAFile { .. }) => Err(UnreadText::NotAFile),
        Err(FileError::TooLarge { .. }) => Err(UnreadText::TooLarge),
        Err(FileError::Failed { doing: "read", .. }) => Err(UnreadText::NotRead),
        Err(_) => Err(UnreadText::NotOpened),
    }
}

fn not_utf8(error: &FromUtf8Error) -> UnreadText {
    let good = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
    let good = String::from_utf8_lossy(good);
    let line = good.matches('\n').count() + 1;
    let column = good.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    UnreadText::NotUtf8 { line, column }
}
