//! `checkstone autosave`, `checkstone statusline`, and what `status` tells.

use sandbox::{RunToEnd as _, redacted, without_durations};
use serde_json::{Value, json};

use super::world::{AUTONOMOUS, World};
use crate::workplace::SESSION;
use crate::workplace::valid;

fn run(world: &World, arguments: &[&str]) -> (i32, Value) {
    let output = world.checkstone(arguments).answer();
    assert_eq!(output.stderr, "", "{arguments:?}");
    (output.code.unwrap(), valid(&output.stdout, "autosave.schema.json"))
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
    let notes = world.notes();
    insta::assert_snapshot!(without_durations(&notes), @"
    # Notes on a session

    - When: [time], a save was requested (save 1 of the session)
    - Branch: `main`
    - Asked: `Fix the counting`
    - Files changed: `src/lib.rs`
    - Tests: none were run
    - Open errors: none
    ");
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
    assert_eq!((code, world.commits(), world.has_notes()), (0, 1, false));
    assert_eq!(told["message"], "wip: claude on main\n\nNotes on the session, since a save was requested.\n");
    assert_eq!(redacted(told["paths"].to_string()), r#"[".checkstone/notes/[id].md","CLAUDE.md"]"#);
    insta::assert_snapshot!(without_durations(told["section"].as_str().unwrap()), @"
    - When: [time], a save was requested (save 1 of the session)
    - Branch: `main`
    - Asked: `Fix the counting`
    - Files changed: `src/lib.rs`
    - Tests: none were run
    - Open errors: none
    ");
    let shown = world.workplace.shown(&["autosave", "--dry-run", "--agent", "codex"]);
    insta::assert_snapshot!(without_durations(&shown), @"
    exit code: 0
    --- stdout
    .checkstone/notes/[id].md:

    - When: [time], a save was requested (save 1 of the session)
    - Branch: `main`
    - Asked: `Fix the counting`
    - Files changed: `src/lib.rs`
    - Tests: unknown, the transcript could not be read
    - Open errors: none known

    Commit of .checkstone/notes/[id].md, AGENTS.md:

    wip: codex on main

    Notes on the session, since a save was requested.

    Push: none, there is no remote to push to

    Nothing was done: this was a dry run.
    --- stderr
    ");
}

/// A dry run says where it would push, and that nothing would be committed where that can be seen.
#[test]
fn a_dry_run_tells_of_the_push_and_of_what_stands_in_the_way() {
    let world = World::new("").with_origin();
    world.write("mine.txt", "mine\n");
    world.git(&["add", "mine.txt"]);
    world.git(&["commit", "--quiet", "--message=mine"]);
    world.work_until(20);
    let shown = world.workplace.shown(&["autosave", "--dry-run"]);
    insta::assert_snapshot!(without_durations(&shown), @"
    exit code: 0
    --- stdout
    .checkstone/notes/[id].md:

    - When: [time], a save was requested (save 1 of the session)
    - Branch: `main`
    - Asked: `Fix the counting`
    - Files changed: `src/lib.rs`
    - Tests: none were run
    - Open errors: none

    Commit of .checkstone/notes/[id].md, CLAUDE.md:

    checkpoint: auto-checkpoint

    Notes on the session, since a save was requested.

    Co-Authored-By: Claude <noreply@anthropic.com>

    Push: to `main` of `origin`, along with 1 other commit

    Nothing was done: this was a dry run.
    --- stderr
    ");
    world.write(".git/MERGE_HEAD", &world.git(&["rev-parse", "HEAD"]));
    let (_, told) = run(&world, &["autosave", "--dry-run", "--json"]);
    insta::assert_snapshot!(without_durations(told["detail"].as_str().unwrap()), @"nothing was done, and nothing would be committed: a merge is in progress; finish or abort it first");
    std::fs::remove_file(world.workplace.repo().join(".git/MERGE_HEAD")).unwrap();
    world.git(&["checkout", "--quiet", "--detach"]);
    let shown = world.workplace.shown(&["autosave", "--dry-run"]);
    insta::assert_snapshot!(without_durations(&shown), @"
    exit code: 0
    --- stdout
    .checkstone/notes/[id].md:

    - When: [time], a save was requested (save 1 of the session)
    - Branch: none, HEAD is detached
    - Asked: `Fix the counting`
    - Files changed: `src/lib.rs`
    - Tests: none were run
    - Open errors: none

    Commit of .checkstone/notes/[id].md, CLAUDE.md:

    checkpoint: auto-checkpoint

    Notes on the session, since a save was requested.

    Co-Authored-By: Claude <noreply@anthropic.com>

    Push: none, HEAD is on no branch

    Nothing was done, and nothing would be committed: HEAD is on no branch; create one first.
    --- stderr
    ");
}

/// By a person in a repository in which no agent has worked: nothing is said of a session, and no agent had a part in it. A
/// second save of the same has nothing to add, whenever it comes.
#[test]
fn by_hand_without_a_session_only_what_is_known_is_said() {
    let world = World::new("");
    world.write("src/lib.rs", "pub fn two() -> u32 { 2 }\n");
    let output = world.checkstone(&["autosave", "--no-push"]).answer();
    insta::assert_snapshot!(without_durations(&output.stdout), @"
    ✓ notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree
    · not pushed: you passed `--no-push`
    ");
    insta::assert_snapshot!(without_durations(world.notes()), @"
    # Notes on the work

    - When: [time], a save was requested (no session is known here)
    - Branch: `main`
    - Files changed: `src/lib.rs`
    ");
    insta::assert_snapshot!(world.git(&["log", "-1", "--format=%B"]), @"
    checkpoint: auto-checkpoint

    Notes on the work, since a save was requested.
    ");
    let (_, told) = run(&world, &["autosave", "--dry-run", "--no-push", "--json"]);
    assert_eq!(told["push"]["detail"], "none, you passed `--no-push`");
    let notes = world.git(&["ls-files", ".checkstone/notes"]);
    let earlier = format!(".checkstone/notes/20200102T030405Z-{}", notes.rsplit_once('-').unwrap().1);
    // As if it had been saved long ago.
    world.git(&["mv", &notes, &earlier]);
    world.git(&["commit", "--quiet", "--amend", "--no-edit"]);
    let journal = rusqlite::Connection::open(world.workplace.path("state/journal.db")).unwrap();
    journal.execute("UPDATE autosaves SET commit_id = ?1", [world.git(&["rev-parse", "HEAD"])]).unwrap();
    let (code, told) = run(&world, &["autosave", "--json"]);
    assert_eq!((code, told["outcome"].as_str(), world.commits()), (0, Some("nothing"), 2), "{told:#}");
    world.write("buildguide.md", "- [x] all of it\n");
    let (code, told) = run(&world, &["autosave", "--json"]);
    assert_eq!((code, told["outcome"].as_str(), world.commits()), (0, Some("saved"), 3), "{told:#}");
    // The same name, but another content.
    world.write("src/lib.rs", "pub fn two() -> u32 { 1 + 1 }\n");
    let (code, told) = run(&world, &["autosave", "--json"]);
    assert_eq!((code, told["outcome"].as_str(), world.commits()), (0, Some("saved"), 4), "{told:#}");
}

/// Somebody who has switched to another branch since is not told that the agent was asked for it there.
#[test]
fn by_hand_on_another_branch_the_branch_of_the_turn_is_named() {
    let section = |world: World| {
        world.prompt("Fix the counting");
        world.turn_of("claude-opus-4-1", "Fix the counting", None, &[("cargo test", false)]);
        world.stop();
        let journal = rusqlite::Connection::open(world.workplace.path("state/journal.db")).unwrap();
        journal.execute("UPDATE turns SET opened_at = 1 WHERE baseline IS NULL", []).unwrap();
        world.git(&["checkout", "--quiet", "-b", "other"]);
        world.write("other.txt", "other\n");
        let (_, told) = run(&world, &["autosave", "--dry-run", "--json"]);
        without_durations(told["section"].as_str().unwrap())
    };
    let known_at_the_prompt = section(World::with_policy(Some("presets = [\"rust\"]\n"), ""));
    insta::assert_snapshot!(known_at_the_prompt, @"
    - When: [time], a save was requested (save 1 of the session)
    - Branch: `other`
    - Asked (of a turn that began on `main`): `Fix the counting`
    - Files changed: `other.txt`
    - Tests (of a turn that began on `main`): `cargo test` failed (exit code 3)
    - Open errors (of a turn that began on `main`): ``A command returned errors — verify the issue is resolved (`cargo test`)``
    ");
    assert_eq!(section(World::new("")), known_at_the_prompt, "known by git's log of HEAD");
}

/// What a person has to know, or can do about it, is said.
#[test]
fn by_hand_a_secret_a_staged_version_and_a_complaint_are_explained() {
    let world = World::new("[autosave]\ninclude = \"all\"\nallow_secrets = [\"nonsense\"]\n");
    world.write("CLAUDE.md", "# Staged\n");
    world.git(&["add", "CLAUDE.md"]);
    world.write("CLAUDE.md", "# Mine\n");
    world.write(".git/hooks/post-commit", "#!/bin/sh\necho 'no more disk' >&2\nexit 1\n");
    super::direct_execution::executable(&world, ".git/hooks/post-commit");
    let output = world.checkstone(&["autosave", "--json"]).answer();
    let told = valid(&output.stdout, "autosave.schema.json");
    let remarks = told["remarks"].to_string();
    insta::assert_snapshot!(without_durations(&remarks), @r#"["you had staged another version of `CLAUDE.md`, which `git cat-file -p [hash]` shows","after the commit: the hook `post-commit` failed: no more disk"]"#);
    let secret = format!("sk_live_{}", "zQ8kV3nT6wYb1LxC9mRd4HsJ7pFg2Ae0");
    world.write("key.txt", &format!("{secret}\n"));
    let output = world.checkstone(&["autosave"]).answer();
    insta::assert_snapshot!(without_durations(&output.stdout), @"
    ✓ notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, not committed: `key.txt` (line 1 looks like a secret: stripe-key, `stripe-key:key.txt:f235f8`)
    · after the commit: the hook `post-commit` failed: no more disk
    · not pushed: there is no remote to push to
    ");
    world.write("CLAUDE.md", &format!("{secret}\n"));
    let output = world.checkstone(&["autosave"]).answer();
    let said = output.stdout.clone();
    insta::assert_snapshot!(without_durations(&said), @"
    ✗ nothing was committed: the commit would contain what looks like a secret: `CLAUDE.md` line 1: stripe-key (`stripe-key:CLAUDE.md:f235f8`); `key.txt` line 1: stripe-key (`stripe-key:key.txt:f235f8`); the whole tree is kept in snapshot [id]
    hint: remove it; if it is not a secret, put `checkstone:allow-secret` on that line, or add its kind or fingerprint to `allow_secrets` in `[autosave]`
    ");
    let warned = output.stderr.clone();
    insta::assert_snapshot!(without_durations(&warned), @"
    warning: `allow_secrets` names no known kind: nonsense
    hint: the kinds are aws-access-key, aws-secret-key, github-token, github-fine-grained-token, gitlab-token, slack-token, slack-webhook, stripe-key, google-api-key, google-oauth-secret, google-oauth-token, openai-key, anthropic-key, openrouter-key, groq-key, xai-key, perplexity-key, replicate-token, huggingface-token, npm-token, npm-auth, pypi-token, rubygems-key, crates-io-token, nuget-key, docker-token, digitalocean-token, databricks-token, sendgrid-key, twilio-key, mailgun-key, mailchimp-key, shopify-token, telegram-token, discord-webhook, discord-token, linear-key, notion-token, figma-token, postman-key, sentry-token, grafana-token, newrelic-key, pulumi-token, supabase-token, planetscale-token, doppler-token, vault-token, terraform-token, atlassian-token, heroku-key, square-token, facebook-token, airtable-token, age-key, azure-storage-key, azure-client-secret, web-token, private-key, database-password, url-token, command-password, sql-password, assigned-secret, assigned-variable, secret-file
    ");
}

/// Once, in words, and without a number.
#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let world = World::new("");
    world.write(".checkstone", "");
    let output = world.checkstone(&["autosave", "--no-push"]).answer();
    insta::assert_snapshot!(without_durations(&output.stdout), @"✗ nothing was committed: the notes cannot be written: failed to create directory `[folder]/repo/.checkstone/notes`: Not a directory; the whole tree is kept in snapshot [id]");
}

/// A mistake in the user's own configuration is told, whatever table it is in.
#[test]
fn status_tells_of_mistakes_in_the_users_configuration() {
    let world = World::new("[snapshot]\nkep = 2\n");
    let output = world.checkstone(&["status"]).answer();
    let said = output.stderr.clone();
    insta::assert_snapshot!(without_durations(&said), @"
    warning: your configuration has 1 mistake:
    ~/.config/checkstone/config.toml:2:1: unknown key `kep`; did you mean `keep`?
    hint: nothing is saved until you fix this
    ");
}

/// `push = false` beside a mistake must not become a push.
#[test]
fn settings_with_a_mistake_save_nothing() {
    let world = World::new("[autosave]\nmod = \"normal\"\npush = false\n").with_origin();
    world.work_until(50);
    let output = world.checkstone(&["autosave"]).answer();
    assert_eq!((output.code, world.commits()), (Some(2), 1));
    let said = output.stderr;
    insta::assert_snapshot!(without_durations(&said), @"
    error: your configuration has 1 mistake:
    ~/.config/checkstone/config.toml:2:1: unknown key `mod`; did you mean `mode`?
    hint: nothing is saved until you fix this
    ");
}

#[test]
fn what_could_not_be_saved_or_pushed_is_the_exit_code() {
    let world = World::new("[autosave]\npush = 'always'\n");
    world.git(&["remote", "add", "origin", "/nonexistent/repository.git"]);
    world.work_until(20);
    let (code, told) = run(&world, &["autosave", "--json"]);
    assert_eq!(
        (code, told["outcome"].as_str(), told["push"]["state"].as_str()),
        (1, Some("saved"), Some("failed"))
    );
    world.git(&["checkout", "--quiet", "--detach"]);
    let (code, told) = run(&world, &["autosave", "--no-push", "--json"]);
    assert_eq!((code, told["outcome"].as_str()), (5, Some("failed")), "{told:#}");
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

/// Spec 4's custom commit messages: every word of a template is filled in.
#[test]
fn the_commit_message_is_the_users() {
    let world = World::new(&format!(
        "{AUTONOMOUS}subject = \"wip({{branch}}): save {{iteration}} of {{agent}}\"\n\
         body = \"At {{percent}} %: {{reason}}\"\nco_author = \"A Person <a@example.org>\"\n"
    ));
    world.work_until(41);
    assert_eq!(
        world.git(&["log", "-1", "--format=%B"]),
        "wip(main): save 1 of claude\n\nAt 41 %: the context is 41 % full\n\nCo-Authored-By: A Person <a@example.org>",
        "{}",
        world.log()
    );
}

/// Spec 4's metrics: how often, how long, how many failed.
#[test]
fn status_counts_the_saves() {
    let world = World::new(&format!("{AUTONOMOUS}hook_timeout = \"20s\"\n")).with_origin();
    assert_eq!(world.turn_number(1, 41)["decision"], "block");
    assert_eq!(world.push_ended().0, "pushed");
    world.turn_number(2, 20);
    world.git(&["checkout", "--quiet", "--detach"]);
    world.turn_number(3, 41);
    let counts = world.status()["autosave"]["counts"].clone();
    for (name, expected) in [("saved", 1), ("failed", 1), ("pushed", 1), ("pushes_failed", 0)] {
        assert_eq!(counts[name], expected, "{name}: {counts:#}");
    }
    let mean = counts["mean_milliseconds"].as_u64().unwrap();
    assert!(mean > 0 && counts["longest_milliseconds"].as_u64() == Some(mean), "{counts:#}");
}

/// Retention: saves forget old snapshots that nobody asked for, by count and by age, also where nothing is pushed; never
/// the one that they tell of, and never one that a person asked for.
#[test]
fn saves_forget_old_snapshots_and_keep_those_that_were_asked_for() {
    let world = World::new(&format!("{AUTONOMOUS}[snapshot]\nkeep = 2\n"));
    world.workplace.run(&["snapshot", "create", "--message", "mine"]);
    let reasons = || -> Vec<String> {
        let found = crate::at_turn_start::list(&world.workplace);
        found.iter().map(|one| one["reason"].as_str().unwrap().to_owned()).collect()
    };
    let save = |number: u64| {
        let answer = world.turn_number(2 * number, 41);
        world.turn_number(2 * number + 1, 20);
        let decision = &answer["autonomous_execution"]["router_decision"];
        decision["snapshot"]
            .as_str()
            .map(str::to_owned)
            .unwrap_or_else(|| panic!("{answer:#}\n{}", world.log()))
    };
    let taken: Vec<String> = (1..5).map(save).collect();
    assert_eq!(reasons(), ["autosave", "autosave", "asked"]);
    let left: Vec<String> = crate::at_turn_start::list(&world.workplace)
        .iter()
        .map(|one| one["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(left[..2], [taken[3].clone(), taken[2].clone()]);
    for strict in ["keep_for = \"0s\"", "keep = 0"] {
        world.configure(&format!("{AUTONOMOUS}[snapshot]\n{strict}\n"));
        let last = save(if strict == "keep = 0" { 6 } else { 5 });
        assert_eq!(reasons(), ["autosave", "asked"], "{strict}");
        assert_eq!(crate::at_turn_start::list(&world.workplace)[0]["id"], last, "{strict}");
    }
    // By hand too, and where it came to no commit.
    world.git(&["checkout", "--quiet", "--detach"]);
    world.write("src/lib.rs", "pub fn one() -> u32 { 99 }\n");
    assert_eq!(world.checkstone(&["autosave"]).answer().code, Some(5));
    assert_eq!(reasons(), ["autosave", "asked"]);
}

#[test]
fn status_tells_people_of_the_last_save() {
    let world = World::new(AUTONOMOUS);
    world.work_until(41);
    let text = world.workplace.shown(&["status"]);
    insta::assert_snapshot!(without_durations(&text), @"
    exit code: 0
    --- stdout
    gate        off: there is no policy here
    repository  [folder]/repo
    policy      none, so every stop passes
    autosave    on: saves when the context is 40 % full
    last save   [time] saved: notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree
    saves       1 saved, [duration] each, 0 failed, 0 pushed, 0 not pushed
    snapshot    [id] before an autosave (claude 9f3c2f1e-1111-4222-8333-444455556666)
    state       [folder]/state
    --- stderr
    ");
}
