//! What real runners print about small projects (`cargo xtask summaries`), and what is read from it. Samples of runners that
//! could not be had are written from their documentation, and say so in their first line.

use std::path::Path;

use outputs::{Scan, Shown, Summary};

/// Every recording by its name, without its first line.
fn recordings() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    let files = fs_err::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut recordings: Vec<_> =
        files.filter(|file| file.extension().is_some_and(|end| end == "txt")).collect();
    recordings.sort();
    let read = |file: std::path::PathBuf| {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = fs_err::read_to_string(&file).unwrap();
        let (source, output) = text.split_once('\n').unwrap();
        let is_marked =
            source.starts_with("# recorded: ") || source.starts_with("# from the documentation of ");
        assert!(is_marked, "{name} does not say where it is from");
        (name, output.to_owned())
    };
    recordings.into_iter().map(read).collect()
}

fn shown(output: &str) -> Shown {
    let mut scan = Scan::new();
    scan.feed(output);
    scan.finish()
}

/// All of it in one line.
fn in_words(shown: &Shown) -> String {
    let mut words: Vec<String> = Vec::new();
    for one in &shown.summaries {
        words
            .push(format!("{:?} {:?} +{} -{} @{}", one.runner, one.result, one.passed, one.failed, one.line));
    }
    for one in &shown.tools {
        words.push(format!(
            "{:?} {} @{}",
            one.tool,
            if one.succeeded { "succeeded" } else { "failed" },
            one.line
        ));
    }
    for one in &shown.errors {
        words.push(format!("{}x{:?} @{}-{}", one.count, one.kind, one.first, one.last));
    }
    for one in &shown.not_started {
        words.push(format!("no `{}` @{}", one.program, one.line));
    }
    format!("{} of {}", words.join(", "), shown.lines)
}

#[test]
fn what_is_read_from_every_recording() {
    let lines =
        recordings().into_iter().map(|(name, output)| format!("{name}: {}", in_words(&shown(&output))));
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
}

/// E7, W4, W8: whatever the runner, its result is seen, also in its last five lines.
#[test]
fn every_runner_is_seen_green_red_and_idle() {
    let mut wrong = Vec::new();
    for (name, output) in recordings() {
        let found = shown(&output).summary();
        let is_right = match name.rsplit('-').next() {
            // Its last lines are a stack.
            _ if name == "mocha-tail" => found.is_none(),
            _ if name.starts_with("nox-") || name.starts_with("tox-") && name.ends_with("lint") => true,
            Some("green") => matches!(found, Some(Summary::Passed { .. })),
            Some("red" | "tail" | "colours" | "ignored") => matches!(found, Some(Summary::Failed { .. })),
            Some("nothing" | "listed" | "matching") => found == Some(Summary::NoTestsRan),
            _ => true,
        };
        if !is_right {
            wrong.push(format!("{name}: {found:?}"));
        }
    }
    assert_eq!(wrong, [""; 0]);
}

/// How an output is cut into pieces changes nothing of what is seen.
#[test]
fn pieces_of_any_size_show_the_same() {
    for (name, output) in recordings() {
        let whole = shown(&output);
        for size in [1, 7, 64] {
            let mut scan = Scan::new();
            let mut rest = output.as_str();
            while !rest.is_empty() {
                let (piece, behind) = rest.split_at(rest.ceil_char_boundary(size.min(rest.len())));
                scan.feed(piece);
                rest = behind;
            }
            assert_eq!(scan.finish(), whole, "{name} in pieces of {size}");
        }
    }
}
