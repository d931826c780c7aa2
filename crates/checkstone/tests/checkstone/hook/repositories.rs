//! L9, W11: every repository that a turn worked in is judged by its own policy, in one hold.

use std::path::{Path, PathBuf};

use sandbox::RunToEnd as _;
use serde_json::{Value, json};

use super::session::{AGENTS, Session};
use super::world::{PYTHON, RUN_TESTS, World};

const FIXED: &str = "def add(a, b):\n    return a + b\n";

/// What an agent is told of another repository alone.
fn run_tests_in(folder: &str) -> String {
    format!(
        "[checkstone] Not verified yet\n\nChanged in `{folder}`: Python code (`calc.py`)\n\n\
         1. In `{folder}`: run `pytest` (python-tests in {folder})\n\n\
         If a step cannot be done here, say so on a line of its own:\n`checkstone: cannot ACTION: REASON` \
         (actions: python-tests in {folder})."
    )
}

const ALL_CLEAR: &str = "All expected validations were observed. Commit if ready.";

/// Another repository like that of the world, in a folder of the sandbox.
fn repository(world: &World, name: &str, policy: Option<&str>) -> PathBuf {
    let root = world.sandbox.path(name);
    world.sandbox.write(root.join("calc.py"), "def add(a, b):\n    return a - b\n");
    world.sandbox.write(root.join("tests/test_calc.py"), "def test_add():\n    pass\n");
    if let Some(policy) = policy {
        world.sandbox.write(root.join("checkstone.toml"), policy);
    }
    world.sandbox.git(&root, &["init", "--quiet", "--initial-branch=main"]);
    commit(world, &root);
    root
}

fn commit(world: &World, root: &Path) {
    world.sandbox.git(root, &["add", "--all"]);
    world.sandbox.git(root, &["commit", "--quiet", "--message", "work"]);
}

/// The agent changes a file in any repository.
fn edit(session: &mut Session<'_>, root: &Path) {
    session.edit(root.join("calc.py").to_str().unwrap(), FIXED);
}

fn printed(world: &World, arguments: &[&str]) -> String {
    world.checkstone(arguments).answer_to("").stdout
}

#[test]
fn w11_work_in_a_second_repository_is_judged_by_its_policy() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let lib = repository(&world, "lib", Some(PYTHON));
        let mut session = Session::new(&world, agent);
        session.prompt("Fix add in lib");
        edit(&mut session, &lib);
        // Tests of the session's own repository say nothing about the other one.
        session.test();
        let held = session.stop("Done.").holds();
        assert_eq!(held, run_tests_in("../lib"), "{agent}");
        session.receive(&held);
        session.shell("cd ../lib && pytest", "1 passed in 0.01s", 0);
        session.stop("They pass.").passes();
        assert_eq!(world.holds(), [1], "{agent}");
        // What is proven there is not asked for again.
        session.prompt("Again");
        edit(&mut session, &lib);
        let told = session.stop("Done.").notifies();
        assert_eq!(told, format!("[checkstone] In `../lib`: {ALL_CLEAR}"), "{agent}");
    }
}

#[test]
fn l9_two_repositories_are_held_once_and_the_one_that_was_tested_is_left_alone() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let lib = repository(&world, "lib", Some(PYTHON));
        let mut session = Session::new(&world, agent);
        session.prompt("Fix add in both");
        session.edit("calc.py", FIXED);
        edit(&mut session, &lib);
        let held = session.stop("Done.").holds();
        assert_eq!(
            held,
            "[checkstone] Not verified yet\n\nChanged: Python code (`calc.py`)\n\n1. Run `pytest` (python-tests)\n\n\
             Changed in `../lib`: Python code (`calc.py`)\n\n2. In `../lib`: run `pytest` (python-tests in ../lib)\n\n\
             If a step cannot be done here, say so on a line of its own:\n`checkstone: cannot ACTION: REASON` \
             (actions: python-tests, python-tests in ../lib).",
            "{agent}"
        );
        session.receive(&held);
        session.test();
        let ignored = "[checkstone] In `../lib`: Unproven: `calc.py` needs `python-tests`. The agent was asked for this \
                       and did not do it.";
        assert_eq!(session.stop("Done, really.").notifies(), ignored, "{agent}");
        session.stop("Still done.").passes();
        assert_eq!(world.holds(), [1], "{agent}");
        let unproven = |repo: &str| {
            let printed = printed(&world, &["verify", "--repo", repo, "--json"]);
            let verified: Value = serde_json::from_str(&printed).unwrap();
            verified["missing"].as_array().unwrap().len()
        };
        assert_eq!((unproven("."), unproven("../lib")), (0, 1), "{agent}");
        session.prompt("What does it do?");
        let still = "[checkstone] In `../lib`: Still unproven: `calc.py` needs `python-tests`.";
        assert_eq!(session.stop("It adds.").notifies(), still, "{agent}");
        session.stop("It does add.").passes();
        session.prompt("Run the tests there too");
        session.shell("make -C ../lib test", "1 passed in 0.01s", 0);
        session.stop("They pass.").passes();
        assert_eq!(unproven("../lib"), 0, "{agent}");
        session.prompt("Thanks");
        session.stop("Welcome.").passes();
        assert_eq!(world.holds(), [1, 0, 0, 0], "{agent}");
    }
}

#[test]
fn l9_all_clear_in_two_repositories_is_one_line() {
    let world = World::new(PYTHON);
    let lib = repository(&world, "lib", Some(PYTHON));
    let mut session = Session::new(&world, "claude");
    session.prompt("Fix add in both");
    session.edit("calc.py", FIXED);
    edit(&mut session, &lib);
    session.test();
    session.shell(&format!("pytest {}", lib.display()), "1 passed in 0.01s", 0);
    assert_eq!(session.stop("Done.").notifies(), format!("[checkstone] {ALL_CLEAR}"));
}

#[test]
fn w11_work_in_a_sibling_worktree_belongs_to_the_turn_that_did_it() {
    let world = World::new(PYTHON);
    let sibling = world.sandbox.path("sibling");
    let mut session = Session::new(&world, "claude");
    session.prompt("Do it in a worktree");
    // It is made in the turn, and its policy with it.
    world.git(&["worktree", "add", "--quiet", "-b", "topic", sibling.to_str().unwrap()]);
    session.shell("git worktree add -b topic ../sibling", "Preparing worktree", 0);
    edit(&mut session, &sibling);
    let held = session.stop("Done.").holds();
    assert_eq!(held, run_tests_in("../sibling"));
    session.receive(&held);
    session.shell(&format!("cd {} && pytest", sibling.display()), "1 passed in 0.01s", 0);
    session.stop("They pass.").passes();
    // The ledger is that of the repository: the same content is proven in the main worktree.
    session.prompt("Here too");
    session.edit("calc.py", FIXED);
    assert_eq!(session.stop("Done.").notifies(), format!("[checkstone] {ALL_CLEAR}"));
}

#[test]
fn l9_a_session_above_two_repositories() {
    for agent in AGENTS {
        let world = World::bare();
        let one = repository(&world, "repository/one", Some(PYTHON));
        repository(&world, "repository/two", Some(PYTHON));
        let mut session = Session::new(&world, agent);
        session.prompt("Fix one");
        session.edit("one/calc.py", FIXED);
        let held = session.stop("Done.").holds();
        assert_eq!(held, run_tests_in("one"), "{agent}");
        session.receive(&held);
        session.shell("cd one && pytest", "1 passed in 0.01s", 0);
        session.stop("They pass.").passes();
        let explained = printed(&world, &["explain", "--repo", one.to_str().unwrap(), "--json"]);
        let explained: Value = serde_json::from_str(&explained).unwrap();
        assert_eq!(
            (&explained["repository"], &explained["replay"]["same"]),
            (&json!(one), &json!(true)),
            "{agent}"
        );
    }
}

fn with_submodule(policy: Option<&str>) -> World {
    let world = World::new(PYTHON);
    let inner = repository(&world, "inner", policy);
    world.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        inner.to_str().unwrap(),
        "sub",
    ]);
    world.commit("with a submodule");
    world
}

/// Git shows the outer repository a dirty mark only.
#[test]
fn l9_an_edit_inside_a_submodule_is_a_change_of_the_outer_repository() {
    for agent in AGENTS {
        let world = with_submodule(None);
        let mut session = Session::new(&world, agent);
        session.prompt("Fix the submodule");
        session.edit("sub/calc.py", FIXED);
        let held = session.stop("Done.").holds();
        let expected = RUN_TESTS.replace("calc.py", "sub/calc.py");
        assert_eq!(held, expected, "{agent}");
        session.receive(&held);
        session.test();
        session.stop("They pass.").passes();
    }
}

#[test]
fn l9_a_commit_inside_a_submodule_hides_nothing() {
    let world = with_submodule(None);
    let sub = world.repository.join("sub");
    let mut session = Session::new(&world, "claude");
    session.prompt("Fix the submodule");
    age_log(&world, &world.repository.join(".git/modules/sub"));
    began_earlier(&world);
    session.edit("sub/calc.py", FIXED);
    commit(&world, &sub);
    session.shell("cd sub && git commit -qam work", "", 0);
    assert_eq!(session.stop("Done.").holds(), RUN_TESTS.replace("calc.py", "sub/calc.py"));
}

/// The session is in the submodule, or above all of it.
#[test]
fn l9_a_submodule_is_a_part_of_the_repository_around_it_wherever_the_session_is() {
    for (folder, way) in [("repository/sub", ".."), ("", "repository")] {
        let world = with_submodule(None);
        let mut session = Session::new(&world, "claude");
        session.folder = world.sandbox.path(folder);
        session.prompt("Fix the submodule");
        session.edit("sub/calc.py", FIXED);
        assert_eq!(session.stop("Done.").holds(), run_tests_in(way).replace("calc.py", "sub/calc.py"));
    }
}

/// As if the turn had begun some seconds ago: git's log has whole seconds.
fn began_earlier(world: &World) {
    world.database().execute("UPDATE turns SET opened_at = opened_at - 5000", []).unwrap();
}

/// As if HEAD had moved last an hour ago.
fn age_log(world: &World, git_dir: &Path) {
    let log = git_dir.join("logs/HEAD");
    let text = fs_err::read_to_string(&log).unwrap();
    let aged: String = text
        .lines()
        .map(|line| {
            let (who, message) = line.split_once('\t').unwrap();
            let mut words: Vec<&str> = who.rsplitn(3, ' ').collect();
            let earlier = (words[1].parse::<i64>().unwrap() - 3600).to_string();
            words[1] = &earlier;
            words.reverse();
            format!("{}\t{message}\n", words.join(" "))
        })
        .collect();
    world.sandbox.write(log, aged);
}

#[test]
fn l9_a_submodule_with_a_policy_of_its_own_goes_by_that() {
    let world = with_submodule(Some(PYTHON));
    let mut session = Session::new(&world, "claude");
    session.prompt("Fix the submodule");
    session.edit("sub/calc.py", FIXED);
    assert_eq!(session.stop("Done.").holds(), run_tests_in("sub"));
    // A tool that names nothing wrote there.
    let world = with_submodule(Some(PYTHON));
    let mut session = Session::new(&world, "claude");
    session.prompt("Generate it");
    world.write("sub/calc.py", FIXED);
    session.shell("./generate", "done", 0);
    assert_eq!(session.stop("Done.").holds(), run_tests_in("sub"));
}

#[test]
fn l9_a_stop_whose_cwd_is_elsewhere_is_about_where_the_turn_began() {
    for elsewhere in ["", "repository/sub"] {
        let world = with_submodule(None);
        let mut session = Session::new(&world, "claude");
        session.prompt("Fix add");
        session.edit("calc.py", FIXED);
        session.shell("cd /elsewhere", "", 0);
        session.folder = world.sandbox.path(elsewhere);
        let folder = if elsewhere.is_empty() { "repository" } else { ".." };
        let held = session.stop("Done.").holds();
        assert_eq!(held, run_tests_in(folder));
        session.receive(&held);
        session.shell(&format!("cd {} && pytest", world.repository.display()), "1 passed in 0.01s", 0);
        session.stop("They pass.").passes();
        assert_eq!(world.holds(), [1]);
    }
}

#[test]
fn w11_a_second_repository_without_a_policy_is_left_alone() {
    let world = World::new(PYTHON);
    let other = repository(&world, "other", None);
    let off = repository(&world, "off", Some("presets = [\"python\"]\n[gate]\nenabled = false\n"));
    let letter = repository(&world, "letter", Some("presets = [\"teleclaude\"]\n"));
    let mut session = Session::new(&world, "claude");
    session.prompt("Fix add");
    for root in [&other, &off, &letter] {
        edit(&mut session, root);
    }
    session.stop("Done.").passes();
}

#[test]
fn w11_the_letter_of_teleclaude_is_about_the_session_alone() {
    let world = World::new("presets = [\"teleclaude\"]\n[gate]\nmin_turn = \"0s\"\n");
    let lib = repository(&world, "lib", Some(PYTHON));
    let mut session = Session::new(&world, "claude");
    session.prompt("Fix add");
    edit(&mut session, &lib);
    session.stop("Done.").passes();
}

/// The fail-open rule: what cannot be judged passes and is told, and the others are judged all the same.
#[test]
fn w11_a_repository_that_is_gone_or_broken_holds_nobody_and_hides_nothing() {
    let world = World::new(PYTHON);
    let gone = repository(&world, "gone", Some(PYTHON));
    let broken = repository(&world, "broken", Some("presets = 7\n"));
    let lib = repository(&world, "lib", Some(PYTHON));
    let mut session = Session::new(&world, "claude");
    session.prompt("Fix add");
    for root in [&gone, &broken, &lib] {
        edit(&mut session, root);
    }
    fs_err::remove_dir_all(&gone).unwrap();
    session.shell("rm -rf ../gone", "", 0);
    let (held, told) = session.stop("Done.").holds_and_tells();
    assert_eq!(held, run_tests_in("../lib"));
    assert_eq!(
        told.lines().next(),
        Some("[checkstone] The policy of `../broken` is broken, so nothing is checked there:")
    );
}

#[test]
fn w11_of_twenty_repositories_eight_are_judged_and_the_rest_is_told() {
    let world = World::new(PYTHON);
    let roots: Vec<PathBuf> =
        (0..20).map(|number| repository(&world, &format!("lib{number:02}"), Some(PYTHON))).collect();
    let mut session = Session::new(&world, "claude");
    session.prompt("Fix add everywhere");
    for root in &roots {
        edit(&mut session, root);
    }
    let (held, told) = session.stop("Done.").holds_and_tells();
    let steps: Vec<&str> = held.lines().filter(|line| line.starts_with(char::is_numeric)).collect();
    let expected: Vec<String> = (0..8)
        .map(|number| {
            let folder = format!("../lib{number:02}");
            format!("{}. In `{folder}`: run `pytest` (python-tests in {folder})", number + 1)
        })
        .collect();
    assert_eq!(steps, expected);
    assert_eq!(
        told,
        "[checkstone] Not judged at this stop, which covers at most 8 repositories besides the session's own: `../lib08`, \
         `../lib09`, `../lib10` and 9 more."
    );
    assert_eq!(world.holds(), [1]);
}

#[test]
fn w11_an_action_is_waived_in_the_repository_that_is_named() {
    let world = World::new(PYTHON);
    let lib = repository(&world, "lib", Some(PYTHON));
    let mut session = Session::new(&world, "claude");
    session.prompt("Fix add in both");
    session.edit("calc.py", FIXED);
    edit(&mut session, &lib);
    let held = session.stop("Done.").holds();
    session.receive(&held);
    session.test();
    let told = session.stop("checkstone: cannot python-tests in ../lib: no environment").notifies();
    assert_eq!(told, "[checkstone] Not done: python-tests in `../lib` (no environment)");
    session.prompt("More in both");
    session.edit("calc.py", "def add(a, b):\n    return b + a\n");
    session.edit(lib.join("calc.py").to_str().unwrap(), "def add(a, b):\n    return b + a\n");
    assert_eq!(session.stop("Done.").holds(), RUN_TESTS);
}

/// L4 in another repository: the policy from before the turn counts.
#[test]
fn w11_a_policy_that_was_emptied_in_the_turn_still_counts() {
    for text in [Some("presets = []\n"), None] {
        let world = World::new(PYTHON);
        let lib = repository(&world, "lib", Some(PYTHON));
        let mut session = Session::new(&world, "claude");
        session.prompt("Fix add");
        edit(&mut session, &lib);
        match text {
            Some(text) => drop(world.sandbox.write(lib.join("checkstone.toml"), text)),
            None => fs_err::remove_file(lib.join("checkstone.toml")).unwrap(),
        }
        let (held, told) = session.stop("Done.").holds_and_tells();
        assert_eq!(held, run_tests_in("../lib"));
        assert_eq!(
            told,
            "[checkstone] The policy of `../lib` changed in this turn. The change takes effect at the next prompt; this \
             turn is judged by the policy from before."
        );
    }
}

/// A policy that the turn itself made or brought has no power in it.
#[test]
fn w11_what_was_cloned_or_made_in_the_turn_judges_nothing() {
    let world = World::new(PYTHON);
    let plain = repository(&world, "plain", None);
    let mut session = Session::new(&world, "claude");
    session.prompt("Have a look at it");
    age_log(&world, &plain.join(".git"));
    began_earlier(&world);
    let cloned = repository(&world, "cloned", Some(PYTHON));
    session.shell("git clone https://example.org/cloned ../cloned", "", 0);
    edit(&mut session, &cloned);
    world.sandbox.write(plain.join("checkstone.toml"), PYTHON);
    edit(&mut session, &plain);
    assert_eq!(
        session.stop("Done.").notifies(),
        "[checkstone] The policy of `../plain` changed in this turn. The change takes effect at the next prompt; this turn \
         is judged by the policy from before."
    );
}

/// C3: what another session or a person does there meanwhile is not this turn's.
#[test]
fn w11_only_what_the_turn_wrote_there_counts() {
    let world = World::new(PYTHON);
    let lib = repository(&world, "lib", Some(PYTHON));
    world.sandbox.write(lib.join("dirty.py"), "before = True\n");
    let mut session = Session::new(&world, "claude");
    session.prompt("Have a look at lib");
    world.sandbox.write(lib.join("others.py"), "theirs = True\n");
    session.shell("cd ../lib && pytest -x", "1 failed in 0.01s", 1);
    session.shell("cat ../lib/calc.py > ../lib/notes.md", "", 0);
    world.sandbox.write(lib.join("notes.md"), "notes\n");
    let told = session.stop("It fails.").notifies();
    let failed = "Test failures remain — re-run tests after fixes (`cd ../lib && pytest -x`)";
    assert_eq!(told, format!("[checkstone] In `../lib`: {failed}"));
}

#[test]
fn w11_a_link_into_another_repository_is_followed() {
    let world = World::new(PYTHON);
    let lib = repository(&world, "lib", Some(PYTHON));
    std::os::unix::fs::symlink(&lib, world.repository.join("vendored")).unwrap();
    let mut session = Session::new(&world, "claude");
    session.prompt("Fix add");
    session.edit("vendored/calc.py", FIXED);
    let held = session.stop("Done.").holds();
    assert_eq!(held, run_tests_in("../lib"));
    session.receive(&held);
    session.shell("cd vendored && pytest", "1 passed in 0.01s", 0);
    session.stop("They pass.").passes();
}

/// A repository for the settings of the user may have anything in it.
#[test]
fn w11_the_home_folder_is_no_project() {
    let world = World::new(PYTHON);
    let home = repository(&world, "home", Some(PYTHON));
    let mut session = Session::new(&world, "claude");
    session.prompt("Write it down");
    edit(&mut session, &home);
    session.stop("Done.").passes();
}

/// Whoever is asked tells the same of both repositories.
#[test]
fn l9_every_command_knows_of_the_other_repository() {
    let world = World::new(PYTHON);
    let lib = repository(&world, "lib", Some(PYTHON));
    let mut session = Session::new(&world, "claude");
    session.prompt("Fix add in both");
    session.edit("calc.py", FIXED);
    edit(&mut session, &lib);
    let check = |repo: &str| {
        let answer = world.checkstone(&["check", "--repo", repo, "--json"]).answer_to("");
        let checked: Value = serde_json::from_str(&answer.stdout).unwrap();
        let others: Vec<String> = checked["others"].as_array().into_iter().flatten().map(other).collect();
        (answer.code, checked["verdict"].as_str().unwrap().to_owned(), others)
    };
    assert_eq!(check("."), (Some(1), "hold".to_owned(), vec!["../lib hold".to_owned()]));
    session.test();
    assert_eq!(check("."), (Some(1), "notify".to_owned(), vec!["../lib hold".to_owned()]));
    let held = session.stop("Done.").holds();
    assert_eq!(held, run_tests_in("../lib"));
    session.receive(&held);
    session.stop("Done, really.").notifies();
    // From the other repository it is the session that worked there.
    assert_eq!(check("../lib"), (Some(1), "hold".to_owned(), vec!["../repository notify".to_owned()]));
    let payload = json!({ "session_id": session.id, "workspace": { "current_dir": world.repository } });
    let line = world.checkstone(&["statusline"]).answer_to(payload.to_string()).stdout;
    assert_eq!(anstream::adapter::strip_str(&line).to_string(), "checkstone: unproven: 1 file\n");
    let lib_name = lib.display();
    let unproven = |repo: &str| {
        let status = printed(&world, &["status", "--repo", repo]);
        let lines = status.lines().filter(|line| line.starts_with("unproven"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let sentence = "unproven    1 file needs python-tests: calc.py";
    assert_eq!(unproven("."), [format!("{sentence}, in {lib_name}")]);
    assert_eq!(unproven("../lib"), [format!("{sentence} (`checkstone verify`)")]);
    let explained = printed(&world, &["explain"]);
    let beside: Vec<&str> = explained.lines().filter(|line| line.starts_with("Judged at")).collect();
    assert_eq!(beside, [format!("Judged at the same stop: notify in `{lib_name}` (`checkstone explain 4`)")]);
    let log = printed(&world, &["log", "--repo", "../lib"]);
    let held: Vec<&str> =
        log.lines().filter_map(|line| line.split_once(" hold: ")).map(|(_, rest)| rest).collect();
    let reasons: Vec<&str> = held.iter().map(|line| line.rsplit_once(" [").unwrap().0).collect();
    assert_eq!(reasons, ["all clear; in `../lib`: missing: python-tests"]);
    assert_eq!(log.lines().last(), Some("unproven: 1 file needs python-tests: calc.py"));
    let listed: Value =
        serde_json::from_str(&printed(&world, &["session", "--list", "--repo", "../lib", "--json"])).unwrap();
    assert_eq!(listed["sessions"][0]["unproven"], 1);
}

fn other(other: &Value) -> String {
    format!("{} {}", other["folder"].as_str().unwrap(), other["verdict"].as_str().unwrap())
}

/// A turn that stayed in one repository asks git once, and each other repository costs one question more; so does what
/// is not proven: it is looked at what the files were.
#[test]
fn w11_git_is_asked_once_in_each_repository() {
    let world = World::new(PYTHON);
    let lib = repository(&world, "lib", Some(PYTHON));
    let count = world.home.join("asked");
    let real = std::env::var("PATH").unwrap();
    let bin = world.fake_git(&format!("echo x >> '{}'; PATH='{real}' exec git \"$@\"", count.display()));
    let path = format!("{}:{real}", bin.display());
    let mut session = Session::new(&world, "claude");
    session.prompt("Fix add");
    session.edit("calc.py", FIXED);
    let held = session
        .stop_with("Done.", |command| {
            command.env("PATH", &path);
        })
        .holds();
    assert_eq!((held.as_str(), fs_err::read_to_string(&count).unwrap().as_str()), (RUN_TESTS, "x\nx\n"));
    fs_err::remove_file(&count).unwrap();
    session.receive(&held);
    session.test();
    edit(&mut session, &lib);
    session
        .stop_with("Done, really.", |command| {
            command.env("PATH", &path);
        })
        .notifies();
    assert_eq!(fs_err::read_to_string(&count).unwrap(), "x\nx\nx\n");
}
