//! Text typed into real tmux panes: what arrives, and where nothing is typed.

use std::path::PathBuf;

use agents::{Pane, Receiver, Refusal, Tmux, TmuxError};
use sandbox::{Sandbox, wait_for};
use transcript::Agent;

use crate::pane::{Server, tmux_is_there};

const CODEX: Receiver = Receiver::Agent(Agent::Codex);

#[track_caller]
fn refused(pane: &Pane, receiver: Receiver) -> Refusal {
    match pane.accepts(receiver) {
        Err(TmuxError::Refused { why, .. }) => why,
        other => panic!("{other:?}"),
    }
}

/// Spec 1, route 2: every byte as it is, then Enter as a key of its own.
#[test]
fn texts_arrive_literally_and_enter_comes_by_itself() {
    if !tmux_is_there() {
        return;
    }
    let server = Server::with_recorder("codex");
    let long = format!("[checkstone] {}", "a long message; ".repeat(1_000));
    for text in [
        "[checkstone] Context-aware checkpoint\n\nRequired actions:\n1. Run `make test`\n\n- ü 日本 🎉 “q”",
        "-t leading dash",
        "--",
        "ends in a semicolon;",
        "ends in an escaped one\\;",
        ";",
        "C-c",
        "Enter",
        "Escape C-d M-x",
        "back\\slash \\n \\e \\\\",
        "#{pane_id} #(touch /tmp/never) $HOME `id` $(id) %1 ~",
        "'single' \"double\" {braces} [brackets] | & > <",
        long.as_str(),
    ] {
        let before = server.reads_until(b"").len();
        server.tmux().deliver(&server.pane(), CODEX, text).unwrap();
        let reads = server.reads_until(b"\r")[before..].to_vec();
        let (last, typed) = reads.split_last().unwrap();
        assert_eq!(String::from_utf8(typed.concat()).unwrap(), text.trim());
        assert_eq!(last, b"\r", "Enter is not part of the text: {text}");
    }
}

/// A control character would be a key with a meaning of its own.
#[test]
fn control_characters_are_not_typed() {
    if !tmux_is_there() {
        return;
    }
    let server = Server::with_recorder("codex");
    let hostile = "[checkstone] a\u{1b}[31m\u{3}\u{4}b\r\nc\td\u{7f}\u{9b}\r\n";
    server.tmux().deliver(&server.pane(), CODEX, hostile).unwrap();
    assert_eq!(server.reads_until(b"\r").concat(), b"[checkstone] a[31mb\nc d\r");
}

/// Invariant 7: no text becomes a shell command, not even where it was asked for.
#[test]
fn a_shell_is_never_typed_to() {
    if !tmux_is_there() {
        return;
    }
    let server = Server::with(&["sh"]);
    wait_for("the shell", || server.pane().foreground.shell() == Some("sh"));
    for receiver in [Receiver::AnyAgent, CODEX, Receiver::AnyProgram] {
        assert_eq!(refused(&server.pane(), receiver), Refusal::Shell("sh".to_owned()));
        let error = server.tmux().deliver(&server.pane(), receiver, "exit").unwrap_err();
        assert!(matches!(error, TmuxError::Refused { .. }), "{error}");
    }
}

/// What a program that collects lines leaves unread, the shell behind it would read.
#[test]
fn a_program_that_reads_no_keys_is_not_typed_to() {
    if !tmux_is_there() {
        return;
    }
    let server = Server::with_recorder_in_mode("codex", "lines");
    for receiver in [CODEX, Receiver::AnyProgram] {
        assert_eq!(refused(&server.pane(), receiver), Refusal::NotInteractive("codex".to_owned()));
    }
    assert!(server.has_read_nothing());
}

#[test]
fn only_an_agent_is_typed_to_unless_forced() {
    if !tmux_is_there() {
        return;
    }
    let server = Server::with_recorder("editor");
    assert_eq!(refused(&server.pane(), Receiver::AnyAgent), Refusal::NoAgent("editor".to_owned()));
    assert_eq!(refused(&server.pane(), CODEX), Refusal::NoAgent("editor".to_owned()));
    server.tmux().deliver(&server.pane(), Receiver::AnyProgram, "forced").unwrap();
    assert_eq!(server.reads_until(b"\r").concat(), b"forced\r");
    let claude = Server::with_recorder("claude");
    assert_eq!(claude.pane().agent(), Some(Agent::Claude));
    assert_eq!(refused(&claude.pane(), CODEX), Refusal::OtherAgent("codex", "claude"));
}

#[test]
fn a_pane_whose_keys_go_elsewhere_is_not_typed_to() {
    if !tmux_is_there() {
        return;
    }
    let server = Server::with_recorder("codex");
    assert!(server.pane().accepts(CODEX).is_ok());
    server.run(&["copy-mode", "-t", "one"]);
    assert_eq!(refused(&server.pane(), CODEX), Refusal::CopyMode);
    server.run(&["send-keys", "-t", "one", "-X", "cancel"]);
    server.run(&["select-pane", "-d", "-t", "one"]);
    assert_eq!(refused(&server.pane(), CODEX), Refusal::InputOff);
    server.run(&["select-pane", "-e", "-t", "one"]);
    // The other pane is a shell.
    server.run(&["split-window", "-d", "-t", "one", "sh"]);
    server.run(&["set-option", "-w", "-t", "one", "synchronize-panes", "on"]);
    assert_eq!(refused(&server.pane(), CODEX), Refusal::Synchronized);
    server.run(&["set-option", "-w", "-t", "one", "synchronize-panes", "off"]);
    assert!(server.pane().accepts(CODEX).is_ok());
    assert!(server.has_read_nothing());
}

#[test]
fn what_is_not_there_is_said() {
    if !tmux_is_there() {
        return;
    }
    let server = Server::with_recorder("codex");
    let tmux = server.tmux();
    for target in ["two", "one:7", "one:0.5", "%99", "no such thing", "", " "] {
        let error = tmux.pane(target).unwrap_err();
        assert!(matches!(error, TmuxError::NoPane { .. }), "{target}: {error}");
    }
    let nobody = Tmux::new(PathBuf::from("tmux"), Some(server.path("nobody")));
    assert!(matches!(nobody.pane("one"), Err(TmuxError::NoServer { .. })));
    let missing = Tmux::new(server.path("no-tmux"), Some(server.socket()));
    assert!(matches!(missing.pane("one"), Err(TmuxError::NoTmux { .. })));
}

/// A server that hangs must not hang us.
#[test]
fn a_tmux_that_does_not_answer_is_given_up() {
    let sandbox = Sandbox::new();
    let program = sandbox.script("tmux", "exec sleep 1000");
    let error = Tmux::new(program, None).pane("one").unwrap_err();
    assert!(matches!(error, TmuxError::TimedOut { .. }), "{error}");
}

#[test]
fn panes_are_listed_with_their_screens_and_folders() {
    if !tmux_is_there() {
        return;
    }
    let server = Server::with_recorder("codex");
    let folder = server.path("work");
    fs_err::create_dir(&folder).unwrap();
    server.run(&[
        "new-window",
        "-d",
        "-n",
        "words",
        "-c",
        folder.to_str().unwrap(),
        "echo shown here; exec sleep 60",
    ]);
    let tmux = server.tmux();
    let words = tmux.pane("one:words").unwrap();
    wait_for("the words", || tmux.screen(&words).unwrap().contains("shown here"));
    wait_for("the folder", || tmux.pane("one:words").unwrap().foreground.folder() == Some(&folder));
    let panes = tmux.panes().unwrap();
    assert_eq!(panes.iter().map(|pane| pane.id.as_str()).collect::<Vec<_>>(), ["%0", "%1"]);
    assert_eq!(tmux.socket().unwrap(), server.socket());
}
