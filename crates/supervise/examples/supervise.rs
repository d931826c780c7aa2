//! A supervisor as a program of its own, for tests that kill it and for benchmarks: it supervises one command and tells
//! on standard output what it observes.
//!
//! `supervise FOLDER [isolation=…] [limit=MS] [interrupt=MS] [terminate=MS] [kept=BYTES] [times=N] -- COMMAND…`
#![allow(clippy::print_stdout, reason = "a program for tests, whose output they read")]
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use supervise::{Command, Controls, Ending, Grace, Isolated, Isolation, Limits, Observed, Supervised};

struct Settings {
    command: Command,
    isolation: Isolation,
    limits: Limits,
    times: usize,
}

fn main() {
    let settings = settings();
    for _ in 0..settings.times {
        let began = Instant::now();
        let ending = supervise(&settings);
        println!(
            "ended {:?} survivors={} leftovers={} bytes={} us={}",
            ending.how,
            ending.survivors,
            ending.leftovers,
            ending.output.total,
            began.elapsed().as_micros()
        );
    }
}

fn supervise(settings: &Settings) -> Ending {
    let controls = Controls::new().expect("controls");
    let supervised = Supervised::spawn(&settings.command, settings.isolation).expect("a running command");
    if settings.times == 1 {
        println!("began {}", supervised.isolated().name());
    }
    let began = Instant::now();
    let mut observe = |observed| match observed {
        Observed::Output { .. } => {}
        other => println!("{} {other:?}", began.elapsed().as_millis()),
    };
    supervised.watch(&settings.limits, &controls, &mut observe).expect("an ending")
}

fn settings() -> Settings {
    let mut arguments = std::env::args_os().skip(1);
    let folder = PathBuf::from(arguments.next().expect("a folder"));
    let mut settings = Settings {
        command: Command {
            argv: Vec::new(),
            environment: std::env::vars_os().collect(),
            directory: folder.clone(),
            output: folder.join("output.log"),
            kept: 8 << 20,
            record: folder.join("supervisor.json"),
        },
        isolation: Isolation::Best,
        limits: Limits::default(),
        times: 1,
    };
    let mut grace = Grace::default();
    for argument in arguments.by_ref().take_while(|argument| argument != "--") {
        let argument = argument.into_string().expect("a setting");
        let (name, value) = argument.split_once('=').expect("name=value");
        let number = || value.parse::<u64>().expect("a number");
        let time = || Duration::from_millis(number());
        match name {
            "isolation" => settings.isolation = isolation(value),
            "limit" => settings.limits.max_duration = Some(time()),
            "interrupt" => grace.interrupt = Some(time()).filter(|time| !time.is_zero()),
            "terminate" => grace.terminate = Some(time()).filter(|time| !time.is_zero()),
            "kept" => settings.command.kept = number(),
            "times" => settings.times = value.parse().expect("a number"),
            other => panic!("{other}"),
        }
    }
    settings.limits.grace = grace;
    settings.command.argv = arguments.collect::<Vec<OsString>>();
    settings
}

fn isolation(name: &str) -> Isolation {
    let way = Isolated::ALL.iter().find(|way| way.name() == name);
    way.map_or(Isolation::Best, |way| Isolation::Only(*way))
}
