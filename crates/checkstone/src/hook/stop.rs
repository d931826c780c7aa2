//! The agent wants to stop: git is started first, and everything else is done while it runs. What the agent did and
//! what changed go to the gate; a hold is counted before it is said.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agents::Decision;
use changes::{Baseline, Repository};
use gate::policy::{Policy, SecondStop};
use gate::{ActionState, Changes, CheckResult, INPUTS_VERSION, Inputs, Verdict, Waiting, Waived};
use journal::{Journal, JournalError, NewTurn, NewVerdict, OpenFor, Session, Turn};
use transcript::{Agent, OWN_PREFIX, Options, Reading};

use super::{Context, SAME_DELIVERY, git_settings};
use crate::checks;
use crate::environment;
use crate::evidence;
use crate::policy_files::{FILE_NAME, PolicyTexts};
use crate::record::Record;
use crate::trust;

/// Most turns are smaller, and a window that is not needed costs time.
const FIRST_WINDOW: u64 = 256 * 1024;

/// Claude Code writes its last lines up to 90 ms after it has called us (T21).
const FLUSH_LIMIT: Duration = Duration::from_millis(250);
const FLUSH_POLL: Duration = Duration::from_millis(5);

/// The decision for the client that waits for it.
pub(crate) fn decide(context: Context) -> Decision {
    match judge(context) {
        Stop::Settled { decision, .. } => decision,
        Stop::Judged(judged) => judged.conclude(Delivery::Sure),
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
    journal: Journal,
    texts: PolicyTexts,
    policy: Policy,
    known: Known,
    inputs: Inputs,
    limit: u32,
    root: PathBuf,
}

/// Judges the stop. Records nothing but what an agent waived after its hold.
pub(crate) fn judge(mut context: Context) -> Stop {
    let repository = Repository::discover(&context.cwd).ok();
    let root = match &repository {
        Some(repository) => Some(repository.root.clone()),
        None => policy_folder(&context.cwd),
    };
    let Some((root, texts)) =
        root.and_then(|root| PolicyTexts::of_repository(&root).map(|texts| (root, texts)))
    else {
        return silent("there is no policy here");
    };
    if texts.switch_off() {
        return silent("`enabled = false` in the policy");
    }
    let pending = match repository {
        Some(repository) => changes::start_in(repository, &git_settings()),
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
    // The second stop of a turn does not wait for the client to write its transcript.
    if held_already(&mut journal, &context, limit).unwrap_or(false) {
        let reading = read_as_it_is(&context);
        return after_the_hold(&context, &mut journal, &policy, reading);
    }
    context.stopwatch.lap("journal");
    let reading = read_transcript(&context);
    context.stopwatch.lap("transcript");
    let known = match known(&mut journal, &context, &reading) {
        Ok(known) => known,
        Err(error) => return settled(&context, &format!("fail open: the journal cannot be read: {error}")),
    };
    context.stopwatch.lap("turn");
    // Our message among the prompts is a hold too, counted or not: a journal can be lost.
    let counted = known.turn.as_ref().map_or(0, |turn| turn.holds);
    let holds = counted.max(u32::from(reading.has_own_message));
    if holds >= limit {
        return after_the_hold(&context, &mut journal, &policy, reading);
    }
    let waiting = waiting(&context, &reading);
    let is_whole = context.payload.transcript_is_complete(reading.last_assistant.as_deref());
    let mut inputs = Inputs::of_reading(reading, Changes::Unknown(String::new()), shown(&context.cwd));
    let touched = evidence::touched(&inputs);
    // Git is still running.
    policy.prepare();
    context.stopwatch.lap("intents");
    let baseline = known.turn.as_ref().and_then(baseline);
    let changed = evidence::change_set(pending, &policy, baseline.as_ref(), touched.as_deref(), &context.cwd);
    if let Err(error @ changes::Error::Refused { .. }) = &changed {
        // A stranger's repository, and so a stranger's policy.
        return settled(&context, &error.to_string());
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
    let slug = known
        .session
        .as_ref()
        .and_then(|session| session.slug.clone())
        .or_else(|| environment::read(environment::SLUG).and_then(|slug| slug.into_string().ok()));
    inputs.plan = evidence::plan(&policy, &root, slug.as_deref(), branch.as_deref());
    // An agent that waits passes whatever they say, and would have to wait for them too.
    if waiting.is_none() {
        inputs.checks = run_checks(&mut journal, &texts, &policy, &inputs, &root);
    }
    inputs.stop.waiting = waiting;
    inputs.stop.elapsed_ms =
        known.opened_at.and_then(|opened| u64::try_from(context.now.duration_since(opened).as_millis()).ok());
    inputs.history.holds_this_turn = holds;
    inputs.history.held_before = known.held_before.clone();
    inputs.history.waived = known.waived.clone();
    let verdict = gate::judge(&policy, &inputs);
    context.stopwatch.lap("judge");
    Stop::Judged(Box::new(Judged { context, verdict, journal, texts, policy, known, inputs, limit, root }))
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

/// Whether the turn that the client names has had all its holds.
fn held_already(journal: &mut Journal, context: &Context, limit: u32) -> Result<bool, JournalError> {
    let Some(key) = &context.payload.turn else { return Ok(false) };
    journal.read(|reader| {
        let Some(session) = reader.session(context.agent(), &context.session)? else { return Ok(false) };
        Ok(reader.turn(session.id, key)?.is_some_and(|turn| turn.holds >= limit))
    })
}

/// What the journal knows of the turn.
#[derive(Default)]
struct Known {
    session: Option<Session>,
    turn: Option<Turn>,
    key: Option<String>,
    opened_at: Option<jiff::Timestamp>,
    held_before: Vec<String>,
    waived: Vec<Waived>,
}

fn known(journal: &mut Journal, context: &Context, reading: &Reading) -> Result<Known, JournalError> {
    // The transcript knows which prompt opened the turn, also where the client counts a notification as a new one.
    let recorded = reading.turn.as_ref().and_then(|turn| turn.id.clone());
    let known_prompt = recorded.is_some();
    let key = recorded.or_else(|| context.payload.turn.clone());
    let began = reading.turn.as_ref().and_then(|turn| turn.started_at.as_deref()?.parse().ok());
    journal.read(|reader| {
        let mut known = Known { key: key.clone(), opened_at: began, ..Known::default() };
        known.session = reader.session(context.agent(), &context.session)?;
        let Some(session) = &known.session else { return Ok(known) };
        known.turn = match (&key, context.payload.agent) {
            (Some(key), Agent::Claude | Agent::Codex) => match reader.turn(session.id, key)? {
                // A key that no prompt announced may be a notification's: it belongs to the turn before.
                None if !known_prompt => reader.latest_turn(session.id)?,
                turn => turn,
            },
            _ => reader.latest_turn(session.id)?,
        };
        known.waived = reader
            .waivers(session.id)?
            .into_iter()
            .map(|waiver| Waived { action: waiver.action, reason: waiver.reason })
            .collect();
        if let Some(turn) = &known.turn {
            known.held_before = reader.actions_held_before(turn.id)?;
            known.opened_at = Some(turn.opened_at);
        }
        Ok(known)
    })
}

fn read_as_it_is(context: &Context) -> Reading {
    let options =
        Options { agent: Some(context.payload.agent), first_window: FIRST_WINDOW, ..Options::default() };
    match &context.payload.transcript {
        Some(path) => transcript::read(path, &options),
        None => transcript::read_bytes(&[], &options),
    }
}

/// Reads the turn; where the client has not written the agent's last words yet, waits for them in short, bounded
/// steps, and then goes on with what is there.
fn read_transcript(context: &Context) -> Reading {
    let (Some(path), Agent::Claude) = (&context.payload.transcript, context.payload.agent) else {
        return read_as_it_is(context);
    };
    // Before the reading: what is written during it must be seen as new.
    let mut length = size(path);
    let mut reading = read_as_it_is(context);
    let deadline = Instant::now() + FLUSH_LIMIT;
    while !context.payload.transcript_is_complete(reading.last_assistant.as_deref())
        && Instant::now() < deadline
    {
        std::thread::sleep(FLUSH_POLL);
        let now = size(path);
        if now != length {
            length = now;
            reading = read_as_it_is(context);
        }
    }
    reading
}

fn size(path: &Path) -> Option<u64> {
    fs_err::metadata(path).ok().map(|metadata| metadata.len())
}

fn waiting(context: &Context, reading: &Reading) -> Option<Waiting> {
    // A server left running by an earlier turn is nothing that this one waits for.
    let running = |call: &transcript::Call| call.outcome == transcript::Outcome::Unknown;
    if context.payload.background_tasks > 0 && reading.calls.iter().any(running) {
        return Some(Waiting::BackgroundTasks);
    }
    if context.payload.is_planning() {
        return Some(Waiting::PlanMode);
    }
    evidence::waiting(reading)
}

fn baseline(turn: &Turn) -> Option<Baseline> {
    serde_json::from_slice(turn.baseline.as_deref()?).ok()
}

/// The stop after the hold passes. It is also where the agent says what it cannot do, as the hold told it to: that is
/// remembered for the session, and the person hears of it.
fn after_the_hold(context: &Context, journal: &mut Journal, policy: &Policy, reading: Reading) -> Stop {
    const HELD: &str = "held already in this turn";
    let mut inputs = Inputs::of_reading(reading, Changes::Unknown(String::new()), shown(&context.cwd));
    inputs.said.extend(context.payload.last_text.clone());
    let mut waived = gate::waivers(policy, &inputs);
    if waived.is_empty() || context.is_dry_run {
        return settled(context, HELD);
    }
    let written = journal.write(|writing| {
        let session = writing.see_session(&context.seen(None), context.now)?;
        let before = writing.waivers(session.id)?;
        waived.retain(|waived| before.iter().all(|before| before.action != waived.action));
        for waived in &waived {
            writing.waive(session.id, &waived.action, &waived.reason, context.now)?;
        }
        Ok(())
    });
    match written {
        Ok(()) if !waived.is_empty() => {
            let named: Vec<String> =
                waived.iter().map(|waived| format!("{} ({})", waived.action, waived.reason)).collect();
            context.log("notify", "waived");
            let to_person = format!("{OWN_PREFIX} Not done: {}", named.join(", "));
            Stop::Settled { decision: Decision::Notify { to_person }, reason: "waived".to_owned() }
        }
        Ok(()) => settled(context, HELD),
        Err(error) => settled(context, &format!("{HELD}; not recorded: {error}")),
    }
}

/// What the transaction found.
enum Written {
    First {
        held: bool,
    },
    /// Another process answers this very stop (H9).
    Again,
}

impl Judged {
    /// What is recorded of the session so far.
    pub(crate) fn session(&self) -> Option<&Session> {
        self.known.session.as_ref()
    }

    /// Records the verdict, counts the hold, and only then says it.
    pub(crate) fn conclude(self, delivery: Delivery) -> Decision {
        let Self { mut context, verdict, mut journal, texts, policy, known, inputs, limit, root } = self;
        let record = Record::new(&texts, &policy, inputs, verdict);
        let waived = gate::waivers(&policy, &record.inputs);
        let writing = Recording {
            context: &context,
            known: &known,
            record: &record,
            waived: &waived,
            limit,
            root: &root,
        };
        let written = writing.write(&mut journal, delivery);
        context.stopwatch.lap("write");
        let verdict = record.verdict;
        let held = match written {
            Ok(Written::Again) => return pass(&context, "answered already: the hook is registered twice"),
            Ok(Written::First { held }) => held,
            Err(error) if verdict.decision == gate::Decision::Hold => {
                return fail_open(&context, &format!("the hold cannot be counted: {error}"));
            }
            Err(error) => {
                context.log("pass", &format!("not recorded: {error}"));
                false
            }
        };
        let message = verdict.message.clone().unwrap_or_default();
        match verdict.decision {
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
            gate::Decision::Pass => pass(&context, &verdict.reason),
        }
    }
}

/// All that is to be remembered.
struct Recording<'a> {
    context: &'a Context,
    known: &'a Known,
    record: &'a Record,
    waived: &'a [Waived],
    limit: u32,
    root: &'a Path,
}

impl Recording<'_> {
    /// One transaction.
    fn write(&self, journal: &mut Journal, delivery: Delivery) -> Result<Written, JournalError> {
        let Self { context, known, record, .. } = self;
        let Record { inputs, verdict, .. } = record;
        let bytes = serde_json::to_vec(record).unwrap_or_default();
        journal.write(|writing| {
            let session = writing.see_session(&context.seen(Some(self.root)), context.now)?;
            let undelivered = verdict.decision == gate::Decision::Hold && delivery == Delivery::Impossible;
            // Silence may be repeated: it must not swallow what a later stop with the same words has to hear.
            let speaks = verdict.decision != gate::Decision::Pass && !undelivered;
            let fingerprint = fingerprint(context, known);
            if speaks && !writing.first_delivery(session.id, &fingerprint, context.now, SAME_DELIVERY)? {
                return Ok(Written::Again);
            }
            let key = known.key.as_deref();
            // Without a key each opening is a new turn, and another stop may have opened this one just now (H11).
            let turn = match (&known.turn, key) {
                (Some(turn), _) => Some(turn.id),
                (None, None) => writing.latest_turn(session.id)?.map(|turn| turn.id),
                (None, Some(_)) => None,
            };
            let turn = match turn {
                Some(turn) => turn,
                None => {
                    let opened_at = known.opened_at.unwrap_or(context.now);
                    let turn = NewTurn { session: session.id, key, opened_at, prompt: "", baseline: None };
                    writing.open_turn(&turn)?.id
                }
            };
            let wants = verdict.decision == gate::Decision::Hold && !undelivered;
            let held = wants && writing.try_hold(turn, self.limit)?;
            let recorded = match verdict.decision {
                gate::Decision::Hold if held => journal::Verdict::Hold,
                gate::Decision::Notify => journal::Verdict::Notify,
                _ if undelivered => journal::Verdict::Notify,
                _ => journal::Verdict::Pass,
            };
            writing.record_verdict(&NewVerdict {
                turn,
                at: context.now,
                verdict: recorded,
                scope: scope(verdict),
                message: verdict.message.as_deref().unwrap_or_default(),
                timings: &context.stopwatch.report(),
                inputs: journal::Inputs { version: INPUTS_VERSION, bytes: &bytes },
            })?;
            // What was left out because the turn before was held for it stays remembered.
            let asked: Vec<&str> = verdict
                .actions
                .iter()
                .filter(|action| {
                    let asked_now = action.state == ActionState::Required && !undelivered;
                    asked_now || inputs.history.held_before.contains(&action.id)
                })
                .filter(|action| action.state != ActionState::Satisfied)
                .map(|action| action.id.as_str())
                .collect();
            writing.record_held_actions(turn, &asked)?;
            for waived in self.waived {
                writing.waive(session.id, &waived.action, &waived.reason, context.now)?;
            }
            Ok(Written::First { held })
        })
    }
}

/// Two deliveries of one stop say the same; two stops of one turn differ in the agent's last words or in the flag.
fn fingerprint(context: &Context, known: &Known) -> String {
    let mut said = DefaultHasher::new();
    context.payload.last_text.hash(&mut said);
    let turn = match (&known.key, &known.turn) {
        (Some(key), _) => key.clone(),
        (None, Some(turn)) => turn.id.0.to_string(),
        (None, None) => String::new(),
    };
    format!("stop:{turn}:{}:{:x}", context.payload.stop_hook_active, said.finish())
}

fn scope(verdict: &Verdict) -> &'static str {
    match verdict.scope {
        Some(gate::Scope::TurnBaseline) => "turn-baseline",
        Some(gate::Scope::Touched) => "touched",
        Some(gate::Scope::Worktree) => "worktree",
        Some(gate::Scope::Transcript) => "transcript",
        None => "",
    }
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

fn fail_open(context: &Context, reason: &str) -> Decision {
    pass(context, &format!("fail open: {reason}"))
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
