//! Snapshots on disks that are full, cannot be written, or lose their power. Each test says so where this machine does
//! not let it mount what it needs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::snapshot::kill_all;
use crate::workplace::Workplace;
use sandbox::{Answer, RunToEnd as _, redacted, waiting::at_moment, waiting::span_of};

/// Runs a script in which `$1` is a folder to mount something on, `$2` the repository, `$3` our program and `$4` a
/// folder for notes. It may mount, and nobody else sees it. `None` where this is not allowed.
#[expect(clippy::print_stderr, reason = "who runs the tests should know what was left out")]
pub(crate) fn mounting(workplace: &Workplace, script: &str) -> Option<String> {
    let (mount, notes) = (workplace.path("mount"), workplace.path("notes"));
    for folder in [&mount, &notes] {
        std::fs::create_dir(folder).unwrap();
    }
    let mut command = workplace.prepared(Command::new("unshare"));
    command.args(["--mount", "--map-root-user", "sh", "-u", "-c", script, "sh"]);
    command.arg(&mount).arg(workplace.repo()).arg(env!("CARGO_BIN_EXE_checkstone")).arg(&notes);
    let output = command.env("TMPDIR", &notes).output();
    match output.map(Answer::from) {
        Ok(output) if !matches!(output.code, Some(1 | 77)) => {
            assert!(output.succeeded(), "{output}");
            Some(output.stdout)
        }
        _ => {
            eprintln!("skipped: this system does not let us mount");
            None
        }
    }
}

/// From no room at all to enough, which is twice what changed, so that it is we who meet the end and not git: no snapshot or a whole one, in every case the same index, no lock and no litter, and
/// one that works as soon as there is room.
#[test]
fn a_full_disk_leaves_git_as_it_was() {
    let workplace = Workplace::new(None);
    let script = r#"
        mount -t tmpfs -o size=3000k,mode=700 none "$1" || exit 77
        cp -a "$2/." "$1" && cd "$1" || exit 2
        head -c 200000 /dev/urandom >new
        echo changed >README.md
        sum() { (cd .git && cat index HEAD config logs/HEAD | sha256sum; find . -name '*.lock'; find . -maxdepth 1); }
        room() { df -k . | awk 'NR == 2 { print $4 }'; }
        for left in 0 4 40 200 210 400 404 408 420 600; do
            sum >"$4/before"
            head -c $((($(room) - left) * 1024)) /dev/zero >"$1/filler.ignored"
            "$3" snapshot create >"$4/said" 2>&1
            code=$?
            rm "$1/filler.ignored"
            sum >"$4/after"
            cmp "$4/before" "$4/after" || exit 2
            git fsck --strict --no-dangling >"$4/fsck" 2>&1 || { cat "$4/fsck"; exit 2; }
            echo "$code $(head -n 1 "$4/said")"
            "$3" snapshot prune --keep 0 >/dev/null || exit 2
            git gc --quiet --prune=now || exit 2
        done
        "$3" snapshot create >/dev/null && "$3" snapshot diff
    "#;
    workplace.write(".gitignore", "*.ignored\n");
    let Some(said) = mounting(&workplace, script) else { return };
    let lines: Vec<&str> = said.lines().collect();
    let (last, rounds) = lines.split_last().unwrap();
    assert_eq!(*last, "Nothing differs.", "{said}");
    insta::assert_snapshot!(redacted(rounds[0]), @"5 error: cannot prepare the snapshot in `[folder]/mount/.git`: No space left on device");
    assert!(rounds.last().unwrap().starts_with("0 "), "{said}");
}

/// Nothing can be saved there, and it is said; looking works, for it writes nothing.
#[test]
fn a_disk_that_cannot_be_written_can_be_looked_at() {
    let workplace = Workplace::new(None);
    workplace.run(&["snapshot", "create"]);
    workplace.write("README.md", "changed\n");
    let script = r#"
        mount --bind "$2" "$1" && mount -o remount,ro,bind "$1" || exit 77
        cd "$1" || exit 2
        "$3" snapshot create 2>&1 && exit 2
        "$3" snapshot restore latest --yes 2>&1 && exit 2
        "$3" snapshot prune --keep 0 2>&1 && exit 2
        "$3" snapshot diff && "$3" snapshot list --json | wc -l
    "#;
    let Some(said) = mounting(&workplace, script) else { return };
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 8, "{said}");
    for at in [0, 2] {
        assert!(lines[at].starts_with("error: cannot prepare the snapshot"), "{said}");
        assert_eq!(lines[at + 1], "hint: make the folder writable, then try again");
    }
    assert!(lines[4].starts_with("error: cannot remove the snapshot"), "{said}");
    assert_eq!(lines[6..], ["modified README.md", "1"], "{said}");
}

/// A disk in a file, mounted until this is dropped.
struct Disk {
    folder: PathBuf,
}

impl Disk {
    fn mount(image: &Path, folder: PathBuf) -> Option<Self> {
        std::fs::create_dir_all(&folder).unwrap();
        let mounted = Command::new("mount").args(["-o", "loop"]).arg(image).arg(&folder).output().ok()?;
        mounted.status.success().then_some(Self { folder })
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.folder).status();
    }
}

/// What the disk has at one instant: a copy into which the file system wrote meanwhile is one of no instant at all, with a
/// journal older than the blocks that were written from it.
fn cut_off(image: &Path, copy: &Path) {
    let succeeds = |command: &mut Command| command.arg(image).arg(copy).status().unwrap().success();
    for _ in 0..50 {
        assert!(succeeds(Command::new("cp").arg("--sparse=always")));
        if succeeds(Command::new("cmp").arg("--silent")) {
            return;
        }
    }
    panic!("the file system writes all the time");
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = command.env("GIT_OPTIONAL_LOCKS", "0").answer();
    assert!(output.succeeded(), "{arguments:?}: {output}");
    output.stdout
}

fn cuts() -> u32 {
    std::env::var("CHECKSTONE_SOAK_CUTS").ok().and_then(|count| count.parse().ok()).unwrap_or(6)
}

/// The power goes at some instant of a snapshot, or right after it was said to be taken: what the disk had by then is
/// mounted again. Every snapshot that was said to be taken is there, each that is there is whole, and git is as it was.
#[test]
fn a_power_cut_at_any_instant_leaves_git_as_it_was() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can mount a disk in a file");
        return;
    }
    let workplace = Workplace::new(None);
    let image = workplace.path("image");
    let make = "truncate -s 48M \"$0\" && mkfs.ext4 -q -F \"$0\"";
    let made = Command::new("sh").args(["-c", make]).arg(&image).answer();
    let disk = made.succeeded().then(|| Disk::mount(&image, workplace.path("disk"))).flatten();
    let Some(disk) = disk else {
        eprintln!("skipped: this system does not let us mount");
        return;
    };
    let repo = disk.folder.join("repo");
    assert!(Command::new("cp").arg("-a").arg(workplace.repo()).arg(&repo).status().unwrap().success());
    std::fs::write(repo.join("new"), "new\n").unwrap();
    assert!(Command::new("sync").arg("-f").arg(&repo).status().unwrap().success());
    let user = |folder: &Path| {
        let read = |name: &str| std::fs::read(folder.join(".git").join(name)).unwrap();
        (read("index"), read("HEAD"), read("config"), git(folder, &["for-each-ref", "refs/heads"]))
    };
    let before = user(&repo);
    let create = || {
        let mut command = workplace.checkstone(&["snapshot", "create"]);
        command.current_dir(&repo).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let whole = span_of(|| assert!(create().status().unwrap().success()));
    let (mut said, mut kept) = (1, 0);
    let count = cuts();
    for cut in 0..count {
        // Every third one has come to its end.
        let mut child = create().spawn().unwrap();
        if cut % 3 == 2 {
            assert!(child.wait().unwrap().success());
            said += 1;
        } else {
            let moment = whole.mul_f64(f64::from(cut % 40) / 40.0 * 1.2).min(Duration::from_secs(2));
            at_moment(moment, || kill_all(child.id()));
            said += u32::from(child.wait().unwrap().success());
        }
        // Another one each time: a process in a mount namespace of its own may hold on to the last for a moment, and would
        // lend us its view of it.
        let copy = workplace.path(&format!("copy-{cut}"));
        cut_off(&image, &copy);
        let after = Disk::mount(&copy, workplace.path(&format!("after-{cut}"))).unwrap();
        std::fs::remove_file(&copy).unwrap();
        let found = after.folder.join("repo");
        assert!(user(&found) == before, "cut {cut}");
        assert!(!found.join(".git/index.lock").exists() && !found.join(".git/packed-refs.lock").exists());
        git(&found, &["fsck", "--strict", "--no-dangling", "--no-progress"]);
        let refs = git(&found, &["for-each-ref", "--format=%(objectname)", "refs/checkstone"]);
        for commit in refs.lines() {
            assert_eq!(git(&found, &["cat-file", "blob", &format!("{commit}:new")]), "new\n", "cut {cut}");
        }
        kept = u32::try_from(refs.lines().count()).unwrap();
        assert!(kept >= said, "cut {cut}: {kept} of {said}");
    }
    println!("{count} power cuts: {said} snapshots were said to be taken, {kept} are there");
}
