//! The ledger for people: `verify`, `prove`, and what `status`, `statusline`, `check`, `explain`, `log --repo` and
//! `session --list` say of it.

use sandbox::{Answer, RunToEnd as _};
use serde_json::{Value, json};

use crate::hook::session::Session;
use crate::hook::world::{PYTHON, RUN_TESTS, World};

const FIXED: &str = "def add(a, b):\n    return a + b\n";

fn answer(world: &World, arguments: &[&str]) -> Answer {
    world.checkstone(arguments).answer_to("")
}

fn printed(world: &World, arguments: &[&str]) -> Value {
    serde_json::from_str(&answer(world, arguments).stdout).unwrap()
}

/// The files that each command calls unproven.
fn unproven(world: &World) -> [Vec<String>; 2] {
    let paths = |list: &Value| {
        let files = list.as_array().unwrap().iter();
        files.map(|file| file["path"].as_str().unwrap().to_owned()).collect()
    };
    let verified = printed(world, &["verify", "--json"]);
    assert_eq!(verified["proven"], json!(verified["missing"].as_array().unwrap().is_empty()));
    [paths(&verified["missing"]), paths(&printed(world, &["status", "--json"])["unproven"])]
}

fn status_line(world: &World, session: &Session<'_>) -> String {
    let payload = json!({ "session_id": session.id, "workspace": { "current_dir": world.repository } });
    let line = world.checkstone(&["statusline"]).answer_to(payload.to_string()).stdout;
    anstream::adapter::strip_str(&line).to_string()
}

/// Edits, is held, and goes on without a test.
fn ignored(world: &World) -> Session<'_> {
    let mut session = Session::new(world, "claude");
    session.prompt("Fix add");
    session.edit("calc.py", FIXED);
    assert_eq!(session.stop("Done.").holds(), RUN_TESTS);
    session.receive(RUN_TESTS);
    session.stop("Done, really.").notifies();
    session
}

/// L2: whoever is asked tells the same.
#[test]
fn l2_what_was_ignored_is_unproven_for_everybody_who_is_asked() {
    let world = World::new(PYTHON);
    let session = ignored(&world);
    let file = vec!["calc.py".to_owned()];
    assert_eq!(unproven(&world), [file.clone(), file.clone()]);
    assert_eq!(status_line(&world, &session), "checkstone: unproven: 1 file\n");
    let sentence = "1 file needs python-tests: calc.py";
    let last_line = |arguments: &[&str]| answer(&world, arguments).stdout.lines().last().unwrap().to_owned();
    assert_eq!(last_line(&["log", "--repo", "."]), format!("unproven: {sentence}"));
    assert_eq!(last_line(&["explain"]), format!("unproven now: {sentence}"));
    let status = answer(&world, &["status"]).stdout;
    let line = status.lines().find(|line| line.starts_with("unproven")).unwrap();
    assert_eq!(line, format!("unproven    {sentence} (`checkstone verify`)"));
    let listed = printed(&world, &["session", "--list", "--json"]);
    assert_eq!(listed["sessions"][0]["unproven"], 1);
    assert_eq!(answer(&world, &["check"]).code, Some(1));
    // Committed, it is still unproven.
    world.commit("work");
    assert_eq!(unproven(&world), [vec![], file]);
    let verified = answer(&world, &["verify", "HEAD"]);
    assert_eq!(verified.code, Some(1));
    let lines: Vec<&str> = verified.stdout.lines().take(3).collect();
    assert_eq!(lines, ["unproven  1 file of 1", "", "python-tests: Run `pytest`"]);
    assert_eq!(answer(&world, &["verify", "HEAD~1.."]).code, Some(1));
    assert_eq!(
        answer(&world, &["verify", "nope"]).to_string(),
        "exit code: 2\n--- stdout\n--- stderr\nerror: there is no commit `nope` here\n\
         hint: name a commit such as `HEAD~1`, or a range such as `main..HEAD`\n"
    );
}

/// L4: an agent that empties the policy has proven nothing. The change counts from the next prompt.
#[test]
fn l4_an_emptied_policy_clears_nothing() {
    let world = World::new(PYTHON);
    let mut session = ignored(&world);
    world.write("checkstone.toml", "presets = []\n");
    session.stop("Done, as I said.").notifies();
    assert_eq!(status_line(&world, &session), "checkstone: unproven: 1 file\n");
    assert_eq!(unproven(&world)[1], ["calc.py"]);
    session.prompt("And now?");
    assert_eq!(status_line(&world, &session), "checkstone: clear\n");
}

/// `check` in another terminal does not hold after a turn whose tests passed.
#[test]
fn check_in_another_terminal_knows_the_last_session() {
    let world = World::new(PYTHON);
    assert_eq!(answer(&world, &["check"]).code, Some(0));
    let mut session = Session::new(&world, "claude");
    session.prompt("Fix add");
    session.edit("calc.py", FIXED);
    assert_eq!(answer(&world, &["check"]).code, Some(1));
    session.test();
    session.stop("Done.").notifies();
    assert_eq!(answer(&world, &["check"]).code, Some(0));
    assert_eq!(unproven(&world), [vec![], Vec::<String>::new()]);
    assert_eq!(status_line(&world, &session), "checkstone: clear\n");
    world.commit("work");
    assert_eq!(
        answer(&world, &["verify", "HEAD"]).to_string(),
        "exit code: 0\n--- stdout\nproven  1 file\n--- stderr\n"
    );
    // A person goes on after it.
    world.write("calc.py", "def add(a, b):\n    return 2\n");
    assert_eq!(unproven(&world)[0], ["calc.py"]);
    world.write("calc.py", &format!("# Adds two numbers.\n{FIXED}"));
    assert_eq!(unproven(&world)[0], [""; 0]);
}

#[test]
fn prove_runs_a_command_and_records_what_it_covers() {
    let world = World::new(PYTHON);
    ignored(&world);
    world.sandbox.script(world.home.join("bin/pytest"), "exit ${RED:-0}");
    let prove = |variables: &[(&str, &str)], words: &[&str]| {
        let arguments = [&["prove", "--"], words].concat();
        let mut command = world.checkstone(&arguments);
        let path = format!("{}:{}", world.home.join("bin").display(), std::env::var("PATH").unwrap());
        command.env("PATH", path).envs(variables.iter().copied());
        command.answer_to("").to_string()
    };
    assert_eq!(
        prove(&[("RED", "3")], &["pytest"]),
        "exit code: 3\n--- stdout\n--- stderr\nwarning: nothing is proven: the command did not succeed\n"
    );
    assert_eq!(
        prove(&[], &["true"]),
        "exit code: 0\n--- stdout\n--- stderr\nwarning: nothing is proven: `true` does not count as evidence\n\
         hint: `checkstone policy show` names what does\n"
    );
    assert_eq!(unproven(&world)[1], ["calc.py"]);
    assert_eq!(
        prove(&[], &["pytest"]),
        "exit code: 0\n--- stdout\n--- stderr\nproven: 2 files for `python-tests`\n"
    );
    assert_eq!(unproven(&world), [vec![], Vec::<String>::new()]);
    world.commit("work");
    assert_eq!(answer(&world, &["verify", "HEAD~1..HEAD"]).code, Some(0));
}

/// H6: with a journal that cannot be used nothing is proven, and nobody who is asked calls anything clear.
#[test]
fn a_journal_that_cannot_be_used_is_told_and_proves_nothing() {
    type Damage = fn(&World);
    let damages: [(Damage, &str); 2] = [
        (
            |world| {
                for suffix in ["-wal", "-shm"] {
                    let _ = fs_err::remove_file(world.state.join(format!("journal.db{suffix}")));
                }
                fs_err::write(world.journal(), vec![b'x'; 8192]).unwrap();
            },
            "is damaged: file is not a database",
        ),
        (
            |world| world.database().execute_batch("PRAGMA user_version = 99099").unwrap(),
            "was written by a newer version",
        ),
    ];
    for (damage, why) in damages {
        let world = World::new(PYTHON);
        let session = ignored(&world);
        damage(&world);
        let told = format!("`{}` {why}", world.journal().display());
        let verified = answer(&world, &["verify"]);
        let without_format = |line: &str| line.split(" (format").next().unwrap().to_owned();
        let error = without_format(verified.stderr.lines().next().unwrap());
        assert_eq!((verified.code, error), (Some(2), format!("error: {told}")));
        let status = answer(&world, &["status"]).stdout;
        let lines = status.lines().filter(|line| line.starts_with("journal"));
        let lines: Vec<String> = lines.map(without_format).collect();
        assert_eq!(lines, [format!("journal     {told}")]);
        assert_eq!(status_line(&world, &session), "checkstone: ready\n");
    }
}
