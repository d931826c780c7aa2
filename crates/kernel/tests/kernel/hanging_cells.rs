//! Cells that hang in a real ipykernel: in Python, in C, in threads; interrupted where that helps, and ended with the kernel
//! where it does not. What they had put out is kept either way.

use std::time::Duration;

use kernel::{CellEnding, ExecutedCell};
use serde_json::json;
use supervise::{Cause, Controls, Grace, Limits, Observed, Signal};

use crate::session::{Session, hurried, text_of};

/// Little time, and then little patience with what does not heed an interrupt, nor a second one.
fn impatient() -> Limits {
    let grace = Grace {
        interrupt: Some(Duration::from_millis(800)),
        terminate: Some(Duration::from_millis(300)),
        ..Grace::default()
    };
    Limits { max_duration: Some(Duration::from_millis(600)), grace, ..hurried() }
}

/// The same cell in one kernel after the other, each with twice the time and patience, until it ends as expected: how long
/// a busy machine takes to begin a cell, or to end one, nobody knows.
fn ends_as(
    code: &str,
    limits: &Limits,
    expected: impl Fn(&Session, &ExecutedCell) -> bool,
) -> (Session, ExecutedCell) {
    let mut last = None;
    for factor in [1, 2, 4, 8, 16] {
        let mut session = Session::new();
        compile(&session);
        session.execute("import ctypes, signal, threading, time\nkept = [1, 2, 3]");
        let doubled = |time: Option<Duration>| time.map(|time| time * factor);
        let grace = Grace {
            interrupt: doubled(limits.grace.interrupt),
            terminate: doubled(limits.grace.terminate),
            ..limits.grace
        };
        let limits = Limits { max_duration: doubled(limits.max_duration), grace, ..limits.clone() };
        let executed = session.execute_within(&format!("print('begun')\n{code}"), &limits);
        if text_of(&executed).starts_with("begun\n") && expected(&session, &executed) {
            return (session, executed);
        }
        last = Some((executed.ending, executed.outputs, session.observed));
    }
    panic!("{code}: {last:?}");
}

/// The kernel had to be ended, in the way that is asked for, and what the cell had printed is there.
fn is_killed(code: &str, by: impl Fn(&Session) -> bool) {
    let (mut session, _) = ends_as(code, &impatient(), |session, executed| {
        executed.ending == CellEnding::Killed(Cause::TimedOut) && by(session)
    });
    assert!(!session.kernel.is_alive(), "{code}");
}

fn has_seen(session: &Session, signal: Signal) -> bool {
    session.observed.contains(&Observed::Signalled(signal))
}

/// C code that spins: while it keeps Python's lock (`PyDLL`) no Python code runs any more, no signal handler and no
/// thread. One of the two also blocks every signal that can be blocked, in the whole process, first.
fn compile(session: &Session) {
    let source = session.project.join("spin.c");
    let code = "#include <pthread.h>\n#include <signal.h>\n#include <stdio.h>\n#include <time.h>\n\
        static volatile int on = 1;\n\
        void spin(void) { while (on) {} }\n\
        void spin_deaf(void) {\n\
            sigset_t all; sigfillset(&all); pthread_sigmask(SIG_BLOCK, &all, 0);\n\
            for (int number = 1; number < 32; number++) signal(number, SIG_IGN);\n\
            fclose(fopen(\"spins\", \"w\"));\n\
            while (on) {}\n\
        }\n\
        static void *spinning(void *seconds) {\n\
            struct timespec now; clock_gettime(CLOCK_MONOTONIC, &now);\n\
            double end = now.tv_sec + now.tv_nsec / 1e9 + *(double *)seconds;\n\
            do clock_gettime(CLOCK_MONOTONIC, &now); while (now.tv_sec + now.tv_nsec / 1e9 < end);\n\
            return 0;\n\
        }\n\
        static double length;\n\
        void spin_beside(double seconds) {\n\
            pthread_t thread; length = seconds; pthread_create(&thread, 0, spinning, &length);\n\
        }\n";
    std::fs::write(&source, code).unwrap();
    let compiled = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-pthread", "-o"])
        .arg(session.project.join("spin.so"))
        .arg(&source)
        .status();
    assert!(compiled.unwrap().success());
}

/// R2: the interrupt of the kernel itself comes first, so that variables survive.
#[test]
fn a_cell_that_sleeps_or_spins_is_interrupted_in_time_and_its_variables_survive() {
    for hanging in ["time.sleep(1000)", "while True: pass", "while True: [].append(sum(range(10_000)))"] {
        let (mut session, _) = ends_as(hanging, &hurried(), |_, executed| {
            executed.ending == CellEnding::Interrupted(Cause::TimedOut)
        });
        assert_eq!(session.value("kept"), json!([1, 2, 3]), "{hanging}");
        assert_eq!(session.execute("print(kept)").ending, CellEnding::Finished);
    }
}

#[test]
fn code_that_swallows_every_exception_is_ended_and_its_output_kept() {
    let swallowing = [
        // Spins inside of the `try`: there is nowhere for an interrupt to get out. The first statement is needed for that:
        // without it, CPython 3.11 raises the interrupt as if it came from the line of the `try`.
        "while True:\n    try:\n        number = 0\n        while True: number += 1\n    except:\n        pass",
        "while True:\n    try:\n        time.sleep(0.01)\n    except BaseException:\n        pass",
        "for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)\nwhile True: pass",
    ];
    for code in swallowing {
        let is_deaf = code.contains("SIG_IGN");
        is_killed(code, |session| {
            has_seen(session, Signal::Interrupt) && has_seen(session, Signal::Kill) == is_deaf
        });
    }
}

/// Whether the interrupt gets out of this one depends on the version of Python; it ends in time in either case.
#[test]
fn a_bare_except_around_a_bare_loop_ends_in_time() {
    let code = "while True:\n    try:\n        while True: pass\n    except:\n        pass";
    ends_as(code, &impatient(), |_, executed| {
        let is_either = |ending: &CellEnding| {
            matches!(ending, CellEnding::Interrupted(Cause::TimedOut) | CellEnding::Killed(Cause::TimedOut))
        };
        is_either(&executed.ending)
    });
}

#[test]
fn native_code_that_ignores_signals_is_ended_and_its_output_kept() {
    // With Python's lock given back, and with it kept; deaf to signals; and the same in a thread that is waited for.
    let calls = [
        "sum(iter(int, 1))",
        "ctypes.CDLL('./spin.so').spin()",
        "ctypes.PyDLL('./spin.so').spin()",
        "ctypes.CDLL('./spin.so').spin_deaf()",
        "ctypes.PyDLL('./spin.so').spin_deaf()",
        "t = threading.Thread(target=ctypes.PyDLL('./spin.so').spin_deaf); t.start(); t.join()",
    ];
    for call in calls {
        is_killed(call, |session| has_seen(session, Signal::Kill) == call.contains("deaf"));
    }
}

#[test]
fn a_thread_that_goes_on_after_the_interrupt_is_ended_too() {
    let threads = [
        "def spin():\n    while True: pass\nt = threading.Thread(target=spin)\nt.start()\nt.join()",
        "def spin():\n    while True:\n        try:\n            while True: pass\n        except:\n            pass\nt = threading.Thread(target=spin, daemon=True)\nt.start()\ntime.sleep(1000)",
        "t = threading.Thread(target=ctypes.CDLL('./spin.so').spin)\nt.start()\nt.join()",
        // One that Python knows nothing of.
        "library = ctypes.CDLL('./spin.so')\nlibrary.spin_beside(ctypes.c_double(1000))\ntime.sleep(1000)",
    ];
    for code in threads {
        is_killed(code, |_| true);
    }
}

/// It ends while it is asked whether its threads are busy.
#[test]
fn a_kernel_that_ends_right_after_the_interrupt_is_ended() {
    let code = "import os\ndef leave():\n    until = time.monotonic() + 0.3\n    while time.monotonic() < until: pass\n    os._exit(3)\n\
                try:\n    time.sleep(1000)\nfinally:\n    threading.Thread(target=leave).start()";
    is_killed(code, |_| true);
}

/// Libraries for numbers let their threads spin for some tenths of a second before they sleep.
#[test]
fn a_thread_that_comes_to_its_end_after_the_interrupt_costs_no_variables() {
    let code = "library = ctypes.CDLL('./spin.so')\ntry:\n    time.sleep(1000)\n\
                finally:\n    library.spin_beside(ctypes.c_double(0.4))";
    let (mut session, _) =
        ends_as(code, &hurried(), |_, executed| executed.ending == CellEnding::Interrupted(Cause::TimedOut));
    assert_eq!(session.value("kept"), json!([1, 2, 3]));
}

#[test]
fn an_abort_from_another_thread_interrupts_and_a_second_one_kills() {
    let mut session = Session::new();
    let controls = Controls::new().unwrap();
    let spool = session.spool();
    let abort = controls.clone();
    let swallowing = "print('[STAGE:begin]', flush=True)\nwhile True:\n    try:\n        number = 0\n        while True: number += 1\n    except:\n        pass";
    let executed =
        session.kernel.execute(swallowing, &spool, &Limits::default(), &controls, &mut |seen| match seen {
            // It runs; and then it did not end by the interrupt.
            Observed::Marker(_) | Observed::Signalled(_) => abort.abort(),
            _ => {}
        });
    assert_eq!(executed.unwrap().ending, CellEnding::Killed(Cause::Aborted));
}

/// What takes time, before the cell that has little of it; every expression of a cell is shown, as some like it.
const MAKE_PICTURE: &str = "import ctypes, io, os, signal\nimport pandas as pd\nimport PIL.Image\nfrom IPython.display import Image\n\
    made = io.BytesIO()\nPIL.Image.frombytes('RGB', (1000, 700), os.urandom(1000 * 700 * 3)).save(made, 'png')\n\
    picture = Image(data=made.getvalue())\nget_ipython().ast_node_interactivity = 'all'";

/// Pictures, a table, the result of an expression, text between them, and then `end`, with no time to send the last ones.
fn showing(end: &str) -> String {
    format!(
        "print('begun')\ndisplay(picture)\nprint('between')\ndisplay(pd.DataFrame({{'a': [1, 2]}}))\n40 + 2\n\
         def finish(end):\n    display(picture)\n    display({{'last': 'one'}})\n    end()\n{end}"
    )
}

/// What there is of it, in short.
fn shown(executed: &ExecutedCell) -> Vec<String> {
    let of = |output: &serde_json::Value| {
        let what = match output["text"].as_str() {
            Some(text) => text,
            // Megabytes of noise cannot be compressed.
            None if output["data"]["image/png"].as_str().is_some_and(|data| data.len() > 2_000_000) => {
                "image/png"
            }
            None if output["data"]["text/html"].is_string() => "text/html",
            None => "text/plain",
        };
        format!("{} {what}", output["output_type"].as_str().unwrap())
    };
    executed.outputs.iter().map(of).collect()
}

/// What ends a kernel.
enum By {
    AnAbort,
    Itself,
}

/// Whatever ends the kernel, and however little time it had to send it, all that the cell put out is there.
#[test]
fn pictures_and_tables_of_a_killed_cell_are_kept() {
    let spin = "def spin():\n    while True:\n        try:\n            open('spins', 'w').close()\n            number = 0\n            while True: number += 1\n        except: pass\n";
    let ends = [
        (format!("{spin}finish(spin)"), By::AnAbort),
        ("finish(ctypes.PyDLL('./spin.so').spin_deaf)".to_owned(), By::AnAbort),
        ("finish(lambda: os.kill(os.getpid(), signal.SIGKILL))".to_owned(), By::Itself),
        ("finish(lambda: ctypes.string_at(0))".to_owned(), By::Itself),
    ];
    for (end, by) in ends {
        let mut session = Session::new();
        compile(&session);
        assert_eq!(session.execute(MAKE_PICTURE).ending, CellEnding::Finished);
        let executed = match by {
            By::AnAbort => session.execute_until_file("spins", &showing(&end), &impatient().grace),
            By::Itself => session.execute(&showing(&end)),
        };
        let died = match by {
            By::AnAbort => executed.ending == CellEnding::Killed(Cause::Aborted),
            By::Itself => matches!(executed.ending, CellEnding::Died(_)),
        };
        assert!(died, "{end}: {:?}", executed.ending);
        let (picture, table) = ("image/png", "text/html");
        let expected = [
            ("stream", "begun\n"),
            ("display_data", picture),
            ("stream", "between\n"),
            ("display_data", table),
            ("execute_result", "text/plain"),
            ("display_data", picture),
            ("display_data", "text/plain"),
        ];
        let mut shown = shown(&executed);
        if end.contains("string_at") {
            let crash = shown.pop().unwrap();
            assert!(crash.starts_with("stream Fatal Python error: Segmentation fault"), "{crash}");
        }
        assert_eq!(shown, expected.map(|(kind, what)| format!("{kind} {what}")), "{end}");
        let kept = std::fs::read_to_string(session.project.join("displays.jsonl")).unwrap();
        assert_eq!(kept.lines().count(), 5, "{end}");
    }
}
