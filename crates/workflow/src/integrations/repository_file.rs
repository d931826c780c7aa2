//! `.claude/config/integrations.json`: what a repository says about Linear and Vercel. It can ask for things and switch
//! things off; it cannot say where anything is sent, nor with which token: what it says of that is ignored, and told.

use std::path::{Path, PathBuf};
use std::time::Duration;

use files::{Links, regular_file};
use serde_json::{Map, Value};
use text::nearest;

pub const PATH: &str = ".claude/config/integrations.json";

/// A larger file is no configuration.
const LARGEST: u64 = 256 * 1024;

/// Nobody waits longer than this for a preview.
const LONGEST_WAIT: Duration = Duration::from_secs(60 * 60);

/// What the file asks for. Without a file, or without a part of it, nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepositorySettings {
    pub linear: LinearSettings,
    pub vercel: VercelSettings,
    /// What is wrong with the file or was ignored, a sentence each.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinearSettings {
    pub enabled: bool,
    pub team: Option<String>,
    pub branch_prefix: String,
    /// Linear's own link to GitHub moves the issues, and nothing is sent from here.
    pub use_native_automation: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VercelSettings {
    pub enabled: bool,
    pub wait_for_preview: bool,
    pub preview_timeout: Duration,
    pub require_preview_success: bool,
}

impl Default for LinearSettings {
    fn default() -> Self {
        Self { enabled: false, team: None, branch_prefix: "feature".to_owned(), use_native_automation: true }
    }
}

impl Default for VercelSettings {
    fn default() -> Self {
        Self {
            enabled: false,
            wait_for_preview: true,
            preview_timeout: Duration::from_secs(300),
            require_preview_success: false,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("`{}` cannot be read: {reason}", path.display())]
    Read { path: PathBuf, reason: String },
    #[error("`{}` is not JSON: {source}", path.display())]
    NotJson { path: PathBuf, source: serde_json::Error },
}

impl RepositorySettings {
    /// Reads the file of a repository; the defaults where there is none.
    pub fn read(root: &Path) -> Result<Self, FileError> {
        let path = root.join(PATH);
        let refused = |reason: &str| FileError::Read { path: path.clone(), reason: reason.to_owned() };
        if let Err(error) = fs_err::symlink_metadata(&path) {
            return match error.kind() {
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Ok(Self::default()),
                _ => Err(refused(&error.to_string())),
            };
        }
        // The file, or one of the folders that it is in.
        if !leads_inside(root, &path) {
            return Err(refused("the link points outside the repository"));
        }
        let bytes = regular_file::read(&path, Links::Follow, LARGEST).map_err(|error| match error {
            files::FileError::NotAFile { .. } => refused("it is not a regular file"),
            files::FileError::TooLarge { .. } => refused("it is larger than 256 KiB"),
            error => refused(&error.to_string()),
        })?;
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
        match serde_json::from_slice(bytes) {
            Ok(value) => Ok(Self::of(value)),
            Err(source) => Err(FileError::NotJson { path, source }),
        }
    }

    /// What the JSON says; what it says wrongly is left at its default and noted.
    pub fn of(value: Value) -> Self {
        let mut settings = Self::default();
        let mut notes = Vec::new();
        let Value::Object(mut parts) = value else {
            settings.notes.push(format!("`{PATH}` is not an object, and is ignored"));
            return settings;
        };
        if let Some(linear) = part(&mut parts, "linear", &mut notes) {
            let mut fields = Fields { fields: linear, part: "linear", notes: &mut notes };
            let default = LinearSettings::default();
            settings.linear = LinearSettings {
                enabled: fields.switch("enabled", default.enabled),
                team: fields.text("team"),
                branch_prefix: fields.text("branch_prefix").unwrap_or(default.branch_prefix),
                use_native_automation: fields.switch("use_native_automation", default.use_native_automation),
            };
            fields.rest(&["enabled", "team", "branch_prefix", "use_native_automation"]);
        }
        if let Some(vercel) = part(&mut parts, "vercel", &mut notes) {
            let mut fields = Fields { fields: vercel, part: "vercel", notes: &mut notes };
            let default = VercelSettings::default();
            settings.vercel = VercelSettings {
                enabled: fields.switch("enabled", default.enabled),
                wait_for_preview: fields.switch("wait_for_preview", default.wait_for_preview),
                preview_timeout: fields.milliseconds("preview_timeout_ms", default.preview_timeout),
                require_preview_success: fields
                    .switch("require_preview_success", default.require_preview_success),
            };
            fields.rest(&["enabled", "wait_for_preview", "preview_timeout_ms", "require_preview_success"]);
        }
        let mut rest = Fields { fields: parts, part: "", notes: &mut notes };
        rest.rest(&["linear", "vercel"]);
        settings.notes = notes;
        settings
    }
}

fn leads_inside(root: &Path, path: &Path) -> bool {
    match (fs_err::canonicalize(root), fs_err::canonicalize(path)) {
        (Ok(root), Ok(target)) => target.starts_with(root),
        _ => false,
    }
}

fn part(parts: &mut Map<String, Value>, name: &str, notes: &mut Vec<String>) -> Option<Map<String, Value>> {
    match parts.shift_remove(name)? {
        Value::Object(fields) => Some(fields),
        Value::Null => None,
        _ => {
            notes.push(format!("`{name}` in `{PATH}` is not an object, and is ignored"));
            None
        }
    }
}

struct Fields<'a> {
    fields: Map<String, Value>,
    part: &'static str,
    notes: &'a mut Vec<String>,
}

impl Fields<'_> {
    fn switch(&mut self, name: &str, default: bool) -> bool {
        match self.fields.shift_remove(name) {
            Some(Value::Bool(switch)) => switch,
            None | Some(Value::Null) => default,
            Some(_) => {
                self.wrong(name, "`true` or `false`", if default { "true" } else { "false" });
                default
            }
        }
    }

    fn text(&mut self, name: &str) -> Option<String> {
        match self.fields.shift_remove(name) {
            Some(Value::String(text)) => Some(text).filter(|text| !text.trim().is_empty()),
            None | Some(Value::Null) => None,
            Some(_) => {
                self.wrong(name, "a text", "unset");
                None
            }
        }
    }

    fn milliseconds(&mut self, name: &str, default: Duration) -> Duration {
        match self.fields.shift_remove(name) {
            None | Some(Value::Null) => default,
            Some(value) => match value.as_u64().map(Duration::from_millis) {
                Some(time) if time <= LONGEST_WAIT => time,
                Some(_) => {
                    self.wrong(name, "at most an hour", "one hour");
                    LONGEST_WAIT
                }
                None => {
                    self.wrong(name, "a number of milliseconds", &default.as_millis().to_string());
                    default
                }
            },
        }
    }

    fn wrong(&mut self, name: &str, expected: &str, taken: &str) {
        let part = self.part;
        self.notes.push(format!("`{part}.{name}` in `{PATH}` must be {expected}; {taken} is used instead"));
    }

    /// Names that are not known, and those that a repository may not set.
    fn rest(&mut self, known: &[&str]) {
        for name in self.fields.keys() {
            let full = if self.part.is_empty() { name.clone() } else { format!("{}.{name}", self.part) };
            if says_where_to_send(name) {
                self.notes.push(format!(
                    "`{full}` in `{PATH}` is ignored: URLs, tokens and secrets come only from your own \
                     `config.toml` or the environment"
                ));
            } else if let Some(near) = nearest(name, known.iter().copied()) {
                self.notes.push(format!("`{full}` in `{PATH}` is unknown: did you mean `{near}`?"));
            }
        }
    }
}

/// Whether a name is about where something goes or what opens the door there.
fn says_where_to_send(name: &str) -> bool {
    let name = name.to_lowercase();
    let signs =
        ["url", "uri", "endpoint", "host", "token", "secret", "key", "password", "webhook", "slack", "proxy"];
    signs.iter().any(|sign| name.contains(sign))
}
