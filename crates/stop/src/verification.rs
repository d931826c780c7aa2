//! Whether what a commit, a range, the index or the working tree has is proven, and what a person's own run proves. Judged by
//! the gate as at a stop, so that both say the same.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use change_set::{BytePath, Change, ChangeSet, ChangedFile, How, Scope};
use changes::{Compared, GitProgram, NamedCommit, Repository, Request};
use contents::Nature;
use gate::policy::Policy;
use gate::{ActionState, Changes, ContentProof, FileStanding, Inputs, RecordedCall, Strength, Verdict};
use jiff::Timestamp;
use journal::{FileVersion, Journal, JournalError, NO_FILE, NewProof, ProvenBy, Standing};
use outputs::Shown;
use transcript::{Call, CommandOutput, Kind, Options, Outcome};

use crate::attestation::{Attested, ContentKey, IgnoredNote};
use crate::changed_texts::{LARGEST_TEXT, text};
use crate::repository_files::Listings;
use crate::seen_contents::{disk_of, may_need, version};
use crate::stop_case::own_words;

/// Where something is verified, and by what.
#[derive(Clone, Copy, Debug)]
pub struct VerifiedPlace<'a> {
    pub repository: &'a Repository,
    pub policy: &'a Policy,
    pub git: &'a GitProgram,
}

/// What is to be verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VerifiedPart {
    /// What is not committed, untracked files too.
    Worktree,
    Staged,
    /// Check what is staged in the index that git names to its hooks.
    StagedIn(PathBuf),
    Commit(String),
    Range(String),
    /// What the commits up to this one changed that no remote has yet, nor any of the `known` ones.
    Unpublished {
        commit: String,
        known: Vec<String>,
    },
}

/// What came out.
#[derive(Clone, Debug, PartialEq)]
pub struct Verification {
    /// How many files need a proof.
    pub needed: usize,
    /// Those that have none, by path and action.
    pub missing: Vec<MissingProof>,
    /// What proves the others, by action and path.
    pub proofs: Vec<FoundProof>,
    /// Notes that were looked at and say nothing.
    pub ignored: Vec<IgnoredNote>,
}

/// Why a content counts as proven for an action.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundProof {
    pub path: BytePath,
    pub content: String,
    pub action: String,
    /// Empty if that is not known any more.
    pub command: String,
    pub at: String,
    /// The agent that ran it; `None` if a person or a job did.
    pub agent: Option<String>,
    /// The commit whose attestation says so; `None` if this machine saw the run.
    pub attested_in: Option<String>,
    /// What was done, if that says less than the package's own way to verify.
    pub weak: Option<Strength>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct MissingProof {
    pub path: String,
    pub action: String,
    /// What to do.
    pub say: String,
    /// Its status, if a stop looked at this content.
    pub standing: Option<Standing>,
}

#[derive(Debug, thiserror::Error)]
pub enum VerificationError {
    #[error(transparent)]
    Git(#[from] changes::Error),
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// A file as it is to be verified.
#[derive(Debug)]
struct FileToVerify {
    version: FileVersion,
    /// The id of what it was before; `None` if it was not there.
    before: Option<String>,
}

/// A file whose content has no id, so that nothing can have proven it.
fn unread(path: &BytePath) -> FileVersion {
    FileVersion { path: path.clone(), content: String::new(), size: 0, modified_ns: 0 }
}

impl VerifiedPlace<'_> {
    /// Whether all that the policy wants proven is proven, by what this machine saw.
    pub fn verify(
        self,
        journal: Option<&mut Journal>,
        part: &VerifiedPart,
    ) -> Result<Verification, VerificationError> {
        self.verify_attested(journal, part, &[])
    }

    /// The same, if the attestations of these commits count as well.
    pub fn verify_attested(
        self,
        mut journal: Option<&mut Journal>,
        part: &VerifiedPart,
        commits: &[NamedCommit],
    ) -> Result<Verification, VerificationError> {
        let mut candidates = match part {
            VerifiedPart::Worktree => self.worktree()?,
            VerifiedPart::Staged => self.compared(Compared::Staged)?,
            VerifiedPart::StagedIn(index) => self.compared(Compared::StagedIn(index))?,
            VerifiedPart::Unpublished { commit, known } => {
                self.compared(Compared::Unpublished { commit, known })?
            }
            VerifiedPart::Commit(commit) => self.compared(Compared::Commit(commit))?,
            VerifiedPart::Range(range) => self.compared(Compared::Range(range))?,
        };
        let mut known: BTreeMap<(String, String), Standing> = BTreeMap::new();
        if let Some(journal) = journal.take() {
            journal.read(|reader| {
                let Some(id) = reader.repository(&self.repository.common_dir)? else { return Ok(()) };
                for FileToVerify { version, .. } in &candidates {
                    for standing in reader.standings(id, &version.path, &version.content)? {
                        known.insert((version.path.to_string(), standing.action.clone()), standing);
                    }
                }
                Ok(())
            })?;
        }
        let wanted: BTreeSet<(&BytePath, &str)> = candidates
            .iter()
            .map(|FileToVerify { version, .. }| (&version.path, version.content.as_str()))
            .collect();
        let attested = match commits.is_empty() || wanted.is_empty() {
            true => Attested::default(),
            false => Attested::read(self.repository, self.git, commits, &wanted)?,
        };
        let versions: BTreeMap<String, FileVersion> =
            candidates.iter().map(|one| (one.version.path.to_string(), one.version.clone())).collect();
        let proof = |path: &str, action: &str| -> Option<FoundProof> {
            let FileVersion { path: bytes, content, .. } = versions.get(path)?;
            let found = |command: &str, at: String, agent: Option<String>, attested_in: Option<String>| {
                let (path, content, action) = (bytes.clone(), content.clone(), action.to_owned());
                let weak = None;
                FoundProof {
                    path,
                    content,
                    action,
                    command: command.to_owned(),
                    at,
                    agent,
                    attested_in,
                    weak,
                }
            };
            let seen = known.get(&(path.to_owned(), action.to_owned())).and_then(|standing| {
                let agent = standing.session.as_ref().map(|session| session.agent.clone());
                let weak = standing.weak.as_deref().and_then(Strength::of_name);
                let proof = found(&standing.proof.as_ref()?.command, standing.since.to_string(), agent, None);
                Some(FoundProof { weak, ..proof })
            });
            seen.or_else(|| {
                let key =
                    ContentKey { path: bytes.clone(), content: content.clone(), action: action.to_owned() };
                let proof = attested.proofs.get(&key)?;
                let commit = Some(proof.commit.clone());
                Some(found(&proof.command, proof.at.clone(), proof.agent.clone(), commit))
            })
        };
        let is_proven = |path: &str, action: &str| proof(path, action).is_some();
        let all_needed: BTreeSet<String> = self
            .judge(&candidates, Vec::new(), self.repository.root.as_path())
            .standings
            .into_iter()
            .map(|standing| standing.path)
            .collect();
        candidates.retain(|candidate| {
            let path = candidate.version.path.to_string();
            // Whether the deletion of a file needs a proof depends on more than the file: only what a stop asked for counts.
            let is_asked =
                candidate.version.content != NO_FILE || known.keys().any(|(known, _)| *known == path);
            is_asked && all_needed.contains(&path)
        });
        let needed = candidates.iter().flat_map(|candidate| {
            let path = candidate.version.path.to_string();
            let actions = gate::needs(self.policy, &path);
            actions.into_iter().map(move |action| (path.clone(), action.id.clone()))
        });
        let mut proofs: Vec<FoundProof> = needed.filter_map(|(path, action)| proof(&path, &action)).collect();
        let open: Vec<FileToVerify> = candidates
            .into_iter()
            .filter(|candidate| {
                let path = candidate.version.path.to_string();
                let needed = gate::needs(self.policy, &path);
                needed.is_empty() || !needed.iter().all(|action| is_proven(&path, &action.id))
            })
            .collect();
        let proven = all_needed.len().saturating_sub(open.len());
        let open = self.without_quiet(open)?;
        let verdict = self.judge(&open, Vec::new(), self.repository.root.as_path());
        let said: BTreeMap<&str, &str> =
            verdict.actions.iter().map(|action| (action.id.as_str(), action.say.as_str())).collect();
        let mut missing: Vec<MissingProof> = verdict
            .standings
            .iter()
            .filter(|standing| !is_proven(&standing.path, &standing.action))
            .map(|standing| MissingProof {
                path: standing.path.clone(),
                action: standing.action.clone(),
                say: said.get(standing.action.as_str()).copied().unwrap_or_default().to_owned(),
                standing: known.get(&(standing.path.clone(), standing.action.clone())).cloned(),
            })
            .collect();
        // Files whose names alone do not say what they need.
        let listed: BTreeSet<(String, String)> =
            proofs.iter().map(|proof| (proof.path.to_string(), proof.action.clone())).collect();
        let is_new =
            |standing: &&FileStanding| !listed.contains(&(standing.path.clone(), standing.action.clone()));
        let unnamed = verdict.standings.iter().filter(is_new);
        proofs.extend(unnamed.filter_map(|standing| proof(&standing.path, &standing.action)));
        proofs.sort_by(|one, other| (&one.action, &one.path).cmp(&(&other.action, &other.path)));
        missing.sort_by(|one, other| (&one.action, &one.path).cmp(&(&other.action, &other.path)));
        let files: BTreeSet<&str> = missing.iter().map(|one| one.path.as_str()).collect();
        Ok(Verification { needed: proven + files.len(), missing, proofs, ignored: attested.ignored })
    }

    fn worktree(self) -> Result<Vec<FileToVerify>, VerificationError> {
        let set = changes::start_in(self.repository.clone(), self.git)?.change_set(Request::Worktree)?;
        let asked: Vec<&BytePath> = set
            .files
            .iter()
            .map(|file| &file.path)
            .filter(|path| may_need(self.policy, &path.to_string()))
            .collect();
        let mut before = match &set.head {
            Some(head) if !asked.is_empty() => {
                changes::contents_at(self.repository, self.git, head, asked.iter().copied())?
            }
            _ => BTreeMap::new(),
        };
        let mut disk = disk_of(self.repository, set.head.as_deref());
        let candidate = |path: &&BytePath| FileToVerify {
            version: version(&mut disk, path).unwrap_or_else(|| unread(path)),
            before: before.remove(*path),
        };
        Ok(asked.iter().map(candidate).collect())
    }

    fn compared(self, what: Compared<'_>) -> Result<Vec<FileToVerify>, VerificationError> {
        let changes = changes::compared(self.repository, self.git, what)?;
        let asked = changes.iter().filter(|change| may_need(self.policy, &change.path.to_string()));
        // The content of a submodule is its own repository's affair.
        let asked = asked.filter(|change| change.new_side().is_none_or(|(mode, _)| mode != "160000"));
        let candidate = |change: &changes::TreeChange| {
            if change.is_unmerged() {
                return FileToVerify { version: unread(&change.path), before: None };
            }
            let content = change.new_side().map_or(NO_FILE, |(_, id)| id).to_owned();
            let version = FileVersion { path: change.path.clone(), content, size: 0, modified_ns: 0 };
            FileToVerify { version, before: change.old_side().map(|(_, id)| id.to_owned()) }
        };
        Ok(asked.map(candidate).collect())
    }

    /// Leaves out files of which only comments, layout or a version number changed.
    fn without_quiet(self, mut open: Vec<FileToVerify>) -> Result<Vec<FileToVerify>, VerificationError> {
        let sides = open.iter().filter(|one| one.version.content != NO_FILE && one.before.is_some());
        let ids: Vec<&str> = sides
            .flat_map(|one| one.before.as_deref().into_iter().chain([one.version.content.as_str()]))
            .filter(|id| !id.is_empty())
            .collect();
        let git = changes::git::Git::of(self.repository, self.git)?;
        let texts = changes::blobs(&|arguments, input| git.run(arguments, input), &ids, LARGEST_TEXT)?;
        let texts: BTreeMap<String, Vec<u8>> =
            texts.into_iter().map(|(id, text)| (id.to_owned(), text)).collect();
        open.retain(|FileToVerify { version, before }| {
            let old = before.as_ref().and_then(|id| texts.get(id)).cloned();
            // What is not committed is not in git's store.
            let on_disk = || text(&self.repository.root, &version.path.to_string()).ok();
            let new = texts.get(&version.content).cloned().or_else(on_disk);
            let (Some(old), Some(new)) = (old, new) else { return true };
            let (Ok(old), Ok(new)) = (String::from_utf8(old), String::from_utf8(new)) else { return true };
            contents::nature(&version.path.to_string(), Some(&old), Some(&new)) == Nature::Code
        });
        Ok(open)
    }

    /// What the gate says of files that changed, and of these calls.
    fn judge(self, candidates: &[FileToVerify], calls: Vec<Call>, cwd: &Path) -> Verdict {
        let changed = |FileToVerify { version, before }: &FileToVerify| ChangedFile {
            path: version.path.clone(),
            change: match (before, version.content.as_str()) {
                (_, NO_FILE) => Change::Deleted,
                (None, _) => Change::Added,
                (Some(_), _) => Change::Modified,
            },
            how: vec![How::Committed],
            modified_ns: Some(version.modified_ns).filter(|modified| *modified != 0),
        };
        let set = ChangeSet {
            scope: Scope::Worktree,
            files: candidates.iter().map(changed).collect(),
            arrived: Vec::new(),
            head: None,
            branch: None,
            root: BytePath::from(self.repository.root.as_path()),
            baseline_unusable: None,
        };
        let nothing = transcript::read_bytes(&[], &Options::default());
        let mut inputs = Inputs::of_reading(nothing, Changes::Known(set), cwd.to_string_lossy().into_owned());
        let cwd = inputs.cwd.clone();
        inputs.calls = calls.into_iter().map(|call| RecordedCall::new(call, &cwd)).collect();
        inputs.stop.elapsed_ms = u64::try_from(self.policy.gate.min_turn.as_millis()).ok();
        inputs.repository = own_words(&self.repository.root, self.policy, &inputs, Listings::default());
        gate::judge(self.policy, &inputs)
    }

    /// Records what a run of a person proves: the present content of all files that it covers.
    pub fn prove(
        self,
        journal: &mut Journal,
        run: &ProvingRun<'_>,
    ) -> Result<ProvenByAction, VerificationError> {
        let candidates = self.all_files(run.began)?;
        let call = Call {
            tool: "Bash".to_owned(),
            kind: Kind::Shell,
            command: Some(run.command.to_owned()),
            outcome: Outcome::Ok,
            exit_code: Some(0),
            at: Some(run.began),
            ended_at: Some(run.ended),
            snippet: run.printed.clone(),
            output: CommandOutput::of_shown(Some(run.shown.clone()).filter(|shown| !shown.is_empty())),
            ..Call::default()
        };
        let verdict = self.judge(&candidates, vec![call], run.cwd);
        let versions: BTreeMap<String, &FileVersion> =
            candidates.iter().map(|one| (one.version.path.to_string(), &one.version)).collect();
        let proven: Vec<(&FileVersion, &FileStanding)> = verdict
            .standings
            .iter()
            .filter(|standing| matches!(standing.proof, ContentProof::Proven(_)))
            .filter_map(|standing| Some((*versions.get(&standing.path)?, standing)))
            .collect();
        if proven.is_empty() {
            let open = verdict.actions.iter().filter(|action| action.state == ActionState::Required);
            return Ok(ProvenByAction {
                files: BTreeMap::new(),
                objection: open.filter_map(|action| action.reason.clone()).next(),
            });
        }
        let mut files: BTreeMap<String, usize> = BTreeMap::new();
        for (_, FileStanding { action, .. }) in &proven {
            *files.entry(action.clone()).or_default() += 1;
        }
        journal.write(|writing| {
            let repository = writing.see_repository(&self.repository.common_dir)?;
            let mut proof = None;
            for (version, FileStanding { action, weak, .. }) in &proven {
                let standings = writing.standings(repository, &version.path, &version.content)?;
                if standings.iter().any(|one| one.action == *action && says_as_much(one, *weak)) {
                    continue;
                }
                let new = NewProof { at: run.ended, session: None, verdict: None, command: run.command };
                let id = match proof {
                    Some(id) => id,
                    None => writing.add_proof(&new)?,
                };
                proof = Some(id);
                let by = ProvenBy { proof: id, turn: None, at: run.ended, weak: weak.map(Strength::name) };
                writing.prove(repository, version, action, by)?;
            }
            Ok(())
        })?;
        Ok(ProvenByAction { files, objection: None })
    }

    /// Every file of the working tree that the policy could ask something for. What was written while the run went on is left
    /// out: nobody knows which content it saw.
    fn all_files(self, began: Timestamp) -> Result<Vec<FileToVerify>, VerificationError> {
        let tracked = changes::index_contents(self.repository, self.git)?;
        let changed = self.worktree()?;
        let dirty: BTreeSet<BytePath> = changed.iter().map(|one| one.version.path.clone()).collect();
        let clean = tracked
            .into_iter()
            .filter(|(path, _)| !dirty.contains(path) && may_need(self.policy, &path.to_string()))
            .map(|(path, content)| FileToVerify {
                before: Some(content.clone()),
                version: FileVersion { path, content, size: 0, modified_ns: 0 },
            });
        let began = changes::state::nanoseconds_of(began);
        let settled = changed
            .into_iter()
            .filter(|one| one.version.modified_ns < began && !one.version.content.is_empty());
        Ok(clean.chain(settled).collect())
    }
}

/// Whether what is known of a content is at least what a run says of it.
fn says_as_much(known: &Standing, weak: Option<Strength>) -> bool {
    let known_weak = known.weak.as_deref().and_then(Strength::of_name);
    known.proof.is_some() && known_weak.is_none_or(|known| weak.is_some_and(|weak| weak <= known))
}

/// A command that a person ran, and that succeeded.
#[derive(Clone, Debug)]
pub struct ProvingRun<'a> {
    pub command: &'a str,
    pub cwd: &'a Path,
    pub began: Timestamp,
    pub ended: Timestamp,
    /// What its output shows.
    pub shown: Shown,
    /// The end of its output, if there is any.
    pub printed: Option<String>,
}

/// How many files are proven now for which action.
#[derive(Clone, Debug, PartialEq)]
pub struct ProvenByAction {
    pub files: BTreeMap<String, usize>,
    /// Why the run counts for nothing, if that can be said.
    pub objection: Option<String>,
}
