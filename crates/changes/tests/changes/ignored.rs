//! C9: ignored files cost nothing, whatever their number.

use crate::sandbox::{Sandbox, lines};

/// C9: they are neither listed by git nor looked at by us, and a baseline does not grow by them.
#[test]
fn twenty_thousand_ignored_files_are_not_listed() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "node_modules/\n");
    sandbox.commit_all("ignore");
    let clean = sandbox.baseline();
    for folder in 0..20 {
        for file in 0..1000 {
            let path = sandbox.repo.join(format!("node_modules/{folder}/{file}"));
            if file == 0 {
                fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            }
            fs_err::File::create(path).unwrap();
        }
    }
    sandbox.write("a", "changed\n");
    sandbox.calls();
    assert_eq!(lines(&sandbox.turn(&clean).files), ["modified a [unstaged]"]);
    let baseline = sandbox.baseline();
    assert_eq!(baseline.files.len(), 1);
    assert!(serde_json::to_string(&baseline).unwrap().len() < 1000);
    // What git writes for us has no record of them either.
    let output = sandbox.git(&sandbox.calls()[0].split(' ').collect::<Vec<_>>());
    assert!(!output.contains("node_modules") && output.len() < 1000, "{output}");
}

/// A turn that takes a rule away did not write what the rule had hidden.
#[test]
fn files_that_only_became_visible_are_not_ours() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "build/\n");
    sandbox.commit_all("ignore");
    sandbox.write("build/old", "x");
    let mut baseline = sandbox.baseline();
    // As if the file had been there for a while; its times cannot be set back.
    baseline.taken_ns += 3_000_000_000;
    sandbox.write(".gitignore", "# nothing\n");
    assert_eq!(lines(&sandbox.turn(&baseline).files), ["modified .gitignore [unstaged]"]);
    // Without a change to the rules, what is new is new.
    sandbox.write(".gitignore", "build/\n");
    sandbox.write("new", "x");
    assert_eq!(lines(&sandbox.turn(&baseline).files), ["added new [untracked]"]);
}

#[test]
fn dirt_that_becomes_ignored_is_no_change() {
    let sandbox = Sandbox::new();
    sandbox.write("log", "x");
    let baseline = sandbox.baseline();
    sandbox.write(".gitignore", "log\n");
    assert_eq!(lines(&sandbox.turn(&baseline).files), ["added .gitignore [untracked]"]);
}

/// A baseline of untold untracked files stays small; what it does not remember is told by its times.
#[test]
fn a_baseline_is_bounded() {
    let sandbox = Sandbox::new();
    for number in 0..4200 {
        sandbox.write(&format!("many/{number}"), "");
    }
    let mut baseline = sandbox.baseline();
    assert!(!baseline.complete);
    assert_eq!(baseline.files.len(), 4096);
    assert!(serde_json::to_string(&baseline).unwrap().len() < 1_000_000);
    baseline.taken_ns += 3_000_000_000;
    sandbox.write("a", "changed\n");
    assert_eq!(lines(&sandbox.turn(&baseline).files), ["modified a [unstaged]"]);
}
