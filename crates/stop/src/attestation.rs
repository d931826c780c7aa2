//! What was proven for a commit, written down beside it so that others can read it: a statement in in-toto's form, one a
//! line, as a git note of the commit and of its tree. The tree's is found again after a squash or an amended message.
//!
//! It is a record and not a proof against a liar: nobody signs it, and anyone who can push notes can write one. So what is read is bounded, and
//! counts only for the very content that it names, under the very action.

use std::collections::{BTreeMap, BTreeSet};

use change_set::BytePath;
use changes::{GitProgram, NamedCommit, ObjectNote, Repository};
use serde::{Deserialize, Serialize};

/// Where the notes are.
pub const NOTES_REF: &str = "refs/notes/checkstone";

/// What every statement says about itself.
pub const MEANING: &str = "A record of what checkstone saw when these commands ran. It is not signed: anyone who can push notes can write one.";

const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
const PREDICATE_TYPE: &str = "urn:checkstone:proven-contents:v1";
const PASSED: &str = "passed";

/// A larger note is not read.
const LARGEST_NOTE: u64 = 1024 * 1024;

/// A longer one would leave no room for others in its note.
pub const LARGEST_STATEMENT: usize = 512 * 1024;

/// Of a note with more lines, and of a range with more commits, the others are not read.
const MOST_LINES: usize = 1_000;
const MOST_COMMITS: usize = 500;

/// One attestation: which contents of a commit are proven, by which runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Attestation"))]
pub struct Statement {
    /// `https://in-toto.io/Statement/v1`
    #[serde(rename = "_type")]
    statement_type: String,
    subject: Vec<StatementSubject>,
    /// `urn:checkstone:proven-contents:v1`
    #[serde(rename = "predicateType")]
    predicate_type: String,
    pub predicate: ProvenContents,
}

/// What the statement is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatementSubject {
    name: String,
    digest: CommitDigest,
}

/// Either of the two is enough to recognise it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommitDigest {
    #[serde(rename = "gitCommit", default)]
    commit: String,
    #[serde(rename = "gitTree", default)]
    tree: String,
}

/// What was proven.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProvenContents {
    /// What this is, and what it is not.
    meaning: String,
    /// The program that wrote it, with its version.
    pub program: String,
    /// When it was written.
    pub attested_at: String,
    /// The commit that the files were compared with: what is the same there is not listed.
    pub base: String,
    pub runs: Vec<AttestedRun>,
    /// What the policy asks for and nothing had proven.
    pub unproven: Vec<OpenContent>,
}

/// A command that succeeded, and the contents that it proves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AttestedRun {
    /// The action of the policy that it proves.
    pub action: String,
    /// Without what looks like a secret.
    pub command: String,
    /// `passed`
    outcome: String,
    pub at: String,
    /// The agent that ran it; null if a person or a job did.
    pub agent: Option<String>,
    pub files: Vec<AttestedFile>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AttestedFile {
    pub path: BytePath,
    digest: BlobDigest,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlobDigest {
    #[serde(rename = "gitBlob")]
    blob: String,
}

/// A content that an action is still needed for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenContent {
    pub action: String,
    pub path: String,
}

impl Statement {
    pub fn new(commit: &NamedCommit, predicate: ProvenContents) -> Self {
        let digest = CommitDigest { commit: commit.id.clone(), tree: commit.tree.clone() };
        Self {
            statement_type: STATEMENT_TYPE.to_owned(),
            subject: vec![StatementSubject { name: "commit".to_owned(), digest }],
            predicate_type: PREDICATE_TYPE.to_owned(),
            predicate,
        }
    }

    /// A line of a note, if it is such a statement about this commit.
    fn read(line: &str, commit: &NamedCommit) -> Option<Self> {
        let statement: Self = serde_json::from_str(line).ok()?;
        let is_of_commit = |subject: &StatementSubject| {
            subject.digest.commit == commit.id || subject.digest.tree == commit.tree
        };
        let is_ours = statement.statement_type == STATEMENT_TYPE
            && statement.predicate_type == PREDICATE_TYPE
            && statement.subject.iter().any(is_of_commit);
        is_ours.then_some(statement)
    }

    /// Whether the other one says no more than this one.
    fn covers(&self, other: &Self) -> bool {
        let own: BTreeSet<ContentKey> = self.keys().collect();
        other.keys().all(|key| own.contains(&key)) && self.predicate.unproven == other.predicate.unproven
    }

    fn keys(&self) -> impl Iterator<Item = ContentKey> {
        let passed = self.predicate.runs.iter().filter(|run| run.outcome == PASSED);
        passed.flat_map(|run| run.files.iter().map(|file| file.key(&run.action)))
    }
}

impl ProvenContents {
    pub fn new(program: &str, attested_at: String, base: &str) -> Self {
        Self {
            meaning: MEANING.to_owned(),
            program: program.to_owned(),
            attested_at,
            base: base.to_owned(),
            runs: Vec::new(),
            unproven: Vec::new(),
        }
    }

    /// Files that one run proves are listed together.
    pub fn add(&mut self, run: AttestedRun, path: &BytePath, content: &str) {
        let is_same = |known: &&mut AttestedRun| {
            (&known.action, &known.command, &known.at, &known.agent)
                == (&run.action, &run.command, &run.at, &run.agent)
        };
        let file = AttestedFile { path: path.clone(), digest: BlobDigest { blob: content.to_owned() } };
        match self.runs.iter_mut().find(is_same) {
            Some(known) => known.files.push(file),
            None => self.runs.push(AttestedRun { files: vec![file], ..run }),
        }
    }
}

impl AttestedRun {
    /// One that proves nothing yet.
    pub fn passed(action: &str, command: String, at: String, agent: Option<String>) -> Self {
        let (action, outcome) = (action.to_owned(), PASSED.to_owned());
        Self { action, command, outcome, at, agent, files: Vec::new() }
    }
}

impl AttestedFile {
    fn key(&self, action: &str) -> ContentKey {
        ContentKey { path: self.path.clone(), content: self.digest.blob.clone(), action: action.to_owned() }
    }
}

/// A content of a file, and the action that it is proven for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ContentKey {
    pub(crate) path: BytePath,
    pub(crate) content: String,
    pub(crate) action: String,
}

/// What an attestation says about one content.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AttestedProof {
    pub(crate) command: String,
    pub(crate) at: String,
    pub(crate) agent: Option<String>,
    /// The commit whose note it stands in.
    pub(crate) commit: String,
}

/// A note, or lines of it, that says nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IgnoredNote {
    /// Larger than is read, or not in this clone.
    Unread { commit: String },
    /// Lines that are no attestation of this commit.
    Lines { commit: String, count: usize },
}

/// What attestations prove of some contents.
#[derive(Debug, Default)]
pub(crate) struct Attested {
    pub(crate) proofs: BTreeMap<ContentKey, AttestedProof>,
    pub(crate) ignored: Vec<IgnoredNote>,
}

impl Attested {
    /// What the notes of these commits say of these contents.
    pub(crate) fn read(
        repository: &Repository,
        git: &GitProgram,
        commits: &[NamedCommit],
        wanted: &BTreeSet<(&BytePath, &str)>,
    ) -> Result<Self, changes::Error> {
        let mut attested = Self::default();
        let mut noted: BTreeMap<&str, &NamedCommit> = BTreeMap::new();
        for commit in commits.iter().take(MOST_COMMITS) {
            for object in [&commit.id, &commit.tree] {
                noted.entry(object).or_insert(commit);
            }
        }
        let objects: BTreeSet<&str> = noted.keys().copied().collect();
        let mut seen: BTreeSet<(&str, u64)> = BTreeSet::new();
        changes::notes(repository, git, NOTES_REF, (&objects, LARGEST_NOTE), |object, note| {
            let Some(commit) = noted.get(object) else { return };
            // The commit and its tree have the same note as a rule.
            if seen.insert((&commit.id, fingerprint(&note))) {
                attested.take(commit, note, wanted);
            }
        })?;
        Ok(attested)
    }

    fn take(&mut self, commit: &NamedCommit, note: ObjectNote, wanted: &BTreeSet<(&BytePath, &str)>) {
        let ObjectNote::Text(text) = note else {
            self.ignored.push(IgnoredNote::Unread { commit: commit.id.clone() });
            return;
        };
        let (statements, count) = statements(&text, commit);
        if count > 0 {
            self.ignored.push(IgnoredNote::Lines { commit: commit.id.clone(), count });
        }
        for statement in statements {
            for run in statement.predicate.runs.iter().filter(|run| run.outcome == PASSED) {
                let proof = AttestedProof {
                    command: run.command.clone(),
                    at: run.at.clone(),
                    agent: run.agent.clone(),
                    commit: commit.id.clone(),
                };
                let files = run.files.iter().map(|file| file.key(&run.action));
                for key in files.filter(|key| wanted.contains(&(&key.path, &key.content))) {
                    self.proofs.entry(key).or_insert_with(|| proof.clone());
                }
            }
        }
    }
}

fn fingerprint(note: &ObjectNote) -> u64 {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    match note {
        ObjectNote::Text(text) => text.hash(&mut hasher),
        ObjectNote::Unread => {}
    }
    hasher.finish()
}

/// The statements of a note about a commit, and how many of its lines are none.
fn statements(text: &[u8], commit: &NamedCommit) -> (Vec<Statement>, usize) {
    let text = String::from_utf8_lossy(text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let read: Vec<Statement> =
        lines.iter().take(MOST_LINES).filter_map(|line| Statement::read(line, commit)).collect();
    let ignored = lines.len() - read.len();
    (read, ignored)
}

/// Those of the commit and its tree that have no statement yet which says as much.
pub fn objects_without<'a>(
    repository: &Repository,
    git: &GitProgram,
    commit: &'a NamedCommit,
    statement: &Statement,
) -> Result<Vec<&'a str>, changes::Error> {
    let objects = BTreeSet::from([commit.id.as_str(), commit.tree.as_str()]);
    let mut known: BTreeSet<String> = BTreeSet::new();
    changes::notes(repository, git, NOTES_REF, (&objects, LARGEST_NOTE), |object, note| {
        let ObjectNote::Text(text) = note else { return };
        if statements(&text, commit).0.iter().any(|one| one.covers(statement)) {
            known.insert(object.to_owned());
        }
    })?;
    let all = [commit.id.as_str(), commit.tree.as_str()];
    Ok(all.into_iter().filter(|object| !known.contains(*object)).collect())
}
