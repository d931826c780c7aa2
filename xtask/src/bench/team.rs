//! A team's database: how many events a second it takes from a thousand machines, beside plain `COPY` of the same rows in the same run;
//! and whether anything is lost or doubled when senders and the database are killed. PostgreSQL runs on this machine.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use gate::Decision;
use jiff::{SignedDuration, Timestamp};
use journal::{Inputs, Journal, JournalError, NewTurn, NewVerdict, OpenFor, SeenSession};
use serde_json::Value;

use super::row::Row;
use crate::cluster::{self, ClusterCommand};
use crate::process;
use crate::root;

/// So many turns of each machine, each with a verdict.
const TURNS: usize = 10;

/// Senders that run at the same time.
const AT_ONCE: usize = 8;

#[derive(Debug, clap::Args)]
pub(crate) struct TeamArguments {
    /// The program, instead of an optimised build of it
    #[arg(long)]
    program: Option<PathBuf>,
    /// The example `load` of the crate `team`, instead of an optimised build of it
    #[arg(long)]
    load: Option<PathBuf>,
    /// How many machines are simulated
    #[arg(long, default_value_t = 1000)]
    machines: usize,
    /// How many events each of them sends
    #[arg(long, default_value_t = 200)]
    events: usize,
    /// How often the database is killed while a tenth of the machines sends
    #[arg(long, default_value_t = 5)]
    kills: usize,
}

pub(crate) fn run(arguments: &TeamArguments) -> Result<Vec<Row>, String> {
    let program = match &arguments.program {
        Some(program) => fs_err::canonicalize(program).map_err(|error| error.to_string())?,
        None => {
            process::cargo(&["build", "--release", "--package", "checkstone", "--features", "full"])?;
            root().join("target/release/checkstone")
        }
    };
    let load = match &arguments.load {
        Some(load) => fs_err::canonicalize(load).map_err(|error| error.to_string())?,
        None => {
            process::cargo(&["build", "--release", "--package", "team", "--example", "load"])?;
            root().join("target/release/examples/load")
        }
    };
    let parts = ["postgresql".to_owned()];
    let measured = cluster::up(&parts).and_then(|variables| {
        let address = variables.into_iter().next().map(|(_, address)| address).unwrap_or_default();
        let bench = TeamBench { program, load, address };
        let rows = bench.throughput(arguments.machines, arguments.events)?;
        bench.kills(arguments.machines, arguments.kills)?;
        Ok(rows)
    });
    cluster::run(ClusterCommand::Down { parts: parts.to_vec() })?;
    measured
}

struct TeamBench {
    program: PathBuf,
    load: PathBuf,
    address: String,
}

impl TeamBench {
    /// A database that is new.
    fn database(&self, name: &str) -> Result<String, String> {
        let name = format!("bench_{name}_{}", std::process::id());
        self.psql(&self.address, &format!("create database {name}"))?;
        Ok(format!("{}/{name}", self.address.rsplit_once('/').map_or("", |(server, _)| server)))
    }

    fn psql(&self, address: &str, statement: &str) -> Result<String, String> {
        process::output(Command::new("psql").args(["-XAtqc", statement, address]))
    }

    fn throughput(&self, machines: usize, events: usize) -> Result<Vec<Row>, String> {
        let address = self.database("load")?;
        let mut load = Command::new(&self.load);
        let printed = process::output(load.arg(address).arg(machines.to_string()).arg(events.to_string()))?;
        let figures: Value = serde_json::from_str(&printed).map_err(|error| error.to_string())?;
        let figure = |name: &str| figures.get(name).and_then(Value::as_f64).unwrap_or_default();
        println!("\n| machines | events | sent a second | plain COPY | bytes an event | of that indexes |");
        println!("|---|---|---|---|---|---|");
        println!(
            "| {machines} | {} | {:.0} | {:.0} | {:.0} | {:.0} |\n",
            figure("events"),
            figure("sent_per_second"),
            figure("copied_per_second"),
            figure("bytes_per_event"),
            figure("index_bytes_per_event")
        );
        if figure("there") != figure("events") {
            return Err(format!("{} of {} events are there", figure("there"), figure("events")));
        }
        // Times of a million, so that the smaller figure is the better one, as everywhere.
        let time = |rate: f64| Duration::from_secs_f64(1e6 / rate.max(1.0));
        let (ours, copy) = (time(figure("sent_per_second")), time(figure("copied_per_second")));
        let row =
            Row::times(format!("a million events of {machines} machines"), ours, "plain COPY", copy, 2.0);
        println!("{row}");
        Ok(vec![row])
    }

    /// Real senders, each with a journal of its own; every third is killed, and the database while they send.
    fn kills(&self, machines: usize, kills: usize) -> Result<(), String> {
        let address = self.database("kills")?;
        let place = tempfile::tempdir().map_err(|error| error.to_string())?;
        let configuration = place.path().join("config/checkstone");
        fs_err::create_dir_all(&configuration).map_err(|error| error.to_string())?;
        let text = format!("[team]\ndatabase = \"{address}\"\n");
        fs_err::write(configuration.join("config.toml"), text).map_err(|error| error.to_string())?;
        println!("recording {TURNS} turns on each of {machines} machines…");
        for machine in 0..machines {
            record(&place.path().join(machine.to_string()), machine).map_err(|error| error.to_string())?;
        }
        let mut waiting: Vec<usize> = (0..machines).rev().collect();
        let mut running: Vec<(usize, Child, bool)> = Vec::new();
        let (mut started, mut killed, mut failed, mut crashes) = (0_usize, 0_usize, 0_usize, 0_usize);
        while !waiting.is_empty() || !running.is_empty() {
            while running.len() < AT_ONCE
                && let Some(machine) = waiting.pop()
            {
                started += 1;
                let child = self.sender(place.path(), machine)?;
                running.push((machine, child, started % 3 == 0 && killed < machines / 3));
            }
            if crashes < kills && started > (crashes + 1) * machines / (kills + 1) {
                crashes += 1;
                cluster::run(ClusterCommand::Kill { parts: vec!["postgresql".to_owned()] })?;
                cluster::up(&["postgresql".to_owned()])?;
            }
            let mut still = Vec::new();
            for (machine, mut child, is_to_die) in running {
                if is_to_die {
                    // Somewhere on its way: they start one after another.
                    std::thread::sleep(Duration::from_millis(u64::try_from(machine % 40).unwrap_or(0)));
                    let _ = child.kill();
                    killed += 1;
                }
                match child.try_wait().map_err(|error| error.to_string())? {
                    None => still.push((machine, child, false)),
                    Some(status) if status.success() => {}
                    Some(_) => {
                        failed += 1;
                        waiting.insert(0, machine);
                    }
                }
            }
            running = still;
            std::thread::sleep(Duration::from_millis(2));
        }
        let counted = self.psql(
            &address,
            "select count(*), count(distinct (machine, session, sequence)), count(distinct machine) from checkstone.team_events",
        )?;
        let numbers: Vec<usize> =
            counted.trim().split('|').filter_map(|number| number.parse().ok()).collect();
        let expected = machines * TURNS * 2;
        println!(
            "{machines} machines, {started} senders started, {killed} killed, {failed} ended without success, {crashes} kills of the database:"
        );
        let [there, different, of_machines] = numbers.as_slice() else { return Err(counted) };
        println!(
            "{} lost, {} doubled ({there} of {expected} events, of {of_machines} machines)",
            expected.saturating_sub(*different),
            there - different
        );
        match (*there, *different) == (expected, expected) {
            true => Ok(()),
            false => Err("events were lost or doubled".to_owned()),
        }
    }

    fn sender(&self, place: &Path, machine: usize) -> Result<Child, String> {
        let mut command = Command::new(&self.program);
        command.args(["team", "send"]).env("XDG_CONFIG_HOME", place.join("config"));
        command.env("CHECKSTONE_STATE_DIR", place.join(machine.to_string()));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map_err(|error| error.to_string())
    }
}

fn record(state: &Path, machine: usize) -> Result<(), JournalError> {
    let mut journal = Journal::open(state, OpenFor::Hook)?;
    let now = Timestamp::now();
    journal.write(|writing| {
        let client_id = format!("session of {machine}");
        let seen = SeenSession {
            agent: "claude",
            client_id: &client_id,
            directory: None,
            repository: None,
            transcript: None,
        };
        let session = writing.see_session(&seen, now)?.id;
        for turn in 0..TURNS {
            let opened_at = now - SignedDuration::from_mins(i64::try_from(TURNS - turn).unwrap_or(0));
            let new = NewTurn { session, key: None, opened_at, prompt: "", baseline: None };
            let turn = writing.open_turn(&new)?.id;
            writing.record_verdict(&NewVerdict {
                turn,
                repository: None,
                at: opened_at,
                decision: Decision::Pass,
                scope: None,
                message: "",
                timings: "= 5.00 ms",
                inputs: Inputs { version: 1, bytes: b"" },
            })?;
        }
        Ok(())
    })
}
