//! Cells in a real ipykernel: their outputs, and their ends where they do not hang.

use std::os::unix::fs::PermissionsExt as _;

use kernel::{CellEnding, Kernel, KernelError};
use sandbox::waiting::wait_for;
use sandbox::{redacted, without_durations};
use serde_json::json;
use supervise::{Controls, Limits, Observed, Status};

use crate::python::{python, run_script};
use crate::session::{Session, launch, text_of};

#[test]
fn a_cell_runs_and_its_outputs_are_those_of_a_notebook() {
    let mut session = Session::new();
    let executed = session.execute(
        "import sys\nfrom IPython.display import display, HTML\nprint('one')\nprint('two', file=sys.stderr)\n\
         display(HTML('<b>three</b>'))\n40 + 2",
    );
    assert_eq!(executed.ending, CellEnding::Finished);
    assert_eq!(executed.execution_count, Some(1));
    assert_eq!(
        executed.outputs,
        [
            json!({"output_type": "stream", "name": "stdout", "text": "one\n"}),
            json!({"output_type": "stream", "name": "stderr", "text": "two\n"}),
            json!({
                "output_type": "display_data",
                "data": {"text/plain": "<IPython.core.display.HTML object>", "text/html": "<b>three</b>"},
                "metadata": {}
            }),
            json!({"output_type": "execute_result", "data": {"text/plain": "42"}, "execution_count": 1, "metadata": {}}),
        ]
    );
    assert_eq!(std::fs::read_to_string(session.project.join("output.log")).unwrap(), "one\ntwo\n");

    let executed = session.execute("1 / 0");
    let zero =
        CellEnding::Raised { name: "ZeroDivisionError".to_owned(), value: "division by zero".to_owned() };
    assert_eq!(executed.ending, zero);
    assert_eq!(executed.outputs[0]["ename"], "ZeroDivisionError");
}

#[test]
fn displays_are_cleared_and_updated_as_a_notebook_shows_them() {
    let mut session = Session::new();
    let executed = session.execute(
        "from IPython.display import display, clear_output\nprint('gone')\nclear_output(wait=True)\nprint('stays')\n\
         handle = display({'a': 1}, display_id='shown')\nhandle.update({'a': 2})",
    );
    assert_eq!(executed.outputs[0]["text"], "stays\n");
    assert_eq!(executed.outputs[1]["data"]["text/plain"], "{'a': 2}");
    assert_eq!(executed.displays["shown"], [1]);
    let later = session.execute("handle.update({'a': 3})");
    assert_eq!(later.updates[0].0, "shown");
    assert_eq!(later.updates[0].1["text/plain"], "{'a': 3}");
}

#[test]
fn a_question_to_a_person_is_answered_with_an_error() {
    let mut session = Session::new();
    let executed = session.execute("input('name? ')");
    assert!(
        matches!(executed.ending, CellEnding::Raised { ref name, .. } if name == "StdinNotImplementedError")
    );
}

#[test]
fn markers_are_seen_while_the_cell_runs() {
    let mut session = Session::new();
    session.execute("print('[STAGE:progress:id=S01_load_data:pct=40] loading')");
    let marker = session.observed.iter().find_map(|seen| match seen {
        Observed::Marker(marker) => Some(marker.clone()),
        _ => None,
    });
    assert_eq!(marker.unwrap().attribute("pct"), Some("40"));
}

#[test]
fn the_death_of_the_kernel_is_noticed_at_once_and_its_output_kept() {
    let mut session = Session::new();
    let executed =
        session.execute("import os, signal\nprint('last words')\nos.kill(os.getpid(), signal.SIGKILL)");
    assert_eq!(executed.ending, CellEnding::Died(Some(Status::Killed(9))));
    assert_eq!(text_of(&executed), "last words\n");
    let spool = session.spool();
    let controls = Controls::new().unwrap();
    let again = session.kernel.execute("1", &spool, &Limits::default(), &controls, &mut |_| {});
    assert!(matches!(again, Err(KernelError::Gone { .. })));
}

#[test]
fn output_is_kept_on_disk_and_bounded_in_the_notebook() {
    let mut session = Session::new();
    let executed =
        session.execute("print('first')\nfor i in range(200_000): print(f'line {i:06}')\nprint('last')");
    assert_eq!(executed.ending, CellEnding::Finished);
    let text = text_of(&executed);
    assert!(text.contains("bytes are left out here; the whole text is in `output.log`"));
    assert!(text.len() < 1_200_000, "{}", text.len());
    let whole = std::fs::read_to_string(session.project.join("output.log")).unwrap();
    assert_eq!(whole.len() as u64, executed.text);
    assert_eq!(whole.lines().count(), 200_002);
}

#[test]
fn text_that_is_no_unicode_does_not_break_the_cell() {
    let mut session = Session::new();
    let executed =
        session.execute("print('a\\udcffb')\nimport os; os.write(1, b'\\xff\\xfe raw\\n')\nprint('after')");
    assert_eq!(executed.ending, CellEnding::Finished);
    // What is written past Python's own streams comes by another way: in any order, or with the next cell.
    let mut text = text_of(&executed);
    wait_for("three lines", || {
        let is_whole = text.lines().count() >= 3;
        if !is_whole {
            text.push_str(&text_of(&session.execute("pass")));
        }
        is_whole
    });
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["after", "a�b", "�� raw"]);
}

#[test]
fn nobody_else_can_enter_the_folder_of_the_sockets() {
    let session = Session::new();
    let scratch = tempfile::tempdir().unwrap();
    let mut other = launch(&session.project);
    other.scratch = scratch.path().to_owned();
    other.log = session.project.join("other.log");
    other.record = session.project.join("other.json");
    let kernel = Kernel::start(&other, &Controls::new().unwrap()).unwrap();
    let folder = std::fs::read_dir(scratch.path()).unwrap().next().unwrap().unwrap().path();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join("connection.json")), 0o600);
    kernel.shut_down();
    assert!(!folder.exists());
}

#[test]
fn a_python_without_ipykernel_says_so_and_one_that_fails_says_where_to_look() {
    let folder = tempfile::tempdir().unwrap();
    run_script("import sys, venv; venv.create(sys.argv[1], symlinks=True)", &[&folder.path().join(".venv")]);
    let surroundings = kernel::python_environment::Surroundings::default();
    let found = kernel::python_environment::find(folder.path(), &surroundings).unwrap();
    let mut bare = launch(folder.path());
    bare.argv = found.argv.clone();
    let told = found.remedy(&Kernel::start(&bare, &Controls::new().unwrap()).unwrap_err()).unwrap();
    let python_of_project = folder.path().join(".venv/bin/python").display().to_string();
    assert_eq!(
        told,
        format!(
            "`{python_of_project}` (the project's `.venv`) has no ipykernel: install it with `{python_of_project} -m pip install ipykernel`"
        )
    );

    let mut failing = launch(folder.path());
    failing.argv = vec![python().into(), "-c".into(), "print('no kernel here')".into()];
    let told = Kernel::start(&failing, &Controls::new().unwrap()).unwrap_err().to_string();
    insta::assert_snapshot!(redacted(&told), @"the kernel ended before it could be used (exit code 0: no kernel here); `[folder]/kernel.log` has all of its output");
    insta::assert_snapshot!(without_durations(std::fs::read_to_string(folder.path().join("kernel.log")).unwrap()), @"no kernel here");
}
