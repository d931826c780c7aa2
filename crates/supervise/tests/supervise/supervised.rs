//! Single stages: how they end and what is told of it, what is kept of their output, time, and signs of life.

use std::time::Duration;

use sandbox::wait_for;
use supervise::{
    Command, Controls, Grace, How, Isolated, Isolation, Limits, Observed, Signal, SpawnError, StallInterrupt,
    StallLooks, StallSignal, Stalls, Status, Supervised,
};

use crate::processes::{Stage, each_way};

const BRIEF: Duration = Duration::from_millis(300);

fn brief_grace() -> Grace {
    Grace { interrupt: Some(BRIEF), terminate: Some(BRIEF), ..Grace::default() }
}

/// For a stage that obeys one of the signals: on a busy machine that takes a while. It has time to begin, too.
fn ends_in_its_time(grace: Grace) -> Limits {
    let grace = Grace { at_most: sandbox::waiting::LIMIT, ..grace };
    Limits { max_duration: Some(Duration::from_secs(2)), grace, ..Limits::default() }
}

fn at_most(time: Duration) -> Limits {
    Limits { max_duration: Some(time), grace: brief_grace(), ..Limits::default() }
}

fn signals(observed: &[Observed]) -> Vec<Signal> {
    observed
        .iter()
        .filter_map(|what| if let Observed::Signalled(signal) = what { Some(*signal) } else { None })
        .collect()
}

#[test]
fn status_and_signal_are_told_apart() {
    each_way(|stage| {
        let (ending, observed) = stage.run("exit 3", &Limits::default());
        assert_eq!((ending.how, ending.status), (How::Exited(3), Some(Status::Exited(3))));
        assert_eq!(Isolation::Only(ending.isolated), stage.isolation);
        assert_eq!(signals(&observed), []);
        let (ending, _) = stage.run("kill -SEGV $$", &Limits::default());
        assert_eq!(ending.how, How::Killed(11));
        let (ending, _) = stage.run("kill -KILL $$", &Limits::default());
        assert_eq!(ending.how, How::Killed(9));
    });
}

#[test]
fn both_streams_are_kept_and_markers_come_from_the_first() {
    each_way(|stage| {
        let script = "echo out; echo err >&2; echo '[STAGE:progress:pct=40] half'; echo '[ERROR] quoted' >&2; printf '[INFO] last'";
        let (ending, observed) = stage.run(script, &Limits::default());
        let markers: Vec<_> = observed
            .iter()
            .filter_map(
                |what| if let Observed::Marker(marker) = what { Some(marker.to_string()) } else { None },
            )
            .collect();
        assert_eq!(markers, ["[STAGE:progress:pct=40] half", "[INFO] last"]);
        let output = stage.output();
        for line in ["out\n", "err\n", "[ERROR] quoted\n", "[INFO] last"] {
            assert!(output.contains(line), "{output}");
        }
        assert_eq!(ending.output.total, output.len() as u64);
        assert_eq!((ending.output.left_out, ending.output.trouble), (0, None));
    });
}

#[test]
fn the_stage_gets_no_input_and_no_file_of_ours() {
    // Files without close-on-exec are what a careless library would leak.
    let open = std::fs::File::open("/dev/zero").unwrap();
    rustix::io::fcntl_setfd(&open, rustix::io::FdFlags::empty()).unwrap();
    each_way(|stage| {
        let (ending, _) = stage.run("cat; ls /proc/self/fd; readlink /proc/self/fd/0", &Limits::default());
        assert_eq!(ending.how, How::Exited(0));
        // `ls` itself opens the fourth.
        assert_eq!(stage.output(), "0\n1\n2\n3\n/dev/null\n");
    });
}

#[test]
fn the_stage_has_a_session_of_its_own_and_default_signals() {
    each_way(|stage| {
        let script = "grep -E '^Sig(Blk|Ign)' /proc/self/status | cut -f2
            set -- $(cut -d' ' -f5,6 /proc/$$/stat); echo $(( $1 == $$ )) $(( $2 == $$ ))";
        stage.run(script, &Limits::default());
        let output = stage.output();
        let (sets, session) = output.trim().rsplit_once('\n').unwrap();
        assert_eq!(session, "1 1");
        for set in sets.lines() {
            // But for SIGHUP, which `nohup` ignores on purpose, and the two that the C library keeps to itself.
            let set = u64::from_str_radix(set, 16).unwrap() & !(1 | 1 << 31 | 1 << 32);
            assert_eq!(set, 0, "{output}");
        }
    });
}

#[test]
fn its_processes_see_themselves_under_their_own_numbers() {
    each_way(|stage| {
        let script = "readlink /proc/self/exe >/dev/null && [ -d /proc/$$ ] && tr '\\0' '\\n' </proc/$$/environ | grep ^TREE=";
        let (ending, _) = stage.run(script, &Limits::default());
        assert_eq!(ending.how, How::Exited(0));
        assert_eq!(stage.output(), format!("TREE={}\n", stage.name));
    });
}

#[test]
fn what_cannot_be_started_is_told() {
    each_way(|stage| {
        let spawn = |command: &Command| Supervised::spawn(command, stage.isolation).unwrap_err();
        let error = spawn(&stage.command(&["no-such-program"]));
        assert!(
            matches!(&error, SpawnError::Program { program, .. } if program == "no-such-program"),
            "{error:?}"
        );
        let error = spawn(&stage.command(&["/etc/passwd"]));
        assert!(matches!(error, SpawnError::Program { .. }), "{error:?}");
        let nowhere = Command { directory: "/nowhere".into(), ..stage.command(&["true"]) };
        assert!(matches!(spawn(&nowhere), SpawnError::Directory { .. }));
        assert!(matches!(spawn(&stage.command(&[])), SpawnError::Empty));
        assert!(matches!(spawn(&stage.command(&["true", "a\0b"])), SpawnError::Nul(_)));
        let no_folder = Command { output: "/nowhere/output.log".into(), ..stage.command(&["true"]) };
        assert!(matches!(spawn(&no_folder), SpawnError::Output(_)));
        let no_record =
            Command { record: "/nowhere/supervisor.json".into(), ..stage.command(&["sleep", "1000"]) };
        assert!(matches!(spawn(&no_record), SpawnError::Record(_)));
        assert!(stage.alive().is_empty());
        assert!(!stage.path("supervisor.json").exists());
    });
}

/// R2: what was written before and at the interrupt is kept.
#[test]
fn r2_an_interrupt_preserves_the_output() {
    each_way(|stage| {
        let script = "trap 'echo saving; exit 0' INT; echo begun; while :; do sleep 0.05; done";
        let limits = ends_in_its_time(Grace { interrupt: Some(sandbox::waiting::LIMIT), ..brief_grace() });
        let (ending, observed) = stage.run(script, &limits);
        assert_eq!((ending.how, ending.status), (How::TimedOut, Some(Status::Exited(0))));
        assert_eq!(signals(&observed), [Signal::Interrupt]);
        let output = stage.output();
        assert_eq!(output, "begun\nsaving\n");
        assert!(Some(ending.elapsed) >= limits.max_duration);
    });
}

/// R1: each step follows where the one before was ignored.
#[test]
fn r1_the_escalation_goes_as_far_as_it_has_to() {
    each_way(|stage| {
        let script = "trap '' INT; echo begun; while :; do sleep 0.05; done";
        let limits = ends_in_its_time(Grace { terminate: Some(sandbox::waiting::LIMIT), ..brief_grace() });
        let (ending, observed) = stage.run(script, &limits);
        assert_eq!((ending.how, ending.status), (How::TimedOut, Some(Status::Killed(15))));
        assert_eq!(signals(&observed), [Signal::Interrupt, Signal::Terminate]);
        let script = "trap '' INT TERM; echo begun; while :; do sleep 0.05; done";
        let (ending, observed) = stage.run(script, &ends_in_its_time(brief_grace()));
        assert_eq!((ending.how, ending.status), (How::TimedOut, Some(Status::Killed(9))));
        assert_eq!(signals(&observed), [Signal::Interrupt, Signal::Terminate, Signal::Kill]);
        assert!(stage.output().starts_with("begun\n"));
    });
}

#[test]
fn the_hard_limit_caps_the_grace() {
    let stage = Stage::new(Isolation::Best);
    let grace = Grace { interrupt: Some(Duration::from_secs(500)), at_most: BRIEF, ..Grace::default() };
    let limits = Limits { max_duration: Some(BRIEF), grace, ..Limits::default() };
    let (ending, observed) = stage.run("trap '' INT TERM; while :; do sleep 0.05; done", &limits);
    assert_eq!(ending.how, How::TimedOut);
    assert_eq!(signals(&observed), [Signal::Interrupt, Signal::Kill]);
}

#[test]
fn steps_can_be_left_out() {
    let stage = Stage::new(Isolation::Best);
    let grace = Grace { interrupt: None, ..brief_grace() };
    let ending = stage
        .spawn("trap 'echo no; exit 1' INT; trap 'echo term; exit 2' TERM; while :; do sleep 0.05; done");
    wait_for("the traps are set", || stage.alive().len() >= 2);
    let ending = ending.end(&grace).unwrap();
    assert_eq!((ending.how, ending.status), (How::Aborted, Some(Status::Exited(2))));
    // The shell may tell of its child as well.
    assert!(
        stage.output().contains(
            "term
"
        ) && !stage.output().contains("no"),
        "{}",
        stage.output()
    );
}

#[test]
fn a_second_abort_skips_the_grace() {
    each_way(|stage| {
        let controls = Controls::new().unwrap();
        let abort_twice = |_: &_| {
            controls.abort();
            controls.abort();
        };
        let script = "trap '' INT TERM; echo '[INFO:ready]'; while :; do sleep 0.05; done";
        let (ending, observed) = stage.run_with(script, &Limits::default(), &controls, abort_twice);
        assert_eq!(ending.how, How::Aborted);
        assert_eq!(signals(&observed), [Signal::Interrupt, Signal::Kill]);
    });
}

#[test]
fn what_a_stage_leaves_running_may_finish_and_is_killed_otherwise() {
    each_way(|stage| {
        let patient = Limits { leftovers: Duration::from_secs(30), ..Limits::default() };
        let (ending, _) = stage.run("(sleep 0.05; echo late) & exit 0", &patient);
        assert_eq!((ending.how, ending.leftovers), (How::Exited(0), 0));
        assert_eq!(stage.output(), "late\n");
        let (ending, _) = stage.run("setsid sleep 1000 & sleep 1000 & exit 5", &Limits::default());
        assert_eq!((ending.how, ending.leftovers, ending.survivors), (How::Exited(5), 2, 0));
        assert!(stage.alive().is_empty());
    });
}

#[test]
fn too_much_output_keeps_its_head_and_its_tail() {
    each_way(|mut stage| {
        stage.kept = 64 * 1024;
        let (ending, _) = stage.run("seq 1 200000; exit 1", &Limits::default());
        assert_eq!(ending.how, How::Exited(1));
        let whole: String = (1..=200_000).map(|number| format!("{number}\n")).collect();
        let half = 32 * 1024;
        let left_out = whole.len() - 2 * half;
        assert_eq!((ending.output.total, ending.output.left_out), (whole.len() as u64, left_out as u64));
        let note = format!("\n[checkstone: {left_out} bytes are left out here]\n");
        assert_eq!(stage.output(), format!("{}{note}{}", &whole[..half], &whole[whole.len() - half..]));
        assert_eq!(std::fs::read_dir(stage.folder.path()).unwrap().count(), 1, "one file is left");
    });
}

#[test]
fn output_that_just_fits_is_whole() {
    for (size, kept) in [(1000, 1000), (999, 1000), (1001, 1000), (501, 1000), (1, 1)] {
        let mut stage = Stage::new(Isolation::Only(Isolated::Subreaper));
        stage.kept = kept;
        let (ending, _) = stage.run(&format!("head -c {size} /dev/zero | tr '\\0' x"), &Limits::default());
        assert_eq!(ending.output.left_out, size - size.min(kept.max(2)));
        assert_eq!(stage.output().matches('x').count() as u64, size.min(kept.max(2)));
    }
}

/// R15: a full disk does not end the stage, and is told.
#[test]
fn r15_output_that_cannot_be_written_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mount = |program: &str, arguments: &[&str]| {
        let mut command = std::process::Command::new(program);
        command.args(arguments).arg(folder.path()).status().unwrap().success()
    };
    if !mount("mount", &["-t", "tmpfs", "-o", "size=4k", "none"]) {
        println!("this machine does not let the test mount a small disk: left out");
        return;
    }
    fs_err::write(folder.path().join("rest"), [0; 4096]).unwrap();
    let stage = Stage::new(Isolation::Best);
    let output = folder.path().join("output.log");
    let command = Command { output, ..stage.command(&["sh", "-c", "echo x; exit 6"]) };
    let supervised = Supervised::spawn(&command, stage.isolation);
    let ending = supervised.map(|supervised| {
        supervised.watch(&Limits::default(), &Controls::new().unwrap(), &mut |_| {}).unwrap()
    });
    assert!(mount("umount", &["--lazy"]));
    let ending = ending.unwrap();
    assert_eq!(ending.how, How::Exited(6));
    assert!(ending.output.trouble.is_some());
}

/// R14: a stage that was stopped for longer than its limit is let go on.
#[test]
fn r14_a_stopped_stage_does_not_use_up_its_time() {
    each_way(|stage| {
        let script = "(sleep 1.5; kill -CONT $$) & kill -STOP $$; exit 7";
        let (ending, observed) = stage.run(script, &at_most(Duration::from_millis(1_200)));
        assert_eq!(ending.how, How::Exited(7));
        assert!(ending.suspended >= Duration::from_secs(1), "{:?}", ending.suspended);
        assert!(observed.iter().any(|what| matches!(what, Observed::Suspended(_))));
    });
}

fn stalls(interrupt: StallInterrupt) -> Limits {
    let stalls = Stalls {
        no_output: Some(BRIEF),
        no_marker: Some(2 * BRIEF),
        idle: BRIEF,
        artifacts: None,
        interrupt,
    };
    Limits { stalls, grace: brief_grace(), ..Limits::default() }
}

fn looks(observed: &[Observed]) -> Vec<(StallSignal, StallLooks)> {
    observed
        .iter()
        .filter_map(
            |what| if let Observed::Stall(stall) = what { Some((stall.signal, stall.looks)) } else { None },
        )
        .collect()
}

#[test]
fn a_stage_that_does_nothing_looks_hung_and_can_be_interrupted() {
    each_way(|stage| {
        let (ending, observed) = stage.run("sleep 1000", &stalls(StallInterrupt::Hung));
        assert_eq!(ending.how, How::Stalled);
        assert!(looks(&observed).iter().any(|(_, looks)| *looks == StallLooks::Hung));
    });
}

#[test]
fn a_stopped_stage_looks_hung_and_can_be_interrupted() {
    each_way(|stage| {
        let (ending, observed) = stage.run("kill -STOP $$; exit 7", &stalls(StallInterrupt::Hung));
        assert_eq!(ending.how, How::Stalled);
        assert_eq!(looks(&observed), [(StallSignal::Stopped, StallLooks::Hung)]);
    });
}

#[test]
fn a_stage_that_computes_looks_slow_and_is_let_run() {
    let limits = Limits { max_duration: Some(5 * BRIEF), ..stalls(StallInterrupt::Hung) };
    let (ending, observed) = Stage::new(Isolation::Best).run("while :; do :; done", &limits);
    assert_eq!(ending.how, How::TimedOut);
    let looks = looks(&observed);
    // Each is told once, whichever comes first.
    let [output, marker] =
        [StallSignal::NoOutput, StallSignal::NoMarker].map(|what| (what, StallLooks::Slow));
    assert!(looks == [output, marker] || looks == [marker, output], "{looks:?}");
}

#[test]
fn growing_artifacts_look_slow() {
    let stage = Stage::new(Isolation::Best);
    let artifacts = stage.path("artifacts");
    std::fs::create_dir(&artifacts).unwrap();
    let mut limits = Limits { max_duration: Some(4 * BRIEF), ..stalls(StallInterrupt::Hung) };
    limits.stalls.artifacts = Some(artifacts);
    limits.stalls.idle = 2 * BRIEF;
    let (ending, observed) = stage.run("while :; do echo x >>artifacts/a; sleep 0.1; done", &limits);
    assert_eq!(ending.how, How::TimedOut, "{observed:?}");
    assert!(!looks(&observed).iter().any(|(signal, _)| *signal == StallSignal::NoArtifactGrowth));
}

/// The last word of a shim is not followed by waiting for it: that is done when the next stage has begun.
#[test]
fn no_zombie_is_left_when_the_next_stage_has_begun() {
    let stage = Stage::new(Isolation::Best);
    let first = Supervised::spawn(&stage.command(&["true"]), stage.isolation).unwrap();
    let shim = first.root();
    first.watch(&Limits::default(), &Controls::new().unwrap(), &mut |_| {}).unwrap();
    let zombie_of_ours = format!(") Z {} ", std::process::id());
    wait_for("the shim of the first stage to be waited for", || {
        let (_, _) = stage.run("true", &Limits::default());
        let shim = std::fs::read_to_string(format!("/proc/{shim}/stat"));
        !shim.is_ok_and(|stat| stat.contains(&zombie_of_ours))
    });
}
