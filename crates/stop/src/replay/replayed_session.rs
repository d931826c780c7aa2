//! A policy over recorded turns: each turn of a session judged as at its first stop, with what the turns before it left
//! behind. What changed is what the timeline edited; there is no repository, no clock and no disk to ask.

use std::collections::BTreeMap;

use gate::policy::Policy;
use gate::{ActionState, Changes, History, Inputs, RecordedCall, Verdict, Waiting};
use jiff::Timestamp;
use programs::repository::{Repository, Script};
use transcript::{Call, Extent, Reading, WalkedTurn};

use crate::judged_stop::{Delivery, open_actions};

/// One session, turn after turn.
#[derive(Debug)]
pub struct ReplayedSession {
    /// The folder of the repository.
    root: String,
    /// The repository's own words, where there is a checkout of it.
    words: Option<Repository>,
    /// The endings of scripts whose names have none, by their first lines: those of the checkout, and those that were written.
    script_endings: BTreeMap<String, String>,
    /// What the turns so far left behind.
    history: History,
    /// The calls of the turns that were not judged since the last one that was (L1).
    unjudged: Vec<RecordedCall>,
}

/// More calls than these are not judged with a later turn.
const MOST_UNJUDGED: usize = 2000;

/// A turn that was replayed: what it was, and what the policy says of it.
#[derive(Clone, Debug)]
pub struct ReplayedTurn {
    /// The client's own id of the turn.
    pub id: Option<String>,
    pub prompt: String,
    pub started_at: Option<Timestamp>,
    /// The line of the prompt.
    pub line: Option<u64>,
    /// We held it when it took place.
    pub was_held: bool,
    /// What was missing at that hold ran after it.
    pub then_tested: bool,
    /// The folder of the repository that the session worked in.
    pub project: Option<String>,
    pub judged: Result<Verdict, NotJudged>,
}

/// Why nothing can be said of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotJudged {
    #[error("the turn is too long to read in full")]
    TooLong,
    #[error("fewer than half of its records were understood")]
    NotUnderstood,
    #[error("its repository has no policy")]
    NoPolicy,
    #[error("the policy of its repository has mistakes")]
    BrokenPolicy,
    #[error("the transcript does not say in which folder the agent worked")]
    NoFolder,
}

impl ReplayedSession {
    pub fn new(root: String, words: Option<Repository>) -> Self {
        let words = words.map(|words| Repository { root: root.clone(), ..words });
        let scripts = words.iter().flat_map(|words| &words.scripts);
        let ending = |script: &Script| {
            let ending = contents::script_ending(&script.path, &script.text)?;
            Some((script.path.clone(), ending.to_owned()))
        };
        let script_endings = scripts.filter_map(ending).collect();
        Self { root, words, script_endings, history: History::default(), unjudged: Vec::new() }
    }

    /// The folder of the repository.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Judges the next turn of the session.
    pub fn judge(&mut self, policy: &Policy, turn: WalkedTurn) -> ReplayedTurn {
        if let Some(reason) = unjudgeable(&turn.reading) {
            self.history.held_before.clear();
            // What verified the turns before may be in what is missing.
            self.unjudged.clear();
            return ReplayedTurn::not_judged(&turn, reason);
        }
        let mut replayed = ReplayedTurn::not_judged(&turn, NotJudged::NotUnderstood);
        let WalkedTurn { reading, said_after_mark, calls_after_mark, is_last, .. } = turn;
        let broke_off = || broke_off(&reading).then_some(Waiting::Interrupted);
        let waiting = Waiting::of_record(&reading).or_else(|| if is_last { None } else { broke_off() });
        let elapsed_ms = elapsed(&reading);
        let mut inputs = Inputs::of_reading(reading, Changes::Transcript(Vec::new()), self.root.clone());
        inputs.add_earlier(std::mem::take(&mut self.unjudged));
        inputs.changes = Changes::Transcript(gate::edited_files(&inputs));
        self.script_endings.extend(gate::script_endings(&inputs));
        inputs.script_endings = std::mem::take(&mut self.script_endings);
        inputs.stop.waiting = waiting;
        inputs.stop.elapsed_ms = elapsed_ms;
        inputs.history = std::mem::take(&mut self.history);
        inputs.repository = self.words.take();
        let verdict = gate::judge(policy, &inputs);
        replayed.then_tested = then_tested(policy, &verdict, &inputs, calls_after_mark);
        self.words = inputs.repository.take();
        self.script_endings = std::mem::take(&mut inputs.script_endings);
        let open = open_actions(&verdict, &inputs.history, Delivery::Sure);
        let held_before = open.into_iter().map(str::to_owned).collect();
        // What an agent cannot do, it says in answer to the hold.
        inputs.said.extend(said_after_mark);
        let waived = gate::waivers(policy, &inputs);
        let mut reported = inputs.history.reported;
        reported.extend(gate::reports(&verdict));
        self.history = History { holds_this_turn: 0, hold_received: false, held_before, waived, reported };
        // Nobody looked at what changed: the next turn is judged together with this one.
        if verdict.scope.is_none() && inputs.calls.len() <= MOST_UNJUDGED && !policy.gate.turn_only {
            self.unjudged = inputs.calls;
        }
        replayed.judged = Ok(verdict);
        replayed
    }
}

impl ReplayedTurn {
    /// A turn of which nothing can be said, and why.
    pub fn not_judged(turn: &WalkedTurn, reason: NotJudged) -> Self {
        let opened = turn.reading.turn.as_ref();
        Self {
            id: opened.and_then(|opened| opened.id.clone()),
            prompt: opened.map(|opened| opened.prompt.clone()).unwrap_or_default(),
            started_at: opened.and_then(|opened| opened.started_at),
            line: opened.and_then(|opened| opened.line),
            was_held: turn.is_marked,
            then_tested: false,
            project: None,
            judged: Err(reason),
        }
    }
}

/// Whether what was missing is there with what the agent did after the hold.
fn then_tested(policy: &Policy, verdict: &Verdict, inputs: &Inputs, after: Vec<Call>) -> bool {
    if after.is_empty() {
        return false;
    }
    let mut whole = inputs.clone();
    let cwd = whole.cwd.clone();
    whole.calls.extend(after.into_iter().map(|call| RecordedCall::new(call, &cwd)));
    whole.changes = Changes::Transcript(gate::edited_files(&whole));
    let is_done = |verdict: &Verdict, id: &str| {
        verdict.actions.iter().any(|action| action.id == id && action.state == ActionState::Satisfied)
    };
    let later = gate::judge(policy, &whole);
    later.actions.iter().any(|action| is_done(&later, &action.id) && !is_done(verdict, &action.id))
}

/// What is missing of a turn is not judged by what is there: the evidence may be in the missing part.
fn unjudgeable(reading: &Reading) -> Option<NotJudged> {
    match reading.coverage.extent {
        Extent::Complete => None,
        Extent::Truncated => Some(NotJudged::TooLong),
        Extent::Unavailable => Some(NotJudged::NotUnderstood),
    }
}

/// An agent that stops says something: a turn that ends with a call, and that another one follows, was ended by something
/// else. How the last one goes on is not known.
fn broke_off(reading: &Reading) -> bool {
    let last = reading.calls.iter().rposition(|call| call.subagent.is_none());
    let said = reading.messages.last().map_or(0, |message| message.calls_before);
    last.is_some_and(|last| said <= last)
}

/// How long the turn took, as far as its calls and messages tell.
fn elapsed(reading: &Reading) -> Option<u64> {
    let began = reading.turn.as_ref()?.started_at?;
    let calls = reading.calls.iter().filter_map(|call| call.ended_at.or(call.at));
    let said = reading.messages.iter().filter_map(|message| message.at);
    let ended = calls.chain(said).max()?;
    u64::try_from(ended.duration_since(began).as_millis()).ok()
}
