//! The held-out turns: labelled from the documents, and before the gate saw them. How often the two disagreed at
//! first is kept in `first-run.json`; since then they are a second set of turns to regress on.

use std::fs;
use std::path::Path;

use gate::{Decision, Rule, judge};
use serde::Deserialize;
use transcript::Agent;

use crate::corpus::{folders, load};
use crate::turns::{asked, policy, required, sentences};

/// What the first run over a batch of turns gave, before anything was mended.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FirstRun {
    batch: String,
    turns: usize,
    /// By the labels.
    holds: usize,
    false_holds: Vec<String>,
    missed_holds: Vec<String>,
    wrong_actions: Vec<String>,
    wrong_observations: Vec<String>,
}

fn first_runs() -> Vec<FirstRun> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/held-out/first-run.json");
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
fn every_held_out_turn_is_judged_as_labelled() {
    let (mut turns, mut holds, mut false_holds, mut missed_holds) = (0, 0, 0, 0);
    let (mut open, mut revised) = (0, 0);
    let mut mistakes = Vec::new();
    let mut agents = Vec::new();
    for folder in folders("held-out") {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let (labelled, agent, inputs) = load(&folder);
        let verdict = judge(&policy(&labelled.policy), &inputs);
        let expect = &labelled.expect;
        let rules: Vec<Rule> = verdict.observations.iter().map(|observation| observation.rule).collect();
        let rules: Vec<Rule> = rules.into_iter().filter(|rule| *rule != Rule::MissingAction).collect();
        turns += 1;
        agents.extend(agent);
        open += usize::from(expect.open.is_some());
        revised += usize::from(expect.revised.is_some());
        let should_hold = expect.verdict == Decision::Hold;
        holds += usize::from(should_hold);
        match (should_hold, verdict.decision == Decision::Hold) {
            (false, true) => false_holds += 1,
            (true, false) => missed_holds += 1,
            _ => {}
        }
        let agrees = verdict.decision == expect.verdict
            && asked(&inputs, &verdict) == expect.actions
            && expect.observations.as_ref().is_none_or(|expected| *expected == rules);
        if !agrees {
            mistakes.push(format!(
                "{name}: {:?} {:?} {rules:?} instead of {:?} {:?} {:?}: {}\n    {:?}\n    {:?}",
                verdict.decision,
                required(&verdict),
                expect.verdict,
                expect.actions,
                expect.observations,
                labelled.why,
                sentences(&verdict),
                verdict.reason,
            ));
        }
    }
    let first_runs = first_runs();
    for FirstRun { batch, turns, holds, false_holds, missed_holds, wrong_actions, wrong_observations } in
        &first_runs
    {
        println!(
            "held out, first run, {batch}: {turns} turns, {} false holds of {}, {} missed holds of {holds}, {} wrong actions, {} wrong observations",
            false_holds.len(),
            turns - holds,
            missed_holds.len(),
            wrong_actions.len(),
            wrong_observations.len(),
        );
    }
    println!(
        "held out, now: {turns} turns, {false_holds} false holds of {}, {missed_holds} missed holds of {holds} ({open} labels are open by the documents, {revised} were revised after the first run)",
        turns - holds,
    );
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
    assert_eq!(turns, first_runs.iter().map(|run| run.turns).sum::<usize>(), "a turn without a first run");
    // The turns were written for three clients; what another one adds is its normaliser, and the gate is the same.
    let counts = Agent::ALL.map(|agent| agents.iter().filter(|seen| **seen == agent).count());
    let enough = counts.iter().filter(|count| **count >= 30).count();
    assert!(enough >= 3 && counts.iter().all(|count| *count == 0 || *count >= 30), "{counts:?}");
}

/// Each disagreement of the first run is still among the turns, under its name.
#[test]
fn first_runs_name_turns() {
    let names: Vec<String> = folders("held-out")
        .iter()
        .map(|folder| folder.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    for run in first_runs() {
        let lists = [run.false_holds, run.missed_holds, run.wrong_actions, run.wrong_observations];
        for name in lists.into_iter().flatten() {
            assert!(names.contains(&name), "no turn is called {name}");
        }
    }
}
