//! A stop at which a save is due against the same stop without one, in turns: what the agent waits for. The save itself goes on in
//! the background, and is over before the next round begins.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::hook::{HookBench, PROMPT_ID, repository};
use super::row::Row;
use super::{milliseconds, percentile};
use crate::process;
use crate::release;
use crate::root;

/// At p95.
const LIMIT_MS: f64 = 100.0;

/// A save of so many files takes no longer, or something is wrong.
const LONGEST_SAVE: Duration = Duration::from_secs(300);

pub(crate) fn run(rounds: usize, files: usize, new: usize) -> Result<Vec<Row>, String> {
    println!("building…");
    let program = release::build()?;
    let folder = root().join("target/bench");
    fs_err::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let path = repository(&folder, files.saturating_sub(new))?;
    add_files(&path, new)?;
    for (key, value) in [("user.name", "n"), ("user.email", "e@x")] {
        process::output(Command::new("git").args(["config", key, value]).current_dir(&path))?;
    }
    let mut bench = HookBench::new(&folder, program)?;
    let settings = bench.state().join("checkstone/config.toml");
    let failed = |error: std::io::Error| error.to_string();
    fs_err::create_dir_all(bench.state().join("checkstone")).map_err(failed)?;
    fs_err::write(settings, "[autosave]\nmode = \"autonomous\"\npush = \"never\"\n").map_err(failed)?;
    let transcripts = [("below", 20_000), ("above", 120_000)].map(|(name, tokens)| {
        let path = folder.join(format!("saves-{name}.jsonl"));
        (path, tokens)
    });
    for (path, tokens) in &transcripts {
        fs_err::write(path, transcript(*tokens)).map_err(failed)?;
    }
    let [(below, _), (above, _)] = &transcripts;
    let (mut without, mut with, mut saves) = (Vec::new(), Vec::new(), Vec::new());
    // The first of each warms the machine's memory of the tree.
    for round in 0..=rounds {
        let [_, calm] = bench.turn(&path, below)?;
        let [_, due] = bench.turn(&path, above)?;
        let began = Instant::now();
        wait_for_save(bench.state())?;
        if round > 0 {
            without.push(calm.time);
            with.push(due.time);
            saves.push(began.elapsed());
        }
    }
    println!(
        "\n| files | new | stop p50 | p95 | with a save due p50 | p95 | longer at p95 | the save goes on for (p50) |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let longer = milliseconds(percentile(&with, 95)) - milliseconds(percentile(&without, 95));
    println!(
        "| {files} | {new} | {:.0} ms | {:.0} ms | {:.0} ms | {:.0} ms | {longer:.0} ms | {:.1} s |",
        milliseconds(percentile(&without, 50)),
        milliseconds(percentile(&without, 95)),
        milliseconds(percentile(&with, 50)),
        milliseconds(percentile(&with, 95)),
        percentile(&saves, 50).as_secs_f64(),
    );
    println!("\nLimit: {LIMIT_MS} ms, in {rounds} rounds, each of one and then the other.");
    let name = format!("a stop with a save due, {files} files, {new} of them new: longer at p95");
    Ok(vec![Row::at_most(name, longer.max(0.0), LIMIT_MS, "ms")])
}

/// Files that nobody has added.
fn add_files(path: &Path, new: usize) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    for number in 0..new {
        let file: PathBuf = path.join(format!("new/part{}/file{number}.rs", number / 100));
        if let Some(parent) = file.parent().filter(|parent| !parent.is_dir()) {
            fs_err::create_dir_all(parent).map_err(failed)?;
        }
        if !file.exists() {
            fs_err::write(file, format!("// new file {number}\npub fn n{number}() {{}}\n"))
                .map_err(failed)?;
        }
    }
    Ok(())
}

/// A turn that leaves so many of 200,000 tokens in context.
fn transcript(tokens: u64) -> String {
    let common =
        r#""isSidechain":false,"timestamp":"2026-01-01T10:00:00Z","sessionId":"s","version":"2.1.0""#;
    let prompt = format!(
        r#"{{"uuid":"u",{common},"type":"user","promptId":"{PROMPT_ID}","promptSource":"typed","message":{{"role":"user","content":"go"}}}}"#
    );
    let answer = format!(
        r#"{{"uuid":"a",{common},"type":"assistant","message":{{"id":"m","role":"assistant","type":"message","model":"claude-opus-4-1","content":[{{"type":"tool_use","id":"t","name":"mcp__editor__save","input":{{}}}},{{"type":"text","text":"Done."}}],"usage":{{"input_tokens":{tokens}}}}}}}"#
    );
    format!("{prompt}\n{answer}\n")
}

/// Until no process saves here any more.
fn wait_for_save(state: &Path) -> Result<(), String> {
    let began = Instant::now();
    let state = state.as_os_str().as_encoded_bytes();
    let is_saver = |process: &Path| {
        let has = |file: &str, word: &[u8]| {
            let bytes = fs_err::read(process.join(file)).unwrap_or_default();
            bytes.windows(word.len()).any(|window| window == word)
        };
        has("cmdline", b"stop-save") && has("environ", state)
    };
    loop {
        let processes = fs_err::read_dir("/proc").map_err(|error| error.to_string())?;
        if !processes.flatten().any(|process| is_saver(&process.path())) {
            return Ok(());
        }
        if began.elapsed() > LONGEST_SAVE {
            return Err(format!("a save took longer than {} s", LONGEST_SAVE.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
