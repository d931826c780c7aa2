//! What a turn edited by the word of its timeline alone.

use contents::Nature;
use gate::{edited_files, script_endings};
use transcript::{Call, FileEdit};

use crate::turns::*;

#[test]
fn the_files_that_the_timeline_shows_as_edited() {
    let calls = vec![
        edit("/repo/b.py"),
        write("a.py"),
        edit("./b.py"),
        edit_failed("failed.py"),
        read("read.py"),
        ran("sed -i s/a/b/ c.py && cp c.py /tmp/c.py && cat read.py"),
        failed("touch made-before-it-failed.py && false", 1, ""),
        ran("black formatted.py"),
        ran("echo x > .git/hooks/pre-commit && echo x > .github/a.yml"),
        edit("/elsewhere/d.py"),
        edit("../above.py"),
    ];
    let expected = [".github/a.yml", "a.py", "b.py", "c.py", "made-before-it-failed.py"];
    assert_eq!(edited_files(&inputs(calls, &[])), expected);
}

#[test]
fn the_endings_of_scripts_that_were_written() {
    let written = |path: &str, ending: Option<&str>| {
        let edit = FileEdit {
            path: path.to_owned(),
            ending: ending.map(str::to_owned),
            nature: Nature::Code,
            before: None,
            after: None,
            whole: true,
        };
        Call { edits: vec![edit], ..write(path) }
    };
    let calls =
        vec![written("/repo/bin/run", Some("sh")), written("tool", Some("py")), written("a.py", None)];
    let endings: Vec<(String, String)> = script_endings(&inputs(calls, &[])).into_iter().collect();
    assert_eq!(endings, [("bin/run".to_owned(), "sh".to_owned()), ("tool".to_owned(), "py".to_owned())]);
}
