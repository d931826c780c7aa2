//! What a turn changed inside of submodules, of which the outer repository shows a moved pointer or a dirty mark only (L9). A
//! submodule without a policy of its own is a part of the outer repository, and its files stand in that one's change set.

use change_set::{BytePath, Change, ChangeSet, ChangedFile};
use changes::{Repository, Request, Touched, Unseen};
use gate::Inputs;
use jiff::{SignedDuration, Timestamp};

use crate::client_event::ClientEvent;
use crate::other_repositories::OtherRepository;
use crate::policy_files::FILE_NAME;
use crate::written_files;

pub(crate) struct Submodules<'a> {
    pub(crate) outer: &'a Repository,
    pub(crate) inputs: &'a Inputs,
    pub(crate) began: Timestamp,
    pub(crate) event: &'a ClientEvent,
}

impl Submodules<'_> {
    /// Adds the files of submodules that changed; those with a policy of their own are given back.
    pub(crate) fn add_to(&self, set: &mut ChangeSet) -> Vec<OtherRepository> {
        let mut with_policy = Vec::new();
        let mut inside = Vec::new();
        let mut shown = Vec::new();
        // A folder has no time of its own in a change set.
        let folders =
            set.files.iter().filter(|file| file.modified_ns.is_none() && file.change != Change::Deleted);
        for ChangedFile { path, .. } in folders {
            let inner = Repository::at(&self.outer.root.join(path.as_path()));
            let Some(inner) = inner.filter(|inner| inner.is_submodule_of(self.outer)) else { continue };
            let written = vec![self.whole_turn()];
            if inner.root.join(FILE_NAME).exists() {
                with_policy.push(OtherRepository { repository: inner, written });
            } else {
                let files = self.changed_in(inner, path, &written);
                shown.extend((!files.is_empty()).then(|| path.clone()));
                inside.extend(files);
            }
        }
        if !inside.is_empty() {
            // The files say more than the mark of their submodule.
            set.files.retain(|file| !shown.contains(&file.path));
            set.files.extend(inside);
            set.files.sort_by(|one, other| one.path.cmp(&other.path));
        }
        with_policy
    }

    fn whole_turn(&self) -> (Timestamp, Timestamp) {
        let now = self.event.now;
        (self.began, now.saturating_add(SignedDuration::from_secs(1)).unwrap_or(now))
    }

    /// By their paths in the outer repository. If git cannot be asked, the mark of the submodule is all there is.
    fn changed_in(
        &self,
        inner: Repository,
        folder: &BytePath,
        written: &[(Timestamp, Timestamp)],
    ) -> Vec<ChangedFile> {
        let named = written_files::named(self.inputs);
        let touched = Touched { paths: &named, cwd: &self.event.cwd };
        let request = Request::Unseen(Unseen { began: self.began, touched, written });
        let pending = changes::start_in(inner, &self.event.settings.git);
        let set = pending.and_then(|pending| pending.change_set(request));
        let outer_path = |path: &BytePath| BytePath::from(folder.as_path().join(path.as_path()).as_path());
        let outer_file = |file: ChangedFile| ChangedFile {
            path: outer_path(&file.path),
            change: match file.change {
                Change::Renamed { from } => Change::Renamed { from: outer_path(&from) },
                change => change,
            },
            ..file
        };
        set.map(|set| set.files.into_iter().map(outer_file).collect()).unwrap_or_default()
    }
}
