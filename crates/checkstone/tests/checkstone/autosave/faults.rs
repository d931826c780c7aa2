//! What stands in the way of a save: hooks that fail or hang, a repository in the middle of something, others at work in
//! it, places that cannot be written. The notes are then as they were, and what is said is true.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use machine::ProcessTable;
use sandbox::{RunToEnd as _, finish, redacted, wait_for, wait_for_some, without_durations};
use serde_json::json;

use super::direct_execution::executable;
use super::world::{AUTONOMOUS, World, to_agent, to_person};

/// A10: the fall-back signal, and the notes as they were.
#[test]
fn a10_a_failing_commit_hook_leaves_the_notes_and_signals() {
    let world = World::new(AUTONOMOUS);
    let notes = "# Notes\n\n## Last Session\n\nolder words\n";
    world.write("CLAUDE.md", notes);
    world.write(".git/hooks/pre-commit", "#!/bin/sh\necho 'the linter is unhappy' >&2\nexit 1\n");
    executable(&world, ".git/hooks/pre-commit");
    let answer = world.work_until(41);
    assert_eq!((world.commits(), world.text("CLAUDE.md").as_str()), (1, notes));
    insta::assert_snapshot!(redacted(to_agent(&answer)), @"
    [checkstone] The context is filling up, and nothing was committed: the hook `pre-commit` refused the commit: the linter is unhappy; the whole tree is kept in snapshot [id].
    <command-name>/checkpoint</command-name>

    Note in a few lines what was done and what is next, commit that, then continue with the task.
    - Task: Fix the counting
    ");
    assert!(to_person(&answer).starts_with("⚠️ [checkstone] Auto-checkpoint failed: nothing was committed"));
    assert_eq!(answer["autonomous_execution"]["router_decision"]["route"], "signal");
    // What was taken before stays: the whole tree is kept.
    assert_eq!(world.saves()[0].0, "failed");
    assert_eq!(world.status()["autosave"]["counts"]["failed"], 1);
}

/// A10: a hook that changes the notes and then refuses, as formatters do: what it made of them goes.
#[test]
fn a10_notes_that_a_failing_hook_has_changed_are_put_back() {
    let mut told = Vec::new();
    for notes in [Some("# Notes\n\n## Last Session\n\nolder words\n"), None] {
        let world = World::new(AUTONOMOUS);
        if let Some(notes) = notes {
            world.write("CLAUDE.md", notes);
        }
        world.write(".git/hooks/pre-commit", "#!/bin/sh\nsed -i 's/^Notes on/* Notes on/' CLAUDE.md\nsed -i 's/^- /* /' .checkstone/notes/*\nexit 1\n");
        executable(&world, ".git/hooks/pre-commit");
        let answer = world.work_until(41);
        let now = world.has("CLAUDE.md").then(|| world.text("CLAUDE.md"));
        assert_eq!((world.commits(), now.as_deref()), (1, notes), "{answer:#}");
        assert!(!world.has(".checkstone"), "{answer:#}");
        told.push(redacted(to_agent(&answer)));
        told.push(redacted(world.text(".git/checkstone/notes-after-hook")));
    }
    insta::assert_snapshot!(told.join("\n---\n"), @"
    [checkstone] The context is filling up, and nothing was committed: the hook `pre-commit` refused the commit: it ended with exit status: 1; the whole tree is kept in snapshot [id].
    <command-name>/checkpoint</command-name>

    Note in a few lines what was done and what is next, commit that, then continue with the task.
    - Task: Fix the counting

    ---
    # Notes

    ## Last Session

    * Notes on the sessions here are in `.checkstone/notes/`, one file for each save. Their names begin with the time: the last one is the newest.

    ---
    [checkstone] The context is filling up, and nothing was committed: the hook `pre-commit` refused the commit: it ended with exit status: 1; the whole tree is kept in snapshot [id].
    <command-name>/checkpoint</command-name>

    Note in a few lines what was done and what is next, commit that, then continue with the task.
    - Task: Fix the counting

    ---
    ## Last Session

    * Notes on the sessions here are in `.checkstone/notes/`, one file for each save. Their names begin with the time: the last one is the newest.
    ");
}

/// A10: ended in the middle of a hook, a save cannot put the notes back; the next one does, before it writes its own.
#[test]
fn a10_notes_of_a_save_that_was_ended_are_put_back_by_the_next() {
    let mut told = Vec::new();
    for notes in [Some("# Notes\n\n## Last Session\n\nolder words\n"), None] {
        let world = World::new("");
        if let Some(notes) = notes {
            world.write("CLAUDE.md", notes);
        }
        world.write("src/lib.rs", "pub fn one() -> u32 { 9 }\n");
        let hook = "#!/bin/sh\n[ -e ../second ] && exit 1\ntouch ../second\necho $$ > ../pid\nmv ../pid ../hook.pid\nexec sleep 100\n";
        world.write(".git/hooks/pre-commit", hook);
        executable(&world, ".git/hooks/pre-commit");
        let mut save =
            world.checkstone(&["autosave"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let pid = world.workplace.path("hook.pid");
        let hook = wait_for_some("the hook", || std::fs::read_to_string(&pid).ok());
        let end = |pid: &str| std::process::Command::new("kill").args(["-TERM", pid]).status().unwrap();
        end(&save.id().to_string());
        save.wait().unwrap();
        end(hook.trim());
        told.push(redacted(format!("{}\n{}", world.text("CLAUDE.md"), world.notes())));
        let output = world.checkstone(&["autosave"]).answer();
        let now = world.has("CLAUDE.md").then(|| world.text("CLAUDE.md"));
        assert_eq!((world.commits(), now.as_deref()), (1, notes), "{output:?}");
        assert!(!world.has(".checkstone"), "{output:?}");
    }
    insta::assert_snapshot!(told.join("\n---\n"), @"
    # Notes

    ## Last Session

    Notes on the sessions here are in `.checkstone/notes/`, one file for each save. Their names begin with the time: the last one is the newest.

    # Notes on the work

    - When: [time], a save was requested (no session is known here)
    - Branch: `main`
    - Files changed: `CLAUDE.md`, `src/lib.rs`

    ---
    ## Last Session

    Notes on the sessions here are in `.checkstone/notes/`, one file for each save. Their names begin with the time: the last one is the newest.

    # Notes on the work

    - When: [time], a save was requested (no session is known here)
    - Branch: `main`
    - Files changed: `src/lib.rs`
    ");
}

/// Git was told not to look at the client's notes file: the notes are committed without it.
#[test]
fn notes_that_git_does_not_look_at_are_told_and_put_back() {
    let mut told = Vec::new();
    for mark in ["--skip-worktree", "--assume-unchanged"] {
        let world = World::new(AUTONOMOUS);
        world.write("CLAUDE.md", "# Mine\n");
        world.git(&["add", "CLAUDE.md"]);
        world.git(&["commit", "--quiet", "--message=notes"]);
        world.git(&["update-index", mark, "CLAUDE.md"]);
        let answer = world.work_until(41);
        assert_eq!(
            (world.text("CLAUDE.md").as_str(), world.commits()),
            ("# Mine\n", 3),
            "{mark}: {answer:#}"
        );
        told.push(redacted(to_agent(&answer)));
    }
    insta::assert_snapshot!(told.join("\n---\n"), @"
    [checkstone] The context is 41 % full. Notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, not committed: `CLAUDE.md` (git was told to ignore its changes, by `git update-index --skip-worktree` or `--assume-unchanged`), not pushed: there is no remote to push to.

    Continue with the task.
    - Task: Fix the counting
    If all of it is done, say so and stop.
    ---
    [checkstone] The context is 41 % full. Notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, not committed: `CLAUDE.md` (git was told to ignore its changes, by `git update-index --skip-worktree` or `--assume-unchanged`), not pushed: there is no remote to push to.

    Continue with the task.
    - Task: Fix the counting
    If all of it is done, say so and stop.
    ");
}

/// A commit hook that hangs is ended with all that it started.
#[test]
fn a10_a_hanging_commit_hook_is_ended() {
    let world = World::new(&format!("{AUTONOMOUS}hook_timeout = \"300ms\"\n"));
    world.write(".git/hooks/pre-commit", "#!/bin/sh\necho $$ > ../hook.pid\nsleep 1000\n");
    executable(&world, ".git/hooks/pre-commit");
    let answer = world.work_until(41);
    assert_eq!((world.commits(), world.has_notes()), (1, false));
    insta::assert_snapshot!(redacted(to_agent(&answer)), @"
    [checkstone] The context is filling up, and nothing was committed: the hook `pre-commit` took longer than 300 ms and was stopped; the whole tree is kept in snapshot [id]; it is tried again at the next stop.
    <command-name>/checkpoint</command-name>

    Note in a few lines what was done and what is next, commit that, then continue with the task.
    - Task: Fix the counting
    ");
    let hook = std::fs::read_to_string(world.workplace.path("hook.pid")).unwrap();
    let (table, hook) = (ProcessTable::open().unwrap(), hook.trim().parse().unwrap());
    wait_for("the end of the hook", || table.read(hook).is_none_or(|process| !process.is_alive));
    assert!(!world.has(".git/index.lock"));
}

/// A11.
#[test]
fn a11_a_detached_head_is_not_committed_to() {
    let world = World::new(AUTONOMOUS);
    world.git(&["checkout", "--quiet", "--detach"]);
    let answer = world.work_until(41);
    assert_eq!((world.commits(), world.has_notes()), (1, false));
    insta::assert_snapshot!(redacted(to_agent(&answer)), @"
    [checkstone] The context is filling up, and nothing was committed: HEAD is on no branch, so a commit would be lost with the next switch: create a branch first; the whole tree is kept in snapshot [id].
    <command-name>/checkpoint</command-name>

    Note in a few lines what was done and what is next, commit that, then continue with the task.
    - Task: Fix the counting
    ");
}

/// A11.
#[test]
fn a11_nothing_is_committed_in_the_middle_of_a_rebase() {
    let world = World::new(AUTONOMOUS);
    world.write("README.md", "ours\n");
    world.git(&["commit", "--quiet", "--all", "--message=ours"]);
    world.git(&["checkout", "--quiet", "-b", "other", "HEAD~1"]);
    world.write("README.md", "theirs\n");
    world.git(&["commit", "--quiet", "--all", "--message=theirs"]);
    let rebase =
        world.workplace.prepared(std::process::Command::new("git")).args(["rebase", "main"]).answer();
    assert!(!rebase.succeeded());
    let before = world.git(&["status", "--porcelain"]);
    world.prompt("Resolve it");
    world.turn("Resolve it", 50);
    let answer = world.stop();
    insta::assert_snapshot!(redacted(to_agent(&answer)), @"
    [checkstone] The context is filling up, and nothing was committed: a rebase is in progress: finish or abort it first; the whole tree is kept in snapshot [id]; it is tried again at the next stop.
    <command-name>/checkpoint</command-name>

    Note in a few lines what was done and what is next, commit that, then continue with the task.
    - Task: Resolve it
    ");
    assert_eq!(world.git(&["status", "--porcelain"]), before);
}

/// A11: two sessions cross their thresholds in the same moment; both are saved, one after the other.
#[test]
fn a11_two_autosaves_at_once_are_one_after_the_other() {
    let world = World::new(AUTONOMOUS);
    world.write("src/lib.rs", "pub fn one() -> u32 { 9 }\n");
    let payload = |session: &str| {
        world.turn(&format!("Fix {session}"), 50);
        let transcript = world.workplace.path(&format!("{session}.jsonl"));
        std::fs::rename(world.workplace.transcript(), &transcript).unwrap();
        json!({"session_id": session, "transcript_path": transcript,
               "cwd": world.workplace.repo(), "prompt_id": "prompt-1", "hook_event_name": "Stop",
               "last_assistant_message": "Done."})
        .to_string()
    };
    let running: Vec<_> = ["one", "two", "three"]
        .map(payload)
        .into_iter()
        .map(|payload| world.checkstone(&["hook", "claude"]).start_with(payload))
        .collect();
    for child in running {
        let output = finish(child);
        let answer: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!(answer["autonomous_execution"]["executed_directly"], true, "{answer:#}\n{}", world.log());
    }
    assert_eq!(world.commits(), 4);
    assert_eq!(world.git(&["status", "--porcelain"]), " M src/lib.rs");
    assert_eq!(world.git(&["fsck", "--connectivity-only"]), "");
}

/// H9: one stop that comes twice is saved once.
#[test]
fn a_stop_that_is_delivered_twice_is_saved_once() {
    let world = World::new(AUTONOMOUS);
    world.prompt("Fix it");
    world.write("src/lib.rs", "pub fn one() -> u32 { 9 }\n");
    world.turn("Fix it", 50);
    let answers: Vec<_> = std::thread::scope(|scope| {
        let stops: Vec<_> = (0..4).map(|_| scope.spawn(|| world.stop())).collect();
        stops.into_iter().map(|stop| stop.join().unwrap()).collect()
    });
    let held = answers.iter().filter(|answer| answer["decision"] == "block").count();
    assert_eq!((held, world.commits()), (1, 2), "{answers:#?}");
}

/// A person commits at the same time: every commit that git took is there, and nothing of either is lost. Git itself
/// refuses a commit whose branch has moved under it, and the person repeats it.
#[test]
fn a_person_may_commit_at_the_same_time() {
    let world = World::new(AUTONOMOUS);
    world.write("src/lib.rs", "pub fn one() -> u32 { 9 }\n");
    world.turn("Fix it", 50);
    let (goes_on, commits) = std::thread::scope(|scope| {
        let person = scope.spawn(|| {
            (0..8)
                .filter(|number| {
                    world.write(&format!("mine-{number}.txt"), "mine\n");
                    let git = |arguments: &[&str]| {
                        let mut command = world.workplace.prepared(std::process::Command::new("git"));
                        command.args(arguments).answer().succeeded()
                    };
                    git(&["add", &format!("mine-{number}.txt")])
                        && git(&["commit", "--quiet", "--message=mine"])
                })
                .count()
        });
        let answer = world.stop();
        (answer["decision"] == "block", person.join().unwrap())
    });
    let saved = world.saves().iter().filter(|save| save.0 == "saved").count();
    assert_eq!(world.commits(), 1 + commits + saved, "{}", world.log());
    assert!(commits >= 6, "{commits} {}", world.log());
    // Either in a commit of our own, or in the one that the person made in that moment.
    assert_eq!((goes_on, saved), (saved == 1, usize::from(goes_on)), "{}", world.log());
    let of_notes = world.git(&["log", "--reverse", "--format=%s", "--", "CLAUDE.md"]);
    // The person's commit may have taken the notes along before ours was made on top of it.
    let expected = if goes_on { "checkpoint: auto-checkpoint" } else { "mine" };
    assert!(of_notes.lines().any(|subject| subject == expected), "{of_notes} {}", world.log());
    // `git commit` reads the index before it locks it, and may have written the older one back, so that the person's
    // next commit even undid ours: the next save sees to it.
    insta::assert_snapshot!(redacted(world.notes()), @"
    # Notes on a session

    - When: [time], the context is 50 % full (save 1 of the session)
    - Branch: `main`
    - Asked: `Fix it`
    - Files changed: none in this turn
    - Tests: none were run
    - Open errors: none
    ");
    assert!(world.checkstone(&["autosave"]).answer().succeeded());
    assert_eq!(world.git(&["show", "HEAD:CLAUDE.md"]), world.text("CLAUDE.md").trim_end());
    let status = world.git(&["status", "--porcelain"]);
    insta::assert_snapshot!(redacted(&status), @" M src/lib.rs");
    let mine = world.git(&["ls-tree", "--name-only", "HEAD"]).matches("mine-").count();
    assert!(mine >= commits, "{mine} of {commits}");
    assert!(!world.has(".git/index.lock"));
}

/// Where nothing can be written, nothing is claimed. Root may write everywhere, so a file stands in the way.
#[test]
fn notes_that_cannot_be_written_are_told() {
    let world = World::new(AUTONOMOUS);
    std::fs::create_dir(world.workplace.repo().join("CLAUDE.md")).unwrap();
    let answer = world.work_until(41);
    assert_eq!(world.commits(), 1);
    insta::assert_snapshot!(redacted(to_agent(&answer)), @"
    [checkstone] The context is filling up, and nothing was committed: the notes cannot be written: `[folder]/repo/CLAUDE.md` is not a file; the whole tree is kept in snapshot [id].
    <command-name>/checkpoint</command-name>

    Note in a few lines what was done and what is next, commit that, then continue with the task.
    - Task: Fix the counting
    ");
    assert_eq!(answer["autonomous_execution"]["executed_directly"], false, "{answer:#}");

    let linked = World::new(AUTONOMOUS);
    std::os::unix::fs::symlink("/etc/hostname", linked.workplace.repo().join("CLAUDE.md")).unwrap();
    let before = std::fs::read("/etc/hostname").unwrap_or_default();
    let answer = linked.work_until(41);
    assert_eq!(answer["autonomous_execution"]["executed_directly"], false, "{answer:#}");
    assert_eq!(std::fs::read("/etc/hostname").unwrap_or_default(), before);
}

#[test]
fn read_only_notes_stay_as_they_are() {
    let world = World::new(AUTONOMOUS);
    world.write("CLAUDE.md", "# Mine\n");
    let path = world.workplace.repo().join("CLAUDE.md");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
    let answer = world.work_until(41);
    assert_eq!((world.text("CLAUDE.md").as_str(), world.commits()), ("# Mine\n", 1), "{answer:#}");
    insta::assert_snapshot!(redacted(to_agent(&answer)), @"
    [checkstone] The context is filling up, and nothing was committed: the notes cannot be written: `[folder]/repo/CLAUDE.md` is read-only; the whole tree is kept in snapshot [id].
    <command-name>/checkpoint</command-name>

    Note in a few lines what was done and what is next, commit that, then continue with the task.
    - Task: Fix the counting
    ");
    insta::assert_snapshot!(without_durations(world.log()), @"
    [time] claude 9f3c2f1e-1111-4222-8333-444455556666 autosave: context_threshold: nothing was committed: the notes cannot be written: `[folder]/repo/CLAUDE.md` is read-only; the whole tree is kept in snapshot [id] ([duration]) [= [duration]]
    [time] claude 9f3c2f1e-1111-4222-8333-444455556666 hold: the agent was told about the save and continues [[timings]]
    ");
}

/// A client's notes file that git ignores stays on this machine; without the notes there would be nothing to commit.
#[test]
fn ignored_notes_are_told() {
    let world = World::new(AUTONOMOUS);
    world.write(".gitignore", "CLAUDE.md\n");
    let answer = world.work_until(41);
    assert_eq!((world.commits(), world.has("CLAUDE.md")), (2, true));
    insta::assert_snapshot!(redacted(to_person(&answer)), @"✅ [checkstone] Auto-checkpoint executed: notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, not committed: `CLAUDE.md` (git ignores it), not pushed: there is no remote to push to");
    let world = World::new(AUTONOMOUS);
    world.write(".gitignore", ".checkstone\n");
    let answer = world.work_until(41);
    assert_eq!((world.commits(), world.has_notes()), (1, false));
    insta::assert_snapshot!(redacted(to_agent(&answer)), @"
    [checkstone] The context is filling up, and nothing was committed: `.checkstone/notes/[id].md` cannot be committed (git ignores it); the whole tree is kept in snapshot [id].
    <command-name>/checkpoint</command-name>

    Note in a few lines what was done and what is next, commit that, then continue with the task.
    - Task: Fix the counting
    ");
}

/// What git has and the disk has not is not made anew: that would replace all of it by one section.
#[test]
fn notes_that_are_deleted_or_not_checked_out_are_not_made_anew() {
    let notes = "# Rules of a person\n";
    let ways: [(&str, &[&[&str]], &str); 3] = [
        ("sparse", &[&["sparse-checkout", "set", "--no-cone", "/src/"]], " M src/lib.rs"),
        ("staged", &[&["rm", "--quiet", "CLAUDE.md"]], "D  CLAUDE.md\n M src/lib.rs"),
        ("deleted", &[], " D CLAUDE.md\n M src/lib.rs"),
    ];
    let mut told = Vec::new();
    for (way, commands, status) in ways {
        let world = World::new(AUTONOMOUS);
        world.write("CLAUDE.md", notes);
        world.git(&["add", "CLAUDE.md"]);
        world.git(&["commit", "--quiet", "--message=notes"]);
        for command in commands {
            world.git(command);
        }
        let _ = std::fs::remove_file(world.workplace.repo().join("CLAUDE.md"));
        let answer = world.work_until(41);
        assert_eq!((world.commits(), world.has_notes()), (2, false), "{way}: {answer:#}");
        told.push(redacted(to_agent(&answer)));
        assert_eq!(world.git(&["status", "--porcelain"]), status, "{way}");
        assert_eq!(world.git(&["show", "HEAD:CLAUDE.md"]), notes.trim_end(), "{way}");
    }
    insta::assert_snapshot!(told.join("\n---\n"), @"
    [checkstone] The context is filling up, and nothing was committed: `CLAUDE.md` is in git but not on the disk, deleted or not checked out here: restore it, or name another file with `notes`; the whole tree is kept in snapshot [id].
    <command-name>/checkpoint</command-name>

    Note in a few lines what was done and what is next, commit that, then continue with the task.
    - Task: Fix the counting

    ---
    [checkstone] The context is filling up, and nothing was committed: `CLAUDE.md` is in git but not on the disk, deleted or not checked out here: restore it, or name another file with `notes`; the whole tree is kept in snapshot [id].
    <command-name>/checkpoint</command-name>

    Note in a few lines what was done and what is next, commit that, then continue with the task.
    - Task: Fix the counting

    ---
    [checkstone] The context is filling up, and nothing was committed: `CLAUDE.md` is in git but not on the disk, deleted or not checked out here: restore it, or name another file with `notes`; the whole tree is kept in snapshot [id].
    <command-name>/checkpoint</command-name>

    Note in a few lines what was done and what is next, commit that, then continue with the task.
    - Task: Fix the counting
    ");
}

/// H6: without a journal nothing can be counted, so nothing is done.
#[test]
fn without_a_journal_nothing_is_saved() {
    let world = World::new(AUTONOMOUS);
    world.write("src/lib.rs", "pub fn one() -> u32 { 9 }\n");
    world.turn("Fix it", 50);
    std::fs::create_dir_all(world.workplace.path("state/journal.db")).unwrap();
    assert_eq!(world.stop(), json!(null));
    assert_eq!((world.commits(), world.has_notes()), (1, false));
    insta::assert_snapshot!(without_durations(world.log()), @"[time] claude 9f3c2f1e-1111-4222-8333-444455556666 pass: fail open: the journal cannot be used: `[folder]/state/journal.db` is not a regular file [[timings]]");
}

/// Outside a repository there is nothing to save to.
#[test]
fn outside_a_repository_nothing_happens() {
    let world = World::new(AUTONOMOUS);
    world.turn("Fix it", 50);
    let elsewhere = world.workplace.path("home");
    let more = json!({"cwd": elsewhere, "last_assistant_message": "Done."});
    assert_eq!(world.hook("claude", "Stop", more), json!(null));
    assert!(!elsewhere.join("CLAUDE.md").exists());
}
