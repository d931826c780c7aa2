//! The corpus: turns as the clients write them down, each with what a sensible reviewer would want the gate to say,
//! and why. A false hold costs trust, a missed hold lets unverified work through; both must be zero.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use gate::{Changes, Decision, History, Inputs, PlanFile, Rule, Stop, judge};
use programs::repository::{Repository, RepositoryFile};
use serde::Deserialize;
use transcript::{Agent, FileEdit};

use crate::turns::{asked, policy, required, sentences};

/// `turn.json`: all but the transcript, which stands beside it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Labelled {
    /// One line of argument for the label.
    pub(crate) why: String,
    pub(crate) policy: String,
    cwd: String,
    changes: Changes,
    stop: Stop,
    #[serde(default)]
    history: History,
    plan: Option<PlanFile>,
    /// What files hold at the stop, where that matters.
    #[serde(default)]
    holds: BTreeMap<String, String>,
    /// The files that say what the repository's own words mean, by their paths, with their texts.
    repository: Option<BTreeMap<String, String>>,
    pub(crate) expect: Expected,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expected {
    pub(crate) verdict: Decision,
    /// The actions that are required, in order.
    pub(crate) actions: Vec<String>,
    /// The rules that have something to say, but for missing actions. Where it is not labelled: whatever they say.
    pub(crate) observations: Option<Vec<Rule>>,
    /// What the required actions say, where the words matter.
    says: Option<Vec<String>>,
    /// Why the documents leave the answer open, where they do.
    pub(crate) open: Option<String>,
    /// Why the label, or the turn, is another than at first, where it is.
    pub(crate) revised: Option<String>,
}

/// The folders of one set of turns, sorted.
pub(crate) fn folders(set: &str) -> Vec<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(set);
    let mut folders: Vec<PathBuf> = fs::read_dir(corpus)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}

pub(crate) fn load(folder: &Path) -> (Labelled, Option<Agent>, Inputs) {
    let text = fs::read_to_string(folder.join("turn.json")).unwrap();
    let labelled: Labelled =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let lines = folder.join("transcript.jsonl");
    let transcript = if lines.is_file() { lines } else { folder.join("transcript.json") };
    let reading = transcript::read(&transcript, &gate::reading_options(None));
    let agent = reading.agent;
    let mut inputs = Inputs::of_reading(reading, labelled.changes.clone(), labelled.cwd.clone());
    inputs.stop = labelled.stop.clone();
    inputs.history = labelled.history.clone();
    inputs.plan = labelled.plan.clone();
    let present = |(path, text): (&String, &String)| Some((path.clone(), FileEdit::hash_of_whole(text)?));
    inputs.present = labelled.holds.iter().filter_map(present).collect();
    inputs.repository = labelled.repository.as_ref().map(|files| {
        let file = |(path, text): (&String, &String)| RepositoryFile {
            path: path.clone(),
            text: Some(text.clone()),
        };
        Repository::of_files(labelled.cwd.clone(), &files.iter().map(file).collect::<Vec<_>>())
    });
    (labelled, agent, inputs)
}

#[test]
fn every_turn_is_judged_as_a_reviewer_would() {
    let (mut turns, mut silent, mut false_holds, mut missed_holds) = (0, 0, 0, 0);
    let mut mistakes = Vec::new();
    let mut agents = Vec::new();
    for folder in folders("corpus") {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let (labelled, agent, inputs) = load(&folder);
        let verdict = judge(&policy(&labelled.policy), &inputs);
        turns += 1;
        agents.extend(agent);
        let should_hold = labelled.expect.verdict == Decision::Hold;
        silent += u32::from(!should_hold);
        match (should_hold, verdict.decision == Decision::Hold) {
            (false, true) => false_holds += 1,
            (true, false) => missed_holds += 1,
            _ => {}
        }
        assert!(!labelled.why.is_empty(), "{name} is not argued");
        let says: Vec<&String> = verdict.actions.iter().map(|action| &action.say).collect();
        if verdict.decision != labelled.expect.verdict
            || asked(&inputs, &verdict) != labelled.expect.actions
            || labelled.expect.says.as_ref().is_some_and(|expected| expected.iter().ne(says))
        {
            mistakes.push(format!(
                "{name}: {:?} {:?} instead of {:?} {:?}: {}\n    {:?}\n    {:?} {:?}",
                verdict.decision,
                required(&verdict),
                labelled.expect.verdict,
                labelled.expect.actions,
                labelled.why,
                sentences(&verdict),
                verdict.reason,
                verdict.coverage,
            ));
        }
    }
    println!("corpus: {turns} turns, {false_holds} false holds, {missed_holds} missed holds");
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
    assert!(turns >= 60, "{turns} turns");
    assert!(2 * silent >= turns, "{silent} of {turns} turns are silent");
    for agent in Agent::ALL.into_iter().filter(|agent| transcript::is_read(*agent)) {
        let own = agents.iter().filter(|seen| **seen == agent).count();
        assert!(own >= 10, "{own} turns of {}", agent.name());
    }
}

/// Nothing but what is recorded goes into a verdict.
#[test]
fn every_turn_is_replayed_bit_for_bit() {
    for folder in folders("corpus").into_iter().chain(folders("held-out")) {
        let (labelled, _, inputs) = load(&folder);
        let policy = policy(&labelled.policy);
        let recorded: Inputs = serde_json::from_str(&serde_json::to_string(&inputs).unwrap()).unwrap();
        let verdict = serde_json::to_string(&judge(&policy, &inputs)).unwrap();
        assert_eq!(
            serde_json::to_string(&judge(&policy, &recorded)).unwrap(),
            verdict,
            "{}",
            folder.display()
        );
    }
}
