//! What the person is told of work that stays unproven: when the agent went on after a hold without doing what it was asked
//! for (L2), once in every later turn while that lasts, and when a commit takes it in (L3). The agent is not held for it again.

use std::collections::{BTreeMap, BTreeSet};

use text::OWN_PREFIX;
use text::counted;

use crate::changed::Changed;
use crate::inputs::Inputs;
use crate::policy::{Action, Policy, RuleLevel};
use crate::reason::Reason;
use crate::rules::{actions, errors};
use crate::silence;
use crate::verdict::{ContentProof, Decision, FileStanding, Verdict};
use crate::work::Work;

/// Of many files the first ones stand for all.
const FILES_NAMED: usize = 3;

/// How files stand now that nothing is demanded for: those that earlier turns left unproven, and those of which only comments
/// or layout changed. This turn's runs prove them too.
pub(crate) fn standings(
    policy: &Policy,
    inputs: &Inputs,
    changed: &[Changed],
    work: &Work<'_>,
) -> Vec<FileStanding> {
    let unproven = &inputs.ledger.unproven;
    let untouched = work.files_without_need();
    let quiet: BTreeMap<&str, Option<i64>> = changed
        .iter()
        .filter(|file| !file.needs_proof && untouched.contains(file.path.as_str()))
        .map(|file| (file.path.as_str(), file.modified_ns))
        .collect();
    if unproven.is_empty() && quiet.is_empty() {
        return Vec::new();
    }
    let ending = |path: &str| inputs.script_endings.get(path).map(String::as_str);
    let mut paths = quiet.clone();
    paths.extend(unproven.iter().map(|file| (file.path.as_str(), file.modified_ns)));
    let files: Vec<Changed> = paths
        .into_iter()
        .map(|(path, modified_ns)| Changed::new(policy, path.to_owned(), ending(path), modified_ns))
        .collect();
    let known: BTreeSet<(&str, &str)> =
        unproven.iter().map(|file| (file.path.as_str(), file.action.as_str())).collect();
    let failures = errors::expectations(policy, work);
    let red: BTreeSet<String> = failures
        .iter()
        .filter(|failure| failure.speaks())
        .flat_map(|failure| failure.subject.red_files(&files, work))
        .collect();
    let expected = actions::expectations(policy, &files, work);
    let standings = expected.into_iter().flat_map(|expectation| expectation.subject.standings);
    let stand = |mut standing: FileStanding| {
        let is_proven = matches!(standing.proof, ContentProof::Proven(_)) && !red.contains(&standing.path);
        if known.contains(&(standing.path.as_str(), standing.action.as_str())) {
            if !is_proven {
                standing.proof = ContentProof::Unproven;
            }
            return Some(standing);
        }
        let is_like_before = !work.is_taken_back(&standing.path);
        match quiet.contains_key(standing.path.as_str()) {
            true if is_proven => Some(standing),
            true if is_like_before => Some(FileStanding { proof: ContentProof::AsBefore, ..standing }),
            // Content that is back stands as it stood.
            _ => None,
        }
    };
    standings.filter_map(stand).collect()
}

/// The actions that a file needs, by its path alone, and that the ledger keeps for its content.
pub fn needs<'a>(policy: &'a Policy, path: &str) -> Vec<&'a Action> {
    let file = Changed::new(policy, path.to_owned(), None, None);
    let demanded = actions::demands(policy, std::slice::from_ref(&file));
    let actions = demanded.into_iter().map(|demand| demand.action);
    actions.filter(|action| action.level == RuleLevel::Hold && action.is_in_ledger()).collect()
}

/// Adds what is to be told of unproven work to a verdict.
pub(crate) fn remark(policy: &Policy, inputs: &Inputs, mut verdict: Verdict) -> Verdict {
    if policy.gate.turn_only {
        return verdict;
    }
    let waived = silence::waivers(policy, inputs);
    let left: BTreeMap<&str, &str> = verdict
        .standings
        .iter()
        .filter(|standing| matches!(standing.proof, ContentProof::Unproven | ContentProof::TakenBack))
        .filter(|standing| waived.iter().all(|waived| waived.action != standing.action))
        .map(|standing| (standing.path.as_str(), standing.action.as_str()))
        .collect();
    let is_earlier = |path: &str| inputs.ledger.unproven.iter().any(|file| file.path == path);
    let is_committed =
        |path: &str| inputs.ledger.unproven.iter().any(|file| file.path == path && file.committed);
    let ignored: Vec<_> = left
        .iter()
        .filter(|(path, _)| inputs.history.hold_received && !is_earlier(path))
        .map(|(path, action)| (*path, *action))
        .collect();
    let committed: Vec<_> =
        left.iter().filter(|(path, _)| is_committed(path)).map(|(path, action)| (*path, *action)).collect();
    let earlier: Vec<_> =
        left.iter().filter(|(path, _)| is_earlier(path)).map(|(path, action)| (*path, *action)).collect();

    let level = policy.gate.unproven_commit;
    let text = if verdict.decision == Decision::Hold {
        return verdict;
    } else if !committed.is_empty() && level != RuleLevel::Off {
        format!("This turn committed unproven work: {}.", named(&committed))
    } else if !ignored.is_empty() {
        format!("Unproven: {}. The agent was asked for this and did not do it.", named(&ignored))
    } else if !earlier.is_empty() && inputs.ledger.told.is_none() {
        format!("Still unproven: {}.", named(&earlier))
    } else {
        if verdict.reason == Reason::AllClear && !earlier.is_empty() {
            verdict.decision = Decision::Pass;
            verdict.message = None;
            verdict.reason =
                format!("all clear except for {}", counted(earlier.len(), "unproven file")).into();
        }
        return verdict;
    };
    if inputs.ledger.told.as_ref() == Some(&text) {
        return verdict;
    }
    let holds = !committed.is_empty() && level == RuleLevel::Hold && inputs.history.holds_this_turn == 0;
    let files = counted(left.len(), "file");
    let (decision, reason) = match holds {
        true => (Decision::Hold, format!("a commit contains unproven work: {files}")),
        false if !committed.is_empty() => {
            (Decision::Notify, format!("{}; committed unproven work: {files}", verdict.reason))
        }
        false => (Decision::Notify, format!("{}; {files} unproven", verdict.reason)),
    };
    let is_all_clear = verdict.reason == Reason::AllClear;
    let sentence = match holds {
        true => format!("{OWN_PREFIX} {text} {}", steps(policy, &committed)),
        false => format!("{OWN_PREFIX} {text}"),
    };
    verdict.message = Some(match verdict.message.take().filter(|_| !is_all_clear) {
        Some(message) => format!("{message}\n\n{text}"),
        None => sentence,
    });
    verdict.decision = decision;
    verdict.reason = reason.into();
    verdict.told_unproven = Some(text);
    verdict
}

/// `a.rs`, `b.rs` and 2 more files need `tests`
fn named(files: &[(&str, &str)]) -> String {
    let mut names: Vec<String> =
        files.iter().take(FILES_NAMED).map(|(path, _)| format!("`{}`", text::visible(path))).collect();
    if files.len() > FILES_NAMED {
        names.push(format!("{} more", files.len() - FILES_NAMED));
    }
    let last = names.pop().unwrap_or_default();
    let names = if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) };
    let actions: BTreeSet<&str> = files.iter().map(|(_, action)| *action).collect();
    let actions: Vec<String> = actions.into_iter().map(|action| format!("`{action}`")).collect();
    let verb = if files.len() == 1 { "needs" } else { "need" };
    format!("{names} {verb} {}", actions.join(" and "))
}

fn steps(policy: &Policy, files: &[(&str, &str)]) -> String {
    let actions: BTreeSet<&str> = files.iter().map(|(_, action)| *action).collect();
    let steps = actions.into_iter().filter_map(|action| policy.action(action));
    steps.map(|action| format!("{}.", action.instruction())).collect::<Vec<_>>().join(" ")
}
