//! What the person feels: how much later a turn is over in each real client when checkstone is registered.
//!
//! A turn's end is measured from the model's last byte to the line in which the client itself says that the turn is
//! over (`result` in Claude Code and Gemini CLI, `turn.completed` in Codex CLI). The client's own work in between,
//! its starting of the hook and its waiting for it, is in it; the client's start and shutdown are not, nor are the
//! hooks at the prompt and at the session's end, at which nobody waits for an answer that is already there.
//!
//! Each turn looks, edits a file of a repository with 1,000, runs the tests and says so, which is the usual case: all
//! is clear. It is a session of its own, so that turns do not grow. The last answer comes after half a second, as a
//! model's would; with instant answers the client would still be busy with the work before. Turns without hooks, with
//! hooks that do nothing and with ours are taken in turns, in homes of their own, and the medians are compared: what an
//! empty hook adds is the client's own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use scripted_model::{Client, Installed, Scenario, Server, Settings, form};
use transcript::Agent;

use super::row::Row;
use super::{median_stop, milliseconds, percentile};
use crate::clients::{self, Generation};
use crate::process;
use crate::release;

/// No turn takes a tenth of this.
const LIMIT: Duration = Duration::from_secs(60);

const FILES: usize = 1_000;

const SCENARIO: &str = r#"{"steps": [
  {"text": "I look first.", "calls": [{"read": "src/part0/file0.rs"}]},
  {"calls": [{"edit": {"path": "src/part0/file0.rs", "old": "// file 0", "new": "// the first file"}}]},
  {"calls": [{"run": "./cargo test"}]},
  {"text": "Changed and tested.", "delay_ms": 500}
]}"#;

/// The policy asks for `cargo test`; this one stands in the repository, and takes no time.
const TESTS: &str = "#!/bin/sh\necho 'test result: ok. 1 passed; 0 failed'\n";

/// A program that ends at once, whatever it is told.
const EMPTY: &str = "/bin/true";

pub(crate) fn run(turns: usize) -> Result<Vec<Row>, String> {
    let machine = clients::machine().ok_or("the clients have no packages for this machine")?;
    let generation = Generation::Current;
    let programs = clients::install(generation, &Agent::ALL, machine)?;
    println!("building…");
    let checkstone = release::build()?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let repository = repository(folder.path())?;
    println!(
        "\nFrom the model's last byte to the end of the turn, medians of {turns} turns each, taken in turns:\n"
    );
    println!("| client | without | empty hook | with | added | limit | inside our process |");
    println!("|---|---|---|---|---|---|---|");
    let (mut parts, mut rows) = (Vec::new(), Vec::new());
    for host in programs.hosts() {
        let (client, limit) = (Client::of(host), form(host).added_milliseconds);
        let (name, version) = (agents::host(host).title, generation.version(host));
        let program = programs.of(host)?;
        let homes = folder.path().join(host.name());
        let bench = ClientsBench { client, program, homes: &homes, repository: &repository };
        let measured = bench.measure(&checkstone, turns)?;
        let added = milliseconds(measured.with) - milliseconds(measured.without);
        println!(
            "| {name} {version} | {:.1} ms | {:.1} ms | {:.1} ms | {added:.1} ms | {limit} ms{} | {:.1} ms |",
            milliseconds(measured.without),
            milliseconds(measured.empty),
            milliseconds(measured.with),
            if added > f64::from(limit) { " (OVER)" } else { "" },
            measured.inside,
        );
        let what = format!("a turn's end in {name} {version}, added");
        rows.push(Row::at_most(what, added, f64::from(limit), "ms"));
        parts.push(format!("{name}: {}", measured.parts));
    }
    println!("\nInside our process, the median stop by our own log:\n{}", parts.join("\n"));
    Ok(rows)
}

struct ClientsBench<'a> {
    client: Client,
    program: &'a Path,
    homes: &'a Path,
    repository: &'a Path,
}

/// Medians.
struct TurnTimes {
    without: Duration,
    empty: Duration,
    with: Duration,
    /// Milliseconds of the stop, as our own log tells them.
    inside: f64,
    parts: String,
}

impl ClientsBench<'_> {
    fn measure(&self, checkstone: &Path, turns: usize) -> Result<TurnTimes, String> {
        let (mut without, mut empty, mut with) = (Vec::new(), Vec::new(), Vec::new());
        self.register("empty", checkstone, Path::new(EMPTY))?;
        self.register("with", checkstone, checkstone)?;
        // The first of each is not counted: it fills the caches.
        for turn in 0..=turns {
            let bare = self.turn("without")?;
            let idle = self.turn("empty")?;
            let ours = self.turn("with")?;
            if turn > 0 {
                without.push(bare);
                empty.push(idle);
                with.push(ours);
            }
        }
        let log = self.homes.join("with/.local/state/checkstone/log");
        let log = fs_err::read_to_string(log).map_err(|error| error.to_string())?;
        let notified = log.lines().filter(|line| line.contains(" notify: ")).count();
        if notified != turns + 1 {
            return Err(format!("{notified} of {} turns were found clear:\n{log}", turns + 1));
        }
        let (inside, parts) = median_stop(&log).ok_or("the log has no stop")?;
        Ok(TurnTimes {
            without: percentile(&without, 50),
            empty: percentile(&empty, 50),
            with: percentile(&with, 50),
            inside,
            parts: parts.to_owned(),
        })
    }

    /// Lets the program register itself; then another takes its place, so that both have the same command line.
    fn register(&self, home: &str, checkstone: &Path, replacement: &Path) -> Result<(), String> {
        let told = |error: std::io::Error| error.to_string();
        let home = self.homes.join(home);
        let path = process::path();
        let client = self.installed(&home, &path, "");
        client.settle().map_err(told)?;
        let program = home.join("checkstone");
        fs_err::copy(checkstone, &program).map_err(told)?;
        let mut init = Command::new(&program);
        client.environment(&mut init);
        process::output(init.args(["init", "--agent", self.client.agent(), "--yes"]))?;
        fs_err::copy(replacement, &program).map_err(told)?;
        Ok(())
    }

    fn installed<'a>(&'a self, home: &'a Path, path: &'a OsStr, address: &'a str) -> Installed<'a> {
        Installed { client: self.client, program: self.program, path, home, folder: self.repository, address }
    }

    /// One turn in a session of its own: how long its end took.
    fn turn(&self, home: &str) -> Result<Duration, String> {
        let told = |error: std::io::Error| error.to_string();
        git(self.repository, &["checkout", "--quiet", "--", "."])?;
        let scenario: Scenario = serde_json::from_str(SCENARIO).map_err(|error| error.to_string())?;
        let steps = scenario.steps.len();
        let settings = Settings { port: 0, folder: self.repository.to_owned(), log: None };
        let server = Server::start(scenario, &settings).map_err(|error| error.to_string())?;
        let (home, path, address) = (self.homes.join(home), process::path(), server.address());
        let client = self.installed(&home, &path, &address);
        client.settle().map_err(told)?;
        let run = client.prompt("Change the first file", false, LIMIT).map_err(told)?;
        let requests = server.requests();
        let asked: Vec<_> = requests.iter().filter(|request| request.is_turn).collect();
        let answered = asked.last().and_then(|request| request.answered);
        match (answered, run.turn_ended()) {
            (Some(answered), Some(ended)) if asked.len() == steps => {
                Ok(ended.saturating_duration_since(answered))
            }
            _ => Err(format!("{:?} did not play the turn: {run:#?}", self.client)),
        }
    }
}

fn repository(folder: &Path) -> Result<PathBuf, String> {
    use std::os::unix::fs::PermissionsExt as _;
    let path = super::hook::repository(folder, FILES)?;
    let told = |error: std::io::Error| error.to_string();
    let tests = path.join("cargo");
    fs_err::write(&tests, TESTS).map_err(told)?;
    fs_err::set_permissions(&tests, std::fs::Permissions::from_mode(0o755)).map_err(told)?;
    git(&path, &["add", "--all"])?;
    git(&path, &["commit", "--quiet", "--message=tests"])?;
    Ok(path)
}

fn git(repository: &Path, arguments: &[&str]) -> Result<(), String> {
    let identity = ["-c", "user.name=n", "-c", "user.email=e@x", "-c", "gc.auto=0"];
    process::run(Command::new("git").args(identity).args(arguments).current_dir(repository)).map(|_| ())
}
