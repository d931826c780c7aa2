//! What breaks around the hook: journal, git, pipes, payloads. The agent may stop every time, and quickly.

use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::Stdio;

use sandbox::{RunToEnd as _, contents, finish, wait_for, without_durations};

use super::session::{AGENTS, Session};
use super::world::{HookAnswer, PYTHON, RUN_TESTS, World, answer};

const FIXED: &str = "def add(a, b):\n    return a + b\n";

/// A turn that would be held.
fn due<'a>(world: &'a World, agent: &'static str) -> Session<'a> {
    let mut session = Session::new(world, agent);
    session.prompt("Fix add");
    session.edit("calc.py", FIXED);
    session
}

/// H6: a journal that went missing is made anew; what changed is then known from the transcript.
#[test]
fn h6_a_missing_journal_is_made_anew() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let mut session = due(&world, agent);
        fs_err::remove_dir_all(&world.state).unwrap();
        assert_eq!(session.stop("Done.").holds(), RUN_TESTS, "{agent}");
        session.stop("No.").passes();
        assert_eq!(world.holds(), [1], "{agent}");
    }
}

/// H6: a writer that keeps its lock, and a process that keeps all others out.
#[test]
fn h6_a_locked_journal_passes_within_its_limit() {
    let mut logs = Vec::new();
    for exclusive in
        ["BEGIN EXCLUSIVE", "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; PRAGMA user_version"]
    {
        let world = World::new(PYTHON);
        let mut session = due(&world, "claude");
        let database = world.database();
        if exclusive.contains("locking_mode") {
            // The write-ahead log lets readers in beside any writer; without it nobody gets in.
            database.pragma_update(None, "journal_mode", "DELETE").unwrap();
        }
        database.execute_batch(exclusive).unwrap();
        session.stop("Done.").passes();
        logs.push(without_durations(world.log()));
        drop(database);
        assert_eq!(session.stop("Done now.").holds(), RUN_TESTS);
    }
    insta::assert_snapshot!(logs.join("\n"), @"
    [time] claude 0a1b pass: fail open: the hold cannot be counted: `[folder]/state/journal.db` has been in use by another process for too long [[timings]]

    [time] claude 0a1b pass: fail open: the journal cannot be used: `[folder]/state/journal.db` has been in use by another process for too long [[timings]]
    ");
}

/// H6: at the prompt too. The turn is then unknown, and the stop goes by the transcript.
#[test]
fn h6_a_journal_that_is_locked_at_the_prompt_costs_the_baseline_only() {
    let world = World::new(PYTHON);
    let mut session = Session::new(&world, "codex");
    session.prompt("Look");
    let database = world.database();
    database.execute_batch("BEGIN EXCLUSIVE").unwrap();
    session.prompt("Fix add");
    drop(database);
    insta::assert_snapshot!(without_durations(world.log()), @"[time] codex 0a1b prompt: not recorded: `[folder]/state/journal.db` has been in use by another process for too long [[timings]]");
    session.edit("calc.py", FIXED);
    assert_eq!(session.stop("Done.").holds(), RUN_TESTS);
    assert_eq!(world.holds(), [0, 1]);
}

/// H6: damaged, of another program, of a newer version, a folder in its place.
#[test]
fn h6_a_journal_that_cannot_be_used_passes_and_the_log_says_why() {
    type Damage = fn(&World);
    let mut logs = Vec::new();
    let damages: [Damage; 5] = [
        |world| fs_err::write(world.journal(), vec![b'x'; 8192]).unwrap(),
        |world| {
            let length = fs_err::metadata(world.journal()).unwrap().len();
            let mut bytes = vec![0xff; usize::try_from(length).unwrap()];
            bytes[..100].copy_from_slice(&fs_err::read(world.journal()).unwrap()[..100]);
            fs_err::write(world.journal(), bytes).unwrap();
        },
        |world| {
            fs_err::remove_file(world.journal()).unwrap();
            world.database().execute_batch("CREATE TABLE mail (id INTEGER)").unwrap();
        },
        |world| {
            world.database().execute_batch("PRAGMA user_version = 99099").unwrap();
        },
        |world| {
            fs_err::remove_file(world.journal()).unwrap();
            fs_err::create_dir(world.journal()).unwrap();
        },
    ];
    for damage in damages {
        let world = World::new(PYTHON);
        let mut session = due(&world, "claude");
        // A log that fits the file as it was would repair or hide the damage.
        world.database().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        for suffix in ["-wal", "-shm"] {
            let _ = fs_err::remove_file(world.state.join(format!("journal.db{suffix}")));
        }
        damage(&world);
        session.stop("Done.").passes();
        logs.push(without_durations(world.log().lines().last().unwrap_or_default()));
        session.prompt("Go on");
        session.stop("Done.").passes();
    }
    insta::assert_snapshot!(logs.join("\n"), @"
    [time] claude 0a1b pass: fail open: the journal cannot be used: `[folder]/state/journal.db` is damaged: file is not a database [[timings]]
    [time] claude 0a1b pass: fail open: the journal cannot be used: `[folder]/state/journal.db` is damaged: database disk image is malformed [[timings]]
    [time] claude 0a1b pass: fail open: the journal cannot be used: `[folder]/state/journal.db` belongs to another program [[timings]]
    [time] claude 0a1b pass: fail open: the journal cannot be used: `[folder]/state/journal.db` was written by a newer version (format 99, this one reads up to 8) [[timings]]
    [time] claude 0a1b pass: fail open: the journal cannot be used: `[folder]/state/journal.db` is not a regular file [[timings]]
    ");
}

/// H6: a state directory that cannot be written, for a user without special rights, and one that cannot be made.
#[test]
fn h6_a_state_directory_that_cannot_be_written_passes() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new(PYTHON);
    let mut session = due(&world, "claude");
    let mode = |folder: &std::path::Path, mode| {
        fs_err::set_permissions(folder, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    // Another user must be able to come here and read; git must take the repository as safe for them.
    let configuration = world.home.join("gitconfig");
    fs_err::write(&configuration, "[safe]\n\tdirectory = *\n").unwrap();
    for folder in [world.sandbox.root(), &world.home, &world.repository] {
        mode(folder, 0o755);
    }
    mode(&world.state, 0o555);
    for entry in fs_err::read_dir(&world.state).unwrap() {
        mode(&entry.unwrap().path(), 0o444);
    }
    let is_root = rustix::process::geteuid().is_root();
    let before = contents(&world.state);
    session
        .stop_with("Done.", |command| {
            command.env("GIT_CONFIG_GLOBAL", &configuration);
            if is_root {
                command.uid(65534).gid(65534);
            }
        })
        .passes();
    assert_eq!(contents(&world.state), before);
    session
        .stop_with("Done.", |command| {
            command.env("CHECKSTONE_STATE_DIR", "/proc/checkstone/state");
        })
        .passes();
    session
        .stop_with("Done.", |command| {
            command.env("CHECKSTONE_STATE_DIR", world.repository.join("calc.py"));
        })
        .passes();
}

/// H6: no room is left for what must be counted, so nothing is held.
#[test]
fn h6_without_a_home_there_is_nothing_to_count_in() {
    let world = World::new(PYTHON);
    let mut session = due(&world, "claude");
    session
        .stop_with("Done.", |command| {
            command.env_remove("HOME").env_remove("CHECKSTONE_STATE_DIR");
        })
        .passes();
}

/// H7: git is missing, fails, or answers nonsense: silence, or the generic message once where the policy says so.
#[test]
fn h7_without_git_the_policy_decides() {
    let mut logs = Vec::new();
    for script in [None, Some("exit 128"), Some("echo nonsense"), Some("kill -9 $$")] {
        let world = World::new(PYTHON);
        let folder = match script {
            Some(script) => world.fake_git(script),
            None => world.home.clone(),
        };
        let mut session = due(&world, "claude");
        session
            .stop_with("Done.", |command| {
                command.env("PATH", &folder);
            })
            .passes();
        logs.push(without_durations(world.log()));

        let world = World::new("[gate]\nno_git = \"generic\"\n");
        let folder = match script {
            Some(script) => world.fake_git(script),
            None => world.home.clone(),
        };
        let mut session = due(&world, "claude");
        let reason = session
            .stop_with("Done.", |command| {
                command.env("PATH", &folder);
            })
            .holds();
        assert_eq!(reason, "[checkstone] Continue or validate your work if needed.");
        session
            .stop_with("Done again.", |command| {
                command.env("PATH", &folder);
            })
            .passes();
    }
    insta::assert_snapshot!(logs.join("\n"), @r"
    [time] claude 0a1b pass: cannot ask git: there is no program `git` [[timings]]

    [time] claude 0a1b pass: cannot ask git: `git status` failed: exit status: 128 [[timings]]

    [time] claude 0a1b pass: cannot ask git: cannot understand what `git status` wrote: nonsense\n [[timings]]

    [time] claude 0a1b pass: cannot ask git: `git status` failed: signal: 9 (SIGKILL) [[timings]]
    ");
}

/// H7: git is missing at the prompt: the turn has no baseline, and the log says so.
#[test]
fn h7_a_prompt_without_git_is_recorded_all_the_same() {
    let world = World::new(PYTHON);
    let mut session = Session::new(&world, "claude");
    session.type_prompt("Fix add");
    let mut command = world.hook("claude");
    command.env("PATH", &world.home);
    answer(command, &session.prompt_event("Fix add")).passes();
    insta::assert_snapshot!(without_durations(world.log()), @"[time] claude 0a1b prompt: without a baseline: there is no program `git` [[timings]]");
    session.edit("calc.py", FIXED);
    assert_eq!(session.stop("Done.").holds(), RUN_TESTS);
    assert_eq!(world.holds(), [1]);
}

/// H7: a git that hangs is ended after five seconds, with its children.
#[test]
fn h7_a_git_that_hangs_is_not_waited_for() {
    let world = World::new(PYTHON);
    let mut session = due(&world, "claude");
    let pids = world.home.join("pids");
    let folder = world.fake_git(&format!("sleep 600 & echo $! $$ >> '{}'\nwait", pids.display()));
    let path = format!("{}:/usr/bin:/bin", folder.display());
    session
        .stop_with("Done.", |command| {
            command.env("PATH", &path);
        })
        .passes();
    insta::assert_snapshot!(without_durations(world.log()), @"[time] claude 0a1b pass: cannot ask git: `git status` took longer than [duration] [[timings]]");
    for pid in fs_err::read_to_string(&pids).unwrap().split_whitespace() {
        let gone = || !std::path::Path::new("/proc").join(pid).join("exe").exists();
        wait_for(&format!("the end of process {pid}"), gone);
    }
}

/// The hook, and a pipe into it that stays open.
fn open_pipe(world: &World) -> (std::process::Child, std::process::ChildStdin) {
    let pipes = |command: &mut std::process::Command| {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut child = pipes(&mut world.hook("claude"));
    let stdin = child.stdin.take().unwrap();
    (child, stdin)
}

/// H10: a client that keeps the pipe open is answered when its payload is whole.
#[test]
fn h10_a_pipe_that_is_never_closed() {
    let world = World::new(PYTHON);
    let mut session = due(&world, "claude");
    session.say("Done.");
    let (child, mut stdin) = open_pipe(&world);
    // Longer than any buffer on the way.
    let mut event = session.stop_event();
    event["tool_response"] = serde_json::json!("}".repeat(20_000));
    stdin.write_all(event.to_string().as_bytes()).unwrap();
    assert_eq!(HookAnswer(finish(child)).holds(), RUN_TESTS);
    drop(stdin);

    // Half a payload, and nothing at all.
    for part in ["{\"hook_event_name\":\"Stop\",\"x\":{}", ""] {
        let (child, mut stdin) = open_pipe(&world);
        stdin.write_all(part.as_bytes()).unwrap();
        HookAnswer(finish(child)).passes();
        drop(stdin);
    }
}

/// H10: a flood that is no payload ends; so does one that looks like one at every chunk.
#[test]
fn h10_a_flood_ends() {
    let world = World::new(PYTHON);
    for flood in [b"{}\n".repeat(1 << 20), b"{\"a\":[".repeat(4 << 20), vec![b'}'; 80 << 20]] {
        HookAnswer(world.hook("claude").answer_to(&flood)).passes();
    }
}

/// H10: a payload of many megabytes is read.
#[test]
fn h10_a_huge_payload_is_read() {
    let world = World::new(PYTHON);
    let mut session = due(&world, "claude");
    session.say("Done.");
    let mut event = session.stop_event();
    event["tool_response"] = serde_json::json!("x}".repeat(8 << 20));
    assert_eq!(answer(world.hook("claude"), &event).holds(), RUN_TESTS);
}

/// H10: fields of wrong types, and missing ones.
#[test]
fn h10_odd_fields_pass() {
    let world = World::new(PYTHON);
    let mut session = due(&world, "claude");
    session.say("Done.");
    for field in ["session_id", "cwd", "hook_event_name"] {
        for odd in
            [serde_json::json!(null), serde_json::json!(7), serde_json::json!([]), serde_json::json!("")]
        {
            let mut event = session.stop_event();
            event[field] = odd;
            answer(world.hook("claude"), &event).passes();
        }
    }
    for text in ["[]", "null", "7", "\"Stop\"", "{", "\u{feff}{}", "{\"hook_event_name\":\"Stop\"}", "\0\0"] {
        HookAnswer(world.hook("claude").answer_to(text)).passes();
    }
    let mut event = session.stop_event();
    event["cwd"] = serde_json::json!("/nonexistent/folder");
    answer(world.hook("claude"), &event).passes();
}

/// H10: the client closed its end of our stdout. The hold is lost, and the exit is still 0.
#[test]
fn h10_a_closed_stdout() {
    let world = World::new(PYTHON);
    let mut session = due(&world, "claude");
    session.say("Done.");
    let mut child = world.hook("claude").start_with("");
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));

    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = world.hook("claude");
    command.stdin(Stdio::piped()).stdout(Stdio::from(writer)).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(session.stop_event().to_string().as_bytes());
    let mut complaint = String::new();
    child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
    assert_eq!((child.wait().unwrap().code(), complaint.as_str()), (Some(0), ""));
    session.stop("Done again.").passes();
}

/// A transcript that is not one: a folder, a pipe, missing, another client's, garbage.
#[test]
fn a_transcript_that_cannot_be_read_does_not_break_the_stop() {
    let world = World::new(PYTHON);
    let pipe = world.home.join("pipe");
    sandbox::make_pipe(&pipe);
    let garbage = world.home.join("garbage");
    fs_err::write(&garbage, [0xff; 4096]).unwrap();
    for path in [world.home.clone(), pipe, garbage, world.home.join("missing")] {
        let mut session = due(&world, "claude");
        session.say("Done.");
        let mut event = session.stop_event();
        event["transcript_path"] = serde_json::json!(path);
        let output = answer(world.hook("claude"), &event);
        assert_eq!(output.0.code, Some(0), "{path:?}");
        fs_err::remove_dir_all(&world.state).unwrap();
        world.git(&["checkout", "--quiet", "calc.py"]);
    }
}

/// Text that is made to break a reader: nested to the bottom of any stack, or of exploding size.
#[test]
fn hostile_text_in_the_transcript_does_not_break_the_stop() {
    let deep = |opening: &str| opening.repeat(200_000);
    for command in [
        deep("("),
        deep("$("),
        deep("`"),
        deep("{a,"),
        deep("if "),
        deep("! "),
        deep("<<x "),
        deep("a;"),
        deep("bash -c '"),
    ] {
        let world = World::new(PYTHON);
        let mut session = due(&world, "claude");
        session.shell(&command, "", 0);
        let answer = session.stop("Done.");
        assert_eq!(answer.0.code, Some(0), "{}", &command[..10]);
        assert!(answer.is_hold(), "{}: {}", &command[..10], world.log());
    }
    for record in
        [deep("["), deep("{\"a\":"), format!("{{\"type\":\"user\",\"message\":{}", deep("[{\"content\":"))]
    {
        let world = World::new(PYTHON);
        let mut session = due(&world, "claude");
        let mut file = fs_err::OpenOptions::new().append(true).open(&session.transcript).unwrap();
        file.write_all(format!("{record}\n").as_bytes()).unwrap();
        assert!(session.stop("Done.").is_hold(), "{}", world.log());
    }
    let world = World::new(PYTHON);
    for payload in
        [deep("["), deep("{\"cwd\":"), format!("{{\"hook_event_name\":\"Stop\",\"x\":{}", deep("["))]
    {
        HookAnswer(world.hook("claude").answer_to(payload)).passes();
    }
}

/// Invariant 3: a panic is silence and success, and the log says where it was. What panics here is the start of a
/// thread, which the system refuses: git is given the names of commits by one if they are more than a pipe surely holds.
#[test]
fn a_panic_lets_the_agent_stop() {
    let world = World::new(PYTHON);
    let library = world.home.join("nothread.so");
    let source = world.home.join("nothread.c");
    fs_err::write(&source, "int pthread_create(void *a, void *b, void *c, void *d) { return 11; }\n")
        .unwrap();
    let compiled =
        std::process::Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    if !compiled.is_ok_and(|status| status.success()) {
        return;
    }
    let mut session = Session::new(&world, "claude");
    session.prompt("Fix add on a branch");
    world.git(&["checkout", "--quiet", "-b", "work"]);
    session.edit("calc.py", FIXED);
    world.commit("work");
    for _ in 0..110 {
        world.git(&["commit", "--quiet", "--allow-empty", "--message=more"]);
    }
    world.git(&["checkout", "--quiet", "main"]);
    session.shell("git checkout main", "", 0);
    session
        .stop_with("Done.", |command| {
            command.env("LD_PRELOAD", &library);
        })
        .passes();
    assert!(world.log().contains("pass: fail open: a panic at "), "{}", world.log());
    // Nothing was counted, so the next stop is judged as ever.
    assert!(session.stop("Done again.").is_hold());
}

/// H6: no room is left on the disk, at any point of what is to be written.
#[test]
fn h6_a_full_disk_passes() {
    for kilobytes in [4, 8, 16, 40, 64, 100] {
        let world = World::new(PYTHON);
        let mut session = due(&world, "claude");
        session.say("Done.");
        fs_err::remove_dir_all(&world.state).unwrap();
        fs_err::create_dir(&world.state).unwrap();
        let hook = world.hook("claude");
        let script = format!(
            "mount -t tmpfs -o size={kilobytes}k none \"$CHECKSTONE_STATE_DIR\" || exit 77; exec \"$0\" \"$@\""
        );
        let mut command = std::process::Command::new("unshare");
        command.args(["--mount", "--map-root-user", "sh", "-c", &script]);
        command.arg(hook.get_program()).args(hook.get_args()).current_dir(&world.repository).env_clear();
        command.envs(hook.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let Ok(mut child) = command.spawn() else { return };
        let _ = child.stdin.take().unwrap().write_all(session.stop_event().to_string().as_bytes());
        let answer = HookAnswer(finish(child));
        // Not every machine lets a test mount something.
        if matches!(answer.0.code, Some(1 | 77)) {
            return;
        }
        answer.passes();
    }
}

/// H12: words that this version does not know.
#[test]
fn h12_unknown_arguments_pass() {
    let world = World::new(PYTHON);
    let mut session = due(&world, "claude");
    session.say("Done.");
    let payload = session.stop_event();
    for arguments in [&["hook"][..], &["hook", "emacs"], &["hook", ""], &["hook", "-V"]] {
        let mut command = world.hook("claude");
        let program = command.get_program().to_owned();
        let mut other = std::process::Command::new(program);
        other.args(arguments).env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        other.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command = other;
        answer(command, &payload).passes();
    }
    // A word behind the client's name changes nothing.
    let mut command = world.hook("claude");
    command.args(["--event", "stop"]);
    assert_eq!(answer(command, &payload).holds(), RUN_TESTS);
}

/// An event that nothing is done for.
#[test]
fn an_unknown_event_passes_and_leaves_nothing() {
    let world = World::new(PYTHON);
    for agent in AGENTS {
        let session = Session::new(&world, agent);
        for name in ["PreToolUse", "PostToolUse", "SubagentStop", "PreCompress", "Brand-New"] {
            answer(world.hook(agent), &session.event(name)).passes();
        }
    }
    assert!(!world.state.exists());
}
