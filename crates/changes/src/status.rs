//! Reads `git status --porcelain=v2 -z --branch`.

use change_set::BytePath;

use crate::error::Error;
use crate::git::{Git, RunningGit};

/// What is asked of git, always the same: which scope the policy wants is not known yet when git starts.
/// Comparing with the upstream branch would walk history, and nobody here needs it. For submodules see there.
pub const STATUS_ARGUMENTS: &str = "\
    status --porcelain=v2 -z --branch --untracked-files=all --no-ahead-behind --ignore-submodules=dirty";

/// `renames` is git's own option: `--find-renames` or `--no-renames`.
pub fn start(git: &Git, renames: &str) -> Result<RunningGit, Error> {
    let arguments: Vec<&str> = STATUS_ARGUMENTS.split(' ').chain([renames]).collect();
    git.start(&arguments, &[])
}

#[derive(Debug, Default, PartialEq)]
pub struct Status {
    /// `None` before the first commit.
    pub head: Option<String>,
    /// `None` if HEAD is detached.
    pub branch: Option<String>,
    pub entries: Vec<StatusEntry>,
}

/// A file that is not as HEAD has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatusEntry {
    pub path: BytePath,
    pub kind: EntryKind,
    /// HEAD against index and index against working tree, in git's letters; `.` where equal.
    pub staged: u8,
    pub unstaged: u8,
    /// Present for a submodule.
    pub(crate) submodule: Option<SubmoduleDirt>,
    /// In HEAD; for a renamed file those of the old path.
    pub(crate) head_mode: String,
    pub(crate) head_id: String,
    pub index_mode: String,
    pub index_id: String,
    pub(crate) renamed_from: Option<BytePath>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum EntryKind {
    #[default]
    Tracked,
    Unmerged,
    Untracked,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SubmoduleDirt {
    /// It is at another commit than the index says.
    pub(crate) new_commits: bool,
    /// Files inside; see `submodules`.
    pub(crate) modified: bool,
    pub(crate) untracked: bool,
    /// A hash over the dirty files inside.
    pub(crate) digest: Option<String>,
}

impl StatusEntry {
    pub fn is_staged(&self) -> bool {
        self.staged != b'.'
    }

    pub fn is_unstaged(&self) -> bool {
        self.unstaged != b'.'
    }

    /// Whether HEAD has a file of this very path.
    pub(crate) fn in_head(&self) -> bool {
        self.kind != EntryKind::Untracked && self.renamed_from.is_none() && self.head_mode != "000000"
    }
}

/// Takes apart what git wrote; the error is the record that was not understood.
pub fn parse(output: &[u8]) -> Result<Status, Error> {
    let mut status = Status::default();
    let mut records = output.split(|byte| *byte == 0);
    while let Some(record) = records.next() {
        let understood = match record.first() {
            None => Some(()),
            Some(b'#') => {
                header(record, &mut status);
                Some(())
            }
            Some(b'2') => records.next().filter(|from| !from.is_empty()).and_then(|from| {
                let mut entry = fields(record, EntryKind::Tracked, 10)?;
                // A copy leaves its source alone: it is an added file.
                if entry.staged != b'C' && entry.unstaged != b'C' {
                    entry.renamed_from = Some(BytePath::from(from));
                } else {
                    entry.head_mode = "000000".to_owned();
                }
                status.entries.push(entry);
                Some(())
            }),
            Some(b'1') => fields(record, EntryKind::Tracked, 9).map(|entry| status.entries.push(entry)),
            Some(b'u') => fields(record, EntryKind::Unmerged, 11).map(|entry| status.entries.push(entry)),
            Some(b'?') => untracked(record).map(|entry| status.entries.push(entry)),
            Some(b'!') => Some(()),
            Some(_) => None,
        };
        if understood.is_none() {
            let command = "git status".to_owned();
            return Err(Error::NotUnderstood { command, record: record.escape_ascii().to_string() });
        }
    }
    Ok(status)
}

fn header(record: &[u8], status: &mut Status) {
    let text = |bytes: &[u8]| Some(String::from_utf8_lossy(bytes).into_owned());
    if let Some(id) = record.strip_prefix(b"# branch.oid ") {
        status.head = if id == b"(initial)" { None } else { text(id) };
    } else if let Some(name) = record.strip_prefix(b"# branch.head ") {
        status.branch = if name == b"(detached)" { None } else { text(name) };
    }
}

fn untracked(record: &[u8]) -> Option<StatusEntry> {
    // A repository inside this one is given as a folder.
    let path = record.strip_prefix(b"? ")?;
    let path = path.strip_suffix(b"/").unwrap_or(path);
    Some(StatusEntry {
        path: BytePath::from(path),
        kind: EntryKind::Untracked,
        staged: b'.',
        unstaged: b'.',
        ..StatusEntry::default()
    })
}

/// A record of `count` fields separated by spaces, of which the last is the path, spaces and all.
fn fields(record: &[u8], kind: EntryKind, count: usize) -> Option<StatusEntry> {
    let fields: Vec<&[u8]> = record.splitn(count, |byte| *byte == b' ').collect();
    let text = |at: usize| fields.get(at).map(|field| String::from_utf8_lossy(field).into_owned());
    let states = fields.get(1).filter(|states| states.len() == 2)?;
    let submodule = fields.get(2).filter(|field| field.len() == 4)?;
    let flag = |at: usize, letter: u8| submodule.get(at) == Some(&letter);
    // `1` and `2` give mode and id of HEAD and index; `u` gives those of the three stages, the second being ours.
    let (head_mode, head_id, index_mode, index_id) = match kind {
        EntryKind::Unmerged => (text(4)?, text(8)?, text(4)?, text(8)?),
        _ => (text(3)?, text(6)?, text(4)?, text(7)?),
    };
    Some(StatusEntry {
        path: BytePath::from(*fields.get(count - 1)?),
        kind,
        staged: *states.first()?,
        unstaged: *states.get(1)?,
        submodule: flag(0, b'S').then(|| SubmoduleDirt {
            new_commits: flag(1, b'C'),
            modified: flag(2, b'M'),
            untracked: flag(3, b'U'),
            digest: None,
        }),
        head_mode,
        head_id,
        index_mode,
        index_id,
        renamed_from: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "aa5a28c2dd9def375bad7900cf89871234c6014b";

    /// C4: newline, space and quote in a path; a rename's two paths.
    #[test]
    fn every_kind_of_record_is_understood() {
        let output = format!(
            "# branch.oid {ID}\0# branch.head main\0# stash 2\0\
             1 .M N... 100644 100644 100644 {ID} {ID} a \"b\"\nc\0\
             2 R. N... 100644 100644 100644 {ID} {ID} R087 new name\0old name\0\
             u UU N... 100644 100644 100644 100644 {ID} {ID} {ID} both\0\
             1 .M SC.U 160000 160000 160000 {ID} {ID} module\0? un tracked\0? nested/\0! ignored\0"
        );
        let status = parse(output.as_bytes()).unwrap();
        assert_eq!((status.head.as_deref(), status.branch.as_deref()), (Some(ID), Some("main")));
        let paths: Vec<String> = status.entries.iter().map(|entry| entry.path.to_string()).collect();
        assert_eq!(paths, ["a \"b\"\nc", "new name", "both", "module", "un tracked", "nested"]);
        assert_eq!(status.entries[1].renamed_from, Some(BytePath::from("old name")));
        let flags = SubmoduleDirt { new_commits: true, untracked: true, ..SubmoduleDirt::default() };
        assert_eq!(status.entries[3].submodule, Some(flags));
    }

    #[test]
    fn an_unborn_or_detached_head_is_none() {
        let status = parse(b"# branch.oid (initial)\0# branch.head (detached)\0").unwrap();
        assert_eq!(status, Status::default());
    }

    #[test]
    fn an_unknown_record_is_an_error_not_a_clean_tree() {
        for output in ["x what\0", "1 .M\0", "2 R. N... 1 1 1 a a R1 new\0"] {
            assert!(matches!(parse(output.as_bytes()), Err(Error::NotUnderstood { .. })), "{output}");
        }
    }
}
