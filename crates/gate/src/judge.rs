//! The verdict: pass, notify or hold. What speaks first is what keeps silent: an agent that waits, that was held
//! already, or that changed nothing.

use std::collections::BTreeSet;

use change_set::How;
use transcript::Extent as ReadExtent;

use crate::changed::{self, Changed, by_category, scope};
use crate::hold_message::HoldMessage;
use crate::inputs::{Changes, CheckOutcome, CheckResult, Inputs, Waived};
use crate::message::{self, Parts};
use crate::policy::{Class, NoGit, NotUnderstood, Policy, Proof, RuleLevel, Telling};
use crate::reason::Reason;
use crate::rules::actions::{self, Demand};
use crate::rules::errors::Failure;
use crate::rules::{Expectation, Seen, drift, errors, hygiene};
use crate::second_stop;
use crate::silence::{self, ASKED_BEFORE};
use crate::steps::{self, FailedSteps, Step};
use crate::unproven;
use crate::verdict::{
    ActionState, ActionVerdict, ContentProof, Decision, FileStanding, Observation, Rule, Verdict,
};
use crate::work::Work;

/// Judges a stop. Pure: the same policy and inputs give the same verdict, bit for bit.
pub fn judge(policy: &Policy, inputs: &Inputs) -> Verdict {
    if !policy.gate.enabled {
        return Verdict::pass(&inputs.coverage, "switched off");
    }
    if let Some(waiting) = inputs.stop.waiting.or_else(|| silence::waiting(policy, inputs)) {
        return Verdict::pass(&inputs.coverage, Reason::Waiting(waiting));
    }
    let inputs = &*inputs.with_check_runs(CheckResult::has_passed);
    let verdict = second_stop::judge(policy, inputs, || look(policy, inputs));
    let verdict = unproven::remark(policy, inputs, verdict);
    let verdict = message::name_folder(inputs.folder.as_deref(), verdict);
    match &inputs.stop.corrects {
        Some(correction) => correction.for_the_record(verdict),
        None => verdict,
    }
}

/// What there is to say of the turn, whether or not it was held before.
fn look(policy: &Policy, inputs: &Inputs) -> Verdict {
    let shortest = policy.gate.min_turn.as_millis();
    if shortest > 0 && inputs.stop.elapsed_ms.is_none_or(|elapsed| u128::from(elapsed) < shortest) {
        return Verdict::pass(&inputs.coverage, "the turn was short, or its start is unknown");
    }
    if let Changes::Unknown(reason) = &inputs.changes {
        return without_git(policy, inputs, reason);
    }
    let is_not_understood = inputs.coverage.extent == ReadExtent::Unavailable && inputs.coverage.records > 0;
    if is_not_understood && policy.gate.not_understood == NotUnderstood::Pass {
        return not_understood(policy, inputs);
    }
    let root = inputs.root();
    let work = Work::new(inputs, &root);
    let files = changed::files(policy, inputs, &work);
    let extent = Extent::of(&files);
    let mut verdict = Verdict {
        changed: by_category(policy, &files),
        scope: scope(&inputs.changes),
        ..Verdict::pass(&inputs.coverage, "")
    };

    let waived = silence::waivers(policy, inputs);
    let expected = actions::expectations(policy, &files, &work);
    for expectation in &expected {
        verdict.actions.push(action_verdict(policy, inputs, expectation, &waived, &work));
    }
    let reported = &inputs.history.reported;
    let Failures { told, red, holding, left_red } =
        failures(policy, &work, &waived, &files, &expected, reported);
    verdict.left_red = left_red;
    verdict.standings = standings(&expected, &red);
    verdict.standings.extend(unproven::standings(policy, inputs, &files, &work));
    verdict.observations = gaps(&expected, &verdict.actions, &told);
    if !policy.gate.turn_only {
        verdict.observations.extend(unrecognised(&expected, &verdict.actions, &work));
    }
    verdict.observations.extend(told);
    if policy.gate.rules.weaker != RuleLevel::Off {
        let weaker = expected.iter().flat_map(|expectation| &expectation.subject.weaker);
        verdict.observations.extend(weaker.cloned());
    }
    if extent.concerns(policy.gate.rules.hygiene) {
        let edits = hygiene::edits(policy, inputs, &work);
        verdict.observations.extend(hygiene::edit_observation(&edits));
        verdict.observations.extend(hygiene::spread_observation(&hygiene::spread(policy, &files)));
    }
    if extent.concerns(policy.gate.rules.drift) {
        let drifted = drift::expectation(inputs.plan.as_ref(), &files);
        verdict.observations.extend(drifted.as_ref().and_then(drift::observation));
    }
    silence::leave_out_reported(policy, inputs, !red.is_empty(), &mut verdict.observations);
    let mut steps = steps::of_hold(policy, &verdict.actions, &expected, &holding);
    let failed: Vec<Step> = failed_checks(policy, inputs, &files, &root, &verdict.actions);
    // What such a check would prove is asked for by its own step.
    let is_asked = |step: &Step, action: &String| step.actions.contains(action);
    steps.retain(|step| {
        let mut actions = step.actions.iter();
        step.actions.is_empty() || !actions.all(|action| failed.iter().any(|first| is_asked(first, action)))
    });
    steps.splice(0..0, failed);
    conclude(policy, inputs, verdict, extent, &Asked { steps, holding })
}

/// The first steps: the policy's own checks that failed, each with the required actions that it would prove.
fn failed_checks(
    policy: &Policy,
    inputs: &Inputs,
    files: &[Changed],
    root: &str,
    actions: &[ActionVerdict],
) -> Vec<Step> {
    let failed = inputs.checks.iter().filter(|check| check.outcome == CheckOutcome::Failed);
    let step = |check: &CheckResult| {
        let passed = inputs.with_check_runs(|other| std::ptr::eq(other, check));
        let work = Work::new(&passed, root);
        let expected = actions::expectations(policy, files, &work);
        let is_proven = |id: &String| {
            let mut proven =
                expected.iter().filter(|expectation| matches!(expectation.seen, Seen::Evidence(_)));
            proven.any(|expectation| expectation.subject.action.id == *id)
        };
        let required = actions.iter().filter(|action| action.state == ActionState::Required);
        Step {
            text: format!("Fix what `{}` reports, until it passes", text::visible(&check.run)),
            actions: required.map(|action| action.id.clone()).filter(is_proven).collect(),
        }
    };
    failed.map(step).collect()
}

/// How much of what changed matters.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Extent {
    Nothing,
    OnlyProse,
    More,
}

impl Extent {
    fn of(changed: &[Changed]) -> Self {
        if changed.is_empty() {
            Self::Nothing
        } else if changed.iter().all(|file| file.class == Class::Prose) {
            Self::OnlyProse
        } else {
            Self::More
        }
    }

    /// Whether habits and drift are worth a word.
    fn concerns(self, level: RuleLevel) -> bool {
        match (self, level) {
            (Self::Nothing, _) | (_, RuleLevel::Off) => false,
            (Self::OnlyProse, level) => level == RuleLevel::Hold,
            (Self::More, _) => true,
        }
    }
}

/// What the agent is asked for.
struct Asked {
    steps: Vec<Step>,
    holding: FailedSteps,
}

/// Composes the message, where there is something to say.
fn conclude(
    policy: &Policy,
    inputs: &Inputs,
    mut verdict: Verdict,
    extent: Extent,
    asked: &Asked,
) -> Verdict {
    let is_letter = policy.gate.turn_only;
    let is_in_a_step = |observation: &&Observation| {
        observation.rule == Rule::UnresolvedError && asked.holding.is_about(observation.line)
    };
    let is_open = |action: &&ActionVerdict| action.state == ActionState::Required;
    let missing: Vec<&str> =
        verdict.actions.iter().filter(is_open).map(|action| action.id.as_str()).collect();
    let waived = message::waived(&verdict.actions);
    let telling = |telling: Telling| match telling {
        Telling::Silent => Decision::Pass,
        Telling::Notify => Decision::Notify,
        Telling::Hold => Decision::Hold,
    };
    let checks = message::checks(&inputs.checks);
    let failed = inputs.checks.iter().any(|check| check.outcome == CheckOutcome::Failed);
    let is_verification =
        |id: &&str| policy.action(id).is_some_and(|action| action.proof == Proof::Verification);
    let docs_only = policy.messages.docs_only.as_str();
    let headline = if extent == Extent::OnlyProse && policy.gate.docs_only == Telling::Hold {
        docs_only
    } else if failed {
        "A check failed"
    } else if missing.iter().any(is_verification) {
        "Not verified yet"
    } else if !missing.is_empty() {
        "Not done yet"
    } else if !asked.holding.is_empty() {
        "Still failing"
    } else {
        "Before you stop"
    };
    let unknown_waivers = silence::unknown_waivers(policy, inputs);
    let compose = |verdict: &Verdict, sentence: Option<&str>| {
        let all = &verdict.observations;
        let others: Vec<Observation> =
            all.iter().filter(|observation| is_letter || !is_in_a_step(observation)).cloned().collect();
        message::hold_message(&Parts {
            policy,
            folder: inputs.folder.as_deref(),
            headline,
            changed: &verdict.changed,
            steps: &asked.steps,
            observations: &others,
            only_prose: extent == Extent::OnlyProse,
            checks: checks.as_deref(),
            sentence,
            unknown_waivers: &unknown_waivers,
        })
    };
    let holds = !missing.is_empty()
        || failed
        || !asked.holding.is_empty()
        || verdict.observations.iter().any(|observation| holds(policy, observation.rule, extent));
    let all_clear = message::all_clear(policy, is_committed(inputs));
    // Habits and drift say nothing against what was verified.
    let is_clear = !verdict.actions.is_empty()
        && verdict.actions.iter().all(|action| action.state == ActionState::Satisfied)
        && verdict.observations.iter().all(|observation| {
            matches!(observation.rule, Rule::EditWithoutRead | Rule::WideBlastRadius | Rule::PlanDrift)
        });
    let notice = |sentence: Option<&str>| {
        let told: Vec<&str> = checks.as_deref().into_iter().chain(sentence).collect();
        let told = (!told.is_empty()).then(|| told.join("\n"));
        message::notice(policy, told.as_deref(), &verdict.observations)
    };

    let (decision, reason, message): (_, Reason, _) = if extent == Extent::Nothing {
        match verdict.observations.is_empty() {
            true => (Decision::Pass, "nothing changed".into(), String::new()),
            false => {
                let reason = "nothing changed, but an error is unresolved";
                (Decision::Notify, reason.into(), notice(None))
            }
        }
    } else if extent == Extent::OnlyProse && policy.gate.docs_only == Telling::Hold {
        let sentence = Some(docs_only).filter(|_| is_letter);
        verdict.hold = Some(compose(&verdict, sentence));
        (Decision::Hold, "only prose changed".into(), String::new())
    } else if holds {
        let reason = match (failed, missing.is_empty()) {
            (true, _) => "a check failed".to_owned(),
            (false, true) if asked.holding.is_empty() => "observations".to_owned(),
            (false, true) => format!("still failing: {}", asked.holding.listed()),
            (false, false) => format!("missing: {}", missing.join(", ")),
        };
        verdict.hold = Some(compose(&verdict, None));
        (Decision::Hold, reason.into(), String::new())
    } else if !verdict.observations.is_empty() {
        let clear = Some(all_clear).filter(|_| is_clear && policy.gate.all_clear != Telling::Silent);
        (Decision::Notify, "observations".into(), notice(waived.as_deref().or(clear)))
    } else if let Some(waived) = &waived {
        (Decision::Notify, "waived".into(), notice(Some(waived)))
    } else if extent == Extent::OnlyProse {
        (telling(policy.gate.docs_only), "only prose changed".into(), notice(Some(docs_only)))
    } else if verdict.actions.is_empty() {
        (Decision::Pass, "no action is required for these changes".into(), String::new())
    } else if verdict.actions.iter().any(|action| action.state == ActionState::Waived) {
        (Decision::Pass, ASKED_BEFORE.into(), String::new())
    } else if verdict.actions.iter().any(|action| action.state == ActionState::Reported) {
        (Decision::Pass, "already reported to the person".into(), String::new())
    } else {
        (telling(policy.gate.all_clear), Reason::AllClear, notice(Some(all_clear)))
    };
    // Whoever has a check run wants to know how it went.
    let (decision, message) = match &checks {
        Some(checks)
            if decision == Decision::Pass
                && extent != Extent::Nothing
                && policy.gate.all_clear != Telling::Silent =>
        {
            (Decision::Notify, message::sentence(policy, checks))
        }
        _ => (decision, message),
    };
    verdict.decision = decision;
    verdict.reason = reason;
    verdict.message = match &verdict.hold {
        Some(hold) => Some(HoldMessage::joined(&[hold])),
        None => (decision != Decision::Pass).then_some(message),
    };
    verdict
}

/// Whether all that changed is committed.
fn is_committed(inputs: &Inputs) -> bool {
    let Changes::Known(set) = &inputs.changes else { return false };
    set.files.iter().all(|file| file.how.iter().all(|how| *how == How::Committed))
}

/// Whether an observation alone holds.
fn holds(policy: &Policy, rule: Rule, extent: Extent) -> bool {
    let rules = policy.gate.rules;
    match rule {
        // The action itself does.
        Rule::MissingAction => false,
        Rule::UnresolvedError => extent == Extent::More && rules.errors == RuleLevel::Hold,
        Rule::EditWithoutRead | Rule::WideBlastRadius => rules.hygiene == RuleLevel::Hold,
        Rule::PlanDrift => rules.drift == RuleLevel::Hold,
        Rule::WeakerVerification => rules.weaker == RuleLevel::Hold,
        Rule::NotUnderstood => false,
    }
}

fn without_git(policy: &Policy, inputs: &Inputs, reason: &str) -> Verdict {
    let verdict = Verdict::pass(&inputs.coverage, format!("cannot ask git: {reason}"));
    match policy.gate.no_git {
        NoGit::Silent => verdict,
        NoGit::Generic => {
            Verdict { decision: Decision::Hold, message: Some(message::generic(policy)), ..verdict }
        }
    }
}

/// The transcript is there, and is of no format that is known: silence, told once.
fn not_understood(policy: &Policy, inputs: &Inputs) -> Verdict {
    let text = "Nothing is checked: the transcript's format is unknown.".to_owned();
    let mut verdict = Verdict::pass(&inputs.coverage, Reason::NotUnderstood);
    verdict.observations.push(Observation::new(Rule::NotUnderstood, text.as_str(), None));
    silence::leave_out_reported(policy, inputs, false, &mut verdict.observations);
    if !verdict.observations.is_empty() {
        verdict.decision = Decision::Notify;
        verdict.message = Some(message::sentence(policy, &text));
    }
    verdict
}

/// What is told of the errors that nothing settled.
struct Failures {
    /// The same sentence once.
    told: Vec<Observation>,
    /// The changed files that tests, a type check or a build found something wrong with.
    red: BTreeSet<String>,
    /// Those that hold.
    holding: FailedSteps,
    /// The red tests among them, for the next turns.
    left_red: Vec<String>,
}

fn failures(
    policy: &Policy,
    work: &Work<'_>,
    waived: &[Waived],
    changed: &[Changed],
    expected: &[Expectation<Demand<'_>>],
    reported: &[String],
) -> Failures {
    let rules = policy.gate.rules;
    let mut failures = Failures {
        told: Vec::new(),
        red: BTreeSet::new(),
        holding: FailedSteps::default(),
        left_red: Vec::new(),
    };
    let is_missed = |failure: &Failure<'_>| {
        let line = failure.recorded.call.line;
        let is_it = |seen: &Seen| matches!(seen, Seen::Ambiguous { like, .. } if like.line == line);
        expected.iter().any(|expectation| is_it(&expectation.seen))
    };
    for failure in errors::expectations(policy, work).iter().filter(|failure| failure.speaks()) {
        let failure = &failure.subject;
        let mut red = failure.red_files(changed, work);
        let left_red = errors::LeftRed::of(failure).filter(|_| !red.is_empty());
        if left_red.as_ref().is_some_and(|left| left.is_of_earlier_turn(failure, work, reported)) {
            red.clear();
        }
        failures.left_red.extend(left_red.map(|red| red.report()));
        let is_red = !red.is_empty();
        let level = if is_red { rules.red } else { rules.errors };
        // An action that is missing already says what a run whose status is hidden showed.
        if level == RuleLevel::Off
            || errors::is_waived(policy, failure, waived)
            || (failure.by_output && is_missed(failure))
        {
            continue;
        }
        failures.red.extend(red);
        if level == RuleLevel::Hold && (is_red || holds(policy, Rule::UnresolvedError, Extent::of(changed))) {
            failures.holding.add(policy, failure, expected);
        }
        let observation = errors::observation(policy, failure.recorded);
        // The last one is what the agent left behind.
        failures.told.retain(|earlier| earlier.text != observation.text);
        failures.told.push(observation);
    }
    failures
}

/// How the contents of what changed stand now. What fails proves nothing, and takes back what was proven.
fn standings(expected: &[Expectation<Demand<'_>>], red: &BTreeSet<String>) -> Vec<FileStanding> {
    let mut standings = Vec::new();
    for Expectation { subject, .. } in expected {
        let is_red = |path: &String| subject.action.proof == Proof::Verification && red.contains(path);
        let take_back = |path: &String| FileStanding {
            weak: None,
            path: path.clone(),
            action: subject.action.id.clone(),
            proof: ContentProof::TakenBack,
        };
        let judged = subject.standings.iter().map(|standing| &standing.path);
        standings.extend(judged.chain(&subject.proven).filter(|path| is_red(path)).map(take_back));
        standings.extend(subject.standings.iter().filter(|standing| !is_red(&standing.path)).cloned());
    }
    standings
}

/// What looks like the evidence of an action that is required, once for each script.
fn unrecognised(
    expected: &[Expectation<Demand<'_>>],
    actions: &[ActionVerdict],
    work: &Work<'_>,
) -> Vec<Observation> {
    let is_required =
        |id: &str| actions.iter().any(|action| action.id == id && action.state == ActionState::Required);
    let required = expected.iter().filter(|expectation| is_required(&expectation.subject.action.id));
    let mut found: Vec<Observation> =
        required.filter_map(|expectation| actions::unrecognised(expectation, work)).collect();
    found.dedup_by_key(|observation| observation.line);
    found
}

/// The observations that go with required actions, where nothing else says the same.
fn gaps(
    expected: &[Expectation<Demand<'_>>],
    actions: &[ActionVerdict],
    failures: &[Observation],
) -> Vec<Observation> {
    let is_required =
        |id: &str| actions.iter().any(|action| action.id == id && action.state == ActionState::Required);
    let is_told = |expectation: &Expectation<Demand<'_>>| match &expectation.seen {
        // A step that is one with the step before.
        _ if expectation.subject.action.say_after.is_some()
            && expectation.subject.action.after.as_deref().is_some_and(is_required) =>
        {
            true
        }
        // The failure speaks for itself.
        Seen::Ambiguous { like, .. } if expectation.subject.action.gap.is_none() => {
            let is_it = |told: &Observation| {
                let failure = told.failure.as_ref();
                told.line == like.line && failure.is_some_and(|failure| failure.command == like.command)
            };
            failures.iter().any(is_it)
        }
        _ => false,
    };
    let is_reported =
        |id: &str| actions.iter().any(|action| action.id == id && action.state == ActionState::Reported);
    expected
        .iter()
        .filter_map(|expectation| match expectation.subject.action.id.as_str() {
            id if is_required(id) && !is_told(expectation) => actions::observation(expectation),
            id if is_reported(id) => Some(actions::report(expectation)),
            _ => None,
        })
        .collect()
}

fn action_verdict(
    policy: &Policy,
    inputs: &Inputs,
    expectation: &Expectation<Demand<'_>>,
    waived: &[Waived],
    work: &Work<'_>,
) -> ActionVerdict {
    let action = expectation.subject.action;
    let mut verdict = ActionVerdict {
        id: action.id.clone(),
        say: message::said(&expectation.subject.instruction(), inputs.stop.elapsed_ms),
        state: ActionState::Required,
        evidence: None,
        reason: None,
        was_asked_before: false,
    };
    match &expectation.seen {
        Seen::Evidence(evidence) => {
            verdict.state = ActionState::Satisfied;
            verdict.evidence = Some(evidence.clone());
            return verdict;
        }
        Seen::Ambiguous { why, .. } => verdict.reason = Some(why.clone()),
        Seen::Nothing => {}
    }
    if let Some(Waived { reason, .. }) = waived.iter().find(|waived| waived.action == action.id) {
        verdict.state = ActionState::Waived;
        verdict.reason = Some(reason.clone());
    } else if silence::was_asked_before(policy, inputs, expectation, work) {
        verdict.state = ActionState::Waived;
        verdict.reason = Some(ASKED_BEFORE.to_owned());
        verdict.was_asked_before = true;
    } else if action.level == RuleLevel::Notify {
        verdict.state = ActionState::Reported;
    }
    verdict
}
