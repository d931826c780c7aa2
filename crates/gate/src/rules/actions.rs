//! Required actions (R4): what changed demands certain actions; each is looked for in the timeline, and suppressed
//! where it was seen.

use std::collections::BTreeSet;

use programs::Deed;
use programs::shell::Attribution;
use transcript::Outcome;

use super::{Expectation, Seen, evidence};
use crate::changed::{Changed, OTHER_CODE};
use crate::policy::{Action, Class, Policy, Proof, RuleLevel};
use crate::verdict::{Evidence, Observation, Rule};
use crate::work::{Moment, Ran, Work, shown};

/// An action that what changed demands; what would satisfy it is one of its commands, run well and late enough.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Demand<'a> {
    pub(crate) action: &'a Action,
    /// The categories that demand it, by name.
    categories: Vec<&'a str>,
    /// The changed files that it covers.
    pub(crate) covers: BTreeSet<String>,
}

/// Every action that is demanded, in the policy's order, and what was seen of it.
pub(crate) fn expectations<'a>(
    policy: &'a Policy,
    changed: &[Changed],
    work: &Work<'_>,
) -> Vec<Expectation<Demand<'a>>> {
    let mut found: Vec<(Expectation<Demand<'a>>, Option<Moment>)> = Vec::new();
    let demanded = demands(policy, changed);
    let usual: Vec<&str> = demanded.iter().filter_map(|demand| usual_program(demand.action)).collect();
    for demand in demanded {
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
        let (seen, moment) = look_for(&demand, &usual, changed, work, after);
        found.push((Expectation { subject: demand, seen }, moment));
    }
    found.into_iter().map(|(expectation, _)| expectation).collect()
}

/// The observation that goes with a required action.
pub(crate) fn observation(expectation: &Expectation<Demand<'_>>) -> Option<Observation> {
    let Demand { action, .. } = &expectation.subject;
    let gap = action.gap.as_ref().map(|gap| gap.replace("{category}", &expectation.subject.title()));
    let text = match (gap, &expectation.seen) {
        (_, Seen::Evidence(_)) => return None,
        (Some(gap), _) if gap.is_empty() => return None,
        (Some(gap), Seen::Nothing) => gap,
        (Some(gap), Seen::Ambiguous { like, why }) => format!("{gap} (`{}`: {why})", like.command),
        (None, Seen::Ambiguous { like, why }) => {
            format!("`{}` does not count for `{}`: {why}", like.command, action.id)
        }
        // Without words of its own the step itself says enough.
        (None, Seen::Nothing) => return None,
    };
    let line = match &expectation.seen {
        Seen::Ambiguous { like, .. } => like.line,
        _ => None,
    };
    Some(Observation { rule: Rule::MissingAction, text, line })
}

/// What the person is told of an action that the agent is not asked for.
pub(crate) fn report(expectation: &Expectation<Demand<'_>>) -> Observation {
    let Demand { action, .. } = &expectation.subject;
    let text = format!("{} changed — {}", expectation.subject.title(), action.instruction());
    Observation { rule: Rule::MissingAction, text, line: None }
}

impl Demand<'_> {
    /// What changed, as the beginning of a sentence.
    fn title(&self) -> String {
        let mut named: Vec<&str> =
            self.categories.iter().copied().filter(|category| *category != OTHER_CODE).collect();
        if named.is_empty() {
            named.clone_from(&self.categories);
        }
        let text = named.join(" and ");
        let mut characters = text.chars();
        match characters.next() {
            Some(first) => first.to_uppercase().chain(characters).collect(),
            None => "The work".to_owned(),
        }
    }
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
    let mut demanded: Vec<Demand<'a>> = Vec::new();
    let mut demand = |id: &str, category: Option<&'a str>, path: &str| {
        let Some(action) = policy.action(id).filter(|action| action.level != RuleLevel::Off) else { return };
        let place = match demanded.iter().position(|demand| demand.action.id == action.id) {
            Some(place) => place,
            None => {
                demanded.push(Demand { action, categories: Vec::new(), covers: BTreeSet::new() });
                demanded.len() - 1
            }
        };
        let Some(demand) = demanded.get_mut(place) else { return };
        if let Some(category) = category.filter(|category| !demand.categories.contains(category)) {
            demand.categories.push(category);
        }
        if !demand.covers.contains(path) {
            demand.covers.insert(path.to_owned());
        }
    };
    for file in changed {
        match &file.class {
            Class::Categories(indices) => {
                for category in indices.iter().filter_map(|index| policy.categories.get(*index)) {
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

/// The latest evidence that covers the changes; else why the latest thing like it is none.
fn look_for(
    demand: &Demand<'_>,
    usual: &[&str],
    changed: &[Changed],
    work: &Work<'_>,
    after: After,
) -> (Seen, Option<Moment>) {
    let mut latest_like = None;
    for (ran, objection) in candidates(demand.action, usual, work).into_iter().rev() {
        let objection = objection.or_else(|| {
            let order = match after {
                After::Anything => None,
                After::Moment(moment) if ran.at > moment => None,
                _ => demand.action.after.as_ref().map(|id| format!("it did not come after `{id}`")),
            };
            order.or_else(|| evidence::staleness(demand.action, &demand.covers, changed, &ran, work))
        });
        match objection {
            None => {
                let command = ran.call.command.clone().unwrap_or_default();
                return (Seen::Evidence(Evidence { command, line: ran.call.line }), Some(ran.at));
            }
            Some(why) => {
                let like = Evidence { command: shown(ran.call), line: ran.call.line };
                latest_like.get_or_insert(Seen::Ambiguous { like, why });
            }
        }
    }
    (latest_like.unwrap_or(Seen::Nothing), None)
}

/// What the action asks for, in order, each with why it proves nothing whenever it ran.
fn candidates<'a>(action: &Action, usual: &[&str], work: &Work<'a>) -> Vec<(Ran<'a>, Option<String>)> {
    let verifying = || {
        let is_meant = |ran: &Ran<'_>| is_meant(action, usual, ran);
        work.verifying_runs().iter().filter(move |run| is_meant(&run.ran)).map(|run| (run.ran, run.objection()))
    };
    match action.proof {
        Proof::Evidence => {
            let named = work.commands().filter(|ran| evidence::names(action, ran));
            named.map(|ran| (ran, evidence::objection(&ran))).collect()
        }
        Proof::Verification => verifying().collect(),
        Proof::Installation => {
            let installing = work.commands().filter(|ran| ran.command.does(Deed::Installs));
            let mut found: Vec<_> = installing.map(|ran| (ran, not_installed(&ran))).chain(verifying()).collect();
            found.sort_by_key(|(ran, _)| ran.at);
            found
        }
    }
}

/// An installation whose status is hidden went well unless the whole says otherwise.
fn not_installed(ran: &Ran<'_>) -> Option<String> {
    match (ran.call.outcome, ran.command.attribution) {
        (Outcome::Ok, Attribution::Masked(_)) if !ran.call.user_stopped => None,
        _ => evidence::objection(ran),
    }
}

/// The program with which the files of an action are usually verified.
fn usual_program(action: &Action) -> Option<&str> {
    action.usual.as_deref()?.split_whitespace().next()
}

/// Where several languages changed, the usual program of one proves nothing about the other.
fn is_meant(action: &Action, usual: &[&str], ran: &Ran<'_>) -> bool {
    let program = ran.command.program.as_str();
    usual_program(action) == Some(program) || !usual.contains(&program)
}

fn latest_run(action: &Action, work: &Work<'_>) -> Option<Moment> {
    work.commands()
        .filter(|ran| evidence::names(action, ran) && evidence::objection(ran).is_none())
        .map(|ran| ran.at)
        .max()
}
