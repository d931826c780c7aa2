//! What every rule expected and what it saw, also where it kept silent: the answer to “why did it hold?” and to “why
//! did it not?”. Made from the same inputs as the verdict, and by the same rules.

use serde::Serialize;

use crate::changed;
use crate::inputs::{Changes, Inputs};
use crate::policy::Policy;
use crate::rules::{Expectation, Seen, actions, drift, errors, hygiene};
use crate::verdict::{Evidence, Rule};
use crate::work::{Work, shown};

/// One expectation of one rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    pub rule: Rule,
    /// What it is about: an action, a command that failed, an edited file, a plan.
    pub about: String,
    /// Where that is in its transcript.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    #[serde(flatten)]
    pub saw: Saw,
}

/// What a rule saw of what it expected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "saw", rename_all = "kebab-case")]
pub enum Saw {
    /// It kept silent because of this.
    Evidence { evidence: Evidence },
    /// It spoke, because what looks like evidence is none.
    Ambiguous { like: Evidence, why: String },
    /// It spoke.
    Nothing,
}

/// Everything that the rules look at, whatever the policy makes of it; nothing where it is not known what changed.
pub fn explain(policy: &Policy, inputs: &Inputs) -> Vec<Explanation> {
    if matches!(inputs.changes, Changes::Unknown(_)) {
        return Vec::new();
    }
    let files = changed::files(policy, inputs);
    let root = changed::root(inputs);
    let work = Work::new(inputs, &root);
    let mut explanations = Vec::new();
    for expectation in actions::expectations(policy, &files, &work) {
        let about = expectation.subject.action.id.clone();
        explanations.push(explanation(Rule::MissingAction, about, None, expectation));
    }
    for expectation in errors::expectations(policy, &work) {
        let call = &expectation.subject.call;
        let (about, line) = (shown(call), call.line);
        explanations.push(explanation(Rule::UnresolvedError, about, line, expectation));
    }
    for expectation in hygiene::edits(inputs, &work) {
        let (about, line) = (expectation.subject.path.clone(), expectation.subject.line);
        explanations.push(explanation(Rule::EditWithoutRead, about, line, expectation));
    }
    if !files.is_empty() {
        let expectation = hygiene::spread(policy, &files);
        let about = format!("at most {} folders", policy.gate.blast_radius);
        explanations.push(explanation(Rule::WideBlastRadius, about, None, expectation));
    }
    if let Some(expectation) = drift::expectation(inputs.plan.as_ref(), &files) {
        let about = expectation.subject.slug.to_owned();
        explanations.push(explanation(Rule::PlanDrift, about, None, expectation));
    }
    explanations
}

fn explanation<Subject>(
    rule: Rule,
    about: String,
    line: Option<u64>,
    expectation: Expectation<Subject>,
) -> Explanation {
    let saw = match expectation.seen {
        Seen::Evidence(evidence) => Saw::Evidence { evidence },
        Seen::Ambiguous { like, why } => Saw::Ambiguous { like, why },
        Seen::Nothing => Saw::Nothing,
    };
    Explanation { rule, about, line, saw }
}
