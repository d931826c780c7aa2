//! How fast a database takes the events of many machines, beside plain `COPY` of the same rows into a table of the same shape, and how
//! large they are there: `cargo run --release -p team --example load -- ADDRESS MACHINES EVENTS`. Prints JSON; `cargo xtask bench team`
//! reads it.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement fails by panicking"
)]

use std::io::Write as _;
use std::time::Instant;

use database::{Connection, DatabaseAddress, TeamEvent, TeamMachine, TeamVerdict};
use team::TeamHashes;

const THREADS: usize = 8;
const ROUNDS: usize = 3;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, machines, events] = arguments.as_slice() else {
        println!("usage: load ADDRESS MACHINES EVENTS");
        return;
    };
    let address: DatabaseAddress = address.parse().unwrap();
    let (machines, events): (usize, usize) = (machines.parse().unwrap(), events.parse().unwrap());
    let mut connection = Connection::open(&address).unwrap();
    database::migrate(&mut connection).unwrap();
    execute(
        &mut connection,
        "drop table if exists plain; create table plain (like checkstone.team_events including all)",
    );
    let all: Vec<Vec<TeamEvent>> = (0..machines).map(|machine| events_of(machine, events)).collect();
    let (mut copied, mut sent) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        execute(&mut connection, "truncate plain, checkstone.team_events; checkpoint");
        copied.push(seconds(|| in_threads(&all, |_, part| copy(&address, round, part))));
        sent.push(seconds(|| in_threads(&all, |first, part| send(&address, first, part))));
    }
    let count = |connection: &mut Connection, table: &str| -> i64 {
        connection
            .run(|client| Ok(client.query_one(&format!("select count(*) from {table}"), &[])?.get(0)))
            .unwrap()
    };
    let (there, plain) = (count(&mut connection, "checkstone.team_events"), count(&mut connection, "plain"));
    let size = "select pg_total_relation_size('checkstone.team_events_rest'), pg_indexes_size('checkstone.team_events_rest')";
    let (bytes, indexes): (i64, i64) =
        connection.run(|client| client.query_one(size, &[]).map(|row| (row.get(0), row.get(1)))).unwrap();
    let all = (machines * events) as f64;
    let rate = |times: &[f64]| all / median(times);
    println!(
        "{}",
        serde_json::json!({
            "machines": machines, "events": machines * events, "there": there, "plain": plain,
            "copied_per_second": rate(&copied), "sent_per_second": rate(&sent),
            "bytes_per_event": bytes as f64 / there as f64, "index_bytes_per_event": indexes as f64 / there as f64,
        })
    );
}

fn execute(connection: &mut Connection, statements: &str) {
    connection.run(|client| client.batch_execute(statements)).unwrap();
}

fn seconds(work: impl FnOnce()) -> f64 {
    let began = Instant::now();
    work();
    began.elapsed().as_secs_f64()
}

fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Each thread has its share of the machines.
fn in_threads(all: &[Vec<TeamEvent>], work: impl Fn(usize, &[Vec<TeamEvent>]) + Sync) {
    let share = all.len().div_ceil(THREADS);
    std::thread::scope(|scope| {
        for (thread, part) in all.chunks(share).enumerate() {
            let work = &work;
            scope.spawn(move || work(thread * share, part));
        }
    });
}

/// As the program sends them, every machine by itself, over one connection for each thread.
fn send(address: &DatabaseAddress, first: usize, part: &[Vec<TeamEvent>]) {
    let mut connection = Connection::open(address).unwrap();
    let clock = database::clock(&mut connection).unwrap();
    for (number, events) in part.iter().enumerate() {
        let machine = TeamMachine {
            machine: format!("machine {}", first + number),
            name: String::new(),
            version: "0".to_owned(),
        };
        let machine = database::introduce(&mut connection, &machine, clock).unwrap();
        database::send(&mut connection, machine, events).unwrap();
    }
}

/// One stream for each thread: as fast as rows get into a table.
fn copy(address: &DatabaseAddress, round: usize, part: &[Vec<TeamEvent>]) {
    let columns = "machine, session, sequence, at, turn, agent, repository, branch, verdict, waits, rules, changed, files, proofs, \
        calls, turn_milliseconds, hook_milliseconds";
    let mut connection = Connection::open(address).unwrap();
    let copied = connection.run(|client| {
        let mut writer = client.copy_in(&format!("copy plain ({columns}) from stdin"))?;
        for event in part.iter().flatten() {
            let hash = |hash: &Option<String>| {
                hash.as_ref().map_or_else(|| "\\N".to_owned(), |hash| format!("\\\\x{hash}"))
            };
            let at = jiff::Timestamp::from_millisecond(event.at).unwrap();
            let verdict = event.verdict.as_ref().map_or_else(
                || ["\\N"; 9].join("\t"),
                |one| {
                    let files: Vec<String> = one.files.iter().map(i64::to_string).collect();
                    format!(
                        "{}\t{}\t{{{}}}\t{}\t{{{}}}\t{}\t{}\t{}\t{}",
                        one.decision,
                        one.waits,
                        one.rules.join(","),
                        one.changed,
                        files.join(","),
                        one.proofs,
                        one.calls,
                        one.turn_milliseconds,
                        one.hook_milliseconds
                    )
                },
            );
            let row = format!(
                "{round}\t\\\\x{}\t{}\t{at}\t{}\t{}\t{}\t{}\t{verdict}\n",
                event.session,
                event.sequence,
                event.turn,
                event.agent,
                hash(&event.repository),
                hash(&event.branch)
            );
            writer.write_all(row.as_bytes()).unwrap();
        }
        writer.finish()
    });
    copied.unwrap();
}

/// A week of a machine: turns and their verdicts, some held, each with a few files.
fn events_of(machine: usize, count: usize) -> Vec<TeamEvent> {
    let hashes = TeamHashes::new("");
    let name = machine.to_string();
    let begin = jiff::Timestamp::now().as_millisecond() - 7 * 24 * 3600 * 1000;
    let repository = hashes.of("remote", &[&(machine % 50).to_string()]);
    (0..count)
        .map(|number| {
            let turn = (number / 2) as i64;
            let is_verdict = number % 2 == 1;
            TeamEvent {
                session: hashes.of("session", &[&name, &(number / 40).to_string()]),
                sequence: if is_verdict { turn * 2 + 1 } else { turn * 2 },
                at: begin + (number as i64) * 60_000 + machine as i64,
                turn,
                agent: "claude".to_owned(),
                branch: Some(hashes.of("branch", &[&repository, "main"])),
                repository: Some(repository.clone()),
                verdict: is_verdict.then(|| TeamVerdict {
                    decision: if turn % 5 == 0 { "hold" } else { "pass" }.to_owned(),
                    waits: false,
                    rules: if turn % 5 == 0 { vec!["missing-action".to_owned()] } else { Vec::new() },
                    changed: 4,
                    files: (0..4)
                        .map(|file| hashes.number("file", &[&name, &(turn + file).to_string()]))
                        .collect(),
                    proofs: i32::from(turn % 3 == 0),
                    calls: 17,
                    turn_milliseconds: 240_000,
                    hook_milliseconds: 9,
                }),
                texts: None,
            }
        })
        .collect()
}
