//! Required actions (R4): what changed demands certain actions; each is looked for in the timeline. Evidence is
//! a command that ran, succeeded attributably, and came after the last change that it is meant to cover.

use jiff::Timestamp;
use transcript::{Call, Outcome};

use super::{Expectation, Seen};
use crate::policy::{Action, Class, Fresh, Policy};
use crate::runner_summary::{self, Summary};
use crate::shell::{Attribution, Output};
use crate::verdict::Evidence;
use crate::work::{Moment, Ran, Work};

/// An action that what changed demands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Demand<'a> {
    pub(crate) action: &'a Action,
    /// The categories that demand it, by name.
    pub(crate) categories: Vec<&'a str>,
    /// The changed files that it covers.
    pub(crate) covers: Vec<String>,
}

/// A changed file, relative to the root of the repository.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Changed {
    pub(crate) path: String,
    pub(crate) class: Class,
    /// Nanoseconds since 1970.
    pub(crate) modified_ns: Option<i64>,
}

/// Files edited by something else than the agent's calls may be newer than the evidence by this much and still
/// be what it covered: clocks and records are not that exact.
const SLACK_NS: i64 = 1_000_000_000;

/// Every action that is demanded, in the policy's order, and what was seen of it.
pub(crate) fn expectations<'a>(
    policy: &'a Policy,
    changed: &[Changed],
    work: &Work<'_>,
) -> Vec<Expectation<Demand<'a>>> {
    let mut found: Vec<(Expectation<Demand<'a>>, Option<Moment>)> = Vec::new();
    for demand in demands(policy, changed) {
        let after = match &demand.action.after {
            None => After::Anything,
            Some(id) => match found.iter().find(|(earlier, _)| &earlier.subject.action.id == id) {
                Some((_, Some(moment))) => After::Moment(*moment),
                Some((_, None)) => After::Never,
                // The other action is not demanded: its evidence, if any, is still what must come first.
                None => policy
                    .action(id)
                    .and_then(|other| latest_run(other, work))
                    .map_or(After::Never, After::Moment),
            },
        };
        let (seen, moment) = look_for(&demand, changed, work, after);
        found.push((Expectation { subject: demand, seen }, moment));
    }
    found.into_iter().map(|(expectation, _)| expectation).collect()
}

/// What the evidence of an action has to come after.
#[derive(Clone, Copy)]
enum After {
    Anything,
    Moment(Moment),
    /// Something that did not take place.
    Never,
}

fn demands<'a>(policy: &'a Policy, changed: &[Changed]) -> Vec<Demand<'a>> {
    let is_code = |file: &&Changed| !matches!(file.class, Class::Prose | Class::OtherFile);
    let mut demanded: Vec<Demand<'a>> = Vec::new();
    let mut demand = |id: &str, category: Option<&'a str>, path: &str| {
        let Some(action) = policy.action(id) else { return };
        let place = match demanded.iter().position(|demand| demand.action.id == action.id) {
            Some(place) => place,
            None => {
                demanded.push(Demand { action, categories: Vec::new(), covers: Vec::new() });
                demanded.len() - 1
            }
        };
        let Some(demand) = demanded.get_mut(place) else { return };
        if let Some(category) = category.filter(|category| !demand.categories.contains(category)) {
            demand.categories.push(category);
        }
        if !demand.covers.iter().any(|known| known == path) {
            demand.covers.push(path.to_owned());
        }
    };
    for file in changed {
        match &file.class {
            Class::Categories(indices) => {
                for category in indices.iter().filter_map(|index| policy.categories.get(*index)) {
                    let others =
                        changed.iter().filter(is_code).any(|other| !is_in(policy, other, &category.name));
                    if category.alone && others {
                        continue;
                    }
                    for id in &category.require {
                        demand(id, Some(&category.name), &file.path);
                    }
                }
            }
            Class::OtherCode => {
                for id in &policy.other_code {
                    demand(id, Some(OTHER_CODE), &file.path);
                }
            }
            Class::Prose | Class::OtherFile => {}
        }
        for id in &policy.gate.always {
            demand(id, None, &file.path);
        }
    }
    // The policy's actions are in their order of execution.
    demanded.sort_by_key(|demand| policy.actions.iter().position(|action| action.id == demand.action.id));
    demanded
}

/// How source code that no category names is called.
pub(crate) const OTHER_CODE: &str = "other code";

fn is_in(policy: &Policy, file: &Changed, name: &str) -> bool {
    match &file.class {
        Class::Categories(indices) => indices
            .iter()
            .filter_map(|index| policy.categories.get(*index))
            .any(|category| category.name == name),
        _ => false,
    }
}

/// The latest evidence that covers the changes; else why the latest thing like it is none.
fn look_for(
    demand: &Demand<'_>,
    changed: &[Changed],
    work: &Work<'_>,
    after: After,
) -> (Seen, Option<Moment>) {
    let mut why_not = None;
    let runs: Vec<Ran<'_>> = work.commands().filter(|ran| names(demand.action, ran)).collect();
    for ran in runs.iter().rev() {
        let objection = objection(ran).or_else(|| {
            let order = match after {
                After::Anything => None,
                After::Moment(moment) if ran.at > moment => None,
                _ => demand.action.after.as_ref().map(|id| format!("it did not come after `{id}`")),
            };
            order.or_else(|| staleness(demand, changed, ran, work))
        });
        match objection {
            None => {
                let command = ran.call.command.clone().unwrap_or_default();
                let evidence = Evidence { command, line: ran.call.line };
                return (Seen::Evidence(evidence), Some(ran.at));
            }
            Some(objection) => {
                why_not.get_or_insert(objection);
            }
        }
    }
    match why_not {
        Some(why) => (Seen::Ambiguous(why), None),
        None => (Seen::Nothing, None),
    }
}

fn names(action: &Action, ran: &Ran<'_>) -> bool {
    action.evidence.iter().any(|pattern| pattern.matches(ran.command))
}

fn latest_run(action: &Action, work: &Work<'_>) -> Option<Moment> {
    work.commands().filter(|ran| names(action, ran) && objection(ran).is_none()).map(|ran| ran.at).max()
}

/// Why a command that ran proves nothing, whenever it ran.
fn objection(ran: &Ran<'_>) -> Option<String> {
    let Call { outcome, user_stopped, .. } = ran.call;
    if *user_stopped {
        return Some("it was stopped".to_owned());
    }
    match outcome {
        Outcome::Error => return Some("it failed".to_owned()),
        Outcome::Unknown => return Some("how it ended is not known".to_owned()),
        Outcome::Ok => {}
    }
    let printed = match ran.command.output {
        Output::Shown | Output::Filtered => ran.call.snippet.as_deref().and_then(runner_summary::read),
        Output::Hidden => None,
    };
    match (ran.command.attribution, printed) {
        (_, Some(Summary::NoTestsRan)) => Some("no tests ran".to_owned()),
        (_, Some(Summary::Failed { .. })) => Some("its own summary tells of failures".to_owned()),
        (Attribution::Decides, _) | (Attribution::Masked(_), Some(Summary::Passed { .. })) => None,
        (Attribution::Masked(mask), None) => Some(mask.to_string()),
    }
}

/// Why evidence does not cover what changed: something changed after it.
fn staleness(demand: &Demand<'_>, changed: &[Changed], ran: &Ran<'_>, work: &Work<'_>) -> Option<String> {
    if demand.action.fresh == Fresh::ThisTurn {
        return None;
    }
    const STALE: &str = "it ran before the last change";
    if work.last_edit(&demand.covers).is_some_and(|edit| edit > ran.at) {
        return Some(STALE.to_owned());
    }
    let ended = ran.call.ended_at.as_deref().or(ran.call.at.as_deref());
    let ended: Timestamp = ended?.parse().ok()?;
    let newest = changed
        .iter()
        .filter(|file| demand.covers.contains(&file.path))
        .filter_map(|file| file.modified_ns)
        .max()?;
    let stale = i128::from(newest) > ended.as_nanosecond() + i128::from(SLACK_NS);
    stale.then(|| STALE.to_owned())
}
