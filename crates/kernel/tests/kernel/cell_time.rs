//! The time of a cell in a real ipykernel: slow told from hung, and time in which the kernel stands still.

use std::time::Duration;

use kernel::CellEnding;
use rustix::process::{Pid, Signal, kill_process};
use sandbox::waiting::{LIMIT, let_time_pass};
use serde_json::Value;
use supervise::{Cause, Controls, Grace, Limits, Observed, StallInterrupt, StallLooks, StallSignal, Stalls};

use crate::session::{Session, hurried, text_of};

const SECOND: Duration = Duration::from_secs(1);

/// Called hung after a second of nothing.
fn watchful(max_duration: Duration) -> Limits {
    let stalls = Stalls {
        no_output: Some(SECOND),
        no_marker: None,
        idle: SECOND,
        interrupt: StallInterrupt::Hung,
        ..Stalls::default()
    };
    // Patient with an interrupt, which is not what these are about: on a busy machine Python may take many seconds to show
    // where it was interrupted.
    let grace = Grace { interrupt: Some(LIMIT), at_most: LIMIT, ..Grace::default() };
    Limits { max_duration: Some(max_duration), grace, stalls, ..Limits::default() }
}

fn stalls(session: &Session) -> Vec<(StallSignal, StallLooks)> {
    let seen = session.observed.iter().filter_map(|seen| match seen {
        Observed::Stall(stall) => Some((stall.signal, stall.looks)),
        _ => None,
    });
    seen.collect()
}

#[test]
fn a_cell_that_does_nothing_looks_hung_and_is_interrupted_before_its_limit() {
    let mut session = Session::new();
    session.execute("kept = 1");
    let executed =
        session.execute_within("import time\nprint('begun')\ntime.sleep(1000)", &watchful(100 * SECOND));
    assert_eq!(executed.ending, CellEnding::Interrupted(Cause::Stalled), "{:?}", session.observed);
    assert!(stalls(&session).iter().any(|(_, looks)| *looks == StallLooks::Hung), "{:?}", session.observed);
    assert!(text_of(&executed).starts_with("begun\n"));
    assert_eq!(session.value("kept"), 1);
}

#[test]
fn a_cell_that_computes_in_silence_looks_slow_and_has_all_its_time() {
    let mut session = Session::new();
    let executed = session.execute_within("while True: pass", &watchful(4 * SECOND));
    assert_eq!(executed.ending, CellEnding::Interrupted(Cause::TimedOut));
    assert_eq!(stalls(&session), [(StallSignal::NoOutput, StallLooks::Slow)]);
}

#[test]
fn a_cell_that_waits_for_a_program_that_computes_looks_slow() {
    let mut session = Session::new();
    let code = "import subprocess\nsubprocess.run(['sh', '-c', 'while :; do :; done'])";
    let executed = session.execute_within(code, &watchful(4 * SECOND));
    assert!(
        matches!(
            executed.ending,
            CellEnding::Interrupted(Cause::TimedOut) | CellEnding::Killed(Cause::TimedOut)
        ),
        "{:?}",
        executed.ending
    );
    assert_eq!(stalls(&session), [(StallSignal::NoOutput, StallLooks::Slow)]);
}

/// The kernel's own process, as seen from here.
fn process_of_kernel(session: &Session) -> Pid {
    let record = std::fs::read(session.project.join("kernel.json")).unwrap();
    let shim = serde_json::from_slice::<Value>(&record).unwrap()["shim"]["pid"].as_i64().unwrap();
    let children = std::fs::read_to_string(format!("/proc/{shim}/task/{shim}/children")).unwrap();
    Pid::from_raw(children.split_whitespace().next().unwrap().parse().unwrap()).unwrap()
}

/// R14: stopped for longer than its limit, the cell goes on as if nothing had been.
#[test]
fn r14_time_in_which_the_kernel_is_stopped_does_not_count() {
    let mut session = Session::new();
    let kernel = process_of_kernel(&session);
    let spool = session.spool();
    let code = "import time\nprint('[STAGE:begin]', flush=True)\ntime.sleep(0.5)\nprint('done')";
    let limits = Limits { max_duration: Some(4 * SECOND), ..hurried() };
    let mut suspended = Duration::ZERO;
    let mut let_go_on = None;
    let executed =
        session.kernel.execute(code, &spool, &limits, &Controls::new().unwrap(), &mut |seen| match seen {
            Observed::Marker(_) => {
                kill_process(kernel, Signal::STOP).unwrap();
                let_go_on = Some(std::thread::spawn(move || {
                    let_time_pass(6 * SECOND);
                    kill_process(kernel, Signal::CONT).unwrap();
                }));
            }
            Observed::Suspended(time) => suspended += time,
            _ => {}
        });
    let_go_on.unwrap().join().unwrap();
    let executed = executed.unwrap();
    assert_eq!(executed.ending, CellEnding::Finished, "{:?}", executed.outputs);
    assert!(text_of(&executed).ends_with("done\n"));
    assert!(executed.suspended > 5 * SECOND && suspended > 5 * SECOND, "{:?}", executed.suspended);
}

#[test]
fn a_kernel_that_stays_stopped_for_too_long_is_ended() {
    let mut session = Session::new();
    let kernel = process_of_kernel(&session);
    let limits = Limits { max_duration: None, longest_stop: SECOND, ..hurried() };
    let spool = session.spool();
    let code = "import time\nprint('[STAGE:begin]', flush=True)\ntime.sleep(1000)";
    let executed = session.kernel.execute(code, &spool, &limits, &Controls::new().unwrap(), &mut |seen| {
        if let Observed::Marker(_) = seen {
            kill_process(kernel, Signal::STOP).unwrap();
        }
    });
    assert_eq!(executed.unwrap().ending, CellEnding::Killed(Cause::Stalled));
    assert!(!session.kernel.is_alive());
}
