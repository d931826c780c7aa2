//! Where everything of a run lies. Titles, runs, stages and checkpoints have names from outside; each becomes a checked
//! [`Segment`] before it becomes a part of a path, so that no name leads anywhere else.

use std::fmt;
use std::path::{Path, PathBuf};

use files::FileError;
use unicode_normalization::UnicodeNormalization as _;

/// File systems allow so many bytes.
const LONGEST: usize = 255;

/// Names that some systems give to devices, with or without an extension.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NameError {
    #[error("the name of a {part} is empty: give it one")]
    Empty { part: &'static str },
    #[error("the name of a {part} has more than {LONGEST} bytes: choose a shorter one")]
    TooLong { part: &'static str },
    #[error(
        "`{name}` cannot be the name of a {part}: leave out slashes, control characters, `.`, `..` and a dot or space at the end"
    )]
    Path { part: &'static str, name: String },
    #[error("`{name}` cannot be the name of a {part}: some systems have a device of that name")]
    Device { part: &'static str, name: String },
    #[error(
        "`{name}` cannot be the name of a {part}: names that begin with a dot are reserved for checkstone"
    )]
    Hidden { part: &'static str, name: String },
}

impl From<NameError> for FileError {
    fn from(error: NameError) -> Self {
        Self::Name(Box::new(error))
    }
}

/// One checked part of a path, in Unicode's composed form (NFC).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Segment(String);

impl Segment {
    /// `part` says what is named, for the message.
    pub fn new(part: &'static str, name: &str) -> Result<Self, NameError> {
        let name: String = name.nfc().collect();
        if name.is_empty() {
            return Err(NameError::Empty { part });
        }
        if name.len() > LONGEST {
            return Err(NameError::TooLong { part });
        }
        let leads_elsewhere = name == "." || name == ".." || name.contains(['/', '\\']);
        if leads_elsewhere || name.chars().any(char::is_control) || name.ends_with(['.', ' ']) {
            return Err(NameError::Path { part, name });
        }
        if is_device(&name) {
            return Err(NameError::Device { part, name });
        }
        Ok(Self(name))
    }

    /// As `new`, for names that lie beside those that checkstone begins with a dot.
    pub fn visible(part: &'static str, name: &str) -> Result<Self, NameError> {
        let segment = Self::new(part, name)?;
        if segment.0.starts_with('.') {
            return Err(NameError::Hidden { part, name: segment.0 });
        }
        Ok(segment)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).trim_end().to_ascii_lowercase();
    let numbered = |prefix: &str| {
        stem.strip_prefix(prefix)
            .is_some_and(|rest| rest.len() == 1 && rest.bytes().all(|b| b.is_ascii_digit()))
    };
    DEVICES.contains(&stem.as_str()) || numbered("com") || numbered("lpt")
}

/// The paths of one run. All are below the project root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    root: PathBuf,
    title: Segment,
    run: Segment,
}

impl Layout {
    /// `root` is the project's folder; the names are checked.
    pub fn new(root: &Path, title: &str, run: &str) -> Result<Self, NameError> {
        let title = Segment::visible("report title", title)?;
        let run = Segment::visible("run", run)?;
        Ok(Self { root: root.to_owned(), title, run })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn title(&self) -> &str {
        self.title.as_str()
    }

    pub fn run(&self) -> &str {
        self.run.as_str()
    }

    /// `reports/{title}/{run}`: what the run has published.
    pub fn run_directory(&self) -> PathBuf {
        self.root.join(relative_title(&self.title)).join(self.run.as_str())
    }

    /// `reports/{title}/{run}/{stage}`: the artifacts of the accepted attempt.
    pub fn published(&self, stage: &str) -> Result<PathBuf, NameError> {
        Ok(self.run_directory().join(Segment::visible("stage", stage)?.as_str()))
    }

    /// `reports/{title}/{run}/.attempts`: those of all stages.
    pub fn attempts(&self) -> PathBuf {
        self.run_directory().join(".attempts")
    }

    /// `reports/{title}/{run}/.attempts/{stage}/{number}`: one attempt.
    pub fn attempt(&self, stage: &str, number: u32) -> Result<PathBuf, NameError> {
        let stage = Segment::visible("stage", stage)?;
        Ok(self.attempts().join(stage.as_str()).join(number.to_string()))
    }

    /// What an attempt printed, as far as it is kept.
    pub fn attempt_output(&self, stage: &str, number: u32) -> Result<PathBuf, NameError> {
        Ok(self.attempt(stage, number)?.join("output.log"))
    }

    /// What the `verify` of an attempt printed, where there is one.
    pub fn attempt_verification(&self, stage: &str, number: u32) -> Result<PathBuf, NameError> {
        Ok(self.attempt(stage, number)?.join("verify.log"))
    }

    /// The process ids of an attempt, for the sweep after a lost supervisor.
    pub fn attempt_supervisor(&self, stage: &str, number: u32) -> Result<PathBuf, NameError> {
        Ok(self.attempt(stage, number)?.join(SUPERVISOR))
    }

    /// `reports/{title}/{run}/.kernel`: what the run's Python kernel itself writes.
    pub fn kernel(&self) -> PathBuf {
        self.run_directory().join(".kernel")
    }

    /// The process ids of the kernel, for the sweep after a lost supervisor.
    pub fn kernel_supervisor(&self) -> PathBuf {
        self.kernel().join(SUPERVISOR)
    }

    /// `notebooks/{title}.ipynb`: what the runs of this title did in Python.
    pub fn notebook(&self) -> PathBuf {
        self.root.join("notebooks").join(format!("{}.ipynb", self.title))
    }

    /// `reports/{title}/checkpoints`: those of all runs, and the store that they share.
    pub fn checkpoints(&self) -> PathBuf {
        self.root.join(relative_title(&self.title)).join(CHECKPOINTS)
    }

    /// `reports/{title}/checkpoints/{run}`: the checkpoints and events of this run.
    pub fn run_checkpoints(&self) -> PathBuf {
        self.checkpoints().join(self.run.as_str())
    }

    /// The run's events: the truth about it.
    pub fn events(&self) -> PathBuf {
        self.run_checkpoints().join(EVENTS)
    }

    /// Held by the one process that writes this run; what is in it is for people only.
    pub fn lock(&self) -> PathBuf {
        self.run_checkpoints().join("lock")
    }

    /// Who runs it, where hosts share the file system.
    pub fn lease(&self) -> PathBuf {
        self.run_checkpoints().join(".lease")
    }

    pub fn checkpoint(&self, id: &str) -> Result<PathBuf, NameError> {
        Ok(self.run_checkpoints().join(Segment::visible("checkpoint", id)?.as_str()))
    }

    pub fn manifest(&self, id: &str) -> Result<PathBuf, NameError> {
        Ok(self.checkpoint(id)?.join(MANIFEST))
    }

    /// The content-addressed artifact files of all runs of the title.
    pub fn store(&self) -> PathBuf {
        self.checkpoints().join(STORE)
    }

    /// `path` as it is written in manifests and shown to people: relative to the root, with `/`.
    pub fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy().into_owned()
    }
}

/// The file with pictures and tables of a Python stage, beside that with its text.
pub const DISPLAYS_FILE: &str = "displays.jsonl";
/// The folder among a Python stage's artifacts that holds the session's variables.
pub const VARIABLES_FOLDER: &str = "checkstone-variables";
/// The process ids of a tree under supervision, for the sweep after a lost supervisor.
pub const SUPERVISOR: &str = "supervisor.json";
pub const REPORTS: &str = "reports";
pub const CHECKPOINTS: &str = "checkpoints";
pub(crate) const MANIFEST: &str = "checkpoint.json";
pub(crate) const STORE: &str = ".store";
pub(crate) const EVENTS: &str = "events.jsonl";
/// In the path of everything that an attempt left.
pub(crate) const ATTEMPTS: &str = "/.attempts/";

fn relative_title(title: &Segment) -> PathBuf {
    Path::new(REPORTS).join(title.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in [
            "", ".", "..", "a/b", "a\\b", "a\0b", "a\nb", "end.", "end ", "/etc", "../x", "CON", "nul.txt",
            "COM1", "lpt9.log",
        ] {
            assert!(Segment::new("run", name).is_err(), "{name:?}");
        }
        assert!(Segment::new("run", &"x".repeat(256)).is_err());
        for name in ["run-001", "é", "..hidden", "console", "com10", "a b", "日本語", &"x".repeat(255)] {
            assert!(Segment::new("run", name).is_ok(), "{name:?}");
        }
    }

    #[test]
    fn names_are_composed() {
        assert_eq!(Segment::new("run", "e\u{301}").unwrap().as_str(), "\u{e9}");
    }

    #[test]
    fn what_begins_with_a_dot_is_ours() {
        assert!(Layout::new(Path::new("/p"), "title", ".store").is_err());
        assert!(Layout::new(Path::new("/p"), ".title", "run").is_err());
    }

    #[test]
    fn everything_has_its_place() {
        let layout = Layout::new(Path::new("/p"), "churn", "run-001").unwrap();
        for (path, expected) in [
            (layout.published("S01_load_data").unwrap(), "run-001/S01_load_data"),
            (layout.attempt("S01_load_data", 2).unwrap(), "run-001/.attempts/S01_load_data/2"),
            (layout.manifest("ckpt-001").unwrap(), "checkpoints/run-001/ckpt-001/checkpoint.json"),
            (layout.events(), "checkpoints/run-001/events.jsonl"),
            (layout.store(), "checkpoints/.store"),
        ] {
            assert_eq!(path, Path::new("/p/reports/churn").join(expected));
        }
        assert_eq!(layout.relative(&layout.store()), "reports/churn/checkpoints/.store");
        assert!(layout.published("../../etc").is_err());
    }
}
