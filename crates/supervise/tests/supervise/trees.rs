//! Trees that do not want to end: they ignore signals, leave their group and session, lose their parents, are stopped, or
//! fork without a pause. A sample for correctness; `cargo xtask bench run` has the counts and the times.

use std::time::Duration;

use sandbox::wait_for;
use supervise::{Cause, Controls, Grace, How, Isolated, Isolation, Limits, Observed, Signal};

use crate::processes::{Stage, each_way};

/// Five processes: one in a session of its own, two that lost their parents, one stopped; all ignore what can be ignored.
const ADVERSARY: &str = "trap '' INT TERM HUP
    setsid sleep 1000 &
    (setsid sleep 1000 &)
    (sleep 1000 &)
    sleep 1000 & kill -STOP $!
    echo '[INFO:ready]'
    exec sleep 1000";

/// R1: children that ignore signals, grandchildren, daemons that left the group, stopped processes.
#[test]
fn r1_nobody_of_an_adversarial_tree_survives() {
    each_way(|stage| {
        for _ in 0..20 {
            let controls = Controls::new().unwrap();
            let kill = |_: &_| {
                wait_for("all five run", || stage.alive().len() == 5);
                controls.end(Cause::Aborted, Grace::NONE);
            };
            let (ending, _) = stage.run_with(ADVERSARY, &Limits::default(), &controls, kill);
            assert_eq!((ending.how, ending.survivors), (How::Aborted, 0));
            assert!(stage.alive().is_empty());
        }
    });
}

#[test]
fn nobody_of_a_tree_that_forks_all_the_time_survives() {
    let script = "i=0; while [ $i -lt 150 ]; do (while :; do sleep 0.01; done) & i=$((i+1)); done
        echo '[INFO:ready]'; wait";
    each_way(|stage| {
        let controls = Controls::new().unwrap();
        let kill = |_: &_| controls.end(Cause::Aborted, Grace::NONE);
        let (ending, _) = stage.run_with(script, &Limits::default(), &controls, kill);
        assert_eq!((ending.how, ending.survivors), (How::Aborted, 0));
        assert!(stage.alive().is_empty());
    });
}

/// R1: every step goes to the whole tree, whatever left the group.
#[test]
fn r1_the_steps_reach_those_that_left_the_group() {
    // It is deaf before it says that it is ready; a shell cannot undo what it was told to ignore from its beginning.
    let script = "trap : INT TERM
        setsid sh -c 'trap \"echo daemon told; exit\" TERM; echo \"[INFO:ready]\"; while :; do sleep 0.05; done' &
        while :; do sleep 0.05; done";
    let brief = Duration::from_millis(300);
    each_way(|stage| {
        let controls = Controls::new().unwrap();
        let grace = Grace { interrupt: Some(brief), terminate: Some(8 * brief), ..Grace::default() };
        let abort = |_: &_| controls.end(Cause::Aborted, grace);
        let (ending, observed) = stage.run_with(script, &Limits::default(), &controls, abort);
        let steps: Vec<_> = observed.iter().filter(|what| matches!(what, Observed::Signalled(_))).collect();
        let all = [Signal::Interrupt, Signal::Terminate, Signal::Kill].map(Observed::Signalled);
        assert_eq!(steps, all.iter().collect::<Vec<_>>());
        assert!(stage.output().contains("daemon told"));
        assert_eq!((ending.survivors, stage.alive()), (0, vec![]));
    });
}

/// R1: a stopped process is told as well, and goes on to see it.
#[test]
fn r1_a_stopped_stage_sees_the_interrupt() {
    each_way(|stage| {
        let limits = Limits { longest_stop: Duration::from_millis(200), ..Limits::default() };
        let script = "trap 'echo interrupted; exit 4' INT; kill -STOP $$; while :; do sleep 0.05; done";
        let (ending, _) = stage.run(script, &limits);
        assert_eq!((ending.how, ending.survivors), (How::Stalled, 0));
        assert_eq!(stage.output(), "interrupted\n");
    });
}

/// One of its own processes stops the stage again and again, and works on: the stops have a limit in all.
#[test]
fn a_stage_that_stops_its_own_clock_is_ended_all_the_same() {
    each_way(|stage| {
        let limits = Limits { longest_stop: Duration::from_millis(500), ..Limits::default() };
        let script = "(for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20
                do kill -STOP $$; sleep 0.1; kill -CONT $$; done) & wait; exit 0";
        // Without a limit it would come to its own end.
        let (ending, _) = stage.run(script, &limits);
        assert_eq!((ending.how, ending.survivors), (How::Stalled, 0));
    });
}

/// Stages run side by side in one supervisor; ending one leaves the other alone, orphans included.
#[test]
fn ending_one_stage_never_touches_another() {
    each_way(|ended| {
        let other = Stage::new(ended.isolation);
        let go = other.path("go");
        let script = format!(
            "(setsid sh -c 'echo \"[INFO:ready]\"; while [ ! -e {0} ]; do sleep 0.02; done; echo orphan' &)
             while [ ! -e {0} ]; do sleep 0.02; done; sleep 0.2; echo main",
            go.display()
        );
        std::thread::scope(|scope| {
            let (ready, is_ready) = std::sync::mpsc::channel();
            let running = scope.spawn(|| {
                let tell = move |_: &_| ready.send(()).unwrap();
                other.run_with(&script, &Limits::default(), &Controls::new().unwrap(), tell).0
            });
            is_ready.recv().unwrap();
            let controls = Controls::new().unwrap();
            let kill = |_: &_| controls.end(Cause::Aborted, Grace::NONE);
            let (ending, _) = ended.run_with(ADVERSARY, &Limits::default(), &controls, kill);
            assert_eq!(ending.survivors, 0);
            assert!(ended.alive().is_empty());
            std::fs::write(&go, "").unwrap();
            assert_eq!(running.join().unwrap().how, How::Exited(0));
            let output = other.output();
            assert!(output.contains("orphan") && output.contains("main"), "{output}");
        });
    });
}

/// Dropping what was never watched ends it too.
#[test]
fn a_tree_that_is_dropped_is_gone() {
    for isolation in [Isolation::Best, Isolation::Only(Isolated::Subreaper)] {
        let stage = Stage::new(isolation);
        let supervised = stage.spawn("trap '' INT TERM; setsid sleep 1000 & sleep 1000");
        wait_for("it runs", || stage.alive().len() >= 2);
        drop(supervised);
        assert!(stage.alive().is_empty());
        assert!(!stage.path("supervisor.json").exists());
    }
}
