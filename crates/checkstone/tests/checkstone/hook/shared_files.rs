//! Several agents in one working tree: whoever stops later hears of the files that another session changed meanwhile.

use sandbox::RunToEnd as _;
use serde_json::Value;

use super::session::Session;
use super::world::World;
use crate::workplace::valid;

const ONE: &str = "def add(a, b):\n    return a + b\n";
const OTHER: &str = "def add(a, b):\n    return b + a\n";

fn world() -> World {
    World::new("presets = [\"python\"]\n[gate]\nall_clear = \"silent\"\n")
}

/// What was told, without the time.
fn told(text: &str) -> String {
    let (before, rest) = text.split_once("ended at ").unwrap();
    let (at, after) = rest.split_once(". ").unwrap();
    assert!(at.parse::<jiff::Timestamp>().is_ok(), "{at}");
    format!("{before}ended at T. {after}")
}

fn status(world: &World) -> Value {
    valid(&world.checkstone(&["status", "--json"]).answer_to("").stdout, "status.schema.json")["shared_files"]
        .clone()
}

const OF_CODEX: &str = "Two sessions changed `calc.py` at the same time: this one, and Codex CLI (session two), whose turn \
    ended at T. Make sure that neither undid the other's work.";

/// Both orders of the edits; the later stop is told, once.
#[test]
fn the_later_one_of_two_sessions_hears_of_the_same_file() {
    for edits_first in [true, false] {
        let world = world();
        let (mut claude, mut codex) =
            (Session::named(&world, "claude", "one"), Session::named(&world, "codex", "two"));
        claude.prompt("Fix add");
        codex.prompt("Turn it around");
        if edits_first {
            claude.edit("calc.py", ONE);
        }
        codex.edit("calc.py", OTHER);
        codex.test();
        codex.stop("Done.").passes();
        if !edits_first {
            claude.edit("calc.py", ONE);
        }
        claude.test();
        let said = claude.stop("Done.").notifies();
        assert_eq!(told(&said), format!("[checkstone] {OF_CODEX}"));
        // Told once, though the turn has another stop, and to nobody else.
        claude.stop("Done, as I said.").passes();
        codex.stop("Done, too.").passes();
        let listed = status(&world);
        assert_eq!(listed.as_array().unwrap().len(), 1);
        assert_eq!((&listed[0]["agent"], &listed[0]["session"]), (&"claude".into(), &"one".into()));
        assert_eq!(told(listed[0]["text"].as_str().unwrap()), OF_CODEX);
        let shown = world.checkstone(&["status"]).answer_to("").stdout;
        let mut lines = shown.lines().skip_while(|line| *line != "Sessions in the same files").skip(1);
        let (_, line) = lines.next().unwrap().split_once("claude: ").unwrap();
        assert_eq!(told(line), OF_CODEX);
        assert_eq!(status_of_reductions(&world), 0);
    }
}

fn status_of_reductions(world: &World) -> usize {
    let printed = world.checkstone(&["status", "--json"]).answer_to("").stdout;
    valid(&printed, "status.schema.json")["reductions"].as_array().unwrap().len()
}

/// A hold is told beside it.
#[test]
fn a_hold_and_the_other_session_are_told_together() {
    let world = world();
    let (mut claude, mut codex) =
        (Session::named(&world, "claude", "one"), Session::named(&world, "codex", "two"));
    claude.prompt("Fix add");
    codex.prompt("Turn it around");
    codex.edit("calc.py", OTHER);
    codex.stop("Done.").holds();
    claude.edit("calc.py", ONE);
    let (_, said) = claude.stop("Done.").holds_and_tells();
    assert_eq!(told(&said), format!("[checkstone] {OF_CODEX}"));
}

/// One after the other, other files, another worktree, and what the other one only tested.
#[test]
fn sessions_that_do_not_meet_are_not_told() {
    let world = world();
    let (mut claude, mut codex) =
        (Session::named(&world, "claude", "one"), Session::named(&world, "codex", "two"));
    codex.prompt("Turn it around");
    codex.edit("calc.py", OTHER);
    codex.test();
    codex.stop("Done.").passes();
    claude.prompt("Fix add");
    claude.edit("calc.py", ONE);
    // Changed by the one while the other works elsewhere, whose run covers it.
    codex.prompt("Another");
    codex.edit("other.py", OTHER);
    codex.test();
    codex.stop("Done.").passes();
    claude.test();
    claude.stop("Done.").passes();
    world.commit("work");
    let worktree = world.sandbox.path("worktree");
    world.git(&["worktree", "add", "--quiet", worktree.to_str().unwrap()]);
    let mut elsewhere = Session::named(&world, "gemini", "three");
    elsewhere.folder.clone_from(&worktree);
    claude.prompt("Turn it back");
    elsewhere.prompt("Turn it back");
    world.sandbox.write(worktree.join("calc.py"), OTHER);
    elsewhere.shell(&format!("sed -i s/a/b/ {}/calc.py", worktree.display()), "", 0);
    elsewhere.test();
    elsewhere.stop("Done.").passes();
    claude.edit("calc.py", OTHER);
    claude.test();
    claude.stop("Done.").passes();
    assert_eq!(status(&world), Value::Array(Vec::new()));
}
