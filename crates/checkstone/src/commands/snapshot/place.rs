//! Where `checkstone snapshot` works: the repository, or the mirror that stands in for one that is gone.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use change_set::BytePath;
use changes::Repository;
use gate::policy::SnapshotSettings;
use journal::Journal;
use keeping::snapshot::{Mirror, SnapshotError, Snapshots};
use stop::{configured_snapshots, mirror_of, trust};

use crate::environment;
use crate::error::CommandError;
use crate::journal_access;
use crate::printer::Printer;
use crate::repository_argument::RepositoryArgument;
use crate::repository_policy;

/// A tree with gigabytes of new files takes its time.
const TIME_LIMIT: Duration = Duration::from_secs(15 * 60);

/// A mirror, and the folder that it is one of.
pub(super) struct MirrorPlace {
    pub(super) mirror: Mirror,
    pub(super) root: PathBuf,
    /// Where the command was called.
    pub(super) folder: PathBuf,
}

impl MirrorPlace {
    pub(super) fn find(argument: &RepositoryArgument) -> Result<Self, CommandError> {
        let folder = fs_err::canonicalize(argument.folder()?)?;
        let state = journal_access::state_directory()?;
        let of = |root: &Path| mirror_of(root, &snapshot_settings(root), &state);
        // The nearer one: the repository that is gone may have lain inside of another.
        let mirrored = folder.ancestors().find(|root| of(root).exists());
        let repository = Repository::discover(&folder).ok().map(|repository| repository.root);
        let root = match (mirrored, repository) {
            (Some(mirrored), Some(repository)) if !mirrored.starts_with(&repository) => repository,
            (Some(mirrored), _) => mirrored.to_owned(),
            (None, repository) => repository.unwrap_or_else(|| folder.clone()),
        };
        let mirror = of(&root);
        if !mirror.exists() {
            return Err(SnapshotError::NoMirror { root }.into());
        }
        Ok(Self { mirror, root, folder })
    }

    pub(super) fn is_repository_gone(&self) -> bool {
        self.root.join(".git").symlink_metadata().is_err()
    }

    /// The repository if it has the snapshot; otherwise the mirror in its place: nothing is brought into it before somebody has
    /// said yes.
    pub(super) fn place_of(
        &self,
        id: &str,
        argument: &RepositoryArgument,
    ) -> Result<SnapshotPlace, CommandError> {
        if !self.is_repository_gone()
            && let Ok(place) = SnapshotPlace::find(argument)
            && place.snapshots.find(id).is_ok()
        {
            return Ok(place);
        }
        let repository = self.mirror.stand_in(&self.root)?;
        let snapshots = Snapshots::of(repository.clone(), &environment::git().within(TIME_LIMIT))?;
        Ok(SnapshotPlace { repository, folder: self.folder.clone(), snapshots })
    }

    /// Brings what the mirror has into the repository, which is made anew if it is gone.
    pub(super) fn bring_in(&self, printer: &Printer) -> Result<(), CommandError> {
        let (root, git) = (&self.root, environment::git().within(TIME_LIMIT));
        if self.mirror.rebuild(root, &git)? {
            printer.progress(&format!(
                "the repository in `{}` was created again from its mirror",
                root.display()
            ));
        }
        if let Ok(repository) = Repository::discover(root) {
            self.mirror.lend(&repository, &git)?;
        }
        Ok(())
    }
}

/// What the user's own configuration says, and a repository's file that is trusted.
fn snapshot_settings(root: &Path) -> SnapshotSettings {
    let files = repository_policy::files(root);
    let trust = trust::of_file_or_unknown(journal().as_mut(), files.texts());
    trust::snapshot_settings(trust, files.texts()).unwrap_or_default()
}

/// The repository, and where in it the command was called.
pub(super) struct SnapshotPlace {
    pub(super) repository: Repository,
    pub(super) folder: PathBuf,
    pub(super) snapshots: Snapshots,
}

impl SnapshotPlace {
    pub(super) fn find(argument: &RepositoryArgument) -> Result<Self, CommandError> {
        let folder = fs_err::canonicalize(argument.folder()?)?;
        let state = journal_access::state_directory()?;
        let (repository, settings) = match Repository::discover(&folder) {
            Ok(repository) => {
                let settings = snapshot_settings(&repository.root);
                (repository, settings)
            }
            // Your home folder and `/` are no projects.
            Err(error @ changes::Error::NotARepository { .. })
                if folder.parent().is_some() && environment::home().as_deref() != Some(&folder) =>
            {
                let settings = snapshot_settings(&folder);
                if !settings.mirror {
                    return Err(CommandError::from(error).hint(
                        "with `mirror = true` in `[snapshot]` of your own configuration it needs no repository",
                    ));
                }
                (mirror_of(&folder, &settings, &state).stand_in(&folder)?, settings)
            }
            Err(error) => return Err(error.into()),
        };
        let git = environment::git().within(TIME_LIMIT);
        let snapshots = configured_snapshots(repository.clone(), &git, &settings, &state)?;
        Ok(Self { repository, folder, snapshots })
    }

    /// Paths as they were typed, from the root of the repository. They need not exist, and links are not followed.
    pub(super) fn paths(&self, typed: &[PathBuf]) -> Result<Vec<BytePath>, CommandError> {
        let mut paths = Vec::new();
        for path in typed {
            let whole = plain(&self.folder.join(path));
            let Ok(inside) = whole.strip_prefix(&self.repository.root) else {
                return Err(SnapshotError::Outside { path: BytePath::from(path.as_path()) }.into());
            };
            if inside.as_os_str().is_empty() {
                // The root is everything.
                return Ok(Vec::new());
            }
            paths.push(BytePath::from(inside));
        }
        Ok(paths)
    }
}

/// Without `.` and `..`, by the letters.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

pub(super) fn journal() -> Option<Journal> {
    let state = journal_access::state_directory().ok()?;
    journal_access::open_existing(&state).ok().flatten()
}
