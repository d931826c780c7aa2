//! Supervision: what it adds to a bare spawn, what it costs while a stage writes a lot, when it signals, and who survives
//! it, beside others. The measuring is done by `crates/run/examples/measure.rs`, in turns; here are the tables.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::pipelines;
use super::row::Row;
use super::{milliseconds, percentile};
use crate::process::{self, cargo_command};
use crate::root;

/// `ours` is run beside other tools; built as it is handed out if none is given.
pub(crate) fn run(rounds: usize, trees: usize, ours: Option<PathBuf>) -> Result<Vec<Row>, String> {
    println!("building…");
    let program = build()?;
    let mut results = spawn(&program, rounds)?;
    results.extend(rate(&program)?);
    results.extend(limits(&program)?);
    results.extend(plan(&program)?);
    results.extend(survivors(&program, trees)?);
    results.extend(pipelines::run(ours)?);
    Ok(results)
}

fn build() -> Result<PathBuf, String> {
    let folder = root().join("target/bench-run");
    let mut build = cargo_command();
    build.args(["build", "--profile", "dist", "--quiet", "--package", "run", "--example", "measure"]);
    // Optimising over the whole program would take minutes and change nothing here; a profiler wants to name what it finds.
    for setting in ["lto=false", "codegen-units=16", "strip=false"] {
        build.arg("--config").arg(format!("profile.dist.{setting}"));
    }
    process::run(build.arg("--target-dir").arg(&folder))?;
    Ok(folder.join("dist/examples/measure"))
}

/// Each name with the numbers of its lines.
type Measurements = BTreeMap<String, Vec<Vec<u64>>>;

fn measured(program: &Path, arguments: &[&str]) -> Result<Measurements, String> {
    let told = process::output(Command::new(program).args(arguments))?;
    let mut measured = Measurements::new();
    for line in told.lines() {
        let mut words = line.split(' ');
        let name = words.next().unwrap_or_default().to_owned();
        measured.entry(name).or_default().push(words.filter_map(|word| word.parse().ok()).collect());
    }
    Ok(measured)
}

fn column(lines: &[Vec<u64>], place: usize) -> Vec<u64> {
    lines.iter().filter_map(|line| line.get(place).copied()).collect()
}

fn times(lines: &[Vec<u64>]) -> Vec<Duration> {
    column(lines, 0).into_iter().map(Duration::from_nanos).collect()
}

/// What is measured beside our own ways.
const NOT_OURS: [&str; 3] = ["bare", "timeout", "our-program-again"];

fn spawn(program: &Path, rounds: usize) -> Result<Vec<Row>, String> {
    let measured = measured(program, &["spawn", &rounds.to_string()])?;
    let bare = measured.get("bare").map(|lines| times(lines)).unwrap_or_default();
    println!(
        "\n| `true`, from start to end | p10 | p50 | p95 | added to bare (p50) |\n|---|---|---|---|---|"
    );
    for (name, lines) in &measured {
        let times = times(lines);
        println!(
            "| {name} | {:.2} ms | {:.2} ms | {:.2} ms | {:+.2} ms |",
            milliseconds(percentile(&times, 10)),
            milliseconds(percentile(&times, 50)),
            milliseconds(percentile(&times, 95)),
            milliseconds(percentile(&times, 50)) - milliseconds(percentile(&bare, 50)),
        );
    }
    println!("\nLimit: 0.5 ms added.");
    let middle = |times: &[Duration]| milliseconds(percentile(times, 50));
    let added = |lines: &[Vec<u64>]| middle(&times(lines)) - middle(&bare);
    let others = || {
        let timeout = measured.get("timeout").map(|lines| format!("`timeout` {:.2} ms", added(lines)));
        timeout.into_iter()
    };
    let ours = measured.iter().filter(|(name, _)| !NOT_OURS.contains(&name.as_str()));
    let row = |(name, lines): (&String, &Vec<Vec<u64>>)| {
        let what = format!("supervision ({name}), added to a bare command");
        Row::at_most(what, added(lines), 0.5, "ms").beside(others())
    };
    Ok(ours.map(row).collect())
}

fn rate(program: &Path) -> Result<Vec<Row>, String> {
    println!("\n| while a stage writes | processor time of the supervisor | of one core |\n|---|---|---|");
    let mut shares = Vec::new();
    for (name, lines) in measured(program, &["rate", "50"])? {
        for line in lines {
            if let [used, passed, bytes] = *line {
                let share = 100.0 * used as f64 / passed as f64;
                println!(
                    "| {:.1} MB/s ({name}) | {:.1} ms in {:.2} s | {share:.2} % |",
                    bytes as f64 / 1e6 / (passed as f64 / 1e9),
                    used as f64 / 1e6,
                    passed as f64 / 1e9,
                );
                shares.push((name.clone(), share));
            }
        }
    }
    println!(
        "\nLimit: 1 %. `only-read` throws the bytes away, and is what the kernel alone takes to hand them over; \
         `only-read-and-write` writes them to a file as well, and does nothing else."
    );
    let (floors, ours): (Vec<_>, Vec<_>) =
        shares.into_iter().partition(|(name, _)| name.starts_with("only-read"));
    let beside = || floors.iter().map(|(name, share)| format!("`{name}` {share:.2} %"));
    let row = |(name, share): &(String, f64)| {
        let what = format!("a core, while a stage writes 50 MB/s ({name})");
        Row::at_most(what, *share, 1.0, "%").beside(beside())
    };
    Ok(ours.iter().map(row).collect())
}

fn plan(program: &Path) -> Result<Vec<Row>, String> {
    let mut results = Vec::new();
    for lines in measured(program, &["plan", "7"])?.values() {
        println!(
            "\nA plan of 10,000 stages of which 9,999 are complete: its last stage starts after {:.0} ms (p50 of {}; limit 1,000 ms).",
            milliseconds(percentile(&times(lines), 50)),
            lines.len()
        );
        let started = milliseconds(percentile(&times(lines), 50));
        results.push(Row::at_most(
            "the last of 10,000 stages starts after".to_owned(),
            started,
            1000.0,
            "ms",
        ));
    }
    Ok(results)
}

fn limits(program: &Path) -> Result<Vec<Row>, String> {
    let mut results = Vec::new();
    println!(
        "\n| a stuck stage | first signal after its limit (largest of 10) | all gone after the first signal | survivors |"
    );
    println!("|---|---|---|---|");
    let first = measured(program, &["limit", "10"])?;
    let gone = measured(program, &["grace"])?;
    for (name, lines) in &first {
        let latest = times(lines).into_iter().max().unwrap_or_default();
        let gone = gone.get(name).map(Vec::as_slice).unwrap_or_default();
        println!(
            "| {name} | {:.1} ms | {:.3} s | {} |",
            milliseconds(latest),
            times(gone).into_iter().max().unwrap_or_default().as_secs_f64(),
            column(gone, 1).iter().sum::<u64>()
        );
        let what = format!("a stuck stage ({name}): first signal after its limit");
        results.push(Row::at_most(what, milliseconds(latest), 100.0, "ms"));
    }
    println!("\nLimits: 100 ms, 8.2 s, 0.");
    Ok(results)
}

fn survivors(program: &Path, trees: usize) -> Result<Vec<Row>, String> {
    println!("\n| killed | runs | p50 | p99 | largest | runs with survivors | survivors a run |");
    println!("|---|---|---|---|---|---|---|");
    let five = measured(program, &["five", &trees.to_string()])?;
    let forking = measured(program, &["forking", &trees.div_ceil(50).to_string()])?;
    let rivals = measured(program, &["rivals", &trees.clamp(1, 10).to_string()])?;
    rows("five, adversarial", &five);
    rows("150, forking", &forking);
    for (name, lines) in &rivals {
        row(&format!("five, adversarial: `{name}`"), lines, "–");
    }
    println!("\nLimits: no survivor; five within 50 ms, 150 within 250 ms.");
    let survivors = |measured: &Measurements| {
        measured.values().map(|lines| column(lines, 1).iter().sum::<u64>()).sum::<u64>() as f64
    };
    Ok(vec![
        Row::at_most("survivors of five adversarial processes".to_owned(), survivors(&five), 0.0, "").beside(
            rivals.iter().map(|(name, lines)| format!("`{name}` {}", column(lines, 1).iter().sum::<u64>())),
        ),
        Row::at_most("survivors of 150 that fork".to_owned(), survivors(&forking), 0.0, ""),
    ])
}

fn rows(what: &str, measured: &Measurements) {
    for (name, lines) in measured {
        row(&format!("{what}: {name}"), lines, "");
    }
}

fn row(name: &str, lines: &[Vec<u64>], no_times: &str) {
    let times = times(lines);
    let time = |time: Duration| {
        if no_times.is_empty() { format!("{:.1} ms", milliseconds(time)) } else { no_times.to_owned() }
    };
    let left = column(lines, 1);
    println!(
        "| {name} | {} | {} | {} | {} | {} | {:.1} |",
        lines.len(),
        time(percentile(&times, 50)),
        time(percentile(&times, 99)),
        time(times.iter().max().copied().unwrap_or_default()),
        left.iter().filter(|number| **number > 0).count(),
        left.iter().sum::<u64>() as f64 / lines.len().max(1) as f64
    );
}
