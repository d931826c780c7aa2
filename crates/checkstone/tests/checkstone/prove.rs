//! `checkstone prove`: what the command prints is passed on, and decides with its exit status what is proven.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::Stdio;

use sandbox::{Answer, RunToEnd as _, redacted};

use serde_json::json;

use crate::hook::world::{PYTHON, World};
use crate::trust::terminal;
use crate::workplace::valid;

/// The toolchain that built this: rustup's own programs would look for one in the home of the test.
fn with_cargo(world: &World, arguments: &[&str]) -> Answer {
    let toolchain = Path::new(env!("CARGO")).parent().unwrap();
    let path = format!("{}:{}", toolchain.display(), std::env::var("PATH").unwrap());
    let mut command = world.checkstone(arguments);
    command.env("PATH", path).env("CARGO_NET_OFFLINE", "true").env("CARGO_TERM_QUIET", "true").answer_to("")
}

fn prove(world: &World, words: &[&str]) -> Answer {
    world.checkstone(&[&["prove", "--"], words].concat()).answer_to("")
}

/// Unit tests and the tests of the documentation are several runs of one command: none of them ran anything.
#[test]
fn a_crate_without_tests_is_not_proven_by_its_tests() {
    let world = World::new("presets = [\"rust\"]\n");
    world.write("Cargo.toml", "[package]\nname = \"calc\"\nedition = \"2024\"\n\n[workspace]\n");
    world.write("src/lib.rs", "pub fn add(a: u32, b: u32) -> u32 {\n    a + b\n}\n");
    world.write(".gitignore", "target\nCargo.lock\n");
    world.commit("calc");
    let prove = || {
        let Answer { code, stdout, stderr } = with_cargo(&world, &["prove", "--", "cargo", "test"]);
        let runs = stdout.lines().filter(|line| line.starts_with("running ")).collect::<Vec<_>>().join(", ");
        (code, runs, stderr)
    };
    let nothing = "warning: nothing is proven: `cargo test` does not count as evidence: no tests ran\n\
        hint: `checkstone policy show` names what does\n";
    assert_eq!(prove(), (Some(0), "running 0 tests, running 0 tests".to_owned(), nothing.to_owned()));
    assert_eq!(with_cargo(&world, &["verify", "HEAD"]).code, Some(1));
    world.write(
        "src/lib.rs",
        "pub fn add(a: u32, b: u32) -> u32 {\n    a + b\n}\n\n#[test]\nfn adds() {\n    assert_eq!(add(1, 1), 2);\n}\n",
    );
    world.commit("a test");
    let proven = "proven: 1 file for `rust-tests`\n";
    assert_eq!(prove(), (Some(0), "running 1 test, running 0 tests".to_owned(), proven.to_owned()));
    assert_eq!(with_cargo(&world, &["verify", "HEAD"]).code, Some(0));
}

#[test]
fn failures_that_a_command_prints_and_passes_over_prove_nothing() {
    let world = World::new(PYTHON);
    let runner = |said: &str| {
        let script = world.sandbox.script(world.home.join("bin/pytest"), &format!("echo '{said}' >&2"));
        prove(&world, &[script.to_str().unwrap()]).stderr.lines().map(redacted).collect::<Vec<_>>().join("\n")
    };
    let nothing = |why: &str| {
        format!(
            "warning: nothing is proven: `[folder]/home/bin/pytest` does not count as evidence: {why}\n\
             hint: `checkstone policy show` names what does"
        )
    };
    for (said, answered) in [
        ("==== 1 failed, 2 passed in 0.03s ====", nothing("its own summary reports failures")),
        ("==== no tests ran in 0.03s ====", nothing("no tests ran")),
        ("==== 3 passed in 0.03s ====", "proven: 2 files for `python-tests`".to_owned()),
    ] {
        assert_eq!(runner(said), format!("{said}\n{answered}"));
    }
}

/// A look at one file says nothing of the others, and a file of tests that starts none of them nothing at all.
#[test]
fn a_look_at_one_file_proves_this_file() {
    let world = World::new(PYTHON);
    world.write("check/test_silent.py", "def test_one():\n    assert False\n");
    world.write("check/test_plain.py", "assert 1 + 1 == 2\nprint('ok')\n");
    world.commit("two more");
    let proved = |words: &[&str]| {
        let Answer { stdout, stderr, .. } = prove(&world, words);
        format!("{stdout}{stderr}")
    };
    assert_eq!(proved(&["python3", "-m", "py_compile", "calc.py"]), "proven: 1 file for `python-tests`\n");
    assert_eq!(
        proved(&["python3", "check/test_silent.py"]),
        "warning: nothing is proven: `python3 check/test_silent.py` does not count as evidence: it may have made the changes itself\n\
         hint: `checkstone policy show` names what does\n"
    );
    assert_eq!(proved(&["python3", "check/test_plain.py"]), "ok\nproven: 4 files for `python-tests`\n");
}

/// Otherwise a person takes all of their work for proven.
#[test]
fn changed_files_that_stay_unproven_are_named() {
    let world = World::new("presets = [\"python\", \"rust\"]\n");
    world.write("Cargo.toml", "[package]\nname = \"calc\"\n");
    world.write("src/lib.rs", "pub fn one() -> u32 { 1 }\n");
    world.write("tool.py", "print(1)\n");
    let script = world.sandbox.script(world.home.join("bin/pytest"), "echo '==== 3 passed in 0.03s ===='");
    let stderr = prove(&world, &[script.to_str().unwrap()]).stderr;
    let last = stderr.lines().last();
    assert_eq!(last, Some("still unproven: `src/lib.rs` for `rust-tests`"), "{stderr}");
}

/// What the command prints is beside it, so that a script can read the answer.
#[test]
fn with_json_the_answer_is_alone_on_stdout() {
    let world = World::new("presets = [\"python\", \"rust\"]\n");
    world.write("Cargo.toml", "[package]\nname = \"calc\"\n");
    world.write("src/lib.rs", "pub fn one() -> u32 { 1 }\n");
    world.write("tool.py", "print(1)\n");
    let prove = |does: &str| {
        world.sandbox.script(world.repository.join("pytest"), does);
        world.checkstone(&["prove", "--json", "--", "./pytest"]).answer_to("")
    };
    let missing = |path: &str, action: &str, say: &str| json!({"path": path, "action": action, "say": say, "since": null, "agent": null, "session": null});
    let rust = missing("src/lib.rs", "rust-tests", "Run `cargo test`");
    let python = missing("tool.py", "python-tests", "Run `pytest`");

    let red = prove("echo '==== 1 failed in 0.03s ===='; exit 3");
    assert_eq!((red.code, red.stderr.as_str()), (Some(3), "==== 1 failed in 0.03s ====\n"));
    assert_eq!(
        valid(&red.stdout, "prove.schema.json"),
        json!({"command": "./pytest", "exit_code": 3, "proven": {}, "objection": "the command did not succeed",
            "missing": [python, rust]})
    );
    let none = prove("echo '==== no tests ran in 0.03s ===='");
    let objection = "`./pytest` does not count as evidence: no tests ran";
    assert_eq!(valid(&none.stdout, "prove.schema.json")["objection"], objection);
    let green = prove("echo '==== 3 passed in 0.03s ===='; echo slow >&2");
    assert_eq!((green.code, green.stderr.as_str()), (Some(0), "==== 3 passed in 0.03s ====\nslow\n"));
    assert_eq!(
        valid(&green.stdout, "prove.schema.json"),
        json!({"command": "./pytest", "exit_code": 0, "proven": {"python-tests": 3}, "objection": null, "missing": [rust]})
    );
}

/// What a program looks at before it prints in colour.
#[test]
fn a_command_has_a_terminal_where_we_have_one() {
    let world = World::new(PYTHON);
    let looks = "for stream in 0 1 2; do test -t $stream && printf $stream; done; echo; stty size <&1";
    let (person, console) = terminal();
    let size = rustix::termios::Winsize { ws_row: 31, ws_col: 97, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&person, size).unwrap();
    let mut child = world
        .checkstone(&["prove", "--", "sh", "-c", looks])
        .env("NO_COLOR", "1")
        .stdin(Stdio::from(console.try_clone().unwrap()))
        .stdout(Stdio::from(console.try_clone().unwrap()))
        .stderr(Stdio::from(console))
        .spawn()
        .unwrap();
    let mut seen = Vec::new();
    // The last end of the program closes the terminal, which reads as an error.
    let _ = File::from(person).read_to_end(&mut seen);
    assert!(child.wait().unwrap().success());
    let seen = String::from_utf8(seen).unwrap();
    let lines: Vec<&str> = seen.lines().take(2).collect();
    assert_eq!(lines, ["012", "31 97"]);

    let piped =
        prove(&world, &["sh", "-c", "for stream in 0 1 2; do test -t $stream && printf $stream; done; echo"]);
    assert_eq!(piped.stdout, "\n");
}

/// Nobody waits for the tests to hear then that nothing can be recorded.
#[test]
fn what_is_missing_is_told_before_the_command_runs() {
    let world = World::new(PYTHON);
    for (variable, value, said) in [
        ("PATH", "/nowhere", "there is no program `git`\nhint: install git, or add its folder to `PATH`"),
        (
            "CHECKSTONE_STATE_DIR",
            "/dev/null/state",
            "cannot create `/dev/null/state`: Not a directory\nhint: make the state directory \
            writable, or choose another with `CHECKSTONE_STATE_DIR`",
        ),
    ] {
        let answer =
            world.checkstone(&["prove", "--", "/bin/echo", "ran"]).env(variable, value).answer_to("");
        assert_eq!(answer.to_string(), format!("exit code: 6\n--- stdout\n--- stderr\nerror: {said}\n"));
    }
}

#[test]
fn what_a_command_leaves_running_is_not_waited_for() {
    let world = World::new(PYTHON);
    let fifo = world.sandbox.path("fifo");
    sandbox::make_pipe(&fifo);
    let script = format!("cat '{}' & echo started", fifo.display());
    let answer = prove(&world, &["sh", "-c", &script]);
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(0), "started\n"));
    // The one that was left ends now.
    drop(fs_err::OpenOptions::new().write(true).open(&fifo).unwrap());
}

#[test]
fn the_exit_code_of_a_command_that_a_signal_ends_is_a_shells() {
    let world = World::new(PYTHON);
    let answer = prove(&world, &["sh", "-c", "kill -TERM $$"]);
    assert_eq!(
        answer.to_string(),
        "exit code: 143\n--- stdout\n--- stderr\nwarning: nothing is proven: the command did not succeed\n"
    );
}
