//! What looking for substrings, as the first requirements had it, would have said of the labelled turns. Everything else
//! is the gate's own: which turns are looked at, what changed, which actions that needs, and what holds.

use gate::policy::{Policy, RuleLevel};
use gate::{ActionState, Decision, Inputs, Rule, Verdict, judge};
use transcript::{Call, Kind, Outcome};

use crate::corpus::{folders, load};
use crate::turns::policy;

/// The place of the first call whose command contains one of the patterns and is not marked as failed.
fn mentioned(policy: &Policy, action: &str, inputs: &Inputs) -> Option<usize> {
    let action = policy.action(action)?;
    let after = action.after.as_deref().map(|before| mentioned(policy, before, inputs));
    let is_it = |call: &Call| {
        call.kind == Kind::Shell
            && call.outcome != Outcome::Error
            && call.command.as_deref().is_some_and(|command| {
                action.evidence.iter().any(|pattern| command.contains(pattern.as_str()))
            })
    };
    let mut calls = inputs.calls.iter().enumerate();
    calls.find_map(|(place, recorded)| {
        // "Appearing after a restart call"; both may stand in one command.
        let in_order = match after {
            None => true,
            Some(before) => before.is_some_and(|before| before <= place),
        };
        (in_order && is_it(&recorded.call)).then_some(place)
    })
}

/// Whether a failed call has no later call of the same program, none that names its files, and no edit of them.
fn left_failing(inputs: &Inputs) -> bool {
    inputs.calls.iter().enumerate().any(|(place, recorded)| {
        let failed = &recorded.call;
        let later = || inputs.calls.iter().skip(place + 1).map(|recorded| &recorded.call);
        let command = failed.command.as_deref().unwrap_or_default();
        let program = command.split_whitespace().next().unwrap_or_default();
        let ran_again = later().any(|call| {
            let other = call.command.as_deref().unwrap_or_default();
            !program.is_empty() && other.contains(program)
        });
        let told = format!("{command} {}", failed.snippet.as_deref().unwrap_or_default());
        let edited = later().any(|call| {
            matches!(call.kind, Kind::Edit | Kind::Write)
                && call.paths.iter().any(|path| {
                    let name = path.rsplit('/').next().unwrap_or(path);
                    failed.paths.contains(path) || told.contains(name)
                })
        });
        failed.outcome == Outcome::Error && !ran_again && !edited
    })
}

fn by_substrings(policy: &Policy, inputs: &Inputs, verdict: &Verdict) -> bool {
    let looked_at = verdict.scope.is_some() && inputs.history.holds_this_turn == 0;
    let changed_more = verdict.changed.iter().any(|group| group.category != "prose");
    if !looked_at || !changed_more {
        return verdict.decision == Decision::Hold;
    }
    let asked = verdict.actions.iter().filter(|action| action.state != ActionState::Waived);
    let is_missing = asked.map(|action| &action.id).any(|id| mentioned(policy, id, inputs).is_none());
    let rules = policy.gate.rules;
    let others = verdict.observations.iter().any(|seen| match seen.rule {
        Rule::EditWithoutRead | Rule::WideBlastRadius => rules.hygiene == RuleLevel::Hold,
        Rule::PlanDrift => rules.drift == RuleLevel::Hold,
        Rule::MissingAction | Rule::UnresolvedError | Rule::WeakerVerification | Rule::NotUnderstood => false,
    });
    is_missing || others || (rules.errors == RuleLevel::Hold && left_failing(inputs))
}

#[derive(Default)]
struct Errors {
    false_holds: usize,
    missed_holds: usize,
}

impl Errors {
    fn count(&mut self, should_hold: bool, holds: bool) {
        self.false_holds += usize::from(holds && !should_hold);
        self.missed_holds += usize::from(!holds && should_hold);
    }
}

/// `cargo xtask bench matching` prints this table.
#[test]
fn corpus_by_substrings_against_the_gate() {
    println!("\n| turns | should hold | way | false holds | missed holds |");
    println!("|---|---|---|---|---|");
    for (set, name) in [("corpus", "corpus"), ("held-out", "held out")] {
        let (mut turns, mut holds) = (0, 0);
        let (mut ours, mut theirs) = (Errors::default(), Errors::default());
        for folder in folders(set) {
            let (labelled, _, inputs) = load(&folder);
            let policy = policy(&labelled.policy);
            let verdict = judge(&policy, &inputs);
            let should_hold = labelled.expect.verdict == Decision::Hold;
            turns += 1;
            holds += usize::from(should_hold);
            ours.count(should_hold, verdict.decision == Decision::Hold);
            theirs.count(should_hold, by_substrings(&policy, &inputs, &verdict));
        }
        for (way, errors) in [("substrings", &theirs), ("the gate", &ours)] {
            println!(
                "| {name}: {turns} | {holds} | {way} | {} of {}, {:.1} % | {} of {holds}, {:.1} % |",
                errors.false_holds,
                turns - holds,
                100.0 * errors.false_holds as f64 / (turns - holds) as f64,
                errors.missed_holds,
                100.0 * errors.missed_holds as f64 / holds as f64,
            );
        }
        assert!(ours.false_holds + ours.missed_holds < theirs.false_holds + theirs.missed_holds, "{name}");
    }
}
