//! A6: what becomes of the push, with real remotes; and that nothing is said of it that is not true.

use std::io::Read as _;
use std::net::{TcpListener, TcpStream};

use sandbox::{RunToEnd as _, redacted, without_durations};
use serde_json::json;

use super::direct_execution::executable;
use super::world::{AUTONOMOUS, PATIENT, World, to_agent, to_person};

/// Spec 4's parallel execution: the hook says that it has begun; afterwards the remote has it, and everybody says so.
#[test]
fn a_push_runs_beside_and_is_told_at_the_next_event() {
    let world = World::new(AUTONOMOUS).with_origin();
    let answer = world.work_until(41);
    insta::assert_snapshot!(redacted(to_agent(&answer)), @"
    [checkstone] The context is 41 % full. Notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, push to `origin` started.

    Continue with the task.
    - Task: Fix the counting
    If all of it is done, say so and stop.
    ");
    assert_eq!(world.push_ended().0, "pushed");
    let head = world.git(&["rev-parse", "HEAD"]);
    assert_eq!(world.git(&["--git-dir", world.origin().to_str().unwrap(), "rev-parse", "main"]), head);
    let told = world.prompt("Next");
    insta::assert_snapshot!(redacted(to_person(&told)), @"[checkstone] Auto-checkpoint [hash] was pushed: `origin` has [hash] on `main`");
    assert_eq!(world.prompt("And next"), json!(null), "it is told once");
    let status = world.status();
    assert_eq!(status["autosave"]["last"]["push"]["state"], "pushed");
    assert_eq!(status["autosave"]["counts"]["pushed"], 1);
    insta::assert_snapshot!(without_durations(world.log()), @"
    [time] claude 9f3c2f1e-1111-4222-8333-444455556666 autosave: context_threshold: notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, push to `origin` started ([duration]) [= [duration]]
    [time] claude 9f3c2f1e-1111-4222-8333-444455556666 hold: the agent was told about the save and continues [[timings]]
    [time] autosave pushed push of [hash]: `origin` has [hash] on `main` ([duration])
    ");
}

#[test]
fn a6_without_a_remote_it_is_committed_and_not_pushed() {
    let world = World::new(AUTONOMOUS);
    let answer = world.work_until(41);
    assert_eq!(world.commits(), 2);
    insta::assert_snapshot!(redacted(to_agent(&answer)), @"
    [checkstone] The context is 41 % full. Notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, not pushed: there is no remote to push to.

    Continue with the task.
    - Task: Fix the counting
    If all of it is done, say so and stop.
    ");
    assert_eq!(answer["autonomous_execution"]["router_decision"]["push"], "none");
}

#[test]
fn a6_a_remote_that_refuses_is_told() {
    let world = World::new(AUTONOMOUS).with_origin();
    let hook = "../origin.git/hooks/pre-receive";
    world.write(hook, "#!/bin/sh\necho 'not on a Sunday' >&2\nexit 1\n");
    executable(&world, hook);
    world.work_until(41);
    let (push, _) = world.push_ended();
    assert_eq!((push.as_str(), world.commits()), ("failed", 2));
    let told = world.prompt("Next");
    insta::assert_snapshot!(redacted(to_person(&told)), @"[checkstone] Auto-checkpoint [hash] was not pushed: the remote refused it: [remote rejected] (pre-receive hook declined): not on a Sunday");
    assert_eq!(world.status()["autosave"]["last"]["push"]["state"], "failed");
}

/// What others pushed meanwhile is fetched, and ours put on top of it.
#[test]
fn a6_a_remote_that_went_on_gets_ours_on_top() {
    let world = World::new(AUTONOMOUS).with_origin();
    let other = world.workplace.path("other");
    let origin = world.origin();
    world.git(&["clone", "--quiet", origin.to_str().unwrap(), other.to_str().unwrap()]);
    std::fs::write(other.join("theirs.txt"), "theirs\n").unwrap();
    let there = |arguments: &[&str]| world.git(&[&["-C", other.to_str().unwrap()], arguments].concat());
    there(&["add", "theirs.txt"]);
    there(&["commit", "--quiet", "--message=theirs"]);
    there(&["push", "--quiet", "origin", "main"]);
    world.work_until(41);
    let (push, detail) = world.push_ended();
    assert_eq!(push, "pushed", "{detail}");
    let names = world.git(&["--git-dir", origin.to_str().unwrap(), "ls-tree", "-r", "--name-only", "main"]);
    insta::assert_snapshot!(redacted(&names), @"
    .checkstone/notes/[id].md
    CLAUDE.md
    Cargo.toml
    README.md
    src/lib.rs
    theirs.txt
    ");
    insta::assert_snapshot!(redacted(&detail), @"`origin` has it as [hash] on `main`, on top of what others pushed; `git pull --rebase` brings both together");
}

/// A remote that takes the connection and never says anything: the agent does not wait for it.
#[test]
fn a6_a_remote_that_hangs_keeps_nobody_waiting() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let world = World::new(&format!("{AUTONOMOUS}push = 'always'\n"));
    let url = format!("http://{}/repository.git", server.local_addr().unwrap());
    world.git(&["remote", "add", "origin", &url]);
    let answer = world.work_until(41);
    insta::assert_snapshot!(redacted(to_agent(&answer)), @"
    [checkstone] The context is 41 % full. Notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, push to `origin` started, which publishes the branch `main` if it is not there yet, along with up to 1 other commit (the remote is asked first which of them it has).

    Continue with the task.
    - Task: Fix the counting
    If all of it is done, say so and stop.
    ");
    // The push is under way: it has asked.
    let (mut connection, _) = server.accept().unwrap();
    let mut asked = [0; 3];
    connection.read_exact(&mut asked).unwrap();
    assert_eq!(&asked, b"GET");
    assert_eq!(world.status()["autosave"]["last"]["push"]["state"], "started");
    assert_eq!(world.prompt("Next"), json!(null), "nothing is said of what has not ended");
    // It ends as soon as the other side says something.
    answer_all(server, Some(connection), "HTTP/1.1 404 Not Found");
    assert_eq!(world.push_ended().0, "failed");
}

/// Answers this to everybody, those who wait already first.
fn answer_all(server: TcpListener, waiting: Option<TcpStream>, head: &str) {
    let answer = format!("{head}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    std::thread::spawn(move || {
        for mut connection in waiting.into_iter().chain(server.incoming().flatten()) {
            let mut request = [0; 4096];
            let _ = connection.read(&mut request);
            let _ = std::io::Write::write_all(&mut connection, answer.as_bytes());
        }
    });
}

/// What is too large to be looked through is named; the messages of commits are looked through.
#[test]
fn a12_earlier_commits_are_looked_through_as_far_as_they_can_be() {
    let world = World::new("").with_origin();
    let large = std::fs::File::create(world.workplace.repo().join("large.bin")).unwrap();
    large.set_len(33 * 1024 * 1024).unwrap();
    world.git(&["add", "large.bin"]);
    world.git(&["commit", "--quiet", "--message=large"]);
    world.write("src/lib.rs", "pub fn one() -> u32 { 9 }\n");
    let output = world.checkstone(&["autosave"]).answer();
    let said = output.stdout.clone();
    insta::assert_snapshot!(redacted(&said), @"
    ✓ notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree
    ✓ pushed: `origin` has [hash] on `main`, along with 1 other commit; too large to scan for secrets: `large.bin`
    ");
    let secret = format!("sk_live_{}", "zQ8kV3nT6wYb1LxC9mRd4HsJ7pFg2Ae0");
    world.git(&["commit", "--quiet", "--all", &format!("--message=use it\n\n{secret}\n")]);
    world.write("buildguide.md", "- [ ] Something new\n");
    let pushed = world.git(&["rev-parse", "origin/main"]);
    let output = world.checkstone(&["autosave"]).answer();
    let said = output.stdout.clone();
    insta::assert_snapshot!(redacted(&said), @"
    ✓ notes and 1 other file committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree
    ! not pushed: the push would contain what looks like a secret: the message of commit [hash]
    ");
    assert_eq!((output.code, world.git(&["rev-parse", "origin/main"])), (Some(1), pushed));
}

/// Somebody would have to type a password: nobody is asked, and that is what is said.
#[test]
fn a6_a_remote_that_asks_for_credentials_is_told() {
    let world = World::new(&format!("{AUTONOMOUS}push = 'always'\n"));
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/repository.git", server.local_addr().unwrap());
    answer_all(server, None, "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"");
    world.git(&["remote", "add", "origin", &url]);
    world.work_until(41);
    let (push, detail) = world.push_ended();
    assert_eq!((push.as_str(), world.commits()), ("failed", 2));
    // What git says behind that differs from version to version.
    assert!(detail.starts_with("the remote asks for credentials"), "{detail}");
}

#[test]
fn push_can_be_switched_off() {
    let world = World::new(&format!("{AUTONOMOUS}push = false\n")).with_origin();
    let answer = world.work_until(41);
    insta::assert_snapshot!(redacted(to_agent(&answer)), @"
    [checkstone] The context is 41 % full. Notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, not pushed: `push` is `never`.

    Continue with the task.
    - Task: Fix the counting
    If all of it is done, say so and stop.
    ");
    assert_eq!(world.saves()[0].1, "none");
}

/// S12: a branch that was never pushed is published only if the settings say so, for all branches or by pattern; spec 4's own
/// switches say so.
#[test]
fn s12_a_branch_is_published_only_by_the_settings() {
    let published = |world: World| {
        let world = world.with_origin();
        world.git(&["switch", "--quiet", "--create", "wip/new"]);
        let answer = world.work_until(41);
        let reported = redacted(to_person(&answer));
        let (_, push) = reported.split_once("the whole tree, ").unwrap();
        if push.starts_with("push to") {
            world.push_ended();
        }
        let branches = world.git(&[
            "--git-dir",
            world.origin().to_str().unwrap(),
            "branch",
            "--format=%(refname:short)",
        ]);
        format!("{} | {push}", branches.replace('\n', " "))
    };
    let configured = |more: &str| published(World::new(&format!("{AUTONOMOUS}{more}\n")));
    let flagged = World::new(PATIENT);
    flagged.flag();
    let found = [
        configured(""),
        configured("push = 'tracked'"),
        configured("push = 'always'"),
        configured("push = 'never'"),
        configured("push = true"),
        configured("push = false"),
        configured("push = { 'wip/*' = 'always', '*' = 'never' }"),
        configured("push = { 'wip/*' = 'never', '*' = 'always' }"),
        published(flagged),
        published(World::new(PATIENT).with_variable("CLAUDE_LOOP_ACTIVE", "1")),
        published(World::new(&format!("{PATIENT}push = 'never'\n")).with_variable("CLAUDE_LOOP_ACTIVE", "1")),
    ];
    insta::assert_snapshot!(found.join("\n"), @r#"
    main | not pushed: `origin` has no branch `wip/new` yet; publish it with `git push -u origin wip/new`, or set `push = "always"`
    main | not pushed: `origin` has no branch `wip/new` yet; publish it with `git push -u origin wip/new`, or set `push = "always"`
    main wip/new | push to `origin` started, which publishes the branch `wip/new`
    main | not pushed: `push` is `never`
    main wip/new | push to `origin` started, which publishes the branch `wip/new`
    main | not pushed: `push` is `never`
    main wip/new | push to `origin` started, which publishes the branch `wip/new`
    main | not pushed: `push` is `never`
    main wip/new | push to `origin` started, which publishes the branch `wip/new`
    main wip/new | push to `origin` started, which publishes the branch `wip/new`
    main | not pushed: `push` is `never`
    "#);
}

/// What goes along with a push is said in the message, before it is sent and afterwards.
#[test]
fn commits_that_go_along_are_named() {
    let world = World::new(AUTONOMOUS).with_origin();
    for name in ["one", "two"] {
        world.write(name, "mine\n");
        world.git(&["add", name]);
        world.git(&["commit", "--quiet", "--message=mine"]);
    }
    let answer = world.work_until(41);
    insta::assert_snapshot!(redacted(to_person(&answer)), @"✅ [checkstone] Auto-checkpoint executed: notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, push to `origin` started, along with 2 other commits");
    assert_eq!(world.push_ended().0, "pushed");
    insta::assert_snapshot!(redacted(to_person(&world.prompt("Next"))), @"[checkstone] Auto-checkpoint [hash] was pushed: `origin` has [hash] on `main`, along with 2 other commits");
}

/// S5: `branch.main.remote = fork` is where the user's own pushes go.
#[test]
fn s5_a_save_goes_where_the_branch_is_pushed() {
    let world = World::new(AUTONOMOUS).with_origin();
    let fork = world.workplace.path("fork.git");
    let before = world.git(&["rev-parse", "main"]);
    world.git(&["clone", "--quiet", "--bare", world.origin().to_str().unwrap(), fork.to_str().unwrap()]);
    world.git(&["remote", "add", "fork", fork.to_str().unwrap()]);
    world.git(&["fetch", "--quiet", "fork"]);
    world.git(&["config", "branch.main.remote", "fork"]);
    world.git(&["config", "branch.main.merge", "refs/heads/main"]);
    world.work_until(41);
    let (push, detail) = world.push_ended();
    let head =
        |path: &std::path::Path| world.git(&["--git-dir", path.to_str().unwrap(), "rev-parse", "main"]);
    assert_eq!((push.as_str(), head(&fork)), ("pushed", world.git(&["rev-parse", "main"])), "{detail}");
    assert_eq!(head(&world.origin()), before);
    insta::assert_snapshot!(redacted(&detail), @"`fork` has [hash] on `main`");
}

/// What a URL has already does not go along, so that it is neither counted nor looked through; what it has is not known if it
/// cannot be asked.
#[test]
fn what_a_url_has_already_does_not_go_along() {
    let world = World::new(&format!("{AUTONOMOUS}push = 'always'\n")).with_origin();
    let secret = format!("sk_live_{}", "zQ8kV3nT6wYb1LxC9mRd4HsJ7pFg2Ae0");
    world.write("key.txt", &format!("{secret}\n"));
    world.git(&["add", "key.txt"]);
    world.git(&["commit", "--quiet", "--message=published long ago"]);
    let url = world.origin();
    let url = url.to_str().unwrap();
    world.git(&["push", "--quiet", url, "main"]);
    world.git(&["config", "remote.pushDefault", url]);
    let without_url = |text: &str| redacted(text.replace(url, "URL"));
    let answer = world.work_until(41);
    insta::assert_snapshot!(without_url(to_person(&answer)), @"✅ [checkstone] Auto-checkpoint executed: notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, push to `URL` started, which publishes the branch `main` if it is not there yet, along with up to 2 other commits (the remote is asked first which of them it has)");
    let (push, detail) = world.push_ended();
    assert_eq!(push, "pushed", "{detail}");
    insta::assert_snapshot!(without_url(&detail), @"`URL` has [hash] on `main`");

    world.git(&["config", "remote.pushDefault", "/nowhere/at.all"]);
    world.write("src/lib.rs", "pub fn one() -> u32 { 9 }\n");
    let output = world.checkstone(&["autosave"]).answer();
    insta::assert_snapshot!(redacted(&output.stdout), @"
    ✓ notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree
    ! not pushed: the push would contain what looks like a secret: `key.txt` line 1: stripe-key (`stripe-key:key.txt:f235f8`); the remote may already have it, but its state is unknown: fatal: '/nowhere/at.all' does not appear to be a git repository
    ");
}

/// A12: an earlier commit that was never pushed would go along.
#[test]
fn a12_a_secret_in_an_earlier_commit_is_not_pushed() {
    let world = World::new(AUTONOMOUS).with_origin();
    let secret = format!("sk_live_{}", "zQ8kV3nT6wYb1LxC9mRd4HsJ7pFg2Ae0");
    world.write("key.txt", &format!("{secret}\n"));
    world.git(&["add", "key.txt"]);
    world.git(&["commit", "--quiet", "--message=oops"]);
    world.work_until(41);
    let (push, detail) = world.push_ended();
    assert_eq!(push, "failed");
    insta::assert_snapshot!(redacted(&detail), @"the push would contain what looks like a secret: `key.txt` line 1: stripe-key (`stripe-key:key.txt:f235f8`)");
}
