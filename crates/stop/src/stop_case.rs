//! The turn of one stop, judged as a reading of its transcript shows it: what the journal knows of it, what changed
//! since its prompt, the plan of the work item and what the policy's own checks say go to the gate.

use std::path::{Path, PathBuf};

use change_set::Scope;
use changes::{Baseline, Pending};
use gate::policy::{Policy, Proof, SecondStop};
use gate::{ActionState, Changes, Inputs, Verdict, Waiting};
use journal::{Journal, JournalError, Turn, UnjudgedTurns};
use programs::repository::Repository;
use programs::shell::Intents;
use transcript::{Call, Coverage, Extent, Outcome, Reading, Usage};

use crate::changed_texts;
use crate::checks;
use crate::client_event::ClientEvent;
use crate::known_turn::KnownTurn;
use crate::last_words;
use crate::plan_file;
use crate::policy_files::PolicyTexts;
use crate::record::PackedCalls;
use crate::repository_files::{self, Listings};
use crate::seen_contents::SeenContents;
use crate::trust;
use crate::turn_start_snapshot;
use crate::written_files;

/// Who wants the verdict, which decides what of the past counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedBy {
    /// A client at its stop: how often the turn was held counts, and how long it took.
    Client,
    /// A person or a script, at any time: judged as at the first stop of a turn that was long enough.
    Person,
}

/// Why a turn was not judged.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    #[error("fail open: the journal cannot be read: {0}")]
    Journal(#[source] JournalError),
    /// A stranger's repository, and so a stranger's policy.
    #[error(transparent)]
    Refused(changes::Error),
}

/// All that stays the same while one stop is judged.
#[derive(Debug)]
pub struct StopCase {
    pub texts: PolicyTexts,
    pub policy: Policy,
    pub asked_by: AskedBy,
    /// The gate judges here. Otherwise the stop is looked at for what is to be saved, and nothing of it is recorded.
    pub is_gated: bool,
    pub repository: Option<changes::Repository>,
    pub root: PathBuf,
    /// The turns that are judged together, if there is more than one (L1).
    pub span: Option<UnjudgedTurns>,
}

/// What one look at the turn gave.
#[derive(Debug)]
pub struct JudgedTurn {
    pub known: KnownTurn,
    pub inputs: Inputs,
    pub verdict: Verdict,
    /// The context in use, and the prompt of the turn.
    pub usage: Option<Usage>,
    pub prompt: Option<String>,
    pub(crate) calls: PackedCalls,
    /// The contents that the verdict is about.
    pub(crate) contents: SeenContents,
}

impl JudgedTurn {
    /// Whether calls that are not written yet could change what is said: they may be the evidence that is missing,
    /// the fix of an error, or the result of a call.
    pub(crate) fn is_open(&self) -> bool {
        self.verdict.actions.iter().any(|action| action.state == ActionState::Required)
            || !self.verdict.observations.is_empty()
            || self.inputs.calls.iter().any(|recorded| recorded.call.outcome == Outcome::Unknown)
    }
}

impl StopCase {
    /// How often a turn may be held.
    pub(crate) fn most_holds(&self) -> u32 {
        match self.policy.gate.second_stop {
            SecondStop::Pass => 1,
            SecondStop::HoldUncommitted => 2,
        }
    }

    /// Judges the turn as `reading` shows it. Without a journal nothing is known of its beginning.
    pub fn judge(
        &self,
        event: &mut ClientEvent,
        mut journal: Option<&mut Journal>,
        pending: Result<Pending, changes::Error>,
        mut reading: Reading,
    ) -> Result<JudgedTurn, StopError> {
        let policy = &self.policy;
        event.stopwatch.lap("transcript");
        let known = KnownTurn::read(journal.as_deref_mut(), event, &reading).map_err(StopError::Journal)?;
        event.stopwatch.lap("turn");
        let holds = self.holds(&known, &reading);
        let hold_received = holds > 0 && reading.was_held;
        let waiting = waiting(event, &reading, &self.root);
        let is_whole = last_words::are_there(event, &reading);
        let usage = reading.usage.take();
        let prompt = reading.turn.take().map(|turn| turn.prompt);
        let cwd = event.cwd.to_string_lossy().into_owned();
        let mut inputs = Inputs::of_reading(reading, Changes::Unknown(String::new()), cwd);
        if !is_whole {
            inputs.said.extend(event.payload.last_text.clone());
        }
        let touched = written_files::touched(&inputs);
        // Git is still running: all that needs no answer of it is done now.
        policy.prepare();
        if let Some(journal) = journal.as_deref_mut() {
            journal.prepare_to_record();
        }
        let calls = PackedCalls::of(&inputs);
        let listings = match asks_for_own_words(policy) {
            true => repository_files::listed_ahead(&self.root),
            false => Listings::default(),
        };
        event.stopwatch.lap("intents");
        let baseline = self.baseline(&known, journal.as_deref_mut(), &pending, event);
        let changed =
            written_files::change_set(pending, policy, baseline.as_ref(), touched.as_deref(), &event.cwd);
        inputs.changes = match changed {
            Ok(set) => Changes::Known(set),
            Err(error @ changes::Error::Refused { .. }) => return Err(StopError::Refused(error)),
            Err(error) => Changes::Unknown(error.to_string()),
        };
        if is_whole {
            written_files::leave_out_others(&mut inputs, touched.as_deref(), &event.cwd);
        }
        event.stopwatch.lap("git wait");
        let branch = match &inputs.changes {
            Changes::Known(set) => set.branch.clone(),
            _ => None,
        };
        let slug = known.session.as_ref().and_then(|session| session.slug.as_ref());
        let slug = slug.or(event.settings.slug.as_ref());
        inputs.plan = plan_file::plan(policy, &self.root, slug.map(String::as_str), branch.as_deref());
        let elapsed = self.elapsed(&known, event);
        let shortest = policy.gate.min_turn.as_millis();
        let is_long = shortest == 0 || elapsed.is_some_and(|elapsed| u128::from(elapsed) >= shortest);
        // An agent that waits, was quick or was held passes whatever they say, and would have to wait for them too.
        if self.is_gated && waiting.is_none() && is_long && holds < self.most_holds() {
            let trust = || trust::of_file_or_unknown(journal.as_deref_mut(), &self.texts);
            inputs.checks = checks::run_allowed(&self.texts, policy, trust, &inputs.changes, &self.root);
        }
        if let Changes::Known(set) = &inputs.changes {
            let paths: Vec<String> = set.files.iter().map(|file| file.path.to_string()).collect();
            inputs.script_endings =
                changed_texts::script_endings(&self.root, paths.iter().map(String::as_str));
        }
        inputs.without_need = self.without_need(&inputs, event);
        let mut contents = SeenContents::default();
        if let (Some(journal), Some(repository), Changes::Known(set)) =
            (journal, &self.repository, &inputs.changes)
        {
            contents = SeenContents::of_changes(repository, policy, set, &inputs.script_endings);
            let turn_start = baseline.as_ref();
            inputs.ledger = contents
                .look_up(journal, repository, turn_start, set, &event.settings.git)
                .map_err(StopError::Journal)?;
            inputs.ledger.told.clone_from(&known.told_unproven);
        }
        event.stopwatch.lap("ledger");
        inputs.repository = own_words(&self.root, policy, &inputs, listings);
        inputs.stop.waiting = waiting;
        inputs.stop.elapsed_ms = elapsed;
        inputs.stop.at_ns = i64::try_from(event.now.as_nanosecond()).ok();
        inputs.history.holds_this_turn = holds;
        inputs.history.hold_received = hold_received;
        inputs.history.held_before.clone_from(&known.held_before);
        inputs.history.waived.clone_from(&known.waived);
        inputs.history.reported.clone_from(&known.reported);
        let mut verdict = gate::judge(policy, &inputs);
        if !self.is_gated {
            verdict.decision = gate::Decision::Pass;
            verdict.message = None;
        }
        if let (Some(repository), Changes::Known(set)) = (&self.repository, &inputs.changes) {
            let (turn_start, head) = (baseline.as_ref(), set.head.as_deref());
            let git = &event.settings.git;
            contents.look_at_the_beginning(&verdict.standings, repository, turn_start, head, git);
        }
        event.stopwatch.lap("judge");
        Ok(JudgedTurn { known, inputs, verdict, usage, prompt, calls, contents })
    }

    /// The files of which only comments changed, where no transcript shows the edits.
    fn without_need(&self, inputs: &Inputs, event: &ClientEvent) -> Vec<String> {
        let Coverage { extent, records, .. } = inputs.coverage;
        match (&inputs.changes, &self.repository) {
            (Changes::Known(set), Some(repository))
                if extent == Extent::Unavailable && records == 0 && set.scope != Scope::TurnBaseline =>
            {
                changed_texts::without_need(repository, &event.settings.git, set)
            }
            _ => Vec::new(),
        }
    }

    /// Our message among the prompts is a hold too, counted or not: a journal can be lost.
    fn holds(&self, known: &KnownTurn, reading: &Reading) -> u32 {
        let counted = known.turn.as_ref().map_or(0, |turn| turn.holds);
        match self.asked_by {
            AskedBy::Client => counted.max(u32::from(reading.has_own_message)),
            AskedBy::Person => 0,
        }
    }

    /// How long the turn has taken; for a person at least as long as the policy wants a turn to be.
    fn elapsed(&self, known: &KnownTurn, event: &ClientEvent) -> Option<u64> {
        let began = self.span.as_ref().map(|span| span.first.opened_at).or(known.opened_at);
        let taken = began.and_then(|opened| u64::try_from(event.now.duration_since(opened).as_millis()).ok());
        let shortest = u64::try_from(self.policy.gate.min_turn.as_millis()).unwrap_or(u64::MAX);
        match self.asked_by {
            AskedBy::Client => taken,
            AskedBy::Person => Some(taken.unwrap_or_default().max(shortest)),
        }
    }

    /// The state of the repository at the prompt, as well as anybody knows it.
    fn baseline(
        &self,
        known: &KnownTurn,
        journal: Option<&mut Journal>,
        pending: &Result<Pending, changes::Error>,
        event: &ClientEvent,
    ) -> Option<Baseline> {
        let turn = self.span.as_ref().map(|span| &span.first).or(known.turn.as_ref())?;
        let quick = baseline(turn);
        let (Ok(pending), Some(journal)) = (pending, journal) else { return quick };
        let git = &event.settings.git;
        turn_start_snapshot::better_baseline(quick, turn, pending.repository(), git, journal)
    }
}

/// The repository's own words about what changed and where commands ran, if a rule asks for them.
pub(crate) fn own_words(
    root: &Path,
    policy: &Policy,
    inputs: &Inputs,
    listings: Listings,
) -> Option<Repository> {
    let Changes::Known(set) = &inputs.changes else { return None };
    let unproven = inputs.ledger.unproven.iter().map(|file| file.path.clone());
    let changed: Vec<String> = set.files.iter().map(|file| file.path.to_string()).chain(unproven).collect();
    if !asks_for_own_words(policy) || changed.is_empty() {
        return None;
    }
    let commands = || {
        let intents = inputs.calls.iter().filter_map(|recorded| recorded.intents.as_ref());
        intents.flat_map(Intents::commands)
    };
    let ran = repository_files::ran(root, &inputs.cwd, commands());
    let mut files = repository_files::around_with(root, changed.iter().chain(&ran).map(String::as_str), listings);
    let name = root.to_string_lossy();
    let mut repository = Repository::of_files(name.as_ref(), &files);
    let says_nothing =
        |path: &String| repository.package_of(path).is_some_and(|package| package.ways.is_empty());
    if changed.iter().any(says_nothing) {
        files.extend(repository_files::of_ci(root));
        repository = Repository::of_files(name.as_ref(), &files);
    }
    repository.keep_used(commands(), &inputs.cwd);
    Some(repository)
}

/// Whether a rule asks for the repository's own words.
fn asks_for_own_words(policy: &Policy) -> bool {
    policy.actions.iter().any(|action| action.proof == Proof::Verification)
}

/// What the agent waits for, by its client's word and by the transcript.
fn waiting(event: &ClientEvent, reading: &Reading, root: &Path) -> Option<Waiting> {
    // A server is nothing that anybody waits for (L7), and neither is what an earlier turn left running.
    if event.payload.background_tasks > 0 && reading.own_calls().iter().any(gate::is_running_check) {
        return Some(Waiting::BackgroundTasks);
    }
    // A plan is made until the first edit; what was edited before it is to be verified all the same.
    let is_inside = |path: &String| root.join(path).starts_with(root);
    let is_edit_here = |call: &Call| gate::is_edit(call) && call.paths.iter().any(is_inside);
    if event.payload.is_planning() && !reading.calls.iter().any(is_edit_here) {
        return Some(Waiting::PlanMode);
    }
    Waiting::of_reading(reading)
}

/// The baseline that the prompt took.
pub fn baseline(turn: &Turn) -> Option<Baseline> {
    serde_json::from_slice(turn.baseline.as_deref()?).ok()
}
