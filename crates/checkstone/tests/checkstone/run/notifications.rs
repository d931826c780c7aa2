//! How a user hears that a run is over: by a program, on the desktop, by a webhook, and only if their own file says so.

use std::os::unix::fs::PermissionsExt as _;

use sandbox::{make_executable, redacted, without_durations};
use serde_json::Value;

use super::{Project, plan, stage};
use crate::loopback_server::{Server, answer, nobody};

/// One stage that completes, and one that does not.
fn project(user: &str) -> Project {
    let project = Project::new(&plan(&[
        stage("S01_load_data", "command = 'true'"),
        stage("S02_train_model", "command = 'echo token=abc; exit 3'"),
    ]));
    let folder = project.workplace.path("home/.config/checkstone");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), user).unwrap();
    std::fs::set_permissions(folder.join("config.toml"), std::fs::Permissions::from_mode(0o600)).unwrap();
    project
}

/// A program that writes down its arguments and its stdin.
fn recorder(project: &Project, name: &str) -> String {
    let path = project.workplace.path(name);
    let told = project.workplace.path("told");
    let script = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > '{0}'\ncat > '{0}.json'\n", told.display());
    std::fs::write(&path, script).unwrap();
    make_executable(&path);
    path.display().to_string()
}

fn told(project: &Project) -> String {
    without_durations(std::fs::read_to_string(project.workplace.path("told")).unwrap())
}

const LINE: &str =
    "study: run r1 failed after [duration]: 1 of 2 stages completed; not completed: `S02_train_model`";

#[test]
fn a_program_gets_one_line_and_the_event() {
    let project = project("");
    let program = recorder(&project, "tell");
    let config = format!("[integrations.run_end]\ncommand = [\"{program}\", \"--now\"]\n");
    std::fs::write(project.workplace.path("home/.config/checkstone/config.toml"), config).unwrap();
    assert_eq!(project.run().code, Some(1));
    assert_eq!(told(&project), format!("--now\n{LINE}\n"));
    let event = std::fs::read(project.workplace.path("told.json")).unwrap();
    let mut event: Value = serde_json::from_slice(&event).unwrap();
    event["at"].take();
    event["seconds"].take();
    assert_eq!(
        event,
        serde_json::json!({
            "event": "run.failed", "at": null, "repository": "repo", "title": "study", "run": "r1", "state": "FAILED",
            "stages": 2, "completed": 1, "unfinished": ["S02_train_model"], "seconds": null,
        })
    );
}

#[test]
fn the_desktop_is_told_by_its_own_program() {
    let project = project("[integrations.run_end]\ndesktop = true\n");
    let folder = project.workplace.path("programs");
    std::fs::create_dir_all(&folder).unwrap();
    recorder(&project, "programs/notify-send");
    let path = std::env::join_paths(
        [folder].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let mut command = project.checkstone(&["run", "plan.toml", "--id", "r1"]);
    let answer = sandbox::RunToEnd::answer(command.env("PATH", path.unwrap()));
    assert_eq!(answer.code, Some(1), "{answer}");
    assert_eq!(told(&project), format!("--app-name=checkstone\n--\ncheckstone\n{LINE}\n"));
}

#[test]
fn a_webhook_is_told_if_the_user_wants_it_for_runs_too() {
    let hook = Server::new(vec![answer(200, "ok")]);
    let webhook = format!("[[integrations.webhook]]\nurl = \"{}\"\nformat = \"slack\"\n", hook.url);
    let quiet = project(&webhook);
    assert_eq!(quiet.run().code, Some(1));
    assert_eq!(hook.asked().len(), 0);
    let project = project(&format!("{webhook}[integrations.run_end]\nwebhooks = true\n"));
    assert_eq!(project.run().code, Some(1));
    let asked = hook.asked();
    let body = asked[0].json();
    assert_eq!((asked.len(), without_durations(body["text"].as_str().unwrap())), (1, LINE.to_owned()));
}

/// Neither a program that is not there nor one that fails, nor a webhook that nobody listens to, changes what the run
/// came to; and what a repository asks for counts for nothing.
#[test]
fn what_goes_wrong_is_a_warning() {
    let project = project(&format!(
        "[integrations.run_end]\nwebhooks = true\ncommand = [\"sh\", \"-c\", \"echo no >&2; exit 4\"]\n\
         [[integrations.webhook]]\nurl = \"{}\"\n",
        nobody()
    ));
    project
        .workplace
        .write("checkstone.toml", "[integrations.run_end]\ncommand = [\"touch\", \"from-repository\"]\n");
    let answer = project.run();
    assert_eq!(answer.code, Some(1));
    let (_, warnings) = answer.stderr.split_once("warning: ").unwrap();
    insta::assert_snapshot!(redacted(warnings), @"
    `sh` was not notified that the run ended: it ended with exit status: 4: no
    hint: the run itself is not affected; see `[integrations.run_end]` in your `config.toml`
    warning: `http://[server]` was not notified: http://[server] cannot be reached: the connection was refused
    hint: the run itself is not affected; see `[integrations.run_end]` in your `config.toml`
    ");
    assert!(!project.path("from-repository").exists());
}
