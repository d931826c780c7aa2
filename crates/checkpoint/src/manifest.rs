//! A checkpoint's manifest: what was done when, with which artifacts. The format is one that other tools read and
//! write; keys that we do not know stay.
//!
//! A manifest is read from its text ([`Manifest::parse`]), which is checked as text: its hash covers every byte. It comes from a
//! file that anybody may have written, so whatever it says is checked before it is used.

mod seal;
mod strict_json;

use std::collections::HashMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::layout::{ATTEMPTS, Layout, Segment};
use crate::read_permissions::ReadPermissions;
use crate::store;

pub use seal::{Sealed, digest_of};

/// A manifest of a hundred thousand artifacts is smaller.
pub const LARGEST: u64 = 64 << 20;

#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error("it is larger than {} MiB", LARGEST >> 20)]
    TooLarge,
    #[error("it is not the JSON of a manifest: {0}")]
    Json(#[source] serde_json::Error),
    #[error("it has no `manifestSha256` on a line of its own")]
    NoDigest,
    #[error("Manifest SHA256 mismatch: expected {expected} got {actual}")]
    Digest { expected: String, actual: String },
    #[error("`{field}` is wrong: {why}")]
    Field { field: &'static str, why: String },
}

text::named! {
    /// How the stage was when the checkpoint was made.
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum Status { Saved = "saved", Interrupted = "interrupted", Emergency = "emergency" }
}

text::named! {
    /// Why a checkpoint is not an ordinary one. Two spellings exist; the first is written.
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum Reason {
        #[serde(alias = "watchdog_timeout")]
        Timeout = "timeout",
        #[serde(alias = "manual_abort")]
        Abort = "abort",
        Error = "error",
    }
}

/// Where a checkpoint comes from, as it says itself. What is not `local` gives no code that runs, and is never believed
/// without reading its artifacts, until a person has confirmed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TrustLevel {
    #[default]
    Local,
    Imported,
    Untrusted,
}

impl TrustLevel {
    /// What a person is told before anything of the checkpoint is used.
    pub fn warning(self) -> Option<&'static str> {
        match self {
            Self::Local => None,
            Self::Imported => Some(
                "This checkpoint was imported: its artifacts may run code when they are loaded; look at them first.",
            ),
            Self::Untrusted => Some(
                "This checkpoint is untrusted: its artifacts may run code when they are loaded; do not load them unless you know where they come from.",
            ),
        }
    }
}

/// The notebook that the stage ran in; without Python both are `none`, since tools of this format want a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NotebookReference {
    pub path: String,
    pub checkpoint_cell_id: String,
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

impl Default for NotebookReference {
    fn default() -> Self {
        let none = || NONE.to_owned();
        Self { path: none(), checkpoint_cell_id: none(), unknown: Map::new() }
    }
}

/// What a checkpoint that a stage saved on its way is called; its status says `interrupted`.
pub const MID_STAGE: &str = "mid-stage";

/// What stands where there is no notebook and no Python; older versions left the texts empty.
pub const NONE: &str = "none";

/// What the stage ran with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PythonEnvironment {
    pub python_path: String,
    pub packages: Vec<String>,
    pub platform: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random_seeds: Option<Map<String, Value>>,
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

impl Default for PythonEnvironment {
    fn default() -> Self {
        Self {
            python_path: NONE.to_owned(),
            packages: Vec::new(),
            platform: std::env::consts::OS.to_owned(),
            random_seeds: None,
            unknown: Map::new(),
        }
    }
}

/// A file that the checkpoint holds, by its content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// Relative to the project root.
    pub relative_path: String,
    pub sha256: String,
    pub size_bytes: u64,
    /// Older manifests and those of other tools do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<ReadPermissions>,
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

/// The key of an artifact that lies in the store with the paths that the attempt had it under.
const ATTEMPT_PATHS: &str = "attemptPaths";

impl Artifact {
    /// As an attempt had it, once for each of its paths; nothing for what was published.
    pub fn in_attempt(&self) -> Vec<Self> {
        let given = self.unknown.get(ATTEMPT_PATHS).and_then(Value::as_array);
        let given = given.into_iter().flatten().filter_map(Value::as_str);
        let own = Some(self.relative_path.as_str()).filter(|path| path.contains(ATTEMPTS));
        given.chain(own).map(|path| Self { relative_path: path.to_owned(), ..self.clone() }).collect()
    }

    /// What attempts have named by where the store has it: an attempt changes its files, and moves them when it is accepted.
    pub(crate) fn in_store(layout: &Layout, artifacts: Vec<Self>) -> Vec<Self> {
        let mut named: Vec<Self> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for mut artifact in artifacts {
            if !artifact.relative_path.contains(ATTEMPTS) {
                named.push(artifact);
                continue;
            }
            let stored = layout.relative(&store::object_path(&layout.store(), &artifact.sha256));
            let path = Value::String(std::mem::replace(&mut artifact.relative_path, stored));
            // Two files of one content are one there.
            let place = *places.entry(artifact.sha256.clone()).or_insert(named.len());
            let Some(known) = named.get_mut(place) else {
                artifact.unknown.insert(ATTEMPT_PATHS.to_owned(), Value::Array(vec![path]));
                named.push(artifact);
                continue;
            };
            if let Some(Value::Array(paths)) = known.unknown.get_mut(ATTEMPT_PATHS) {
                paths.push(path);
            }
            let both = known.permissions.zip(artifact.permissions);
            known.permissions = both.map(|(one, other)| one.for_readers_of(other));
        }
        named
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RehydrationMode {
    #[default]
    ArtifactsOnly,
    WithVars,
}

/// How a new kernel gets the state back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rehydration {
    pub mode: RehydrationMode,
    pub rehydration_cell_source: Vec<String>,
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

/// Everything but the hash over itself, which [`Manifest::seal`] makes and [`Manifest::parse`] checks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    pub checkpoint_id: String,
    #[serde(rename = "researchSessionID")]
    pub research_session_id: String,
    pub report_title: String,
    pub run_id: String,
    pub stage_id: String,
    pub status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The stage saved it on its way, and was not interrupted; readers of the format run it again from here all the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mid_stage: bool,
    /// Older manifests say nothing: those of this project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust_level: Option<TrustLevel>,
    /// UTC, with `Z`.
    pub created_at: String,
    pub execution_count: u64,
    pub notebook: NotebookReference,
    pub python_env: PythonEnvironment,
    pub artifacts: Vec<Artifact>,
    pub rehydration: Rehydration,
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

impl Manifest {
    /// From the text of a file: JSON without duplicate keys, every field as it must be, and the hash right.
    pub fn parse(text: &[u8]) -> Result<Sealed, ManifestError> {
        seal::parse(text)
    }

    /// The text of the file, with the hash over it.
    pub fn seal(&self) -> Result<Sealed, ManifestError> {
        seal::seal(self)
    }

    pub fn trust(&self) -> TrustLevel {
        self.trust_level.unwrap_or_default()
    }

    /// When it was made; the beginning of time where that cannot be read, which `parse` does not let pass.
    pub fn created(&self) -> Timestamp {
        self.created_at.parse().unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// The stage that comes next, as readers of the format expect it: the same one again after an interruption, the
    /// beginning of the next one's id after a saved one. What really comes next is in the plan.
    pub fn next_stage_id(&self) -> Option<String> {
        if self.status != Status::Saved {
            return Some(self.stage_id.clone());
        }
        let digits = self.stage_id.strip_prefix('S')?.split('_').next()?;
        let plain = digits.len() >= 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        let next = plain.then(|| digits.parse::<u64>().ok()?.checked_add(1)).flatten()?;
        Some(format!("S{next:0width$}_", width = digits.len()))
    }

    /// How the stage stood, for people.
    pub fn standing(&self) -> &'static str {
        if self.mid_stage { MID_STAGE } else { self.status.name() }
    }

    /// What the types cannot say.
    fn check(&self) -> Result<(), ManifestError> {
        let wrong = |field, why: String| Err(ManifestError::Field { field, why });
        for (field, part, name) in [
            ("checkpointId", "checkpoint", &self.checkpoint_id),
            ("reportTitle", "report title", &self.report_title),
            ("runId", "run", &self.run_id),
            ("stageId", "stage", &self.stage_id),
        ] {
            if let Err(error) = Segment::visible(part, name) {
                return wrong(field, error.to_string());
            }
        }
        if self.status != Status::Saved && self.reason.is_none() {
            return wrong("reason", format!("the status `{}` needs one", self.status.name()));
        }
        let is_utc = self.created_at.ends_with('Z') && self.created_at.parse::<Timestamp>().is_ok();
        if !is_utc {
            return wrong(
                "createdAt",
                "a time in UTC is expected, such as `2026-01-01T10:00:00Z`".to_owned(),
            );
        }
        let mut paths: Vec<&str> =
            self.artifacts.iter().map(|artifact| artifact.relative_path.as_str()).collect();
        paths.sort_unstable();
        if let Some([twice, _]) = paths.array_windows().find(|[one, other]| one == other) {
            return wrong("artifacts", format!("`{twice}` appears twice"));
        }
        for artifact in &self.artifacts {
            if artifact.relative_path.is_empty() {
                return wrong("artifacts", "a path is empty".to_owned());
            }
            if !is_digest(&artifact.sha256) {
                return wrong(
                    "artifacts",
                    format!("the hash of `{}` is not a SHA-256", artifact.relative_path),
                );
            }
        }
        Ok(())
    }
}

/// A SHA-256 as it is written here: 64 lower-case hexadecimal digits.
pub(crate) fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
