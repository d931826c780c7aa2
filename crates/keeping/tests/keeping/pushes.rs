//! Pushes to real remotes: a folder, a server over HTTP, and servers that refuse, ask or stay silent.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ::sandbox::{redacted, wait_for_file};

use change_set::BytePath;
use changes::Repository;
use keeping::push::{self, PushLimits, PushOutcome, PushPlan, PushReadiness, RemoteKnowledge};

use crate::commits;
use crate::sandbox::Sandbox;
use crate::server::{Manner, Server};

const PAUSES: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(20)];

pub(crate) fn limits() -> PushLimits<'static> {
    PushLimits {
        total: Duration::from_secs(120),
        attempt: Duration::from_secs(60),
        pauses: &PAUSES,
        ours: &[],
        ssh_command: None,
    }
}

/// A repository with a bare remote beside it that has its first commit.
pub(crate) fn with_remote() -> Sandbox {
    let sandbox = commits::sandbox();
    let remote = remote(&sandbox);
    sandbox.git(&["init", "--quiet", "--bare", "--initial-branch=main", remote.to_str().unwrap()]);
    sandbox.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    sandbox.git(&["push", "--quiet", "origin", "main"]);
    // No proxy of this machine between us and our own servers.
    sandbox.git(&["config", "http.proxy", ""]);
    sandbox
}

pub(crate) fn remote(sandbox: &Sandbox) -> PathBuf {
    sandbox.root().join("remote.git")
}

fn remote_head(sandbox: &Sandbox) -> String {
    sandbox.git_in(&remote(sandbox), &["rev-parse", "main"]).trim().to_owned()
}

pub(crate) fn pushed(sandbox: &Sandbox, limits: &PushLimits<'_>) -> PushOutcome {
    push::push(&Repository::discover(&sandbox.repo).unwrap(), &sandbox.program, limits)
}

fn plan(sandbox: &Sandbox) -> PushPlan {
    match push::plan(&Repository::discover(&sandbox.repo).unwrap(), &sandbox.program, None).unwrap() {
        PushReadiness::Ready(plan) => *plan,
        other => panic!("{other:?}"),
    }
}

/// A commit of ours.
pub(crate) fn saved(sandbox: &Sandbox, path: &str, content: &str) -> String {
    sandbox.write(path, content);
    commits::made(sandbox, &[path]).id
}

/// Somebody else's commit on the remote.
pub(crate) fn elsewhere(sandbox: &Sandbox, path: &str, content: &str) {
    let other = sandbox.root().join("other");
    if !other.exists() {
        let from = remote(sandbox);
        sandbox.git(&["clone", "--quiet", from.to_str().unwrap(), other.to_str().unwrap()]);
    }
    fs_err::write(other.join(path), content).unwrap();
    sandbox.git_in(&other, &["add", "--all"]);
    sandbox.git_in(&other, &["commit", "--quiet", "--message=elsewhere"]);
    sandbox.git_in(&other, &["push", "--quiet"]);
}

pub(crate) fn remote_hook(sandbox: &Sandbox, name: &str, script: &str) {
    let path = remote(sandbox).join("hooks").join(name);
    fs_err::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    sandbox::make_executable(&path);
}

/// A6: without a remote there is nothing to push to, and that is all.
#[test]
fn a6_no_remote_is_an_answer() {
    let sandbox = commits::sandbox();
    assert_eq!(pushed(&sandbox, &limits()), PushOutcome::NoRemote);
    // Of several git takes `origin`, unless the config names one.
    sandbox.git(&["remote", "add", "elsewhere", "/nowhere"]);
    sandbox.git(&["remote", "add", "nowhere", "/nowhere"]);
    assert_eq!(pushed(&sandbox, &limits()), PushOutcome::NoRemote);
    sandbox.git(&["config", "remote.pushDefault", "gone"]);
    assert_eq!(pushed(&sandbox, &limits()), PushOutcome::NoRemote);
}

#[test]
fn a_commit_arrives_and_the_remote_was_asked() {
    let sandbox = with_remote();
    let id = saved(&sandbox, "notes", "x\n");
    let plan = plan(&sandbox);
    assert_eq!((plan.commits.len(), plan.commits[0].id.as_str()), (1, id.as_str()));
    let added = plan.added().unwrap();
    assert_eq!((added.files.len(), added.files[0].content.as_slice()), (1, b"x\n".as_slice()));
    // What comes after the plan does not go along.
    saved(&sandbox, "later", "y\n");
    let outcome = plan.push(&limits());
    let wanted = PushOutcome::Pushed { id: id.clone(), branch: "main".to_owned(), rebased_from: None };
    assert_eq!(outcome, wanted);
    assert_eq!(remote_head(&sandbox), id);
    let json = serde_json::to_string(&wanted).unwrap();
    assert_eq!(serde_json::from_str::<PushOutcome>(&json).unwrap(), wanted);
    // Once more: it is there already.
    assert_eq!(plan.push(&limits()), wanted);
}

/// A branch that was begun from `origin/main` goes to its own name, unless the user said otherwise.
#[test]
fn a_branch_goes_to_its_own_name() {
    let sandbox = with_remote();
    sandbox.git(&["fetch", "--quiet", "origin"]);
    sandbox.git(&["switch", "--quiet", "--create", "feature/x", "--track", "origin/main"]);
    assert_eq!(plan(&sandbox).destination, "refs/heads/feature/x");
    let before = remote_head(&sandbox);
    saved(&sandbox, "notes", "x\n");
    assert!(
        matches!(pushed(&sandbox, &limits()), PushOutcome::Pushed { branch, .. } if branch == "feature/x")
    );
    assert_eq!(remote_head(&sandbox), before);
    sandbox.git(&["config", "push.default", "upstream"]);
    assert_eq!(plan(&sandbox).destination, "refs/heads/main");
}

/// Spec 4's conflict resolution: the remote has newer commits: ours are put on top of them, and the user's branch stays where it is.
#[test]
fn newer_commits_on_the_remote_get_ours_on_top() {
    let sandbox = with_remote();
    elsewhere(&sandbox, "b", "theirs\n");
    let theirs = remote_head(&sandbox);
    sandbox.write("sub/c", "staged\n");
    sandbox.git(&["add", "sub/c"]);
    let first = saved(&sandbox, "notes", "first\n");
    let refs = sandbox.git(&["for-each-ref", "refs/heads", "refs/stash", "refs/checkstone"]);
    let ours = [first.clone()];
    let outcome = pushed(&sandbox, &PushLimits { ours: &ours, ..limits() });
    let PushOutcome::Pushed { id, rebased_from, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!(rebased_from, Some(first.clone()));
    assert_eq!(remote_head(&sandbox), id);
    let remote = remote(&sandbox);
    assert_eq!(sandbox.git_in(&remote, &["rev-parse", "main~1"]).trim(), theirs);
    assert_eq!(
        sandbox.git_in(&remote, &["show", "--format=%an %s", "--name-only", "main"]),
        "B checkpoint: a test\n\nnotes\n"
    );
    assert_eq!(sandbox.git(&["for-each-ref", "refs/heads", "refs/stash", "refs/checkstone"]), refs);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "M  sub/c\n");
    assert_eq!(sandbox.git(&["worktree", "list"]).lines().count(), 1);
    assert!(!sandbox.repo.join(".git/FETCH_HEAD").exists());

    // The next one: what is on the remote already is left out, and only the new one is put on top.
    let second = saved(&sandbox, "notes", "second\n");
    let ours = [first, second.clone()];
    let outcome = pushed(&sandbox, &PushLimits { ours: &ours, ..limits() });
    let PushOutcome::Pushed { id: next, rebased_from, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!(rebased_from, Some(second));
    assert_eq!(sandbox.git_in(&remote, &["rev-parse", "main~1"]).trim(), id);
    assert_eq!(remote_head(&sandbox), next);
    // And nothing new: everything is there.
    let outcome = pushed(&sandbox, &PushLimits { ours: &ours, ..limits() });
    assert!(matches!(&outcome, PushOutcome::Pushed { id, .. } if *id == next), "{outcome:?}");
    assert_eq!(remote_head(&sandbox), next);
    // The user catches up without a conflict.
    sandbox.git(&["commit", "--quiet", "--message=theirs", "sub/c"]);
    sandbox.git(&["pull", "--quiet", "--rebase", "origin", "main"]);
    assert_eq!(
        sandbox.git(&["log", "--format=%s", "-4"]),
        "theirs\ncheckpoint: a test\ncheckpoint: a test\nelsewhere\n"
    );
}

#[test]
fn the_same_lines_on_the_remote_are_a_conflict() {
    let sandbox = with_remote();
    elsewhere(&sandbox, "notes", "theirs\n");
    let theirs = remote_head(&sandbox);
    let ours = [saved(&sandbox, "notes", "ours\n")];
    let outcome = pushed(&sandbox, &PushLimits { ours: &ours, ..limits() });
    assert_eq!(outcome, PushOutcome::Conflict { paths: vec![BytePath::from("notes")] });
    assert_eq!(remote_head(&sandbox), theirs);
}

/// Commits that the user made are not sent in another shape.
#[test]
fn the_users_own_commits_are_never_rewritten() {
    let sandbox = with_remote();
    elsewhere(&sandbox, "b", "theirs\n");
    sandbox.write("a", "the user's\n");
    sandbox.git(&["commit", "--quiet", "--all", "--message=the user's"]);
    let theirs = remote_head(&sandbox);
    let ours = [saved(&sandbox, "notes", "ours\n")];
    let outcome = pushed(&sandbox, &PushLimits { ours: &ours, ..limits() });
    insta::assert_snapshot!(redacted(format!("{outcome:?}")), @r#"Rejected { reason: "the remote has newer commits, and 1 unpushed commit is not made by autosave: pull, then push" }"#);
    assert_eq!(remote_head(&sandbox), theirs);
}

/// A6: the remote's own hook says no.
#[test]
fn a6_a_remote_that_refuses_is_told_with_its_words() {
    let sandbox = with_remote();
    remote_hook(&sandbox, "pre-receive", "echo 'not on Fridays'; exit 1");
    let before = remote_head(&sandbox);
    saved(&sandbox, "notes", "x\n");
    let outcome = pushed(&sandbox, &limits());
    insta::assert_snapshot!(redacted(format!("{outcome:?}")), @r#"Rejected { reason: "[remote rejected] (pre-receive hook declined): not on Fridays" }"#);
    assert_eq!(remote_head(&sandbox), before);
}

/// The user's own hook is asked before anything is sent.
#[test]
fn the_pre_push_hook_may_refuse() {
    let sandbox = with_remote();
    let before = remote_head(&sandbox);
    saved(&sandbox, "notes", "x\n");
    commits::hook(&sandbox, "pre-push", "echo 'run the tests first'; exit 1");
    let outcome = pushed(&sandbox, &limits());
    let wanted = "the hook `pre-push` refused it: run the tests first".to_owned();
    assert_eq!(outcome, PushOutcome::Failed { reason: wanted });
    assert_eq!(remote_head(&sandbox), before);
}

/// What is directly in the git folder.
fn git_folder(sandbox: &Sandbox) -> BTreeSet<OsString> {
    fs_err::read_dir(sandbox.repo.join(".git")).unwrap().map(|entry| entry.unwrap().file_name()).collect()
}

/// Pushes with longer and longer attempts, until one of them lasts into the hook, which notes that it was started; the last
/// outcome, and how long an attempt it took.
fn pushed_into_hook(sandbox: &Sandbox, mut prepare: impl FnMut()) -> (PushOutcome, Duration) {
    let mut attempt = Duration::from_millis(500);
    loop {
        attempt *= 2;
        prepare();
        let outcome = pushed(sandbox, &PushLimits { attempt, ..limits() });
        if sandbox.root().join("started").exists() {
            return (outcome, attempt);
        }
    }
}

const HANGING_HOOK: &str =
    "echo started >>../started; git --no-optional-locks status >/dev/null; exec sleep 600";

/// The hook was called once, and it is the hook that took so long.
fn assert_hook_is_named(sandbox: &Sandbox, (outcome, attempt): (PushOutcome, Duration)) {
    let limit = text::duration_in_words(attempt);
    let reason = format!("the hook `pre-push` took longer than {limit} and was stopped");
    assert_eq!(outcome, PushOutcome::Failed { reason });
    assert_eq!(fs_err::read_to_string(sandbox.root().join("started")).unwrap(), "started\n");
}

/// A hook that hangs is not blamed on the remote, and not tried again: it would take as long.
#[test]
fn a_hanging_pre_push_hook_is_named_and_stopped_once() {
    let sandbox = with_remote();
    let before = remote_head(&sandbox);
    saved(&sandbox, "notes", "x\n");
    commits::hook(&sandbox, "pre-push", HANGING_HOOK);
    let files = git_folder(&sandbox);
    assert_hook_is_named(&sandbox, pushed_into_hook(&sandbox, || {}));
    assert_eq!(remote_head(&sandbox), before);
    assert_eq!(git_folder(&sandbox), files);
}

/// The same after an attempt that the remote refused before there was a hook.
#[test]
fn a_hook_that_hangs_at_a_later_attempt_is_named() {
    let sandbox = with_remote();
    saved(&sandbox, "notes", "x\n");
    commits::hook(&sandbox, "pre-push", HANGING_HOOK);
    let mut server = None;
    let ended = pushed_into_hook(&sandbox, || {
        let overloaded = server.insert(Server::start(&sandbox.root(), Manner::Overloaded(1)));
        sandbox.git(&["remote", "set-url", "origin", &overloaded.url("")]);
    });
    assert_hook_is_named(&sandbox, ended);
    assert!(server.unwrap().requests.load(Ordering::SeqCst) > 1);
}

/// What a hook leaves running may call git when the push is long over: its account of that goes nowhere.
#[test]
fn git_in_the_background_of_a_hook_writes_into_no_file_of_ours() {
    let sandbox = with_remote();
    saved(&sandbox, "notes", "x\n");
    let waiting = "while [ ! -e ../go ]; do sleep 0.01; done; git version; echo done >../done";
    commits::hook(&sandbox, "pre-push", &format!("({waiting}) >/dev/null 2>&1 </dev/null &"));
    let files = git_folder(&sandbox);
    let outcome = pushed(&sandbox, &limits());
    assert!(matches!(outcome, PushOutcome::Pushed { .. }), "{outcome:?}");
    assert_eq!(git_folder(&sandbox), files);
    // Whatever number a file of the push had, one of these has it now.
    let ours: Vec<_> = (0..64).map(|_| tempfile::tempfile().unwrap()).collect();
    fs_err::write(sandbox.root().join("go"), "").unwrap();
    wait_for_file(&sandbox.root().join("done"));
    assert!(ours.iter().all(|file| file.metadata().unwrap().len() == 0));
    assert_eq!(git_folder(&sandbox), files);
}

/// `git push` refuses where the upstream has another name, unless the user's `push.default` says which of the two it is.
#[test]
fn an_upstream_of_another_name_is_told() {
    let sandbox = with_remote();
    sandbox.git(&["config", "branch.main.remote", "origin"]);
    let other = |merge: &str, default: Option<&str>| {
        sandbox.git(&["config", "branch.main.merge", &format!("refs/heads/{merge}")]);
        if let Some(default) = default {
            sandbox.git(&["config", "push.default", default]);
        }
        plan(&sandbox).other_upstream
    };
    let other_one = Some("other".to_owned());
    assert_eq!(other("main", None), None);
    assert_eq!(other("other", None), other_one);
    assert_eq!(other("other", Some("simple")), other_one);
    assert_eq!(other("main", Some("simple")), None);
    assert_eq!(other("other", Some("current")), None);
    assert_eq!(other("other", Some("upstream")), None);
    // To a remote that is not the upstream's, git pushes under the same name.
    sandbox.git(&["config", "push.default", "simple"]);
    sandbox.git(&["remote", "add", "fork", "../remote.git"]);
    sandbox.git(&["config", "remote.pushDefault", "fork"]);
    assert_eq!(plan(&sandbox).other_upstream, None);
}

/// S5: pushes go where `git push` would, by every key that it looks at.
#[test]
fn s5_pushes_go_where_git_push_would() {
    let sandbox = with_remote();
    let fork = sandbox.root().join("fork");
    let fork = fork.to_str().unwrap();
    sandbox.git(&["clone", "--quiet", "--bare", ".", fork]);
    sandbox.git(&["remote", "add", "fork", fork]);
    let way = |settings: &[(&str, &str)]| {
        for (key, value) in settings {
            sandbox.git(&["config", key, value]);
        }
        let plan = plan(&sandbox);
        for (key, _) in settings {
            sandbox.git(&["config", "--unset-all", key]);
        }
        format!("{} {} {}", plan.remote().replace(fork, "URL"), plan.remote_branch(), plan.is_tracked)
    };
    let merge = ("branch.main.merge", "refs/heads/theirs");
    let found = [
        way(&[]),
        way(&[("branch.main.remote", "fork"), ("branch.main.merge", "refs/heads/main")]),
        way(&[("remote.pushDefault", "fork")]),
        way(&[("branch.main.pushRemote", "fork"), ("remote.pushDefault", "origin")]),
        way(&[("branch.main.remote", "fork"), ("branch.main.pushRemote", "origin")]),
        way(&[("branch.main.remote", fork), ("branch.main.merge", "refs/heads/main")]),
        way(&[("push.default", "upstream"), ("branch.main.remote", "fork"), merge]),
        way(&[("push.default", "simple"), ("branch.main.remote", "fork"), merge]),
        way(&[("push.default", "current"), ("branch.main.remote", "fork"), merge]),
        way(&[("remote.origin.push", "refs/heads/*:refs/heads/mine/*")]),
    ];
    assert_eq!(
        found,
        [
            "origin main true",
            "fork main false",
            "fork main false",
            "fork main false",
            "origin main true",
            "URL main true",
            "fork theirs false",
            "fork main false",
            "fork main false",
            "origin mine/main false",
        ]
    );
    // Fetched once, the fork is known to have it.
    sandbox.git(&["fetch", "--quiet", "fork"]);
    assert_eq!(way(&[("remote.pushDefault", "fork")]), "fork main true");
    let id = saved(&sandbox, "notes", "x\n");
    let before = remote_head(&sandbox);
    for url in ["fork", fork] {
        sandbox.git(&["config", "remote.pushDefault", url]);
        let wanted = PushOutcome::Pushed { id: id.clone(), branch: "main".to_owned(), rebased_from: None };
        assert_eq!(pushed(&sandbox, &limits()), wanted);
    }
    assert_eq!(sandbox.git_in(std::path::Path::new(fork), &["rev-parse", "main"]).trim(), id);
    assert_eq!(remote_head(&sandbox), before);
}

/// A URL, and a remote that was never fetched: whoever pushes asks what it has, and only the rest goes along.
#[test]
fn a_remote_of_which_nothing_is_known_is_asked_what_it_has() {
    let sandbox = with_remote();
    sandbox.write("a", "published\n");
    sandbox.git(&["commit", "--quiet", "--all", "--message=published"]);
    let fork = sandbox.root().join("fork");
    let fork = fork.to_str().unwrap();
    sandbox.git(&["clone", "--quiet", "--bare", ".", fork]);
    // The fork has commits and a tag that are not here.
    let other = sandbox.root().join("other");
    sandbox.git(&["clone", "--quiet", fork, other.to_str().unwrap()]);
    for arguments in [&["commit", "--quiet", "--allow-empty", "--message=theirs"][..], &["tag", "theirs"]] {
        sandbox.git_in(&other, arguments);
    }
    sandbox.git_in(&other, &["push", "--quiet", "origin", "HEAD:refs/heads/theirs", "theirs"]);
    sandbox.git(&["remote", "add", "fork", fork]);
    let id = saved(&sandbox, "notes", "x\n");
    let known = |plan: &PushPlan| {
        let subjects: Vec<&str> = plan.commits.iter().filter_map(|one| one.message.lines().next()).collect();
        (subjects.join(", "), plan.is_tracked, plan.is_complete, plan.knowledge.clone())
    };
    let nothing = |problem: Option<&str>| {
        let all = "first, published, checkpoint: a test".to_owned();
        (all, false, true, RemoteKnowledge::Nothing { problem: problem.map(str::to_owned) })
    };
    for remote in [fork, "fork"] {
        sandbox.git(&["config", "remote.pushDefault", remote]);
        let mut plan = plan(&sandbox);
        assert_eq!(known(&plan), nothing(None));
        plan.ask_remote(&limits()).unwrap();
        assert_eq!(known(&plan), ("checkpoint: a test".to_owned(), true, true, RemoteKnowledge::Asked));
        assert_eq!(plan.added().unwrap().files.len(), 1);
    }
    // What cannot be asked counts as having nothing, and that is known of it.
    sandbox.git(&["config", "remote.pushDefault", "/nowhere/at.all"]);
    let mut plan = plan(&sandbox);
    plan.ask_remote(&limits()).unwrap();
    let problem = "fatal: '/nowhere/at.all' does not appear to be a git repository";
    let RemoteKnowledge::Nothing { problem: Some(said) } = plan.knowledge.clone() else { panic!("{plan:?}") };
    plan.knowledge = RemoteKnowledge::Nothing { problem: said.lines().next().map(str::to_owned) };
    assert_eq!(known(&plan), nothing(Some(problem)));
    // One that was fetched is not asked.
    sandbox.git(&["config", "remote.pushDefault", "fork"]);
    sandbox.git(&["fetch", "--quiet", "fork"]);
    fs_err::rename(fork, sandbox.root().join("away")).unwrap();
    let mut plan = super::pushes::plan(&sandbox);
    plan.ask_remote(&limits()).unwrap();
    assert_eq!(known(&plan), ("checkpoint: a test".to_owned(), true, true, RemoteKnowledge::Fetched));
    assert_eq!(plan.id, id);
}

/// Where `git push` would send nothing, or nothing of this branch, neither do we.
#[test]
fn nothing_is_pushed_where_git_push_would_push_nothing() {
    let sandbox = with_remote();
    let before = remote_head(&sandbox);
    saved(&sandbox, "notes", "x\n");
    for (key, value, setting) in [
        ("push.default", "nothing", "`push.default` is `nothing`"),
        ("remote.origin.push", "refs/heads/other", "`remote.origin.push` names another branch"),
        (
            "remote.origin.push",
            "refs/heads/main:refs/for/main",
            "`remote.origin.push` points to `refs/for/main`, which is not a branch",
        ),
    ] {
        sandbox.git(&["config", key, value]);
        let reason = format!("{setting} in your git config, so nothing is pushed");
        assert_eq!(pushed(&sandbox, &limits()), PushOutcome::Failed { reason });
        sandbox.git(&["config", "--unset", key]);
    }
    assert_eq!(remote_head(&sandbox), before);
}

/// Who wants submodules to be looked at before a push gets that; they are never pushed along.
#[test]
fn a_submodule_that_nobody_has_stops_the_push_where_that_is_wanted() {
    let sandbox = with_remote();
    let library = sandbox.root().join("library");
    let library = library.to_str().unwrap();
    sandbox.git(&["clone", "--quiet", "--bare", ".", library]);
    sandbox.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library, "module"]);
    let module = sandbox.repo.join("module");
    sandbox.git_in(&module, &["commit", "--quiet", "--allow-empty", "--message=new"]);
    sandbox.commit_all("module");
    sandbox.git(&["config", "push.recurseSubmodules", "check"]);
    let reason = "push the submodules first: no remote has the new commits of `module`".to_owned();
    assert_eq!(pushed(&sandbox, &limits()), PushOutcome::Failed { reason });
    sandbox.git(&["config", "push.recurseSubmodules", "on-demand"]);
    assert!(matches!(pushed(&sandbox, &limits()), PushOutcome::Pushed { .. }));
    let there = sandbox.git_in(&module, &["rev-parse", "origin/main"]);
    assert_ne!(there, sandbox.git_in(&module, &["rev-parse", "HEAD"]));
}

/// A remote's hook that takes its time does not hold us forever.
#[test]
fn a6_a_hanging_push_is_ended() {
    let sandbox = with_remote();
    remote_hook(&sandbox, "pre-receive", "sleep 600");
    saved(&sandbox, "notes", "x\n");
    let short = PushLimits { attempt: Duration::from_millis(700), pauses: &[], ..limits() };
    let outcome = pushed(&sandbox, &short);
    assert_eq!(outcome, PushOutcome::TimedOut { seconds: 1 });
}

/// Over HTTP, with git's own server program.
#[test]
fn a_push_over_http_arrives() {
    let sandbox = with_remote();
    let server = Server::start(&sandbox.root(), Manner::Serves);
    sandbox.git(&["remote", "set-url", "origin", &server.url("")]);
    let id = saved(&sandbox, "notes", "x\n");
    let outcome = pushed(&sandbox, &limits());
    assert!(matches!(&outcome, PushOutcome::Pushed { .. }), "{outcome:?}");
    assert_eq!(remote_head(&sandbox), id);
    elsewhere(&sandbox, "b", "theirs\n");
    let ours = [saved(&sandbox, "notes", "y\n")];
    let outcome = pushed(&sandbox, &PushLimits { ours: &ours, ..limits() });
    assert!(matches!(&outcome, PushOutcome::Pushed { rebased_from: Some(_), .. }), "{outcome:?}");
}

/// A6: a server that wants a password: nobody is asked, it is not tried again, and the one in the URL is not told.
#[test]
fn a6_a_password_is_never_asked_for_nor_told() {
    for user in ["", "someone:pa55w0rd@"] {
        let sandbox = with_remote();
        let server = Server::start(&sandbox.root(), Manner::WantsPassword);
        sandbox.git(&["remote", "set-url", "origin", &server.url(user)]);
        sandbox.git(&["config", "core.askPass", "/bin/false"]);
        saved(&sandbox, "notes", "x\n");
        let outcome = pushed(&sandbox, &limits());
        let PushOutcome::AuthNeeded { reason } = &outcome else { panic!("{outcome:?}") };
        assert!(!reason.contains("pa55w0rd") && !reason.contains("someone"), "{reason}");
        assert!(server.requests.load(Ordering::SeqCst) <= 2, "tried again");
    }
}

/// A6: a server that takes the connection and says nothing.
#[test]
fn a6_a_silent_server_is_given_up() {
    let sandbox = with_remote();
    let server = Server::start(&sandbox.root(), Manner::Silent);
    for url in [server.url(""), format!("git://{}/remote.git", server.address)] {
        sandbox.git(&["remote", "set-url", "origin", &url]);
        let short = PushLimits { attempt: Duration::from_millis(300), pauses: &PAUSES, ..limits() };
        assert_eq!(pushed(&sandbox, &short), PushOutcome::TimedOut { seconds: 1 });
        let total = Duration::from_millis(400);
        let outcome = pushed(&sandbox, &PushLimits { total, ..limits() });
        assert!(matches!(outcome, PushOutcome::TimedOut { .. }), "{outcome:?}");
    }
}

/// Spec 4's retry: what may pass is tried again, and what does not pass is told.
#[test]
fn a_passing_failure_is_tried_again() {
    let sandbox = with_remote();
    let server = Server::start(&sandbox.root(), Manner::Overloaded(2));
    sandbox.git(&["remote", "set-url", "origin", &server.url("")]);
    let id = saved(&sandbox, "notes", "x\n");
    assert!(matches!(pushed(&sandbox, &limits()), PushOutcome::Pushed { .. }));
    assert_eq!(remote_head(&sandbox), id);
    let server = Server::start(&sandbox.root(), Manner::Overloaded(usize::MAX));
    sandbox.git(&["remote", "set-url", "origin", &server.url("")]);
    let outcome = pushed(&sandbox, &limits());
    assert!(matches!(&outcome, PushOutcome::Failed { reason } if reason.contains("503")), "{outcome:?}");
    assert_eq!(server.requests.load(Ordering::SeqCst), 3);
    // Nobody listens there.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    sandbox.git(&["remote", "set-url", "origin", &format!("http://u:pa55w0rd@{free}/x.git")]);
    let outcome = pushed(&sandbox, &limits());
    assert!(
        matches!(&outcome, PushOutcome::Failed { reason } if !reason.contains("pa55w0rd")),
        "{outcome:?}"
    );
}

/// Over SSH nobody is asked for a passphrase or a host key, also where the user has an SSH command of their own.
#[test]
fn ssh_asks_nobody() {
    let mut sandbox = with_remote();
    let script = sandbox.root().join("ssh");
    let log = sandbox.root().join("ssh-log");
    let refusal = "echo 'git@host: Permission denied (publickey).' >&2\nexit 255";
    fs_err::write(&script, format!("#!/bin/sh\necho \"$@\" >>'{}'\n{refusal}\n", log.display())).unwrap();
    sandbox::make_executable(&script);
    sandbox.git(&["remote", "set-url", "origin", "git@host.invalid:x.git"]);
    saved(&sandbox, "notes", "x\n");
    let command = format!("{} -i key", script.display());
    sandbox.git(&["config", "core.sshCommand", &command]);
    let by_environment = format!("{} -p 2222", script.display());
    for ssh_command in [None, Some(by_environment.as_str())] {
        let outcome = pushed(&sandbox, &PushLimits { ssh_command, ..limits() });
        assert!(matches!(outcome, PushOutcome::AuthNeeded { .. }), "{outcome:?}");
    }
    // The program that `GIT_SSH` names.
    sandbox.git(&["config", "--unset", "core.sshCommand"]);
    sandbox.use_git("git-with-ssh-program.sh");
    let before = fs_err::read_to_string(&log).unwrap().lines().count();
    let outcome = pushed(&sandbox, &limits());
    assert!(matches!(outcome, PushOutcome::AuthNeeded { .. }), "{outcome:?}");
    let log = fs_err::read_to_string(log).unwrap();
    assert!(log.lines().nth(before).unwrap().starts_with("-oBatchMode=yes "), "{log}");
    let log: String = log.lines().take(before).map(|line| format!("{line}\n")).collect();
    let calls: Vec<&str> = log.lines().collect();
    assert!(calls.iter().all(|call| call.contains("-oBatchMode=yes")), "{log}");
    assert!(calls[0].starts_with("-i key") && calls[calls.len() - 1].starts_with("-p 2222"), "{log}");
}

/// A remote whose branch is locked says so in the end, and gets no second shape of our commits.
#[test]
fn a_locked_remote_is_told() {
    let sandbox = with_remote();
    let ours = [saved(&sandbox, "notes", "x\n")];
    fs_err::write(remote(&sandbox).join("refs/heads/main.lock"), "").unwrap();
    let outcome = pushed(&sandbox, &PushLimits { ours: &ours, ..limits() });
    assert!(matches!(&outcome, PushOutcome::Rejected { reason } if reason.contains("locked")), "{outcome:?}");
    fs_err::remove_file(remote(&sandbox).join("refs/heads/main.lock")).unwrap();
    let outcome = pushed(&sandbox, &PushLimits { ours: &ours, ..limits() });
    assert!(matches!(&outcome, PushOutcome::Pushed { rebased_from: None, .. }), "{outcome:?}");
}

/// Two at once, both in the end on the remote.
#[test]
fn two_pushes_at_once_both_arrive() {
    let sandbox = with_remote();
    saved(&sandbox, "notes", "x\n");
    let outcomes = std::thread::scope(|scope| {
        let both = [0, 1].map(|_| scope.spawn(|| pushed(&sandbox, &limits())));
        both.map(|push| push.join().unwrap())
    });
    for outcome in outcomes {
        assert!(matches!(&outcome, PushOutcome::Pushed { .. }), "{outcome:?}");
    }
}

/// What a merge brings along from the remote is not new; what the merge itself adds is.
#[test]
fn of_a_merge_only_its_own_lines_are_new() {
    let sandbox = with_remote();
    elsewhere(&sandbox, "b", "theirs\n");
    sandbox.write("a", "the user's\n");
    sandbox.git(&["commit", "--quiet", "--all", "--message=mine"]);
    sandbox.git(&["fetch", "--quiet", "origin"]);
    sandbox.git(&["merge", "--quiet", "--no-commit", "origin/main"]);
    sandbox.write("evil", "only in the merge\n");
    sandbox.git(&["add", "evil"]);
    sandbox.git(&["commit", "--quiet", "--message=merge"]);
    let added = plan(&sandbox).added().unwrap();
    let files: Vec<String> = added.files.iter().map(|file| file.path.to_string()).collect();
    assert_eq!(files, ["a", "evil"]);
}
