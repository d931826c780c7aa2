//! Many processes on one journal.

use std::collections::BTreeMap;
use std::process::Child;

use journal::Of;

use crate::support::{State, count, finish, spawn};

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
