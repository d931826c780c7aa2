//! How a verdict came about: each thing that a rule looked at, whether the rule spoke, and if not, what silenced it.
//! Made from the same expectations that the verdict is made from.

use serde::Serialize;

use crate::changed::{self, Changed};
use crate::inputs::{CheckResult, Inputs};
use crate::policy::{Policy, RuleLevel};
use crate::reason::Reason;
use crate::rules::{Seen, actions, drift, errors, hygiene};
use crate::silence;
use crate::verdict::{ActionState, Evidence, Rule, Verdict};
use crate::work::Work;

/// One thing that a rule looked at.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    pub rule: Rule,
    /// What it is about: an action, a command, a file, a work item.
    pub subject: String,
    pub state: RuleState,
    /// What silenced the rule.
    pub evidence: Option<Evidence>,
    pub reason: Option<String>,
    /// The line of the call that it is about.
    pub line: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RuleState {
    /// It fired, and is part of the verdict.
    Fired,
    /// There was evidence.
    Suppressed,
    /// It would have fired, but what it asks for is waived.
    Waived,
    /// The policy does not want it.
    Off,
}

/// Explains a `verdict` of `judge` on the same policy and inputs. Empty if the rules were not asked: the agent
/// waited, had been held already, or git could not be asked; the verdict's reason says which.
pub fn explain(policy: &Policy, inputs: &Inputs, verdict: &Verdict) -> Vec<Explanation> {
    if verdict.reason == Reason::NotUnderstood {
        return vec![not_understood(verdict)];
    }
    if verdict.scope.is_none() || inputs.history.holds_this_turn > 0 {
        return Vec::new();
    }
    let inputs = &*inputs.with_check_runs(CheckResult::has_passed);
    let mut explanations: Vec<Explanation> = verdict.actions.iter().map(of_action).collect();
    let root = inputs.root();
    let work = Work::new(inputs, &root);
    let changed = changed::files(policy, inputs, &work);
    let rules = policy.gate.rules;
    for expectation in actions::expectations(policy, &changed, &work) {
        let action = &expectation.subject.action.id;
        explanations.extend(expectation.subject.weaker.iter().map(|weaker| Explanation {
            rule: weaker.rule,
            subject: action.clone(),
            state: state(&Seen::Nothing, rules.weaker),
            evidence: None,
            reason: Some(weaker.text.clone()),
            line: weaker.line,
        }));
    }
    let waived = silence::waivers(policy, inputs);
    for failure in errors::expectations(policy, &work) {
        let level =
            if !failure.subject.red_files(&changed, &work).is_empty() { rules.red } else { rules.errors };
        let state = match state(&failure.seen, level) {
            RuleState::Fired if errors::is_waived(policy, &failure.subject, &waived) => RuleState::Waived,
            state => state,
        };
        let call = &failure.subject.recorded.call;
        let subject = format!("`{}`", crate::work::shown(call));
        explanations.push(looked(Rule::UnresolvedError, subject, state, failure.seen, call.line));
    }
    for edit in hygiene::edits(policy, inputs, &work) {
        let state = state(&edit.seen, rules.hygiene);
        explanations.push(looked(
            Rule::EditWithoutRead,
            edit.subject.path,
            state,
            edit.seen,
            edit.subject.line,
        ));
    }
    if !changed.is_empty() {
        explanations.push(spread(policy, &changed));
    }
    if let Some(planned) = drift::expectation(inputs.plan.as_ref(), &changed) {
        let state = state(&planned.seen, rules.drift);
        let subject = format!("work item {}", planned.subject.slug);
        explanations.push(looked(Rule::PlanDrift, subject, state, planned.seen, None));
    }
    explanations
}

/// It is told once in a session.
fn not_understood(verdict: &Verdict) -> Explanation {
    let is_told = verdict.observations.iter().any(|observation| observation.rule == Rule::NotUnderstood);
    Explanation {
        rule: Rule::NotUnderstood,
        subject: "the transcript".to_owned(),
        state: if is_told { RuleState::Fired } else { RuleState::Suppressed },
        evidence: None,
        reason: (!is_told).then(|| "already reported to the person".to_owned()),
        line: None,
    }
}

fn of_action(action: &crate::verdict::ActionVerdict) -> Explanation {
    Explanation {
        rule: Rule::MissingAction,
        subject: action.id.clone(),
        state: match action.state {
            ActionState::Required | ActionState::Reported => RuleState::Fired,
            ActionState::Satisfied => RuleState::Suppressed,
            ActionState::Waived => RuleState::Waived,
        },
        evidence: action.evidence.clone(),
        reason: action.reason.clone(),
        line: None,
    }
}

fn spread(policy: &Policy, changed: &[Changed]) -> Explanation {
    let spread = hygiene::spread(policy, changed);
    Explanation {
        rule: Rule::WideBlastRadius,
        subject: match changed.len() {
            1 => "1 changed file".to_owned(),
            count => format!("{count} changed files"),
        },
        state: state(&spread.seen, policy.gate.rules.hygiene),
        evidence: None,
        reason: (!spread.speaks()).then(|| format!("at most {} top-level folders", policy.gate.blast_radius)),
        line: None,
    }
}

fn state(seen: &Seen, level: RuleLevel) -> RuleState {
    match (level, seen) {
        (RuleLevel::Off, _) => RuleState::Off,
        (_, Seen::Evidence(_)) => RuleState::Suppressed,
        _ => RuleState::Fired,
    }
}

fn looked(rule: Rule, subject: String, state: RuleState, seen: Seen, line: Option<u64>) -> Explanation {
    let (evidence, reason) = match seen {
        Seen::Evidence(evidence) => (Some(evidence), None),
        Seen::Ambiguous { why: reason, .. } => (None, Some(reason)),
        Seen::Nothing => (None, None),
    };
    Explanation { rule, subject, state, evidence, reason, line }
}
