//! Tables that go forwards and back, one owner among many, and commits that are kept whatever happens to the server.

use database::{DatabaseError, HeldRun, MIGRATIONS, MigrationError, applied, migrate, migrate_to, record_of};
use rustix::process::{Pid, Signal, kill_process};
use sandbox::wait_for_some;

use crate::servers::{alone, connection, count, crash, new_database, shared};
use crate::worker::{SHORT, Worker, event, key};

#[test]
fn tables_go_forwards_and_back() {
    let Some(_servers) = shared() else { return };
    let mut connection = connection(&new_database());
    assert_eq!(applied(&mut connection).unwrap(), 0);
    for _ in 0..2 {
        migrate(&mut connection).unwrap();
        assert_eq!(applied(&mut connection).unwrap(), MIGRATIONS.len());
        migrate_to(&mut connection, 0).unwrap();
        assert_eq!(applied(&mut connection).unwrap(), 0);
    }
    migrate(&mut connection).unwrap();
    let tables = "select count(*) from information_schema.tables where table_schema = 'checkstone'";
    let counted: i64 = connection.run(|client| Ok(client.query_one(tables, &[])?.get(0))).unwrap();
    assert_eq!(counted, 7);
    let mut refused = |change: &str| {
        connection.run(|client| client.batch_execute(change)).unwrap();
        match migrate(&mut connection).unwrap_err() {
            DatabaseError::Migration(error) => error,
            error => panic!("{error:?}"),
        }
    };
    assert!(matches!(
        refused("insert into checkstone.migrations (number, name, script) values (99, 'later', '')"),
        MigrationError::Newer { .. }
    ));
    assert!(matches!(
        refused(
            "delete from checkstone.migrations where number = 99; update checkstone.migrations set script = ''"
        ),
        MigrationError::Changed { number: 1, .. }
    ));
}

#[test]
fn one_of_sixteen_processes_gets_a_run() {
    const CONTENDERS: usize = 16;
    let Some(_servers) = shared() else { return };
    let address = new_database();
    migrate(&mut connection(&address)).unwrap();
    let mut workers: Vec<Worker> = (0..CONTENDERS).map(|_| Worker::spawn(&["contend", &address])).collect();
    let mut expected = vec!["held"; CONTENDERS];
    expected[CONTENDERS - 1] = "token 1";
    for round in 0..count("CHECKSTONE_SOAK_ROUNDS", 20) {
        workers.iter_mut().for_each(|worker| worker.tell(&format!("r{round}")));
        let mut answers: Vec<String> = workers.iter_mut().map(Worker::line).collect();
        answers.sort();
        assert_eq!(answers, expected, "round {round}");
    }
}

fn committed(address: &str) -> Vec<u64> {
    let record = record_of(&mut connection(address), &key("r1")).unwrap();
    String::from_utf8(record).unwrap().lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn a_paused_owner_that_wakes_up_commits_nothing_more() {
    let Some(_servers) = shared() else { return };
    let address = new_database();
    let mut owner = Worker::spawn(&["commit", &address, "short"]);
    assert_eq!(owner.line(), "1");
    kill_process(Pid::from_child(&owner.child), Signal::STOP).unwrap();
    // What it had sent before it was stopped may arrive after a first look, and is a sign of life.
    let take = || HeldRun::take(connection(&address), key("r1"), SHORT).unwrap().ok();
    let held = wait_for_some("the lease to expire", take);
    assert_eq!(held.token(), 2);
    let before = committed(&address);
    let next = before.len() as u64 + 1;
    assert!(held.commit(&[event(next)]).unwrap());
    kill_process(Pid::from_child(&owner.child), Signal::CONT).unwrap();
    let mut said = owner.rest();
    assert_eq!(said.pop().as_deref(), Some("lost"));
    assert_eq!(committed(&address), (1..=next).collect::<Vec<_>>());
    // What it said it had committed is what was there.
    assert!(said.iter().all(|number| number.parse::<u64>().unwrap() < next), "{said:?}");
    assert_eq!(held.successor().unwrap(), None);
}

#[test]
fn what_was_committed_survives_a_killed_server_and_the_owner_goes_on() {
    let Some(_servers) = alone() else { return };
    let address = new_database();
    let mut owner = Worker::spawn(&["commit", &address, "long"]);
    let mut said = Vec::new();
    for _ in 0..count("CHECKSTONE_SOAK_KILLS", 2) {
        said.extend((0..50).map(|_| owner.line()));
        crash("postgresql");
    }
    said.extend((0..50).map(|_| owner.line()));
    owner.child.kill().unwrap();
    said.extend(owner.rest());
    let said: Vec<u64> = said.iter().map(|number| number.parse().unwrap()).collect();
    assert_eq!(said, (1..=said.len() as u64).collect::<Vec<_>>());
    let there = committed(&address);
    assert_eq!(there, (1..=there.len() as u64).collect::<Vec<_>>());
    // At most one was committed whose answer nobody heard.
    assert!(there.len() - said.len() <= 1, "{} and {}", there.len(), said.len());
}
