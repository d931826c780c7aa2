//! Faults planted in what decides whether a stage is run again: each must make some random sequence end with something else than
//! an uninterrupted run makes. What does not find a fault that is there says nothing when it finds none.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use run::planted_fault::{self, Oversight};

use super::super::kills::Random;
use super::sketch::Sketch;
use super::{Difference, Story, number, play};

/// Parts of a fingerprint that can be left out without harm, and why.
const HARMLESS: [(&str, &str); 3] = [
    ("version", "it is the same in all that one version writes"),
    ("stage", "what was made is looked for by the stage"),
    ("kind", "only cells have an interpreter, a seed and variables"),
];

/// Whether only cells can show it. The other faults are looked for in sequences without cells, which take a tenth of the time.
fn is_of_cells(fault: &str) -> bool {
    let oversights = [
        Oversight::Attempt,
        Oversight::FailedAttempt,
        Oversight::CheckpointOfSession,
        Oversight::SessionOfEarlierRun,
    ];
    ["interpreter", "seed", "variables", "session"].contains(&fault)
        || oversights.iter().any(|oversight| oversight.name() == fault)
}

/// Without a count one fault that is found soon shows that faults are found at all.
#[test]
fn a_planted_fault_is_found() {
    let most = number("CHECKSTONE_SOAK_PLANTED", 0);
    let only = std::env::var("CHECKSTONE_SOAK_FAULT").ok();
    let mut faults = planted_fault::all();
    for (harmless, _) in HARMLESS {
        assert!(faults.iter().any(|fault| fault == harmless), "{harmless} is no part any more");
    }
    match (only, most) {
        (Some(only), _) => faults.retain(|fault| *fault == only),
        (None, 0) => faults.retain(|fault| fault == "command"),
        (None, _) => faults.retain(|fault| HARMLESS.iter().all(|(harmless, _)| harmless != fault)),
    }
    assert!(!faults.is_empty(), "no fault is called so");
    let first = number("CHECKSTONE_RUN_SEED", 0);
    let most = if most == 0 { 50 } else { most };
    let (next, trials) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(fault) = faults.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let trial = FaultTrial::of(fault, first, most);
                    println!("{}", trial.told());
                    trials.lock().unwrap().push(trial);
                }
            });
        }
    });
    let mut trials = trials.into_inner().unwrap();
    trials.sort_by_key(|trial| faults.iter().position(|fault| *fault == trial.fault));
    println!("| left out, or overlooked | found by sequence | sequences cut short |\n|---|---|---|");
    trials.iter().for_each(|trial| println!("{}", trial.told()));
    HARMLESS.iter().for_each(|(part, why)| println!("| {part} | cannot matter: {why} | |"));
    let missed: Vec<&str> =
        trials.iter().filter(|trial| trial.found.is_none()).map(|trial| trial.fault.as_str()).collect();
    assert_eq!(missed, Vec::<&str>::new(), "not found in {most} sequences");
}

struct FaultTrial {
    fault: String,
    /// How many sequences it took.
    found: Option<u64>,
    /// Sequences that passed a limit of time, which says nothing.
    cut_short: u64,
}

impl FaultTrial {
    fn of(fault: &str, first: u64, most: u64) -> Self {
        let mut trial = Self { fault: fault.to_owned(), found: None, cut_short: 0 };
        let can_show = |seed: &u64| {
            Sketch::new(&mut Random::of_seed(*seed), None).may_have_cells() == is_of_cells(fault)
        };
        for (count, seed) in (1..=most).zip((first..).filter(can_show)) {
            let (story, difference) = match played(seed, Some(fault)) {
                PlayedSequence::Same => continue,
                PlayedSequence::CutShort => {
                    trial.cut_short += 1;
                    continue;
                }
                PlayedSequence::Differs(story, difference) => (story, difference),
            };
            // It is the fault that shows, and nothing else.
            match played(seed, None) {
                PlayedSequence::Same => {}
                PlayedSequence::CutShort => {
                    trial.cut_short += 1;
                    continue;
                }
                PlayedSequence::Differs(story, difference) => {
                    story.tell(true);
                    panic!("seed {seed}, without a planted fault: {difference}");
                }
            }
            println!("{fault}, seed {seed}: {}\n{difference}", story.steps.join("; "));
            trial.found = Some(count);
            break;
        }
        trial
    }

    fn told(&self) -> String {
        let found = self.found.map_or("not found".to_owned(), |count| count.to_string());
        format!("| {} | {found} | {} |", self.fault, self.cut_short)
    }
}

enum PlayedSequence {
    Same,
    CutShort,
    Differs(Story, Difference),
}

fn played(seed: u64, fault: Option<&str>) -> PlayedSequence {
    /// What a run says that waited for too long.
    const IN_VAIN: &str = "did not answer";
    let mut story = Story::new(seed);
    match catch_unwind(AssertUnwindSafe(|| play(&mut story, fault))) {
        Ok(Ok(())) => PlayedSequence::Same,
        Ok(Err(difference)) if difference.contains(IN_VAIN) => PlayedSequence::CutShort,
        Ok(Err(difference)) => PlayedSequence::Differs(story, difference),
        Err(_) => PlayedSequence::CutShort,
    }
}
