//! Issues of Linear that a workflow keeps: created once, moved by phases, ended by its end. Linear is a server on loopback
//! that behaves as badly as the test says.

use std::process::{Command, Stdio};

use sandbox::waiting::wait_for;
use sandbox::{Answer, RunToEnd as _, finish, redacted};
use serde_json::{Value, json};

use crate::integrations::workplace_on;
use crate::linear_server::{Conduct, LinearServer, graphql_error};
use crate::loopback_server::{Deed, answer};
use crate::workplace::{Workplace, valid};

const OUTPUT: &str = "workflow.schema.json";
const START: [&str; 7] = ["workflow", "start", "start", "--feature", "parser", "--title", "Parse dates"];

fn repository() -> Value {
    json!({"linear": {"enabled": true, "team": "Basecamp", "branch_prefix": "feature", "use_native_automation": false}})
}

fn user(server: &LinearServer) -> String {
    format!("[integrations.linear]\nenabled = true\nurl = \"{}\"\ntoken = \"very-secret\"\n", server.url())
}

fn workplace(server: &LinearServer) -> Workplace {
    workplace_on("main", &repository(), &user(server))
}

fn phase(workplace: &Workplace, command: &str, phase: &str, status: &str) -> Answer {
    workplace.run(&["workflow", "phase", command, phase, "--feature", "parser", "--status", status])
}

/// From the first command to the last, as an agent goes through it.
#[test]
fn an_issue_follows_its_workflow() {
    let server = LinearServer::well_behaved();
    let workplace = workplace(&server);
    insta::assert_snapshot!(redacted(workplace.shown(&START)), @"
    exit code: 0
    --- stdout
    Started start (parser): next phase: branch
      issue-creation: BAS-7: https://linear.app/acme/issue/BAS-7
      git switch --create feature/BAS-7
      checkstone workflow phase start branch --feature parser --status complete --summary '…'
    --- stderr
    ");
    assert_eq!(server.issues(), ["BAS-7 Parse dates: todo"]);
    let again = workplace.json(&[&START[..], &["--json"]].concat(), OUTPUT);
    let known =
        json!({"issue": "BAS-7", "url": "https://linear.app/acme/issue/BAS-7", "branch": "feature/BAS-7"});
    assert_eq!((&again["issue"], &again["resumed"]), (&known, &json!(true)));
    assert_eq!(server.requests(), ["teams", "create"], "started again, nothing is sent");

    workplace.git(&["switch", "--quiet", "--create", "feature/BAS-7"]);
    assert_eq!(
        phase(&workplace, "start", "branch", "in_progress").stderr,
        "BAS-7 is now Zustand doing in Linear\n"
    );
    assert_eq!(server.issues(), ["BAS-7 Parse dates: doing"]);
    assert_eq!(server.comments(), [""; 0], "a beginning is no news");
    assert_eq!(phase(&workplace, "start", "branch", "complete").stderr, "");
    // Another workflow of the same feature is about the same issue, and goes on when the first one ends.
    workplace.run(&["workflow", "start", "implement", "--feature", "parser"]);
    let ended = workplace.run(&["workflow", "complete", "start", "--feature", "parser"]);
    assert_eq!(ended.stderr, "BAS-7 stays open: `implement (parser)` is unfinished\n");
    assert_eq!(server.issues(), ["BAS-7 Parse dates: doing"]);
    for name in ["implementation", "validation"] {
        assert_eq!(phase(&workplace, "implement", name, "complete").stderr, "");
    }
    let ended = workplace.run(&["workflow", "complete", "implement", "--feature", "parser"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), "BAS-7 is now Zustand done in Linear\n"));
    assert_eq!(server.issues(), ["BAS-7 Parse dates: done"]);
    assert_eq!(
        server.comments(),
        [
            "**repo: start parser: phase branch is complete**",
            "**repo: start parser is complete**",
            "**repo: implement parser: phase implementation is complete**",
            "**repo: implement parser: phase validation is complete**",
            "**repo: implement parser is complete**",
        ]
    );
    // Work that begins again opens it again; what a person closed stays closed.
    phase(&workplace, "implement", "validation", "in_progress");
    assert_eq!(server.issues(), ["BAS-7 Parse dates: doing"]);
    server.set_state("BAS-7", "canceled");
    let told = phase(&workplace, "implement", "validation", "failed");
    assert_eq!(told.stderr, "BAS-7 stays Zustand no: somebody closed it in Linear\n");
}

/// With one workflow alone, its end is the end of the issue.
#[test]
fn the_end_of_the_only_workflow_ends_the_issue() {
    let server = LinearServer::well_behaved();
    let workplace = workplace(&server);
    workplace.run(&START);
    let ended = workplace.run(&["workflow", "complete", "start", "--feature", "parser"]);
    assert_eq!(ended.stderr, "BAS-7 is now Zustand done in Linear\n");
    assert_eq!(server.issues(), ["BAS-7 Parse dates: done"]);
    // The next one is about new work.
    workplace.run(&START);
    assert_eq!(server.issues(), ["BAS-7 Parse dates: done", "BAS-8 Parse dates: todo"]);
}

#[test]
fn with_native_automation_or_without_the_user_nothing_is_sent() {
    let server = LinearServer::well_behaved();
    let mut native = repository();
    native["linear"]["use_native_automation"] = json!(true);
    for (repository, user, stderr) in [
        (native, user(&server), ""),
        (
            repository(),
            String::new(),
            "warning: the repository asks to create its issue, which you have not switched on: set `enabled = true` and `token` in `[integrations.linear]` of your own `config.toml`\n",
        ),
        (
            repository(),
            "[integrations.linear]\nenabled = true\n".to_owned(),
            "warning: there is no token to create its issue: set `token` in `[integrations.linear]` of your own `config.toml`, or LINEAR_API_KEY\n",
        ),
    ] {
        let workplace = workplace_on("main", &repository, &user);
        let started = workplace.run(&["workflow", "start", "start", "--feature", "parser"]);
        assert_eq!((started.code, started.stderr.as_str()), (Some(0), stderr));
        phase(&workplace, "start", "branch", "complete");
        workplace.run(&["workflow", "complete", "start", "--feature", "parser"]);
    }
    assert_eq!(server.requests(), [""; 0]);
}

#[test]
fn an_issue_that_exists_is_taken() {
    let server = LinearServer::well_behaved();
    server.add_issue("BAS-6", "Parser");
    let workplace = workplace_on("feature/BAS-6-parser", &repository(), &user(&server));
    let named = workplace.json(&["workflow", "start", "start", "--feature", "BAS-6", "--json"], OUTPUT);
    assert_eq!(named["issue"], json!({"issue": "BAS-6", "url": null, "branch": "feature/BAS-6"}));
    // A feature is called as an issue is only if it is spelled as one.
    let other = workplace.json(&["workflow", "start", "start", "--feature", "utf-8", "--json"], OUTPUT);
    assert_eq!(other["issue"]["issue"], "BAS-8");
    workplace.run(&["workflow", "phase", "start", "branch", "--feature", "utf-8", "--status", "in_progress"]);
    assert_eq!(server.issues(), ["BAS-6 Parser: todo", "BAS-8 utf-8: doing"]);
    // Without a name of its own, the work is that of the branch.
    let plain = workplace.json(&["workflow", "start", "start", "--json"], OUTPUT);
    assert_eq!(plain["issue"]["issue"], "BAS-6");
    workplace.run(&["workflow", "phase", "start", "branch", "--status", "in_progress"]);
    assert_eq!(server.issues(), ["BAS-6 Parser: doing", "BAS-8 utf-8: doing"]);
    // Elsewhere it needs a title.
    workplace.git(&["switch", "--quiet", "main"]);
    let untitled = workplace.run(&["workflow", "start", "start", "--fresh"]);
    assert_eq!(untitled.stderr, "", "it starts over with its issue");
    let other = workplace_on("main", &repository(), &user(&server));
    insta::assert_snapshot!(other.run(&["workflow", "start", "start"]).stderr, @"
    warning: no issue was created: it needs a title
    hint: pass `--title`, or name the `--feature`
    ");
    assert_eq!(server.issues().len(), 2);
}

/// A name that only looks like an issue is none, of a feature or of a branch, unless its team is the repository's.
#[test]
fn an_issue_is_not_guessed() {
    let told = |branch: &str, feature: &str| {
        let server = LinearServer::well_behaved();
        server.add_issue("API-2", "Somebody else's");
        server.add_issue("BAS-6", "Parser");
        let mut repository = repository();
        repository["linear"]["team"] = json!("BAS");
        let workplace = workplace_on(branch, &repository, &user(&server));
        workplace.run(&[
            "workflow",
            "phase",
            "implement",
            "validation",
            "--feature",
            feature,
            "--status",
            "complete",
        ]);
        (server.requests().len(), server.comments().len())
    };
    assert_eq!(told("main", "api-2"), (0, 0));
    assert_eq!(told("feature/api-2", "api"), (0, 0));
    assert_eq!(told("main", "bas-6").1, 1);
    assert_eq!(told("ann/bas-6-parser", "parser").1, 1);
    assert_eq!(told("feature/BAS-6-parser", "parser").1, 1);
}

/// What did not arrive is said, with the command that sends it again; the workflow itself loses nothing.
#[test]
fn what_did_not_arrive_is_sent_again() {
    let down = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let is_down = std::sync::Arc::clone(&down);
    let server =
        LinearServer::new(move |kind, _| match (is_down.load(std::sync::atomic::Ordering::SeqCst), kind) {
            (false, _) => Conduct::Well,
            // Of everything that arrives the answer is lost.
            (true, "create" | "comment") => Conduct::Lost(Deed::Closed),
            (true, _) => Conduct::Instead(graphql_error(401, "AUTHENTICATION_ERROR", "No")),
        });
    let is_up = |up: bool| down.store(!up, std::sync::atomic::Ordering::SeqCst);
    let workplace = workplace(&server);
    insta::assert_snapshot!(redacted(workplace.shown(&START)), @"
    exit code: 0
    --- stdout
    Started start (parser): next phase: branch
      checkstone workflow phase start branch --feature parser --status complete --summary '…'
    --- stderr
    warning: Linear has not confirmed the issue: Linear does not accept the token (HTTP 401)
    hint: the workflow is saved; run `checkstone workflow start start --feature parser` to try again (it never creates a second issue)
    ");
    is_up(true);
    let found = workplace.json(&["workflow", "start", "start", "--feature", "parser", "--json"], OUTPUT);
    assert_eq!((&found["issue"]["issue"], &found["warnings"]), (&json!("BAS-7"), &json!([])));
    is_up(false);
    insta::assert_snapshot!(redacted(phase(&workplace, "start", "branch", "complete").to_string()), @"
    exit code: 0
    --- stdout
    start (parser): branch is complete; every phase is done
    --- stderr
    warning: BAS-7 was not updated: Linear does not accept the token (HTTP 401)
    hint: the workflow is saved; run `checkstone workflow start start --feature parser` to send it again
    ");
    let shown = workplace.run(&["workflow", "show", "start", "--feature", "parser"]).stdout;
    let issue: Vec<&str> = shown.lines().skip_while(|line| !line.starts_with("issue:")).collect();
    assert_eq!(issue, ["issue: BAS-7 https://linear.app/acme/issue/BAS-7", "  not sent yet: branch"]);
    is_up(true);
    let sent = workplace.run(&["workflow", "start", "start", "--feature", "parser"]);
    assert_eq!(sent.stderr, "BAS-7 is now Zustand doing in Linear\n");
    assert_eq!(server.issues(), ["BAS-7 Parse dates: doing"]);
    assert_eq!(server.comments(), ["**repo: start parser: phase branch is complete**"]);
    let requests = server.requests().len();
    workplace.run(&["workflow", "start", "start", "--feature", "parser"]);
    assert_eq!(server.requests().len(), requests, "nothing is left to send");

    is_up(false);
    let complete = ["workflow", "complete", "start", "--feature", "parser"];
    let told = workplace.run(&complete).stderr;
    assert_eq!(
        told,
        "warning: BAS-7 was not updated: Linear does not accept the token (HTTP 401)\n\
         hint: the workflow is saved; run `checkstone workflow complete start --feature parser` to send it again\n"
    );
    is_up(true);
    assert_eq!(workplace.run(&complete).stderr, "BAS-7 is now Zustand done in Linear\n");
    assert_eq!(server.issues(), ["BAS-7 Parse dates: done"]);
    assert_eq!(server.comments().len(), 2);
    // An end that is no longer true is not told.
    is_up(false);
    assert_ne!(workplace.run(&complete).stderr, "");
    phase(&workplace, "start", "branch", "pending");
    is_up(true);
    server.set_state("BAS-7", "started");
    assert_eq!(workplace.run(&["workflow", "start", "start", "--feature", "parser"]).stderr, "");
    assert_eq!(server.issues(), ["BAS-7 Parse dates: review"]);
    assert_eq!(server.comments().len(), 2);
    let shown = workplace.run(&["workflow", "show", "start", "--feature", "parser"]).stdout;
    assert_eq!(shown.lines().last(), Some("issue: BAS-7 https://linear.app/acme/issue/BAS-7"));
}

/// A comment that arrived while its answer did not is found, not posted again.
#[test]
fn a_comment_of_an_earlier_command_is_not_posted_again() {
    let server = LinearServer::new(|kind, before| match (kind, before) {
        ("comment", 0) => Conduct::Lost(Deed::Closed),
        ("posted", 0..3) => Conduct::Instead(answer(403, "")),
        _ => Conduct::Well,
    });
    let workplace = workplace(&server);
    workplace.run(&START);
    assert_ne!(phase(&workplace, "start", "branch", "complete").stderr, "");
    assert_eq!(workplace.run(&START).stderr.lines().count(), 2);
    assert_eq!(workplace.run(&START).stderr.lines().count(), 2);
    assert_eq!(workplace.run(&START).stderr, "BAS-7 is now Zustand doing in Linear\n");
    assert_eq!(server.comments().len(), 1);
}

/// Killed while Linear does not answer, with the issue there already: the next one finds it.
#[test]
fn a_kill_while_waiting_makes_no_second_issue() {
    for arrives in [true, false] {
        let server = LinearServer::new(move |kind, before| match (kind, before, arrives) {
            ("create", 0, true) => Conduct::Lost(Deed::Silent),
            ("create", 0, false) => Conduct::Instead(Deed::Silent),
            _ => Conduct::Well,
        });
        let workplace = workplace(&server);
        let mut child =
            workplace.checkstone(&START).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_for("the request", || server.requests().iter().any(|kind| kind == "create"));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(workplace.run(&START).stderr, "");
        assert_eq!(server.issues(), ["BAS-7 Parse dates: todo"], "{:?}", server.requests());
    }
}

/// Killed at any call that writes, and run again: one issue, and the workflow knows it.
#[test]
fn a_kill_at_any_write_makes_no_second_issue() {
    let strace =
        ["/usr/bin/strace", "/bin/strace"].into_iter().find(|path| std::path::Path::new(path).exists());
    let Some(strace) = strace else { return };
    let server = LinearServer::well_behaved();
    let workplace = workplace(&server);
    let mut features = Vec::new();
    for call in ["write", "fsync", "rename", "renameat", "renameat2"] {
        for number in 1.. {
            let feature = format!("{call}-number-{number}");
            let start = ["workflow", "start", "start", "--feature", &feature];
            let mut command = workplace.prepared(Command::new(strace));
            command.args(["-f", "-qq", "-o", "/dev/null", "-e"]);
            command.arg(format!("inject={call}:signal=SIGKILL:when={number}"));
            command.arg(env!("CARGO_BIN_EXE_checkstone")).args(start);
            let killed = !command.answer().succeeded();
            let known = workplace.json(&[&start[..], &["--json"]].concat(), OUTPUT);
            features.push(format!("{} {feature}: todo", known["issue"]["issue"].as_str().unwrap()));
            if !killed {
                break;
            }
            assert!(number < 100);
        }
    }
    assert!(features.len() > 10, "{features:?}");
    assert_eq!(server.issues(), features);
}

/// Two at once are one issue.
#[test]
fn many_processes_create_one_issue() {
    let server = LinearServer::well_behaved();
    let workplace = workplace(&server);
    let start = || {
        let mut command = workplace.checkstone(&[&START[..], &["--json"]].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<_> = (0..6).map(|_| start()).collect();
    for child in children {
        let answer = finish(child);
        assert_eq!(answer.stderr, "");
        assert_eq!(valid(&answer.stdout, OUTPUT)["issue"]["issue"], "BAS-7");
    }
    assert_eq!(server.issues(), ["BAS-7 Parse dates: todo"]);
}
