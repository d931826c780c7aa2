//! A broken policy blocks nobody and is told to the person, once.

use super::session::{AGENTS, Session};
use super::world::{PYTHON, RUN_TESTS, World, answer};
use sandbox::{redacted, without_durations};

const FIXED: &str = "def add(a, b):\n    return a + b\n";

fn due<'a>(world: &'a World, agent: &'static str) -> Session<'a> {
    let mut session = Session::new(world, agent);
    session.prompt("Fix add");
    session.edit("calc.py", FIXED);
    session
}

#[test]
fn a_broken_policy_is_told_once_and_blocks_nobody() {
    let mut all = Vec::new();
    for agent in AGENTS {
        let world = World::new("presets = [\"pyton\"]\n");
        let mut session = due(&world, agent);
        let told = session.stop("Done.").notifies();
        all.push(redacted(told));
        session.stop("Done again.").passes();
        session.prompt("Go on");
        session.stop("Done.").passes();
        all.push(without_durations(world.log()));

        // Another mistake is told; a policy that is mended works in the next turn.
        world.write("checkstone.toml", "[gat]\n");
        session.prompt("Go on");
        all.push(redacted(session.stop("Done.").notifies()));
        world.write("checkstone.toml", PYTHON);
        session.prompt("Fix add again");
        session.edit("calc.py", "def add(a, b):\n    return b + a\n");
        assert_eq!(session.stop("Done.").holds(), RUN_TESTS, "{agent}");
    }
    insta::assert_snapshot!(all.join("\n"), @"
    [checkstone] The policy is broken, so nothing is checked:
    checkstone.toml:1:12: unknown preset `pyton`; did you mean `python`?
    [time] claude 0a1b pass: the policy is broken: checkstone.toml:1:12: unknown preset `pyton`; did you mean `python`? [[timings]]
    [time] claude 0a1b pass: the policy is broken: checkstone.toml:1:12: unknown preset `pyton`; did you mean `python`? [[timings]]
    [time] claude 0a1b pass: the policy is broken: checkstone.toml:1:12: unknown preset `pyton`; did you mean `python`? [[timings]]

    [checkstone] The policy is broken, so nothing is checked:
    checkstone.toml:1:2: unknown key `gat`; did you mean `gate`?
    [checkstone] The policy is broken, so nothing is checked:
    checkstone.toml:1:12: unknown preset `pyton`; did you mean `python`?
    [time] gemini 0a1b pass: the policy is broken: checkstone.toml:1:12: unknown preset `pyton`; did you mean `python`? [[timings]]
    [time] gemini 0a1b pass: the policy is broken: checkstone.toml:1:12: unknown preset `pyton`; did you mean `python`? [[timings]]
    [time] gemini 0a1b pass: the policy is broken: checkstone.toml:1:12: unknown preset `pyton`; did you mean `python`? [[timings]]

    [checkstone] The policy is broken, so nothing is checked:
    checkstone.toml:1:2: unknown key `gat`; did you mean `gate`?
    [checkstone] The policy is broken, so nothing is checked:
    checkstone.toml:1:12: unknown preset `pyton`; did you mean `python`?
    [time] codex 0a1b pass: the policy is broken: checkstone.toml:1:12: unknown preset `pyton`; did you mean `python`? [[timings]]
    [time] codex 0a1b pass: the policy is broken: checkstone.toml:1:12: unknown preset `pyton`; did you mean `python`? [[timings]]
    [time] codex 0a1b pass: the policy is broken: checkstone.toml:1:12: unknown preset `pyton`; did you mean `python`? [[timings]]

    [checkstone] The policy is broken, so nothing is checked:
    checkstone.toml:1:2: unknown key `gat`; did you mean `gate`?
    ");
}

#[test]
fn a_broken_configuration_of_the_user_is_told() {
    let world = World::new(PYTHON);
    let folder = world.home.join(".config/checkstone");
    fs_err::create_dir_all(&folder).unwrap();
    fs_err::write(folder.join("config.toml"), "[gate]\nall_clear = \"loud\"\n").unwrap();
    let told = due(&world, "claude").stop("Done.").notifies();
    insta::assert_snapshot!(redacted(&told), @"
    [checkstone] The policy is broken, so nothing is checked:
    config.toml:2:13: `loud` is not one of silent, notify, hold
    ");
}

/// A policy is a regular file of the repository, of a sane size, in UTF-8. Everything else is told and blocks nobody.
#[test]
fn a_file_that_can_be_no_policy_is_told() {
    type Make = fn(&World, &std::path::Path);
    let makes: [(&str, Make); 6] = [
        ("leads out of the repository", |world, path| {
            let outside = world.home.join("policy.toml");
            fs_err::write(&outside, PYTHON).unwrap();
            fs_err::os::unix::fs::symlink(&outside, path).unwrap();
        }),
        ("leads nowhere", |_, path| fs_err::os::unix::fs::symlink("nowhere", path).unwrap()),
        ("larger than 1 MiB", |_, path| {
            fs_err::write(path, format!("{PYTHON}{}", "# much\n".repeat(200_000))).unwrap();
        }),
        ("not a regular file", |_, path| fs_err::create_dir(path).unwrap()),
        ("not a regular file", |_, path| {
            sandbox::make_pipe(path);
        }),
        ("not UTF-8", |_, path| fs_err::write(path, b"presets = [\"python\"] # caf\xe9\n").unwrap()),
    ];
    let mut all = Vec::new();
    for (said, make) in makes {
        let world = World::new(PYTHON);
        let path = world.repository.join("checkstone.toml");
        fs_err::remove_file(&path).unwrap();
        make(&world, &path);
        let mut session = due(&world, "claude");
        let told = session.stop("Done.").notifies();
        all.push(format!("{said}: {}", redacted(told)));
        session.stop("Done again.").passes();
    }
    insta::assert_snapshot!(all.join("\n"), @"
    leads out of the repository: [checkstone] The policy is broken, so nothing is checked:
    checkstone.toml: the link points outside the repository
    leads nowhere: [checkstone] The policy is broken, so nothing is checked:
    checkstone.toml: the link is broken
    larger than 1 MiB: [checkstone] The policy is broken, so nothing is checked:
    checkstone.toml: it is larger than 1 MiB
    not a regular file: [checkstone] The policy is broken, so nothing is checked:
    checkstone.toml: it is not a regular file
    not a regular file: [checkstone] The policy is broken, so nothing is checked:
    checkstone.toml: it is not a regular file
    not UTF-8: [checkstone] The policy is broken, so nothing is checked:
    checkstone.toml:1:27: it is not UTF-8
    ");
}

/// A link that stays inside is followed.
#[test]
fn a_policy_behind_a_link_inside_the_repository_counts() {
    let world = World::new(PYTHON);
    fs_err::rename(world.repository.join("checkstone.toml"), world.repository.join("real.toml")).unwrap();
    fs_err::os::unix::fs::symlink("real.toml", world.repository.join("checkstone.toml")).unwrap();
    world.commit("move");
    assert_eq!(due(&world, "claude").stop("Done.").holds(), RUN_TESTS);
}

/// The plan of the work item is a file of the repository too: a pipe in its place is not waited for.
#[test]
fn a_plan_that_is_a_pipe_is_not_waited_for() {
    let world =
        World::new("presets = [\"python\"]\n[plan]\npath = \"todos/{slug}/implementation-plan.md\"\n");
    let mut session = due(&world, "claude");
    world.write("todos/add/note.md", "x\n");
    let plan = world.repository.join("todos/add/implementation-plan.md");
    sandbox::make_pipe(&plan);
    let held = session.stop_with("Done.", |command| {
        command.env("CHECKSTONE_SLUG", "add");
    });
    insta::assert_snapshot!(redacted(held.holds()), @"
    [checkstone] Not verified yet

    Changed: Python code (`calc.py`)

    1. Run `pytest` (python-tests)

    If a step cannot be done here, say so on a line of its own:
    `checkstone: cannot ACTION: REASON` (actions: python-tests).
    ");
}

/// Without a repository the user's own policy counts, and nobody else's: `/tmp` is everybody's.
#[test]
fn a_policy_without_a_repository_is_the_users_own() {
    let world = World::bare();
    world.write("checkstone.toml", "[gate]\nno_git = \"generic\"\n");
    let mut session = Session::new(&world, "claude");
    session.prompt("Hello");
    assert!(session.stop("Hi.").holds().starts_with("[checkstone] Continue or validate"));
    session.stop("Hi again.").passes();
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let policy = world.repository.join("checkstone.toml");
    std::os::unix::fs::chown(&policy, Some(65534), None).unwrap();
    session.prompt("Hello again");
    session.stop("Hi.").passes();
}

/// C5: git refuses a repository of another owner, so what lies in it is a stranger's and says nothing to the agent.
#[test]
fn the_policy_of_a_refused_repository_is_not_followed() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let world = World::new("presets = [\"python\"]\n[gate]\nno_git = \"generic\"\n");
    let mut session = Session::new(&world, "claude");
    for path in [&world.repository, &world.repository.join(".git")] {
        std::os::unix::fs::chown(path, Some(65534), None).unwrap();
    }
    session.prompt("Fix add");
    session.edit("calc.py", FIXED);
    let told = session.stop("Done.").notifies();
    assert_eq!(
        redacted(told),
        "[checkstone] Nothing is checked here: git does not trust the owner of `[folder]/repository`; if you do: \
         `git config --global --add safe.directory '[folder]/repository'`."
    );
    // Once is enough.
    session.stop("Still done.").passes();
    insta::assert_snapshot!(without_durations(world.log()), @"
    [time] claude 0a1b prompt: without a baseline: git does not trust the owner of `[folder]/repository`; if you do: `git config --global --add safe.directory '[folder]/repository'` [[timings]]
    [time] claude 0a1b pass: git does not trust the owner of `[folder]/repository`; if you do: `git config --global --add safe.directory '[folder]/repository'` [[timings]]
    [time] claude 0a1b switch: Nothing is checked here: git does not trust the owner of `[folder]/repository`; if you do: `git config --global --add safe.directory '[folder]/repository'`. [[timings]]
    [time] claude 0a1b pass: git does not trust the owner of `[folder]/repository`; if you do: `git config --global --add safe.directory '[folder]/repository'` [[timings]]
    ");
}

/// SC9: the first design is still what is left where nothing can be looked at: a plain checkpoint in the client's own
/// form, after the timer, once in a turn, with or without a transcript.
#[test]
fn sc9_the_first_design_still_works() {
    let generic = "[checkstone] Context-aware checkpoint\n\nContinue or validate your work if needed.\n";
    for agent in AGENTS {
        let world = World::bare();
        world.write("checkstone.toml", "presets = [\"teleclaude\"]\n[gate]\nmin_turn = \"0s\"\n");
        let mut session = Session::new(&world, agent);
        session.prompt("Fix add");
        assert!(session.stop("Done.").holds().starts_with(generic), "{agent}");
        session.stop("Done.").passes();
        session.prompt("And sub");
        fs_err::remove_file(&session.transcript).unwrap();
        let stop = answer(world.hook(agent), &session.stop_event());
        assert!(stop.holds().starts_with(generic), "{agent}");

        // The preset's own timer of 30 seconds: this turn is younger.
        world.write("checkstone.toml", "presets = [\"teleclaude\"]\n");
        let mut session = Session::named(&world, agent, "another");
        session.prompt("Fix add");
        session.stop("Done.").passes();
    }
}
