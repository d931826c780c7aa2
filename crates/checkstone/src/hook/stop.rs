//! The agent wants to stop: git is started first, and everything else is done while it runs. What the agent did and
//! what changed go to the gate; a hold is counted before it is said.

mod known;
mod last_words;
mod recording;
mod saving;

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use agents::Decision;
use changes::{Baseline, Pending, Repository};
use gate::policy::{Policy, SecondStop};
use gate::{ActionState, Changes, CheckResult, Inputs, Verdict, Waiting};
use journal::{Journal, OpenFor, Session, Turn};
use transcript::{OWN_PREFIX, Outcome, Reading, Usage};

use self::known::Known;
use self::recording::Written;
use super::{Context, git_settings};
use crate::at_turn_start;
use crate::autosaving::Wish;
use crate::checks;
use crate::evidence;
use crate::policy_files::{FILE_NAME, FoundTexts, PolicyTexts};
use crate::record::{self, WrittenCalls};
use crate::trust;

/// The decision for the client that waits for it.
pub(crate) fn decide(context: Context) -> Decision {
    let place = Place::find(&context.cwd);
    let wish = place.wish();
    match judge_at(context, place, wish) {
        Stop::Settled { decision, .. } => decision,
        Stop::Judged(judged) if wish.is_some() => judged.conclude_saving(),
        Stop::Judged(judged) => judged.conclude(Delivery::Sure),
    }
}

/// Saves what the session did, where no stop tells it: before a compaction, and at the end of the session.
pub(crate) fn save_apart(context: Context, reason: autosave::Reason) {
    let place = Place::find(&context.cwd);
    let wish = place.wish();
    if let (true, Stop::Judged(judged)) = (wish.is_some(), judge_at(context, place, wish)) {
        judged.save_apart(reason);
    }
}

/// How far a stop has got.
pub(crate) enum Stop {
    /// Nothing is left to do; the reason is in the log too.
    Settled { decision: Decision, reason: String },
    /// The gate has judged, and nothing of it is recorded yet.
    Judged(Box<Judged>),
}

/// Whether a hold reaches the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    Sure,
    /// There is no way to the agent: a hold becomes a notice for the person, and is not counted.
    Impossible,
}

/// A verdict with all that it was made from.
pub(crate) struct Judged {
    pub(crate) context: Context,
    pub(crate) verdict: Verdict,
    case: Case,
    known: Known,
    inputs: Inputs,
    calls: WrittenCalls,
    /// The context in use, and the prompt of the turn.
    usage: Option<Usage>,
    prompt: Option<String>,
}

/// Where the agent works, and what the files there say.
pub(crate) struct Place {
    pub(crate) repository: Option<Repository>,
    root: Option<PathBuf>,
    cwd: PathBuf,
    pub(crate) found: FoundTexts,
}

impl Place {
    pub(crate) fn find(cwd: &Path) -> Self {
        let repository = Repository::discover(cwd).ok();
        let root = match &repository {
            Some(repository) => Some(repository.root.clone()),
            None => policy_folder(cwd),
        };
        let found = root.as_deref().map(FoundTexts::read).unwrap_or_default();
        Self { repository, root, cwd: cwd.to_owned(), found }
    }

    /// Whether the gate is switched off here.
    pub(crate) fn is_switched_off(&self) -> bool {
        self.found.policy.as_ref().is_some_and(PolicyTexts::is_switched_off)
    }

    /// What the user may want saved here; mostly nothing.
    pub(crate) fn wish(&self) -> Option<Wish> {
        Wish::of(&self.repository.as_ref()?.root, &self.cwd, &self.found)
    }
}

/// All that stays the same while one stop is judged.
struct Case {
    texts: PolicyTexts,
    policy: Policy,
    /// The gate judges here. Otherwise the stop is looked at for what is to be saved, and nothing of it is recorded.
    is_gated: bool,
    wish: Option<Wish>,
    repository: Option<Repository>,
    root: PathBuf,
    /// How often the turn may be held.
    limit: u32,
    journal: Journal,
}

/// Judges the stop. Records nothing but that a broken policy was told.
pub(crate) fn judge(context: Context) -> Stop {
    let place = Place::find(&context.cwd);
    judge_at(context, place, None)
}

fn judge_at(mut context: Context, place: Place, wish: Option<Wish>) -> Stop {
    let Place { repository, root, found, .. } = place;
    let (root, texts, is_gated) = match (root, found.policy) {
        (Some(root), Some(texts)) => {
            let is_off = texts.is_switched_off();
            if is_off && wish.is_none() {
                return silent("`enabled = false` in the policy");
            }
            (root, texts, !is_off)
        }
        (Some(root), None) if wish.is_some() => (root, found.user, false),
        _ => return silent("there is no policy here"),
    };
    let pending = match &repository {
        Some(repository) => changes::start_in(repository.clone(), &git_settings()),
        None => changes::start(&context.cwd, &git_settings()),
    };
    context.stopwatch.lap("git start");
    let policy = match texts.load() {
        Ok(policy) => policy,
        Err(problems) => return broken_policy(&context, &problems.to_string()),
    };
    context.stopwatch.lap("policy");
    let limit = match policy.gate.second_stop {
        SecondStop::Pass => 1,
        SecondStop::HoldUncommitted => 2,
    };
    let mut journal = match Journal::open(&context.state, OpenFor::Hook) {
        Ok(journal) => journal,
        Err(error) => return settled(&context, &format!("fail open: the journal cannot be used: {error}")),
    };
    // The second stop of a turn passes, and so waits for nothing.
    let held = known::held_already(&mut journal, &context, limit).unwrap_or(false);
    context.stopwatch.lap("journal");
    let mut case = Case { texts, policy, is_gated, wish, repository, root, limit, journal };
    let mut reading = last_words::read(&context);
    let mut may_wait = !held && last_words::may_come(&context, &reading);
    if may_wait && (case.policy.checks.count() > 0 || wish.is_some()) {
        // Checks take seconds and must not run twice; how full the context is stands in what is written last.
        reading = last_words::wait(&context);
        may_wait = false;
    }
    let judged = match case.judge(&mut context, pending, reading) {
        // What is not written yet can only be the last tenth of a second; it counts where it could change the answer.
        Ok(draft) if may_wait && draft.is_open() => {
            let pending = changes::start(&context.cwd, &git_settings());
            let reading = last_words::wait(&context);
            case.judge(&mut context, pending, reading)
        }
        judged => judged,
    };
    match judged {
        Ok(Draft { known, inputs, calls, verdict, usage, prompt }) => {
            Stop::Judged(Box::new(Judged { context, verdict, case, known, inputs, calls, usage, prompt }))
        }
        Err(stop) => stop,
    }
}

/// What one look at the turn gave.
struct Draft {
    known: Known,
    inputs: Inputs,
    calls: WrittenCalls,
    verdict: Verdict,
    usage: Option<Usage>,
    prompt: Option<String>,
}

impl Draft {
    /// Whether calls that are not written yet could change what is said: they may be the evidence that is missing,
    /// the fix of an error, or the result of a call.
    fn is_open(&self) -> bool {
        self.verdict.actions.iter().any(|action| action.state == ActionState::Required)
            || !self.verdict.observations.is_empty()
            || self.inputs.calls.iter().any(|recorded| recorded.call.outcome == Outcome::Unknown)
    }
}

impl Case {
    /// Judges the turn as `reading` shows it. An early decision where there is nothing to judge.
    fn judge(
        &mut self,
        context: &mut Context,
        pending: Result<Pending, changes::Error>,
        mut reading: Reading,
    ) -> Result<Draft, Stop> {
        let Self { texts, policy, is_gated, root, limit, journal, .. } = self;
        context.stopwatch.lap("transcript");
        let known = match known::known(journal, context, &reading) {
            Ok(known) => known,
            Err(error) => {
                return Err(settled(context, &format!("fail open: the journal cannot be read: {error}")));
            }
        };
        context.stopwatch.lap("turn");
        // Our message among the prompts is a hold too, counted or not: a journal can be lost.
        let counted = known.turn.as_ref().map_or(0, |turn| turn.holds);
        let holds = counted.max(u32::from(reading.has_own_message));
        let waiting = waiting(context, &reading);
        let is_whole = last_words::are_there(context, &reading);
        let usage = reading.usage.take();
        let prompt = reading.turn.take().map(|turn| turn.prompt);
        let mut inputs = Inputs::of_reading(reading, Changes::Unknown(String::new()), shown(&context.cwd));
        if !is_whole {
            inputs.said.extend(context.payload.last_text.clone());
        }
        let touched = evidence::touched(&inputs);
        // Git is still running: all that needs no answer of it is done now.
        policy.prepare();
        journal.prepare_to_record();
        let calls = WrittenCalls::of(&inputs);
        context.stopwatch.lap("intents");
        let baseline = known.turn.as_ref().and_then(baseline);
        let repository = pending.as_ref().ok().map(Pending::repository);
        let baseline = at_turn_start::better_baseline(baseline, known.turn.as_ref(), repository, journal);
        let changed =
            evidence::change_set(pending, policy, baseline.as_ref(), touched.as_deref(), &context.cwd);
        if let Err(error @ changes::Error::Refused { .. }) = &changed {
            // A stranger's repository, and so a stranger's policy.
            return Err(settled(context, &error.to_string()));
        }
        inputs.changes = evidence::known(changed);
        if is_whole {
            evidence::leave_out_others(&mut inputs, touched.as_deref(), &context.cwd);
        }
        context.stopwatch.lap("git wait");
        let branch = match &inputs.changes {
            Changes::Known(set) => set.branch.clone(),
            _ => None,
        };
        let slug = known.session.as_ref().and_then(|session| session.slug.clone());
        let slug = slug.or_else(evidence::slug_of_environment);
        inputs.plan = evidence::plan(policy, root, slug.as_deref(), branch.as_deref());
        let elapsed = known
            .opened_at
            .and_then(|opened| u64::try_from(context.now.duration_since(opened).as_millis()).ok());
        let shortest = policy.gate.min_turn.as_millis();
        let is_long = shortest == 0 || elapsed.is_some_and(|elapsed| u128::from(elapsed) >= shortest);
        // An agent that waits, was quick or was held passes whatever they say, and would have to wait for them too.
        if *is_gated && waiting.is_none() && is_long && holds < *limit {
            inputs.checks = run_checks(journal, texts, policy, &inputs, root);
        }
        inputs.stop.waiting = waiting;
        inputs.stop.elapsed_ms = elapsed;
        inputs.history.holds_this_turn = holds;
        inputs.history.held_before.clone_from(&known.held_before);
        inputs.history.waived.clone_from(&known.waived);
        let mut verdict = gate::judge(policy, &inputs);
        if !*is_gated {
            verdict.decision = gate::Decision::Pass;
            verdict.message = None;
        }
        context.stopwatch.lap("judge");
        Ok(Draft { known, inputs, calls, verdict, usage, prompt })
    }
}

impl Judged {
    /// What is recorded of the session so far.
    pub(crate) fn session(&self) -> Option<&Session> {
        self.known.session.as_ref()
    }

    /// Records the verdict, counts the hold, and only then says it.
    pub(crate) fn conclude(self, delivery: Delivery) -> Decision {
        let (decision, journal) = self.record_and_decide(delivery);
        journal.leave();
        decision
    }

    fn record_and_decide(mut self, delivery: Delivery) -> (Decision, Journal) {
        let waived = gate::waivers(&self.case.policy, &self.inputs);
        let history = &self.inputs.history;
        // The stop after a hold is where an agent says what it cannot do, as the hold told it to.
        let was_held = history.holds_this_turn >= self.case.limit;
        let before = |action: &str| history.waived.iter().any(|before| before.action == action);
        let new: Vec<String> = waived
            .iter()
            .filter(|waived| !before(&waived.action))
            .map(|waived| format!("{} ({})", waived.action, waived.reason))
            .collect();
        let Case { texts, policy, .. } = &self.case;
        let record = record::write(texts, policy, &mut self.inputs, &self.calls, &self.verdict);
        let written = self.write(&waived, &record, delivery);
        let Self { mut context, verdict, case, .. } = self;
        context.stopwatch.lap("write");
        let held = match written {
            Ok(Written::Again) => {
                return (pass(&context, "answered already: the hook is registered twice"), case.journal);
            }
            Ok(Written::First { held }) => held,
            Err(error) if verdict.decision == gate::Decision::Hold => {
                let reason = format!("fail open: the hold cannot be counted: {error}");
                return (pass(&context, &reason), case.journal);
            }
            Err(error) => {
                context.log("pass", &format!("not recorded: {error}"));
                false
            }
        };
        let message = verdict.message.unwrap_or_default();
        let decision = match verdict.decision {
            gate::Decision::Hold if held => {
                context.log("hold", &verdict.reason);
                Decision::Hold { to_agent: message, to_person: None }
            }
            gate::Decision::Hold if delivery == Delivery::Impossible => {
                Decision::Notify { to_person: message }
            }
            gate::Decision::Hold => pass(&context, "held already in this turn"),
            gate::Decision::Notify => {
                context.log("notify", &verdict.reason);
                Decision::Notify { to_person: message }
            }
            gate::Decision::Pass if was_held && !new.is_empty() => {
                context.log("notify", "waived");
                Decision::Notify { to_person: format!("{OWN_PREFIX} Not done: {}", new.join(", ")) }
            }
            gate::Decision::Pass => pass(&context, &verdict.reason),
        };
        (decision, case.journal)
    }
}

/// The policy's own checks for what changed, where the user trusted the file that names them.
fn run_checks(
    journal: &mut Journal,
    texts: &PolicyTexts,
    policy: &Policy,
    inputs: &Inputs,
    root: &Path,
) -> Vec<CheckResult> {
    if policy.checks.count() == 0 {
        return Vec::new();
    }
    let trust = journal.read(|reader| trust::of_file(reader, texts)).unwrap_or(journal::Trust::Unknown);
    checks::run_allowed(texts, policy, trust, &inputs.changes, root)
}

fn waiting(context: &Context, reading: &Reading) -> Option<Waiting> {
    // A server left running by an earlier turn is nothing that this one waits for.
    let running = |call: &transcript::Call| call.outcome == Outcome::Unknown;
    if context.payload.background_tasks > 0 && reading.calls.iter().any(running) {
        return Some(Waiting::BackgroundTasks);
    }
    if context.payload.is_planning() {
        return Some(Waiting::PlanMode);
    }
    Waiting::of_reading(reading)
}

fn baseline(turn: &Turn) -> Option<Baseline> {
    serde_json::from_slice(turn.baseline.as_deref()?).ok()
}

/// Where there is no repository, a policy may still lie in the folder or above it. Only the user's own: anybody could
/// put one into a folder such as `/tmp`.
fn policy_folder(cwd: &Path) -> Option<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let is_policy = |file: PathBuf| file.metadata().is_ok_and(|file| file.is_file() && file.uid() == user);
    cwd.ancestors().find(|folder| is_policy(folder.join(FILE_NAME))).map(Path::to_owned)
}

/// A broken policy blocks nobody; the person is told, once for each mistake.
fn broken_policy(context: &Context, problems: &str) -> Stop {
    let reason = format!("the policy is broken: {problems}");
    context.log("pass", &reason);
    if context.is_dry_run {
        return Stop::Settled { decision: Decision::Pass, reason };
    }
    let name = "told-policy-problem";
    let told = Journal::open(&context.state, OpenFor::Hook).and_then(|mut journal| {
        journal.write(|writing| {
            let session = writing.see_session(&context.seen(None), context.now)?;
            let before = writing.value(session.id, name)?;
            writing.set_value(session.id, name, problems.as_bytes())?;
            Ok(before.as_deref() == Some(problems.as_bytes()))
        })
    });
    let decision = match told {
        Ok(false) => Decision::Notify {
            to_person: format!("{OWN_PREFIX} The policy is broken, so nothing is checked:\n{problems}"),
        },
        _ => Decision::Pass,
    };
    Stop::Settled { decision, reason }
}

/// Passes without a word, also in the log.
fn silent(reason: &str) -> Stop {
    Stop::Settled { decision: Decision::Pass, reason: reason.to_owned() }
}

fn settled(context: &Context, reason: &str) -> Stop {
    Stop::Settled { decision: pass(context, reason), reason: reason.to_owned() }
}

fn pass(context: &Context, reason: &str) -> Decision {
    context.log("pass", reason);
    Decision::Pass
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
