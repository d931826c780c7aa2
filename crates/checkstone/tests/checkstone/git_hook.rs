//! `init --git-hook`: real pushes and commits, which git stops while something in them is unproven, beside whatever hook is
//! there.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use sandbox::{Answer, RunToEnd as _};
use serde_json::{Value, json};

use crate::hook::session::Session;
use crate::hook::world::{PYTHON, RUN_TESTS, World};
use crate::workplace::valid;

const FIXED: &str = "def add(a, b):\n    return a + b\n";

/// A repository whose `main` is at a bare remote `origin`, and a `PATH` with nothing but what a hook needs.
fn published() -> World {
    let world = World::new(PYTHON);
    world.git(&[
        "init",
        "--quiet",
        "--bare",
        "--initial-branch=main",
        world.sandbox.path("remote.git").to_str().unwrap(),
    ]);
    world.git(&["remote", "add", "origin", world.sandbox.path("remote.git").to_str().unwrap()]);
    world.git(&["push", "--quiet", "origin", "main"]);
    let bin = world.home.join("bin");
    fs_err::create_dir(&bin).unwrap();
    symlink(env!("CARGO_BIN_EXE_checkstone"), bin.join("checkstone")).unwrap();
    world.sandbox.script(bin.join("pytest"), "exit 0");
    world
}

fn with_path(world: &World, mut command: Command) -> Command {
    command.env("PATH", format!("{}:/usr/bin:/bin", world.home.join("bin").display()));
    command
}

fn checkstone(world: &World, arguments: &[&str]) -> Answer {
    with_path(world, world.checkstone(arguments)).answer_to("")
}

/// What git does, and what it and its hooks say.
fn git(world: &World, arguments: &[&str]) -> Answer {
    let mut command = with_path(world, world.sandbox.prepared(Command::new("git")));
    command.args(arguments).current_dir(&world.repository).answer_to("")
}

/// Whether git was let through, and the lines that are not git's own.
fn said(answer: &Answer) -> (bool, Vec<String>) {
    let own = answer.stderr.lines().filter(|line| !line.starts_with("error: failed to push"));
    (answer.code == Some(0), own.map(str::to_owned).collect())
}

fn init(world: &World, arguments: &[&str]) -> Value {
    let answer = checkstone(world, &[&["init", "--json", "--yes", "--agent", "claude"], arguments].concat());
    valid(&answer.stdout, "init.schema.json")["git_hooks"].clone()
}

fn hook_file(world: &World, name: &str) -> PathBuf {
    world.repository.join(".git/hooks").join(name)
}

fn put_hook(file: &Path, text: &str, mode: u32) {
    fs_err::create_dir_all(file.parent().unwrap()).unwrap();
    fs_err::write(file, text).unwrap();
    fs_err::set_permissions(file, PermissionsExt::from_mode(mode)).unwrap();
}

/// An agent edits, is held, and goes on; the person commits that.
fn unproven_commit(world: &World, text: &str) {
    let mut session = Session::new(world, "claude");
    session.prompt("Fix add");
    session.edit("calc.py", text);
    session.stop("Done.").holds();
    session.receive(RUN_TESTS);
    session.stop("Done, really.").notifies();
    world.commit("work");
}

const PUSH: [&str; 4] = ["push", "--quiet", "origin", "main"];

#[test]
fn what_is_unproven_is_not_pushed_until_it_is_proven() {
    let world = published();
    assert_eq!(init(&world, &["--git-hook"])[0]["state"], "changed");
    unproven_commit(&world, FIXED);
    let pushed = git(&world, &PUSH);
    let (went, mut lines) = said(&pushed);
    assert!(!went);
    // The time of the stop.
    lines[3] = lines[3].replace(char::is_numeric, "0");
    assert_eq!(
        lines,
        [
            "unproven  1 file of 1",
            "",
            "python-tests: Run `pytest`",
            "  calc.py  since 0000-00-00T00:00:00Z, claude",
            "",
            "`checkstone prove -- pytest` runs it and records what it proves.",
            "To push anyway: `git push --no-verify`",
        ]
    );
    assert!(!said(&git(&world, &["push", "--quiet", "--dry-run", "origin", "main"])).0);
    assert_eq!(checkstone(&world, &["prove", "--", "pytest"]).code, Some(0));
    assert_eq!(said(&git(&world, &PUSH)), (true, vec![]));
    // A person's own commit, which nothing looked at, is not proven either; they may push it all the same.
    world.write("calc.py", "def add(a, b):\n    return b + a\n");
    world.commit("own");
    assert!(!said(&git(&world, &PUSH)).0);
    assert_eq!(said(&git(&world, &["push", "--quiet", "--no-verify", "origin", "main"])), (true, vec![]));
}

/// New branches, tags, deleted branches, several refs at once: what no remote has yet counts, and what came from one does not.
#[test]
fn only_what_no_remote_has_is_verified() {
    let world = published();
    init(&world, &["--git-hook", "pre-push"]);
    let went =
        |arguments: &[&str]| said(&git(&world, &[&["push", "--quiet", "origin"], arguments].concat())).0;
    assert!(went(&["main:new", "main:refs/tags/light"]));
    world.git(&["tag", "--annotate", "--message", "one", "heavy"]);
    world.git(&["tag", "file", "HEAD:README.md"]);
    assert!(went(&["heavy", "file"]));
    // Somebody else's work, which was never proven here, arrives and is merged.
    let other = world.sandbox.path("other");
    world.git(&[
        "clone",
        "--quiet",
        world.sandbox.path("remote.git").to_str().unwrap(),
        other.to_str().unwrap(),
    ]);
    world.sandbox.write(other.join("other.py"), "def other():\n    return 1\n");
    world.sandbox.git(&other, &["add", "--all"]);
    world.sandbox.git(&other, &["commit", "--quiet", "--message", "other"]);
    world.sandbox.git(&other, &["push", "--quiet", "origin", "HEAD:main"]);
    world.git(&["checkout", "--quiet", "-b", "topic"]);
    world.write("notes.md", "More\n");
    world.commit("notes");
    world.git(&["fetch", "--quiet"]);
    world.git(&["merge", "--quiet", "--no-edit", "origin/main"]);
    assert!(went(&["topic"]));
    unproven_commit(&world, FIXED);
    for refs in [&["topic"][..], &["topic:another"], &["main", "topic:refs/tags/v1"], &["--all"]] {
        assert!(!went(refs), "{refs:?}");
    }
    assert!(went(&["--delete", "new"]));
    assert!(went(&["main:third", "topic~1:refs/heads/fourth"]));
    assert_eq!(said(&git(&world, &["push", "--quiet", "origin", "topic~1:topic"])), (true, vec![]));
}

/// The index of the commit that is made counts, also where that is another one than the repository's.
#[test]
fn what_is_unproven_is_not_committed() {
    let world = published();
    assert_eq!(init(&world, &["--git-hook", "pre-commit"])[0]["hook"], "pre-commit");
    world.write("calc.py", FIXED);
    let commit = ["commit", "--quiet", "--message", "work"];
    let refused: [&[&str]; 2] = [&["--all"], &["--", "calc.py"]];
    for how in refused {
        let (went, lines) = said(&git(&world, &[&commit[..], how].concat()));
        assert_eq!((went, lines[0].as_str()), (false, "unproven  1 file of 1"), "{how:?}");
        assert_eq!(lines.last().unwrap(), "To commit anyway: `git commit --no-verify`");
    }
    world.write("notes.md", "More\n");
    world.git(&["add", "notes.md"]);
    assert_eq!(said(&git(&world, &commit)), (true, vec![]));
    checkstone(&world, &["prove", "--", "pytest"]);
    assert_eq!(said(&git(&world, &[&commit[..], &["--all"]].concat())), (true, vec![]));
}

/// What is there already runs as before, with the same input; after `uninstall` it is what it was.
#[test]
fn a_hook_that_is_there_stays_and_gets_what_git_says() {
    let own = [
        "#!/bin/sh\nset -eu\ncat >\"$PWD/../said\"\necho \"$1\" >>\"$PWD/../said\"\n",
        "#!/usr/bin/env bash\nset -o pipefail\nwhile read -r a b c d; do echo \"$a $b $c $d\"; done >../said; echo \"$1\" >>../said; exit 0",
        "cat >../said\nprintf '%s\\n' \"$1\" >>../said",
    ];
    for text in own {
        let world = published();
        let file = hook_file(&world, "pre-push");
        put_hook(&file, text, 0o755);
        let dry = checkstone(&world, &["init", "--git-hook", "--dry-run", "--json", "--agent", "claude"]);
        assert_eq!(valid(&dry.stdout, "init.schema.json")["git_hooks"][0]["state"], "changed");
        assert_eq!(fs_err::read_to_string(&file).unwrap(), text);
        let planned = init(&world, &["--git-hook"]);
        assert_eq!(planned[0]["state"], "changed");
        let notes = planned[0]["notes"].as_array().unwrap();
        assert_eq!(
            notes[..2],
            ["what was in it stays, and runs after our lines", "`git push --no-verify` skips it"]
        );
        // A second time nothing changes.
        let written = fs_err::read_to_string(&file).unwrap();
        assert_eq!(init(&world, &["--git-hook"])[0]["state"], "unchanged");
        assert_eq!(fs_err::read_to_string(&file).unwrap(), written);
        world.write("notes.md", "More\n");
        world.commit("notes");
        let (head, before) = (world.git(&["rev-parse", "HEAD"]), world.git(&["rev-parse", "origin/main"]));
        let said_to_it = || fs_err::read_to_string(world.sandbox.path("said")).unwrap();
        assert_eq!(said(&git(&world, &PUSH)), (true, vec![]));
        let (head, before) = (head.trim(), before.trim());
        assert_eq!(said_to_it(), format!("refs/heads/main {head} refs/heads/main {before}\norigin\n"));
        // With nothing to push, git says nothing.
        assert_eq!(said(&git(&world, &PUSH)), (true, vec![]));
        assert_eq!(said_to_it(), "origin\n");
        // Ours comes first.
        fs_err::remove_file(world.sandbox.path("said")).unwrap();
        unproven_commit(&world, FIXED);
        assert!(!said(&git(&world, &PUSH)).0);
        assert!(!world.sandbox.path("said").exists());
        assert_eq!(checkstone(&world, &["uninstall", "--yes"]).code, Some(0));
        assert_eq!(fs_err::read_to_string(&file).unwrap(), text);
        assert_eq!(fs_err::metadata(&file).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(said(&git(&world, &PUSH)), (true, vec![]));
    }
}

/// `core.hooksPath`, and a manager whose own folder is made anew.
#[test]
fn the_lines_stand_where_git_or_its_manager_looks() {
    let cases: [(&str, Option<&str>, &str); 3] = [
        (".githooks", None, ".githooks/pre-push"),
        (".husky/_", Some(". \"${0%/*}/h\"\n"), ".husky/pre-push"),
        ("../shared", None, "../shared/pre-push"),
    ];
    for (folder, stub, file) in cases {
        let world = published();
        world.git(&["config", "core.hooksPath", folder]);
        if let Some(stub) = stub {
            // As Husky 9 writes it.
            let starter = "#!/usr/bin/env sh\nn=$(basename \"$0\")\ns=$(dirname \"$(dirname \"$0\")\")/$n\n[ ! -f \"$s\" ] && exit 0\nsh -e \"$s\" \"$@\"\n";
            put_hook(&world.repository.join(folder).join("h"), starter, 0o644);
            put_hook(
                &world.repository.join(folder).join("pre-push"),
                &format!("#!/usr/bin/env sh\n{stub}"),
                0o755,
            );
            put_hook(&world.repository.join(file), "exit 0\n", 0o644);
        }
        init(&world, &["--git-hook"]);
        let text = fs_err::read_to_string(world.repository.join(file)).unwrap();
        let program =
            text.lines().find_map(|line| line.strip_prefix("checkstone_program=")).unwrap().to_owned();
        // Others have the program elsewhere.
        assert_eq!(program == "checkstone", folder.starts_with('.') && !folder.starts_with(".."), "{folder}");
        unproven_commit(&world, FIXED);
        assert!(!said(&git(&world, &PUSH)).0, "{folder}");
        let status = checkstone(&world, &["status", "--json"]);
        let hook = &valid(&status.stdout, "status.schema.json")["git_hooks"][0];
        assert_eq!((&hook["verifies"], &hook["problem"]), (&json!(true), &Value::Null), "{folder}");
        checkstone(&world, &["uninstall", "--yes"]);
        let left = fs_err::read_to_string(world.repository.join(file)).ok();
        assert_eq!(left.as_deref(), stub.map(|_| "exit 0\n"), "{folder}");
    }
}

/// Whatever is wrong with us, the person can push, and is told.
#[test]
fn the_hook_fails_open() {
    let world = published();
    init(&world, &["--git-hook"]);
    unproven_commit(&world, FIXED);
    assert!(!said(&git(&world, &PUSH)).0);
    let program = world.home.join("bin/checkstone");
    let shown = program.display();
    fs_err::remove_file(&program).unwrap();
    let dry = ["push", "--quiet", "--dry-run", "origin", "main"];
    let gone = format!("checkstone: there is no {shown}, so nothing was verified");
    assert_eq!(said(&git(&world, &dry)), (true, vec![gone]));
    let status = world.checkstone(&["status"]).answer_to("").stdout;
    let line = status.lines().find(|line| line.starts_with("git hook")).unwrap();
    let file = hook_file(&world, "pre-push");
    assert_eq!(
        line,
        format!(
            "git hook    `{}` calls `{shown}`, which does not exist: nothing is verified before a push",
            file.display()
        )
    );
    // One that crashes or does not know the option.
    for code in ["2", "101", "127"] {
        world.sandbox.script(&program, &format!("exit {code}"));
        assert_eq!(said(&git(&world, &dry)), (true, vec![]), "{code}");
    }
    fs_err::remove_file(&program).unwrap();
    symlink(env!("CARGO_BIN_EXE_checkstone"), &program).unwrap();
    world.write("checkstone.toml", "presets = [\"pyton\"]\n");
    let (went, lines) = said(&git(&world, &dry));
    assert_eq!((went, lines[0].as_str()), (true, "warning: nothing was verified: the policy has 1 mistake:"));
    fs_err::remove_file(world.repository.join("checkstone.toml")).unwrap();
    assert_eq!(said(&git(&world, &dry)), (true, vec![]));
}

/// What is no shell script, or what git does not run, is left alone; `doctor` and `status` know when the lines are gone.
#[test]
fn what_cannot_hold_the_lines_is_left_as_it_is() {
    for (text, mode, why) in [
        ("#!/usr/bin/env python3\nprint(1)\n", 0o755, "is not a shell script, so it is left unchanged"),
        (
            "#!/bin/sh\nexit 1\n",
            0o644,
            "is not executable, so git does not run it; make it executable, or remove it",
        ),
        (
            "#!/bin/sh\r\nexit 0\r\n",
            0o755,
            "has a first line that ends with CR and LF, so git cannot run it; save it with LF alone",
        ),
        (
            "#!/bin/sh\n# >>> checkstone >>>\nexit 1\n",
            0o755,
            "has our first line but not our last one, `# <<< checkstone <<<`",
        ),
    ] {
        let world = published();
        let file = hook_file(&world, "pre-push");
        put_hook(&file, text, mode);
        let planned = init(&world, &["--git-hook"]);
        let shown = format!("`{}` {why}", file.display());
        assert_eq!((&planned[0]["state"], &planned[0]["message"]), (&json!("refused"), &json!(shown)));
        assert_eq!(fs_err::read_to_string(&file).unwrap(), text);
    }
    let world = published();
    // What could not be written is not missed later.
    world.write("no-folder", "");
    world.git(&["config", "core.hooksPath", "no-folder/hooks"]);
    assert_eq!(init(&world, &["--git-hook"])[0]["state"], "refused");
    world.git(&["config", "--unset", "core.hooksPath"]);
    let doctor = checkstone(&world, &["doctor", "--json", "--agent", "claude"]);
    let findings = valid(&doctor.stdout, "doctor.schema.json")["findings"].clone();
    assert!(findings.as_array().unwrap().iter().all(|finding| finding["check"] != "git-hook"), "{findings}");
    init(&world, &["--git-hook"]);
    let findings = |world: &World| {
        let answer = checkstone(world, &["doctor", "--json", "--agent", "claude"]);
        let findings = valid(&answer.stdout, "doctor.schema.json")["findings"].clone();
        let own = findings.as_array().unwrap().iter().filter(|finding| finding["check"] == "git-hook");
        own.map(|finding| (finding["state"].clone(), finding["text"].clone())).collect::<Vec<_>>()
    };
    let file = hook_file(&world, "pre-push");
    let shown = file.display();
    assert_eq!(findings(&world), [(json!("good"), json!(format!("`{shown}` verifies before every push")))]);
    fs_err::remove_file(&file).unwrap();
    let gone = format!("our lines in `{shown}` are gone: nothing is verified before a push");
    assert_eq!(findings(&world), [(json!("problem"), json!(gone))]);
    init(&world, &["--git-hook"]);
    world.git(&["config", "core.hooksPath", ".githooks"]);
    let elsewhere = world.repository.join(".githooks/pre-push");
    let moved = format!(
        "our lines are in `{shown}`, and git runs `{}`: nothing is verified before a push",
        elsewhere.display()
    );
    assert_eq!(findings(&world), [(json!("problem"), json!(moved))]);
    // All of it is taken back, also where git does not look any more.
    assert_eq!(checkstone(&world, &["uninstall", "--yes"]).code, Some(0));
    assert!(!file.exists());
    assert_eq!(findings(&world), []);
}

/// An agent may add the hook, and the person hears of it; it may not take it away.
#[test]
fn an_agent_cannot_take_the_hook_away() {
    let world = published();
    let mut session = Session::new(&world, "claude");
    session.prompt("Set up checkstone");
    let by_agent = |arguments: &[&str]| {
        let mut command = with_path(&world, world.checkstone(arguments));
        command.env("CLAUDE_CODE_SESSION_ID", &session.id).answer_to("")
    };
    assert_eq!(by_agent(&["init", "--git-hook", "--yes", "--agent", "gemini"]).code, Some(0));
    assert_eq!(by_agent(&["uninstall", "--yes"]).code, Some(4));
    let file = hook_file(&world, "pre-push");
    assert!(file.exists());
    let told = session.stop("Done.").notifies();
    assert_eq!(
        told,
        format!(
            "[checkstone] The agent ran `checkstone init`: Gemini CLI registered in `~/.gemini/settings.json`; git's pre-push hook `{}` runs \
             `checkstone verify` before every push.\n[checkstone] The agent tried to run `checkstone uninstall`, which was \
             refused.",
            file.display()
        )
    );
}
