//! How reading a transcript scales: with the file, in memory, and over a turn of thousands of calls. The
//! transcripts are made of records that a real client wrote.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use transcript::Agent;

use super::host_sample::HostSample;
use super::records::{MEGABYTE, Records};
use super::row::Row;
use super::{milliseconds, percentile};
use crate::process::{self, cargo_command};
use crate::{release, root};

const LAST_TURN: u64 = 200 * 1024;
const LARGE_TURN: u64 = 30 * MEGABYTE;
const HOST_TURN: u64 = 16 * MEGABYTE;
/// As long as a turn may be without any output being searched for summaries before somebody asks: how much of a turn is
/// output differs between the samples.
const UNSEARCHED_TURN: u64 = 480 * 1024;
const ROUNDS: usize = 41;
/// In which a large turn is read.
const PROCESSES: usize = 5;

/// The whole, or how fast the transcripts of these hosts are read.
pub(crate) fn run(hosts: &[Agent]) -> Result<Vec<Row>, String> {
    println!("building…");
    let mut build = cargo_command();
    build.args(["build", "--profile", "dist", "--quiet", "-p", "transcript", "--example", "measure"]);
    process::run(build.arg("--target-dir").arg(root().join("target/bench/build")))?;
    let folder = root().join("target/bench");
    fs_err::create_dir_all(&folder).map_err(|error| error.to_string())?;
    if !hosts.is_empty() {
        return each_host(&folder, hosts);
    }
    let program = release::build()?;
    let records = Records::load()?;
    let mut files = Vec::new();
    for (name, size) in [("1 MB", MEGABYTE), ("50 MB", 50 * MEGABYTE), ("1 GB", 1024 * MEGABYTE)] {
        let path = folder.join(format!("{}.jsonl", name.replace(' ', "").to_lowercase()));
        records.write(&path, size, LAST_TURN)?;
        files.push((name, path));
    }
    let large = folder.join("turn.jsonl");
    records.write(&large, LARGE_TURN, LARGE_TURN)?;
    let mut rows = scaling(&program, &files)?;
    rows.push(large_turn(&large)?);
    rows.extend(each_host(&folder, &Agent::ALL)?);
    Ok(rows)
}

/// Every round reads each file once; the figures are the tenth percentile and the median of the rounds.
fn scaling(program: &Path, files: &[(&str, PathBuf)]) -> Result<Vec<Row>, String> {
    let measure = root().join("target/bench/build/dist/examples/measure");
    let mut reading = vec![Vec::new(); files.len()];
    let mut whole = vec![Vec::new(); files.len()];
    let mut peaks = vec![0_u64; files.len()];
    for _ in 0..ROUNDS {
        for (place, (_, path)) in files.iter().enumerate() {
            let told = process::output(Command::new(&measure).arg("read").arg(path))?;
            let mut numbers = told.split_whitespace().filter_map(|word| word.parse::<u64>().ok());
            let (Some(nanoseconds), Some(peak)) = (numbers.next(), numbers.next()) else {
                return Err(format!("`measure` printed `{told}`"));
            };
            at(&mut reading, place).push(Duration::from_nanos(nanoseconds));
            if let Some(highest) = peaks.get_mut(place) {
                *highest = peak.max(*highest);
            }
            let began = Instant::now();
            process::output(Command::new(program).args(["timeline", "--json", "--transcript"]).arg(path))?;
            at(&mut whole, place).push(began.elapsed());
        }
    }
    println!(
        "\nA last turn of {} KB at the end of a transcript of growing size ({ROUNDS} rounds in turns):\n",
        LAST_TURN / 1024
    );
    println!(
        "| transcript | reading p10 | reading p50 | against 1 MB (p10) | whole `timeline --json` p10 | against 1 MB | peak memory |"
    );
    println!("|---|---|---|---|---|---|---|");
    let (first_reading, first_whole) =
        (percentile(at(&mut reading, 0), 10), percentile(at(&mut whole, 0), 10));
    for (place, (name, _)) in files.iter().enumerate() {
        let (p10, p50) = (percentile(at(&mut reading, place), 10), percentile(at(&mut reading, place), 50));
        let process = percentile(at(&mut whole, place), 10);
        println!(
            "| {name} | {:.2} ms | {:.2} ms | {:.2} × | {:.2} ms | {:.2} × | {:.1} MB |",
            milliseconds(p10),
            milliseconds(p50),
            p10.as_secs_f64() / first_reading.as_secs_f64(),
            milliseconds(process),
            process.as_secs_f64() / first_whole.as_secs_f64(),
            peaks.get(place).copied().unwrap_or_default() as f64 / 1024.0,
        );
    }
    println!(
        "\nLimits: 1 GB at most 1.5 × 1 MB; at most 24 MB each. (`timeline` counts lines in files up to 64 MB.)"
    );
    let last = percentile(at(&mut reading, files.len() - 1), 10);
    let peak = peaks.iter().max().copied().unwrap_or_default() as f64 / 1024.0;
    Ok(vec![
        Row::times("last turn of a 1 GB transcript".to_owned(), last, "of 1 MB", first_reading, 1.5),
        Row::at_most("reading it: memory".to_owned(), peak, 24.0, "MB"),
    ])
}

fn large_turn(path: &Path) -> Result<Row, String> {
    let Measured { ours, values, newlines, calls } = Measured::of(path)?;
    let size = path.metadata().map_err(|error| error.to_string())?.len() as f64;
    println!(
        "\nA turn of {:.0} MB with {calls} calls, read whole (the best of many rounds in turns):\n",
        size / MEGABYTE as f64
    );
    println!("| way | time | speed | against `Value` |");
    println!("|---|---|---|---|");
    for (name, took) in [
        ("checkstone, file to timeline", ours),
        ("`serde_json::Value` of every line, in memory", values),
        ("search for newlines, in memory (the limit)", newlines),
    ] {
        println!("| {name} | {:.1} ms | {:.2} GB/s | {:.1} × |", took / 1e6, size / took, values / took);
    }
    println!("\nLimit: at least 2 × as fast as `Value`.");
    Ok(Row::times(
        "a turn of 30 MB".to_owned(),
        nanoseconds(ours),
        "`serde_json::Value`",
        nanoseconds(values),
        0.5,
    ))
}

/// So many of the table were the first whose transcripts were read: those of the others are to be read as fast.
const FIRST_HOSTS: usize = 3;

/// The same of every host whose transcripts are read, each in records of its own samples: as they are, and with outputs so
/// long that a call takes as many bytes in all of them. Samples differ most in that, and a call costs more than a byte.
fn each_host(folder: &Path, hosts: &[Agent]) -> Result<Vec<Row>, String> {
    let (first, later) = Agent::ALL.split_at(FIRST_HOSTS);
    let is_later = |host: &&Agent| hosts.contains(host) && transcript::is_read(**host);
    let mut samples = Vec::new();
    for host in first.iter().chain(later.iter().filter(is_later)) {
        samples.push((*host, HostSample::load(*host)?));
    }
    let megabytes = HOST_TURN / MEGABYTE;
    println!("\nA turn of {megabytes} MB in the records of each host (the best of many rounds in turns):");
    measure_samples(folder, "recorded", HOST_TURN, &samples)?;
    let longest = samples.iter().map(|(_, sample)| sample.bytes_per_call()).max().unwrap_or_default();
    let kilobytes = UNSEARCHED_TURN / 1024;
    println!("\nA turn of {kilobytes} KB with longer outputs, {longest} bytes a call in each:");
    let lengthened =
        samples.into_iter().filter_map(|(host, sample)| Some((host, sample.lengthened(longest)?)));
    let took = measure_samples(folder, "lengthened", UNSEARCHED_TURN, &lengthened.collect::<Vec<_>>())?;
    println!("\nLimit: with longer outputs as fast as the slowest of the first three.");
    let (first, later): (Vec<_>, Vec<_>) = took.into_iter().partition(|(host, _)| first.contains(host));
    let slowest = first.iter().map(|(_, took)| *took).fold(0.0, f64::max);
    let row = |(host, took): &(Agent, f64)| {
        let name = format!("a turn of {kilobytes} KB of {}", host.name());
        Row::times(name, nanoseconds(*took), "slowest of the first", nanoseconds(slowest), 1.0)
    };
    Ok(later.iter().map(row).collect())
}

/// Prints a table; how long each took, in nanoseconds.
fn measure_samples(
    folder: &Path,
    kind: &str,
    size: u64,
    samples: &[(Agent, HostSample)],
) -> Result<Vec<(Agent, f64)>, String> {
    println!("\n| host | time | speed | against `Value` | calls |");
    println!("|---|---|---|---|---|");
    let mut took = Vec::new();
    for (host, sample) in samples {
        let path = folder.join(format!("turn-{kind}-{}.jsonl", host.name()));
        sample.records().write(&path, size, size)?;
        let Measured { ours, values, calls, .. } = Measured::of(&path)?;
        let size = path.metadata().map_err(|error| error.to_string())?.len() as f64;
        let (name, milliseconds) = (host.name(), ours / 1e6);
        println!(
            "| {name} | {milliseconds:.2} ms | {:.2} GB/s | {:.1} × | {calls} |",
            size / ours,
            values / ours
        );
        took.push((*host, ours));
    }
    Ok(took)
}

/// What `measure turn` prints, in nanoseconds.
struct Measured {
    ours: f64,
    values: f64,
    newlines: f64,
    calls: f64,
}

impl Measured {
    /// The best of several processes, which find their memory in different states.
    fn of(path: &Path) -> Result<Self, String> {
        let measure = root().join("target/bench/build/dist/examples/measure");
        let mut best: Option<Self> = None;
        for _ in 0..PROCESSES {
            let told = process::output(Command::new(&measure).arg("turn").arg(path))?;
            let numbers: Vec<f64> = told.split_whitespace().filter_map(|word| word.parse().ok()).collect();
            let [ours, values, newlines, calls] = *numbers.as_slice() else {
                return Err(format!("`measure` printed `{told}`"));
            };
            let before = best.unwrap_or(Self { ours, values, newlines, calls });
            best = Some(Self {
                ours: before.ours.min(ours),
                values: before.values.min(values),
                newlines: before.newlines.min(newlines),
                calls,
            });
        }
        best.ok_or_else(|| "nothing was measured".to_owned())
    }
}

fn nanoseconds(count: f64) -> Duration {
    Duration::from_nanos(count as u64)
}

fn at(lists: &mut [Vec<Duration>], place: usize) -> &mut Vec<Duration> {
    // Every list was made for its place.
    #[expect(clippy::indexing_slicing, reason = "as many lists as files")]
    &mut lists[place]
}
