//! How a recorded verdict came about, and whether it can be had again from what was recorded.

use gate::{
    ActionState, ActionVerdict, CheckResult, Explanation, INPUTS_VERSION, Observation, Reason, Rule, Verdict,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::record::{self, Record};

/// A verdict with how it came about.
#[derive(Debug)]
pub struct ExplainedVerdict {
    /// As it was recorded, where its inputs were kept.
    pub verdict: Option<Verdict>,
    pub rules: Vec<Explanation>,
    /// The results of the policy's own checks.
    pub checks: Vec<CheckResult>,
    pub replay: Replay,
}

/// What judging again gave.
#[derive(Debug)]
pub enum Replay {
    Same,
    /// Another verdict.
    Different(Box<Verdict>),
    /// It cannot be tried, and why.
    Impossible(String),
}

/// Judges once more what was recorded.
pub fn explain(inputs: Option<&journal::Inputs<Vec<u8>>>) -> ExplainedVerdict {
    let nothing = |why: &str| ExplainedVerdict {
        verdict: None,
        rules: Vec::new(),
        checks: Vec::new(),
        replay: Replay::Impossible(why.to_owned()),
    };
    let Some(inputs) = inputs else { return nothing("its inputs were too large to keep") };
    if inputs.version > INPUTS_VERSION {
        return nothing("its inputs were recorded by a newer version of checkstone");
    }
    let Some(record) = Record::read(&inputs.bytes) else { return nothing("its inputs cannot be read") };
    let (rules, replay) = match record.policy() {
        Ok(policy) => {
            let again = gate::judge(&policy, &record.inputs);
            let rules = gate::explain(&policy, &record.inputs, &record.verdict);
            (rules, compared(record::json(&inputs.bytes), again))
        }
        Err(problems) => {
            (Vec::new(), Replay::Impossible(format!("this version does not accept its policy: {problems}")))
        }
    };
    ExplainedVerdict { verdict: Some(record.verdict), rules, checks: record.inputs.checks, replay }
}

/// The recorded verdict as it was written, against the one that came out now.
fn compared(json: &[u8], again: Verdict) -> Replay {
    #[derive(Deserialize)]
    struct AsWritten<'a> {
        #[serde(borrow)]
        verdict: &'a RawValue,
    }
    let written = serde_json::from_slice::<AsWritten<'_>>(json).map(|record| record.verdict.get());
    match (written, serde_json::to_string(&again)) {
        (Ok(written), Ok(text)) if written == text => Replay::Same,
        (Ok(_), Ok(_)) => Replay::Different(Box::new(again)),
        _ => Replay::Impossible("its inputs cannot be read".to_owned()),
    }
}

/// The reason of a recorded verdict alone, without building everything else.
pub fn recorded_reason(bytes: &[u8]) -> Option<Reason> {
    #[derive(Deserialize)]
    struct WithVerdict {
        verdict: WithReason,
    }
    #[derive(Deserialize)]
    struct WithReason {
        reason: Reason,
    }
    Some(serde_json::from_slice::<WithVerdict>(record::json(bytes)).ok()?.verdict.reason)
}

/// The rules that spoke in a recorded verdict, each as often as it did.
pub fn recorded_rules(bytes: &[u8]) -> Vec<Rule> {
    #[derive(Deserialize)]
    struct WithRules {
        verdict: SpokenRules,
    }
    #[derive(Deserialize)]
    struct SpokenRules {
        actions: Vec<ActionVerdict>,
        observations: Vec<Observation>,
    }
    let Ok(WithRules { verdict }) = serde_json::from_slice(record::json(bytes)) else { return Vec::new() };
    let is_missing = |action: &&ActionVerdict| action.state == ActionState::Required;
    let missing = verdict.actions.iter().filter(is_missing).map(|_| Rule::MissingAction);
    missing.chain(verdict.observations.iter().map(|observation| observation.rule)).collect()
}

/// The number of the verdict that a recorded one corrects, if so.
pub fn recorded_correction(bytes: &[u8]) -> Option<i64> {
    #[derive(Deserialize)]
    struct WithInputs {
        inputs: WithStop,
    }
    #[derive(Deserialize)]
    struct WithStop {
        stop: gate::Stop,
    }
    let record: WithInputs = serde_json::from_slice(record::json(bytes)).ok()?;
    record.inputs.stop.corrects.map(|correction| correction.verdict)
}
