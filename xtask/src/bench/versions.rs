//! Two builds of the program in turns, so that whatever else the machine does falls on both: the hook at a prompt and at a
//! stop, and a replay over a folder of transcripts.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::Args;

use super::hook::{HookBench, ProcessCost, in_turns, measure, repository};
use super::records::{MEGABYTE, Records};
use super::row::Row;
use super::{milliseconds, percentile};
use crate::release;
use crate::root;

#[derive(Args)]
pub(crate) struct VersionsArguments {
    /// The program as it was
    #[arg(long, value_name = "FILE")]
    before: PathBuf,
    /// The program as it is, instead of the one that is built now
    #[arg(long, value_name = "FILE")]
    after: Option<PathBuf>,
    /// Transcripts to replay; without it only the hook is measured
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// Turns of the hook; a tenth as many replays
    #[arg(long, default_value_t = 100)]
    rounds: usize,
}

/// What the policies of the replays build on.
const PRESETS: [(&str, &str); 2] = [
    ("presets as before", "presets = [\"docs\", \"go\", \"make\", \"node\", \"python\", \"rust\"]\n"),
    ("teleclaude", "presets = [\"teleclaude\"]\n"),
];

/// Of the lines of [`row`].
pub(super) const HEADING: &str = "\n| what | before p10 | after p10 | after ÷ before | p50 | processor time p50 |\n|---|---|---|---|---|---|";

pub(crate) fn run(arguments: &VersionsArguments) -> Result<Vec<Row>, String> {
    let after = match &arguments.after {
        Some(program) => program.clone(),
        None => release::build()?,
    };
    let programs = [arguments.before.clone(), after];
    let folder = root().join("target/bench");
    fs_err::create_dir_all(&folder).map_err(|error| error.to_string())?;
    println!("{HEADING}");
    let mut rows = hooks(&programs, &folder, arguments.rounds)?;
    for (name, policy) in PRESETS {
        let Some(corpus) = &arguments.corpus else { break };
        let file = folder.join("versions.toml");
        fs_err::write(&file, policy).map_err(|error| error.to_string())?;
        rows.push(replays(&programs, corpus, &file, name, arguments.rounds.div_ceil(10))?);
    }
    Ok(rows)
}

fn hooks(programs: &[PathBuf; 2], folder: &Path, rounds: usize) -> Result<Vec<Row>, String> {
    let transcript = folder.join("50mb.jsonl");
    Records::load()?.write(&transcript, 50 * MEGABYTE, 200 * 1024)?;
    let repository = repository(folder, 1_000)?;
    let benches: Result<Vec<HookBench>, String> =
        programs.iter().map(|program| HookBench::new(folder, program.clone())).collect();
    let mut costs = in_turns(&mut benches?, &repository, &transcript, rounds)?.into_iter();
    let (Some(before), Some(after)) = (costs.next(), costs.next()) else { return Ok(Vec::new()) };
    let of_events = before.into_iter().zip(after);
    Ok(["hook at a prompt", "hook at a stop"]
        .iter()
        .zip(of_events)
        .map(|(what, (before, after))| row(what, &[before, after]))
        .collect())
}

fn replays(
    programs: &[PathBuf; 2],
    corpus: &Path,
    policy: &Path,
    name: &str,
    rounds: usize,
) -> Result<Row, String> {
    let mut of_programs = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        for (program, costs) in programs.iter().zip(&mut of_programs) {
            let mut replay = Command::new(program);
            replay.arg("replay").arg(corpus).arg("--policy").arg(policy).arg("--json").env_clear();
            costs.push(measure(&mut replay)?);
        }
    }
    let row = row(&format!("replay, {name}"), &of_programs);
    let peak = |costs: &Vec<ProcessCost>| costs.iter().map(|cost| cost.peak).max().unwrap_or_default();
    let [before, after] = of_programs.each_ref().map(|costs| peak(costs) as f64 / MEGABYTE as f64);
    println!("| … its peak | {before:.0} MB | {after:.0} MB | | | |");
    Ok(row)
}

pub(super) fn row(what: &str, costs: &[Vec<ProcessCost>; 2]) -> Row {
    let all = |one: fn(&ProcessCost) -> Duration| {
        costs.each_ref().map(|costs| costs.iter().map(one).collect::<Vec<_>>())
    };
    let (times, processors) = (all(|cost| cost.time), all(|cost| cost.processor));
    let at = |durations: &[Vec<Duration>; 2], share| durations.each_ref().map(|all| percentile(all, share));
    let ratio = |[before, after]: [Duration; 2]| after.as_secs_f64() / before.as_secs_f64();
    let [before, after] = at(&times, 10);
    println!(
        "| {what} | {:.2} ms | {:.2} ms | {:.3} × | {:.3} × | {:.3} × |",
        milliseconds(before),
        milliseconds(after),
        ratio([before, after]),
        ratio(at(&times, 50)),
        ratio(at(&processors, 50)),
    );
    Row::times(what.to_owned(), after, "the build before", before, 1.03)
}
