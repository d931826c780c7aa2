//! H13: switched off means nothing is read or written beyond the switch.

use std::process::Command;

use sandbox::contents;

use super::session::{AGENTS, Session};
use super::world::{PYTHON, RUN_TESTS, World, answer};

const FIXED: &str = "def add(a, b):\n    return a + b\n";

/// All events of a turn.
fn turn(world: &World, agent: &'static str, change: fn(&mut Command)) {
    let mut session = Session::new(world, agent);
    let tell = |event: &serde_json::Value| {
        let mut command = world.hook(agent);
        change(&mut command);
        answer(command, event).passes();
    };
    tell(&session.event("SessionStart"));
    session.type_prompt("Fix add");
    tell(&session.prompt_event("Fix add"));
    session.edit("calc.py", FIXED);
    session.say("Done.");
    tell(&session.stop_event());
    tell(&session.event("PreCompact"));
    tell(&session.event("SessionEnd"));
}

#[test]
fn h13_the_environment_switches_off() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        turn(&world, agent, |command| {
            command.env("CHECKSTONE", "off");
        });
        assert!(!world.state.exists(), "{agent}");
    }
}

#[test]
fn h13_the_repository_switches_off() {
    for agent in AGENTS {
        let world = World::new("presets = [\"python\"]\n[gate]\nenabled = false\n");
        turn(&world, agent, |_| {});
        assert!(!world.state.exists(), "{agent}");
    }
}

#[test]
fn h13_a_session_is_switched_off_and_on_again() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        journal::switch::turn_off(&world.state, agent, "0a1b").unwrap();
        let before = contents(&world.state);
        turn(&world, agent, |_| {});
        assert_eq!(contents(&world.state), before, "{agent}");
        journal::switch::turn_on(&world.state, agent, "0a1b").unwrap();
        let mut session = Session::new(&world, agent);
        session.prompt("Again");
        session.edit("calc.py", "def add(a, b):\n    return b + a\n");
        assert_eq!(session.stop("Done.").holds(), RUN_TESTS, "{agent}");
    }
}

/// H13 by the system calls themselves, where `strace` is there: no file of ours or of the repository is opened, and
/// no process started.
#[test]
fn h13_no_file_is_opened_and_nothing_is_started() {
    let strace =
        ["/usr/bin/strace", "/bin/strace"].into_iter().find(|path| std::path::Path::new(path).exists());
    let Some(strace) = strace else { return };
    for session_only in [false, true] {
        let world = World::new(PYTHON);
        let mut session = Session::new(&world, "claude");
        session.type_prompt("Fix add");
        session.edit("calc.py", FIXED);
        session.say("Done.");
        if session_only {
            journal::switch::turn_off(&world.state, "claude", "0a1b").unwrap();
        }
        let trace = world.home.join("trace");
        let hook = world.hook("claude");
        let mut command = Command::new(strace);
        command.arg("-f").args(["-e", "trace=%file,%process"]).arg("-o").arg(&trace);
        command.arg(hook.get_program()).args(hook.get_args()).current_dir(&world.repository).env_clear();
        command.envs(hook.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if !session_only {
            command.env("CHECKSTONE", "off");
        }
        let output = answer(command, &session.stop_event());
        assert!(output.0.stdout.is_empty());
        let traced = fs_err::read_to_string(&trace).unwrap_or_default();
        if !traced.contains("execve(") {
            // Tracing is not allowed everywhere.
            return;
        }
        let folder = world.sandbox.root();
        let ours: Vec<&str> = traced
            .lines()
            .filter(|line| line.contains(folder.to_str().unwrap()) && !line.contains("execve("))
            .collect();
        let looks = ours.iter().all(|line| line.contains("stat") && line.contains("/state/off/"));
        assert!(looks && ours.len() == usize::from(session_only), "{ours:#?}");
        assert_eq!(traced.matches("execve(").count(), 1, "{traced}");
        assert_eq!(traced.matches("fork(").count(), 0, "{traced}");
    }
}
