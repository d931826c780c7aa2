//! SIGKILL at any instant of a commit and of a push, alone and together with the git processes of the moment: what the
//! user has stays, and nothing blocks git.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ::sandbox::wait_for_some;
use ::sandbox::waiting::{at_moment, span_of};

use change_set::BytePath;
use changes::{GitProgram, Repository};
use keeping::commit::{self, NewCommit};
use keeping::push::PushLimits;
use machine::ProcessTable;
use rustix::process::{Pid, Signal, kill_process};

use crate::sandbox::Sandbox;
use crate::{commits, pushes};

const FOLDER: &str = "CHANGES_KILLED_FOLDER";
const GIT: &str = "CHANGES_KILLED_GIT";
const JOB: &str = "CHANGES_KILLED_JOB";

#[expect(clippy::disallowed_methods, reason = "tests get their counts and jobs through the environment")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn kills() -> u32 {
    variable("CHECKSTONE_SOAK_KILLS").and_then(|count| count.parse().ok()).unwrap_or(24)
}

/// The process that the others kill.
#[test]
#[ignore = "is run by the tests that kill it"]
fn the_killed_process() {
    let (Some(folder), Some(git), Some(job)) = (variable(FOLDER), variable(GIT), variable(JOB)) else {
        return;
    };
    let git = GitProgram::in_path(git.as_ref()).within(Duration::from_secs(60));
    let repository = Repository::discover(Path::new(&folder)).unwrap();
    let limit = Duration::from_secs(30);
    if job == "push" {
        let head = repository.head(&git).unwrap().unwrap();
        let ours = [head];
        println!(
            "{:?}",
            keeping::push::push(&repository, &git, &PushLimits { ours: &ours, ..pushes::limits() })
        );
        return;
    }
    let paths = [BytePath::from("notes")];
    let new = NewCommit {
        paths: &paths,
        message: "checkpoint: killed",
        branch: None,
        hook_limit: limit,
        lock_limit: limit,
    };
    println!("{:?}", commit::commit(&repository, &git, &new, &mut |_| true).unwrap());
}

fn start(sandbox: &Sandbox, job: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "kills::the_killed_process", "--ignored", "--quiet", "--nocapture"]);
    command.env(FOLDER, &sandbox.repo).env(GIT, sandbox.root()).env(JOB, job);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// A process and all that it has started, stopped at one instant and killed.
fn kill_all(pid: u32) {
    let signal = |signal: Signal| {
        let _ = kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal);
    };
    signal(Signal::STOP);
    let tasks = Path::new("/proc").join(pid.to_string()).join("task");
    for task in tasks.read_dir().into_iter().flatten().flatten() {
        let children = fs_err::read_to_string(task.path().join("children")).unwrap_or_default();
        children.split_whitespace().filter_map(|child| child.parse().ok()).for_each(kill_all);
    }
    signal(Signal::KILL);
}

fn killed(sandbox: &Sandbox, job: &str, delay: Duration, with_git: bool) {
    let mut child = start(sandbox, job);
    at_moment(delay, || {
        if with_git {
            kill_all(child.id());
        } else {
            let _ = child.kill();
        }
    });
    child.wait().unwrap();
}

/// Where only we were killed, the git process of the moment goes on: until it is done.
fn settle(sandbox: &Sandbox) {
    wait_for_some("git has ended", || (!has_git(sandbox)).then_some(()));
}

/// Whether a git process of ours is at work in the repository.
fn has_git(sandbox: &Sandbox) -> bool {
    let folder = sandbox.repo.join(".git/checkstone").to_string_lossy().into_owned();
    let root = sandbox.root().to_string_lossy().into_owned();
    let is_ours = |pid: &i32| {
        let command = ProcessTable::arguments(*pid).join(&b' ');
        let has = |text: &[u8], word: &str| String::from_utf8_lossy(text).contains(word);
        // Empty while the shell before it becomes git; of other users' processes it cannot be read.
        let works_here = || {
            fs_err::read(format!("/proc/{pid}/environ"))
                .is_ok_and(|environment| environment.is_empty() || has(&environment, &folder))
        };
        has(&command, "git") && (has(&command, &root) || works_here())
    };
    ProcessTable::pids().iter().any(is_ours)
}

/// The locks of git's own that a SIGKILL of git itself can leave for as long as it changes a branch; they are removed
/// and counted.
fn locks_of_git(sandbox: &Sandbox) -> usize {
    let names = ["HEAD.lock", "refs/heads/main.lock", "refs/remotes/origin/main.lock", "logs/HEAD.lock"];
    names.iter().filter(|name| fs_err::remove_file(sandbox.repo.join(".git").join(name)).is_ok()).count()
}

fn user_state(sandbox: &Sandbox) -> [String; 3] {
    [
        sandbox.git(&["diff", "--cached", "--", ":!notes"]),
        sandbox.git(&["stash", "list", "--format=%H"]),
        sandbox.git(&["for-each-ref", "refs/heads/other", "refs/tags", "refs/stash"]),
    ]
}

fn prepared(sandbox: &Sandbox) {
    sandbox.git(&["branch", "other"]);
    sandbox.git(&["tag", "v1"]);
    sandbox.write("a", "stashed\n");
    sandbox.git(&["stash", "--quiet"]);
    for number in 0..30 {
        sandbox.write(&format!("many/{number}"), "staged\n");
    }
    sandbox.git(&["add", "many"]);
    sandbox.write("b", "not staged\n");
}

/// A11: the branch is at its old commit or at ours, what was staged is staged, and after the next run's look around
/// not even a trace is left.
#[test]
fn a11_a_kill_at_any_instant_of_a_commit_harms_nothing() {
    let sandbox = commits::sandbox();
    prepared(&sandbox);
    sandbox.write("notes", "first\n");
    let whole = span_of(|| assert!(start(&sandbox, "commit").wait().unwrap().success()));
    let before = user_state(&sandbox);
    let (mut made, mut staged, mut locks) = (0, 0, 0);
    let count = kills();
    let repository = Repository::discover(&sandbox.repo).unwrap();
    for kill in 0..count {
        sandbox.write("notes", &format!("number {kill}\n"));
        let head = sandbox.git(&["rev-parse", "HEAD"]);
        let with_git = kill % 2 == 0;
        killed(&sandbox, "commit", whole.mul_f64(f64::from(kill) * 1.2 / f64::from(count)), with_git);
        settle(&sandbox);
        locks += locks_of_git(&sandbox);
        assert_eq!(user_state(&sandbox), before, "kill {kill}");
        // A lock of two system calls; known as ours if it is there at all.
        let held = sandbox.repo.join(".git/index.lock").exists();
        let index = sandbox.git(&["ls-files", "--stage", "notes"]);
        commit::recover(&repository, &sandbox.program, Duration::from_secs(20)).unwrap();
        assert!(!sandbox.repo.join(".git/index.lock").exists());
        locks += usize::from(held);
        let now = sandbox.git(&["rev-parse", "HEAD"]);
        if now == head {
            staged += usize::from(index != sandbox.git(&["ls-files", "--stage", "notes"]));
        } else {
            made += 1;
            assert_eq!(sandbox.git(&["rev-parse", "HEAD~1"]), head, "kill {kill}");
            assert_eq!(sandbox.git(&["show", "--format=", "--name-only", "HEAD"]), "notes\n");
        }
        assert_eq!(sandbox.git(&["diff", "--cached", "--", "notes"]), "", "kill {kill}");
        assert_eq!(fs_err::read_to_string(sandbox.repo.join("notes")).unwrap(), format!("number {kill}\n"));
        assert_eq!(user_state(&sandbox), before, "kill {kill}");
    }
    println!(
        "{made} of {count} commits were made, {staged} left staged and taken back, {locks} locks of a killed git"
    );
    sandbox.write("notes", "last\n");
    commits::made(&sandbox, &["notes"]);
    sandbox.git(&["commit", "--quiet", "--message=works"]);
}

/// A11: where only we were killed, the git of the moment goes on. The next run does not wait for it and is not harmed by
/// it, whichever git that is; only where it is about to move the branch, nobody begins before it has ended.
#[test]
fn a11_a_git_that_outlives_a_killed_run_does_not_disturb_the_next() {
    let mut sandbox = commits::sandbox();
    prepared(&sandbox);
    commits::hook(&sandbox, "pre-commit", "true");
    let before = user_state(&sandbox);
    let (waiting, go) = (sandbox.root().join("waiting"), sandbox.root().join("go"));
    sandbox::make_pipe(&go);
    let steps = [
        "read-tree",
        "update-index --ignore-skip",
        "hook run",
        "write-tree",
        "commit-tree",
        "--index-info",
        "add --refresh",
        "update-ref",
    ];
    for step in steps {
        sandbox.write("notes", &format!("killed at {step}\n"));
        fs_err::write(sandbox.root().join("wait-at"), format!("{step}\n")).unwrap();
        sandbox.use_git("git-that-waits.sh");
        let mut child = start(&sandbox, "commit");
        let orphan = wait_for_some(step, || fs_err::read_to_string(&waiting).ok());
        child.kill().unwrap();
        child.wait().unwrap();
        sandbox.use_git("git.sh");
        let let_go = || {
            fs_err::write(&go, "go\n").unwrap();
            let (table, orphan) = (ProcessTable::open().unwrap(), orphan.trim().parse().unwrap());
            let is_alive = || table.read(orphan).is_some_and(|process| process.is_alive);
            wait_for_some("the orphan has ended", || (!is_alive()).then_some(()));
        };
        let head = sandbox.git(&["rev-parse", "HEAD"]);
        if step == "update-ref" {
            let repository = Repository::discover(&sandbox.repo).unwrap();
            let error =
                commit::recover(&repository, &sandbox.program, Duration::from_millis(50)).unwrap_err();
            assert!(matches!(error, commit::CommitError::Busy), "{error}");
            let_go();
            assert_ne!(sandbox.git(&["rev-parse", "HEAD"]), head, "the orphan has committed");
            sandbox.write("notes", "the next\n");
            commits::made(&sandbox, &["notes"]);
        } else {
            sandbox.write("notes", &format!("the next after {step}\n"));
            commits::made(&sandbox, &["notes"]);
            let_go();
            assert_eq!(sandbox.git(&["rev-parse", "HEAD~1"]), head, "{step}");
        }
        let notes = fs_err::read_to_string(sandbox.repo.join("notes")).unwrap();
        assert_eq!(sandbox.git(&["show", "HEAD:notes"]), notes, "{step}");
        assert_eq!(sandbox.git(&["status", "--porcelain", "--", "notes"]), "", "{step}");
        assert_eq!(user_state(&sandbox), before, "{step}");
        let left: Vec<_> = sandbox.repo.join(".git/checkstone").read_dir().unwrap().flatten().collect();
        assert_eq!(left.len(), 1, "{step}: {left:?}");
        fs_err::remove_file(&waiting).unwrap();
    }
}

/// The same at random instants: the next commit begins in the very moment of the kill.
#[test]
fn a11_the_next_commit_does_not_wait_for_the_git_of_a_killed_run() {
    let sandbox = commits::sandbox();
    prepared(&sandbox);
    sandbox.write("notes", "first\n");
    let whole = span_of(|| assert!(start(&sandbox, "commit").wait().unwrap().success()));
    let before = user_state(&sandbox);
    let count = kills();
    let mut orphans = 0;
    for kill in 0..count {
        sandbox.write("notes", &format!("killed {kill}\n"));
        killed(&sandbox, "commit", whole.mul_f64(f64::from(kill) * 1.1 / f64::from(count)), false);
        orphans += u32::from(has_git(&sandbox));
        let notes = format!("number {kill}\n");
        sandbox.write("notes", &notes);
        let outcome = commits::attempt(&sandbox, &["notes"]).unwrap();
        assert!(matches!(outcome, commit::CommitOutcome::Made(_)), "kill {kill}: {outcome:?}");
        settle(&sandbox);
        assert_eq!(sandbox.git(&["show", "HEAD:notes"]), notes, "kill {kill}");
        assert_eq!(sandbox.git(&["status", "--porcelain", "--", "notes"]), "", "kill {kill}");
        assert_eq!(user_state(&sandbox), before, "kill {kill}");
        assert!(!sandbox.repo.join(".git/index.lock").exists(), "kill {kill}");
    }
    println!("{count} commits after a kill, {orphans} of them while a git of the killed run still ran");
}

/// The same for a push; the remote has the commit or has it not.
#[test]
fn a6_a_kill_at_any_instant_of_a_push_harms_nothing() {
    let sandbox = pushes::with_remote();
    prepared(&sandbox);
    pushes::saved(&sandbox, "notes", "first\n");
    let whole = span_of(|| assert!(start(&sandbox, "push").wait().unwrap().success()));
    let before = user_state(&sandbox);
    let (mut arrived, mut locks) = (0, 0);
    let count = kills();
    for kill in 0..count {
        let id = pushes::saved(&sandbox, "notes", &format!("number {kill}\n"));
        let index = fs_err::read(sandbox.repo.join(".git/index")).unwrap();
        killed(&sandbox, "push", whole.mul_f64(f64::from(kill) * 1.2 / f64::from(count)), kill % 2 == 0);
        settle(&sandbox);
        locks += locks_of_git(&sandbox);
        assert_eq!(fs_err::read(sandbox.repo.join(".git/index")).unwrap(), index, "kill {kill}");
        assert_eq!(sandbox.git(&["rev-parse", "HEAD"]).trim(), id);
        assert_eq!(user_state(&sandbox), before, "kill {kill}");
        let remote = sandbox.git_in(&pushes::remote(&sandbox), &["rev-parse", "main"]);
        arrived += u32::from(remote.trim() == id);
        // A remote that is a folder has its git killed as well, in the middle of moving its branch.
        for lock in ["HEAD.lock", "refs/heads/main.lock"] {
            let _ = fs_err::remove_file(pushes::remote(&sandbox).join(lock));
        }
    }
    println!("{arrived} of {count} commits arrived, {locks} locks of a killed git");
    let outcome = pushes::pushed(&sandbox, &pushes::limits());
    assert!(matches!(&outcome, keeping::push::PushOutcome::Pushed { .. }), "{outcome:?}");
}
