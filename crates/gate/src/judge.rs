//! The verdict: pass, notify or hold. What speaks first is what keeps silent: an agent that was held already, that
//! waits, or that changed nothing.

use crate::inputs::{Changes, Inputs, Waived};
use crate::message::{self, Parts};
use crate::policy::{Class, NoGit, Policy, RuleLevel, SecondStop, Telling};
use crate::rules::actions::{self, Changed, Demand, OTHER_CODE};
use crate::rules::{Expectation, Seen, drift, errors, hygiene};
use crate::verdict::{
    ActionState, ActionVerdict, ChangedCategory, Decision, Observation, Rule, Scope, Verdict,
};
use crate::work::Work;

/// Judges a stop. Pure: the same policy and inputs give the same verdict, bit for bit.
pub fn judge(policy: &Policy, inputs: &Inputs) -> Verdict {
    let silent = |reason: &str| pass(inputs, reason);
    if !policy.gate.enabled {
        return silent("switched off");
    }
    if let Some(reason) = held_already(policy, inputs) {
        return reason;
    }
    if let Some(waiting) = inputs.stop.waiting {
        return silent(&format!("the agent is waiting: {waiting:?}"));
    }
    let shortest = policy.gate.min_turn.as_millis();
    if shortest > 0 && inputs.stop.elapsed_ms.is_none_or(|elapsed| u128::from(elapsed) < shortest) {
        return silent("a short turn, or its beginning is not known");
    }
    let changed = match &inputs.changes {
        Changes::Unknown(reason) => return without_git(policy, inputs, reason),
        _ => changed_files(policy, inputs),
    };
    let root = root(&inputs.changes);
    let work = Work::new(inputs, &root);
    let only_prose = !changed.is_empty() && changed.iter().all(|file| file.class == Class::Prose);
    let mut verdict = Verdict {
        changed: by_category(policy, &changed),
        scope: scope(&inputs.changes),
        ..pass(inputs, "nothing to say")
    };
    let expected = actions::expectations(policy, &changed, &work);
    let waived = waived(policy, inputs);
    for expectation in &expected {
        verdict.actions.push(action_verdict(policy, inputs, expectation, &waived, &work));
        verdict.observations.extend(gap(expectation, verdict.actions.last()));
    }
    let missing = verdict.actions.iter().any(|action| action.state == ActionState::Required);
    let failures = told(policy.gate.rules.errors, || {
        let failures = errors::expectations(policy, &work);
        failures
            .iter()
            .filter(|failure| failure.speaks())
            .map(|failure| errors::observation(policy, failure.subject))
            .collect()
    });
    let habits = told(policy.gate.rules.hygiene, || {
        let edits = hygiene::edits(inputs, &work);
        let mut observations: Vec<Observation> = hygiene::edit_observation(&edits).into_iter().collect();
        observations.extend(hygiene::blast_radius(policy, &changed));
        observations
    });
    let drifted = told(policy.gate.rules.drift, || {
        drift::expectation(inputs.plan.as_ref(), &changed).iter().filter_map(drift::observation).collect()
    });
    let levels = policy.gate.rules;
    let holds = missing
        || (!changed.is_empty() && !only_prose && !failures.is_empty() && levels.errors == RuleLevel::Hold)
        || (!changed.is_empty() && !habits.is_empty() && levels.hygiene == RuleLevel::Hold)
        || (!changed.is_empty() && !drifted.is_empty() && levels.drift == RuleLevel::Hold);
    let prose_only_silent = only_prose && !missing;
    verdict.observations.extend(failures);
    if !changed.is_empty() && !only_prose || levels.hygiene == RuleLevel::Hold {
        verdict.observations.extend(habits);
    }
    verdict.observations.extend(drifted);
    if changed.is_empty() {
        verdict.observations.retain(|observation| observation.rule == Rule::UnresolvedError);
    }
    conclude(policy, inputs, verdict, holds, prose_only_silent, changed.is_empty())
}

/// Composes the message, where there is something to say.
fn conclude(
    policy: &Policy,
    inputs: &Inputs,
    mut verdict: Verdict,
    holds: bool,
    only_prose: bool,
    nothing_changed: bool,
) -> Verdict {
    let compose = |verdict: &Verdict, instead: Option<&str>| {
        message::compose(&Parts {
            policy,
            changed: &verdict.changed,
            actions: &verdict.actions,
            observations: &verdict.observations,
            instead,
            elapsed_ms: inputs.stop.elapsed_ms,
        })
    };
    let say = |mut verdict: Verdict, decision, reason: &str, instead: Option<&str>| {
        verdict.message = Some(compose(&verdict, instead));
        verdict.decision = decision;
        verdict.reason = reason.to_owned();
        verdict
    };
    if nothing_changed {
        return match verdict.observations.is_empty() {
            true => Verdict { reason: "nothing changed".to_owned(), ..verdict },
            false => say(verdict, Decision::Notify, "nothing changed, but an error is unresolved", None),
        };
    }
    if only_prose && policy.gate.docs_only == Telling::Hold {
        return say(verdict, Decision::Hold, "only prose changed", Some(&policy.messages.docs_only));
    }
    if holds {
        let required: Vec<&str> = verdict
            .actions
            .iter()
            .filter(|action| action.state == ActionState::Required)
            .map(|action| action.id.as_str())
            .collect();
        let reason = match required.is_empty() {
            true => "observations".to_owned(),
            false => format!("missing: {}", required.join(", ")),
        };
        return say(verdict, Decision::Hold, &reason, None);
    }
    if !verdict.observations.is_empty() {
        return say(verdict, Decision::Notify, "observations", None);
    }
    if only_prose {
        return match policy.gate.docs_only {
            Telling::Notify => {
                say(verdict, Decision::Notify, "only prose changed", Some(&policy.messages.docs_only))
            }
            _ => Verdict { reason: "only prose changed".to_owned(), ..verdict },
        };
    }
    let waived: Vec<String> = verdict
        .actions
        .iter()
        .filter(|action| action.state == ActionState::Waived)
        .map(|action| format!("{} ({})", action.id, action.reason.as_deref().unwrap_or_default()))
        .collect();
    if !waived.is_empty() {
        let sentence = format!("Not done: {}", waived.join(", "));
        return say(verdict, Decision::Notify, "waived", Some(&sentence));
    }
    if verdict.actions.is_empty() {
        verdict.reason = "nothing is required for what changed".to_owned();
        return verdict;
    }
    match policy.gate.all_clear {
        Telling::Silent => Verdict { reason: "all clear".to_owned(), ..verdict },
        Telling::Notify => say(verdict, Decision::Notify, "all clear", Some(&policy.messages.all_clear)),
        Telling::Hold => say(verdict, Decision::Hold, "all clear", Some(&policy.messages.all_clear)),
    }
}

/// The second stop of a turn passes, whatever the state; once more where the owner chose to see it committed.
fn held_already(policy: &Policy, inputs: &Inputs) -> Option<Verdict> {
    match (inputs.history.holds_this_turn, policy.gate.second_stop) {
        (0, _) => None,
        (1, SecondStop::HoldUncommitted) => Some(uncommitted(policy, inputs)),
        _ => Some(pass(inputs, "held already in this turn")),
    }
}

/// The uncommitted-changes gate: code that is still dirty is held for, once.
fn uncommitted(policy: &Policy, inputs: &Inputs) -> Verdict {
    let Changes::Known(set) = &inputs.changes else { return pass(inputs, "held already in this turn") };
    let dirty = set.files.iter().filter(|file| {
        file.how.iter().any(|how| {
            matches!(
                how,
                changes::How::Staged
                    | changes::How::Unstaged
                    | changes::How::Untracked
                    | changes::How::Unmerged
            )
        })
    });
    let gated = dirty.map(|file| file.path.to_string()).any(|path| policy.classify(&path) != Class::Prose);
    if !gated {
        return pass(inputs, "held already in this turn, and all is committed");
    }
    Verdict {
        decision: Decision::Hold,
        message: Some(format!("{}\n\n{}", message::header(), policy.messages.uncommitted)),
        scope: scope(&inputs.changes),
        ..pass(inputs, "changes are not committed")
    }
}

fn pass(inputs: &Inputs, reason: &str) -> Verdict {
    Verdict {
        decision: Decision::Pass,
        message: None,
        reason: reason.to_owned(),
        scope: None,
        changed: Vec::new(),
        actions: Vec::new(),
        observations: Vec::new(),
        coverage: inputs.coverage.clone(),
    }
}

fn without_git(policy: &Policy, inputs: &Inputs, reason: &str) -> Verdict {
    let verdict = pass(inputs, &format!("git could not be asked: {reason}"));
    match policy.gate.no_git {
        NoGit::Silent => verdict,
        NoGit::Generic => {
            Verdict { decision: Decision::Hold, message: Some(message::generic(policy)), ..verdict }
        }
    }
}

fn told(level: RuleLevel, observations: impl FnOnce() -> Vec<Observation>) -> Vec<Observation> {
    if level == RuleLevel::Off { Vec::new() } else { observations() }
}

fn root(changes: &Changes) -> String {
    match changes {
        Changes::Known(set) => set.root.to_string(),
        Changes::Transcript(_) | Changes::Unknown(_) => String::new(),
    }
}

fn scope(changes: &Changes) -> Option<Scope> {
    match changes {
        Changes::Known(set) => Some(match set.scope {
            changes::Scope::TurnBaseline => Scope::TurnBaseline,
            changes::Scope::Touched => Scope::Touched,
            changes::Scope::Worktree => Scope::Worktree,
        }),
        Changes::Transcript(_) => Some(Scope::Transcript),
        Changes::Unknown(_) => None,
    }
}

fn changed_files(policy: &Policy, inputs: &Inputs) -> Vec<Changed> {
    let changed = |path: String, modified_ns| Changed { class: policy.classify(&path), path, modified_ns };
    match &inputs.changes {
        Changes::Known(set) => {
            set.files.iter().map(|file| changed(file.path.to_string(), file.modified_ns)).collect()
        }
        Changes::Transcript(paths) => paths.iter().map(|path| changed(path.clone(), None)).collect(),
        Changes::Unknown(_) => Vec::new(),
    }
}

fn by_category(policy: &Policy, changed: &[Changed]) -> Vec<ChangedCategory> {
    let mut groups: Vec<ChangedCategory> = Vec::new();
    let mut add = |category: &str, path: &str| match groups
        .iter_mut()
        .find(|group| group.category == category)
    {
        Some(group) => group.files.push(path.to_owned()),
        None => groups.push(ChangedCategory { category: category.to_owned(), files: vec![path.to_owned()] }),
    };
    for file in changed {
        match &file.class {
            Class::Categories(indices) => {
                for category in indices.iter().filter_map(|index| policy.categories.get(*index)) {
                    add(&category.name, &file.path);
                }
            }
            Class::Prose => add("prose", &file.path),
            Class::OtherCode => add(OTHER_CODE, &file.path),
            Class::OtherFile => add("other files", &file.path),
        }
    }
    groups
}

fn action_verdict(
    policy: &Policy,
    inputs: &Inputs,
    expectation: &Expectation<Demand<'_>>,
    waived: &[Waived],
    work: &Work<'_>,
) -> ActionVerdict {
    let Demand { action, covers, .. } = &expectation.subject;
    let mut verdict = ActionVerdict {
        id: action.id.clone(),
        say: message::said(action, inputs.stop.elapsed_ms),
        state: ActionState::Required,
        evidence: None,
        reason: None,
    };
    match &expectation.seen {
        Seen::Evidence(evidence) => {
            verdict.state = ActionState::Satisfied;
            verdict.evidence = Some(evidence.clone());
            return verdict;
        }
        Seen::Ambiguous(why) => verdict.reason = Some(why.clone()),
        Seen::Nothing => {}
    }
    if let Some(Waived { reason, .. }) = waived.iter().find(|waived| waived.action == action.id) {
        verdict.state = ActionState::Waived;
        verdict.reason = Some(reason.clone());
    } else if !policy.gate.ask_again && inputs.history.held_before.contains(&action.id) {
        // The turn before was held for it. It is asked for again only if what it covers was touched since.
        let by_baseline = scope(&inputs.changes) == Some(Scope::TurnBaseline);
        let touched = by_baseline || covers.iter().any(|path| work.was_edited(path));
        if !touched {
            verdict.state = ActionState::Waived;
            verdict.reason = Some("asked for in the turn before, and nothing changed since".to_owned());
        }
    }
    verdict
}

/// The observation that goes with a required action.
fn gap(expectation: &Expectation<Demand<'_>>, verdict: Option<&ActionVerdict>) -> Option<Observation> {
    let verdict = verdict.filter(|verdict| verdict.state == ActionState::Required)?;
    let Demand { action, categories, .. } = &expectation.subject;
    let subject = capitalised(&categories.join(" and "));
    let text = match (&action.gap, &verdict.reason) {
        (Some(gap), _) if gap.is_empty() => return None,
        (Some(gap), None) => gap.replace("{category}", &subject),
        (gap, Some(reason)) => {
            let seen = match gap {
                Some(gap) => gap.replace("{category}", &subject),
                None => format!("{subject} changed, and what was run for `{}` does not count", action.id),
            };
            format!("{seen}: {reason}")
        }
        // Without words of its own the step itself says enough.
        (None, None) => return None,
    };
    Some(Observation { rule: Rule::MissingAction, text, line: None })
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => "The work".to_owned(),
    }
}

/// What cannot be done here: what the agent says now, and what it said before in this session.
fn waived(policy: &Policy, inputs: &Inputs) -> Vec<Waived> {
    if !policy.gate.waivers {
        return Vec::new();
    }
    let mut waived = inputs.history.waived.clone();
    waived
        .extend(waived_in(&inputs.said).into_iter().filter(|waived| policy.action(&waived.action).is_some()));
    waived
}

/// What an agent says, in lines of their own, that it cannot do: `checkstone: cannot <action>: <reason>`.
pub fn waived_in(said: &[String]) -> Vec<Waived> {
    let mut waived = Vec::new();
    for line in said.iter().flat_map(|text| text.lines()) {
        let line = line.trim().trim_matches(['`', '*', '-', ' ']);
        let Some(rest) = line.strip_prefix("checkstone: cannot ") else { continue };
        let (action, reason) = rest.split_once(':').unwrap_or((rest, ""));
        let (action, reason) = (action.trim().trim_matches('`'), reason.trim());
        if !action.is_empty() && !reason.is_empty() {
            waived.push(Waived { action: action.to_owned(), reason: reason.to_owned() });
        }
    }
    waived
}
