//! SIGKILL at any instant of a whole save, alone and together with the git processes of the moment. Nobody waits for what a
//! kill has left running: the next save begins at once.

use std::time::Duration;

use super::world::World;
use crate::snapshot::{killed, kills};
use machine::ProcessTable;
use sandbox::{RunToEnd as _, wait_for, waiting::span_of};

/// What a killed git leaves where it was about to move a branch, as with any `git commit`.
const LOCKS_OF_GIT: [&str; 3] = ["HEAD.lock", "refs/heads/main.lock", "logs/HEAD.lock"];

/// What was staged, stashed or written is as it was, the notes are the old ones or whole new ones, no lock is left, and the
/// next save works.
#[test]
fn a_kill_at_any_instant_loses_nothing() {
    let world = World::new("");
    world.write("CLAUDE.md", "# Notes\n\n## Last Session\n\nold\n\n## Rules\n\nkeep\n");
    world.git(&["branch", "other"]);
    world.git(&["tag", "v1"]);
    world.write("src/lib.rs", "// stashed\n");
    world.git(&["stash", "push", "--quiet", "src/lib.rs"]);
    world.write("staged.txt", "staged\n");
    world.git(&["add", "staged.txt"]);
    world.write("src/lib.rs", "// changed\n");
    world.write("untracked.txt", "new\n");
    assert!(world.checkstone(&["autosave"]).answer().succeeded());
    let mut whole = saved_in(&world);
    let theirs = users_own(&world);
    let (mut orphans, mut made, mut locks) = (0, 0, 0);
    let count = kills(8);
    for kill in 0..count {
        world.write("buildguide.md", &format!("- [ ] step {kill}\n"));
        let with_git = kill % 4 == 3;
        let delay = whole.mul_f64(f64::from(kill) * 1.3 / f64::from(count));
        killed(&world.workplace, &["autosave", "--no-push"], delay, with_git);
        orphans += u32::from(has_processes(&world));
        made += u32::from(has_step(&world, kill));
        for lock in LOCKS_OF_GIT.map(|lock| world.workplace.repo().join(".git").join(lock)) {
            // An orphan may have it for its moment; it is left only where git was killed.
            locks += u32::from(with_git && std::fs::remove_file(lock).is_ok());
        }
        let notes = world.text("CLAUDE.md");
        assert!(
            notes.starts_with("# Notes\n\n## Last Session\n\nNotes on the sessions here "),
            "kill {kill}: {notes}"
        );
        assert!(notes.ends_with("\n\n## Rules\n\nkeep\n"), "kill {kill}: {notes}");
        assert_eq!(users_own(&world), theirs, "kill {kill}");
        // Where the kill came between notes, index and branch, the next save brings them together.
        // As busy as the machine is now, so long the next one will take.
        whole = saved_in(&world);
        wait_for("the end of what was left running", || !has_processes(&world));
        let status = world.git(&["status", "--porcelain"]);
        assert_eq!(status, " M src/lib.rs\nA  staged.txt\n?? untracked.txt", "kill {kill}");
        assert_eq!(users_own(&world), theirs, "kill {kill}");
        assert!(has_step(&world, kill), "kill {kill}");
        for lock in LOCKS_OF_GIT.iter().chain(&["index.lock", "packed-refs.lock"]) {
            assert!(!world.has(&format!(".git/{lock}")), "kill {kill}: {lock}");
        }
    }
    // Of so many, some came before the commit and some after it.
    assert!(count < 100 || (made > 0 && made < count), "{made} of {count}");
    println!(
        "{count} kills of a save of {} ms: {made} had committed, {orphans} left a process behind, {locks} locks of a killed \
         git",
        whole.as_millis()
    );
    world.git(&["fsck", "--strict"]);
    world.git(&["commit", "--quiet", "--message=works"]);
    assert_eq!(world.git(&["show", "--name-only", "--format=", "HEAD"]), "staged.txt");
}

/// How long a whole save takes.
fn saved_in(world: &World) -> Duration {
    span_of(|| {
        let output = world.checkstone(&["autosave", "--no-push"]).answer();
        assert!(output.succeeded(), "{output:?}");
    })
}

/// Whether the last commit has this step in the plan.
fn has_step(world: &World, kill: u32) -> bool {
    let shown = world
        .workplace
        .prepared(std::process::Command::new("git"))
        .args(["show", "HEAD:buildguide.md"])
        .answer();
    shown.stdout == format!("- [ ] step {kill}\n")
}

/// What no save may touch: what is staged beside the notes, the stash, the other branches and tags, the files.
fn users_own(world: &World) -> [String; 5] {
    [
        world.git(&["diff", "--cached", "--", ":!CLAUDE.md", ":!.checkstone", ":!buildguide.md"]),
        world.git(&["stash", "list", "--format=%H"]),
        world.git(&["for-each-ref", "refs/heads/other", "refs/tags", "refs/stash"]),
        world.text("src/lib.rs"),
        world.text("untracked.txt"),
    ]
}

/// Whether a process works in the repository.
fn has_processes(world: &World) -> bool {
    let repository = world.workplace.repo().into_os_string().into_encoded_bytes();
    let mut lines = ProcessTable::pids().into_iter().map(ProcessTable::arguments);
    lines.any(|words| words.contains(&repository))
}
