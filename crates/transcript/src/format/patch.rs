//! The patch text of `apply_patch`: which files it names, and what it does to them.

use crate::entry::set_paths;
use crate::file_edit::FileEdit;
use crate::model::{Call, Kind};

/// The files of a patch, in order: all of them, and those it adds.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct PatchedFiles {
    pub(crate) paths: Vec<String>,
    pub(crate) created: Vec<String>,
    pub(crate) edits: Vec<FileEdit>,
}

/// Only lines that begin with a marker count: the patch's own content is prefixed by `+`, `-` or a space.
pub(crate) fn patched_files(patch: &str) -> PatchedFiles {
    let mut files = PatchedFiles::default();
    let mut lines = patch.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(marker) = line.strip_prefix("*** ") else { continue };
        for (prefix, creates) in
            [("Add File: ", true), ("Update File: ", false), ("Delete File: ", false), ("Move to: ", true)]
        {
            let Some(path) = marker.strip_prefix(prefix).map(str::trim).filter(|path| !path.is_empty())
            else {
                continue;
            };
            if !files.paths.iter().any(|known| known == path) {
                files.paths.push(path.to_owned());
                if creates {
                    files.created.push(path.to_owned());
                }
            }
            let content: Vec<&str> =
                std::iter::from_fn(|| lines.next_if(|line| !line.starts_with("*** "))).collect();
            if !content.is_empty() {
                files.edits.push(FileEdit::patched(path, content.into_iter()));
            }
        }
    }
    files
}

/// A patch edits files, unless all that it does is make new ones.
pub(crate) fn edit(call: &mut Call, patch: &str) {
    let files = patched_files(patch);
    let only_creates = !files.paths.is_empty() && files.paths == files.created;
    call.kind = if only_creates { Kind::Write } else { Kind::Edit };
    call.created = files.created;
    call.edits = files.edits;
    set_paths(call, files.paths);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_a_patch_is_named() {
        let patch = "*** Begin Patch\n*** Add File: new.py\n+*** Update File: fake.py\n*** Update File: a b.py\n\
                     *** Move to: moved.py\n@@\n-x\n+y\n*** Delete File: old.py\n*** End Patch\n";
        let files = patched_files(patch);
        assert_eq!(files.paths, ["new.py", "a b.py", "moved.py", "old.py"]);
        assert_eq!(files.created, ["new.py", "moved.py"]);
    }

    #[test]
    fn no_patch_names_no_file() {
        assert_eq!(patched_files("cat a.py"), PatchedFiles::default());
    }
}
