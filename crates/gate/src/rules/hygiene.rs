//! Edit hygiene (R6): files edited without having been read this turn, and changes that span many parts.

use std::cell::LazyCell;
use std::collections::{BTreeSet, HashSet};

use transcript::{Extent, Kind, Outcome};

use super::{Expectation, Seen};
use crate::changed::Changed;
use crate::inputs::Inputs;
use crate::policy::Policy;
use crate::ran::Moment;
use crate::verdict::{Evidence, Observation, Rule};
use crate::work::Work;

/// An edited file; what would satisfy the rule is that it was read, or written, before.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Edited {
    pub(crate) path: String,
    pub(crate) line: Option<u64>,
}

/// Every edit of an existing file, and whether the file was known. Silent where the whole turn was not seen.
pub(crate) fn edits(policy: &Policy, inputs: &Inputs, work: &Work<'_>) -> Vec<Expectation<Edited>> {
    if inputs.coverage.extent != Extent::Complete {
        return Vec::new();
    }
    let mut expectations: Vec<Expectation<Edited>> = Vec::new();
    let spelled = |known: &String| work.paths().one(known);
    let known_files: LazyCell<HashSet<String>, _> =
        LazyCell::new(|| inputs.session.known_files.iter().map(spelled).collect());
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
            if !policy.gate.turn_only && known_files.contains(&path) {
                continue;
            }
            let seen = match work.first_known(&path).filter(|known| *known < at) {
                Some(known) => {
                    let line = inputs.calls.get(known.call).and_then(|call| call.call.line);
                    Seen::Evidence(Evidence { command: format!("read {path}"), line })
                }
                None => Seen::Nothing,
            };
            expectations.push(Expectation { subject: Edited { path, line: call.line }, seen });
        }
    }
    expectations
}

/// One sentence for all of them.
pub(crate) fn edit_observation(expectations: &[Expectation<Edited>]) -> Option<Observation> {
    let first = expectations.iter().find(|expectation| expectation.speaks())?;
    let text = "Files were edited without being read first this turn — verify changes are correct";
    Some(Observation::new(Rule::EditWithoutRead, text, first.subject.line))
}

/// The folders that changed; what would satisfy the rule is that they are no more than the policy finds normal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spread;

pub(crate) fn spread(policy: &Policy, changed: &[Changed]) -> Expectation<Spread> {
    let folders: BTreeSet<&str> =
        changed.iter().filter_map(|file| file.path.split_once('/').map(|(folder, _)| folder)).collect();
    let seen = if folders.len() as u64 > policy.gate.blast_radius {
        Seen::Nothing
    } else {
        Seen::Evidence(Evidence { command: format!("folders changed: {}", folders.len()), line: None })
    };
    Expectation { subject: Spread, seen }
}

pub(crate) fn spread_observation(expectation: &Expectation<Spread>) -> Option<Observation> {
    let text = "Changes span multiple subsystems — consider committing completed work incrementally";
    expectation.speaks().then(|| Observation::new(Rule::WideBlastRadius, text, None))
}
