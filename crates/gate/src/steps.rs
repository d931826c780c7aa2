//! The numbered steps of a hold: what to run, where, and for which action. An action that is missing is one step for each package
//! that it is missing in; what failed and must not stay so is one step for all of it. A step is one line, whatever folders and commands
//! are called; only what a policy says itself may have more.

use text::{listed, visible};

use crate::policy::{Action, Policy};
use crate::rules::actions::Demand;
use crate::rules::errors::{self, Failure};
use crate::rules::{Expectation, Seen};
use crate::verdict::{ActionState, ActionVerdict};
use crate::work::shown;

/// One step, and the actions by whose names the agent can say that it cannot do it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Step {
    pub(crate) text: String,
    pub(crate) actions: Vec<String>,
}

/// Failures that hold the agent, to be made good in one step.
#[derive(Debug, Default)]
pub(crate) struct FailedSteps {
    commands: Vec<String>,
    edits: Vec<String>,
    /// What the policy says of such failures.
    sentences: Vec<String>,
    actions: Vec<String>,
    /// The lines of the calls.
    lines: Vec<u64>,
}

impl FailedSteps {
    pub(crate) fn add(
        &mut self,
        policy: &Policy,
        failure: &Failure<'_>,
        expected: &[Expectation<Demand<'_>>],
    ) {
        let call = &failure.recorded.call;
        let add = |list: &mut Vec<String>, text: &str| {
            if !list.iter().any(|known| known == text) {
                list.push(text.to_owned());
            }
        };
        match call.command {
            Some(_) => add(&mut self.commands, &shown(call)),
            None => add(&mut self.edits, &shown(call)),
        }
        if let Some(sentence) = errors::sentence(policy, failure.recorded) {
            add(&mut self.sentences, sentence);
        }
        for Expectation { subject: Demand { action, .. }, .. } in expected {
            if failure.is_asked_for_by(action) {
                add(&mut self.actions, &action.id);
            }
        }
        self.lines.extend(call.line);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.commands.is_empty() && self.edits.is_empty()
    }

    /// The commands, for the log.
    pub(crate) fn listed(&self) -> String {
        listed(self.commands.iter().chain(&self.edits))
    }

    pub(crate) fn is_about(&self, line: Option<u64>) -> bool {
        line.is_some_and(|line| self.lines.contains(&line))
    }

    fn steps(&self) -> Vec<Step> {
        let sentences = self.sentences.iter().map(|sentence| format!("{}. ", sentence.trim_end_matches('.')));
        let because: String = sentences.collect();
        let actions = || self.actions.clone();
        let mut steps = Vec::new();
        if !self.commands.is_empty() {
            let until = match self.commands.len() {
                1 => "it succeeds, or say why that failure is acceptable",
                _ => "each of them succeeds, or say why those failures are acceptable",
            };
            let text = format!("{because}Run {} again until {until}", listed(&self.commands));
            steps.push(Step { text, actions: actions() });
        }
        if !self.edits.is_empty() {
            let text = format!("Repeat {}, which failed, or say why that is not needed", listed(&self.edits));
            steps.push(Step { text, actions: Vec::new() });
        }
        steps
    }
}

/// All steps of a hold, in the policy's order.
pub(crate) fn of_hold(
    policy: &Policy,
    actions: &[ActionVerdict],
    expected: &[Expectation<Demand<'_>>],
    failed: &FailedSteps,
) -> Vec<Step> {
    let required: Vec<(&Action, &ActionVerdict)> = actions
        .iter()
        .filter(|action| action.state == ActionState::Required)
        .filter_map(|action| Some((policy.action(&action.id)?, action)))
        .collect();
    let mut steps: Vec<Step> = Vec::new();
    for (action, verdict) in &required {
        let follows = action
            .after
            .as_ref()
            .zip(action.say_after.as_ref())
            .filter(|(before, _)| required.iter().any(|(other, _)| &other.id == *before));
        if let (Some((_, addition)), Some(step)) = (follows, steps.last_mut()) {
            step.text = format!("{} {addition}", step.text);
            step.actions.push(action.id.clone());
            continue;
        }
        let expectation = expected.iter().find(|expectation| expectation.subject.action.id == action.id);
        let parts = match expectation {
            Some(_) if policy.gate.turn_only => Vec::new(),
            // What failed says how to make it good.
            Some(Expectation { seen: Seen::Ambiguous { like, .. }, subject })
                if failed.is_about(like.line) && subject.instructions().len() < 2 =>
            {
                continue;
            }
            Some(expectation) => expectation.subject.instructions(),
            None => Vec::new(),
        };
        let texts = match parts.is_empty() {
            true => vec![verdict.say.clone()],
            false => parts.iter().map(|part| visible(part)).collect(),
        };
        let step = |text| Step { text, actions: vec![action.id.clone()] };
        steps.extend(texts.into_iter().map(step));
    }
    if !policy.gate.turn_only {
        steps.extend(failed.steps());
    }
    steps
}
