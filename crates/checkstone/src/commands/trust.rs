//! `checkstone trust`: allows a repository's policy file, as it is now, to run its checks and to save by itself.

mod granted_key;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use gate::policy::Check;
use jiff::Timestamp;
use journal::TrustEntry;
use serde::Serialize;
use stop::policy_files::FILE_NAME;
use stop::trust;
use transcript::visible;

use self::granted_key::GrantedKey;
use crate::confirmation;
use crate::error::CommandError;
use crate::home_relative::home_relative;
use crate::journal_access;
use crate::printer::{DOUBTFUL, GOOD, Printer, STRONG};
use crate::reductions::{self, CommandReduction};
use crate::repository_argument::find;
use crate::repository_policy;

/// Trust a repository's `checkstone.toml`, as it is now: its checks, snapshots and autosave
///
/// Shows what the file would be allowed to do, every key with its value and every command, and asks. Trust is for the path and the content: any change to the
/// file withdraws it. Everything else in a policy needs no trust.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone trust
  checkstone trust --yes ~/projects/mine
  checkstone trust --list
  checkstone trust --revoke")]
pub(crate) struct TrustArguments {
    /// A folder in the repository, or its checkstone.toml; by default the current folder
    path: Option<PathBuf>,
    /// List the files that are trusted
    #[arg(long, conflicts_with_all = ["path", "revoke", "yes"])]
    list: bool,
    /// Withdraw the trust
    #[arg(long, conflicts_with = "yes")]
    revoke: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Print the list as JSON (schemas/trust-list.schema.json)
    #[arg(long, requires = "list")]
    json: bool,
}

pub(crate) fn run(arguments: &TrustArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    if arguments.list {
        return list(arguments, printer);
    }
    if arguments.revoke {
        reductions::refuse_agent(
            "checkstone trust --revoke",
            "an agent cannot withdraw trust: that is your decision",
        )?;
        return revoke(arguments, printer);
    }
    reductions::refuse_agent("checkstone trust", "an agent cannot give trust: that is your decision")?;
    let root = root(arguments.path.as_deref())?;
    let texts = repository_policy::of(&root).filter(|texts| texts.own_file.is_some());
    let Some((texts, text)) = texts.as_ref().and_then(|texts| Some((texts, trust::own_text(texts)?))) else {
        return Err(CommandError::not_found(format!("`{}` has no `{FILE_NAME}` to trust", root.display()))
            .hint("only what a repository's own file would run needs trust"));
    };
    let policy = repository_policy::sound(texts, "fix the file before you trust it")?;
    let state = journal_access::state_directory()?;
    let standing = journal_access::standing(journal_access::open_existing(&state)?.as_mut(), texts, &policy)?;
    let file = root.join(FILE_NAME);
    if standing.trust == journal::Trust::Trusted {
        printer.text(&format!("`{}` is trusted already.\n", file.display()));
        return Ok(ExitCode::SUCCESS);
    }
    let keys = GrantedKey::all(&policy, trust::policy_of_user(texts).as_ref());
    if keys.is_empty() && standing.ignored.is_empty() {
        printer.text(&format!("`{}` contains nothing that needs trust.\n", home_relative(&file)));
        return Ok(ExitCode::SUCCESS);
    }
    printer.text(&wanted(&file, &keys, &standing.ignored, printer.narrow_width()));
    if !arguments.yes && !confirmed_for(&file)? {
        printer.text("Nothing was changed.\n");
        return Ok(ExitCode::from(1));
    }
    let hash = trust::hash(&text.text);
    journal_access::open_or_create(&state)?
        .write(|writing| writing.set_trusted(&file, &hash, Timestamp::now()))?;
    printer.text(&format!("{GOOD}✓{GOOD:#} trusted, until the file changes\n"));
    Ok(ExitCode::SUCCESS)
}

/// What the file would be allowed to do.
fn wanted(file: &Path, keys: &[GrantedKey], checks: &[Check], width: Option<usize>) -> String {
    let mut text = format!("{STRONG}{}{STRONG:#}\n", visible(&file.to_string_lossy()));
    text.extend(keys.iter().map(|key| key.line(width)));
    for check in checks {
        let _ = writeln!(
            text,
            "  would run {DOUBTFUL}{}{DOUBTFUL:#} at the stop if {} changed, for at most {:?}",
            visible(&check.run),
            visible(&check.when.join(" ")),
            check.timeout,
        );
    }
    text
}

fn confirmed_for(file: &Path) -> Result<bool, CommandError> {
    let nothing = format!("`{}` was not trusted", file.display());
    confirmation::must_be_possible(&nothing, false, "run it in a terminal, or pass `--yes`")?;
    confirmation::confirmed("Trust it?")
}

/// The repository of a folder, or of its policy file.
fn root(path: Option<&Path>) -> Result<PathBuf, CommandError> {
    let here = || std::env::current_dir().map_err(CommandError::from);
    let Some(path) = path else { return Ok(find(&here()?)?.root) };
    let whole = fs_err::canonicalize(path).map_err(|_| {
        CommandError::not_found(format!("there is no `{}`", path.display()))
            .hint("name a folder in a git repository, or its `checkstone.toml`")
    })?;
    if whole.is_dir() {
        return Ok(find(&whole)?.root);
    }
    // The name as it was given: what lies at the root counts, wherever a link leads.
    let folder = here()?.join(path);
    let root = find(folder.parent().unwrap_or(&folder))?.root;
    let is_it = fs_err::canonicalize(root.join(FILE_NAME)).is_ok_and(|file| file == whole);
    if is_it {
        return Ok(root);
    }
    Err(CommandError::usage(format!("`{}` is not a repository's policy", path.display()))
        .hint("only the `checkstone.toml` at the root of a repository is"))
}

fn revoke(arguments: &TrustArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let state = journal_access::state_directory()?;
    // A file that is gone can still be trusted, and is named as the list shows it.
    let gone = arguments.path.as_deref().filter(|path| path.is_absolute() && !path.exists());
    let file = match gone {
        Some(path) => path.to_owned(),
        None => root(arguments.path.as_deref())?.join(FILE_NAME),
    };
    let revoked = match journal_access::open_existing(&state)? {
        Some(mut journal) => journal.write(|writing| writing.revoke_trust(&file))?,
        None => false,
    };
    if revoked {
        let text = format!("`{}` is no longer trusted (`checkstone trust --revoke`).", file.display());
        let repository = file.parent();
        let author = journal::Author::Person;
        CommandReduction { author, session: None, repository, key: None, text: &text }
            .note_or_warn(&state, printer);
    }
    let file = file.display();
    printer.text(&match revoked {
        true => format!("{GOOD}✓{GOOD:#} `{file}` is no longer trusted\n"),
        false => format!("`{file}` was not trusted.\n"),
    });
    Ok(ExitCode::SUCCESS)
}

fn list(arguments: &TrustArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let state = journal_access::state_directory()?;
    let entries = match journal_access::open_existing(&state)? {
        Some(mut journal) => journal.read(|reader| reader.trusted_files())?,
        None => Vec::new(),
    };
    let output = TrustList { files: entries.iter().map(TrustedFile::of).collect() };
    printer.answer(arguments.json, &output, || match output.files.is_empty() {
        true => "No file is trusted.\n".to_owned(),
        false => output.files.iter().map(TrustedFile::line).collect(),
    })
}

/// What `checkstone trust --list --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct TrustList {
    files: Vec<TrustedFile>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct TrustedFile {
    path: String,
    /// Of the content that was trusted.
    sha256: String,
    trusted_at: String,
    state: Now,
}

impl TrustedFile {
    fn of(entry: &TrustEntry) -> Self {
        Self {
            path: entry.path.to_string_lossy().into_owned(),
            sha256: entry.content_hash.clone(),
            trusted_at: entry.trusted_at.to_string(),
            state: Now::of(entry),
        }
    }

    fn line(&self) -> String {
        let (style, state) = match self.state {
            Now::Trusted => (GOOD, "trusted"),
            Now::Changed => (DOUBTFUL, "changed"),
            Now::Missing => (DOUBTFUL, "missing"),
        };
        format!("{style}{state:<8}{style:#} {}\n", self.path)
    }
}

/// The state of a trusted file now.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TrustState"))]
#[serde(rename_all = "lowercase")]
enum Now {
    Trusted,
    Changed,
    Missing,
}

impl Now {
    fn of(entry: &TrustEntry) -> Self {
        match fs_err::read_to_string(&entry.path) {
            Ok(text) if trust::hash(&text) == entry.content_hash => Self::Trusted,
            Ok(_) => Self::Changed,
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => Self::Changed,
            Err(_) => Self::Missing,
        }
    }
}
