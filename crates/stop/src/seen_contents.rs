//! The contents that a stop is about, and the ledger: what was proven of them before, what other files of the working tree
//! are still unproven, and what the stop records of both.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use change_set::{BytePath, ChangeSet, How};
use changes::state::{ContentIdentity, Disk, ObjectFormat, modified_ns};
use changes::{Baseline, GitProgram, Repository};
use gate::policy::{Class, Policy};
use gate::{ContentProof, FileStanding, LedgerExtract, ProvenFile, Strength, UnprovenFile};
use jiff::Timestamp;
use journal::{
    FileVersion, Journal, JournalError, NO_FILE, NewProof, ProofId, ProvenBy, Reading, RepositoryId,
    SessionId, Standing, TurnId, VerdictId, Writing,
};

/// Of a turn that changed more files, the others stay unknown to the ledger.
const MOST_FILES: usize = 2_000;

/// How many unproven contents are compared with the working tree, the newest first.
const MOST_UNPROVEN: usize = 200;

/// Contents by the path as the gate spells it.
#[derive(Debug, Default)]
pub(crate) struct SeenContents {
    versions: BTreeMap<String, FileVersion>,
    /// What files of which only comments or layout changed had for content before.
    before: BTreeMap<String, String>,
}

impl SeenContents {
    /// Reads what changed, as far as the policy could ask for something.
    pub(crate) fn of_changes(
        repository: &Repository,
        policy: &Policy,
        set: &ChangeSet,
        scripts: &BTreeMap<String, String>,
    ) -> Self {
        let mut disk = disk_of(repository, set.head.as_deref());
        let is_here = |how: &[How]| how != [How::CommittedElsewhere];
        let mut versions = BTreeMap::new();
        for file in set.files.iter().filter(|file| is_here(&file.how)).take(MOST_FILES) {
            let path = file.path.to_string();
            let is_asked = may_need(policy, &path) || scripts.contains_key(&path);
            if let Some(version) = is_asked.then(|| version(&mut disk, &file.path)).flatten() {
                versions.insert(path, version);
            }
        }
        Self { versions, before: BTreeMap::new() }
    }

    /// What the ledger knows of these contents, and of others in the working tree that are `unproven`.
    pub(crate) fn look_up(
        &mut self,
        journal: &mut Journal,
        repository: &Repository,
        (unproven, baseline): (Vec<Standing>, Option<&Baseline>),
        set: &ChangeSet,
        git: &GitProgram,
    ) -> Result<LedgerExtract, JournalError> {
        let mut extract = LedgerExtract::default();
        journal.read(|reader| {
            let Some(id) = reader.repository(&repository.common_dir)? else { return Ok(()) };
            for (path, version) in &self.versions {
                for standing in reader.standings(id, &version.path, &version.content)? {
                    if let Some(proof) = standing.proof {
                        let (action, command) = (standing.action, proof.command);
                        let weak = standing.weak.as_deref().and_then(Strength::of_name);
                        extract.proven.push(ProvenFile { path: path.clone(), action, command, weak });
                    }
                }
            }
            Ok(())
        })?;
        let kept: Vec<Standing> = unproven
            .into_iter()
            .filter(|standing| !self.versions.contains_key(&standing.version.path.to_string()))
            .collect();
        let committed = committed(&kept, repository, baseline, set, git);
        for Standing { version, action, .. } in kept {
            let path = version.path.to_string();
            extract.unproven.push(UnprovenFile {
                action,
                modified_ns: (version.content != NO_FILE).then_some(version.modified_ns),
                committed: committed.contains(&version.path),
                path: path.clone(),
            });
            self.versions.insert(path, version);
        }
        extract.proven.sort();
        extract.unproven.sort();
        Ok(extract)
    }

    /// Looks at what files had for content when the turn began, if they stand as that did.
    pub(crate) fn look_at_the_beginning(
        &mut self,
        standings: &[FileStanding],
        repository: &Repository,
        baseline: Option<&Baseline>,
        head: Option<&str>,
        git: &GitProgram,
    ) {
        let quiet = standings.iter().filter(|standing| standing.proof == ContentProof::AsBefore);
        let mut quiet: BTreeMap<&BytePath, &str> = quiet
            .filter_map(|standing| Some((&self.versions.get(&standing.path)?.path, standing.path.as_str())))
            .collect();
        for known in baseline.iter().flat_map(|baseline| &baseline.files) {
            if let Some(path) = quiet.remove(&known.path)
                && let Some(ContentIdentity::Blob(id)) =
                    known.state.content().map(|content| &content.identity)
            {
                self.before.insert(path.to_owned(), id.clone());
            }
        }
        // All others were as HEAD had them.
        let head = baseline.map_or(head, |baseline| baseline.head.as_deref());
        if let (Some(head), false) = (head, quiet.is_empty()) {
            let then = changes::contents_at(repository, git, head, quiet.keys().copied()).unwrap_or_default();
            self.before.extend(then.into_iter().map(|(path, id)| (path.to_string(), id)));
        }
    }
}

/// The contents of a repository that the policy wants proven, that are unproven, and that lie in this working tree now; the
/// newest first. Whoever reports what is unproven asks here.
pub fn live_unproven(
    journal: &mut Journal,
    repository: &Repository,
    policy: &Policy,
) -> Result<Vec<Standing>, JournalError> {
    let mut unproven = all_live_unproven(journal, repository, repository.head_commit().as_deref())?;
    unproven.retain(|standing| {
        let needed = gate::needs(policy, &standing.version.path.to_string());
        needed.iter().any(|action| action.id == standing.action)
    });
    Ok(unproven)
}

/// The same, whatever the policy wants. Any commit of the repository tells the format of its ids.
pub(crate) fn all_live_unproven(
    journal: &mut Journal,
    repository: &Repository,
    commit: Option<&str>,
) -> Result<Vec<Standing>, JournalError> {
    journal.read(|reader| match reader.repository(&repository.common_dir)? {
        Some(id) => live(reader, id, &mut disk_of(repository, commit)),
        None => Ok(Vec::new()),
    })
}

fn live(reader: &Reading<'_>, id: RepositoryId, disk: &mut Disk<'_>) -> Result<Vec<Standing>, JournalError> {
    let mut unproven = reader.unproven(id, MOST_UNPROVEN)?;
    // What a path has now: many contents of one file may be unproven.
    let mut here: BTreeMap<BytePath, PresentFile> = BTreeMap::new();
    unproven.retain_mut(|Standing { version, .. }| {
        let present =
            here.entry(version.path.clone()).or_insert_with(|| PresentFile::at(disk, &version.path));
        let written = present.written_as(disk, version);
        version.modified_ns = written.unwrap_or_default();
        written.is_some()
    });
    Ok(unproven)
}

/// What the working tree has at a path; it may be another tree than that of the ledger's stop.
struct PresentFile {
    /// Size and time; `None` if nothing is there.
    metadata: Option<(u64, i64)>,
    /// Read only if it is asked for.
    content: Option<Option<String>>,
}

impl PresentFile {
    fn at(disk: &mut Disk<'_>, path: &BytePath) -> Self {
        let metadata = disk.metadata(path).map(|(metadata, _)| (metadata.len(), modified_ns(&metadata)));
        Self { metadata, content: None }
    }

    /// When this very content was written; `None` if it is not there. It is read only if its size is right and its time is
    /// another.
    fn written_as(&mut self, disk: &mut Disk<'_>, version: &FileVersion) -> Option<i64> {
        let Some((size, written)) = self.metadata else {
            return (version.content == NO_FILE).then_some(version.modified_ns);
        };
        let mut is_content = || {
            let content = self.content.get_or_insert_with(|| disk.blob_id(&version.path));
            content.as_ref() == Some(&version.content)
        };
        let is_it = size == version.size
            && version.content != NO_FILE
            && (written == version.modified_ns || is_content());
        is_it.then_some(written)
    }
}

/// Whether the policy could ask for something.
pub(crate) fn may_need(policy: &Policy, path: &str) -> bool {
    !matches!(policy.classify(path), Class::Prose | Class::OtherFile) || !policy.gate.always.is_empty()
}

pub(crate) fn disk_of<'a>(repository: &'a Repository, head: Option<&str>) -> Disk<'a> {
    let format = head.map_or_else(|| repository.object_format(), ObjectFormat::of_id);
    Disk::new(&repository.root, format)
}

/// What is at the path now; `None` if that has no content id.
pub(crate) fn version(disk: &mut Disk<'_>, path: &BytePath) -> Option<FileVersion> {
    let state = disk.state(path);
    if state.is_absent() {
        return Some(FileVersion {
            path: path.clone(),
            content: NO_FILE.to_owned(),
            size: 0,
            modified_ns: 0,
        });
    }
    let content = state.content()?;
    let ContentIdentity::Blob(id) = &content.identity else { return None };
    let (size, modified_ns) = (content.size, content.modified_ns);
    Some(FileVersion { path: path.clone(), content: id.clone(), size, modified_ns })
}

/// Which of the unproven contents came into a commit in this turn, while the files stayed as they were. Git is asked only if
/// HEAD moved. If it cannot say, nothing is said of commits.
fn committed(
    unproven: &[Standing],
    repository: &Repository,
    baseline: Option<&Baseline>,
    set: &ChangeSet,
    git: &GitProgram,
) -> BTreeSet<BytePath> {
    let old = baseline.and_then(|baseline| baseline.head.as_deref());
    let (Some(old), Some(new)) = (old, set.head.as_deref()) else { return BTreeSet::new() };
    let arrived: BTreeSet<&BytePath> = set.arrived.iter().map(|file| &file.path).collect();
    let stayed: BTreeMap<&BytePath, &str> = unproven
        .iter()
        .map(|standing| (&standing.version.path, standing.version.content.as_str()))
        .filter(|(path, _)| !arrived.contains(path))
        .collect();
    if old == new || stayed.is_empty() {
        return BTreeSet::new();
    }
    let changes =
        changes::between_of(repository, git, (old, new), stayed.keys().copied()).unwrap_or_default();
    let is_it = |change: &changes::TreeChange| {
        let content = change.new_side().map_or(NO_FILE, |(_, id)| id);
        stayed.get(&change.path) == Some(&content)
    };
    changes.into_iter().filter(is_it).map(|change| change.path).collect()
}

/// What a stop records of the contents that it was about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordedStandings {
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
    pub(crate) verdict: VerdictId,
    pub(crate) at: Timestamp,
}

impl RecordedStandings {
    pub(crate) fn write(
        self,
        writing: &Writing<'_>,
        folder: &Path,
        contents: &SeenContents,
        standings: &[FileStanding],
    ) -> Result<(), JournalError> {
        if standings.is_empty() {
            return Ok(());
        }
        let repository = writing.see_repository(folder)?;
        let mut proofs: BTreeMap<&str, ProofId> = BTreeMap::new();
        for FileStanding { path, action, proof, weak } in standings {
            let Some(version) = contents.versions.get(path) else { continue };
            match proof {
                ContentProof::Proven(evidence) => {
                    let proof = match proofs.get(evidence.command.as_str()) {
                        Some(known) => *known,
                        None => writing.add_proof(&NewProof {
                            at: self.at,
                            session: Some(self.session),
                            verdict: Some(self.verdict),
                            command: &evidence.command,
                        })?,
                    };
                    proofs.insert(&evidence.command, proof);
                    writing.prove(repository, version, action, self.by(proof, weak.map(Strength::name)))?;
                }
                ContentProof::Unproven => {
                    writing.leave_unproven(repository, version, action, (self.turn, self.at))?;
                }
                ContentProof::TakenBack => {
                    writing.take_proof_back(repository, version, action)?;
                    writing.leave_unproven(repository, version, action, (self.turn, self.at))?;
                }
                ContentProof::AsBefore => {
                    if let Some(before) = contents.before.get(path) {
                        self.inherit(writing, repository, version, before, action)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn by(self, proof: ProofId, weak: Option<&str>) -> ProvenBy<'_> {
        ProvenBy { proof, turn: Some(self.turn), at: self.at, weak }
    }

    /// The content stands as the one before it, unless it has a standing of its own.
    fn inherit(
        self,
        writing: &Writing<'_>,
        repository: RepositoryId,
        version: &FileVersion,
        before: &str,
        action: &str,
    ) -> Result<(), JournalError> {
        let of = |content: &str| {
            let standings = writing.standings(repository, &version.path, content)?;
            Ok::<_, JournalError>(standings.into_iter().find(|standing| standing.action == action))
        };
        if of(&version.content)?.is_some() {
            return Ok(());
        }
        match of(before)? {
            Some(Standing { proof: Some(proof), weak, .. }) => {
                writing.prove(repository, version, action, self.by(proof.id, weak.as_deref()))
            }
            Some(_) => writing.leave_unproven(repository, version, action, (self.turn, self.at)),
            None => Ok(()),
        }
    }
}
