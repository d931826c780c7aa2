//! SIGKILL at any instant leaves the old state or the new one.

use std::io::Read;
use std::time::Duration;

use crate::support::{Dice, State, count, spawn};
use sandbox::waiting::at_moment;

/// Starts the job, kills it a moment after it has said `dots` dots, and returns how many it said in all.
fn kill_after(job: &[&str], dots: u64, moment: Duration) -> u64 {
    let mut child = spawn(job);
    let mut output = child.stderr.take().unwrap();
    let mut seen = vec![0; dots as usize];
    output.read_exact(&mut seen).unwrap();
    at_moment(moment, || child.kill()).unwrap();
    let mut rest = Vec::new();
    output.read_to_end(&mut rest).unwrap();
    child.wait().unwrap();
    assert!(seen.iter().chain(&rest).all(|byte| *byte == b'.'), "{}", String::from_utf8_lossy(&rest));
    dots + rest.len() as u64
}

/// H14: what was acknowledged is there; a transaction is there whole or not at all; the next process goes on
/// without repair.
#[test]
fn a_killed_hook_loses_nothing_it_acknowledged() {
    let mut dice = Dice(14);
    let mut state = State::new();
    let mut before = 0;
    for kill in 0..count("CHECKSTONE_SOAK_KILLS", 25) {
        // A new one now and then, so that its creation is hit too, and before old turns are pruned.
        if kill % 20 == 0 {
            (state, before) = (State::new(), 0);
        }
        let directory = state.directory();
        let (dots, moment) = (dice.below(40), Duration::from_micros(dice.below(4000)));
        let acknowledged = kill_after(&["hooks_until_killed", directory.to_str().unwrap()], dots, moment);
        let recorded = check_invariants(&state);
        assert!(
            recorded == before + acknowledged || recorded == before + acknowledged + 1,
            "{before} + {acknowledged} acknowledged, {recorded} recorded"
        );
        before = recorded;
    }
    assert!(before > 0);
}

/// The number of recorded verdicts.
fn check_invariants(state: &State) -> u64 {
    let mut journal = state.open();
    let Some(session) = journal.read(|read| read.session("claude", "shared")).unwrap() else { return 0 };
    let number = journal.read(|read| read.value(session.id, "number")).unwrap().unwrap();
    let sqlite = state.sqlite();
    let ask = |question: &str| sqlite.query_row(question, (), |row| row.get::<_, u32>(0)).unwrap();
    let verdicts = ask("SELECT count(*) FROM verdicts");
    assert_eq!(String::from_utf8(number).unwrap(), verdicts.to_string());
    assert_eq!(ask("SELECT count(*) FROM turns WHERE holds <> 1"), 0);
    assert_eq!(
        ask("SELECT count(*) FROM turns WHERE holds <>
                 (SELECT count(*) FROM verdicts WHERE turn = turns.id AND verdict = 'hold')"),
        0
    );
    let intact: String = sqlite.query_row("PRAGMA integrity_check", (), |row| row.get(0)).unwrap();
    assert_eq!(intact, "ok");
    u64::from(verdicts)
}
