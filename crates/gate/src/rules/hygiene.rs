//! Edit hygiene (R6): files edited without having been read this turn, and changes that span many parts.

use std::collections::BTreeSet;

use transcript::{Extent, Kind, Outcome};

use super::{Expectation, Seen};
use crate::changed::Changed;
use crate::inputs::Inputs;
use crate::policy::Policy;
use crate::verdict::{Evidence, Observation, Rule};
use crate::work::{Moment, Work};

/// An edited file; what would satisfy the rule is that it was read, or written, before.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Edited {
    pub(crate) path: String,
    pub(crate) line: Option<u64>,
}

/// Every edit of an existing file, and whether the file was known. Silent where the whole turn was not seen.
pub(crate) fn edits(inputs: &Inputs, work: &Work<'_>) -> Vec<Expectation<Edited>> {
    if inputs.coverage.extent != Extent::Complete {
        return Vec::new();
    }
    let mut expectations: Vec<Expectation<Edited>> = Vec::new();
    for (number, recorded) in work.calls() {
        let call = &recorded.call;
        // A sub-agent reads in its own conversation.
        if call.kind != Kind::Edit || call.outcome == Outcome::Error || call.subagent.is_some() {
            continue;
        }
        let at = Moment { call: number, command: 0 };
        for path in call.paths.iter().filter(|path| !call.created.contains(path)) {
            let path = work.paths().one(path);
            if expectations.iter().any(|expectation| expectation.subject.path == path) {
                continue;
            }
            let seen = if work.was_known_before(&path, at) {
                Seen::Evidence(Evidence { command: format!("read {path}"), line: None })
            } else {
                Seen::Nothing
            };
            expectations.push(Expectation { subject: Edited { path, line: call.line }, seen });
        }
    }
    expectations
}

/// One sentence for all of them.
pub(crate) fn edit_observation(expectations: &[Expectation<Edited>]) -> Option<Observation> {
    let first = expectations.iter().find(|expectation| expectation.speaks())?;
    Some(Observation {
        rule: Rule::EditWithoutRead,
        text: "Files were edited without being read first this turn — verify changes are correct".to_owned(),
        line: first.subject.line,
    })
}

/// Changes in more top-level folders than the policy finds normal.
pub(crate) fn blast_radius(policy: &Policy, changed: &[Changed]) -> Option<Observation> {
    let folders: BTreeSet<&str> =
        changed.iter().filter_map(|file| file.path.split_once('/').map(|(folder, _)| folder)).collect();
    (folders.len() as u64 > policy.gate.blast_radius).then(|| Observation {
        rule: Rule::WideBlastRadius,
        text: "Changes span multiple subsystems — consider committing completed work incrementally"
            .to_owned(),
        line: None,
    })
}
