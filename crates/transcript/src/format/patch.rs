//! The patch text of Codex's `apply_patch`: which files it names.

/// The files of a patch, in order: all of them, and those it adds.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct PatchedFiles {
    pub(crate) paths: Vec<String>,
    pub(crate) created: Vec<String>,
}

/// Only lines that begin with a marker count: the patch's own content is prefixed by `+`, `-` or a space.
pub(crate) fn patched_files(patch: &str) -> PatchedFiles {
    let mut files = PatchedFiles::default();
    for line in patch.lines() {
        let Some(marker) = line.strip_prefix("*** ") else { continue };
        for (prefix, creates) in
            [("Add File: ", true), ("Update File: ", false), ("Delete File: ", false), ("Move to: ", true)]
        {
            let Some(path) = marker.strip_prefix(prefix).map(str::trim) else { continue };
            if !path.is_empty() && !files.paths.iter().any(|known| known == path) {
                files.paths.push(path.to_owned());
                if creates {
                    files.created.push(path.to_owned());
                }
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
