//! Random turns against an oracle that knows nothing of git's records: the content of every file before and
//! after.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;

use change_set::{Change, How};

use crate::sandbox::{Sandbox, text};

/// A small generator with a fixed seed: the same turns at every run (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % sides as u64).unwrap()
    }
}

type Tree = BTreeMap<String, (bool, Vec<u8>)>;

/// Every file of the working tree: executable or not, and its content.
fn tree(sandbox: &Sandbox) -> Tree {
    let mut found = Tree::new();
    let mut folders = vec![sandbox.repo.clone()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().unwrap().flatten() {
            let path = entry.path();
            let relative = path.strip_prefix(&sandbox.repo).unwrap().to_str().unwrap().to_owned();
            if relative == ".git" {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let executable = path.metadata().unwrap().permissions().mode() & 0o100 != 0;
            found.insert(relative, (executable, fs_err::read(&path).unwrap()));
        }
    }
    found
}

/// The same of a tree that git has: `HEAD`, or the index written out.
fn tree_of_git(sandbox: &Sandbox, listing: &[&str]) -> Tree {
    let mut found = Tree::new();
    for line in sandbox.git(listing).lines() {
        let (meta, path) = line.split_once('\t').unwrap();
        let mut fields = meta.split(' ');
        let mode = fields.next().unwrap();
        let id = fields.find(|field| field.len() == 40).unwrap();
        found
            .insert(path.to_owned(), (mode == "100755", sandbox.git(&["cat-file", "blob", id]).into_bytes()));
    }
    found
}

const NAMES: [&str; 7] = ["a", "b", "sub/c", "sub/d", "deep/er/e", "f g", "ü"];

/// Stands in some of the content that is written in a turn, and nowhere else.
const TURN: &str = "written in the turn";

/// One thing that an agent or a person does. What does not work in the present state is left out.
fn act(sandbox: &Sandbox, dice: &mut Dice, mark: &str) -> String {
    let name = NAMES[dice.roll(NAMES.len())];
    let other = NAMES[dice.roll(NAMES.len())];
    let exists = sandbox.repo.join(name).is_file();
    let try_git = |arguments: &[&str]| {
        let _ = sandbox.command(&sandbox.repo, arguments).output().unwrap();
        arguments.join(" ")
    };
    match dice.roll(17) {
        0..=3 => {
            // Often the same content again, often of the same size.
            let mark = if dice.roll(2) == 0 { mark } else { "" };
            let content = format!("{}{}{mark}", text(name), dice.roll(3));
            sandbox.write(name, &content);
            format!("write {name}")
        }
        4 if exists => {
            sandbox.remove(name);
            format!("remove {name}")
        }
        5 if exists => {
            let mode = if dice.roll(2) == 0 { 0o755 } else { 0o644 };
            fs_err::set_permissions(sandbox.repo.join(name), PermissionsExt::from_mode(mode)).unwrap();
            format!("chmod {mode:o} {name}")
        }
        6 if exists && !sandbox.repo.join(other).exists() => {
            fs_err::create_dir_all(sandbox.repo.join(other).parent().unwrap()).unwrap();
            try_git(&["mv", name, other])
        }
        7 => try_git(&["add", "--all"]),
        8 => try_git(&["add", "--", name]),
        9 => try_git(&["commit", "--message", "some"]),
        10 => try_git(&["commit", "--all", "--message", "all"]),
        11 => try_git(&["commit", "--amend", "--no-edit"]),
        12 => try_git(&["checkout", ["main", "one", "two"][dice.roll(3)]]),
        13 => try_git(&["checkout", "--", name]),
        14 => try_git(&["reset", ["--soft", "--mixed", "--hard"][dice.roll(3)], "HEAD~1"]),
        15 => try_git(&["merge", "--no-edit", "--quiet", "one"]),
        16 => try_git(&["reset", "--", name]),
        _ => "nothing".to_owned(),
    }
}

/// Branches `one` and `two`, each a commit away from `main`.
fn start() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("sub/d", &text("sub/d"));
    sandbox.commit_all("second");
    for branch in ["one", "two"] {
        sandbox.git(&["checkout", "--quiet", "-b", branch, "main"]);
        sandbox.write("b", branch);
        sandbox.write(branch, branch);
        sandbox.commit_all(branch);
    }
    sandbox.git(&["checkout", "--quiet", "main"]);
    sandbox
}

fn check(seed: u64) {
    let mut dice = Dice(seed);
    let sandbox = start();
    let mut story: Vec<String> = (0..dice.roll(6)).map(|_| act(&sandbox, &mut dice, "")).collect();
    let baseline = sandbox.baseline();
    let before = tree(&sandbox);
    story.push("the turn begins".to_owned());
    story.extend((0..1 + dice.roll(9)).map(|_| act(&sandbox, &mut dice, TURN)));
    let after = tree(&sandbox);
    let changes = sandbox.turn(&baseline);
    let context = format!("seed {seed}\n{}\n{changes:#?}", story.join("\n"));
    assert_eq!(changes.baseline_unusable, None, "{context}");

    let here: Vec<_> = changes
        .files
        .iter()
        .chain(&changes.arrived)
        .filter(|file| file.how != [How::CommittedElsewhere])
        .collect();
    let mut told: BTreeSet<String> = here.iter().map(|file| file.path.to_string()).collect();
    assert_eq!(told.len(), here.len(), "told twice: {context}");
    for file in &here {
        if let Change::Renamed { from } = &file.change {
            told.insert(from.to_string());
        }
    }
    // Whatever differs on disk is told.
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for name in names {
        if before.get(name) != after.get(name) {
            assert!(told.contains(name), "{name} is missing: {context}");
        }
    }
    // Whatever is told differs: on disk, in HEAD or in the index.
    let head = tree_of_git(&sandbox, &["-c", "core.quotePath=false", "ls-tree", "-r", "HEAD"]);
    let index = tree_of_git(&sandbox, &["-c", "core.quotePath=false", "ls-files", "--stage"]);
    for name in &told {
        let differs = [&after, &head, &index].iter().any(|now| now.get(name) != before.get(name));
        assert!(differs, "{name} did not change: {context}");
    }
    // And it is told what became of it, as far as the disk shows it.
    for file in &here {
        let name = file.path.to_string();
        let (was, is) = (before.get(&name), after.get(&name));
        match (&file.change, was, is) {
            (Change::Added | Change::Renamed { .. }, Some(_), Some(_)) => {
                panic!("{name} was there: {context}")
            }
            (Change::Modified | Change::Mode, None, _) => panic!("{name} was not there: {context}"),
            (Change::Mode, Some(was), Some(is)) => {
                assert!(was.0 != is.0 && was.1 == is.1, "{name}: {context}")
            }
            (Change::Modified, Some(was), Some(is)) => {
                assert!(was.1 != is.1 || was == is, "{name}: {context}")
            }
            _ => {}
        }
        assert_eq!(file.modified_ns.is_some(), is.is_some(), "{name}: {context}");
    }
    // What the turn wrote and what is still there is its own work.
    let own: BTreeSet<String> = changes.files.iter().map(|file| file.path.to_string()).collect();
    for (name, (_, content)) in &after {
        assert!(own.contains(name) || !content.ends_with(TURN.as_bytes()), "{name} is ours: {context}");
    }
    // What is not ours came with commits, and is clean.
    for file in &changes.arrived {
        let name = file.path.to_string();
        assert_eq!(after.get(&name), head.get(&name), "{name}: {context}");
    }
}

/// A fixed sample. `CHANGES_SEEDS=from..to` at compile time runs another one.
#[test]
fn random_turns_agree_with_the_disk() {
    let (from, to) = match option_env!("CHANGES_SEEDS").and_then(|range| range.split_once("..")) {
        Some((from, to)) => (from.parse().unwrap(), to.parse().unwrap()),
        None => (0, 40),
    };
    for seed in from..to {
        check(seed);
    }
}
