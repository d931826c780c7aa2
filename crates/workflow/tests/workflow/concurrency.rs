//! Several writers at once. Every save is in the history in the order in which it happened, so the serial order that a
//! result must equal can be read there and played again.

use std::sync::Barrier;

use proptest::prelude::*;
use serde_json::{Map, Value};
use workflow::{PhaseUpdate, Status, Workflow};

use crate::repository::{Folder, minute, name};

/// One update of one writer, with a mark that tells it from all others.
#[derive(Clone, Debug)]
struct Step {
    phase: &'static str,
    status: Option<Status>,
    file: bool,
    complete: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let status = prop::option::of(prop::sample::select(Status::ALL.to_vec()));
    let phase = prop::sample::select(vec!["implementation", "validation", "extra"]);
    (phase, status, any::<bool>(), prop::bool::weighted(0.1))
        .prop_map(|(phase, status, file, complete)| Step { phase, status, file, complete })
}

/// The mark stands in the document, so that the history tells who saved.
fn update(step: &Step, mark: &str) -> PhaseUpdate {
    let mut other = Map::new();
    other.insert("mark".to_owned(), Value::from(mark));
    PhaseUpdate {
        status: step.status,
        files_created: step.file.then(|| format!("{mark}.rs")).into_iter().collect(),
        other,
        ..PhaseUpdate::default()
    }
}

/// What the marks of a document say about who saved it last is only in the phase that was updated, so the phases'
/// marks before and after are compared.
fn mark_of(before: Option<&Map<String, Value>>, after: &Map<String, Value>) -> Option<String> {
    let marks = |document: &Map<String, Value>| -> Vec<(String, String)> {
        let phases = document["phases"].as_object().unwrap();
        phases
            .iter()
            .map(|(phase, value)| (phase.clone(), value["mark"].as_str().unwrap().to_owned()))
            .collect()
    };
    let old = before.map(marks).unwrap_or_default();
    marks(after).into_iter().find(|mark| !old.contains(mark)).map(|(_, mark)| mark)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// P4: any interleaving ends in a state that some serial order gives, and that order keeps each writer's own.
    #[test]
    fn p4_concurrent_updates_are_some_serial_order(
        writers in prop::collection::vec(prop::collection::vec(step(), 1..6), 2..5)
    ) {
        let folder = Folder::without_git();
        let name = name("implement", None);
        let barrier = Barrier::new(writers.len());
        std::thread::scope(|scope| {
            for (writer, steps) in writers.iter().enumerate() {
                let (state, name, barrier) = (folder.state(), &name, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    for (number, step) in steps.iter().enumerate() {
                        let mark = format!("w{writer}-{number}");
                        state.update_phase(name, step.phase, &update(step, &mark), minute(0)).unwrap();
                        if step.complete {
                            state.complete(name, minute(0)).unwrap();
                        }
                    }
                });
            }
        });
        let state = folder.state();
        let saves = state.history(&name).unwrap();
        let expected: usize = writers.iter().flatten().map(|step| 1 + usize::from(step.complete)).sum();
        // Two completions in a row leave equal documents behind, which the history still has both of.
        prop_assert_eq!(saves.len(), expected, "no update was lost");
        // Played again in that order, every save is what was saved.
        let mut seen: Vec<usize> = vec![0; writers.len()];
        let mut current: Option<Workflow> = None;
        for save in &saves {
            let before = current.as_ref().map(|workflow| workflow.document());
            let next = match mark_of(before, &save.workflow) {
                None => current.clone().unwrap().completed(minute(0)).unwrap(),
                Some(mark) => {
                    let (writer, number) = mark[1..].split_once('-').unwrap();
                    let (writer, number): (usize, usize) = (writer.parse().unwrap(), number.parse().unwrap());
                    prop_assert_eq!(seen[writer], number, "each writer's own order is kept");
                    seen[writer] += 1;
                    let step = &writers[writer][number];
                    let phases = ["implementation", "validation"].map(str::to_owned);
                    let base = current.clone().unwrap_or_else(|| Workflow::new(&name, &phases, minute(0)));
                    base.with_phase(step.phase, &update(step, &mark), minute(0)).unwrap()
                }
            };
            prop_assert_eq!(next.document(), &save.workflow);
            current = Some(next);
        }
        let last = state.load(&name).unwrap().workflow.unwrap();
        prop_assert_eq!(current.unwrap(), last);
    }
}

/// Readers need no lock: what they see is always a whole file.
#[test]
fn readers_never_see_half_a_file() {
    let folder = Folder::without_git();
    let name = name("implement", None);
    let state = folder.state();
    state.update_phase(&name, "implementation", &PhaseUpdate::default(), minute(0)).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..60 {
                let summary = Some("word ".repeat(number * 8));
                let update = PhaseUpdate { context_summary: summary, ..PhaseUpdate::default() };
                state.update_phase(&name, "implementation", &update, minute(0)).unwrap();
            }
            done.store(true, std::sync::atomic::Ordering::Release);
        });
        let mut reads = 0;
        while !done.load(std::sync::atomic::Ordering::Acquire) || reads == 0 {
            let loaded = folder.state().load(&name).unwrap();
            assert!(loaded.workflow.is_some() && loaded.warnings.is_empty());
            reads += 1;
        }
    });
}
