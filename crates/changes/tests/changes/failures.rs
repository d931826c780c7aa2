//! Git missing, hanging, failing, refusing; and repositories that want something to be run.

use std::time::Duration;

use ::sandbox::wait_for;

use changes::{Error, GitProgram, Request};
use jiff::Timestamp;

use crate::sandbox::{Sandbox, lines};

#[test]
fn no_git_program() {
    let mut sandbox = Sandbox::new();
    sandbox.program = GitProgram::in_path(sandbox.repo.as_os_str());
    let error = sandbox.ask(Request::Worktree).unwrap_err();
    assert!(matches!(&error, Error::NoGit { program } if program == "git"), "{error}");
}

/// C5: `safe.directory`
#[test]
fn a_repository_of_another_owner_is_refused() {
    let mut sandbox = Sandbox::new();
    sandbox.use_git("git-of-another-owner.sh");
    let error = sandbox.ask(Request::Worktree).unwrap_err();
    assert!(matches!(&error, Error::Refused { directory } if *directory == sandbox.repo), "{error}");
}

#[test]
fn a_failure_is_told_by_its_first_fatal_line() {
    let mut sandbox = Sandbox::new();
    sandbox.use_git("git-that-fails.sh");
    let error = sandbox.ask(Request::Worktree).unwrap_err();
    assert_eq!(error.to_string(), "`git status` failed: fatal: index file corrupt");
}

#[test]
fn a_corrupt_index_is_a_failure() {
    let sandbox = Sandbox::new();
    sandbox.write(".git/index", "not an index");
    let error = sandbox.ask(Request::Worktree).unwrap_err();
    assert!(matches!(error, Error::Failed { .. }), "{error}");
}

/// Whether a process that a script left in the file `child` still runs, and was not only left as a zombie.
fn child_runs(sandbox: &Sandbox) -> bool {
    let pid = fs_err::read_to_string(sandbox.root().join("child")).unwrap();
    let status = fs_err::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    status
        .rsplit(')')
        .next()
        .is_some_and(|rest| !rest.trim().is_empty() && !rest.trim_start().starts_with('Z'))
}

/// The limit ends git and whatever git started.
#[test]
fn a_hanging_git_is_ended_at_its_limit() {
    let mut sandbox = Sandbox::new();
    sandbox.use_git("git-that-hangs.sh");
    sandbox.program = sandbox.program.within(Duration::from_millis(500));
    let pending = changes::start(&sandbox.repo, &sandbox.program).unwrap();
    let written =
        || fs_err::read_to_string(sandbox.root().join("child")).is_ok_and(|pid| pid.ends_with('\n'));
    wait_for("the child of git", written);
    let error = pending.change_set(Request::Worktree).unwrap_err();
    assert!(matches!(error, Error::TimedOut { .. }), "{error}");
    wait_for("the end of the process", || !child_runs(&sandbox));
}

#[test]
fn an_abandoned_question_ends_git() {
    let mut sandbox = Sandbox::new();
    sandbox.use_git("git-that-hangs.sh");
    let pending = changes::start(&sandbox.repo, &sandbox.program).unwrap();
    wait_for("the end of the process", || {
        fs_err::read_to_string(sandbox.root().join("child")).is_ok_and(|pid| pid.ends_with('\n'))
    });
    assert!(child_runs(&sandbox));
    drop(pending);
    wait_for("the end of the process", || !child_runs(&sandbox));
}

/// A process that outlives git and holds its pipes open is not waited for.
#[test]
fn a_process_that_git_leaves_behind_is_not_waited_for() {
    let mut sandbox = Sandbox::new();
    sandbox.use_git("git-that-leaves-a-child.sh");
    sandbox.write("a", "changed\n");
    let changes =
        changes::start(&sandbox.repo, &sandbox.program).unwrap().change_set(Request::Worktree).unwrap();
    assert_eq!(lines(&changes.files), ["modified a [unstaged]"]);
    let pid = fs_err::read_to_string(sandbox.root().join("child")).unwrap();
    std::process::Command::new("kill").arg(pid.trim()).status().unwrap();
}

/// More than a pipe holds, while we do not read yet.
#[test]
fn large_answers_are_read_whole() {
    let sandbox = Sandbox::new();
    let name = "n".repeat(200);
    for number in 0..3000 {
        sandbox.write(&format!("many/{name}{number}"), "");
    }
    assert_eq!(sandbox.ask(Request::Worktree).unwrap().files.len(), 3000);
}

/// A repository that came from elsewhere brings its own config: none of its commands may run.
#[test]
fn nothing_that_the_repository_configures_is_run() {
    for included in [false, true] {
        let sandbox = Sandbox::new();
        sandbox.write(".gitattributes", "* filter=evil diff=evil\n");
        sandbox.commit_all("attributes");
        let trap = sandbox.root().join("trap");
        let bait = format!("touch {}; cat", trap.display());
        let baseline = sandbox.baseline();
        let config = [
            format!("[core]\n\tfsmonitor = {bait:?}\n\tpager = {bait:?}\n"),
            format!("[filter \"evil\"]\n\tclean = {bait:?}\n\tprocess = {bait:?}\n\trequired = true\n"),
            format!("[diff \"evil\"]\n\ttextconv = {bait:?}\n\tcommand = {bait:?}\n[diff]\n\texternal = {bait:?}\n"),
        ]
        .concat();
        let own = fs_err::read_to_string(sandbox.repo.join(".git/config")).unwrap();
        if included {
            sandbox.write(".git/more", &config);
            sandbox.write(".git/config", &format!("{own}[include]\n\tpath = more\n"));
        } else {
            sandbox.write(".git/config", &format!("{own}{config}"));
        }
        for hook in ["post-index-change", "fsmonitor-watchman"] {
            sandbox.write(&format!(".git/hooks/{hook}"), &format!("#!/bin/sh\n{bait}\n"));
            sandbox.set_executable(&format!(".git/hooks/{hook}"));
        }
        // Of the same size, so that git has to read it; and staged otherwise, so that `git diff` is asked too.
        let changed = fs_err::read_to_string(sandbox.repo.join("a")).unwrap().to_uppercase();
        sandbox.write("a", &changed);
        fs_err::rename(sandbox.repo.join("b"), sandbox.repo.join("moved")).unwrap();
        let changes = sandbox.turn(&baseline);
        assert_eq!(changes.files.len(), 3, "{:?}", lines(&changes.files));
        sandbox.ask(Request::DiffHead).unwrap();
        changes::start(&sandbox.repo, &sandbox.program).unwrap().baseline(Timestamp::now()).unwrap();
        assert!(!trap.exists(), "included: {included}");
        // The bait works: plain git does run it.
        let _ = sandbox.command(&sandbox.repo, &["status"]).output().unwrap();
        assert!(trap.exists());
    }
}

/// The same for the config of a submodule, which git would use where it looks into one.
#[test]
fn nothing_that_a_submodule_configures_is_run() {
    let sandbox = Sandbox::with_submodule();
    let module = sandbox.repo.join("module");
    let baseline = sandbox.baseline();
    let trap = sandbox.root().join("trap");
    let config = sandbox.repo.join(".git/modules/module/config");
    let own = fs_err::read_to_string(&config).unwrap();
    let bait = format!("touch {}; cat", trap.display());
    fs_err::write(&config, format!("{own}[filter \"evil\"]\n\tclean = {bait:?}\n")).unwrap();
    fs_err::write(sandbox.repo.join(".git/modules/module/info/attributes"), "* filter=evil\n").unwrap();
    let changed = fs_err::read_to_string(module.join("a")).unwrap().to_uppercase();
    fs_err::write(module.join("a"), changed).unwrap();
    fs_err::rename(sandbox.repo.join("b"), sandbox.repo.join("moved")).unwrap();
    sandbox.git(&["add", "moved"]);
    let expected = ["deleted b [unstaged]", "modified module [unstaged]", "added moved [staged]"];
    assert_eq!(lines(&sandbox.turn(&baseline).files), expected);
    let changes = sandbox.ask(Request::DiffHead).unwrap();
    assert_eq!(changes.files.len(), 2, "{:?}", lines(&changes.files));
    assert!(!trap.exists());
    // The bait works: plain git does run it.
    let _ = sandbox.command(&sandbox.repo, &["status"]).output().unwrap();
    assert!(trap.exists());
}
