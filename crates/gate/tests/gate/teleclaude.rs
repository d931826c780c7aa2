//! The preset `teleclaude`: spec 1 to the letter. Tests are named after its requirements (R) and success criteria
//! (SC); what concerns git, transcripts or the clients is tested where it is done.

use gate::policy::Policy;
use gate::{Changes, Decision, Inputs, PlanFile, Verdict, judge};
use transcript::{Call, Extent};

use crate::turns::*;

const CAPTURE: &str =
    "Capture anything worth keeping (memories, bugs, ideas). If everything is clean, do not respond.";

fn tele() -> Policy {
    policy(r#"presets = ["teleclaude"]"#)
}

fn verdict(calls: Vec<Call>, files: &[&str]) -> Verdict {
    judge(&tele(), &inputs(calls, files))
}

fn message(verdict: &Verdict) -> &str {
    verdict.message.as_deref().unwrap()
}

/// What the agent ran, so that nothing is left to ask for in daemon code.
fn all_done() -> Vec<Call> {
    vec![
        read("teleclaude/core/a.py"),
        edit("teleclaude/core/a.py"),
        ran("make restart && make status"),
        ran("instrukt-ai-logs teleclaude --since 2m"),
        ran("pytest tests/unit -q"),
    ]
}

/// R2: every row of the table, by a file of its own.
#[test]
fn r2_each_category_has_its_instruction() {
    for (path, category, steps) in [
        (
            "teleclaude/core/a.py",
            "daemon code",
            &["Run `make restart` then `make status`", "Run targeted tests for changed behavior"][..],
        ),
        (
            "teleclaude/a.py",
            "daemon code",
            &["Run `make restart` then `make status`", "Run targeted tests for changed behavior"],
        ),
        ("teleclaude/hooks/receiver.py", "hook runtime code", &["Run targeted tests for changed behavior"]),
        (
            "teleclaude/cli/tui/app.py",
            "TUI code",
            &[
                "Run `pkill -SIGUSR2 -f -- \"-m teleclaude.cli.telec$\"`",
                "Run targeted tests for changed behavior",
            ],
        ),
        (
            ".husky/pre-commit",
            "telec setup (watchers/hooks/filters)",
            &["Run `telec init` (setup changed: watchers, hook installers, or git filters)"],
        ),
        ("tests/unit/test_a.py", "tests only", &["Run targeted tests for changed test files"]),
        (".agents/x.md", "agent artifacts", &["Run agent-restart to reload artifacts"]),
        ("config.yml", "config", &["Run `make restart` then `make status`"]),
        ("requirements-dev.txt", "dependencies", &["Install updated dependencies: `pip install -e .`"]),
    ] {
        let verdict = verdict(vec![], &[path]);
        let message = message(&verdict);
        assert_eq!(changed_in(message), format!("Changed: {category} (1 file)"));
        for step in steps {
            assert!(message.contains(&format!(". {step}\n")), "{path}: {step}: {message}");
        }
        let numbered =
            message.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit())).count();
        assert_eq!(numbered, steps.len() + 2, "and the logs and the commit: {message}");
    }
}

/// R2: "tests only" means no source changes; settings are no source.
#[test]
fn r2_tests_only_is_without_source() {
    let steps = |files: &[&str]| {
        let verdict = verdict(vec![], files);
        required(&verdict).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(steps(&["tests/unit/test_a.py"]), ["logs", "changed-tests"]);
    assert_eq!(steps(&["pyproject.toml", "tests/unit/test_a.py"]), ["install", "logs", "changed-tests"]);
    assert_eq!(steps(&["docs/a.md", "tests/unit/test_a.py"]), ["logs", "changed-tests"]);
    assert_eq!(steps(&["docs/example.py", "tests/unit/test_a.py"]), ["logs", "changed-tests"]);
    assert_eq!(steps(&["scripts/run.sh", "tests/unit/test_a.py"]), ["logs", "tests"]);
    assert_eq!(steps(&["agents/x.py", "tests/unit/test_a.py"]), ["agent-restart", "logs", "tests"]);
    let both = verdict(vec![], &["teleclaude/a.py", "tests/unit/test_a.py"]);
    assert_eq!(required(&both), ["restart", "status", "logs", "tests"]);
    insta::assert_snapshot!(message(&both), @"
    [checkstone] Context-aware checkpoint

    Changed: daemon code (1 file), other code (1 file)

    Required actions:
    1. Run `make restart` then `make status`
    2. Check the logs: `instrukt-ai-logs teleclaude --since 2m`
    3. Run targeted tests for changed behavior
    4. Commit only after steps 1-3 are complete

    Observations:
    - Daemon code was modified but `make restart` was not observed this turn
    - Daemon code was modified but no test run was observed this turn

    Capture anything worth keeping (memories, bugs, ideas). If everything is clean, do not respond.
    ");
    insta::assert_snapshot!(sentences(&both).join("\n"), @"
    Daemon code was modified but `make restart` was not observed this turn
    Daemon code was modified but no test run was observed this turn
    ");
}

/// R2: what is automated has no instruction.
#[test]
fn r2_documentation_and_lint_are_automated() {
    let docs = verdict(vec![], &["docs/design.md"]);
    assert_eq!(required(&docs), ["logs"]);
    let sources = verdict(vec![], &["agents/writer.md"]);
    assert_eq!(required(&sources), ["agent-restart", "logs"]);
}

/// R4 and R5: evidence anywhere in the turn counts, in the spellings that the table names.
#[test]
fn r4_each_evidence_suppresses_its_instruction() {
    for (path, id, command) in [
        ("teleclaude/a.py", "restart", "make restart"),
        ("config.yml", "restart", "make restart"),
        ("teleclaude/cli/tui/a.py", "reload-tui", "pkill -SIGUSR2 -f -- '-m teleclaude.cli.telec$'"),
        ("teleclaude/cli/tui/a.py", "reload-tui", "kill -USR2 4711"),
        ("agents/a.md", "agent-restart", "agent-restart"),
        ("agents/a.md", "agent-restart", "curl -X POST http://localhost:8000/sessions/x/agent-restart"),
        (".gitattributes", "setup", "telec init"),
        ("pyproject.toml", "install", "pip install -e ."),
        ("teleclaude/a.py", "tests", "pytest tests/unit -q"),
        ("teleclaude/a.py", "tests", "make test"),
        ("teleclaude/a.py", "logs", "instrukt-ai-logs teleclaude --since 5m"),
        ("tests/test_a.py", "changed-tests", "pytest tests/test_a.py"),
    ] {
        let asks = |verdict: &Verdict| required(verdict).into_iter().any(|required| required == id);
        assert!(asks(&verdict(vec![], &[path])), "{path} {id}");
        // Before the change too: freshness is this turn.
        let seen = verdict(vec![ran(command), write(path)], &[path]);
        assert!(!asks(&seen), "{command}");
        // Mentions and masked exits never count (E2, E3).
        for (hidden, output) in [(format!("echo {command}"), ""), (format!("{command} || true"), "")] {
            let masked = verdict(vec![printed(&hidden, output)], &[path]);
            assert!(asks(&masked), "{hidden}");
        }
    }
}

/// R4: an action that is missing has an observation beside its instruction.
#[test]
fn r4_a_gap_is_observed_in_the_words_of_the_table() {
    let verdict = verdict(vec![], &["teleclaude/a.py"]);
    assert_eq!(
        sentences(&verdict),
        [
            "Daemon code was modified but `make restart` was not observed this turn",
            "Daemon code was modified but no test run was observed this turn",
        ]
    );
}

/// R5: Layer 2's words.
#[test]
fn r5_unresolved_errors_in_the_words_of_the_table() {
    for (call, expected) in [
        (
            failed("python run.py", 1, "Traceback (most recent call last):\nValueError"),
            "Python errors remain unresolved — verify they are fixed",
        ),
        (
            failed("python run.py", 1, "SyntaxError: invalid syntax"),
            "Syntax errors remain — verify the code is valid",
        ),
        (
            failed("python run.py", 1, "ModuleNotFoundError: No module named 'x'"),
            "Import errors remain — check dependencies or module paths",
        ),
        (failed("pytest tests", 1, PYTEST_FAILED), "Test failures remain — re-run tests after fixes"),
        (failed("make image", 2, "boom"), "A command returned errors — verify the issue is resolved"),
    ] {
        let calls = all_done().into_iter().chain([call]).collect();
        let verdict = verdict(calls, &["teleclaude/core/a.py"]);
        assert_eq!(sentences(&verdict), [expected]);
        assert_eq!(verdict.decision, Decision::Hold);
    }
}

/// R5: one sentence says it, however many commands failed.
#[test]
fn r5_the_same_sentence_is_said_once() {
    let failures = [failed("make image", 2, "boom"), failed("npm pack", 1, "boom")];
    let verdict = verdict(all_done().into_iter().chain(failures).collect(), &["teleclaude/core/a.py"]);
    assert_eq!(sentences(&verdict), ["A command returned errors — verify the issue is resolved"]);
}

/// R5: Layer 1's resolutions, whatever came of them.
#[test]
fn r5_a_later_attempt_suppresses() {
    let addressed = |later: Call| {
        let calls =
            vec![failed("pytest tests/unit/test_a.py", 1, "teleclaude/core/b.py:3: AssertionError"), later];
        let verdict = verdict(calls, &["config.yml"]);
        !sentences(&verdict).iter().any(|sentence| sentence.starts_with("Test failures"))
    };
    assert!(addressed(ran("cat tests/unit/test_a.py")), "the same file");
    assert!(addressed(ran("python tools/run.py test_a")), "the same module");
    assert!(addressed(edit("/repo/tests/unit/test_a.py")), "an edit of the file");
    assert!(addressed(edit("/repo/teleclaude/core/b.py")), "an edit of the file that the error names");
    assert!(addressed(ran("pytest -q")), "a second `pytest`");
    assert!(!addressed(ran("ls docs")));
    assert!(!addressed(edit("/repo/teleclaude/core/c.py")));
    assert!(!addressed(ran("make status")));
}

/// R8: without a transcript everything that the files ask for is asked for.
#[test]
fn r8_sc14_without_a_transcript_the_files_still_speak() {
    let mut turn = inputs(vec![], &["teleclaude/a.py"]);
    turn.coverage.extent = Extent::Unavailable;
    let blind = judge(&tele(), &turn);
    assert_eq!(required(&blind), ["restart", "status", "logs", "tests"]);
    assert_eq!(blind.coverage.extent, Extent::Unavailable);
    let seen = verdict(vec![], &["teleclaude/a.py"]);
    assert_eq!(blind.message, seen.message);
}

/// R9: the whole message, in its fixed order.
#[test]
fn r9_the_whole_message() {
    let files = [
        ".gitattributes",
        "agents/a.md",
        "config.yml",
        "docs/a.md",
        "pyproject.toml",
        "teleclaude/cli/tui/a.py",
        "teleclaude/core/a.py",
    ];
    let verdict = verdict(vec![], &files);
    assert_eq!(
        message(&verdict),
        "[checkstone] Context-aware checkpoint

Changed: telec setup (watchers/hooks/filters) (1 file), agent artifacts (1 file), config (1 file), prose (1 file), \
dependencies (1 file), TUI code (1 file), daemon code (1 file)

Required actions:
1. Run `telec init` (setup changed: watchers, hook installers, or git filters)
2. Install updated dependencies: `pip install -e .`
3. Run `make restart` then `make status`
4. Run `pkill -SIGUSR2 -f -- \"-m teleclaude.cli.telec$\"`
5. Run agent-restart to reload artifacts
6. Check the logs: `instrukt-ai-logs teleclaude --since 2m`
7. Run targeted tests for changed behavior
8. Commit only after steps 1-7 are complete

Observations:
- Telec setup (watchers/hooks/filters) was modified but `telec init` was not observed this turn
- Dependencies were modified but `pip install` was not observed this turn
- Config and daemon code was modified but `make restart` was not observed this turn
- TUI code was modified but a SIGUSR2 reload was not observed this turn
- Agent artifacts were modified but agent-restart was not observed this turn
- TUI code and daemon code was modified but no test run was observed this turn

Capture anything worth keeping (memories, bugs, ideas). If everything is clean, do not respond."
    );
}

/// R9: the special cases.
#[test]
fn r9_sc13_all_clear_is_a_minimal_message() {
    let verdict = verdict(all_done(), &["teleclaude/core/a.py"]);
    assert_eq!(verdict.decision, Decision::Hold);
    assert_eq!(
        message(&verdict),
        "[checkstone] Context-aware checkpoint\n\nAll expected validations were observed. Commit if ready."
    );
}

#[test]
fn r9_sc5_only_prose_is_capture_only_with_the_log_check() {
    let verdict = verdict(vec![], &["docs/a.md", "todos/x/plan.md"]);
    assert_eq!(verdict.decision, Decision::Hold);
    assert_eq!(
        message(&verdict),
        format!(
            "[checkstone] Context-aware checkpoint\n\nChanged: prose (2 files)\n\nNo code changes detected.\n\n\
             Required actions:\n1. Check the logs: `instrukt-ai-logs teleclaude --since 2m`\n\n{CAPTURE}"
        )
    );
}

#[test]
fn r9_without_git_the_generic_checkpoint() {
    let mut turn = inputs(vec![], &[]);
    turn.changes = Changes::Unknown("no git".to_owned());
    let verdict = judge(&tele(), &turn);
    assert_eq!(verdict.decision, Decision::Hold);
    assert_eq!(
        message(&verdict),
        format!(
            "[checkstone] Context-aware checkpoint\n\nContinue or validate your work if needed.\n\n{CAPTURE}"
        )
    );
}

/// R10, SC1: an instruction to run tests, in the step before the commit.
#[test]
fn r10_sc1_python_changes_ask_for_tests() {
    let mut messages = Vec::new();
    for path in
        ["teleclaude/a.py", "teleclaude/hooks/a.py", "teleclaude/cli/tui/a.py", "tests/test_a.py", "bin/x.py"]
    {
        messages.push(format!("{path}: {}", message(&verdict(vec![], &[path]))));
    }
    insta::assert_snapshot!(messages.join("\n"), @r#"
    teleclaude/a.py: [checkstone] Context-aware checkpoint

    Changed: daemon code (1 file)

    Required actions:
    1. Run `make restart` then `make status`
    2. Check the logs: `instrukt-ai-logs teleclaude --since 2m`
    3. Run targeted tests for changed behavior
    4. Commit only after steps 1-3 are complete

    Observations:
    - Daemon code was modified but `make restart` was not observed this turn
    - Daemon code was modified but no test run was observed this turn

    Capture anything worth keeping (memories, bugs, ideas). If everything is clean, do not respond.
    teleclaude/hooks/a.py: [checkstone] Context-aware checkpoint

    Changed: hook runtime code (1 file)

    Required actions:
    1. Check the logs: `instrukt-ai-logs teleclaude --since 2m`
    2. Run targeted tests for changed behavior
    3. Commit only after steps 1-2 are complete

    Observations:
    - Hook runtime code was modified but no test run was observed this turn

    Capture anything worth keeping (memories, bugs, ideas). If everything is clean, do not respond.
    teleclaude/cli/tui/a.py: [checkstone] Context-aware checkpoint

    Changed: TUI code (1 file)

    Required actions:
    1. Run `pkill -SIGUSR2 -f -- "-m teleclaude.cli.telec$"`
    2. Check the logs: `instrukt-ai-logs teleclaude --since 2m`
    3. Run targeted tests for changed behavior
    4. Commit only after steps 1-3 are complete

    Observations:
    - TUI code was modified but a SIGUSR2 reload was not observed this turn
    - TUI code was modified but no test run was observed this turn

    Capture anything worth keeping (memories, bugs, ideas). If everything is clean, do not respond.
    tests/test_a.py: [checkstone] Context-aware checkpoint

    Changed: tests only (1 file)

    Required actions:
    1. Check the logs: `instrukt-ai-logs teleclaude --since 2m`
    2. Run targeted tests for changed test files
    3. Commit only after steps 1-2 are complete

    Observations:
    - Tests were modified but no test run was observed this turn

    Capture anything worth keeping (memories, bugs, ideas). If everything is clean, do not respond.
    bin/x.py: [checkstone] Context-aware checkpoint

    Changed: other code (1 file)

    Required actions:
    1. Check the logs: `instrukt-ai-logs teleclaude --since 2m`
    2. Run targeted tests for changed behavior
    3. Commit only after steps 1-2 are complete

    Observations:
    - Other code was modified but no test run was observed this turn

    Capture anything worth keeping (memories, bugs, ideas). If everything is clean, do not respond.
    "#);
}

/// SC2 and SC3
#[test]
fn sc2_sc3_the_restart_is_asked_for_until_it_was_seen() {
    let before = verdict(vec![], &["teleclaude/a.py"]);
    insta::assert_snapshot!(message(&before), @"
    [checkstone] Context-aware checkpoint

    Changed: daemon code (1 file)

    Required actions:
    1. Run `make restart` then `make status`
    2. Check the logs: `instrukt-ai-logs teleclaude --since 2m`
    3. Run targeted tests for changed behavior
    4. Commit only after steps 1-3 are complete

    Observations:
    - Daemon code was modified but `make restart` was not observed this turn
    - Daemon code was modified but no test run was observed this turn

    Capture anything worth keeping (memories, bugs, ideas). If everything is clean, do not respond.
    ");
    let after = verdict(vec![ran("make restart")], &["teleclaude/a.py"]);
    insta::assert_snapshot!(message(&after), @"
    [checkstone] Context-aware checkpoint

    Changed: daemon code (1 file)

    Required actions:
    1. Run `make status`
    2. Check the logs: `instrukt-ai-logs teleclaude --since 2m`
    3. Run targeted tests for changed behavior
    4. Commit only after steps 1-3 are complete

    Observations:
    - Daemon code was modified but `make status` was not observed after a restart this turn
    - Daemon code was modified but no test run was observed this turn

    Capture anything worth keeping (memories, bugs, ideas). If everything is clean, do not respond.
    ");
}

/// SC4
#[test]
fn sc4_the_tui_is_reloaded() {
    let asked = verdict(vec![], &["teleclaude/cli/tui/a.py"]);
    insta::assert_snapshot!(message(&asked), @r#"
    [checkstone] Context-aware checkpoint

    Changed: TUI code (1 file)

    Required actions:
    1. Run `pkill -SIGUSR2 -f -- "-m teleclaude.cli.telec$"`
    2. Check the logs: `instrukt-ai-logs teleclaude --since 2m`
    3. Run targeted tests for changed behavior
    4. Commit only after steps 1-3 are complete

    Observations:
    - TUI code was modified but a SIGUSR2 reload was not observed this turn
    - TUI code was modified but no test run was observed this turn

    Capture anything worth keeping (memories, bugs, ideas). If everything is clean, do not respond.
    "#);
    let done =
        verdict(vec![ran("pkill -SIGUSR2 -f -- '-m teleclaude.cli.telec$'")], &["teleclaude/cli/tui/a.py"]);
    insta::assert_snapshot!(message(&done), @"
    [checkstone] Context-aware checkpoint

    Changed: TUI code (1 file)

    Required actions:
    1. Check the logs: `instrukt-ai-logs teleclaude --since 2m`
    2. Run targeted tests for changed behavior
    3. Commit only after steps 1-2 are complete

    Observations:
    - TUI code was modified but no test run was observed this turn

    Capture anything worth keeping (memories, bugs, ideas). If everything is clean, do not respond.
    ");
}

/// SC6: the verdict knows nothing of the client.
#[test]
fn sc6_all_clients_get_the_same_message() {
    let spelled = |tool: &str, edits: &str| {
        let command = Call { tool: tool.to_owned(), ..ran("make restart") };
        let edit = Call { tool: edits.to_owned(), ..edit("teleclaude/a.py") };
        verdict(vec![read("teleclaude/a.py"), edit, command], &["teleclaude/a.py"]).message
    };
    assert_eq!(spelled("Bash", "Edit"), spelled("run_shell_command", "replace"));
    assert_eq!(spelled("Bash", "Edit"), spelled("exec_command", "apply_patch"));
}

/// R11, SC7, H3
#[test]
fn r11_sc7_h3_the_second_stop_passes() {
    let mut turn = inputs(vec![], &["teleclaude/a.py"]);
    assert_eq!(judge(&tele(), &turn).decision, Decision::Hold);
    for holds in [1, 2, 9] {
        turn.history.holds_this_turn = holds;
        assert_eq!(judge(&tele(), &turn).decision, Decision::Pass);
    }
}

/// SC8: commits are left to the hooks of git: a dirty tree alone is never held for.
#[test]
fn sc8_a_dirty_tree_is_no_reason_to_hold_again() {
    let mut turn = inputs(all_done(), &["teleclaude/core/a.py"]);
    turn.history.holds_this_turn = 1;
    assert_eq!(judge(&tele(), &turn).decision, Decision::Pass);
}

/// SC10
#[test]
fn sc10_a_command_that_failed_is_observed() {
    let calls = all_done().into_iter().chain([failed("make image", 2, "boom")]).collect();
    let verdict = verdict(calls, &["teleclaude/core/a.py"]);
    assert_eq!(brief(&verdict), "hold +unresolved-error");
    insta::assert_snapshot!(message(&verdict), @"
    [checkstone] Context-aware checkpoint

    Changed: daemon code (1 file)

    Observations:
    - A command returned errors — verify the issue is resolved

    Capture anything worth keeping (memories, bugs, ideas). If everything is clean, do not respond.
    ");
}

/// SC11: this preset holds on habits too.
#[test]
fn sc11_an_edit_without_a_read_is_observed() {
    let calls = all_done().into_iter().skip(1).collect();
    let verdict = verdict(calls, &["teleclaude/core/a.py"]);
    assert_eq!(brief(&verdict), "hold +edit-without-read");
    insta::assert_snapshot!(message(&verdict), @"
    [checkstone] Context-aware checkpoint

    Changed: daemon code (1 file)

    Observations:
    - Files were edited without being read first this turn — verify changes are correct

    Capture anything worth keeping (memories, bugs, ideas). If everything is clean, do not respond.
    ");
}

/// SC12
#[test]
fn sc12_drift_is_observed() {
    let mut turn = inputs(all_done(), &["teleclaude/core/a.py"]);
    let text = "## Files to Change\n| File |\n|---|\n| `teleclaude/other.py` |\n".to_owned();
    turn.plan = Some(PlanFile { slug: "other-work".to_owned(), text });
    let verdict = judge(&tele(), &turn);
    assert_eq!(brief(&verdict), "hold +plan-drift");
    insta::assert_snapshot!(message(&verdict), @"
    [checkstone] Context-aware checkpoint

    Changed: daemon code (1 file)

    Observations:
    - Active work item `other-work` expects changes in different files — verify you are working on the right task

    Capture anything worth keeping (memories, bugs, ideas). If everything is clean, do not respond.
    ");
}

fn after(milliseconds: Option<u64>) -> Inputs {
    let mut turn = inputs(vec![], &["teleclaude/a.py"]);
    turn.stop.elapsed_ms = milliseconds;
    turn
}

/// R12, H8
#[test]
fn r12_h8_thirty_seconds() {
    assert_eq!(judge(&tele(), &after(Some(29_999))).decision, Decision::Pass);
    assert_eq!(judge(&tele(), &after(Some(30_000))).decision, Decision::Hold);
    assert_eq!(judge(&tele(), &after(None)).decision, Decision::Pass, "no beginning is known");
}

/// H8
#[test]
fn h8_the_log_window_is_the_turn() {
    let told = |seconds: u64| message(&judge(&tele(), &after(Some(seconds * 1000)))).to_owned();
    let two_minutes = told(31);
    for (seconds, window) in [(61, "2m"), (120, "2m"), (121, "3m"), (600, "10m")] {
        let expected = two_minutes.replace(
            "`instrukt-ai-logs teleclaude --since 2m`",
            &format!("`instrukt-ai-logs teleclaude --since {window}`"),
        );
        assert_eq!(told(seconds), expected, "{seconds}");
    }
}

/// Both silence rules are off here.
#[test]
fn it_asks_again_and_takes_no_waiver() {
    let mut turn = with_scope(inputs(vec![], &["config.yml"]), change_set::Scope::Worktree);
    turn.history.held_before = vec!["restart".to_owned()];
    turn.said = vec!["checkstone: cannot restart: no daemon here".to_owned()];
    let verdict = judge(&tele(), &turn);
    assert_eq!(required(&verdict), ["restart", "status", "logs"]);
    insta::assert_snapshot!(message(&verdict), @"
    [checkstone] Context-aware checkpoint

    Changed: config (1 file)

    Required actions:
    1. Run `make restart` then `make status`
    2. Check the logs: `instrukt-ai-logs teleclaude --since 2m`
    3. Commit only after steps 1-2 are complete

    Observations:
    - Config was modified but `make restart` was not observed this turn

    Capture anything worth keeping (memories, bugs, ideas). If everything is clean, do not respond.
    ");
}

#[test]
fn a_single_step_reads_well() {
    let calls = vec![ran("instrukt-ai-logs teleclaude"), write("tests/test_a.py")];
    let verdict = verdict(calls, &["tests/test_a.py"]);
    insta::assert_snapshot!(message(&verdict), @"
    [checkstone] Context-aware checkpoint

    Changed: tests only (1 file)

    Required actions:
    1. Run targeted tests for changed test files
    2. Commit only after step 1 is complete

    Observations:
    - Tests were modified but no test run was observed this turn

    Capture anything worth keeping (memories, bugs, ideas). If everything is clean, do not respond.
    ");
}

/// R1: the change set is git's own difference to HEAD, and one mapping serves every client.
#[test]
fn r1_the_scope_is_the_plain_difference_to_head() {
    assert_eq!(tele().gate.scope, gate::policy::JudgedScope::Diff);
    let staged = change_set::ChangedFile { how: vec![change_set::How::Staged], ..changed("teleclaude/a.py") };
    let one = judge(&tele(), &with_files(vec![], vec![staged]));
    let other = verdict(vec![], &["teleclaude/a.py"]);
    assert_eq!(one.message, other.message);
}

/// R3: what a transcript cannot tell is left out; the files still speak.
#[test]
fn r3_a_transcript_that_is_cut_off_keeps_what_was_seen() {
    let mut turn =
        inputs(vec![edit("teleclaude/a.py"), ran("make restart && make status")], &["teleclaude/a.py"]);
    turn.coverage.extent = Extent::Truncated;
    let verdict = judge(&tele(), &turn);
    assert_eq!(brief(&verdict), "hold logs tests +missing-action");
}

/// SC15: each heuristic speaks, is silent where its evidence is there, and lets go at the second stop; the rest of the
/// criterion is other tests' (transcripts of every client: crate `transcript`; parity: `sc6`; the hook: `hook/`).
#[test]
fn sc15_every_heuristic_fires_and_is_suppressed() {
    let daemon = "teleclaude/core/a.py";
    let done = |files: &[&str]| inputs(all_done(), files);
    let with = |calls: Vec<Call>| inputs(all_done().into_iter().chain(calls).collect(), &[daemon]);
    let without = |gone: &str| {
        let keeps = |call: &Call| call.command.as_deref().is_none_or(|command| !command.contains(gone));
        inputs(all_done().into_iter().filter(keeps).collect(), &[daemon])
    };
    let planned = |path: &str| {
        let text = format!("## Files to Change\n| File |\n|---|\n| `{path}` |\n");
        Inputs { plan: Some(PlanFile { slug: "work".to_owned(), text }), ..done(&[daemon]) }
    };
    let wide = ["teleclaude/core/a.py", "docs/a.md", "todos/a.md", "tests/test_a.py", "agents/a.md"];
    let unread = all_done().into_iter().skip(1).collect();
    let reran = vec![failed("make image", 2, "boom"), ran("make image")];
    let heuristics = [
        ("restart", without("make restart"), done(&[daemon])),
        ("logs", without("instrukt-ai-logs"), done(&[daemon])),
        ("tests", without("pytest"), done(&[daemon])),
        ("+unresolved-error", with(vec![failed("make image", 2, "boom")]), with(reran)),
        ("+edit-without-read", inputs(unread, &[daemon]), done(&[daemon])),
        ("+wide-blast-radius", done(&wide), done(&wide[..2])),
        ("+plan-drift", planned("teleclaude/other.py"), planned(daemon)),
    ];
    for (name, mut fires, suppressed) in heuristics {
        let says = |turn: &Inputs| brief(&judge(&tele(), turn)).split(' ').any(|word| word == name);
        assert!(says(&fires), "{name}: {}", brief(&judge(&tele(), &fires)));
        assert!(!says(&suppressed), "{name}: {}", brief(&judge(&tele(), &suppressed)));
        fires.history.holds_this_turn = 1;
        assert_eq!(judge(&tele(), &fires).decision, Decision::Pass, "{name}: the escape hatch");
    }
}

/// The line that names the categories.
fn changed_in(message: &str) -> &str {
    message.lines().find(|line| line.starts_with("Changed: ")).unwrap_or_default()
}
