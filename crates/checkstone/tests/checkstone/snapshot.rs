use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use sandbox::{RunToEnd as _, redacted, waiting::at_moment, waiting::span_of};
use serde_json::{Value, json};

use crate::at_turn_start::configure;
use crate::trust::terminal;
use crate::workplace::{SESSION, Workplace, valid};

fn create(workplace: &Workplace) -> String {
    let value = workplace.json(&["snapshot", "create", "--json"], "snapshot-create.schema.json");
    value["id"].as_str().unwrap().to_owned()
}

/// Every file of the working tree with its executable bit and content.
fn tree(workplace: &Workplace) -> BTreeMap<PathBuf, (bool, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![workplace.repo()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().unwrap().flatten() {
            let path = entry.path();
            if entry.file_name() == ".git" {
            } else if path.is_dir() {
                folders.push(path);
            } else {
                let executable = path.metadata().unwrap().mode() & 0o100 != 0;
                let content = std::fs::read(&path).unwrap();
                found.insert(path, (executable, content));
            }
        }
    }
    found
}

fn changed(workplace: &Workplace) {
    workplace.write("src/lib.rs", "pub fn two() -> u32 { 2 }\n");
    workplace.write("notes/new.txt", "new\n");
    std::fs::remove_file(workplace.repo().join("README.md")).unwrap();
}

/// The whole way by the commands, each answer fitting its schema.
#[test]
fn a_snapshot_is_taken_listed_compared_restored_and_undone() {
    let workplace = Workplace::new(None);
    let then = tree(&workplace);
    let id = create(&workplace);
    changed(&workplace);
    let now = tree(&workplace);
    let diff = workplace.json(&["snapshot", "diff", "--json"], "snapshot-diff.schema.json");
    assert_eq!(
        diff,
        json!({"old": id, "new": null, "files": [
            {"path": "README.md", "change": "deleted"},
            {"path": "notes/new.txt", "change": "added"},
            {"path": "src/lib.rs", "change": "modified"}], "left_out": []})
    );
    let shown = workplace.shown(&["snapshot", "diff"]);
    assert_eq!(
        shown,
        "exit code: 0\n--- stdout\ndeleted  README.md\nadded    notes/new.txt\nmodified src/lib.rs\n--- stderr\n"
    );
    let patch = workplace.shown(&["snapshot", "diff", "latest", "--patch", "--", "src"]);
    insta::assert_snapshot!(redacted(&patch), @"
    exit code: 0
    --- stdout
    diff --git a/src/lib.rs b/src/lib.rs
    index [hash]..[hash] 100644
    --- a/src/lib.rs
    +++ b/src/lib.rs
    @@ -1 +1 @@
    -pub fn one() -> u32 { 1 }
    +pub fn two() -> u32 { 2 }
    --- stderr
    ");
    let restore = ["snapshot", "restore", &id[..], "--yes", "--json"];
    let restored = workplace.json(&restore, "snapshot-restore.schema.json");
    assert_eq!(restored["written"], json!(["README.md", "src/lib.rs"]));
    assert_eq!((&restored["removed"], &restored["skipped"]), (&json!(["notes/new.txt"]), &json!([])));
    assert_eq!(tree(&workplace), then);
    // The one that somebody asked for, not the one that the restore took.
    let diff = workplace.json(&["snapshot", "diff", "latest", "--json"], "snapshot-diff.schema.json");
    assert_eq!((&diff["old"], &diff["files"]), (&json!(id), &json!([])));
    let undone =
        workplace.json(&["snapshot", "restore", "--undo", "--yes", "--json"], "snapshot-restore.schema.json");
    assert_eq!(undone["snapshot"], restored["before"]);
    assert_eq!(tree(&workplace), now);
    let list = workplace.json(&["snapshot", "list", "--json"], "snapshot-list.schema.json");
    let reasons: Vec<&str> =
        list["snapshots"].as_array().unwrap().iter().map(|one| one["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, ["before-restore", "before-restore", "asked"]);
    let pruned = workplace.json(&["snapshot", "prune", "--keep", "1", "--json"], "snapshot-list.schema.json");
    assert_eq!(pruned["snapshots"].as_array().unwrap().len(), 2);
    let list = workplace.shown(&["snapshot", "list"]);
    assert_eq!(list.lines().count(), 4, "{list}");
}

/// S6, S7: submodules are counted, what is too large by the user's own setting is named, and the exit code says so.
#[test]
fn s6_submodules_are_taken_along_and_s7_large_files_are_named() {
    let workplace = Workplace::new(None);
    workplace.git(&["clone", "--quiet", ".", "../library"]);
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../library", "library"];
    workplace.git(&add);
    workplace.git(&["commit", "--quiet", "--message=submodule"]);
    workplace.write("library/src/lib.rs", "pub fn two() -> u32 { 2 }\n");
    workplace.write("large.txt", &"x".repeat(1_500_000));
    configure(&workplace, "[snapshot]\nlargest_file_mb = 1\n");
    insta::assert_snapshot!(workplace.shown(&["snapshot", "create"]), @"
    exit code: 1
    --- stdout
    ✓ snapshot [id]: 1 file different from HEAD, 0 B, and the changes in 1 submodule
    --- stderr
    warning: `large.txt` was not saved as it is: it is larger than 1 MB (`largest_file_mb` in `[snapshot]`)
    ");
    let list = workplace.json(&["snapshot", "list", "--json"], "snapshot-list.schema.json");
    let taken = &list["snapshots"][0];
    assert_eq!(taken["submodules"][0]["path"], "library");
    let reason = "it is larger than 1 MB (`largest_file_mb` in `[snapshot]`)";
    assert_eq!(taken["left_out"], json!([{"path": "large.txt", "reason": reason}]));
}

/// HEAD has what the snapshot has, and the file itself is ruined: nobody is told that nothing differs.
#[test]
fn a_file_that_cannot_be_saved_is_not_taken_for_unchanged() {
    let workplace = Workplace::new(None);
    configure(&workplace, "[snapshot]\nlargest_file_mb = 1\n");
    create(&workplace);
    workplace.write("README.md", &"x".repeat(1_500_000));
    let reason = "it is larger than 1 MB (`largest_file_mb` in `[snapshot]`)";
    let diff = workplace.json(&["snapshot", "diff", "--json"], "snapshot-diff.schema.json");
    assert_eq!(diff["files"], json!([{"path": "README.md", "change": "unknown"}]));
    assert_eq!(diff["left_out"], json!([{"path": "README.md", "reason": reason}]));
    let restored =
        workplace.json(&["snapshot", "restore", "latest", "--yes", "--json"], "snapshot-restore.schema.json");
    let reason = format!("its current state cannot be saved: {reason}");
    assert_eq!(restored["skipped"], json!([{"path": "README.md", "reason": reason}]));
    let (_person, terminal) = terminal();
    let mut command = workplace.checkstone(&["snapshot", "restore", "latest"]);
    let asked = redacted(command.stdin(Stdio::from(terminal)).answer().to_string());
    let told = [
        &["snapshot", "diff"][..],
        &["snapshot", "diff", "--patch"],
        &["snapshot", "restore", "latest", "--yes"],
    ]
    .map(|arguments| workplace.shown(arguments));
    insta::assert_snapshot!(told.concat() + &asked, @"
    exit code: 1
    --- stdout
    unknown  README.md: it is larger than 1 MB (`largest_file_mb` in `[snapshot]`)
    --- stderr
    exit code: 1
    --- stdout
    --- stderr
    warning: `README.md` could not be compared: it is larger than 1 MB (`largest_file_mb` in `[snapshot]`)
    exit code: 1
    --- stdout
    → README.md was left alone: its current state cannot be saved: it is larger than 1 MB (`largest_file_mb` in `[snapshot]`)
    ✓ restored [id]: 0 files written, 0 removed
    --- stderr
    exit code: 1
    --- stdout
    → README.md stays as it is: it is larger than 1 MB (`largest_file_mb` in `[snapshot]`)
    Nothing else differs from [id].
    --- stderr
    ");
}

/// Both sides' rules say what is ignored: what the first restore leaves alone, the undo does not remove.
#[test]
fn what_was_ignored_survives_a_restore_and_its_undo() {
    let workplace = Workplace::new(None);
    create(&workplace);
    workplace.write(".gitignore", ".env\ndata/\n");
    workplace.write(".env", "SECRET=1\n");
    workplace.write("data/db", "people\n");
    let now = tree(&workplace);
    let told = [&["snapshot", "restore", "latest", "--yes"][..], &["snapshot", "restore", "--undo", "--yes"]]
        .map(|arguments| workplace.shown(arguments));
    assert_eq!(tree(&workplace), now);
    insta::assert_snapshot!(told.concat(), @"
    exit code: 0
    --- stdout
    ✓ restored [id]: 0 files written, 1 removed
    `checkstone snapshot restore --undo` brings back what was there
    --- stderr
    exit code: 1
    --- stdout
    → .env was left alone: the snapshot's own `.gitignore` files ignore it, so it may have been there
    → data was left alone: the snapshot's own `.gitignore` files ignore it, so it may have been there
    ✓ restored [id]: 1 file written, 0 removed
    `checkstone snapshot restore --undo` brings back what was there
    --- stderr
    ");
}

/// S11: the repository, the work and a named ignored file come back after `rm -rf .git`.
#[test]
fn s11_a_removed_repository_comes_back_from_its_mirror() {
    let workplace = Workplace::new(None);
    configure(&workplace, "[snapshot]\nmirror = true\nmirror_files = [\".env\"]\n");
    workplace.write(".gitignore", ".env\n");
    workplace.write(".env", "KEY=1\n");
    changed(&workplace);
    let (then, head, id) = (tree(&workplace), workplace.head(), create(&workplace));
    for gone in [".git", "src", "notes"] {
        std::fs::remove_dir_all(workplace.repo().join(gone)).unwrap();
    }
    std::fs::remove_file(workplace.repo().join(".env")).unwrap();
    insta::assert_snapshot!(workplace.shown(&["snapshot", "restore", "--from-mirror", "--yes"]), @"
    exit code: 0
    --- stdout
    ✓ restored [id]: 3 files written, 0 removed
    `checkstone snapshot restore --undo` brings back what was there
    --- stderr
    the repository in `[folder]/repo` was created again from its mirror
    ");
    assert_eq!(tree(&workplace), then);
    assert_eq!(workplace.head(), head);
    let diff = workplace.json(&["snapshot", "diff", &id, "--json"], "snapshot-diff.schema.json");
    assert_eq!(diff["files"], json!([]));
}

/// Whether there is a mirror is said first; then somebody is asked, and only then anything is written.
#[test]
fn s11_a_repository_is_made_anew_only_after_an_answer() {
    let workplace = Workplace::new(None);
    insta::assert_snapshot!(workplace.shown(&["snapshot", "restore", "--from-mirror"]), @"
    exit code: 3
    --- stdout
    --- stderr
    error: there is no mirror of `[folder]/repo`
    hint: `mirror = true` in `[snapshot]` keeps one, from the next snapshot on
    ");
    configure(&workplace, "[snapshot]\nmirror = true\n");
    changed(&workplace);
    create(&workplace);
    let then = tree(&workplace);
    std::fs::remove_dir_all(workplace.repo().join(".git")).unwrap();
    std::fs::remove_file(workplace.repo().join("src/lib.rs")).unwrap();
    insta::assert_snapshot!(workplace.shown(&["snapshot", "restore", "--from-mirror"]), @"
    exit code: 4
    --- stdout
    --- stderr
    error: nothing restored: not a terminal
    hint: pass `--yes`, or preview with `checkstone snapshot diff`
    ");
    let answered = |answer: &str| {
        let (person, terminal) = terminal();
        rustix::io::write(&person, answer.as_bytes()).unwrap();
        let mut command = workplace.checkstone(&["snapshot", "restore", "--from-mirror"]);
        redacted(command.stdin(Stdio::from(terminal)).answer().to_string())
    };
    insta::assert_snapshot!(answered("n\n"), @"
    exit code: 1
    --- stdout
    added    src/lib.rs
    Nothing was changed.
    --- stderr
    Create the repository again, and restore [id]? [y/N]
    ");
    assert!(!workplace.repo().join(".git").exists());
    insta::assert_snapshot!(answered("y\n"), @"
    exit code: 0
    --- stdout
    added    src/lib.rs
    ✓ restored [id]: 1 file written, 0 removed
    `checkstone snapshot restore --undo` brings back what was there
    --- stderr
    Create the repository again, and restore [id]? [y/N] the repository in `[folder]/repo` was created again from its mirror
    ");
    assert_eq!(tree(&workplace), then);
}

/// Without a mirror there is nothing to bring back, and a folder in no repository has no snapshots; with one it has.
#[test]
fn a_folder_without_a_repository_has_snapshots_by_the_mirror() {
    let workplace = Workplace::new(None);
    std::fs::remove_dir_all(workplace.repo().join(".git")).unwrap();
    insta::assert_snapshot!(workplace.shown(&["snapshot", "restore", "--from-mirror", "--yes"]), @"
    exit code: 3
    --- stdout
    --- stderr
    error: there is no mirror of `[folder]/repo`
    hint: `mirror = true` in `[snapshot]` keeps one, from the next snapshot on
    ");
    insta::assert_snapshot!(workplace.shown(&["snapshot", "create"]), @"
    exit code: 3
    --- stdout
    --- stderr
    error: `[folder]/repo` is not inside a git repository
    hint: change to a git repository, or name a folder in one with `--repo`
    hint: with `mirror = true` in `[snapshot]` of your own configuration it needs no repository
    ");
    configure(&workplace, "[snapshot]\nmirror = true\n");
    let (then, id) = (tree(&workplace), create(&workplace));
    changed(&workplace);
    let restored =
        workplace.json(&["snapshot", "restore", &id, "--yes", "--json"], "snapshot-restore.schema.json");
    assert_eq!(restored["written"], json!(["README.md", "src/lib.rs"]));
    assert_eq!(tree(&workplace), then);
}

/// Paths are meant from where the command is called, and those outside are refused.
#[test]
fn paths_are_taken_from_the_current_folder() {
    let workplace = Workplace::new(None);
    let id = create(&workplace);
    changed(&workplace);
    let run = |path: &str| {
        let mut command = workplace.checkstone(&["snapshot", "restore", &id, path, "--yes"]);
        command.current_dir(workplace.repo().join("src")).answer().to_string()
    };
    insta::assert_snapshot!(redacted(run("lib.rs")), @"
    exit code: 0
    --- stdout
    ✓ restored [id]: 1 file written, 0 removed
    `checkstone snapshot restore --undo` brings back what was there
    --- stderr
    ");
    assert!(!workplace.repo().join("README.md").exists());
    insta::assert_snapshot!(redacted(run("../README.md")), @"
    exit code: 0
    --- stdout
    ✓ restored [id]: 1 file written, 0 removed
    `checkstone snapshot restore --undo` brings back what was there
    --- stderr
    ");
    assert_eq!(
        run("../../elsewhere"),
        "exit code: 2\n--- stdout\n--- stderr\nerror: `../../elsewhere` is not a path in the repository\n\
         hint: name files and folders in the working tree\n"
    );
    insta::assert_snapshot!(redacted(run("nowhere")), @"
    exit code: 3
    --- stdout
    --- stderr
    error: neither the snapshot nor the working tree has `src/nowhere`
    ");
    insta::assert_snapshot!(redacted(run("lib.rs")), @"
    exit code: 0
    --- stdout
    Nothing differs from [id].
    --- stderr
    ");
}

#[test]
fn nothing_is_restored_without_an_answer() {
    let workplace = Workplace::new(None);
    create(&workplace);
    changed(&workplace);
    let now = tree(&workplace);
    assert_eq!(
        workplace.shown(&["snapshot", "restore", "latest"]),
        "exit code: 4\n--- stdout\n--- stderr\nerror: nothing restored: not a terminal\n\
         hint: pass `--yes`, or preview with `checkstone snapshot diff`\n"
    );
    for (answer, code) in [("n\n", 1), ("\n", 1), ("y\n", 0)] {
        assert_eq!(tree(&workplace), now);
        let (person, terminal) = terminal();
        rustix::io::write(&person, answer.as_bytes()).unwrap();
        let mut command = workplace.checkstone(&["snapshot", "restore", "latest"]);
        let output = command.stdin(Stdio::from(terminal)).answer();
        assert_eq!(output.code, Some(code), "{output}");
        assert!(output.stderr.ends_with("? [y/N] "));
    }
    assert!(workplace.repo().join("README.md").exists());
}

/// Where an agent calls, its session and turn are known.
#[test]
fn the_session_that_calls_is_recorded() {
    let workplace = Workplace::new(None);
    workplace.turn(&[]);
    workplace.hook("UserPromptSubmit", json!({"prompt": "Fix it"}));
    let mut command = workplace.checkstone(&["snapshot", "create", "--message", "mine", "--json"]);
    let output = command.env("CLAUDE_CODE_SESSION_ID", SESSION).answer();
    let value = valid(&output.stdout, "snapshot-create.schema.json");
    assert_eq!(value["session"], json!({"agent": "claude", "id": SESSION}));
    assert_eq!((&value["turn"], &value["message"]), (&json!("prompt-1"), &json!("mine")));
}

#[test]
fn what_is_wrong_is_said_with_what_to_do() {
    let workplace = Workplace::new(None);
    let told = [
        &["snapshot", "restore", "x", "--yes"][..],
        &["snapshot", "restore", "--undo", "--yes"],
        &["snapshot", "diff"],
        &["snapshot", "create", "--repo", "/"],
    ]
    .map(|arguments| workplace.shown(arguments));
    insta::assert_snapshot!(told.concat(), @"
    exit code: 3
    --- stdout
    --- stderr
    error: there is no snapshot `x`
    hint: `checkstone snapshot list` shows the ids
    exit code: 3
    --- stdout
    --- stderr
    error: there is no restore to undo
    hint: `checkstone snapshot restore ID` restores any snapshot
    exit code: 3
    --- stdout
    --- stderr
    error: there is no snapshot `latest`
    hint: `checkstone snapshot list` shows the ids
    exit code: 3
    --- stdout
    --- stderr
    error: `/` is not inside a git repository
    hint: change to a git repository, or name a folder in one with `--repo`
    ");
    insta::assert_snapshot!(redacted(workplace.shown(&["snapshot","list"])), @"
    exit code: 0
    --- stdout
    There are no snapshots here; `checkstone snapshot create` takes one.
    --- stderr
    ");
}

/// A file that cannot be read is reported, the rest is saved, and a restore keeps away from it. Root reads
/// everything, so another user takes this snapshot.
#[test]
fn an_unreadable_file_is_reported() {
    let setpriv = Command::new("setpriv").arg("--version").stdout(Stdio::null()).status();
    if !rustix::process::geteuid().is_root() || !setpriv.is_ok_and(|status| status.success()) {
        return;
    }
    let workplace = Workplace::new(None);
    workplace.write("README.md", "changed\n");
    workplace.write("closed", "closed\n");
    std::fs::set_permissions(workplace.repo().join("closed"), PermissionsExt::from_mode(0o000)).unwrap();
    workplace.write("shut/inside", "x\n");
    let all = workplace.path("");
    assert!(Command::new("chown").args(["-R", "65534:65534"]).arg(&all).status().unwrap().success());
    std::fs::set_permissions(workplace.repo().join("shut"), PermissionsExt::from_mode(0o000)).unwrap();
    // Copied, since the folder of the build may be closed to others.
    let copy = workplace.path("checkstone");
    std::fs::copy(env!("CARGO_BIN_EXE_checkstone"), &copy).unwrap();
    sandbox::make_executable(&copy);
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&copy);
    command.args(["snapshot", "create", "--json"]).current_dir(workplace.repo()).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", workplace.path("home"));
    let output = command.env("GIT_CONFIG_NOSYSTEM", "1").stdin(Stdio::null()).answer();
    let value = valid(&output.stdout, "snapshot-create.schema.json");
    let left: Vec<&Value> = value["left_out"].as_array().unwrap().iter().collect();
    assert_eq!(output.code, Some(1), "{output}");
    assert!(left.iter().any(|left| left["path"] == "closed"), "{left:?}");
    assert!(left.iter().any(|left| left["reason"].as_str().unwrap().contains("shut")), "{left:?}");
    insta::assert_snapshot!(redacted(&output.stderr), @"
    warning: `closed` was not saved as it is: Permission denied
    warning: not everything was saved: warning: could not open directory 'shut/': Permission denied
    ");
    std::fs::set_permissions(workplace.repo().join("shut"), PermissionsExt::from_mode(0o755)).unwrap();
}

/// What must never change, however a command ends.
fn untouchable(workplace: &Workplace) -> Vec<Vec<u8>> {
    let git = |arguments: &[&str]| {
        let mut command = workplace.prepared(Command::new("git"));
        let output = command.args(arguments).env("GIT_OPTIONAL_LOCKS", "0").answer();
        assert!(output.succeeded(), "{arguments:?}: {output:?}");
        output.stdout.into_bytes()
    };
    let read = |name: &str| std::fs::read(workplace.repo().join(".git").join(name)).unwrap();
    assert!(!workplace.repo().join(".git/index.lock").exists());
    vec![
        read("index"),
        read("HEAD"),
        read("logs/HEAD"),
        read("config"),
        git(&["stash", "list"]),
        git(&["for-each-ref", "refs/heads", "refs/tags", "refs/stash"]),
    ]
}

/// A process and all that it has started, stopped at one instant and killed.
pub(crate) fn kill_all(pid: u32) {
    let signal = |pid: u32, signal: Signal| {
        let _ = kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal);
    };
    signal(pid, Signal::STOP);
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    children.split_whitespace().filter_map(|child| child.parse().ok()).for_each(kill_all);
    signal(pid, Signal::KILL);
}

/// Runs a command and kills it after `delay`: alone, or with the git processes that it has started.
pub(crate) fn killed(workplace: &Workplace, arguments: &[&str], delay: Duration, with_git: bool) {
    let mut command = workplace.checkstone(arguments);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    at_moment(delay, || {
        if with_git {
            kill_all(child.id());
        } else {
            let _ = child.kill();
        }
    });
    child.wait().unwrap();
}

/// So many where nobody asks for more.
pub(crate) fn kills(few: u32) -> u32 {
    std::env::var("CHECKSTONE_SOAK_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(few)
}

/// A13, A14: SIGKILL at any instant of a snapshot, of a restore and of a prune. Git works on, nothing of the user's has changed, and
/// what a restore had begun is undone.
#[test]
fn a_kill_at_any_instant_leaves_git_as_it_was() {
    let workplace = Workplace::new(None);
    for number in 0..40 {
        workplace.write(&format!("many/{number}"), &format!("{number}\n"));
    }
    workplace.git(&["add", "many/1", "many/2"]);
    workplace.write("src/lib.rs", "// stashed\n");
    workplace.git(&["stash", "push", "--quiet", "src/lib.rs"]);
    workplace.git(&["add", "many/1", "many/2"]);
    workplace.write("src/lib.rs", "// changed\n");
    let then = tree(&workplace);
    let mut wanted = String::new();
    let whole = span_of(|| wanted = create(&workplace));
    for number in 0..40 {
        workplace.write(&format!("many/{number}"), &format!("later {number}\n"));
    }
    workplace.write("added", "later\n");
    let now = tree(&workplace);
    let before = untouchable(&workplace);
    let count = kills(24);
    for kill in 0..count {
        let delay = whole.mul_f64(f64::from(kill) * 1.2 / f64::from(count));
        killed(&workplace, &["snapshot", "create"], delay, kill % 2 == 0);
        assert!(untouchable(&workplace) == before, "kill {kill}");
        assert!(tree(&workplace) == now, "kill {kill}");
    }
    let mut halves = 0;
    for kill in 0..count {
        let delay = whole.mul_f64(f64::from(kill) * 2.5 / f64::from(count));
        killed(&workplace, &["snapshot", "restore", &wanted, "--yes"], delay, kill % 2 == 0);
        assert!(untouchable(&workplace) == before, "kill {kill}");
        let after = tree(&workplace);
        if after != now {
            halves += u32::from(after != then);
            let output = workplace.run(&["snapshot", "restore", "--undo", "--yes"]);
            assert!(output.succeeded(), "{output}");
        }
        assert!(tree(&workplace) == now, "kill {kill}");
    }
    println!("{halves} of {count} restores were killed half done");
    // Forgetting takes no lock that others need, so that none can be left.
    for kill in 0..count {
        create(&workplace);
        let delay = whole.mul_f64(f64::from(kill) / f64::from(count));
        killed(&workplace, &["snapshot", "prune", "--keep", "1"], delay, kill % 2 == 0);
        assert!(untouchable(&workplace) == before, "kill {kill}");
        assert!(!workplace.repo().join(".git/packed-refs.lock").exists(), "kill {kill}");
    }
    let fsck = Command::new("git").args(["fsck", "--strict"]).current_dir(workplace.repo()).answer();
    assert!(fsck.succeeded(), "{fsck}");
    // Whatever locks there were, nothing of git is blocked.
    workplace.run(&["snapshot", "prune", "--keep", "0"]);
    workplace.git(&["gc", "--quiet", "--prune=now"]);
    workplace.git(&["commit", "--quiet", "--message=works"]);
    let litter = workplace.repo().join(".git").read_dir().unwrap().flatten();
    let litter: Vec<String> = litter.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert!(
        !litter.iter().any(|name| name.starts_with("fast_import_crash_") || name.ends_with(".lock")),
        "{litter:?}"
    );
    assert!(Path::new(&workplace.repo().join("added")).exists());
}
