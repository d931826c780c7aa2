//! An artifact's path as a manifest has it: relative to the project root, and never out of it. Manifests come from
//! anywhere, so the text is checked before it is used, and the way to the file is walked without following links.

use std::fs::File;
use std::io;
use std::path::{Component, Path};

use files::{FileError, Folder};

#[derive(Debug, thiserror::Error)]
pub enum PathError {
    #[error("Absolute paths not allowed: {path}")]
    Absolute { path: String },
    #[error("Path traversal detected: {path}")]
    Traversal { path: String },
    #[error("Artifacts cannot be in the git folder: {path}")]
    InGit { path: String },
    #[error("Not a valid name for a manifest: {path}")]
    NoText { path: String },
    #[error("Not inside the project root: {path}")]
    Outside { path: String },
    #[error("Artifact not found: {path}")]
    NotFound { path: String },
    #[error("Artifact is a symlink (not allowed): {path}")]
    SymbolicLink { path: String },
    #[error("Parent directory is a symlink: {path}")]
    ParentSymbolicLink { path: String },
    #[error("Artifact is not a regular file: {path}")]
    NotAFile { path: String },
    #[error("Artifact cannot be read: {path}")]
    Unreadable { path: String, source: FileError },
}

/// A caller's path as a manifest would have it. No link leads to it; it need not be there yet.
pub fn relative_to_root(root: &Path, path: &Path) -> Result<String, PathError> {
    let path = ArtifactPath::inside(root, path)?;
    let shown = || path.text.clone();
    let folder = Folder::open(root).map_err(|source| PathError::Unreadable { path: shown(), source })?;
    match path.open(&folder) {
        Ok(_) | Err(PathError::NotFound { .. }) => Ok(shown()),
        Err(error) => Err(error),
    }
}

/// The parts of a path that stays inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ArtifactPath {
    text: String,
    folders: Vec<String>,
    pub(crate) name: String,
}

impl ArtifactPath {
    /// From a manifest.
    pub(crate) fn parse(text: &str) -> Result<Self, PathError> {
        let path = || text.to_owned();
        let drive = text.as_bytes().get(1) == Some(&b':')
            && text.as_bytes().get(2).is_some_and(|byte| b"/\\".contains(byte));
        if text.starts_with(['/', '\\']) || drive {
            return Err(PathError::Absolute { path: path() });
        }
        // Other systems read the backslash as a separator.
        if text.split(['/', '\\']).any(|part| part == "..") || text.contains('\0') {
            return Err(PathError::Traversal { path: path() });
        }
        let mut folders: Vec<String> =
            text.split('/').filter(|part| !part.is_empty() && *part != ".").map(ToOwned::to_owned).collect();
        if folders.first().is_some_and(|first| first.eq_ignore_ascii_case(".git")) {
            return Err(PathError::InGit { path: path() });
        }
        let Some(name) = folders.pop().filter(|_| !text.ends_with('/')) else {
            return Err(PathError::NotAFile { path: path() });
        };
        Ok(Self { text: path(), folders, name })
    }

    /// From what a caller named: relative to `root`, or absolute and inside it.
    pub(crate) fn inside(root: &Path, path: &Path) -> Result<Self, PathError> {
        let shown = || path.to_string_lossy().into_owned();
        let relative = if path.is_absolute() {
            path.strip_prefix(root).map_err(|_| PathError::Outside { path: shown() })?
        } else {
            path
        };
        let mut parts = Vec::new();
        for component in relative.components() {
            match component {
                Component::Normal(part) => {
                    parts.push(part.to_str().ok_or_else(|| PathError::NoText { path: shown() })?);
                }
                Component::CurDir => {}
                Component::ParentDir => return Err(PathError::Traversal { path: shown() }),
                Component::RootDir | Component::Prefix(_) => {
                    return Err(PathError::Outside { path: shown() });
                }
            }
        }
        Self::parse(&parts.join("/"))
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The file, where it is a regular one and no link leads to it.
    pub(crate) fn open(&self, root: &Folder) -> Result<File, PathError> {
        let path = || self.text.clone();
        let file = match self.parent(root)? {
            Some(parent) => parent.file(&self.name),
            None => root.file(&self.name),
        };
        file.map_err(|error| match error {
            FileError::NotFound { .. } => PathError::NotFound { path: path() },
            FileError::SymbolicLink { .. } => PathError::SymbolicLink { path: path() },
            FileError::NotAFile { .. } | FileError::NotAFolder { .. } => PathError::NotAFile { path: path() },
            source => PathError::Unreadable { path: path(), source },
        })
    }

    /// The folder that the file is in; `None` means the root itself.
    pub(crate) fn parent(&self, root: &Folder) -> Result<Option<Folder>, PathError> {
        self.walk(root, |folder, name| folder.folder(name))
    }

    /// As `parent`, with folders made where they are missing.
    pub(crate) fn parent_made(&self, root: &Folder) -> Result<Option<Folder>, PathError> {
        self.walk(root, |folder, name| match folder.folder_made(name) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let _writable = folder.writable_meanwhile()?;
                folder.folder_made(name)
            }
            made => made,
        })
    }

    fn walk(
        &self,
        root: &Folder,
        step: impl Fn(&Folder, &str) -> Result<Folder, FileError>,
    ) -> Result<Option<Folder>, PathError> {
        let mut at: Option<Folder> = None;
        for (depth, name) in self.folders.iter().enumerate() {
            let next = step(at.as_ref().unwrap_or(root), name).map_err(|error| match error {
                FileError::SymbolicLink { .. } => {
                    let parents = self.folders.get(..=depth).unwrap_or_default();
                    PathError::ParentSymbolicLink { path: parents.join("/") }
                }
                FileError::NotFound { .. } | FileError::NotAFolder { .. } => {
                    PathError::NotFound { path: self.text.clone() }
                }
                source => PathError::Unreadable { path: self.text.clone(), source },
            })?;
            at = Some(next);
        }
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leaves_the_root() {
        let issue = |text: &str| ArtifactPath::parse(text).unwrap_err().to_string();
        assert_eq!(issue("/etc/passwd"), "Absolute paths not allowed: /etc/passwd");
        assert_eq!(issue("C:\\x"), "Absolute paths not allowed: C:\\x");
        assert_eq!(issue("a/../../x"), "Path traversal detected: a/../../x");
        assert_eq!(issue("a\\..\\x"), "Path traversal detected: a\\..\\x");
        assert_eq!(issue("a\0b"), "Path traversal detected: a\0b");
        assert_eq!(issue(".GIT/hooks/x"), "Artifacts cannot be in the git folder: .GIT/hooks/x");
        for text in ["", ".", "a/", "./"] {
            assert!(ArtifactPath::parse(text).is_err(), "{text:?}");
        }
        for text in ["a", "./a", "a//b", "a/..b/c", ".gitignore", "a/.git"] {
            assert!(ArtifactPath::parse(text).is_ok(), "{text:?}");
        }
    }

    #[test]
    fn a_callers_path_is_made_relative() {
        let inside =
            |path: &str| ArtifactPath::inside(Path::new("/p"), Path::new(path)).map(|path| path.text);
        assert_eq!(inside("/p/a/./b").unwrap(), "a/b");
        assert_eq!(inside("a/b").unwrap(), "a/b");
        assert!(inside("/q/a").is_err());
        assert!(inside("../p/a").is_err());
        assert!(inside("/p/../q").is_err());
        assert!(inside("/p").is_err());
    }
}
