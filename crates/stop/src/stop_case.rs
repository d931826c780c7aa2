//! The turn of one stop, judged as a reading of its transcript shows it: what the journal knows of it, what changed
//! since its prompt, the plan of the work item and what the policy's own checks say go to the gate.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use agents::host;
use change_set::{ChangeSet, Scope};
use changes::{Baseline, Pending, Request, Touched, Unseen};
use gate::policy::{Policy, Proof, SecondStop};
use gate::{ActionState, Changes, ContentProof, Inputs, RecordedCall, Verdict, Waiting};
use jiff::Timestamp;
use journal::{Journal, JournalError, Turn, UnjudgedTurns};
use programs::repository::Repository;
use programs::shell::Intents;
use transcript::{Coverage, Extent, Outcome, Reading, Usage};

use crate::changed_texts::{self, TextsBefore};
use crate::checks;
use crate::client_event::ClientEvent;
use crate::known_turn::{KnownTurn, SessionPart};
use crate::last_words;
use crate::notices;
use crate::other_repositories::{OtherRepository, RunTime};
use crate::plan_file;
use crate::policy_files::PolicyTexts;
use crate::record::PackedCalls;
use crate::repository_files::{self, Listings};
use crate::seen_contents::{self, SeenContents};
use crate::submodules::Submodules;
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
    /// How the agent gets here, if it does not work in this repository.
    pub folder: Option<String>,
    /// When commands of the turn may have written here, if this is not the repository of the session.
    pub beside: Option<Vec<RunTime>>,
}

/// A repository that a stop judged, and what came out.
#[derive(Debug)]
pub struct JudgedRepository {
    pub case: StopCase,
    pub turn: JudgedTurn,
}

/// The turn as its transcript shows it, whichever repository it is looked at for.
#[derive(Clone, Debug)]
pub(crate) struct ShownTurn {
    turn: Option<transcript::Turn>,
    pub(crate) inputs: Inputs,
    usage: Option<Usage>,
    has_marked_prompt: bool,
    is_marked: bool,
    /// The agent's last words are written.
    is_whole: bool,
    /// A check runs in the background.
    is_checking: bool,
    /// What the transcript says that the agent waits for.
    waiting: Option<Waiting>,
}

impl ShownTurn {
    pub(crate) fn of(event: &ClientEvent, mut reading: Reading) -> Self {
        let is_whole = last_words::are_there(event, &reading);
        // A server is nothing that anybody waits for (L7), and neither is what an earlier turn left running.
        let is_checking =
            event.payload.background_tasks > 0 && reading.own_calls().iter().any(gate::is_running_check);
        let waiting = Waiting::of_reading(&reading);
        let (turn, usage) = (reading.turn.take(), reading.usage.take());
        let Reading { has_marked_prompt, is_marked, .. } = reading;
        let cwd = event.cwd.to_string_lossy().into_owned();
        let mut inputs = Inputs::of_reading(reading, Changes::Unknown(String::new()), cwd);
        if !is_whole {
            inputs.said.extend(event.payload.last_text.clone());
        }
        Self { turn, inputs, usage, has_marked_prompt, is_marked, is_whole, is_checking, waiting }
    }

    /// What the agent waits for, by its client's word and by the transcript.
    fn waiting(&self, event: &ClientEvent, root: &Path) -> Option<Waiting> {
        if self.is_checking {
            return Some(Waiting::BackgroundTasks);
        }
        // A plan is made until the first edit; what was edited before it is to be verified all the same.
        let is_inside = |path: &String| root.join(path).starts_with(root);
        let is_edit_here = |recorded: &RecordedCall| {
            gate::is_edit(&recorded.call) && recorded.call.paths.iter().any(is_inside)
        };
        if event.payload.is_planning() && !self.inputs.calls.iter().any(is_edit_here) {
            return Some(Waiting::PlanMode);
        }
        self.waiting
    }

    pub(crate) fn turn(&self) -> Option<&transcript::Turn> {
        self.turn.as_ref()
    }

    /// Leaves out the calls that are not wanted.
    pub(crate) fn keep_calls(&mut self, is_kept: impl Fn(&RecordedCall) -> bool) {
        let earlier = self.inputs.earlier_calls;
        self.inputs.earlier_calls =
            self.inputs.calls.iter().take(earlier).filter(|call| is_kept(call)).count();
        self.inputs.calls.retain(is_kept);
    }
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
    /// Submodules that changed and have a policy of their own.
    pub(crate) submodules: Vec<OtherRepository>,
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
        journal: Option<&mut Journal>,
        pending: Result<Pending, changes::Error>,
        reading: Reading,
    ) -> Result<JudgedTurn, StopError> {
        event.stopwatch.lap("transcript");
        let shown = ShownTurn::of(event, reading);
        self.judge_shown(event, journal, pending, shown)
    }

    pub(crate) fn judge_shown(
        &self,
        event: &mut ClientEvent,
        mut journal: Option<&mut Journal>,
        pending: Result<Pending, changes::Error>,
        shown: ShownTurn,
    ) -> Result<JudgedTurn, StopError> {
        let policy = &self.policy;
        let known = KnownTurn::read(journal.as_deref_mut(), event, shown.turn.as_ref(), self.part());
        let known = known.map_err(StopError::Journal)?;
        event.stopwatch.lap("turn");
        let holds = self.holds(&known, &shown);
        let is_told = !host(event.payload.agent).can.records_holds && event.payload.stop_hook_active;
        let hold_received = holds > 0 && (shown.is_marked || is_told);
        let waiting = shown.waiting(event, &self.root);
        let ShownTurn { turn, mut inputs, usage, is_whole, .. } = shown;
        let prompt = turn.map(|turn| turn.prompt);
        inputs.folder.clone_from(&self.folder);
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
        let unproven = match (journal.as_deref_mut(), &self.repository) {
            (Some(journal), Some(repository)) => {
                let commit = baseline.as_ref().and_then(|baseline| baseline.head.as_deref());
                seen_contents::all_live_unproven(journal, repository, commit).map_err(StopError::Journal)?
            }
            _ => Vec::new(),
        };
        let began = self.span.as_ref().map(|span| span.first.opened_at).or(known.opened_at);
        let changed = match began.filter(|_| self.is_unseen(baseline.as_ref())) {
            Some(began) => self.changed_unseen(pending, began, &inputs, event),
            None => {
                let touched = touched.as_deref();
                written_files::change_set(pending, policy, baseline.as_ref(), touched, &event.cwd)
            }
        };
        let mut submodules = Vec::new();
        inputs.changes = match changed {
            Ok(mut set) => {
                if let (Some(began), Some(repository)) = (began, &self.repository) {
                    let inside = Submodules { outer: repository, inputs: &inputs, began, event };
                    submodules = if policy.gate.turn_only { Vec::new() } else { inside.add_to(&mut set) };
                }
                Changes::Known(set)
            }
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
        // An agent that waits or was quick passes whatever they say, and would have to wait for them too. After a hold they
        // show what became of it.
        if self.is_gated && waiting.is_none() && is_long && holds <= self.most_holds() {
            let trust = || trust::of_file_or_unknown(journal.as_deref_mut(), &self.texts);
            let ran = checks::run_allowed(&self.texts, policy, trust, &inputs.changes, &self.root);
            inputs.checks = ran.results;
            if let (Some(journal), true) = (journal.as_deref_mut(), ran.ignored > 0) {
                notices::note_untrusted_checks(journal, event, &self.texts, ran.ignored);
            }
        }
        if let Changes::Known(set) = &inputs.changes {
            let paths: Vec<String> = set.files.iter().map(|file| file.path.to_string()).collect();
            inputs.script_endings =
                changed_texts::script_endings(&self.root, paths.iter().map(String::as_str));
        }
        if let Changes::Known(set) = &inputs.changes {
            inputs.present = changed_texts::present(&self.root, set, &inputs);
        }
        inputs.without_need = self.without_need(&inputs, event);
        let mut contents = SeenContents::default();
        if let (Some(journal), Some(repository), Changes::Known(set)) =
            (journal, &self.repository, &inputs.changes)
        {
            contents = SeenContents::of_changes(repository, policy, set, &inputs.script_endings);
            inputs.ledger = contents
                .look_up(journal, repository, (unproven, baseline.as_ref()), set, &event.settings.git)
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
        let quiet = self.quiet_files(&verdict, &inputs, baseline.as_ref(), event);
        if !quiet.is_empty() {
            inputs.without_need.extend(quiet);
            inputs.without_need.sort();
            verdict = gate::judge(policy, &inputs);
        }
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
        Ok(JudgedTurn { known, inputs, verdict, usage, prompt, calls, contents, submodules })
    }

    /// Whose memory of the session is meant.
    pub(crate) fn part(&self) -> SessionPart<'_> {
        SessionPart(self.beside.as_ref().map(|_| self.root.as_path()))
    }

    /// Whether nobody looked at the repository when the turn began, although its beginning is known.
    fn is_unseen(&self, baseline: Option<&Baseline>) -> bool {
        let is_of_another = |baseline: &Baseline| {
            self.repository.as_ref().is_some_and(|repository| !baseline.is_of(repository))
        };
        (self.beside.is_some() && baseline.is_none())
            || (baseline.is_some_and(is_of_another) && !self.policy.gate.turn_only)
    }

    /// What the turn changed in a repository that nobody looked at when it began.
    fn changed_unseen(
        &self,
        pending: Result<Pending, changes::Error>,
        began: Timestamp,
        inputs: &Inputs,
        event: &ClientEvent,
    ) -> Result<ChangeSet, changes::Error> {
        let named = written_files::named(inputs);
        let touched = Touched { paths: &named, cwd: &event.cwd };
        let whole_turn = || match written_files::touched(inputs) {
            Some(_) => Vec::new(),
            None => vec![(began, event.now)],
        };
        let written = match &self.beside {
            Some(written) if !written.is_empty() || self.asked_by == AskedBy::Client => written.clone(),
            _ => whole_turn(),
        };
        pending?.change_set(Request::Unseen(Unseen { began, touched, written: &written }))
    }

    /// The files of which only comments changed, where no transcript shows the edits.
    fn without_need(&self, inputs: &Inputs, event: &ClientEvent) -> Vec<String> {
        let Coverage { extent, records, .. } = inputs.coverage;
        match (&inputs.changes, &self.repository) {
            (Changes::Known(set), Some(repository))
                if extent == Extent::Unavailable && records == 0 && set.scope != Scope::TurnBaseline =>
            {
                let before = TextsBefore { repository, git: &event.settings.git, baseline: None };
                before.without_need(set, inputs, |_| true)
            }
            _ => Vec::new(),
        }
    }

    /// The files for which something would be asked although only their comments changed, whoever wrote them. What their
    /// texts were is known to git alone, which is asked for these files only.
    fn quiet_files(
        &self,
        verdict: &Verdict,
        inputs: &Inputs,
        baseline: Option<&Baseline>,
        event: &ClientEvent,
    ) -> Vec<String> {
        let unproven = verdict.standings.iter().filter(|standing| standing.proof == ContentProof::Unproven);
        let asked: BTreeSet<&str> = unproven.map(|standing| standing.path.as_str()).collect();
        let (Changes::Known(set), Some(repository)) = (&inputs.changes, &self.repository) else {
            return Vec::new();
        };
        if asked.is_empty() || self.policy.gate.turn_only {
            return Vec::new();
        }
        let baseline = baseline.filter(|_| set.scope == Scope::TurnBaseline);
        let before = TextsBefore { repository, git: &event.settings.git, baseline };
        before.without_need(set, inputs, |path| asked.contains(path))
    }

    /// Our message among the prompts is a hold too, counted or not: a journal can be lost.
    fn holds(&self, known: &KnownTurn, shown: &ShownTurn) -> u32 {
        let counted = known.turn.as_ref().map_or(0, |turn| turn.holds);
        match self.asked_by {
            AskedBy::Client => counted.max(u32::from(shown.has_marked_prompt)),
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
        if known.is_opened_early && self.span.is_none() {
            return None;
        }
        let turn = self.span.as_ref().map(|span| &span.first).or(known.turn.as_ref())?;
        let quick = baseline(turn);
        if self.beside.is_some() {
            return quick.filter(|quick| self.repository.as_ref().is_some_and(|own| quick.is_of(own)));
        }
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
    let mut files =
        repository_files::around_with(root, changed.iter().chain(&ran).map(String::as_str), listings);
    let name = root.to_string_lossy();
    let mut repository = Repository::of_files(name.as_ref(), &files);
    let says_nothing =
        |path: &String| repository.package_of(path).is_some_and(|package| package.ways.is_empty());
    if changed.iter().any(says_nothing) {
        files.extend(repository_files::of_ci(root));
        repository = Repository::of_files(name.as_ref(), &files);
    }
    let programs = commands().filter_map(|command| repository.program_file(command, &inputs.cwd));
    repository.missing = repository_files::missing(root, programs);
    repository.keep_used(commands(), &inputs.cwd);
    Some(repository)
}

/// Whether a rule asks for the repository's own words.
fn asks_for_own_words(policy: &Policy) -> bool {
    policy.actions.iter().any(|action| action.proof == Proof::Verification)
}

/// The baseline that the prompt took.
pub fn baseline(turn: &Turn) -> Option<Baseline> {
    serde_json::from_slice(turn.baseline.as_deref()?).ok()
}
