//! The section in the notes file.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use autosave::notes::{self, NotesError};
use change_set::BytePath;
use proptest::prelude::*;

fn with(file: &[u8], body: &str) -> String {
    String::from_utf8(notes::with_section(file, body).unwrap()).unwrap()
}

/// A7: up to the next heading of its own level or higher; deeper ones belong to the section.
#[test]
fn a7_the_section_ends_at_the_next_heading_of_its_level() {
    let file = b"# Notes\n\n## Last Session\n\nold\n\n### Inside\n\nold too\n\n## Next\n\nstays\n";
    assert_eq!(with(file, "new"), "# Notes\n\n## Last Session\n\nnew\n\n## Next\n\nstays\n");
    let file = b"## Last Session (2026-01-16)\nold\n# Higher\n";
    assert_eq!(with(file, "new"), "## Last Session\n\nnew\n\n# Higher\n");
    let file = b"intro\n\n## Last Session\nold";
    assert_eq!(with(file, "### Deeper\n\nnew"), "intro\n\n## Last Session\n\n### Deeper\n\nnew\n");
}

/// A7: what looks like a heading in a code block, a comment, a quote or a list is none.
#[test]
fn a7_headings_in_code_are_none() {
    let file = b"```\n## Last Session\n```\n\n## Last Session\n\n~~~sh\n## not a heading\n~~~\n\n    ## nor this\n\n> ## nor this\n\n- ## nor this\n\n<!--\n## nor this\n-->\n\n## Next\n";
    assert_eq!(with(file, "new"), "```\n## Last Session\n```\n\n## Last Session\n\nnew\n\n## Next\n");
    let file = b"## Last Sessions of all\n\nmine\n\n### Last Session\n\nmine\n";
    let wanted = format!("{}\n## Last Session\n\nnew\n", String::from_utf8_lossy(file));
    assert_eq!(with(file, "new"), wanted);
}

/// A7: headings that are underlined.
#[test]
fn a7_underlined_headings_count() {
    let file = b"Title\n=====\n\nLast Session\n------------\n\nold\n\nNext one\n--------\nstays\n";
    assert_eq!(with(file, "new"), "Title\n=====\n\n## Last Session\n\nnew\n\nNext one\n--------\nstays\n");
    let file = b"## Last Session\nold\n\nA Title\n===\n";
    assert_eq!(with(file, "new"), "## Last Session\n\nnew\n\nA Title\n===\n");
}

/// A7: line endings, a byte order mark, backslashes and bytes that are no text stay.
#[test]
fn a7_the_rest_stays_byte_for_byte() {
    let file = b"\xef\xbb\xbf## Last Session\r\nold\r\n## C:\\new\\1 \\g<0>\r\n\xff\xfe\x00 no end";
    let now = notes::with_section(file, "one\ntwo \\1").unwrap();
    assert_eq!(now, b"\xef\xbb\xbf## Last Session\r\n\r\none\r\ntwo \\1\r\n\r\n## C:\\new\\1 \\g<0>\r\n\xff\xfe\x00 no end");
    let now = notes::with_section(b"no end \xff", "new").unwrap();
    assert_eq!(now, b"no end \xff\n\n## Last Session\n\nnew\n");
    assert_eq!(with(b"\xef\xbb\xbf", "new"), "\u{feff}## Last Session\n\nnew\n");
    assert_eq!(with(b"a\r\n", "new"), "a\r\n\r\n## Last Session\r\n\r\nnew\r\n");
}

/// Of several sections the first is ours.
#[test]
fn of_several_sections_the_others_stay() {
    let file = b"## Last Session\none\n## Last Session\ntwo\n";
    assert_eq!(with(file, "new"), "## Last Session\n\nnew\n\n## Last Session\ntwo\n");
}

/// What an agent or a person wrote cannot end the section, nor swallow what follows it.
#[test]
fn a_body_cannot_break_out_of_the_section() {
    for body in
        ["## Heading\ntext", "```\nnever closed", "<!-- never closed", "- list", "x\n===", "text\n---\n"]
    {
        for file in [
            b"a\n".as_slice(),
            b"## Last Session\nold\n   ## Next\nstays\n",
            b"## Last Session\nold\n\nNext\n---\nstays\n",
        ] {
            let once = notes::with_section(file, body).unwrap();
            assert_eq!(notes::with_section(&once, body).unwrap(), once, "{body}");
            let back = notes::with_section(&once, "short").unwrap();
            assert_eq!(back, notes::with_section(file, "short").unwrap(), "{body}");
        }
    }
}

/// An open code block at the end would swallow the section.
#[test]
fn an_open_end_is_refused() {
    assert_eq!(notes::with_section(b"# A\n\n```\ncode\n", "new"), None);
    assert_eq!(notes::with_section(b"<!-- \n\n", "new"), None);
    assert!(notes::with_section(b"# A\n\n```\ncode\n```\n", "new").is_some());
}

/// A fence that was opened in the old section and never closed: what follows may be a person's.
#[test]
fn a7_an_old_section_with_an_open_block_is_refused() {
    for open in ["```\nlog", "~~~", "<!-- x", "<pre>"] {
        let file = format!("# A\n\n## Last Session\n\n{open}\n\n## Rules\n\nmine\n");
        assert_eq!(notes::with_section(file.as_bytes(), "new"), None, "{open}");
    }
    let file = b"## Last Session\n\n```\nlog\n```\n\n## Rules\n";
    assert_eq!(with(file, "new"), "## Last Session\n\nnew\n\n## Rules\n");
}

/// A8: no notes file: made.
#[test]
fn a8_a_missing_file_is_made_and_can_be_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let updated = notes::update(folder.path(), "CLAUDE.md", "new", &aside(folder.path())).unwrap();
    assert!(updated.is_changed());
    assert_eq!(updated.relative, BytePath::from("CLAUDE.md"));
    assert_eq!(text(&updated.path), "## Last Session\n\nnew\n");
    assert_eq!(mode(&updated.path), 0o644);
    assert!(updated.put_back().unwrap());
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

fn aside(root: &Path) -> PathBuf {
    root.join(".git/checkstone")
}

fn text(path: &Path) -> String {
    fs_err::read_to_string(path).unwrap()
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().mode() & 0o7777
}

/// A10: a commit that failed takes the section back, but not what somebody wrote meanwhile.
#[test]
fn a10_the_former_bytes_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("AGENTS.md");
    fs_err::write(&path, b"\xff mine\r\n").unwrap();
    fs_err::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    let updated = notes::update(folder.path(), "AGENTS.md", "new", &aside(folder.path())).unwrap();
    assert_eq!(mode(&path), 0o600);
    assert!(updated.put_back().unwrap());
    assert_eq!((fs_err::read(&path).unwrap(), mode(&path)), (b"\xff mine\r\n".to_vec(), 0o600));
    let updated = notes::update(folder.path(), "AGENTS.md", "new", &aside(folder.path())).unwrap();
    fs_err::write(&path, "written by somebody").unwrap();
    assert!(!updated.put_back().unwrap());
    assert_eq!(text(&path), "written by somebody");
}

/// A10: the former file itself comes back, which takes no room; where no second name can be given, its bytes do.
#[test]
fn a10_the_former_file_is_kept_until_it_is_settled() {
    let folder = tempfile::tempdir().unwrap();
    let (root, path) = (folder.path(), folder.path().join("CLAUDE.md"));
    let kept = aside(root).join("notes-before");
    fs_err::write(&path, "mine\n").unwrap();
    let inode = || path.metadata().unwrap().ino();
    let former = inode();
    let updated = notes::update(root, "CLAUDE.md", "new", &aside(root)).unwrap();
    assert_eq!((text(&kept).as_str(), inode() == former), ("mine\n", false));
    assert!(updated.put_back().unwrap());
    assert_eq!((text(&path).as_str(), inode(), kept.exists()), ("mine\n", former, false));
    // A save that was killed has left one.
    fs_err::write(&kept, "left").unwrap();
    notes::update(root, "CLAUDE.md", "new", &aside(root)).unwrap().settle();
    assert_eq!((text(&path).as_str(), kept.exists()), ("mine\n\n## Last Session\n\nnew\n", false));
    let no_folder = path.join("no folder");
    let updated = notes::update(root, "CLAUDE.md", "newer", &no_folder).unwrap();
    assert!(text(&path).ends_with("newer\n") && updated.put_back().unwrap());
    assert_eq!(text(&path), "mine\n\n## Last Session\n\nnew\n");
}

#[test]
fn the_same_section_again_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let first = notes::update(folder.path(), "CLAUDE.md", "new", &aside(folder.path())).unwrap();
    let inode = first.path.metadata().unwrap().ino();
    let again = notes::update(folder.path(), "CLAUDE.md", "new", &aside(folder.path())).unwrap();
    assert!(!again.is_changed());
    assert_eq!(first.path.metadata().unwrap().ino(), inode);
}

/// One notes file is often a link to another: the real one is written, and named for the commit.
#[test]
fn a_link_inside_the_repository_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    fs_err::create_dir_all(folder.path().join("docs")).unwrap();
    fs_err::write(folder.path().join("docs/AGENTS.md"), "mine\n").unwrap();
    symlink("docs/AGENTS.md", folder.path().join("CLAUDE.md")).unwrap();
    let updated = notes::update(folder.path(), "CLAUDE.md", "new", &aside(folder.path())).unwrap();
    assert_eq!(updated.relative, BytePath::from("docs/AGENTS.md"));
    assert!(folder.path().join("CLAUDE.md").is_symlink());
    assert_eq!(text(&folder.path().join("docs/AGENTS.md")), "mine\n\n## Last Session\n\nnew\n");
}

#[test]
fn what_cannot_be_written_is_told() {
    let outside = tempfile::tempdir().unwrap();
    fs_err::write(outside.path().join("secret"), "x").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    symlink(outside.path().join("secret"), root.join("out")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    fs_err::create_dir_all(root.join("directory")).unwrap();
    fs_err::write(root.join("readonly"), "mine").unwrap();
    fs_err::set_permissions(root.join("readonly"), PermissionsExt::from_mode(0o444)).unwrap();
    fs_err::File::create(root.join("huge")).unwrap().set_len(9 * 1024 * 1024).unwrap();
    fs_err::write(root.join("open"), "```\n").unwrap();
    // The line before the underlined heading is no part of it; alone, the heading would be a code block.
    fs_err::write(root.join("no-end"), "## Last Session\n[x]: y\n    heading\n---\n").unwrap();
    fs_err::write(root.join("utf-16"), b"\xff\xfe#\0\n\0").unwrap();
    let error = |name: &str| notes::update(root, name, "new", &aside(root)).unwrap_err();
    for link in ["out", "dangling", "loop"] {
        assert!(matches!(error(link), NotesError::LeadsOut { .. }), "{link}");
    }
    assert!(matches!(error("directory"), NotesError::NotAFile { .. }));
    assert!(matches!(error("readonly"), NotesError::ReadOnly { .. }));
    assert!(matches!(error("huge"), NotesError::TooLarge { .. }));
    assert!(matches!(error("open"), NotesError::OpenEnd { .. }));
    assert!(matches!(error("no-end"), NotesError::NoEnd { .. }));
    assert!(matches!(error("utf-16"), NotesError::NotUtf8 { .. }));
    assert_eq!(fs_err::read(root.join("utf-16")).unwrap(), b"\xff\xfe#\0\n\0");
    assert_eq!(text(&outside.path().join("secret")), "x");
    assert_eq!(text(&root.join("readonly")), "mine");
}

/// The folder of the notes may be a link too; outside of the repository nothing is written, not even for a moment.
#[test]
fn a_folder_that_leads_out_is_refused_and_a_missing_one_is_made() {
    let outside = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    symlink(outside.path(), root.join("out")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    fs_err::create_dir_all(root.join("real/.git")).unwrap();
    symlink("real", root.join("in")).unwrap();
    fs_err::create_dir(root.join(".git")).unwrap();
    let update = |name: &str| notes::update(root, name, "new", &aside(root));
    for name in ["out/NOTES.md", "out/deeper/NOTES.md", "dangling/NOTES.md"] {
        assert!(matches!(update(name), Err(NotesError::LeadsOut { .. })), "{name}");
    }
    assert!(matches!(update(".git/NOTES.md"), Err(NotesError::InGit { .. })));
    assert_eq!(outside.path().read_dir().unwrap().count(), 0);
    assert_eq!(update("in/NOTES.md").unwrap().relative, BytePath::from("real/NOTES.md"));
    assert_eq!(update("docs/new/NOTES.md").unwrap().relative, BytePath::from("docs/new/NOTES.md"));
    assert_eq!(text(&root.join("docs/new/NOTES.md")), "## Last Session\n\nnew\n");
}

/// A definition behind the section made a link of what stands in a heading before it, and another section ours.
#[test]
fn a7_what_a_heading_says_depends_on_no_definition() {
    for (heading, is_ours) in [
        ("## Last Session[x]: y", true),
        ("## Last Session ![x]", true),
        ("## **Last Session [x**]", false),
        ("## [Last Session]", false),
        ("## [Last Session][x]", false),
        ("## [Last Session](notes.md)", true),
        ("## Last [Sess][x]ion", false),
    ] {
        for definition in ["", "\n[x]: y\n[Last Session]: y\n"] {
            let file = format!("{heading}\nold\n\n# Other\n{definition}");
            let now = notes::with_section(file.as_bytes(), "new").unwrap();
            let now = String::from_utf8(now).unwrap();
            let expected = match is_ours {
                true => format!("## Last Session\n\nnew\n\n# Other\n{definition}"),
                false => format!("{file}\n## Last Session\n\nnew\n"),
            };
            assert_eq!(now, expected, "{heading}");
        }
    }
    let file = b"## Last Session[x]: y\n## Last Session\n[x]: y\n";
    let once = notes::with_section(file, "[x]: y\n").unwrap();
    assert!(notes::with_section(&once, "new").is_some());
}

/// Pieces that Markdown reads in different ways, put together at random.
fn markdown() -> impl Strategy<Value = Vec<u8>> {
    let pieces: Vec<&'static [u8]> = vec![
        b"## Last Session",
        b"# A",
        b"## B",
        b"### C",
        b"Last Session",
        b"---",
        b"===",
        b"```",
        b"~~~",
        b"    code",
        b"- item",
        b"> quote",
        b"1. one",
        b"<!--",
        b"-->",
        b"<div>",
        b"text \\1 \\",
        b"\xff\xfe",
        b"\t",
        b" ",
        b"|a|b|",
        b"[x]: y",
        b"[x]",
        b"[Last Session]",
        b"***",
        b"   ## D",
        b"\xef\xbb\xbf",
        b"\0",
        b"<pre>",
        b"</pre>",
        b"[^1]: note",
        b"  - nested",
    ];
    let ends: Vec<&'static [u8]> = vec![b"\n", b"\n", b"\n", b"\n\n", b"\r\n", b"\r", b""];
    let line = (prop::sample::select(pieces), prop::sample::select(ends));
    prop::collection::vec(line, 0..14)
        .prop_map(|lines| lines.into_iter().flat_map(|(piece, end)| [piece, end].concat()).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// A7: outside of the section nothing changes, twice is once, and what was written is what is found again.
    #[test]
    fn a7_nothing_outside_of_the_section_changes(file in markdown(), body in markdown()) {
        let body = String::from_utf8_lossy(&body).into_owned();
        if let Some(once) = notes::with_section(&file, &body) {
            let marker = notes::with_section(&once, "MARK").unwrap();
            // The same place, whatever the body was.
            prop_assert_eq!(notes::with_section(&file, "MARK"), Some(marker.clone()));
            prop_assert_eq!(notes::with_section(&once, &body), Some(once));
            let at = marker.windows(4).position(|bytes| bytes == b"MARK").unwrap();
            let heading = marker[..at].windows(2).rposition(|bytes| bytes == b"##").unwrap();
            // What is before the section is how the file begins, and what is behind it how it ends.
            let before = &marker[..heading];
            let added = before.len().saturating_sub(file.len());
            prop_assert!(added <= 4 && file.starts_with(&before[..before.len() - added]));
            let behind = marker[at + 4..].iter().position(|byte| *byte != b'\n' && *byte != b'\r');
            let behind = behind.map_or(&marker[marker.len()..], |skipped| &marker[at + 4 + skipped..]);
            prop_assert!(file.ends_with(behind));
        }
    }

    #[test]
    fn any_bytes_are_read_without_harm(file in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Some(once) = notes::with_section(&file, "new") {
            prop_assert_eq!(notes::with_section(&once, "new"), Some(once));
        }
        let _ = autosave::buildguide::first_unchecked(&file);
    }
}
