//! What happens in a run, one event at a time. The record on disk is these events, one JSON document to a line; the
//! terminal, `--json` and the report are readers of the same ones.

use std::collections::BTreeMap;

use checkpoint::ReadPermissions;
use checkpoint::manifest::Artifact;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Map;

use crate::state::{RunState, StageState};
use crate::surroundings::Surroundings;

/// The version of the record's format. 2: an ending says whether it was the `verify` that failed. 3: fan-outs, and
/// parameters that were set.
pub const FORMAT: u32 = 3;

/// How a stage's reason begins that is about its `verify`, and not about its own command. Format 1 says so by this alone.
pub(crate) const VERIFY: &str = "`verify`: ";
/// How the reason ends of an attempt under which something changed.
pub(crate) const WHILE_IT_RAN: &str = "while it ran";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Event {
    /// From 1, without gaps.
    pub sequence: u64,
    #[serde(with = "time")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub at: Timestamp,
    #[serde(flatten)]
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum What {
    /// The first line: all that is needed to continue the run elsewhere.
    RunPlanned {
        format: u32,
        report_title: String,
        run_id: String,
        /// Below the project's root, where it is; null for a plan from elsewhere.
        plan_file: Option<String>,
        plan: String,
        /// Parameters that were set from outside of the plan, as NAME=VALUE.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        set: Vec<String>,
        surroundings: Surroundings,
    },
    /// The plan file or the parameters were changed before the run continued.
    PlanChanged {
        plan: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        set: Vec<String>,
    },
    /// A stage of the plan runs once for each of many values: these are its instances, each a stage of its own.
    FanOut {
        /// As the plan has it.
        stage_id: String,
        instances: Vec<InstanceNote>,
    },
    /// A supervisor took over the run.
    RunTaken {
        process: u32,
        jobs: usize,
        surroundings: Surroundings,
    },
    RunState {
        from: RunState,
        to: RunState,
        reason: Option<String>,
    },
    StageState {
        stage_id: String,
        /// From 1; 0 before the first.
        attempt: u32,
        from: StageState,
        to: StageState,
        reason: Option<String>,
        /// What an attempt that begins is known by on the cluster that carries it out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<String>,
        /// How the attempt ended, if it did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ending: Option<Ending>,
        /// What was accepted, if the stage completed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        accepted: Option<Accepted>,
        /// It is not begun, because it was begun before and must not be repeated.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        refused: bool,
    },
    /// It completed before, and nothing in it has changed.
    StageReused {
        stage_id: String,
        restored: Vec<String>,
    },
    Marker {
        stage_id: String,
        attempt: u32,
        marker: String,
    },
    Stall {
        stage_id: String,
        attempt: u32,
        signal: String,
    },
    Signal {
        stage_id: String,
        attempt: u32,
        signal: String,
    },
    /// The machine or the stage was suspended for this long, which is not counted.
    Suspended {
        stage_id: String,
        attempt: u32,
        milliseconds: u64,
    },
    Checkpoint {
        stage_id: String,
        attempt: u32,
        checkpoint_id: String,
        status: String,
        reason: Option<String>,
        #[serde(with = "time")]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        created_at: Timestamp,
        artifacts: usize,
        /// Saved while the stage was running, when it asked for it.
        mid_stage: bool,
    },
    /// The checkpoint that a resumed run continues from; null if there is no valid one.
    ResumedFrom {
        checkpoint_id: Option<String>,
        stage_id: Option<String>,
    },
    AbortRequested {
        stage_id: Option<String>,
    },
    /// Processes that a lost supervisor had left behind.
    Swept {
        stage_id: String,
        attempt: u32,
        processes: usize,
    },
    Warning {
        stage_id: Option<String>,
        text: String,
    },
}

/// One stage of a fan-out, and what it is run for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct InstanceNote {
    pub stage_id: String,
    /// `lr = 0.1, seed = 1`
    pub parameters: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Ending {
    pub how: HowEnded,
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    /// Suspensions left out.
    pub elapsed_milliseconds: u64,
    pub output_bytes: u64,
    /// The command succeeded, and then its `verify` failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verify_failed: bool,
    /// Something that it read was changed while it ran.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed_meanwhile: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HowEnded {
    Exited,
    Killed,
    TimedOut,
    Stalled,
    Aborted,
    OutOfMemory,
    NoCheckpoint,
}

/// What a stage made, and from what.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Accepted {
    /// Over the command, its settings and the contents of its inputs; of a Python stage also over the session before it.
    pub fingerprint: String,
    /// What the fingerprint is made of besides the inputs, each with a short hash, so that a change can be named.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, String>,
    /// What the attempt is known by: the session after a Python stage, and the files that a command leaves besides its outputs.
    /// None in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    pub inputs: Vec<AcceptedInput>,
    pub artifacts: Vec<AcceptedArtifact>,
    /// Folders without anything in them, below the stage's folder. None in records of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<String>,
}

#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AcceptedInput {
    pub name: String,
    pub sha256: String,
    /// What the file was known by on its disk; with the same one it need not be read again.
    pub identity: String,
}

#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AcceptedArtifact {
    /// Below the stage's folder.
    pub path: String,
    pub sha256: String,
    pub size_bytes: u64,
    /// What the file was known by on its disk; with the same one it need not be read again.
    pub identity: String,
    /// With which it is restored. None in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<ReadPermissions>,
}

impl AcceptedArtifact {
    /// To be restored to a path below the root.
    pub(crate) fn to_restore(&self, relative_path: String) -> Artifact {
        Artifact {
            relative_path,
            sha256: self.sha256.clone(),
            size_bytes: self.size_bytes,
            permissions: self.permissions,
            unknown: Map::new(),
        }
    }
}

impl Accepted {
    /// What those go by that come after the stage, and do not only read its outputs.
    pub(crate) fn known_by(&self) -> &str {
        self.session.as_ref().unwrap_or(&self.fingerprint)
    }
}

impl Ending {
    /// What older versions said in the reason alone.
    pub(crate) fn upgrade(&mut self, reason: &str) {
        self.verify_failed |= reason.starts_with(VERIFY);
        let went_well = self.how == HowEnded::Exited && self.exit_code == Some(0) && !self.verify_failed;
        self.changed_meanwhile |= went_well && reason.ends_with(WHILE_IT_RAN);
    }
}

impl Event {
    /// As the newest format has it.
    pub(crate) fn upgraded(mut self) -> Self {
        if let What::StageState { reason: Some(reason), ending: Some(ending), .. } = &mut self.what {
            ending.upgrade(reason);
        }
        self
    }
}

impl What {
    /// A change of a stage's state that neither ends an attempt nor accepts one.
    pub(crate) fn stage_state(
        stage_id: String,
        attempt: u32,
        from: StageState,
        to: StageState,
        reason: Option<String>,
    ) -> Self {
        let (token, ending, accepted) = (None, None, None);
        Self::StageState { stage_id, attempt, from, to, reason, token, ending, accepted, refused: false }
    }

    pub(crate) fn stage_refused(stage_id: String, attempt: u32, from: StageState, reason: String) -> Self {
        Self::StageState {
            stage_id,
            attempt,
            from,
            to: StageState::Blocked,
            reason: Some(reason),
            token: None,
            ending: None,
            accepted: None,
            refused: true,
        }
    }

    /// The stage that it is about.
    pub fn stage(&self) -> Option<&str> {
        match self {
            Self::StageState { stage_id, .. }
            | Self::FanOut { stage_id, .. }
            | Self::StageReused { stage_id, .. }
            | Self::Marker { stage_id, .. }
            | Self::Stall { stage_id, .. }
            | Self::Signal { stage_id, .. }
            | Self::Suspended { stage_id, .. }
            | Self::Checkpoint { stage_id, .. }
            | Self::Swept { stage_id, .. } => Some(stage_id),
            Self::AbortRequested { stage_id }
            | Self::ResumedFrom { stage_id, .. }
            | Self::Warning { stage_id, .. } => stage_id.as_deref(),
            _ => None,
        }
    }

    /// What others rely on has to be on the disk before it is acted on; what only tells how it goes need not.
    pub(crate) fn is_durable(&self) -> bool {
        // What was taken over from an earlier run would be taken over again.
        let is_adoption =
            matches!(self, Self::StageState { from: StageState::Pending, to: StageState::Completed, .. });
        !is_adoption
            && matches!(
                self,
                Self::RunPlanned { .. }
                    | Self::PlanChanged { .. }
                    | Self::FanOut { .. }
                    | Self::RunTaken { .. }
                    | Self::RunState { .. }
                    | Self::StageState { .. }
            )
    }
}

/// Times in a record: UTC, to the millisecond.
mod time {
    use jiff::Timestamp;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{at:.3}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}
