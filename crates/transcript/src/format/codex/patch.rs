//! The patch text of Codex's `apply_patch`: which files it names, and what it does to them.

use crate::file_edit::FileEdit;

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
