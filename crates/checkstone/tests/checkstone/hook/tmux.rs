//! Agents without hooks: a hold is typed into the tmux pane, by `inject` and by Codex's `notify` program. Both judge,
//! record and count as the stop hook does (spec 1: codex parity, R11, R12).

use std::path::{Path, PathBuf};
use std::process::Command;

use sandbox::{redacted, without_durations};
use serde_json::{Value, json};

use super::pane::{Server, tmux_is_there};
use super::session::Session;
use super::world::{HookAnswer, PYTHON, RUN_TESTS, World, answer};

const FIXED: &str = "def add(a, b):\n    return a + b\n";
const THREAD: &str = "01a1ddc9-9555-7810-a9fe-42b83e4879c4";
const WORDS: &str = "I made `add` add its two arguments, as its name says that it does.";

/// A Codex session in the folder where Codex keeps it, whose turn changed code and ran no test.
fn edited(world: &World) -> Session<'_> {
    let mut session = Session::named(world, "codex", THREAD);
    let folder = world.home.join(".codex/sessions/2026/11/15");
    fs_err::create_dir_all(&folder).unwrap();
    fs_err::hard_link(&session.transcript, rollout(world)).unwrap();
    session.type_prompt("Fix add");
    session.edit("calc.py", FIXED);
    session.say(WORDS);
    session
}

fn rollout(world: &World) -> PathBuf {
    world.home.join(format!(".codex/sessions/2026/11/15/rollout-2026-11-15T05-58-58-{THREAD}.jsonl"))
}

/// What Codex gives to its `notify` program.
fn notification(session: &Session<'_>, turn: u32, words: &str) -> Value {
    json!({
        "type": "agent-turn-complete", "thread-id": session.id, "turn-id": format!("{}-turn-{turn}", session.id),
        "cwd": session.world.repository, "client": "codex-tui", "input-messages": ["Fix add"],
        "last-assistant-message": words,
    })
}

fn notify_command(world: &World, argument: &str) -> Command {
    world.checkstone(&["hook", "codex", "--notify", argument])
}

/// In the environment of a client that runs in a pane of this server.
fn notify(world: &World, server: &Server, argument: &Value) {
    let mut command = notify_command(world, &argument.to_string());
    command.env("TMUX", server.variable()).env("TMUX_PANE", "%0");
    answer(command, &Value::Null).passes();
}

fn inject(world: &World, server: &Server, target: &str, more: &[&str]) -> HookAnswer {
    let mut command = world.checkstone(&["inject", "--tmux", target]);
    command.arg("--socket").arg(server.socket()).args(more).env("COLUMNS", "90");
    answer(command, &Value::Null)
}

#[track_caller]
fn injected(world: &World, server: &Server, target: &str, more: &[&str]) -> Value {
    let answer = inject(world, server, target, &[more, &["--json"]].concat());
    assert_eq!(answer.0.code, Some(0), "{:?}", answer.0);
    fits("inject.schema.json", &answer.0.stdout)
}

#[track_caller]
fn fits(schema: &str, printed: &str) -> Value {
    let value: Value = serde_json::from_str(printed).unwrap();
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas").join(schema);
    let schema: Value = serde_json::from_slice(&fs_err::read(schema).unwrap()).unwrap();
    let problems: Vec<String> = jsonschema::validator_for(&schema)
        .unwrap()
        .iter_errors(&value)
        .map(|error| error.to_string())
        .collect();
    assert!(problems.is_empty(), "{problems:?} in {value:#}");
    value
}

fn verdicts(world: &World) -> Vec<String> {
    let database = world.database();
    let mut statement = database.prepare("SELECT verdict FROM verdicts ORDER BY id").unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn inject_types_the_message_of_the_hold_and_counts_it() {
    if !tmux_is_there() {
        return;
    }
    let (world, server) = (World::new(PYTHON), Server::new());
    let mut session = edited(&world);
    let window = server.client("codex", &world.repository, WORDS, &session.transcript);
    let value = injected(&world, &server, &window.target, &[]);
    assert_eq!(
        (&value["verdict"], &value["delivered"], &value["confirmed"], &value["found"]),
        (&json!("hold"), &json!(true), &json!(true), &json!("shown"))
    );
    assert_eq!((&value["agent"], &value["session"]), (&json!("codex"), &json!(THREAD)));
    assert_eq!(window.typed(), format!("{RUN_TESTS}\n"), "the same words as the hook's");
    assert_eq!((world.holds(), verdicts(&world)), (vec![1], vec!["hold".to_owned()]));
    // Its own message is the last prompt now.
    session.test();
    session.say("Tested.");
    let again = injected(&world, &server, &window.target, &[]);
    assert_eq!(
        (&again["delivered"], &again["reason"]),
        (&json!(false), &json!("already held this turn; no action is missing now"))
    );
    assert_eq!(world.holds(), [1]);
    // The hook of the same turn says nothing either (R11).
    answer(world.hook("codex"), &session.stop_event()).passes();
    assert_eq!(window.typed(), format!("{RUN_TESTS}\n"));
}

/// The message among the prompts is the second witness of a hold.
#[test]
fn a_message_that_was_given_is_not_repeated_after_the_journal_is_lost() {
    if !tmux_is_there() {
        return;
    }
    let (world, server) = (World::new(PYTHON), Server::new());
    let session = edited(&world);
    let window = server.client("codex", &world.repository, WORDS, &session.transcript);
    assert_eq!(injected(&world, &server, &window.target, &[])["delivered"], true);
    fs_err::remove_dir_all(&world.state).unwrap();
    assert_eq!(injected(&world, &server, &window.target, &[])["delivered"], false);
    assert_eq!(window.typed(), format!("{RUN_TESTS}\n"));
}

#[test]
fn a_dry_run_types_and_records_nothing() {
    if !tmux_is_there() {
        return;
    }
    let (world, server) = (World::new(PYTHON), Server::new());
    let session = edited(&world);
    let window = server.client("codex", &world.repository, "other words", &session.transcript);
    let value = injected(&world, &server, &window.target, &["--dry-run"]);
    assert_eq!((&value["verdict"], &value["delivered"]), (&json!("hold"), &json!(false)));
    assert_eq!((&value["message"], &value["found"]), (&json!(RUN_TESTS), &json!("newest")));
    assert_eq!((window.typed().as_str(), world.state.exists()), ("", false));
    let given = ["--dry-run", "--transcript", session.transcript.to_str().unwrap()];
    assert_eq!(injected(&world, &server, &window.target, &given)["found"], "given");
    let shown = inject(&world, &server, &window.target, &["--dry-run"]).0.stdout;
    let shown = shown.replace(world.home.to_str().unwrap(), "[home]");
    insta::assert_snapshot!("dry_run", shown);
}

#[test]
fn a_turn_that_passes_is_not_disturbed() {
    if !tmux_is_there() {
        return;
    }
    let (world, server) = (World::new(PYTHON), Server::new());
    let mut session = edited(&world);
    session.test();
    session.say(WORDS);
    let window = server.client("codex", &world.repository, WORDS, &session.transcript);
    assert_eq!(injected(&world, &server, &window.target, &[])["verdict"], "notify");
    notify(&world, &server, &notification(&session, 1, WORDS));
    assert_eq!((window.typed().as_str(), world.holds()), ("", vec![0]));
}

#[test]
fn what_cannot_be_typed_to_is_refused_and_not_counted() {
    if !tmux_is_there() {
        return;
    }
    let (world, server) = (World::new(PYTHON), Server::new());
    let session = edited(&world);
    let shell = server.shell();
    let window = server.client("editor", &world.repository, WORDS, &session.transcript);
    let mut shown = String::new();
    for (target, more, code) in [
        (shell.as_str(), &[][..], 4),
        (shell.as_str(), &["--force", "--agent", "codex"], 4),
        (window.target.as_str(), &[], 4),
        ("=nosuch:", &[], 3),
    ] {
        let answer = inject(&world, &server, target, more).0;
        assert_eq!((answer.code, answer.stdout.as_str()), (Some(code), ""));
        shown.push_str(&answer.stderr);
    }
    insta::assert_snapshot!("refusals", shown);
    assert_eq!((window.typed().as_str(), world.state.exists()), ("", false));
    let forced = injected(&world, &server, &window.target, &["--force", "--agent", "codex"]);
    assert_eq!((&forced["delivered"], window.typed()), (&json!(true), format!("{RUN_TESTS}\n")));
}

/// Codex without hooks: held once, tested, passed.
#[test]
fn a_notification_holds_once_in_the_pane_of_its_session() {
    if !tmux_is_there() {
        return;
    }
    let (world, server) = (World::new(PYTHON), Server::new());
    let mut session = edited(&world);
    let other =
        server.client("codex", &world.repository, "Another session in this folder.", &world.home.join("x"));
    let window = server.client("codex", &world.repository, WORDS, &session.transcript);
    // The environment names the other pane, as that of Codex's daemon does.
    notify(&world, &server, &notification(&session, 1, WORDS));
    assert_eq!((window.typed(), other.typed().as_str()), (format!("{RUN_TESTS}\n"), ""));
    session.type_prompt(RUN_TESTS);
    session.test();
    session.say("Tested.");
    notify(&world, &server, &notification(&session, 2, "Tested."));
    assert_eq!((window.typed(), world.holds()), (format!("{RUN_TESTS}\n"), vec![1]));
    insta::assert_snapshot!(without_durations(world.log()), @"
    [time] codex 01a1ddc9-9555-7810-a9fe-42b83e4879c4 hold: missing: python-tests [[timings]]
    [time] codex 01a1ddc9-9555-7810-a9fe-42b83e4879c4 pass: already held this turn; no action is missing now [[timings]]
    ");
    let recorded = answer(world.checkstone(&["session", "--agent", "codex", "--json"]), &Value::Null);
    let recorded = fits("session.schema.json", &recorded.0.stdout);
    assert_eq!(recorded["pane"], json!({ "id": "%1", "socket": server.socket() }));
}

/// Hooks and `notify` registered both: the turn has one hold.
#[test]
fn the_hook_and_the_notification_hold_once_together() {
    if !tmux_is_there() {
        return;
    }
    let (world, server) = (World::new(PYTHON), Server::new());
    let session = edited(&world);
    let window = server.client("codex", &world.repository, WORDS, &session.transcript);
    assert_eq!(answer(world.hook("codex"), &session.stop_event()).holds(), RUN_TESTS);
    notify(&world, &server, &notification(&session, 1, WORDS));
    assert_eq!((window.typed().as_str(), world.holds()), ("", vec![1]));
}

/// A hold that reaches nobody is a notice, and does not use up the turn's hold.
#[test]
fn without_a_pane_the_person_is_told_by_the_journal() {
    if !tmux_is_there() {
        return;
    }
    let (world, server) = (World::new(PYTHON), Server::new());
    let session = edited(&world);
    let first = server.client("codex", &world.repository, WORDS, &session.transcript);
    let second = server.client("codex", &world.repository, WORDS, &session.transcript);
    notify(&world, &server, &notification(&session, 1, WORDS));
    assert_eq!((first.typed().as_str(), second.typed().as_str()), ("", ""));
    insta::assert_snapshot!(without_durations(world.log()), @"[time] codex 01a1ddc9-9555-7810-a9fe-42b83e4879c4 notify: missing: python-tests; not delivered: more than one tmux pane shows what the agent said last [[timings]]");
    assert_eq!((world.holds(), verdicts(&world)), (vec![0], vec!["notify".to_owned()]));
    let status = answer(world.checkstone(&["status", "--json"]), &Value::Null).0.stdout;
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["verdicts"][0]["verdict"], "notify", "{status}");
    assert_eq!(answer(world.hook("codex"), &session.stop_event()).holds(), RUN_TESTS);
}

/// `codex exec` has no prompt to type into, and the pane that it runs in is a shell's afterwards.
#[test]
fn a_run_that_takes_no_prompt_is_not_typed_to() {
    if !tmux_is_there() {
        return;
    }
    let (world, server) = (World::new(PYTHON), Server::new());
    let session = edited(&world);
    let window = server.client("codex", &world.repository, WORDS, &session.transcript);
    let mut argument = notification(&session, 1, WORDS);
    argument["client"] = json!("codex_exec");
    notify(&world, &server, &argument);
    assert_eq!((window.typed().as_str(), verdicts(&world)), ("", vec!["notify".to_owned()]));
}

/// A pane that a person named may run in another folder; it must still show the session.
#[test]
fn a_recorded_pane_is_the_sessions_wherever_it_was_started() {
    if !tmux_is_there() {
        return;
    }
    let (world, server) = (World::new(PYTHON), Server::new());
    let session = edited(&world);
    let window = server.client("codex", &world.home, WORDS, &session.transcript);
    let mut named =
        world.checkstone(&["session", "--agent", "codex", "--id", THREAD, "--new", "--tmux", &window.target]);
    named.arg("--socket").arg(server.socket());
    let shown = answer(named, &Value::Null).0.stdout;
    insta::assert_snapshot!(redacted(&shown), @"
    codex session 01a1ddc9-9555-7810-a9fe-42b83e4879c4
      hooks:     on
      work item: none
      tmux pane: %0 of the server [folder]/socket
    ");
    // Not in the environment of a pane: the server is the recorded one.
    answer(notify_command(&world, &notification(&session, 1, WORDS).to_string()), &Value::Null).passes();
    assert_eq!(window.typed(), format!("{RUN_TESTS}\n"));
    let removed = world.checkstone(&["session", "--agent", "codex", "--id", THREAD, "--tmux", "", "--json"]);
    let removed = fits("session.schema.json", &answer(removed, &Value::Null).0.stdout);
    assert_eq!(removed["pane"], Value::Null);
}

/// R12: a short turn is left alone.
#[test]
fn the_timer_of_the_policy_counts_for_notifications_too() {
    if !tmux_is_there() {
        return;
    }
    let world = World::new("presets = [\"python\"]\n[gate]\nmin_turn = \"30s\"\n");
    let server = Server::new();
    let session = edited(&world);
    let window = server.client("codex", &world.repository, WORDS, &session.transcript);
    notify(&world, &server, &notification(&session, 1, WORDS));
    assert_eq!((window.typed().as_str(), world.holds()), ("", vec![0]));
}

#[test]
fn what_concerns_nobody_is_passed_over_in_silence() {
    let world = World::new(PYTHON);
    let session = edited(&world);
    let mut title = notification(&session, 1, "Fix add");
    title["thread-id"] = json!("01a1ddc9-9f9c-7bc0-8d67-ee0c164fc24a");
    for argument in
        [title.to_string(), "{\"type\":\"something-new\"}".to_owned(), "[]".to_owned(), String::new()]
    {
        answer(notify_command(&world, &argument), &Value::Null).passes();
    }
    for arguments in [&["hook", "codex", "--notify"][..], &["hook", "claude", "--notify", "{}"]] {
        answer(world.checkstone(arguments), &Value::Null).passes();
    }
    let mut off = notify_command(&world, &notification(&session, 1, WORDS).to_string());
    off.env("CHECKSTONE", "off");
    answer(off, &Value::Null).passes();
    let subagent = "01a1dd38-9103-7ec1-b877-9f2343d40d9d";
    let meta = json!({ "type": "session_meta", "payload": { "id": subagent, "parent_thread_id": THREAD } });
    let file = rollout(&world).with_file_name(format!("rollout-2026-11-15T06-00-00-{subagent}.jsonl"));
    fs_err::write(file, format!("{meta}\n")).unwrap();
    let mut stop_of_subagent = notification(&session, 1, WORDS);
    stop_of_subagent["thread-id"] = json!(subagent);
    answer(notify_command(&world, &stop_of_subagent.to_string()), &Value::Null).passes();
    assert!(!world.journal().exists());
}
