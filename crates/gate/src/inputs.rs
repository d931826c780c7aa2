//! Everything a verdict depends on beside the policy, as plain data that is recorded with the verdict.

use std::borrow::Cow;
use std::collections::BTreeMap;

use change_set::ChangeSet;
use contents::TextHash;
use outputs::Shown;
use programs::repository::Repository;
use programs::shell::{Directory, Intents};
use serde::{Deserialize, Serialize};
use transcript::{Agent, Call, Coverage, Kind, Options, Outcome, Reading, SessionState};

use crate::correction::Correction;
use crate::ledger_extract::LedgerExtract;
use crate::waiting::Waiting;

/// The agent's last words are kept to this length.
const LONGEST_LAST_WORDS: usize = 4000;

/// The version of [`Inputs`] as they are recorded.
pub const INPUTS_VERSION: u32 = 4;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inputs {
    pub changes: Changes,
    /// How much of the transcript was understood.
    pub coverage: Coverage,
    /// The turn's calls, with what their commands would run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<RecordedCall>,
    /// How many of the calls are those of earlier turns that nobody judged.
    #[serde(default, skip_serializing_if = "is_default")]
    pub earlier_calls: usize,
    /// What the agent said in the turn: only to find what it says it cannot do.
    pub said: Vec<String>,
    /// Where the agent works; paths in calls may be relative to it.
    pub cwd: String,
    /// How the agent gets from there to the repository, if that lies elsewhere: `../lib`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// What the rest of the session says about the turn.
    #[serde(default, skip_serializing_if = "is_default")]
    pub session: SessionState,
    /// The repository's own words: its packages, tasks, and the ways in which they are verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<Repository>,
    /// The endings that changed scripts without one would have, by their first lines: a path from the root, and `sh`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub script_endings: BTreeMap<String, String>,
    /// Changed files whose code is what it was when the turn began, or what HEAD has if that is not known; looked at only if
    /// something would be asked for them, or if there is no transcript to show the edits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_need: Vec<String>,
    /// What changed files hold at the stop, of those whose whole text an edit in the timeline shows. Such an edit before a run
    /// tells whether the run saw this very text.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub present: BTreeMap<String, TextHash>,
    pub stop: Stop,
    pub history: History,
    /// What was proven before, and what was not.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ledger: LedgerExtract,
    /// The plan of the work item, where one is set.
    pub plan: Option<PlanFile>,
    /// What the policy's own checks said, where they are trusted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckResult>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// What changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Changes {
    Known(ChangeSet),
    /// Files that the timeline shows as edited; there is no repository to ask.
    Transcript(Vec<String>),
    /// Git could not be asked, and why.
    Unknown(String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedCall {
    #[serde(flatten)]
    pub call: Call,
    /// What a shell command would run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intents: Option<Intents>,
}

/// The circumstances of the stop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stop {
    /// How long the turn took, where its beginning is known.
    pub elapsed_ms: Option<u64>,
    /// The agent does not claim to be done.
    pub waiting: Option<Waiting>,
    /// When it took place, in nanoseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ns: Option<i64>,
    /// The stop is judged again, for results were written after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrects: Option<Correction>,
}

/// What earlier verdicts of this session said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    pub holds_this_turn: u32,
    /// The transcript shows that the hold reached the agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hold_received: bool,
    /// Actions that the last turn was held for.
    pub held_before: Vec<String>,
    /// Actions that cannot be done here.
    pub waived: Vec<Waived>,
    /// What the person was told before in this session; see [`crate::reports`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reported: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waived {
    pub action: String,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanFile {
    pub slug: String,
    pub text: String,
}

/// How a command ended that the policy runs at the stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckResult {
    pub run: String,
    pub outcome: CheckOutcome,
    /// The end of what it printed.
    pub output: String,
    /// How long it ran; zero if that was not recorded.
    #[serde(default)]
    pub milliseconds: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CheckOutcome {
    Passed,
    Failed,
    TimedOut,
    /// It could not be started, which proves nothing.
    NotStarted,
}

impl CheckResult {
    pub(crate) fn has_passed(&self) -> bool {
        self.outcome == CheckOutcome::Passed
    }
}

/// How a transcript is read that may have our own messages in it.
pub fn reading_options(agent: Option<Agent>) -> Options {
    Options { agent, mark: text::OWN_PREFIX, ..Options::default() }
}

impl RecordedCall {
    /// Reads what the call's command would run, in the folder in which it was started.
    pub fn new(call: Call, cwd: &str) -> Self {
        let elsewhere = call.cwd.as_ref().filter(|folder| *folder != cwd);
        let folder = elsewhere.map_or(Directory::Start, |folder| Directory::At(folder.clone()));
        let intents = match (call.kind, &call.command) {
            (Kind::Shell, Some(command)) => Some(Intents::read_in(folder, command)),
            _ => None,
        };
        Self { call, intents }
    }

    /// What the output shows, all of it if the transcript was at hand.
    pub fn shown(&self) -> Cow<'_, Shown> {
        self.call.output.shown().map_or_else(
            || Cow::Owned(outputs::shown(self.call.snippet.as_deref().unwrap_or_default())),
            Cow::Borrowed,
        )
    }
}

impl Inputs {
    /// The same with some of the policy's own checks as runs of the turn, after everything else: a check is evidence as any
    /// other run is. Those that failed are taken for runs that went well.
    pub(crate) fn with_check_runs(&self, is_meant: impl Fn(&CheckResult) -> bool) -> Cow<'_, Self> {
        let meant: Vec<&CheckResult> = self.checks.iter().filter(|check| is_meant(check)).collect();
        if meant.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut inputs = self.clone();
        let root = self.root();
        inputs.calls.extend(meant.into_iter().map(|check| {
            let call = Call {
                tool: "check".to_owned(),
                kind: Kind::Shell,
                command: Some(check.run.clone()),
                outcome: Outcome::Ok,
                exit_code: Some(0),
                cwd: Some(root.clone()),
                snippet: (check.outcome == CheckOutcome::Passed).then(|| check.output.clone()),
                ..Call::default()
            };
            RecordedCall::new(call, &self.cwd)
        }));
        Cow::Owned(inputs)
    }

    /// The root of the repository; without git the agent's folder stands for it.
    pub(crate) fn root(&self) -> String {
        match &self.changes {
            Changes::Known(ChangeSet { root, .. }) => root.to_string(),
            Changes::Transcript(_) | Changes::Unknown(_) => self.cwd.clone(),
        }
    }

    /// Puts the calls of turns that nobody judged in front.
    pub fn add_earlier(&mut self, mut earlier: Vec<RecordedCall>) {
        self.earlier_calls += earlier.len();
        earlier.append(&mut self.calls);
        self.calls = earlier;
    }

    /// The part that a transcript gives.
    pub fn of_reading(reading: Reading, changes: Changes, cwd: String) -> Self {
        let mut said: Vec<String> = reading.messages.into_iter().map(|message| message.text).collect();
        // What is asked at the end decides whether the agent waits.
        if let (Some(last), Some(whole)) = (said.last_mut(), &reading.last_assistant) {
            *last = text::tail(whole, LONGEST_LAST_WORDS).to_owned();
        }
        Self {
            changes,
            coverage: reading.coverage,
            earlier_calls: reading.earlier_calls,
            calls: reading.calls.into_iter().map(|call| RecordedCall::new(call, &cwd)).collect(),
            said,
            cwd,
            folder: None,
            session: reading.session,
            repository: None,
            script_endings: BTreeMap::new(),
            without_need: Vec::new(),
            present: BTreeMap::new(),
            stop: Stop::default(),
            history: History::default(),
            ledger: LedgerExtract::default(),
            plan: None,
            checks: Vec::new(),
        }
    }
}
