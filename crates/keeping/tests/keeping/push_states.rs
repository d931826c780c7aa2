//! The states of a remote that a push meets, in one table: what is expected, and what happened.

use std::time::Duration;

use keeping::push::{PushLimits, PushOutcome};
use sandbox::redacted;
use text::{Column, Table};

use crate::pushes::{elsewhere, limits, pushed, remote_hook, saved, with_remote};
use crate::sandbox::Sandbox;
use crate::server::{Manner, Server};

struct PushState {
    name: &'static str,
    expected: &'static str,
    /// The commits that are ours to put on top of others.
    prepare: fn(&Sandbox) -> Vec<String>,
}

fn save(sandbox: &Sandbox) -> Vec<String> {
    vec![saved(sandbox, "notes", "ours\n")]
}

/// The remote behind a server.
fn served(sandbox: &Sandbox, manner: Manner) -> Vec<String> {
    let server = Server::start(&sandbox.root(), manner);
    sandbox.git(&["remote", "set-url", "origin", &server.url("")]);
    save(sandbox)
}

const STATES: [PushState; 13] = [
    PushState {
        name: "there is no remote",
        expected: "no remote",
        prepare: |sandbox| {
            sandbox.git(&["remote", "remove", "origin"]);
            save(sandbox)
        },
    },
    PushState { name: "a folder", expected: "pushed", prepare: save },
    PushState {
        name: "a server over HTTP",
        expected: "pushed",
        prepare: |sandbox| served(sandbox, Manner::Serves),
    },
    PushState {
        name: "a URL in the place of a remote",
        expected: "pushed",
        prepare: |sandbox| {
            let url = sandbox.git(&["remote", "get-url", "origin"]);
            sandbox.git(&["config", "remote.pushDefault", url.trim()]);
            save(sandbox)
        },
    },
    PushState {
        name: "a branch that it does not have yet",
        expected: "pushed",
        prepare: |sandbox| {
            sandbox.git(&["switch", "--quiet", "--create", "topic"]);
            save(sandbox)
        },
    },
    PushState {
        name: "newer commits of others",
        expected: "pushed on top",
        prepare: |sandbox| {
            elsewhere(sandbox, "b", "theirs\n");
            save(sandbox)
        },
    },
    PushState {
        name: "newer commits, and unpushed ones of the user",
        expected: "rejected",
        prepare: |sandbox| {
            elsewhere(sandbox, "b", "theirs\n");
            sandbox.write("a", "the user's\n");
            sandbox.git(&["commit", "--quiet", "--all", "--message=the user's"]);
            save(sandbox)
        },
    },
    PushState {
        name: "the same lines changed by others",
        expected: "conflict",
        prepare: |sandbox| {
            elsewhere(sandbox, "notes", "theirs\n");
            save(sandbox)
        },
    },
    PushState {
        name: "a hook of the remote that refuses",
        expected: "rejected",
        prepare: |sandbox| {
            remote_hook(sandbox, "pre-receive", "echo 'not on Fridays'; exit 1");
            save(sandbox)
        },
    },
    PushState {
        name: "a server that wants a password",
        expected: "credentials needed",
        prepare: |sandbox| served(sandbox, Manner::WantsPassword),
    },
    PushState {
        name: "a server that is overloaded for a moment",
        expected: "pushed",
        prepare: |sandbox| served(sandbox, Manner::Overloaded(2)),
    },
    PushState {
        name: "a server that never answers",
        expected: "timed out",
        prepare: |sandbox| served(sandbox, Manner::Silent),
    },
    PushState {
        name: "a folder that is gone",
        expected: "failed",
        prepare: |sandbox| {
            sandbox.git(&["remote", "set-url", "origin", "/nowhere/at.all"]);
            save(sandbox)
        },
    },
];

fn kind(outcome: &PushOutcome) -> &'static str {
    match outcome {
        PushOutcome::NoRemote => "no remote",
        PushOutcome::Pushed { rebased_from: None, .. } => "pushed",
        PushOutcome::Pushed { rebased_from: Some(_), .. } => "pushed on top",
        PushOutcome::Rejected { .. } => "rejected",
        PushOutcome::Conflict { .. } => "conflict",
        PushOutcome::AuthNeeded { .. } => "credentials needed",
        PushOutcome::TimedOut { .. } => "timed out",
        PushOutcome::Failed { .. } => "failed",
    }
}

#[test]
fn every_state_of_a_remote_has_its_outcome() {
    let mut table = Table::new([Column::left(0), Column::left(0), Column::left(0), Column::left(0)]);
    table.row(["state of the remote", "expected", "happened", "in words"].map(Into::into));
    let mut found = Vec::new();
    for state in STATES {
        let sandbox = with_remote();
        let ours = (state.prepare)(&sandbox);
        let attempt = match state.expected {
            "timed out" => Duration::from_millis(300),
            _ => limits().attempt,
        };
        let outcome = pushed(&sandbox, &PushLimits { ours: &ours, attempt, ..limits() });
        let words = redacted(outcome.to_string().lines().next().unwrap_or_default());
        table.row([state.name.into(), state.expected.into(), kind(&outcome).into(), words.into()]);
        found.push((state.name, kind(&outcome)));
    }
    println!("{}", table.lines(None));
    assert_eq!(found, STATES.map(|state| (state.name, state.expected)));
}
