//! `checkstone ci`: the policy on a pull request. What it requires for what the commits changed, and what proves that.

mod annotations;
mod job_summary;
mod junit;
mod sarif;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use changes::CommitRange;
use gate::policy::Policy;
use serde::Serialize;
use stop::attestation::IgnoredNote;
use stop::{FoundProof, RangePolicies, Verification, VerifiedPart, VerifiedPlace};
use text::{counted, head};
use transcript::visible;

use crate::base_commit::{self, GIT_LIMIT};
use crate::commands::verify::{UnprovenOutput, files, listed, proving_command};
use crate::environment;
use crate::error::{CommandError, Warning};
use crate::journal_access;
use crate::printer::{BAD, FAINT, GOOD, Printer, STRONG};
use crate::public_commands::PublicCommands;
use crate::repository_argument::RepositoryArgument;
use crate::repository_policy::mistakes;
use crate::typed_word::word;

/// Check a pull request against the policy: is everything that its commits changed proven?
///
/// Checks the files that differ between HEAD and the commit where it diverged from its base. They are proven by runs that this
/// machine saw (`checkstone prove -- COMMAND` earlier in the job), and by attestations in `refs/notes/checkstone` (`checkstone attest --push`).
/// The policy of the base counts: a change to the policy takes effect once it is merged.
///
/// In a GitHub job it prints annotations and adds to the job's summary. Attestations are records, not proofs against a liar:
/// they are not signed.
///
/// Exit code: 0 everything is proven, 1 something is not; errors as for every command.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone ci
  checkstone ci --base origin/main
  checkstone prove -- pytest && checkstone ci
  checkstone ci --sarif checkstone.sarif --junit checkstone.xml")]
pub(crate) struct CiArguments {
    /// The branch that the commits will be merged into. By default that of the pull request in a GitHub or GitLab job, else the main
    /// branch of `origin`
    #[arg(long, value_name = "REF")]
    base: Option<String>,
    /// Judge by the policy of the base, or by that of the pull request
    #[arg(long, value_name = "END", default_value = "base", value_parser = word::<PolicyEnd>(["base", "head"]))]
    policy: PolicyEnd,
    /// Count only runs that this machine saw
    #[arg(long)]
    ignore_attestations: bool,
    /// Write a report for code scanning into this file (SARIF 2.1.0)
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Write a report for test results into this file (JUnit XML)
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    repository: RepositoryArgument,
    /// Print JSON (schemas/ci.schema.json), and no annotations
    #[arg(long)]
    json: bool,
}

text::named! {
    /// Which end of the range has the policy that counts.
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub(crate) enum PolicyEnd {
        Base = "base",
        Head = "head",
        /// Neither has one.
        Neither = "neither",
    }
}

pub(crate) fn run(arguments: &CiArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let repository = arguments.repository.find()?;
    let git = environment::git().within(GIT_LIMIT);
    let Some(base) = base_commit::find(&repository, arguments.base.as_deref())? else {
        return Err(CommandError::usage("cannot tell which branch the commits will be merged into")
            .hint("name it: `checkstone ci --base main`"));
    };
    let range = CommitRange::find(&repository, &git, &base, "HEAD")?;
    let user_file = environment::configuration_file();
    let policies =
        RangePolicies::read(&repository, &git, (&range.base, &range.head.id), user_file.as_deref())?;
    let shown = base_commit::short(&base);
    let (end, policy) = chosen(arguments.policy, &policies, shown, printer)?;
    let mut verified =
        Verification { needed: 0, missing: Vec::new(), proofs: Vec::new(), ignored: Vec::new() };
    if let Some(policy) = &policy {
        let state = journal_access::state_directory()?;
        let mut journal = journal_access::open_existing(&state)?;
        let place = VerifiedPlace { repository: &repository, policy, git: &git };
        let part = VerifiedPart::Range(format!("{}..{}", range.start, range.head.id));
        let mut commits = range.commits.clone();
        commits.insert(0, range.head.clone());
        let attesting = if arguments.ignore_attestations { &[][..] } else { &commits };
        verified = place.verify_attested(journal.as_mut(), &part, attesting)?;
    }
    for ignored in &verified.ignored {
        printer.warning(Warning::new(sentence(ignored)));
    }
    let public = PublicCommands::of(&repository.root);
    let output = CiOutput::of(shown, &range, end, policies.changes, &verified, public);
    write_reports(arguments, &output)?;
    match arguments.json {
        true => printer.json(&output)?,
        false if environment::text(environment::GITHUB).as_deref() == Some("true") => {
            let text = anstream::adapter::strip_str(&output.text()).to_string();
            printer.data(&annotations::around(&text, &output)?);
        }
        false => printer.text(&output.text()),
    }
    Ok(ExitCode::from(u8::from(!output.proven)))
}

/// The policy that counts, and whose it is. A broken one of the base judges nobody: then it is the head's.
fn chosen(
    wanted: PolicyEnd,
    policies: &RangePolicies,
    base: &str,
    printer: &Printer,
) -> Result<(PolicyEnd, Option<Policy>), CommandError> {
    if wanted == PolicyEnd::Base
        && let Some(texts) = &policies.base
    {
        match texts.load() {
            Ok(policy) => return Ok((PolicyEnd::Base, Some(policy))),
            Err(problems) => printer.warning(Warning::from(
                mistakes(&problems).context(format!("not judged by the policy of `{}`", visible(base))),
            )),
        }
    }
    match &policies.head {
        Some(texts) => {
            let policy = texts
                .load()
                .map_err(|problems| mistakes(&problems).hint("nothing can be verified until you fix this"))?;
            Ok((PolicyEnd::Head, Some(policy)))
        }
        None => Ok((PolicyEnd::Neither, None)),
    }
}

fn sentence(ignored: &IgnoredNote) -> String {
    match ignored {
        IgnoredNote::Unread { commit } => format!(
            "the note of {} was not read: it is larger than 1 MiB, or not in this clone",
            head(commit, 7)
        ),
        IgnoredNote::Lines { commit, count } => {
            let (lines, verb) = (counted(*count, "line"), if *count == 1 { "is" } else { "are" });
            format!(
                "{lines} in the note of {} {verb} not an attestation of it and {verb} ignored",
                head(commit, 7)
            )
        }
    }
}

fn write_reports(arguments: &CiArguments, output: &CiOutput<'_>) -> Result<(), CommandError> {
    let write = |path: &Path, text: String| fs_err::write(path, text);
    if let Some(path) = &arguments.sarif {
        write(path, sarif::report(output)?)?;
    }
    if let Some(path) = &arguments.junit {
        write(path, junit::report(output))?;
    }
    if let Some(path) = environment::read(environment::GITHUB_SUMMARY) {
        job_summary::append(Path::new(&path), output)?;
    }
    Ok(())
}

/// What `checkstone ci --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Ci"))]
pub(crate) struct CiOutput<'a> {
    /// Whether nothing is missing.
    proven: bool,
    /// The base as it was named, or found.
    base: &'a str,
    /// The commit that it is at.
    base_commit: &'a str,
    /// The commit that the files are compared with: where the two diverged.
    start: &'a str,
    head: &'a str,
    /// How many commits only the head has.
    commits: usize,
    /// Whose policy counted.
    policy: PolicyEnd,
    /// What the pull request changes in the policy.
    policy_changes: Vec<String>,
    /// How many files need a proof.
    files: usize,
    /// The files that have none, by action.
    missing: Vec<UnprovenOutput>,
    /// What proves the others, by action and path.
    proofs: Vec<ProofOutput>,
}

/// Why a file counts as proven for an action.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ProofOutput {
    path: String,
    action: String,
    /// Without what looks like a secret. Empty if that is not known any more.
    command: String,
    /// When it was run, or seen.
    at: String,
    /// The agent that ran it; null if a person or a job did.
    agent: Option<String>,
    /// The commit whose attestation says so; null if this machine saw the run.
    attested_in: Option<String>,
}

impl ProofOutput {
    fn of(proof: &FoundProof, public: &mut PublicCommands<'_>) -> Self {
        Self {
            path: proof.path.to_string(),
            action: proof.action.clone(),
            command: public.command(&proof.command),
            at: proof.at.clone(),
            agent: proof.agent.clone(),
            attested_in: proof.attested_in.clone(),
        }
    }
}

impl<'a> CiOutput<'a> {
    fn of(
        base: &'a str,
        range: &'a CommitRange,
        policy: PolicyEnd,
        policy_changes: Vec<String>,
        verified: &Verification,
        mut public: PublicCommands<'_>,
    ) -> Self {
        let missing: Vec<UnprovenOutput> = verified.missing.iter().map(UnprovenOutput::of).collect();
        Self {
            proven: missing.is_empty(),
            base,
            base_commit: &range.base,
            start: &range.start,
            head: &range.head.id,
            commits: range.commits.len(),
            policy,
            policy_changes,
            files: verified.needed,
            missing,
            proofs: verified.proofs.iter().map(|proof| ProofOutput::of(proof, &mut public)).collect(),
        }
    }

    /// The answer in one line, without colours.
    fn headline(&self) -> (&'static str, String) {
        let range = format!(
            "`{}...{}` ({})",
            visible(self.base),
            head(self.head, 7),
            counted(self.commits, "commit")
        );
        match (self.proven, self.policy, self.files) {
            (_, PolicyEnd::Neither, _) => ("proven", format!("nothing in {range}: there is no policy")),
            (true, _, 0) => ("proven", format!("nothing in {range} needs proof")),
            (true, _, files) => ("proven", format!("{} in {range}", counted(files, "file"))),
            (false, _, all) => {
                ("unproven", format!("{} of {all} in {range}", counted(files(&self.missing), "file")))
            }
        }
    }

    /// What the runs prove, one line for each action, command and source.
    fn proof_lines(&self) -> Vec<String> {
        let mut runs: BTreeMap<(&str, &str, Option<&str>), usize> = BTreeMap::new();
        for ProofOutput { action, command, attested_in, .. } in &self.proofs {
            *runs.entry((action, command, attested_in.as_deref())).or_default() += 1;
        }
        let line = |((action, command, attested_in), files): ((&str, &str, Option<&str>), usize)| {
            let command = match command {
                "" => String::new(),
                command => format!(" by `{}`", visible(head(command, 200))),
            };
            let source = match attested_in {
                Some(commit) => format!("attested in {}", head(commit, 7)),
                None => "run on this machine".to_owned(),
            };
            format!("{}: {}{command}, {source}", visible(action), counted(files, "file"))
        };
        runs.into_iter().map(line).collect()
    }

    fn uses_attestations(&self) -> bool {
        self.proofs.iter().any(|proof| proof.attested_in.is_some())
    }

    /// What a person should know of the policy.
    fn policy_remark(&self) -> Option<String> {
        if self.policy_changes.is_empty() {
            return None;
        }
        let changes = visible(&self.policy_changes.join("; "));
        Some(match self.policy {
            PolicyEnd::Base => {
                let base = visible(self.base);
                format!("The policy changes: {changes}. The policy of `{base}` counts until this is merged.")
            }
            _ => format!("The policy changes: {changes}. The changed policy was used."),
        })
    }

    /// How to get what is missing.
    fn next_step(&self) -> Option<String> {
        let command = || proving_command(&self.missing).unwrap_or("checkstone prove -- COMMAND".to_owned());
        (!self.proven).then(|| {
            format!(
                "Run it in this job with `{}`, or on your own machine, followed by `checkstone attest --push`.",
                command()
            )
        })
    }

    fn text(&self) -> String {
        let (answer, what) = self.headline();
        let style = if self.proven { GOOD } else { BAD };
        let mut text = format!("{style}{answer}{style:#}  {what}\n");
        for line in self.proof_lines() {
            text.push_str(&format!("  {line}\n"));
        }
        text.push_str(&listed(&self.missing));
        if let Some(step) = self.next_step() {
            text.push_str(&format!("\n{step}\n"));
        }
        if let Some(remark) = self.policy_remark() {
            text.push_str(&format!("{STRONG}{remark}{STRONG:#}\n"));
        }
        if self.uses_attestations() {
            text.push_str(&format!("{FAINT}{RECORDS}{FAINT:#}\n"));
        }
        text
    }
}

const RECORDS: &str = "Attestations are records, not proofs against a liar: they are not signed.";
