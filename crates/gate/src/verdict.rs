//! What the gate says, as plain data: the JSON of `checkstone check --json`.

use change_set::Scope;
use serde::{Deserialize, Serialize};
use transcript::Coverage;

use crate::hold_message::HoldMessage;
use crate::reason::Reason;
use crate::strength::Strength;

/// The verdict and everything that led to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    #[serde(rename = "verdict")]
    pub decision: Decision,
    /// For the agent if it is held, for the person if they are notified; null if there is no message.
    pub message: Option<String>,
    /// Why, in a few words, for the log.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub reason: Reason,
    /// Where the change set comes from; null if it is not known.
    pub scope: Option<Scope>,
    /// What changed, by category.
    pub changed: Vec<ChangedCategory>,
    pub actions: Vec<ActionVerdict>,
    pub observations: Vec<Observation>,
    #[serde(rename = "transcript")]
    pub coverage: Coverage,
    /// How the files' contents stand now, for the ledger.
    #[serde(skip)]
    pub standings: Vec<FileStanding>,
    /// What the message tells of work that stays unproven.
    #[serde(skip)]
    pub told_unproven: Option<String>,
    /// The parts of the message of a hold, by which it can be said together with those of other repositories.
    #[serde(skip)]
    pub hold: Option<HoldMessage>,
    /// Red tests that stay behind; see [`crate::reports`].
    #[serde(skip)]
    pub left_red: Vec<String>,
}

impl Verdict {
    /// Nothing to say, and why.
    pub(crate) fn pass(coverage: &Coverage, reason: impl Into<Reason>) -> Self {
        Self {
            decision: Decision::Pass,
            message: None,
            reason: reason.into(),
            scope: None,
            changed: Vec::new(),
            actions: Vec::new(),
            observations: Vec::new(),
            coverage: coverage.clone(),
            standings: Vec::new(),
            told_unproven: None,
            hold: None,
            left_red: Vec::new(),
        }
    }
}

/// How the present content of a file stands with an action after the stop.
#[derive(Clone, Debug, PartialEq)]
pub struct FileStanding {
    pub path: String,
    pub action: String,
    pub proof: ContentProof,
    /// By how much less than its package has it is proven, if so.
    pub weak: Option<Strength>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ContentProof {
    Proven(Evidence),
    Unproven,
    /// Nothing of it changed that a run could judge: it stands as the content before it did.
    AsBefore,
    /// A run failed with it, and nothing settled that: what proved it before does not count any more.
    TakenBack,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    Pass,
    /// The person is told; it costs the agent nothing.
    Notify,
    /// The agent gets the message and continues.
    Hold,
}

impl Decision {
    pub const ALL: [Self; 3] = [Self::Pass, Self::Notify, Self::Hold];

    /// As it is written in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Notify => "notify",
            Self::Hold => "hold",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangedCategory {
    pub category: String,
    pub files: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ActionVerdict {
    pub id: String,
    pub say: String,
    pub state: ActionState,
    /// What proves it, if it is satisfied.
    pub evidence: Option<Evidence>,
    /// Why what was seen is not evidence, or why the action is waived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// It is waived because it was asked for before, and nobody said anything of it.
    #[serde(skip)]
    pub was_asked_before: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ActionState {
    Required,
    /// Not seen, and reported to the person; the agent is not asked for it.
    Reported,
    Satisfied,
    Waived,
}

/// A call that proves an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    pub command: String,
    /// The line of the call in its transcript.
    pub line: Option<u64>,
}

/// One sentence about something seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Observation {
    pub rule: Rule,
    pub text: String,
    /// The line of the call that it is about.
    pub line: Option<u64>,
    /// The two parts of the text, if it says what failed.
    #[serde(skip)]
    pub failure: Option<FailureText>,
}

/// A cause that several commands may share, and one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureText {
    pub cause: String,
    pub command: String,
}

impl Observation {
    pub(crate) fn new(rule: Rule, text: impl Into<String>, line: Option<u64>) -> Self {
        Self { rule, text: text.into(), line, failure: None }
    }

    pub(crate) fn of_failure(failure: FailureText, line: Option<u64>) -> Self {
        let text = format!("{} (`{}`)", failure.cause, failure.command);
        Self { failure: Some(failure), ..Self::new(Rule::UnresolvedError, text, line) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// An action was expected and not seen.
    MissingAction,
    UnresolvedError,
    EditWithoutRead,
    WideBlastRadius,
    PlanDrift,
    /// Code was verified by less than its package has.
    WeakerVerification,
    /// The transcript's format is unknown.
    NotUnderstood,
}

impl Rule {
    /// As it is written in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::MissingAction => "missing-action",
            Self::UnresolvedError => "unresolved-error",
            Self::EditWithoutRead => "edit-without-read",
            Self::WideBlastRadius => "wide-blast-radius",
            Self::PlanDrift => "plan-drift",
            Self::WeakerVerification => "weaker-verification",
            Self::NotUnderstood => "not-understood",
        }
    }
}
