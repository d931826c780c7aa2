//! A policy over recorded turns: each turn of a session judged as at its first stop, with what the turns before it left
//! behind. What changed is what the timeline edited; there is no repository, no clock and no disk to ask.

mod report;

use std::collections::BTreeSet;

use jiff::Timestamp;
use programs::Deed;
use programs::shell::Intents;
use transcript::{Extent, Kind, Outcome, Reading, WalkedTurn};

use crate::inputs::{Changes, History, Inputs, RecordedCall, Waiting};
use crate::judge::judge;
use crate::policy::Policy;
use crate::silence::waivers;
use crate::verdict::{ActionState, Decision, Verdict};
use crate::work::Paths;

pub use report::{
    ActionCount, AgentCount, Counts, DayCount, HeldThen, Hold, ReasonCount, Report, RuleCount, Totals,
    UnreadFile,
};

/// One session, turn after turn.
#[derive(Debug)]
pub struct Session {
    /// The folder of the repository.
    root: String,
    /// What the turns so far left behind.
    history: History,
}

/// A turn that was replayed: what it was, and what the policy says of it.
#[derive(Clone, Debug)]
pub struct ReplayedTurn {
    /// The client's own id of the turn.
    pub id: Option<String>,
    pub prompt: String,
    pub started_at: Option<String>,
    /// The line of the prompt.
    pub line: Option<u64>,
    /// We held it when it took place.
    pub was_held: bool,
    /// The verdict, or why there is none.
    pub judged: Result<Verdict, String>,
}

impl ReplayedTurn {
    pub fn began(&self) -> Option<Timestamp> {
        self.started_at.as_deref()?.parse().ok()
    }
}

impl Session {
    pub fn new(root: String) -> Self {
        Self { root, history: History::default() }
    }

    /// Judges the next turn of the session.
    pub fn judge(&mut self, policy: &Policy, turn: WalkedTurn) -> ReplayedTurn {
        if let Some(reason) = unjudgeable(&turn.reading) {
            self.history.held_before.clear();
            return ReplayedTurn::not_judged(&turn, reason);
        }
        let mut replayed = ReplayedTurn::not_judged(&turn, "");
        let WalkedTurn { reading, said_after_hold, .. } = turn;
        let waiting = Waiting::of_reading(&reading);
        let elapsed_ms = elapsed(&reading);
        let mut inputs = Inputs::of_reading(reading, Changes::Transcript(Vec::new()), self.root.clone());
        inputs.changes = Changes::Transcript(edited(&inputs));
        inputs.stop.waiting = waiting;
        inputs.stop.elapsed_ms = elapsed_ms;
        inputs.history = std::mem::take(&mut self.history);
        let verdict = judge(policy, &inputs);
        let held_before = still_asked(&verdict, &inputs.history);
        // What an agent cannot do, it says in answer to the hold.
        inputs.said.extend(said_after_hold);
        let waived = waivers(policy, &inputs);
        self.history = History { holds_this_turn: 0, held_before, waived };
        replayed.judged = Ok(verdict);
        replayed
    }
}

impl ReplayedTurn {
    /// A turn of which nothing can be said, and why.
    pub fn not_judged(turn: &WalkedTurn, reason: &str) -> Self {
        let opened = turn.reading.turn.as_ref();
        Self {
            id: opened.and_then(|opened| opened.id.clone()),
            prompt: opened.map(|opened| opened.prompt.clone()).unwrap_or_default(),
            started_at: opened.and_then(|opened| opened.started_at.clone()),
            line: opened.and_then(|opened| opened.line),
            was_held: turn.was_held,
            judged: Err(reason.to_owned()),
        }
    }
}

/// What is missing of a turn is not judged by what is there: the evidence may be in the missing part.
fn unjudgeable(reading: &Reading) -> Option<&'static str> {
    match reading.coverage.extent {
        Extent::Complete => None,
        Extent::Truncated => Some("the turn is too long to be read whole"),
        Extent::Unavailable => Some("fewer than half of its records were understood"),
    }
}

/// As the journal remembers it: what the turn is held for, and what was asked for before and is still not done.
fn still_asked(verdict: &Verdict, history: &History) -> Vec<String> {
    let is_held = verdict.decision == Decision::Hold;
    let open = verdict.actions.iter().filter(|action| match action.state {
        ActionState::Required => is_held,
        ActionState::Waived => history.held_before.contains(&action.id),
        ActionState::Satisfied => false,
    });
    open.map(|action| action.id.clone()).collect()
}

/// How long the turn took, as far as its calls and messages tell.
fn elapsed(reading: &Reading) -> Option<u64> {
    let time = |text: Option<&String>| text.and_then(|text| text.parse::<Timestamp>().ok());
    let began = time(reading.turn.as_ref()?.started_at.as_ref())?;
    let calls = reading.calls.iter().filter_map(|call| time(call.ended_at.as_ref().or(call.at.as_ref())));
    let said = reading.messages.iter().filter_map(|message| time(message.at.as_ref()));
    let ended = calls.chain(said).max()?;
    u64::try_from(ended.duration_since(began).as_millis()).ok()
}

/// The files inside the repository that the timeline shows as edited, each once. Formatters may have changed nothing, and
/// count for nothing here.
fn edited(inputs: &Inputs) -> Vec<String> {
    let spelling = Paths::new(&inputs.cwd, &inputs.cwd);
    let mut files = BTreeSet::new();
    for RecordedCall { call, intents } in &inputs.calls {
        if matches!(call.kind, Kind::Edit | Kind::Write) && call.outcome != Outcome::Error {
            files.extend(call.paths.iter().map(|path| spelling.one(path)));
        }
        let commands = intents.as_ref().map(Intents::commands).unwrap_or_default();
        for command in commands.iter().filter(|command| command.deed() != Deed::Formats) {
            files.extend(command.edits.paths.iter().map(|path| spelling.one(path)));
        }
    }
    files.retain(|path| !path.starts_with('/') && !path.starts_with(".git/"));
    files.into_iter().collect()
}
