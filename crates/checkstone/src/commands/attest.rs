//! `checkstone attest`: writes what was proven for a commit into a git note, where `checkstone ci` reads it.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use changes::{CommitRange, GitProgram, NamedCommit, Repository};
use jiff::Timestamp;
use keeping::push::{PushLimits, PushOutcome, push_notes};
use keeping::{NotesError, NotesRef};
use serde::Serialize;
use stop::attestation::{
    AttestedRun, LARGEST_STATEMENT, NOTES_REF, OpenContent, ProvenContents, Statement, objects_without,
};
use stop::{FoundProof, Verification, VerifiedPart, VerifiedPlace};
use text::{counted, head};
use transcript::visible;

use crate::arguments::VERSION;
use crate::base_commit::{self, GIT_LIMIT};
use crate::commands::verify::UnprovenOutput;
use crate::environment;
use crate::error::{CommandError, ErrorKind};
use crate::journal_access;
use crate::printer::{BAD, FAINT, GOOD, Printer, STRONG};
use crate::public_commands::PublicCommands;
use crate::repository_argument::RepositoryArgument;
use crate::repository_policy;

/// Record what was proven for a commit where others can read it
///
/// Writes a statement in in-toto's form (tree, actions, commands, outcomes, times) as a git note of the commit and of its tree,
/// under `refs/notes/checkstone`; `checkstone ci` reads it. Notes are added, never overwritten. Whatever looks like a secret is left
/// out of the commands.
///
/// An attestation is a record, not a proof against a liar: it is not signed, and anyone who can push notes can write one.
///
/// Exit code: 0 everything the policy asks for is proven and recorded, 1 something is not.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone attest
  checkstone attest --push
  checkstone prove -- pytest && checkstone attest --push
  git notes --ref=checkstone show HEAD")]
pub(crate) struct AttestArguments {
    #[arg(value_name = "COMMIT", default_value = "HEAD")]
    commit: String,
    /// The branch that the commit will be merged into; files that are the same there are left out. By default the branch of the
    /// pull request in a CI job, else the main branch of `origin`, else the commit's parent
    #[arg(long, value_name = "REF")]
    base: Option<String>,
    /// Push the notes to the remote, merged with those already there
    #[arg(long)]
    push: bool,
    #[command(flatten)]
    repository: RepositoryArgument,
    /// Print JSON (schemas/attest.schema.json)
    #[arg(long)]
    json: bool,
}

/// A remote that does not answer for so long is given up.
const PUSH_LIMITS: PushLimits<'_> = PushLimits {
    total: Duration::from_secs(120),
    attempt: Duration::from_secs(60),
    pauses: &[Duration::from_secs(1), Duration::from_secs(3)],
    ours: &[],
    ssh_command: None,
};

/// More unproven files than this are not listed in a statement.
const MOST_UNPROVEN: usize = 1_000;

pub(crate) fn run(arguments: &AttestArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let repository = arguments.repository.find()?;
    let Some(texts) = repository_policy::of(&repository.root) else {
        return Err(CommandError::not_found(format!("`{}` has no policy", repository.root.display()))
            .hint("`checkstone init` writes one"));
    };
    let policy = repository_policy::sound(&texts, "nothing can be attested until you fix this")?;
    let git = environment::git().within(GIT_LIMIT);
    let commit = NamedCommit::find(&repository, &git, &arguments.commit)?;
    let compared = ComparedWith::find(arguments.base.as_deref(), &repository, &git, &commit)?;
    let mut journal = journal_access::open_existing(&journal_access::state_directory()?)?;
    let place = VerifiedPlace { repository: &repository, policy: &policy, git: &git };
    let verified = place.verify(journal.as_mut(), &compared.part)?;
    let notes = NotesRef { repository: &repository, program: &git, name: NOTES_REF };
    let state = match verified.proofs.is_empty() {
        true => AttestedState::Nothing,
        false => write(notes, &commit, &statement(&verified, &commit, &compared.base, &repository))?,
    };
    let pushed = match arguments.push && notes.tip()?.is_some() {
        true => Some(push(notes)?),
        false => None,
    };
    let output = AttestOutput {
        commit: &commit.id,
        tree: &commit.tree,
        base: &compared.base,
        state,
        files: verified.proofs.len(),
        actions: by_action(&verified.proofs),
        missing: verified.missing.iter().map(UnprovenOutput::of).collect(),
        pushed: pushed.is_some(),
    };
    printer.answer(arguments.json, &output, || output.text())?;
    Ok(ExitCode::from(u8::from(!output.missing.is_empty())))
}

/// What the files of a commit are compared with.
struct ComparedWith {
    /// Empty if the commit is the first one.
    base: String,
    part: VerifiedPart,
}

impl ComparedWith {
    fn find(
        named: Option<&str>,
        repository: &Repository,
        git: &GitProgram,
        commit: &NamedCommit,
    ) -> Result<Self, CommandError> {
        if let Some(base) = base_commit::find(repository, named)? {
            let range = CommitRange::find(repository, git, &base, &commit.id)?;
            if named.is_some() || range.start != commit.id {
                let part = VerifiedPart::Range(format!("{}..{}", range.start, commit.id));
                return Ok(Self { base: range.start, part });
            }
        }
        // The main branch has it already, or there is none to compare with.
        let parent = NamedCommit::find(repository, git, &format!("{}^1", commit.id));
        let base = parent.map(|parent| parent.id).unwrap_or_default();
        Ok(Self { base, part: VerifiedPart::Commit(commit.id.clone()) })
    }
}

fn statement(
    verified: &Verification,
    commit: &NamedCommit,
    base: &str,
    repository: &Repository,
) -> Statement {
    let mut public = PublicCommands::of(&repository.root);
    let now = Timestamp::now().to_string();
    let mut contents = ProvenContents::new(&format!("checkstone {VERSION}"), now, base);
    for proof in &verified.proofs {
        let command = public.command(&proof.command);
        let run = AttestedRun::passed(&proof.action, command, proof.at.clone(), proof.agent.clone());
        contents.add(run, &proof.path, &proof.content);
    }
    contents.unproven = verified
        .missing
        .iter()
        .take(MOST_UNPROVEN)
        .map(|missing| OpenContent { action: missing.action.clone(), path: missing.path.clone() })
        .collect();
    Statement::new(commit, contents)
}

fn write(
    notes: NotesRef<'_>,
    commit: &NamedCommit,
    statement: &Statement,
) -> Result<AttestedState, CommandError> {
    let line = serde_json::to_string(statement)?;
    if line.len() > LARGEST_STATEMENT {
        return Err(CommandError::refused(format!(
            "the attestation would have {} bytes, which is more than `checkstone ci` reads",
            line.len()
        ))
        .hint("name the branch that the commit goes to with `--base`: files that are the same there are left out"));
    }
    let open = objects_without(notes.repository, notes.program, commit, statement)?;
    if open.is_empty() {
        return Ok(AttestedState::Known);
    }
    notes.append(&open, &line)?;
    Ok(AttestedState::Written)
}

fn push(notes: NotesRef<'_>) -> Result<(), CommandError> {
    let ssh = environment::text(environment::SSH_COMMAND);
    match push_notes(notes, &PushLimits { ssh_command: ssh.as_deref(), ..PUSH_LIMITS }) {
        PushOutcome::Pushed { .. } => Ok(()),
        PushOutcome::NoRemote => {
            Err(CommandError::not_found(format!("not pushed: {}", PushOutcome::NoRemote))
                .hint("the attestation is written here; add a remote, then `checkstone attest --push`"))
        }
        ended => Err(CommandError::failed(format!("not pushed: {ended}"))
            .hint("the attestation is written here; `checkstone attest --push` tries again")),
    }
}

impl From<NotesError> for CommandError {
    fn from(error: NotesError) -> Self {
        match error {
            NotesError::Busy => Self::of(ErrorKind::Refused, &error).hint("try again in a moment"),
            NotesError::Lock(error) => error.into(),
            NotesError::Git(error) => error.into(),
        }
    }
}

text::named! {
    /// What became of an attestation.
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub(crate) enum AttestedState {
        Written = "written",
        /// An existing note already says this.
        Known = "known",
        /// Nothing was proven.
        Nothing = "nothing",
    }
}

/// What `checkstone attest --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Attest"))]
pub(crate) struct AttestOutput<'a> {
    commit: &'a str,
    tree: &'a str,
    /// What the files were compared with; empty if the commit is the first one.
    base: &'a str,
    state: AttestedState,
    /// How many proofs there are, one for each file and action.
    files: usize,
    /// The same by action.
    actions: BTreeMap<&'a str, usize>,
    /// What the policy asks for and nothing has proven.
    missing: Vec<UnprovenOutput>,
    /// Whether the remote has the notes.
    pushed: bool,
}

fn by_action(proofs: &[FoundProof]) -> BTreeMap<&str, usize> {
    let mut actions = BTreeMap::new();
    for proof in proofs {
        *actions.entry(proof.action.as_str()).or_default() += 1;
    }
    actions
}

impl AttestOutput<'_> {
    fn text(&self) -> String {
        let short = head(self.commit, 7);
        let mut text = match (self.state, self.missing.is_empty()) {
            (AttestedState::Nothing, true) => {
                format!("{GOOD}nothing to attest{GOOD:#}  {short} has nothing that needs proof\n")
            }
            (AttestedState::Nothing, false) => {
                format!("{BAD}nothing to attest{BAD:#}  nothing in {short} is proven\n")
            }
            (AttestedState::Known, _) => {
                format!("{GOOD}already attested{GOOD:#}  {short}\n")
            }
            (AttestedState::Written, _) => format!("{GOOD}attested{GOOD:#}  {short}\n"),
        };
        for (action, files) in &self.actions {
            text.push_str(&format!("  {STRONG}{}{STRONG:#}: {}\n", visible(action), counted(*files, "file")));
        }
        if !self.missing.is_empty() {
            text.push_str(&format!(
                "{BAD}unproven{BAD:#}  {}; `checkstone verify {short}` lists them\n",
                counted(self.missing.len(), "file")
            ));
        }
        if self.pushed {
            text.push_str(&format!("pushed as `{NOTES_REF}`\n"));
        }
        if self.state != AttestedState::Nothing {
            text.push_str(&format!(
                "{FAINT}A record, not a proof against a liar: it is not signed.{FAINT:#}\n"
            ));
        }
        text
    }
}
