//! The whole hook, from process start to exit with the journal written, against the one git command that it runs,
//! and switched off against an empty program. Measured in turns, in repositories and with transcripts of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use wait4::Wait4;

use super::peers;
use super::records::{MEGABYTE, Records};
use super::row::Row;
use super::{median_stop, milliseconds, percentile};
use crate::process;
use crate::release;
use crate::root;

pub(crate) fn run(rounds: usize) -> Result<Vec<Row>, String> {
    println!("building…");
    let program = release::build()?;
    let folder = root().join("target/bench");
    fs_err::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let records = Records::load()?;
    let transcripts = [("50 MB", 50 * MEGABYTE), ("1 GB", 1024 * MEGABYTE)].map(|(name, size)| {
        let path = folder.join(format!("{}.jsonl", name.replace(' ', "").to_lowercase()));
        (name, size, path)
    });
    for (_, size, path) in &transcripts {
        records.write(path, *size, 200 * 1024)?;
    }
    let small = repository(&folder, 1_000)?;
    let large = repository(&folder, 50_000)?;
    let [(_, _, fifty), (_, _, gigabyte)] = &transcripts;
    let mut bench = HookBench::new(&folder, program)?;
    println!(
        "\nThe whole hook against the one git command that it runs, alone (rounds in turns; ratios of p10):\n"
    );
    println!(
        "| repository | transcript | git p10 | stop p10 | p50 | p95 | stop ÷ git | prompt p10 | prompt ÷ git | peak |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let mut results = Vec::from(bench.row("1,000 files", &small, "50 MB", fifty, rounds, 1.6)?);
    let parts = bench.median_stop()?;
    results.extend(bench.row("1,000 files", &small, "1 GB", gigabyte, rounds, 1.6)?);
    results.extend(bench.row("50,000 files", &large, "50 MB", fifty, rounds.div_ceil(4), 1.1)?);
    println!("\nLimits: 1.6 × on 1,000 files, 1.1 × on 50,000, 20 MB; 1 GB at most 5 % slower than 50 MB.");
    println!("\nInside the process, the median stop of the first row: {parts}");
    results.push(bench.switched_off(&small, fifty, rounds)?);
    results.extend(bench.peers(&small, fifty, rounds.div_ceil(10))?);
    Ok(results)
}

/// A repository of so many small files in folders of a hundred.
pub(super) fn repository(folder: &Path, files: usize) -> Result<PathBuf, String> {
    let path = folder.join(format!("repository-{files}"));
    if path.join(".git").is_dir() {
        return Ok(path);
    }
    println!("making a repository of {files} files…");
    let failed = |error: std::io::Error| error.to_string();
    for number in 0..files {
        let file = path.join(format!("src/part{}/file{number}.rs", number / 100));
        if let Some(parent) = file.parent().filter(|parent| !parent.is_dir()) {
            fs_err::create_dir_all(parent).map_err(failed)?;
        }
        fs_err::write(file, format!("// file {number}\npub fn f{number}() {{}}\n")).map_err(failed)?;
    }
    fs_err::write(path.join("checkstone.toml"), "presets = [\"rust\"]\n").map_err(failed)?;
    for arguments in [&["init", "-q"][..], &["add", "-A"], &["commit", "-qm", "start"]] {
        let identity = ["-c", "user.name=n", "-c", "user.email=e@x", "-c", "gc.auto=0"];
        process::run(Command::new("git").args(identity).args(arguments).current_dir(&path))?;
    }
    Ok(path)
}

/// What a turn does between its prompt and its stop: ten files get new content.
pub(super) fn change(repository: &Path, round: usize) -> Result<(), String> {
    for number in 0..10 {
        let file = repository.join(format!("src/part0/file{number}.rs"));
        fs_err::write(file, format!("// changed {number} in round {round}\n"))
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

pub(super) struct HookBench {
    program: PathBuf,
    empty: PathBuf,
    state: tempfile::TempDir,
    session: usize,
}

/// What one process took.
pub(super) struct ProcessCost {
    pub(super) time: Duration,
    /// What processors did for it, which other work on the machine changes less.
    pub(super) processor: Duration,
    pub(super) peak: u64,
}

impl HookBench {
    pub(super) fn new(folder: &Path, program: PathBuf) -> Result<Self, String> {
        let source = folder.join("empty.rs");
        let empty = folder.join("empty");
        fs_err::write(&source, "fn main() {}\n").map_err(|error| error.to_string())?;
        process::run(Command::new("rustc").args(["-O", "-o"]).arg(&empty).arg(&source))?;
        let state = tempfile::tempdir_in(folder).map_err(|error| error.to_string())?;
        Ok(Self { program, empty, state, session: 0 })
    }

    fn hook(&self, payload: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["hook", "claude"]).env("CHECKSTONE_STATE_DIR", self.state.path());
        command.env("XDG_CONFIG_HOME", self.state.path());
        // A file as stdin: the payload is there at once, as with a client.
        let file = self.state.path().join("payload.json");
        if fs_err::write(&file, payload).is_ok()
            && let Ok(file) = fs_err::File::open(&file)
        {
            command.stdin(Stdio::from(file.into_parts().0));
        }
        command
    }

    /// Where its journal is.
    pub(super) fn state(&self) -> &Path {
        self.state.path()
    }

    /// A turn of a session of its own: what its prompt and its stop took.
    pub(super) fn turn(&mut self, repository: &Path, transcript: &Path) -> Result<[ProcessCost; 2], String> {
        self.session += 1;
        let payload = |event: &str| {
            format!(
                r#"{{"session_id":"bench-{}","transcript_path":{transcript:?},"cwd":{repository:?},"prompt_id":"{PROMPT_ID}","hook_event_name":"{event}","prompt":"go","stop_hook_active":false,"background_tasks":[]}}"#,
                self.session
            )
        };
        let prompt = measure(&mut self.hook(&payload("UserPromptSubmit")))?;
        change(repository, self.session)?;
        let stop = measure(&mut self.hook(&payload("Stop")))?;
        Ok([prompt, stop])
    }

    fn row(
        &mut self,
        name: &str,
        repository: &Path,
        size: &str,
        transcript: &Path,
        rounds: usize,
        limit: f64,
    ) -> Result<[Row; 2], String> {
        let (mut git, mut stop, mut prompt) = (Vec::new(), Vec::new(), Vec::new());
        let mut peak = 0;
        for _ in 0..rounds {
            git.push(
                measure(
                    bare_git().args(changes::status::STATUS_ARGUMENTS.split(' ')).current_dir(repository),
                )?
                .time,
            );
            let [opening, ending] = self.turn(repository, transcript)?;
            prompt.push(opening.time);
            stop.push(ending.time);
            peak = peak.max(opening.peak).max(ending.peak);
        }
        let p10 = |times: &[Duration]| percentile(times, 10);
        println!(
            "| {name} | {size} | {:.2} ms | {:.2} ms | {:.2} ms | {:.2} ms | {:.2} × | {:.2} ms | {:.2} × | {:.1} MB |",
            milliseconds(p10(&git)),
            milliseconds(p10(&stop)),
            milliseconds(percentile(&stop, 50)),
            milliseconds(percentile(&stop, 95)),
            p10(&stop).as_secs_f64() / p10(&git).as_secs_f64(),
            milliseconds(p10(&prompt)),
            p10(&prompt).as_secs_f64() / p10(&git).as_secs_f64(),
            peak as f64 / MEGABYTE as f64,
        );
        let what = format!("hook at a stop, {name}, {size} transcript");
        Ok([
            Row::times(what.clone(), p10(&stop), "`git status`", p10(&git), limit),
            Row::at_most(format!("{what}: memory"), peak as f64 / MEGABYTE as f64, 20.0, "MB"),
        ])
    }

    fn switched_off(&self, repository: &Path, transcript: &Path, rounds: usize) -> Result<Row, String> {
        let payload = format!(
            r#"{{"session_id":"off","transcript_path":{transcript:?},"cwd":{repository:?},"hook_event_name":"Stop"}}"#
        );
        let (mut off, mut empty) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            empty.push(measure(&mut Command::new(&self.empty))?.time);
            off.push(measure(self.hook(&payload).env("CHECKSTONE", "off"))?.time);
        }
        let (off, empty) = (percentile(&off, 10), percentile(&empty, 10));
        println!(
            "\nSwitched off: {:.2} ms, an empty program {:.2} ms: {:.2} × (limit 1.4 ×).",
            milliseconds(off),
            milliseconds(empty),
            off.as_secs_f64() / empty.as_secs_f64()
        );
        Ok(Row::times("hook, switched off".to_owned(), off, "an empty program", empty, 1.4))
    }

    /// The same stop, told to hooks that people use today. They do other things than ours; what is compared is how long
    /// the agent waits for them where there is nothing to do.
    fn peers(&self, repository: &Path, transcript: &Path, rounds: usize) -> Result<Vec<Row>, String> {
        let payload = format!(
            r#"{{"session_id":"peer","transcript_path":{transcript:?},"cwd":{repository:?},"prompt_id":"{PROMPT_ID}","hook_event_name":"Stop","stop_hook_active":false}}"#
        );
        let mut rows = Vec::new();
        for peer in peers::install(&repository.with_file_name("peers")) {
            let peer = match peer {
                Ok(peer) => peer,
                Err(why) => {
                    println!("\nNot compared: {why}");
                    continue;
                }
            };
            let (mut theirs, mut ours) = (Vec::new(), Vec::new());
            for _ in 0..rounds.max(5) {
                ours.push(measure(&mut self.hook(&payload))?.time);
                let file = fs_err::File::open(self.state.path().join("payload.json"));
                let stdin = file.map_err(|error| error.to_string())?.into_parts().0;
                let mut other = Command::new(&peer.program);
                other.args(peer.arguments).stdin(Stdio::from(stdin)).current_dir(self.state.path());
                other.env("HOME", self.state.path());
                theirs.push(measure(&mut other)?.time);
            }
            let (ours, theirs) = (percentile(&ours, 10), percentile(&theirs, 10));
            println!(
                "\nThe same stop: checkstone {:.1} ms, {} {:.1} ms.",
                milliseconds(ours),
                peer.name,
                milliseconds(theirs)
            );
            rows.push(Row::times("hook at a stop".to_owned(), ours, &peer.name, theirs, 1.0));
        }
        Ok(rows)
    }

    /// The log tells the parts of each stop; the one in the middle of all so far.
    fn median_stop(&self) -> Result<String, String> {
        let log = fs_err::read_to_string(self.state.path().join("log")).map_err(|error| error.to_string())?;
        match median_stop(&log) {
            Some((_, parts)) => Ok(parts.to_owned()),
            None => Err("the log has no stop".to_owned()),
        }
    }
}

/// Turns of several programs or states, one after the other in every round, so that whatever else the machine does falls on
/// all of them: what the prompts and the stops of each took.
pub(super) fn in_turns(
    benches: &mut [HookBench],
    repository: &Path,
    transcript: &Path,
    rounds: usize,
) -> Result<Vec<[Vec<ProcessCost>; 2]>, String> {
    let mut costs: Vec<[Vec<ProcessCost>; 2]> = benches.iter().map(|_| Default::default()).collect();
    for _ in 0..rounds {
        for (bench, of_events) in benches.iter_mut().zip(&mut costs) {
            for (cost, of_event) in bench.turn(repository, transcript)?.into_iter().zip(of_events) {
                of_event.push(cost);
            }
        }
    }
    Ok(costs)
}

/// The prompt of the samples that the transcripts are made of.
pub(super) const PROMPT_ID: &str = "744c8ebc-c8c8-4b73-ab95-9ff4e20162a1";

pub(super) fn bare_git() -> Command {
    let mut git = Command::new("git");
    git.env("GIT_OPTIONAL_LOCKS", "0").stdin(Stdio::null());
    git
}

pub(super) fn measure(command: &mut Command) -> Result<ProcessCost, String> {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let child = command.spawn().map_err(|error| error.to_string())?;
    let used = child.wait4().map_err(|error| error.to_string())?;
    if !used.status.success() {
        return Err(format!("{command:?} ended with {}", used.status));
    }
    let processor = used.rusage.utime + used.rusage.stime;
    Ok(ProcessCost { time: began.elapsed(), processor, peak: used.rusage.maxrss })
}
