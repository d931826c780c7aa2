//! All benchmarks with few rounds, and one table of what they came to: each line beside a peer or a limit that was measured
//! in the same run. A benchmark that cannot be run here is named, and the others go on.

use super::ledger::{self, LedgerArguments};
use super::row::Row;
use super::{checkpoint, clients, hook, kernel, replay, run, saves, serve, snapshot, transcript, workflow};

pub(crate) fn run_all(matching: impl Fn() -> Result<(), String>) -> Result<(), String> {
    type Bench = (&'static str, fn() -> Result<Vec<Row>, String>);
    let benches: [Bench; 12] = [
        ("hook", || hook::run(40)),
        ("ledger", || ledger::run(&LedgerArguments::alone(40))),
        ("transcript", || transcript::run(&[])),
        ("saves", || saves::run(10, 50_000, 30_000)),
        ("serve", || serve::run(None, 30)),
        ("snapshot", || snapshot::run(7, 50_000)),
        ("workflow", || workflow::run(40)),
        ("run", || run::run(50, 50, None)),
        ("checkpoint", checkpoint::run),
        ("kernel", || kernel::run(60, 0.25)),
        ("replay", || replay::run(3, 256)),
        ("clients", || clients::run(5)),
    ];
    let (mut rows, mut failed) = (Vec::new(), Vec::new());
    for (name, bench) in benches {
        println!("\n=== {name}");
        match bench() {
            Ok(found) => rows.extend(found),
            Err(why) => failed.push(format!("{name}: {why}")),
        }
    }
    println!("\n=== matching");
    if let Err(why) = matching() {
        failed.push(format!("matching: {why}"));
    }
    println!("\n| what | ours | beside | ratio | limit | |\n|---|---|---|---|---|---|");
    for row in &rows {
        println!("{row}");
    }
    for why in &failed {
        println!("\nNot measured: {why}");
    }
    let missed = rows.iter().filter(|row| row.is_missed()).count();
    println!("\n{} figures, {missed} over their limit.", rows.len());
    match failed.len() {
        0 => Ok(()),
        count => Err(format!("{count} benchmarks could not be run")),
    }
}
