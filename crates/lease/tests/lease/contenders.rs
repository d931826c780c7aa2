//! Many who want the same lease at the same instant.

use crate::worker::{Worker, abandoned, count};

const CONTENDERS: usize = 16;

#[test]
fn one_of_sixteen_processes_gets_it() {
    let place = tempfile::tempdir().unwrap();
    let first = abandoned(place.path(), "first", None).join("1");
    let mut workers: Vec<Worker> = (0..CONTENDERS).map(|_| Worker::spawn(&["contend"])).collect();
    let mut expected = vec!["held"; CONTENDERS];
    expected[CONTENDERS - 1] = "token 2";
    for round in 0..count("CHECKSTONE_SOAK_ROUNDS", 20) {
        let folder = abandoned(place.path(), &round.to_string(), Some(&first));
        workers.iter_mut().for_each(|worker| worker.tell(&folder));
        let mut answers: Vec<String> = workers.iter_mut().map(Worker::line).collect();
        answers.sort();
        assert_eq!(answers, expected, "round {round}");
    }
}
