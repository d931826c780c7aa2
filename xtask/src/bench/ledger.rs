//! What 50,000 contents in the ledger cost: a stop that changed ten files with an empty and with a full ledger, in turns; `verify`
//! over as many files; and the stop hook beside an earlier build.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use changes::Repository;
use clap::Args;
use jiff::Timestamp;
use journal::{FileVersion, Journal, NewProof, OpenFor, ProvenBy};

use super::hook::{HookBench, ProcessCost, in_turns, measure, repository};
use super::records::{MEGABYTE, Records};
use super::row::Row;
use super::{milliseconds, percentile, versions};
use crate::process;
use crate::release;
use crate::root;

/// Contents in a full ledger.
const CONTENTS: usize = 50_000;
/// The commits that `verify` looks at; each changes a part of the files.
const COMMITS: usize = 100;
/// The action of the preset `rust`.
const ACTION: &str = "rust-tests";
/// Of these the ledger says that nobody has proven them.
const UNPROVEN: usize = 500;

#[derive(Args)]
pub(crate) struct LedgerArguments {
    /// The program as it was, to compare the stop hook with
    #[arg(long, value_name = "FILE")]
    before: Option<PathBuf>,
    /// The program as it is, instead of the one that is built now
    #[arg(long, value_name = "FILE")]
    after: Option<PathBuf>,
    /// Turns of the hook; a tenth as many of `verify`
    #[arg(long, default_value_t = 100)]
    pub(crate) rounds: usize,
}

impl LedgerArguments {
    /// The program that is built now, alone.
    pub(crate) fn alone(rounds: usize) -> Self {
        Self { before: None, after: None, rounds }
    }
}

pub(crate) fn run(arguments: &LedgerArguments) -> Result<Vec<Row>, String> {
    let program = match &arguments.after {
        // It is started in other folders.
        Some(program) => fs_err::canonicalize(program).map_err(|error| error.to_string())?,
        None => release::build()?,
    };
    let folder = root().join("target/bench");
    fs_err::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let mut rows = stops(arguments, &program, &folder)?;
    rows.push(verify(&program, &folder, arguments.rounds.div_ceil(10))?);
    Ok(rows)
}

fn stops(arguments: &LedgerArguments, program: &Path, folder: &Path) -> Result<Vec<Row>, String> {
    let transcript = folder.join("50mb.jsonl");
    Records::load()?.write(&transcript, 50 * MEGABYTE, 200 * 1024)?;
    let repository = package(&folder.join("package"))?;
    let full = HookBench::new(folder, program.to_owned())?;
    // Other contents of files that are there: each unproven one has to be looked at.
    let known = (0..CONTENTS)
        .rev()
        .map(|number| (format!("src/part{}/file{number}.rs", number / 100), format!("{number:040x}")));
    fill(full.state(), &repository, known)?;
    let mut benches = vec![HookBench::new(folder, program.to_owned())?, full];
    if let Some(before) = &arguments.before {
        benches.push(HookBench::new(folder, before.clone())?);
    }
    let costs = in_turns(&mut benches, &repository, &transcript, arguments.rounds)?;
    let mut stops = costs.into_iter().map(|[_, stops]| stops);
    let (Some(empty), Some(full)) = (stops.next(), stops.next()) else { return Ok(Vec::new()) };
    let added = |share| {
        let at = |costs: &[ProcessCost]| {
            milliseconds(percentile(&costs.iter().map(|cost| cost.time).collect::<Vec<_>>(), share))
        };
        at(&full) - at(&empty)
    };
    println!(
        "\n50,000 contents in the ledger add {:.2} ms to a stop at p10, {:.2} ms at p50.",
        added(10),
        added(50)
    );
    let mut rows = vec![Row::at_most("a full ledger adds to a stop".to_owned(), added(10), 0.2, "ms")];
    println!("{}", versions::HEADING);
    rows.push(versions::row("stop, empty ledger before, full one after", &[copied(&empty), copied(&full)]));
    if let Some(before) = stops.next() {
        rows.push(versions::row("stop, empty ledger", &[copied(&before), empty]));
        rows.push(versions::row("stop, full ledger", &[before, full]));
    }
    Ok(rows)
}

fn copied(costs: &[ProcessCost]) -> Vec<ProcessCost> {
    costs.iter().map(|cost| ProcessCost { ..*cost }).collect()
}

/// A package of 1,000 files with tests, so that what changes is asked for.
fn package(folder: &Path) -> Result<PathBuf, String> {
    let path = repository(folder, 1_000)?;
    if !path.join("Cargo.toml").is_file() {
        let failed = |error: std::io::Error| error.to_string();
        fs_err::create_dir_all(path.join("tests")).map_err(failed)?;
        fs_err::write(path.join("tests/all.rs"), "#[test]\nfn all() {}\n").map_err(failed)?;
        fs_err::write(path.join("Cargo.toml"), MANIFEST).map_err(failed)?;
        let identity = ["-c", "user.name=n", "-c", "user.email=e@x"];
        for arguments in [&["add", "-A"][..], &["commit", "-qm", "package"]] {
            process::run(Command::new("git").args(identity).args(arguments).current_dir(&path))?;
        }
    }
    Ok(path)
}

const MANIFEST: &str = "[package]\nname = \"large\"\nversion = \"0.1.0\"\n";

/// `verify HEAD~100..` where every one of 50,000 files differs, and all of them are proven.
fn verify(program: &Path, folder: &Path, rounds: usize) -> Result<Row, String> {
    let path = history(folder)?;
    let state = tempfile::tempdir_in(folder).map_err(|error| error.to_string())?;
    let listed = process::output(Command::new("git").args(["ls-tree", "-r", "HEAD"]).current_dir(&path))?;
    let contents = listed.lines().filter_map(|line| {
        let (head, path) = line.split_once('\t')?;
        Some((path.to_owned(), head.split(' ').nth(2)?.to_owned()))
    });
    let proven = contents.chain((0..UNPROVEN).map(|number| (format!("gone{number}.rs"), "0".repeat(40))));
    fill(state.path(), &path, proven)?;
    let range = format!("HEAD~{COMMITS}..");
    let (mut ours, mut git) = (Vec::new(), Vec::new());
    for _ in 0..rounds.max(3) {
        let mut verify = Command::new(program);
        verify.args(["verify", &range]).current_dir(&path).stdin(Stdio::null());
        verify.env("CHECKSTONE_STATE_DIR", state.path()).env("XDG_CONFIG_HOME", state.path());
        ours.push(measure(&mut verify)?.time);
        let mut diff = Command::new("git");
        diff.args(["diff", "--raw", &format!("HEAD~{COMMITS}"), "HEAD"]).current_dir(&path);
        git.push(measure(&mut diff)?.time);
    }
    let [ours, git] = [ours, git].map(|times: Vec<Duration>| percentile(&times, 50));
    println!(
        "\n`verify {range}` on {CONTENTS} files: {:.0} ms; `git diff --raw` of the same {:.0} ms.",
        milliseconds(ours),
        milliseconds(git)
    );
    let name = format!("`verify {range}`, 50,000 files that differ");
    Ok(Row::at_most(name, ours.as_secs_f64(), 1.0, "s"))
}

/// A repository of so many files and commits; nothing but its policy and its manifest is checked out.
fn history(folder: &Path) -> Result<PathBuf, String> {
    let path = folder.join(format!("history-{CONTENTS}"));
    if path.join("checkstone.toml").is_file() {
        return Ok(path);
    }
    println!("making {COMMITS} commits of {CONTENTS} files…");
    let failed = |error: std::io::Error| error.to_string();
    let mut stream = String::new();
    let file = |stream: &mut String, name: &str, text: &str| {
        let _ = write!(stream, "M 100644 inline {name}\ndata {}\n{text}\n", text.len());
    };
    for commit in 0..=COMMITS {
        let _ = write!(stream, "commit refs/heads/main\ncommitter n <e@x> {commit} +0000\ndata 1\nc\n");
        let changed = match commit {
            0 => {
                file(&mut stream, "Cargo.toml", MANIFEST);
                file(&mut stream, "checkstone.toml", "presets = [\"rust\"]\n");
                file(&mut stream, "tests/all.rs", "#[test]\nfn all() {}\n");
                0..CONTENTS
            }
            _ => (commit - 1) * CONTENTS / COMMITS..commit * CONTENTS / COMMITS,
        };
        for number in changed {
            let text = format!("pub fn f{number}() -> usize {{\n    {commit}\n}}\n");
            file(&mut stream, &format!("src/part{}/file{number}.rs", number / 100), &text);
        }
    }
    process::run(Command::new("git").args(["init", "-q", "-b", "main"]).arg(&path))?;
    let mut import = Command::new("git");
    import.args(["fast-import", "--quiet"]).current_dir(&path).stdin(Stdio::piped());
    let mut child = import.spawn().map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(stream.as_bytes()).map_err(failed)?;
    }
    if !child.wait().map_err(failed)?.success() {
        return Err("`git fast-import` failed".to_owned());
    }
    let files = ["checkout", "-q", "HEAD", "--", "Cargo.toml", "tests", "checkstone.toml"];
    process::run(Command::new("git").args(files).current_dir(&path))?;
    Ok(path)
}

/// Records contents as proven, but the last ones, which nobody has proven.
fn fill(
    state: &Path,
    repository: &Path,
    contents: impl Iterator<Item = (String, String)>,
) -> Result<(), String> {
    let repository = Repository::discover(repository).map_err(|error| error.to_string())?;
    let mut journal = Journal::open(state, OpenFor::Command).map_err(|error| error.to_string())?;
    // Proven before the turn that is measured, as a ledger of this size was.
    let at = Timestamp::now() - jiff::SignedDuration::from_hours(1);
    let versions: Vec<FileVersion> = contents
        .map(|(path, content)| FileVersion { path: path.as_str().into(), content, size: 50, modified_ns: 1 })
        .collect();
    let proven = versions.len().saturating_sub(UNPROVEN);
    let written = journal.write(|writing| {
        let id = writing.see_repository(&repository.common_dir)?;
        let proof = NewProof { at, session: None, verdict: None, command: "cargo test" };
        let proof = writing.add_proof(&proof)?;
        let seen = journal::SeenSession {
            agent: "claude",
            client_id: "bench-filling",
            directory: None,
            repository: None,
            transcript: None,
        };
        let session = writing.see_session(&seen, at)?.id;
        let turn = journal::NewTurn { session, key: Some("fill"), opened_at: at, prompt: "", baseline: None };
        let turn = writing.open_turn(&turn)?.id;
        for (number, version) in versions.iter().enumerate() {
            match number < proven {
                true => writing.prove(id, version, ACTION, ProvenBy { proof, turn: None, at, weak: None })?,
                false => writing.leave_unproven(id, version, ACTION, (turn, at))?,
            }
        }
        Ok(())
    });
    written.map_err(|error| error.to_string())
}
