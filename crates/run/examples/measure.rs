//! What `cargo xtask bench run` measures: supervised commands beside others, taken in turns, in one process. Prints one
//! line per measurement: a name and numbers.
#![allow(clippy::print_stdout, reason = "a program for benchmarks, whose output they read")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "a benchmark fails by panicking"
)]

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use checkpoint::layout::Layout;
use jiff::Timestamp;
use run::engine::{self, PlanText, Settings};
use run::event::{Accepted, FORMAT, What};
use run::fingerprint::{self, Preceding};
use run::plan::Plan;
use run::project_code::ProjectCode;
use run::record::Recorder;
use run::state::{RunState, StageState};
use run::surroundings::Surroundings;
use rustix::process::{Pid, Signal as ProcessSignal, kill_process, kill_process_group};
use rustix::time::{ClockId, Timespec, clock_gettime};
use supervise::{
    Cause, Command, Controls, Ending, Grace, Isolated, Isolation, Limits, Observed, Signal, SpawnError,
    Supervised,
};

/// Five processes: one in a session of its own, two that lost their parents, one stopped; all ignore what can be ignored.
const ADVERSARY: &str = "trap '' INT TERM HUP
    setsid sleep 1000 &
    (setsid sleep 1000 &)
    (sleep 1000 &)
    sleep 1000 & kill -STOP $!
    echo '[INFO:ready]'
    exec sleep 1000";
const FORKING: &str = "i=0; while [ $i -lt 150 ]; do (while :; do sleep 0.01; done) & i=$((i+1)); done
    echo '[INFO:ready]'; wait";
const STUCK: &str = "trap '' INT TERM; while :; do sleep 1; done";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| arguments[place].parse::<usize>().expect("a number");
    match arguments[0].as_str() {
        "spawn" => spawn(number(1)),
        "rate" => rate(number(1)),
        "limit" => limit(number(1)),
        "grace" => grace(),
        "five" => trees(ADVERSARY, Some(5), number(1)),
        "forking" => trees(FORKING, None, number(1)),
        "rivals" => rivals(number(1)),
        "write" => write(number(1), number(2)),
        "plan" => plan(number(1)),
        "again" => again(&arguments[1..]),
        other => panic!("{other}"),
    }
}

/// A folder, and the name by which all of its trees are known.
struct Bench {
    folder: PathBuf,
}

impl Bench {
    fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("measure-{}-{number}", std::process::id()));
        fs_err::create_dir_all(&folder).expect("a folder");
        Self { folder }
    }

    fn command(&self, argv: &[&str]) -> Command {
        let mut environment: Vec<_> = std::env::vars_os().collect();
        environment.push(("TREE".into(), self.name().into()));
        Command {
            argv: argv.iter().map(Into::into).collect(),
            environment,
            directory: self.folder.clone(),
            output: self.folder.join("output.log"),
            kept: 8 << 20,
            record: self.folder.join("supervisor.json"),
        }
    }

    fn name(&self) -> String {
        format!("measured-{}", std::process::id())
    }

    fn alive(&self) -> Vec<i32> {
        let variable = format!("TREE={}", self.name());
        let has_it = |pid: &i32| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|other| other == variable.as_bytes())
        };
        let numbers = std::fs::read_dir("/proc").expect("/proc").flatten();
        numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(has_it).collect()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = fs_err::remove_dir_all(&self.folder);
    }
}

fn ways() -> Vec<(&'static str, Isolation)> {
    let bench = Bench::new();
    let allowed = |isolation| match Supervised::spawn(&bench.command(&["true"]), isolation) {
        Ok(_) => true,
        Err(SpawnError::Isolate { .. }) => false,
        Err(error) => panic!("{error:?}"),
    };
    let ways = Isolated::ALL.iter().map(|way| (short_name(*way), Isolation::Only(*way)));
    ways.filter(|(_, isolation)| allowed(*isolation)).collect()
}

/// One word.
fn short_name(way: Isolated) -> &'static str {
    match way.name() {
        "PID namespace" => "pid-namespace",
        "PID namespace in a user namespace" => "user-namespace",
        other => other,
    }
}

fn watched(bench: &Bench, argv: &[&str], isolation: Isolation, limits: &Limits) -> Ending {
    let controls = Controls::new().expect("controls");
    let supervised = Supervised::spawn(&bench.command(argv), isolation).expect("a running command");
    supervised.watch(limits, &controls, &mut |_| {}).expect("an ending")
}

/// A program that does nothing, from its start to its end.
fn spawn(rounds: usize) {
    let bench = Bench::new();
    let mut ways = ways();
    let again = std::env::current_exe().expect("ourselves");
    for _ in 0..rounds {
        let time = |name: &str, act: &mut dyn FnMut()| {
            let began = Instant::now();
            act();
            println!("{name} {}", began.elapsed().as_nanos());
        };
        time("bare", &mut || wait(plain("true").spawn()));
        time("timeout", &mut || wait(plain("timeout").args(["60", "true"]).spawn()));
        time("our-program-again", &mut || wait(plain(&again).args(["again", "true"]).spawn()));
        for (name, isolation) in &ways {
            time(name, &mut || {
                watched(&bench, &["true"], *isolation, &Limits::default());
            });
        }
        // Whoever comes first after other programs finds the processor's caches cold.
        ways.rotate_left(1);
    }
}

fn plain(program: impl AsRef<Path>) -> std::process::Command {
    let mut command = std::process::Command::new(program.as_ref());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn wait(child: std::io::Result<Child>) {
    assert!(child.expect("a child").wait().expect("its end").success());
}

/// What a shim would be that is our own program, started again: it starts the command and waits for it.
fn again(argv: &[String]) {
    wait(std::process::Command::new(&argv[0]).args(&argv[1..]).spawn());
}

/// The processor time of the supervisor, while the stage writes so many megabytes a second.
fn rate(megabytes: usize) {
    let bench = Bench::new();
    let writer = std::env::current_exe().expect("ourselves");
    let writer = writer.to_str().expect("a path");
    let megabytes = megabytes.to_string();
    let kept = tempfile::tempfile().expect("a file");
    for (name, kept) in [("only-read", None), ("only-read-and-write", Some(&kept))] {
        let (before, began) = (clock_gettime(ClockId::ProcessCPUTime), Instant::now());
        let total = only_read(plain(writer).args(["write", &megabytes, "4"]), kept);
        println!("{name} {} {} {total}", used_since(before), began.elapsed().as_nanos());
    }
    for (name, isolation) in ways() {
        let (before, began) = (clock_gettime(ClockId::ProcessCPUTime), Instant::now());
        let ending = watched(&bench, &[writer, "write", &megabytes, "4"], isolation, &Limits::default());
        println!("{name} {} {} {}", used_since(before), began.elapsed().as_nanos(), ending.output.total);
    }
}

fn used_since(before: Timespec) -> i64 {
    let after = clock_gettime(ClockId::ProcessCPUTime);
    (after.tv_sec - before.tv_sec) * 1_000_000_000 + after.tv_nsec - before.tv_nsec
}

/// What the kernel alone takes to hand over the same bytes: a reader of large pieces that throws them away, or writes them
/// round and round over the same 8 MB of a file.
fn only_read(writer: &mut std::process::Command, kept: Option<&File>) -> u64 {
    const ROUND: u64 = 8 << 20;
    let mut child = writer.stdout(Stdio::piped()).spawn().expect("a writer");
    let mut pipe = child.stdout.take().expect("its output");
    machine::widen_pipe(&pipe, 1 << 20);
    let mut buffer = vec![0; 256 * 1024];
    let mut total = 0;
    loop {
        let length = pipe.read(&mut buffer).expect("its output");
        if let Some(kept) = kept {
            kept.write_all_at(&buffer[..length], total % ROUND).expect("room");
        }
        total += length as u64;
        match length {
            0 => break,
            // Emptied, and not looked at again before there is much, as the supervisor does it.
            length if length < buffer.len() => std::thread::sleep(Duration::from_millis(12)),
            _ => {}
        }
    }
    child.wait().expect("its end");
    total
}

/// Lines like those of a program that logs too much.
fn write(megabytes: usize, seconds: usize) {
    let line = "2026-01-01T10:00:00Z worker 17: loss=0.123456 batch=1024 [step 3] and so on and so forth\n";
    let piece: String = line.repeat(64 * 1024 / line.len());
    let began = Instant::now();
    let mut written = 0;
    let mut output = std::io::stdout().lock();
    while written < seconds * megabytes * 1_000_000 {
        output.write_all(piece.as_bytes()).expect("a reader");
        written += piece.len();
        let due = Duration::from_secs_f64(written as f64 / (megabytes as f64 * 1e6));
        std::thread::sleep(due.saturating_sub(began.elapsed()));
    }
}

/// How long after its limit a stuck stage gets the first signal.
fn limit(rounds: usize) {
    let bench = Bench::new();
    let limit = Duration::from_secs(1);
    let limits = Limits {
        max_duration: Some(limit),
        grace: Grace { terminate: None, interrupt: Some(Duration::ZERO), ..Grace::default() },
        ..Limits::default()
    };
    for _ in 0..rounds {
        for (name, isolation) in ways() {
            let supervised =
                Supervised::spawn(&bench.command(&["sh", "-c", STUCK]), isolation).expect("a command");
            let began = Instant::now();
            let mut told = None;
            let mut observe = |what| {
                if what == Observed::Signalled(Signal::Interrupt) {
                    told.get_or_insert(began.elapsed());
                }
            };
            let controls = Controls::new().expect("controls");
            supervised.watch(&limits, &controls, &mut observe).expect("an ending");
            println!("{name} {}", told.expect("a signal").saturating_sub(limit).as_nanos());
        }
    }
}

/// How long after the first signal a tree that ignores all it can is gone, with the usual grace.
fn grace() {
    let limits = Limits { max_duration: Some(Duration::from_millis(500)), ..Limits::default() };
    std::thread::scope(|scope| {
        for (name, isolation) in ways() {
            let limits = &limits;
            scope.spawn(move || {
                let bench = Bench::new();
                let supervised = Supervised::spawn(&bench.command(&["sh", "-c", ADVERSARY]), isolation)
                    .expect("a command");
                let mut told = None;
                let mut observe = |what| {
                    if what == Observed::Signalled(Signal::Interrupt) {
                        told.get_or_insert(Instant::now());
                    }
                };
                let controls = Controls::new().expect("controls");
                let ending = supervised.watch(limits, &controls, &mut observe).expect("an ending");
                println!("{name} {} {}", told.expect("a signal").elapsed().as_nanos(), ending.survivors);
            });
        }
    });
}

/// From the order to kill to the end of the whole tree; and how many outlive it.
fn trees(script: &str, size: Option<usize>, rounds: usize) {
    let bench = Bench::new();
    for _ in 0..rounds {
        for (name, isolation) in ways() {
            let controls = Controls::new().expect("controls");
            let mut killed = None;
            let mut observe = |what| {
                if matches!(what, Observed::Marker(_)) {
                    while size.is_some_and(|size| bench.alive().len() < size) {}
                    killed = Some(Instant::now());
                    controls.end(Cause::Aborted, Grace::NONE);
                }
            };
            let command = bench.command(&["sh", "-c", script]);
            let supervised = Supervised::spawn(&command, isolation).expect("a command");
            let ending = supervised.watch(&Limits::default(), &controls, &mut observe).expect("an ending");
            let time = killed.expect("it was ready").elapsed();
            println!("{name} {} {}", time.as_nanos(), bench.alive().len() + ending.survivors as usize);
        }
    }
}

/// What others leave alive of the same five.
fn rivals(rounds: usize) {
    let bench = Bench::new();
    for _ in 0..rounds {
        let ready = |mut child: Child| {
            let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
            lines.next().expect("a line").expect("a text");
            while bench.alive().len() < 5 {}
            child
        };
        let tree = |program: &str| {
            let mut command = std::process::Command::new(program);
            command.env("TREE", bench.name()).stdin(Stdio::null()).stdout(Stdio::piped());
            command
        };
        let mut killpg = tree("sh");
        let mut child = ready(killpg.args(["-c", ADVERSARY]).process_group(0).spawn().expect("a shell"));
        let _ = kill_process_group(pid(&child), ProcessSignal::KILL);
        let _ = child.wait();
        tell_survivors("killpg", &bench);
        let mut timeout = tree("timeout");
        let mut child =
            ready(timeout.args(["-k", "0.1", "0.5", "sh", "-c", ADVERSARY]).spawn().expect("timeout"));
        let _ = child.wait();
        tell_survivors("timeout-k", &bench);
        let script = format!(
            "import subprocess\ntry: subprocess.run(['sh','-c',{ADVERSARY:?}],timeout=0.5)\nexcept subprocess.TimeoutExpired: pass"
        );
        let mut child = ready(tree("python3").args(["-c", &script]).spawn().expect("python3"));
        let _ = child.wait();
        tell_survivors("python-subprocess", &bench);
    }
}

fn pid(child: &Child) -> Pid {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a number")
}

fn tell_survivors(name: &str, bench: &Bench) {
    std::thread::sleep(Duration::from_millis(50));
    println!("{name} 0 {}", bench.alive().len());
    while !bench.alive().is_empty() {
        for pid in bench.alive() {
            let _ = Pid::from_raw(pid).map(|pid| kill_process(pid, ProcessSignal::KILL));
        }
    }
}

/// 9,999 of 10,000 stages are complete: from the plan's text to the start of the last one.
fn plan(rounds: usize) {
    let mut text = "title = \"t\"\n".to_owned();
    for number in 0..10_000 {
        text.push_str(&format!(
            "[[stage]]\nstageId = \"S{number:05}_do_work\"\ngoal = \"Do the work of this stage\"\ncommand = [\"true\"]\n"
        ));
        if number > 0 {
            text.push_str(&format!("dependencies = [\"S{:05}_do_work\"]\n", number - 1));
        }
    }
    for _ in 0..rounds {
        let bench = Bench::new();
        let layout = Layout::new(&bench.folder, "t", "r").expect("a layout");
        record_all_but_one(&bench.folder, &layout, &text);
        let began = Instant::now();
        let plan = Plan::read("plan.toml", &text, &bench.folder).expect("a plan");
        let mut started = None;
        let plan = PlanText { plan, text: text.clone(), file: None };
        let mut watch = |event: &run::event::Event| {
            if matches!(event.what, What::StageState { to: StageState::Running, .. }) {
                started.get_or_insert((event.what.stage().map(str::to_owned), began.elapsed()));
            }
        };
        engine::resume(&layout, plan, &Settings::default(), &mut watch).expect("an end");
        let (stage, took) = started.expect("a stage that runs");
        assert_eq!(stage.as_deref(), Some("S09999_do_work"));
        println!("first-pending {}", took.as_nanos());
    }
}

fn record_all_but_one(root: &Path, layout: &Layout, text: &str) {
    let plan = Plan::read("plan.toml", text, root).expect("a plan");
    fs_err::create_dir_all(layout.run_checkpoints()).expect("a folder");
    let at = Timestamp::now();
    let planned = What::RunPlanned {
        format: FORMAT,
        report_title: "t".to_owned(),
        run_id: "r".to_owned(),
        plan_file: None,
        plan: text.to_owned(),
        set: Vec::new(),
        surroundings: Surroundings::default(),
    };
    let (mut recorder, _) = Recorder::create(&layout.events(), at, planned).expect("a record");
    let mut events = vec![What::RunState { from: RunState::Planned, to: RunState::InProgress, reason: None }];
    let mut known_by: Vec<String> = Vec::new();
    let code = ProjectCode::new(root, Arc::default());
    for stage in plan.stages.iter().take(9_999) {
        let state = |from, to, accepted| What::StageState {
            stage_id: stage.id.clone(),
            attempt: 1,
            from,
            to,
            reason: None,
            token: None,
            ending: None,
            accepted,
            refused: false,
        };
        let preceding = Preceding::of(&plan, stage, None, |on| known_by.get(on).map(String::as_str));
        let fingerprint = fingerprint::of_stage(stage, &plan.python, &code.of_stage(stage), &[], &preceding);
        known_by.push(fingerprint.clone());
        let accepted = Accepted {
            fingerprint,
            parts: Default::default(),
            session: None,
            inputs: Vec::new(),
            artifacts: Vec::new(),
            folders: Vec::new(),
        };
        events.push(state(StageState::Pending, StageState::Running, None));
        events.push(state(StageState::Running, StageState::Completed, Some(accepted)));
    }
    recorder.append_all(at, events).expect("a written record");
}
