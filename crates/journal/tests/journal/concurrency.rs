//! Many processes on one journal.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};

use journal::Of;
use sandbox::{wait_for, wait_for_some};

use crate::support::{JOB, State, count, finish, job_command, spawn};

/// H9, H11: fifty processes stop the same turns at once, from the creation of the file on. Every turn is held
/// exactly once, no update is lost, and the only error is the documented one, after which the others go on.
#[test]
fn fifty_processes_hold_every_turn_exactly_once() {
    let state = State::new();
    let rounds = count("CHECKSTONE_SOAK_ROUNDS", 6);
    let workers: Vec<Child> = (0..50)
        .map(|_| spawn(&["stop_hooks", state.directory().to_str().unwrap(), &rounds.to_string()]))
        .collect();
    // All wait for the end of their input; so they begin together.
    let mut workers = workers;
    workers.iter_mut().for_each(|worker| drop(worker.stdin.take()));
    let mut held: BTreeMap<u64, u32> = BTreeMap::new();
    let mut busy = 0;
    for said in workers.into_iter().map(finish) {
        for line in said.lines() {
            match line.split_once(' ').unwrap() {
                ("held", round) => *held.entry(round.parse().unwrap()).or_default() += 1,
                ("busy", times) => busy += times.parse::<u64>().unwrap(),
                _ => panic!("{line}"),
            }
        }
    }
    eprintln!("{} stops, {busy} times busy", 50 * rounds);
    assert_eq!(held.len() as u64, rounds);
    assert!(held.values().all(|holds| *holds == 1), "{held:?}");

    let mut journal = state.open();
    let session = journal.read(|read| read.session("claude", "shared")).unwrap().unwrap();
    let number = journal.read(|read| read.value(session.id, "number")).unwrap().unwrap();
    assert_eq!(String::from_utf8(number).unwrap(), (50 * rounds).to_string());
    let verdicts = journal.read(|read| read.recent_verdicts(Of::Everyone, usize::MAX)).unwrap();
    assert_eq!(verdicts.len() as u64, 50 * rounds);
    let intact: String = state.sqlite().query_row("PRAGMA integrity_check", (), |row| row.get(0)).unwrap();
    assert_eq!(intact, "ok");
}

/// H11: a hook finds no journal, and another makes one before SQLite looks a second time, which is for reading alone.
#[test]
fn h11_a_journal_that_appears_while_it_is_opened_is_written_to() {
    if Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_err() {
        return;
    }
    let state = State::new();
    let directory = state.directory();
    fs_err::create_dir_all(&directory).unwrap();
    let log = directory.join("opened");
    let job = ["stop_hooks", directory.to_str().unwrap(), "1"];
    let plain = job_command(&std::env::current_exe().unwrap(), &job);
    let mut opener = Command::new("strace");
    opener.args(["-f", "-o"]).arg(&log).arg("-P").arg(state.database());
    opener.args(["-e", "trace=openat", "-e", "inject=openat:signal=SIGSTOP:when=1"]);
    opener.arg(plain.get_program()).args(plain.get_args()).env(JOB, job.join("\n"));
    opener.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut opener = opener.spawn().unwrap();
    drop(opener.stdin.take());
    let thread = wait_for_some("the first look for the journal", || {
        let seen = fs_err::read_to_string(&log).ok()?;
        let first = seen.lines().find(|line| line.contains("ENOENT"))?;
        first.split_whitespace().next().map(str::to_owned)
    });
    wait_for("the opener to be stopped", || {
        let seen = fs_err::read_to_string(format!("/proc/{thread}/stat")).unwrap();
        seen.rsplit(") ").next().is_some_and(|rest| rest.starts_with(['T', 't']))
    });
    drop(state.open());
    assert!(Command::new("kill").args(["-CONT", &thread]).status().unwrap().success());
    assert_eq!(finish(opener), "held 0\nbusy 0\n");
}
