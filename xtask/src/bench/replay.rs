//! A policy over a folder of transcripts: against reading the same bytes and doing nothing with them, against counting
//! their lines, and against one thread. The transcripts are made of records that a real client wrote.

use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::hook::measure;
use super::records::{MEGABYTE, Records};
use super::row::Row;
use crate::process;
use crate::release;
use crate::root;

/// As large as a long session's transcript.
const FILE: u64 = 16 * MEGABYTE;

pub(crate) fn run(rounds: usize, megabytes: u64) -> Result<Vec<Row>, String> {
    println!("building…");
    let program = release::build()?;
    let folder = root().join("target/bench/replay");
    let files = make(&folder, megabytes * MEGABYTE)?;
    let policy = root().join("target/bench/replay.toml");
    fs_err::write(&policy, "presets = [\"python\"]\n").map_err(|error| error.to_string())?;
    let replay = |threads: Option<&str>| {
        let mut command = Command::new(&program);
        command.arg("replay").arg(&folder).arg("--policy").arg(&policy).arg("--json");
        command.args(threads.into_iter().flat_map(|threads| ["--threads", threads]));
        command.env_clear();
        command
    };
    let over_all = |name: &str, argument: Option<&str>| {
        let mut command = Command::new(name);
        command.args(argument).args(&files);
        command
    };
    let mut ways = [
        ("`checkstone replay`, all cores", replay(None)),
        ("`checkstone replay --threads 1`", replay(Some("1"))),
        ("`wc -l`", over_all("wc", Some("-l"))),
        ("`cat > /dev/null`: reading alone", over_all("cat", None)),
    ];
    let mut best = [Duration::MAX; 4];
    for _ in 0..rounds {
        for (way, best) in ways.iter_mut().zip(&mut best) {
            *best = measure(&mut way.1)?.time.min(*best);
        }
    }
    let told: serde_json::Value =
        serde_json::from_str(&process::output(&mut replay(None))?).map_err(|error| error.to_string())?;
    let bytes: u64 = files.iter().filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum();
    println!(
        "\n{} turns in {} transcripts, {:.0} MB (best of {rounds} rounds in turns, {} cores):\n",
        told.pointer("/turns/total").unwrap_or(&serde_json::Value::Null),
        files.len(),
        bytes as f64 / 1e6,
        std::thread::available_parallelism().map_or(1, usize::from),
    );
    println!("| way | time | speed | against reading alone |");
    println!("|---|---|---|---|");
    let reading = best.last().copied().unwrap_or_default().as_secs_f64();
    for (way, time) in ways.iter().zip(&best) {
        let seconds = time.as_secs_f64();
        println!(
            "| {} | {seconds:.2} s | {:.0} MB/s | {:.1} × |",
            way.0,
            bytes as f64 / 1e6 / seconds,
            seconds / reading,
        );
    }
    let [all, one, _, read] = best;
    println!("\nAll cores are {:.2} × as fast as one thread.", one.as_secs_f64() / all.as_secs_f64());
    Ok(vec![Row::told(format!("replay of {megabytes} MB"), all, "`cat`", read)])
}

/// Transcripts of so many bytes in all; every turn has ids of its own, and every session its name.
fn make(folder: &Path, bytes: u64) -> Result<Vec<PathBuf>, String> {
    fs_err::create_dir_all(folder).map_err(|error| error.to_string())?;
    let records = Records::load()?;
    let mut files = Vec::new();
    for number in 0..bytes.div_ceil(FILE) {
        let path = folder.join(format!("{number:08}-0000-4000-8000-000000000000.jsonl"));
        if path.metadata().map_or(0, |file| file.len()) < FILE {
            write(&path, &records, number).map_err(|error| error.to_string())?;
        }
        files.push(path);
    }
    Ok(files)
}

fn write(path: &Path, records: &Records, number: u64) -> std::io::Result<()> {
    let mut writer = BufWriter::with_capacity(1 << 20, fs_err::File::create(path)?);
    let mut written = 0;
    let mut turn = 0_u32;
    while written < FILE {
        turn += 1;
        let name = format!("{number:04x}-{turn:08x}");
        for line in std::iter::once(records.prompt.clone()).chain(records.turn(&name)) {
            let line = of_prompt(line, &name);
            writer.write_all(line.as_bytes())?;
            writer.write_all(b"\n")?;
            written += line.len() as u64 + 1;
        }
    }
    writer.flush()
}

/// With the id of a prompt that no other turn has.
fn of_prompt(line: String, name: &str) -> String {
    const PROMPT_ID: &str = r#""promptId":""#;
    match line.split_once(PROMPT_ID) {
        Some((before, rest)) => {
            let after = rest.split_once('"').map(|(_, after)| after).unwrap_or_default();
            format!("{before}{PROMPT_ID}{name}\"{after}")
        }
        None => line,
    }
}
