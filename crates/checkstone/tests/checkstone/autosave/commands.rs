//! `checkstone autosave`, `checkstone statusline`, and what `status` tells.

use serde_json::{Value, json};

use super::world::{AUTONOMOUS, World};
use crate::workplace::SESSION;

fn run(world: &World, arguments: &[&str]) -> (i32, Value) {
    let output = world.checkstone(arguments).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    (output.status.code().unwrap(), world.workplace.valid(&output.stdout, "autosave.schema.json"))
}

#[test]
fn by_hand_it_saves_and_pushes_at_once_in_any_mode() {
    let world = World::new("").with_origin();
    world.work_until(20);
    let (code, told) = run(&world, &["autosave", "--json"]);
    assert_eq!((code, told["outcome"].as_str()), (0, Some("saved")), "{told:#}");
    assert_eq!(told["commit"], world.git(&["rev-parse", "HEAD"]));
    assert_eq!(told["push"]["state"], "pushed");
    assert_eq!(world.git(&["rev-parse", "origin/main"]), world.git(&["rev-parse", "HEAD"]));
    let notes = world.text("CLAUDE.md");
    assert!(notes.contains("somebody asked for it") && notes.contains("Fix the counting"), "{notes}");
    let status = world.status();
    assert_eq!(status["autonomous_execution"]["reason"], "asked");
    assert_eq!(status["autosave"]["counts"]["saved"], 1);
    // It was told right there.
    assert_eq!(world.prompt("Next"), Value::Null);
}

#[test]
fn by_hand_nothing_is_committed_where_nothing_has_changed() {
    let world = World::new("");
    let (code, told) = run(&world, &["autosave", "--json"]);
    assert_eq!((code, told["outcome"].as_str(), world.commits()), (0, Some("nothing"), 1));
    let output = world.workplace.shown(&["autosave"]);
    insta::assert_snapshot!("nothing", output);
}

#[test]
fn a_dry_run_shows_and_does_nothing() {
    let world = World::new("[autosave]\nsubject = \"wip: {agent} on {branch}\"\nco_author = \"\"\n");
    world.work_until(20);
    let (code, told) = run(&world, &["autosave", "--dry-run", "--json"]);
    assert_eq!((code, world.commits(), world.has("CLAUDE.md")), (0, 1, false));
    assert_eq!(told["message"], "wip: claude on main\n\nSaved by itself: somebody asked for it.\n");
    assert_eq!(told["paths"], json!(["CLAUDE.md"]));
    assert!(told["section"].as_str().unwrap().contains("- Files changed: `src/lib.rs`\n"), "{told:#}");
    let shown = world.workplace.shown(&["autosave", "--dry-run", "--agent", "codex"]);
    assert!(shown.contains("AGENTS.md") && shown.contains("Nothing was done"), "{shown}");
}

/// `push = false` beside a mistake must not become a push.
#[test]
fn settings_with_a_mistake_save_nothing() {
    let world = World::new("[autosave]\nmod = \"normal\"\npush = false\n").with_origin();
    world.work_until(50);
    let output = world.checkstone(&["autosave"]).output().unwrap();
    assert_eq!((output.status.code(), world.commits()), (Some(2), 1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("config.toml:2:1: unknown key `mod`; did you mean `mode`?"), "{said}");
}

#[test]
fn what_could_not_be_saved_or_pushed_is_the_exit_code() {
    let world = World::new("");
    world.git(&["remote", "add", "origin", "/nonexistent/repository.git"]);
    world.work_until(20);
    let (code, told) = run(&world, &["autosave", "--json"]);
    assert_eq!(
        (code, told["outcome"].as_str(), told["push"]["state"].as_str()),
        (1, Some("saved"), Some("failed"))
    );
    world.git(&["checkout", "--quiet", "--detach"]);
    let (code, told) = run(&world, &["autosave", "--no-push", "--json"]);
    assert_eq!((code, told["outcome"].as_str()), (2, Some("failed")), "{told:#}");
}

#[test]
fn the_status_line_says_how_full_the_context_is_and_what_the_gate_said() {
    let world = World::with_policy(Some("presets = [\"rust\"]\n"), "");
    let line = |told: Value| world.workplace.with_input(&["statusline"], told.to_string().as_bytes());
    let plain = |text: &str| {
        let bytes = text.as_bytes().to_vec();
        let mut plain = String::new();
        let mut inside = false;
        for character in String::from_utf8(bytes).unwrap().chars() {
            match character {
                '\u{1b}' => inside = true,
                'm' if inside => inside = false,
                other if !inside => plain.push(other),
                _ => {}
            }
        }
        plain
    };
    let told = |tokens: u64| {
        json!({"session_id": SESSION, "model": {"id": "claude-opus-5-5"}, "context_window":
               {"context_window_size": 1000000, "current_usage": {"input_tokens": tokens}}})
    };
    assert_eq!(plain(&line(told(412_345))), "checkstone: context 41 %\n");
    world.work_until(20);
    assert_eq!(plain(&line(told(20_000))), "checkstone: context 2 % · held\n");
    for odd in [json!(null), json!([]), json!({"session_id": 4}), json!({"context_window": null})] {
        assert!(line(odd.clone()).starts_with("checkstone: "), "{odd}");
    }
    let nothing = json!({"context_window": {"context_window_size": 0, "current_usage": {"input_tokens": 5}}});
    assert_eq!(plain(&line(nothing)), "checkstone: ready\n");
}

#[test]
fn status_tells_people_of_the_last_save() {
    let world = World::new(AUTONOMOUS);
    world.work_until(41);
    let text = world.workplace.shown(&["status"]);
    assert!(text.contains("autosave    on: saves once the context is 40 % full\n"), "{text}");
    assert!(text.contains(" saved: committed ") && text.contains("saves       1 saved, "), "{text}");
}
