//! Saves on disks that are full or cannot be written: nothing is lost, the notes are as they were, and what is said is true.
//! Each test says so where this machine does not let it mount what it needs.

use std::path::Path;

use serde_json::{Value, json};

use super::world::{AUTONOMOUS, World, to_agent, to_person};
use crate::snapshot_faults::mounting;

/// What the scripts share: `stop NAME` calls the hook with a session of that name and keeps the answer, `look FILE` writes
/// down all that must not change.
const PARTS: &str = r#"
    stop() {
        sed "s/Fix the counting/Fix number $1/" "$notes/../transcript" >"$notes/$1.jsonl" || exit 2
        sed "s/SESSION/$1/g" "$notes/../payload" | "$program" hook claude >"$notes/$1.answer" || exit 2
    }
    look() {
        {
            git rev-parse HEAD
            git for-each-ref refs/heads refs/stash refs/tags
            git ls-files --stage
            git --no-optional-locks status --porcelain --untracked-files=all
            cat CLAUDE.md staged.txt new README.md | sha256sum
            find .git -name '*.lock' ! -path .git/checkstone/commit.lock
        } >"$1" || exit 2
    }
    notes=$4 program=$3
"#;

/// A workplace whose context is full, work that was not saved, and the payload of a stop in the mounted folder.
fn world(folder: &str) -> World {
    let world = World::new(AUTONOMOUS);
    world.write(
        "CLAUDE.md",
        &format!("# Notes\n\n## Last Session\n\nold\n\n## Rules\n\n{}\n", "keep\n".repeat(2000)),
    );
    world.write("staged.txt", "of the first commit\n");
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "--message=notes"]);
    world.write("staged.txt", "staged\n");
    world.git(&["add", "staged.txt"]);
    world.write("new", &"new\n".repeat(10_000));
    world.write("README.md", "changed\n");
    world.turn("Fix the counting", 50);
    std::fs::copy(world.workplace.transcript(), world.workplace.path("transcript")).unwrap();
    let payload = json!({"session_id": "SESSION", "transcript_path": world.workplace.path("notes/SESSION.jsonl"),
                         "cwd": world.workplace.path("mount").join(folder), "prompt_id": "prompt-1",
                         "hook_event_name": "Stop", "last_assistant_message": "Done."});
    std::fs::write(world.workplace.path("payload"), payload.to_string()).unwrap();
    world
}

fn read(world: &World, name: &str) -> String {
    std::fs::read_to_string(world.workplace.path("notes").join(Path::new(name))).unwrap()
}

fn answer(world: &World, round: &str) -> Value {
    match read(world, &format!("{round}.answer")) {
        text if text.is_empty() => Value::Null,
        text => serde_json::from_str(&text).unwrap(),
    }
}

/// The agent is told that nothing was committed, and to do it; the person too; and there is a line in the log.
fn is_told(world: &World, answer: &Value, why: &str) {
    let said = "[checkstone] The context is filling up, and nothing was committed: ";
    let (reason, rest) = to_agent(answer).strip_prefix(said).unwrap().split_once('\n').unwrap();
    assert!(reason.contains(why), "{reason}");
    let (rest, _) = rest.split_once("- Task: ").unwrap();
    assert_eq!(
        rest,
        "<command-name>/checkpoint</command-name>\n\nNote in a few lines what was done and what is next, \
         commit that, then continue with the task.\n"
    );
    assert!(to_person(answer).starts_with("⚠️ [checkstone] Auto-checkpoint failed: nothing was committed"));
    assert_eq!(answer["autonomous_execution"]["executed_directly"], false, "{answer:#}");
    assert!(world.log().contains("autosave: context_threshold: nothing was committed: "), "{}", world.log());
}

/// From no room at all to enough: everything or nothing.
#[test]
fn a_full_disk_loses_nothing() {
    let world = world("repo");
    let script = format!(
        r#"
        mount -t tmpfs -o size=4000k,mode=700 none "$1" || exit 77
        mkdir "$1/repo" && cp -a "$2/." "$1/repo" && cd "$1/repo" || exit 2
        {PARTS}
        room() {{ df -k . | awk 'NR == 2 {{ print $4 }}'; }}
        for left in 0 4 8 12 16 20 24 28 32 40 48 56 64 80 96 128 160 200 1000; do
            look "$4/before"
            head -c $((($(room) - left) * 1024)) /dev/zero >.git/filler
            stop "$left"
            rm .git/filler
            look "$4/after"
            git fsck --strict --no-dangling >"$4/fsck" 2>&1 || {{ cat "$4/fsck"; exit 2; }}
            cmp -s "$4/before" "$4/after" && echo "$left same" || {{ echo "$left changed"; diff "$4/before" "$4/after" >"$4/$left.diff"; }}
            git log -1 --format=%s >"$4/$left.head"
            git status --porcelain >"$4/$left.status"
        done
        "#
    );
    let Some(said) = mounting(&world.workplace, &script) else { return };
    let mut outcomes = Vec::new();
    for line in said.lines() {
        let (left, outcome) = line.split_once(' ').unwrap();
        let answer = answer(&world, left);
        let is_saved = answer["autonomous_execution"]["executed_directly"] == true;
        if is_saved {
            assert_eq!(read(&world, &format!("{left}.head")), "checkpoint: auto-checkpoint\n", "{said}");
        } else {
            let differs = std::fs::read_to_string(world.workplace.path("notes").join(format!("{left}.diff")));
            assert_eq!(outcome, "same", "with {left} KB: {differs:?}\n{answer:#}\n{}", world.log());
            is_told(&world, &answer, "");
        }
        let status = read(&world, &format!("{left}.status"));
        assert_eq!(status, " M README.md\nM  staged.txt\n?? new\n", "with {left} KB\n{}", world.log());
        outcomes.push(is_saved);
    }
    assert_eq!((outcomes.first(), outcomes.last()), (Some(&false), Some(&true)), "{said}\n{}", world.log());
    assert!(world.log().contains("No space left on device"), "{}", world.log());
}

/// Where our own records have no room, nothing can be counted, and so nothing is done (H6).
#[test]
fn a_full_disk_of_our_own_lets_the_agent_stop() {
    let world = world("repo");
    let script = format!(
        r#"
        mount -t tmpfs -o size=4000k,mode=700 none "$1" || exit 77
        mkdir "$1/repo" && cp -a "$2/." "$1/repo" && cd "$1/repo" || exit 2
        {PARTS}
        export CHECKSTONE_STATE_DIR="$1/state"
        mkdir -m 700 "$CHECKSTONE_STATE_DIR"
        look "$4/before"
        head -c 8000000 /dev/zero >.git/filler 2>/dev/null
        stop full
        rm .git/filler
        look "$4/after"
        cmp "$4/before" "$4/after" || exit 2
        stop room
        "#
    );
    if mounting(&world.workplace, &script).is_none() {
        return;
    }
    assert_eq!(answer(&world, "full"), Value::Null);
    assert_eq!(answer(&world, "room")["autonomous_execution"]["executed_directly"], true);
}

/// A repository that nobody can write to is told of, and looked at only.
#[test]
fn a_read_only_repository_is_told() {
    let world = world("");
    let script = format!(
        r#"
        mount --bind "$2" "$1" && mount -o remount,ro,bind "$1" || exit 77
        cd "$1" || exit 2
        {PARTS}
        look "$4/before"
        stop read-only
        look "$4/after"
        cmp "$4/before" "$4/after" || exit 2
        "#
    );
    if mounting(&world.workplace, &script).is_none() {
        return;
    }
    is_told(&world, &answer(&world, "read-only"), "Read-only file system");
}
