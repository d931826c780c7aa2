//! The nine results that the script printed which this replaces, its table of modes, and what is saved.

use sandbox::{RunToEnd as _, redacted, wait_for_some, without_durations};
use serde_json::json;

use super::world::{AUTONOMOUS, PATIENT, World, to_agent, to_person};

#[test]
fn test_environment_ready() {
    let world = World::new(AUTONOMOUS).with_origin();
    assert_eq!((world.commits(), world.git(&["status", "--porcelain"])), (1, String::new()));
    assert_eq!(world.status()["autonomous_execution"]["enabled"], true);
    assert_eq!(world.status()["autonomous_execution"]["router_decision"], json!(null));
}

#[test]
fn hook_executed_successfully() {
    let world = World::new(AUTONOMOUS);
    let answer = world.work_until(41);
    assert_eq!(answer["decision"], "block", "{answer:#}\n{}", world.log());
    assert_eq!(world.saves()[0].0, "saved");
}

#[test]
fn new_git_commit_created() {
    let world = World::new(AUTONOMOUS);
    world.work_until(41);
    assert_eq!(world.commits(), 2);
    assert_eq!(world.saves()[0].2.as_deref(), Some(world.git(&["rev-parse", "HEAD"]).as_str()));
}

#[test]
fn claude_md_was_updated() {
    let world = World::new(AUTONOMOUS);
    world.write(
        "CLAUDE.md",
        "# Notes\r\n\r\n## Last Session\r\n\r\nold\r\n### more\r\n\r\n## Rules\r\n\\1 stays\r\n",
    );
    world.git(&["add", "CLAUDE.md"]);
    world.git(&["commit", "--quiet", "--message=notes"]);
    world.work_until(41);
    let notes = world.text("CLAUDE.md");
    insta::assert_snapshot!(redacted(&notes), @r#"
    # Notes

    ## Last Session

    Notes on the sessions here are in `.checkstone/notes/`, one file for each save. Their names begin with the time: the last one is the newest.

    ## Rules
    \1 stays
    "#);
    assert_eq!(world.git(&["show", "HEAD:CLAUDE.md"]), notes.trim_end());
    insta::assert_snapshot!(redacted(world.notes()), @"
    # Notes on a session

    - When: [time], the context is 41 % full (save 1 of the session)
    - Branch: `main`
    - Asked: `Fix the counting`
    - Files changed: `src/lib.rs`
    - Tests: none were run
    - Open errors: none
    ");
    // What the section said before is not lost.
    insta::assert_snapshot!(world.notes_files().remove(0), @"
    # Notes from before

    old
    ### more
    ");
}

/// S1: what stood there before goes where the notes go, and by the same rules.
#[test]
fn an_earlier_section_is_looked_through_before_it_moves() {
    let world = World::new(AUTONOMOUS);
    world.write(
        "CLAUDE.md",
        "# P\n\n## Last Session\n\n- path /Users/kim/x\n- db postgres://kim:swordfish22@db/x\n- said kT%m97k!Mcy1yl4Ae twice\n- done\n",
    );
    world.work_until(41);
    insta::assert_snapshot!(world.notes_files().remove(0), @"
    # Notes from before

    - path ~/x
    - db postgres://(withheld)
    - said (withheld) twice
    - done
    ");
}

/// The notes do not repeat a name that looks like a key, and the save goes to the branch of that name all the same.
#[test]
fn a_branch_with_a_random_name_is_saved_to() {
    let world = World::new(AUTONOMOUS);
    world.git(&["checkout", "--quiet", "-b", "fix/zQ8kV3nT6wYb1LxC9mRd"]);
    world.work_until(41);
    assert_eq!(world.commits(), 2);
    let notes = world.notes();
    assert_eq!(notes.lines().find(|line| line.starts_with("- Branch")), Some("- Branch: `(withheld)`"));
}

#[test]
fn commit_message_contains_auto_checkpoint() {
    let world = World::new(AUTONOMOUS);
    world.work_until(41);
    assert_eq!(
        world.git(&["log", "-1", "--format=%B"]),
        "checkpoint: auto-checkpoint\n\nNotes on the session, since the context is 41 % full.\n\n\
         Co-Authored-By: Claude <noreply@anthropic.com>"
    );
}

/// Spec 4's own log has each step, however it was switched on.
#[test]
fn log_file_confirms_successful_execution() {
    let flagged = World::new(PATIENT);
    flagged.flag();
    let worlds =
        [flagged, World::new(PATIENT).with_variable("CLAUDE_LOOP_ACTIVE", "1"), World::new(AUTONOMOUS)];
    let mut logs = Vec::new();
    for world in worlds {
        let world = world.with_origin();
        std::fs::create_dir_all(world.workplace.path("home/.claude")).unwrap();
        world.write("CLAUDE.md", "# Rules\n\n## Last Session\n\nold\n");
        world.git(&["add", "CLAUDE.md"]);
        world.git(&["commit", "--quiet", "--message=notes"]);
        world.work_until(41);
        let log = world.workplace.path("home/.claude/auto-continue.log");
        let theirs = wait_for_some("the end of the log", || {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            text.ends_with("Direct checkpoint execution completed\n").then_some(text)
        });
        logs.push(redacted(&theirs));
    }
    assert_eq!((&logs[0], &logs[0]), (&logs[1], &logs[2]));
    insta::assert_snapshot!(logs[0], @"
    [[time]] Router decided: Auto-execute /checkpoint
    [[time]] Attempting direct checkpoint execution...
    [[time]] 🚀 Executing checkpoint directly in hook
    [[time]] 📝 Updating CLAUDE.md with session progress
    [[time]] ✅ Updated existing Last Session in CLAUDE.md
    [[time]] 📋 CLAUDE.md update complete
    [[time]] ✅ Notes written to .checkstone/notes/[id].md
    [[time]] 📦 Staging changes to git...
    [[time]] ✅ Files staged successfully
    [[time]] 🔍 Checking for staged changes...
    [[time]] ✅ Staged changes detected
    [[time]] 💾 Creating git commit...
    [[time]] ✅ Git commit successful
    [[time]] 📤 Pushing to remote...
    [[time]] ✅ Git push successful
    [[time]] ✅ Direct checkpoint execution completed
    ");
}

/// It says what became of the client's notes file: made, or with its first section, or with another one.
#[test]
fn the_log_says_whether_the_section_is_new() {
    let step = |notes: Option<&str>| {
        let world = World::new(AUTONOMOUS);
        std::fs::create_dir_all(world.workplace.path("home/.claude")).unwrap();
        if let Some(notes) = notes {
            world.write("CLAUDE.md", notes);
        }
        world.work_until(41);
        let log = std::fs::read_to_string(world.workplace.path("home/.claude/auto-continue.log")).unwrap();
        redacted(log.lines().find(|line| line.ends_with("CLAUDE.md") || line.ends_with("Session")).unwrap())
    };
    assert_eq!(
        [step(None), step(Some("# Rules\n")), step(Some("# Rules\n\n## Last Session\n\nold\n"))],
        [
            "[[time]] ✅ Created CLAUDE.md with Last Session",
            "[[time]] ✅ Added Last Session to CLAUDE.md",
            "[[time]] ✅ Updated existing Last Session in CLAUDE.md",
        ]
    );
}

/// Its times are the user's own.
#[test]
fn the_log_is_in_local_time() {
    let world = World::new(AUTONOMOUS).with_variable("TZ", "<+0530>-5:30");
    std::fs::create_dir_all(world.workplace.path("home/.claude")).unwrap();
    let clock = || {
        let mut date = std::process::Command::new("date");
        date.env("TZ", "<+0530>-5:30").arg("+%Y-%m-%d %H:%M:%S").answer().stdout.trim().to_owned()
    };
    let before = clock();
    world.work_until(41);
    let log = std::fs::read_to_string(world.workplace.path("home/.claude/auto-continue.log")).unwrap();
    for line in log.lines() {
        let time = line[1..].split(']').next().unwrap().to_owned();
        assert!(before <= time && time <= clock(), "{before} {line}");
    }
}

#[test]
fn hook_output_indicates_direct_execution() {
    let world = World::new(AUTONOMOUS);
    let answer = world.work_until(41);
    assert!(
        to_person(&answer).starts_with("✅ [checkstone] Auto-checkpoint executed: notes committed as "),
        "{answer:#}"
    );
    let execution = &answer["autonomous_execution"];
    assert_eq!(
        (&execution["enabled"], &execution["skill"], &execution["executed_directly"], &execution["reason"]),
        (&json!(true), &json!("checkpoint"), &json!(true), &json!("context_threshold"))
    );
    assert_eq!(execution["router_decision"]["route"], "direct");
    assert_eq!(execution["router_decision"]["commit"], world.git(&["rev-parse", "HEAD"]));
}

/// A9.
#[test]
fn no_commit_created_when_there_are_no_changes() {
    let world = World::new(AUTONOMOUS);
    world.prompt("What does this do?");
    world.turn("What does this do?", 41);
    assert_eq!(world.stop(), json!(null));
    assert_eq!((world.commits(), world.has_notes()), (1, false));
    assert_eq!(world.saves()[0].0, "nothing");
}

#[test]
fn cleanup_complete() {
    let world = World::new(AUTONOMOUS);
    world.work_until(41);
    world.workplace.git(&["checkout", "--quiet", "--", "src/lib.rs"]);
    assert_eq!(world.git(&["status", "--porcelain", "--ignored"]), "");
    for left in ["index.lock", "HEAD.lock", "refs/heads/main.lock"] {
        assert!(!world.has(&format!(".git/{left}")), "{left}");
    }
}

/// The table of execution modes: mode, direct execution, signal to the agent.
#[test]
fn the_table_of_execution_modes() {
    let signal = autosave::SIGNAL;
    assert_eq!(signal, "<command-name>/checkpoint</command-name>");

    let normal = World::new("[autosave]\nmode = \"normal\"\n");
    let answer = normal.work_until(41);
    assert_eq!((normal.commits(), normal.has_notes()), (1, false));
    assert_eq!(answer["decision"], json!(null));
    insta::assert_snapshot!(redacted(to_person(&answer)), @"[checkstone] The context is 41 % full: run `checkstone autosave` to commit notes on the work, then compact or start a new session");

    let failed = World::new(AUTONOMOUS);
    failed.write(".git/hooks/pre-commit", "#!/bin/sh\necho 'no commits today'\nexit 1\n");
    executable(&failed, ".git/hooks/pre-commit");
    let answer = failed.work_until(41);
    assert_eq!((failed.commits(), failed.has_notes()), (1, false));
    insta::assert_snapshot!(redacted(to_agent(&answer)), @"
    [checkstone] The context is filling up, and nothing was committed: the hook `pre-commit` refused the commit: no commits today; the whole tree is kept in snapshot [id].
    <command-name>/checkpoint</command-name>

    Note in a few lines what was done and what is next, commit that, then continue with the task.
    - Task: Fix the counting
    ");
    assert_eq!(answer["autonomous_execution"]["executed_directly"], false);

    let success = World::new(AUTONOMOUS);
    let answer = success.work_until(41);
    assert_eq!((success.commits(), success.has("CLAUDE.md")), (2, true));
    insta::assert_snapshot!(redacted(to_agent(&answer)), @"
    [checkstone] The context is 41 % full. Notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, not pushed: there is no remote to push to.

    Continue with the task.
    - Task: Fix the counting
    If all of it is done, say so and stop.
    ");
    assert_eq!(answer["autonomous_execution"]["executed_directly"], true);
}

/// A4: what was staged stays staged, and the tree shows nothing that was not there before.
#[test]
fn a4_what_was_staged_stays_staged() {
    let world = World::new(AUTONOMOUS);
    world.write("staged.txt", "staged\n");
    world.git(&["add", "staged.txt"]);
    world.prompt("Go on");
    world.write("untracked.txt", "new\n");
    world.turn("Go on", 50);
    let before = world.git(&["status", "--porcelain"]);
    world.stop();
    assert_eq!(world.commits(), 2);
    assert_eq!(world.git(&["status", "--porcelain"]), before);
    assert_eq!(committed(&world), ".checkstone/notes/[id].md\nCLAUDE.md");
}

/// A5.
#[test]
fn a5_only_untracked_work_is_work() {
    let world = World::new(AUTONOMOUS);
    world.prompt("Make a file");
    world.write("new.txt", "new\n");
    world.turn("Make a file", 41);
    assert_eq!(world.stop()["decision"], "block");
    assert_eq!(world.commits(), 2);
    assert_eq!(world.git(&["status", "--porcelain"]), "?? new.txt");
}

/// A8, and the notes of every client.
#[test]
fn a8_a_missing_notes_file_is_made() {
    let mut kept = Vec::new();
    for (agent, event, notes) in [
        ("claude", "Stop", "CLAUDE.md"),
        ("gemini", "AfterAgent", "GEMINI.md"),
        ("codex", "Stop", "AGENTS.md"),
    ] {
        let world = World::new(&format!("{AUTONOMOUS}window = 1000\n"));
        // By this key Codex CLI is known.
        let more = match agent {
            "codex" => json!({"prompt": "Do it", "turn_id": "prompt-1"}),
            _ => json!({"prompt": "Do it"}),
        };
        let opens = if agent == "gemini" { "BeforeAgent" } else { "UserPromptSubmit" };
        world.hook(agent, opens, more.clone());
        world.write("src/lib.rs", "pub fn one() -> u32 { 2 }\n");
        let mut more = more;
        // As once imagined: accepted where it is there.
        more["context_window"] = json!({"context_window_size": 1000, "current_usage": {"input_tokens": 400}});
        let answer = world.hook(agent, event, more);
        assert_eq!(answer["decision"], "block", "{agent} {answer:#}\n{}", world.log());
        kept.push(redacted(format!("{}\n{}", world.text(notes), world.notes())));
        assert_eq!(committed(&world), format!(".checkstone/notes/[id].md\n{notes}"));
        // H1: a key that the client does not know would make its hook fail.
        assert_eq!(answer.get("autonomous_execution").is_some(), agent == "claude", "{answer:#}");
    }
    insta::assert_snapshot!(kept.join("\n---\n"), @"
    ## Last Session

    Notes on the sessions here are in `.checkstone/notes/`, one file for each save. Their names begin with the time: the last one is the newest.

    # Notes on a session

    - When: [time], the context is 40 % full (save 1 of the session)
    - Branch: `main`
    - Asked: `Do it`
    - Files changed: `src/lib.rs`
    - Tests: unknown, the transcript could not be read
    - Open errors: none known

    ---
    ## Last Session

    Notes on the sessions here are in `.checkstone/notes/`, one file for each save. Their names begin with the time: the last one is the newest.

    # Notes on a session

    - When: [time], the context is 40 % full (save 1 of the session)
    - Branch: `main`
    - Asked: `Do it`
    - Files changed: `src/lib.rs`
    - Tests: unknown, the transcript could not be read
    - Open errors: none known

    ---
    ## Last Session

    Notes on the sessions here are in `.checkstone/notes/`, one file for each save. Their names begin with the time: the last one is the newest.

    # Notes on a session

    - When: [time], the context is 40 % full (save 1 of the session)
    - Branch: `main`
    - Asked: `Do it`
    - Files changed: `src/lib.rs`
    - Tests: unknown, the transcript could not be read
    - Open errors: none known
    ");
}

#[test]
fn the_agent_is_told_what_was_saved_and_what_is_next() {
    let world = World::new(AUTONOMOUS);
    world.write("buildguide.md", "# Plan\n\n- [x] parse\n- [ ] count the words\n- [ ] print\n");
    world.write(".claude/current-build.local.md", "feature: counting\nphase: tests\niteration: 3\n");
    world.prompt("Count the words");
    world.turn_of(
        "claude-opus-4-1",
        "Count the words",
        Some(90_000),
        &[("cargo test", true), ("./lint", false)],
    );
    let answer = world.stop();
    let said = to_agent(&answer);
    insta::assert_snapshot!(redacted(said), @"
    [checkstone] The context is 45 % full. Notes and 1 other file committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, not pushed: there is no remote to push to.

    Continue with the task.
    - Task: Count the words
    - Next item of `buildguide.md`: count the words
    - Build: feature counting, phase tests, iteration 3
    - Open error: A command returned errors — verify the issue is resolved (`./lint`)
    If all of it is done, say so and stop.
    ");
    let notes = world.notes();
    insta::assert_snapshot!(redacted(&notes), @"
    # Notes on a session

    - When: [time], the context is 45 % full (save 1 of the session)
    - Branch: `main`
    - Asked: `Count the words`
    - Files changed: none in this turn
    - Tests: `cargo test` passed (3 passed)
    - Commands: `./lint` failed (exit code 3)
    - Open errors: ``A command returned errors — verify the issue is resolved (`./lint`)``
    - Build: `feature counting, phase tests, iteration 3`
    - Next: `count the words`
    ");
    assert_eq!(committed(&world), ".checkstone/notes/[id].md\nCLAUDE.md\nbuildguide.md");
}

/// S13: what was committed is said, and nothing more: notes are not the work.
#[test]
fn s13_the_message_and_the_commit_say_what_was_committed() {
    let said = |configuration: &str, guide: Option<&str>| {
        let world = World::new(configuration);
        if let Some(guide) = guide {
            world.write("buildguide.md", guide);
        }
        let answer = world.work_until(41);
        let person = redacted(to_person(&answer));
        format!("{person}\n{}", world.git(&["log", "-1", "--format=%s%n%b"]))
    };
    let found = [
        said(AUTONOMOUS, None),
        said(AUTONOMOUS, Some("- [ ] Next\n")),
        said(&format!("{AUTONOMOUS}include = 'all'\n"), None),
    ];
    insta::assert_snapshot!(found.join("\n\n"), @"
    ✅ [checkstone] Auto-checkpoint executed: notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, not pushed: there is no remote to push to
    checkpoint: auto-checkpoint
    Notes on the session, since the context is 41 % full.

    Co-Authored-By: Claude <noreply@anthropic.com>

    ✅ [checkstone] Auto-checkpoint executed: notes and 1 other file committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, not pushed: there is no remote to push to
    checkpoint: auto-checkpoint
    Notes on the session, since the context is 41 % full.

    Co-Authored-By: Claude <noreply@anthropic.com>

    ✅ [checkstone] Auto-checkpoint executed: notes and 1 other file committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, not pushed: there is no remote to push to
    checkpoint: auto-checkpoint
    Notes on the session, and what its turn changed, since the context is 41 % full.

    Co-Authored-By: Claude <noreply@anthropic.com>
    ");
}

/// S8: a version of the notes that was staged, and is neither in HEAD nor on the disk, can be found again.
#[test]
fn s8_staged_notes_are_not_dropped_in_silence() {
    let world = World::new(AUTONOMOUS);
    world.write("CLAUDE.md", "# Mine\n\nstaged\n");
    world.git(&["add", "CLAUDE.md"]);
    world.write("CLAUDE.md", "# Mine\n\non the disk\n");
    let staged = world.git(&["rev-parse", ":CLAUDE.md"]);
    let answer = world.work_until(41);
    insta::assert_snapshot!(redacted(to_person(&answer)), @"✅ [checkstone] Auto-checkpoint executed: notes and 1 other file committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, you had staged another version of `CLAUDE.md`, which `git cat-file -p [hash]` shows, not pushed: there is no remote to push to");
    let named = to_person(&answer).split("cat-file -p ").nth(1).unwrap().split('`').next().unwrap();
    assert_eq!(
        (world.git(&["rev-parse", named]), world.git(&["cat-file", "-p", named])),
        (staged, "# Mine\n\nstaged".to_owned())
    );
}

/// The next item and the build are told as a prompt is: git may ignore the files that they come from.
#[test]
fn a12_plans_are_told_without_values_and_homes() {
    let world = World::new(AUTONOMOUS);
    world.write(".git/info/exclude", "buildguide.md\n.claude/\n");
    world.write("buildguide.md", "- [ ] Log in with password: hunter2 on /home/kim/box\n");
    world.write(
        ".claude/current-build.local.md",
        "feature: /home/kim/upload\nphase: DB_PASSWORD=hunter2\niteration: 3\n",
    );
    let answer = world.work_until(41);
    insta::assert_snapshot!(redacted(world.notes()), @"
    # Notes on a session

    - When: [time], the context is 41 % full (save 1 of the session)
    - Branch: `main`
    - Asked: `Fix the counting`
    - Files changed: `src/lib.rs`
    - Tests: none were run
    - Open errors: none
    - Build: `feature ~/upload, phase DB_PASSWORD=(withheld), iteration 3`
    - Next: `Log in with password: (withheld)`
    ");
    insta::assert_snapshot!(redacted(to_agent(&answer)), @"
    [checkstone] The context is 41 % full. Notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, not committed: `buildguide.md` (git ignores it), not pushed: there is no remote to push to.

    Continue with the task.
    - Task: Fix the counting
    - Next item of `buildguide.md`: Log in with password: (withheld)
    - Build: feature ~/upload, phase DB_PASSWORD=(withheld), iteration 3
    If all of it is done, say so and stop.
    ");
}

/// S8: a list of things to do that was staged before the turn, and that the turn has not touched, stays staged.
#[test]
fn s8_a_staged_buildguide_stays_staged() {
    let world = World::new(AUTONOMOUS);
    world.write("buildguide.md", "- [ ] half of a plan\n");
    world.git(&["add", "buildguide.md"]);
    let answer = world.work_until(41);
    assert_eq!(committed(&world), ".checkstone/notes/[id].md\nCLAUDE.md", "{answer:#}");
    assert_eq!(world.git(&["status", "--porcelain"]), "A  buildguide.md\n M src/lib.rs");
    insta::assert_snapshot!(redacted(to_person(&answer)), @"✅ [checkstone] Auto-checkpoint executed: notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, not committed: `buildguide.md` (you have staged it, and it stays staged), not pushed: there is no remote to push to");
}

/// Rules that somebody is writing are theirs to commit: the section is there already. The log says no more than was done.
#[test]
fn a_notes_file_whose_section_stays_is_not_committed() {
    let world = World::new(AUTONOMOUS);
    world.turn_number(1, 41);
    world.turn_number(2, 10);
    let rules = format!("# Half a rule\n\n{}", world.text("CLAUDE.md"));
    world.write("CLAUDE.md", &rules);
    std::fs::create_dir_all(world.workplace.path("home/.claude")).unwrap();
    let answer = world.turn_number(3, 42);
    assert_eq!(committed(&world), ".checkstone/notes/[id].md", "{answer:#}");
    assert_eq!(world.git(&["status", "--porcelain"]), " M CLAUDE.md\n M src/lib.rs");
    assert_eq!(world.text("CLAUDE.md"), rules);
    let log = std::fs::read_to_string(world.workplace.path("home/.claude/auto-continue.log")).unwrap();
    insta::assert_snapshot!(redacted(&log), @"
    [[time]] Router decided: Auto-execute /checkpoint
    [[time]] Attempting direct checkpoint execution...
    [[time]] 🚀 Executing checkpoint directly in hook
    [[time]] ✅ Notes written to .checkstone/notes/[id].md
    [[time]] 📦 Staging changes to git...
    [[time]] ✅ Files staged successfully
    [[time]] 🔍 Checking for staged changes...
    [[time]] ✅ Staged changes detected
    [[time]] 💾 Creating git commit...
    [[time]] ✅ Git commit successful
    [[time]] ✅ Direct checkpoint execution completed
    ");
}

/// Somebody took the section out and has not committed that: it is there again, as HEAD has it, and nothing is claimed.
#[test]
fn a_section_that_was_taken_out_comes_back_without_a_word() {
    let world = World::new(AUTONOMOUS);
    world.write("CLAUDE.md", "# Mine\n");
    world.turn_number(1, 41);
    world.turn_number(2, 10);
    let before = world.text("CLAUDE.md");
    world.write("CLAUDE.md", "# Mine\n");
    let answer = world.turn_number(3, 42);
    assert_eq!((world.text("CLAUDE.md"), world.commits()), (before, 3));
    insta::assert_snapshot!(redacted(to_person(&answer)), @"✅ [checkstone] Auto-checkpoint executed: notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, not pushed: there is no remote to push to");
}

#[test]
fn include_all_commits_what_the_turn_changed() {
    let world = World::new(&format!("{AUTONOMOUS}include = \"all\"\n"));
    world.write("older.txt", "not of this turn\n");
    world.prompt("Fix it");
    world.write("src/lib.rs", "pub fn one() -> u32 { 2 }\n");
    world.write("src/new.rs", "pub fn two() {}\n");
    world.turn("Fix it", 60);
    world.stop();
    assert_eq!(
        committed(&world),
        ".checkstone/notes/[id].md\nCLAUDE.md\nsrc/lib.rs\nsrc/new.rs",
        "{}",
        world.log()
    );
    assert_eq!(world.git(&["status", "--porcelain"]), "?? older.txt");
}

/// What you had staged before the turn is neither committed nor taken out of the index, though the turn went on with it; what the
/// agent stages is its own work.
#[test]
fn include_all_leaves_alone_what_was_staged_before() {
    let world = World::new(&format!("{AUTONOMOUS}include = \"all\"\n"));
    world.write("src/lib.rs", "pub fn one() -> u32 { 3 }\n");
    world.git(&["add", "src/lib.rs"]);
    world.prompt("Fix it");
    world.write("src/lib.rs", "pub fn one() -> u32 { 2 }\n");
    world.write("src/new.rs", "pub fn two() {}\n");
    world.git(&["add", "src/new.rs"]);
    world.turn("Fix it", 60);
    world.stop();
    assert_eq!(committed(&world), ".checkstone/notes/[id].md\nCLAUDE.md\nsrc/new.rs", "{}", world.log());
    assert_eq!(world.git(&["status", "--porcelain"]), "MM src/lib.rs");
    assert_eq!(world.git(&["show", ":src/lib.rs"]), "pub fn one() -> u32 { 3 }");
}

/// The whole tree is kept first, untracked files too.
#[test]
fn a_snapshot_keeps_the_whole_tree() {
    let world = World::new(AUTONOMOUS);
    world.write("scratch.txt", "precious\n");
    let answer = world.work_until(41);
    let id = answer["autonomous_execution"]["router_decision"]["snapshot"].as_str().unwrap().to_owned();
    let name = format!("refs/checkstone/snapshots/main/{id}");
    assert_eq!(world.git(&["show", &format!("{name}:scratch.txt")]), "precious");
    insta::assert_snapshot!(redacted(to_agent(&answer)), @"
    [checkstone] The context is 41 % full. Notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, not pushed: there is no remote to push to.

    Continue with the task.
    - Task: Fix the counting
    If all of it is done, say so and stop.
    ");
}

/// A12: with `include = "all"`, a file with a secret is left out and named, and the others are committed.
#[test]
fn a12_a_file_with_a_secret_is_left_out_and_named() {
    let secret = format!("sk_live_{}", "zQ8kV3nT6wYb1LxC9mRd4HsJ7pFg2Ae0");
    let saved = |files: &[&str], others: &[&str]| {
        let world = World::new(&format!("{AUTONOMOUS}include = \"all\"\n"));
        world.prompt("Use the key");
        for file in files {
            world.write(
                file,
                &format!("const TOKEN: &str = \"{secret}\";\nconst AGAIN: &str = \"{secret}\";\n"),
            );
        }
        for other in others {
            world.write(other, "// more\n");
        }
        world.turn("Use the key", 41);
        let answer = redacted(to_person(&world.stop()));
        let unsaved = world.git(&["status", "--porcelain", "--untracked-files=all"]);
        format!("{answer}\n{}\n{unsaved}", world.git(&["log", "-1", "--format=%b", "--name-only"]))
    };
    insta::assert_snapshot!(redacted([saved(&["src/key.rs", "key.txt"], &["src/more.rs"]), saved(&["buildguide.md"], &[])].join("\n\n")), @"
    ✅ [checkstone] Auto-checkpoint executed: notes and 1 other file committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, not committed: `key.txt` (line 1 looks like a secret: stripe-key, `stripe-key:key.txt:f235f8`), `src/key.rs` (line 1 looks like a secret: stripe-key, `stripe-key:src/key.rs:f235f8`), not pushed: there is no remote to push to
    Notes on the session, and what its turn changed, since the context is 41 % full.

    Co-Authored-By: Claude <noreply@anthropic.com>


    .checkstone/notes/[id].md
    CLAUDE.md
    src/more.rs
    ?? key.txt
    ?? src/key.rs

    ✅ [checkstone] Auto-checkpoint executed: notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, not committed: `buildguide.md` (line 1 looks like a secret: stripe-key, `stripe-key:buildguide.md:f235f8`), not pushed: there is no remote to push to
    Notes on the session, since the context is 41 % full.

    Co-Authored-By: Claude <noreply@anthropic.com>


    .checkstone/notes/[id].md
    CLAUDE.md
    ?? buildguide.md
    ");
}

/// A12: neither committed nor pushed, and never shown.
#[test]
fn a12_a_secret_is_not_committed() {
    let world = World::new(AUTONOMOUS).with_origin();
    world.prompt("Use the key");
    let secret = format!("sk_live_{}", "zQ8kV3nT6wYb1LxC9mRd4HsJ7pFg2Ae0");
    let rules = format!("const TOKEN: &str = \"{secret}\";\n");
    world.write("CLAUDE.md", &rules);
    world.turn("Use the key", 41);
    let answer = world.stop();
    assert_eq!(
        (world.commits(), world.text("CLAUDE.md"), world.has(".checkstone")),
        (1, rules, false),
        "{answer:#}"
    );
    insta::assert_snapshot!(redacted(to_agent(&answer)), @"
    [checkstone] Nothing was committed: the commit would contain what looks like a secret: `CLAUDE.md` line 1: stripe-key (`stripe-key:CLAUDE.md:f235f8`); the whole tree is kept in snapshot [id].

    Remove it from the files in the repository, or mark the line with `checkstone:allow-secret` if it is not a secret; do not commit it.
    ");
    insta::assert_snapshot!(redacted(answer.to_string()), @r#"{"decision":"block","reason":"[checkstone] Nothing was committed: the commit would contain what looks like a secret: `CLAUDE.md` line 1: stripe-key (`stripe-key:CLAUDE.md:f235f8`); the whole tree is kept in snapshot [id].\n\nRemove it from the files in the repository, or mark the line with `checkstone:allow-secret` if it is not a secret; do not commit it.","systemMessage":"⚠️ [checkstone] Auto-checkpoint failed: nothing was committed: the commit would contain what looks like a secret: `CLAUDE.md` line 1: stripe-key (`stripe-key:CLAUDE.md:f235f8`); the whole tree is kept in snapshot [id]","autonomous_execution":{"enabled":true,"skill":"checkpoint","reason":"context_threshold","executed_directly":false,"router_decision":{"route":"none","percent":41,"iteration":1,"commit":null,"branch":null,"snapshot":"[id]","push":"none","detail":"nothing was committed: the commit would contain what looks like a secret: `CLAUDE.md` line 1: stripe-key (`stripe-key:CLAUDE.md:f235f8`); the whole tree is kept in snapshot [id]"}}}"#);
    insta::assert_snapshot!(without_durations(world.log()), @"
    [time] claude 9f3c2f1e-1111-4222-8333-444455556666 autosave: context_threshold: nothing was committed: the commit would contain what looks like a secret: `CLAUDE.md` line 1: stripe-key (`stripe-key:CLAUDE.md:f235f8`); the whole tree is kept in snapshot [id] ([duration]) [= [duration]]
    [time] claude 9f3c2f1e-1111-4222-8333-444455556666 hold: the agent was told about the save and continues [[timings]]
    ");
    assert_eq!(world.git(&["rev-parse", "origin/main"]), world.git(&["rev-parse", "HEAD"]));
}

/// What was asked may hold a secret, which is no reason not to save.
#[test]
fn a12_a_secret_in_the_prompt_does_not_get_into_the_notes() {
    let world = World::new(AUTONOMOUS);
    let secret = format!("sk_live_{}", "zQ8kV3nT6wYb1LxC9mRd4HsJ7pFg2Ae0");
    world.prompt("Use it");
    world.write("src/lib.rs", "pub fn one() -> u32 { 2 }\n");
    world.turn(&format!("Use the token {secret} for the upload"), 41);
    world.stop();
    assert_eq!(world.commits(), 2, "{}", world.log());
    let notes = world.notes();
    insta::assert_snapshot!(redacted(&notes), @"
    # Notes on a session

    - When: [time], the context is 41 % full (save 1 of the session)
    - Branch: `main`
    - Asked: `(withheld: it looks like a secret)`
    - Files changed: `src/lib.rs`
    - Tests: none were run
    - Open errors: none
    ");
}

/// One file that cannot be looked through is left out and named; the rest is saved.
#[test]
fn include_all_leaves_out_what_is_too_large() {
    let world = World::new(&format!("{AUTONOMOUS}include = \"all\"\n"));
    world.prompt("Make it large");
    let large = std::fs::File::create(world.workplace.repo().join("large.bin")).unwrap();
    large.set_len(33 * 1024 * 1024).unwrap();
    world.write("src/lib.rs", "pub fn one() -> u32 { 2 }\n");
    world.turn("Make it large", 41);
    let answer = world.stop();
    insta::assert_snapshot!(redacted(to_agent(&answer)), @"
    [checkstone] The context is 41 % full. Notes and 1 other file committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, not committed: `large.bin` (it is over 32 MB and cannot be scanned for secrets), not pushed: there is no remote to push to.

    Continue with the task.
    - Task: Make it large
    If all of it is done, say so and stop.
    ");
    assert_eq!(committed(&world), ".checkstone/notes/[id].md\nCLAUDE.md\nsrc/lib.rs");
    assert_eq!(world.git(&["status", "--porcelain"]), "?? large.bin");
}

/// “Of the whole tree” is said where it is so.
#[test]
fn a_snapshot_that_has_not_everything_says_so() {
    let world = World::new(AUTONOMOUS);
    world.git(&["init", "--quiet", "inner"]);
    let answer = world.work_until(41);
    insta::assert_snapshot!(redacted(to_agent(&answer)), @"
    [checkstone] The context is 41 % full. Notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the tree without `inner` (it is a repository of its own without a commit: nothing of it is recorded), not pushed: there is no remote to push to.

    Continue with the task.
    - Task: Fix the counting
    If all of it is done, say so and stop.
    ");
}

/// A12: prompts, commands and errors are cut for the notes; a secret that lies across the cut is seen all the same.
#[test]
fn a12_a_secret_that_is_cut_does_not_get_into_the_notes() {
    let secret = format!("sk_live_{}", "zQ8kV3nT6wYb1LxC9mRd4HsJ7pFg2Ae0");
    let across = |limit: usize| format!("{} {secret}", "echo ".repeat((limit - 22) / 5));
    let world = World::new(AUTONOMOUS);
    world.prompt("Use it");
    world.write("src/lib.rs", "pub fn one() -> u32 { 2 }\n");
    let commands = [(across(160), true), (format!("make {}", across(60)), false)];
    let commands: Vec<(&str, bool)> = commands.iter().map(|(text, well)| (text.as_str(), *well)).collect();
    world.turn_of("claude-opus-4-1", &across(400), Some(82_000), &commands);
    let answer = world.stop();
    assert_eq!(world.commits(), 2, "{answer:#}\n{}", world.log());
    let notes = world.notes();
    insta::assert_snapshot!(redacted(&notes), @"
    # Notes on a session

    - When: [time], the context is 41 % full (save 1 of the session)
    - Branch: `main`
    - Asked: `(withheld: it looks like a secret)`
    - Files changed: `src/lib.rs`
    - Tests: none were run
    - Commands: `(withheld: it looks like a secret)` failed (exit code 3), another one succeeded
    - Open errors: `(withheld: it looks like a secret)`
    ");
    assert_eq!(notes.matches("(withheld: ").count(), 3, "{notes}");
    insta::assert_snapshot!(redacted(answer.to_string()), @r#"{"decision":"block","reason":"[checkstone] The context is 41 % full. Notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, not pushed: there is no remote to push to.\n\nContinue with the task.\n- Task: (withheld: it looks like a secret)\n- Open error: (withheld: it looks like a secret)\nIf all of it is done, say so and stop.","systemMessage":"✅ [checkstone] Auto-checkpoint executed: notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, not pushed: there is no remote to push to","autonomous_execution":{"enabled":true,"skill":"checkpoint","reason":"context_threshold","executed_directly":true,"router_decision":{"route":"direct","percent":41,"iteration":1,"commit":"[hash]","branch":"main","snapshot":"[id]","push":"none","detail":"notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, not pushed: there is no remote to push to"}}}"#);
}

/// The files of the last commit.
fn committed(world: &World) -> String {
    redacted(world.git(&["show", "--name-only", "--format=", "HEAD"]))
}

pub(crate) fn executable(world: &World, path: &str) {
    sandbox::make_executable(&world.workplace.repo().join(path));
}
