//! A repository's own words, as plain data: its packages, the tasks that it defines, and what each package can verify
//! with. Made from names and texts that a caller hands over; nothing is opened and nothing is run.

mod language;
mod resolution;

use serde::{Deserialize, Serialize};

use crate::Deed;
use crate::shell::{Attribution, SimpleCommand, one_spelling};

pub use crate::table::TaskRunner;
pub use language::Language;

/// What a repository says of itself. Empty if nothing is known of it: commands then mean what they usually mean.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// Its folder as the session knows it; absolute paths of commands are compared with it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub root: String,
    /// By their folders; the root itself is always one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<Package>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<Task>,
    /// Shell scripts of the repository that tasks or commands run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<Script>,
}

/// A folder with a manifest, or the root. Files belong to the nearest one above them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// From the root, which is the empty text.
    pub folder: String,
    /// What its manifests call it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub languages: Vec<Language>,
    /// Whether its manifest lists other packages, which are then built and tested along with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_workspace: bool,
    /// What it can verify with, the strongest first; none where there is nothing to run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<Way>,
}

/// A command that verifies a package, in the repository's own words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Way {
    /// [`Deed::Tests`], [`Deed::Builds`], [`Deed::TypeChecks`] or [`Deed::Lints`].
    pub deed: Deed,
    /// `pnpm test`, `mise run test`, `go test ./...`
    pub command: String,
    /// Where it is to be run, from the root.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// The repository's instructions name it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_instructed: bool,
}

/// Something that the repository gave a name to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub runner: TaskRunner,
    pub name: String,
    /// Where the file lies that defines it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// What it runs, as a shell script.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// Tasks of the same runner that run before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
}

/// A shell script of the repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    /// From the root.
    pub path: String,
    pub text: String,
}

/// A file of a repository as a caller found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryFile {
    /// From the root, with `/` between.
    pub path: String,
    /// `None` if only its name is known.
    pub text: Option<String>,
}

/// What a command really runs, one for each program behind its launchers, tasks and scripts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub deed: Deed,
    /// The program of the table, or the task or script where nothing is known of what it runs.
    pub program: String,
    pub covers: Covered,
    /// What was chosen of all that the program could take: files, folders, names, `-k name`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// What the success of the command that was asked about says of this run: a task may ignore a failure, and a hook of
    /// a commit may not be installed.
    pub attribution: Attribution,
}

/// The packages that a run was about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Covered {
    /// Nobody knows where it ran, or which packages there are.
    Unknown,
    /// By their folders; none if it ran outside of the repository.
    Packages(Vec<String>),
}

impl Repository {
    /// What the files of a repository say. `root`: its folder as the session knows it.
    pub fn of_files(root: impl Into<String>, files: &[RepositoryFile]) -> Self {
        let mut packages = vec![Package::default()];
        for file in files {
            let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
            let Some(language) = Language::of_manifest(name) else { continue };
            let known = packages.iter().position(|package| package.folder == folder);
            let at = known.unwrap_or_else(|| {
                packages.push(Package { folder: folder.to_owned(), ..Package::default() });
                packages.len() - 1
            });
            if let Some(package) = packages.get_mut(at)
                && !package.languages.contains(&language)
            {
                package.languages.push(language);
            }
        }
        packages.sort_by(|one, other| one.folder.cmp(&other.folder));
        Self { root: root.into(), packages, ..Self::default() }
    }

    /// The package that a file or folder belongs to: the nearest one above it. The path is absolute or from the root;
    /// `None` if it is outside, or if no packages are known.
    pub fn package_of(&self, path: &str) -> Option<&Package> {
        let path = self.relative(path)?;
        let above = self.packages.iter().filter(|package| is_within(&path, &package.folder));
        above.max_by_key(|package| package.folder.len())
    }

    /// What a command runs, through tasks and scripts of the repository, in their order. `cwd`: where the command line
    /// began, absolute or from the root.
    pub fn runs(&self, command: &SimpleCommand, cwd: &str) -> Vec<Run> {
        resolution::runs(self, command, cwd)
    }

    /// A path from the root; `None` if it is outside.
    fn relative(&self, path: &str) -> Option<String> {
        let path = one_spelling("", path);
        let inside = match path.starts_with('/') {
            true if self.root.is_empty() => return None,
            true => path.strip_prefix(self.root.trim_end_matches('/'))?,
            false => path.as_str(),
        };
        let is_outside = inside.starts_with("..")
            || (path.starts_with('/') && !inside.is_empty() && !inside.starts_with('/'));
        (!is_outside).then(|| inside.trim_start_matches('/').to_owned())
    }
}

impl Package {
    /// The deed that verifies the package as far as it is asked to be: the strongest that the repository's instructions
    /// name, or else the strongest that there is.
    pub fn strongest(&self) -> Option<Deed> {
        let instructed = self.ways.iter().filter(|way| way.is_instructed).map(|way| way.deed).max();
        instructed.or_else(|| self.ways.iter().map(|way| way.deed).max())
    }

    /// The way to do this, or the strongest one.
    pub fn way(&self, deed: Deed) -> Option<&Way> {
        self.ways.iter().find(|way| way.deed == deed).or_else(|| self.ways.first())
    }
}

impl Covered {
    /// Whether the package in this folder is among them. If nobody knows, it may be.
    pub fn has(&self, folder: &str) -> bool {
        match self {
            Self::Unknown => true,
            Self::Packages(folders) => folders.iter().any(|one| one == folder),
        }
    }
}

/// Whether a path lies in a folder or is it.
fn is_within(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
