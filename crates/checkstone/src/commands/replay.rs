//! `checkstone replay`: a policy over recorded turns, before it is switched on.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use stop::policy_files::{PolicyTexts, UnreadText};
use stop::replay::{CheckoutWords, ReplayFilter, ReplayPolicies, ReplayRequest, replay};
use transcript::Agent;

use crate::agent_name::AgentName;
use crate::environment;
use crate::error::{CommandError, Warning};
use crate::home_relative::home_relative;
use crate::moment::{self, Moment};
use crate::printer::{Printer, STRONG};
use crate::replay_page::page;
use crate::replay_table::table;
use crate::repository_policy::mistakes;

/// Show what a policy would have decided in recorded turns
///
/// Goes through every turn of every transcript under the paths, whichever client wrote it, and judges each as at its first
/// stop. What changed is what the transcript shows as edited: no git runs, no check runs, nothing is recorded. Without
/// --policy and --repo each session is judged by the policy of the repository it worked in.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone replay ~/.claude/projects
  checkstone replay ~/.claude/projects ~/.codex/sessions ~/.gemini/tmp --policy checkstone.toml
  checkstone replay ~/.claude/projects/my-project --since 14d --html replay.html
  checkstone replay ~/.codex/sessions --json | jq '.holds[].verdict.reason'")]
pub(crate) struct ReplayArguments {
    /// Transcripts, databases of transcripts, or folders that are searched for both
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Judge every session by this policy file; without --repo, the tasks and packages of its folder count
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Judge every session as if it had worked in this checkout: its tasks and packages count and, without --policy, its policy
    #[arg(long, value_name = "FOLDER")]
    repo: Option<PathBuf>,
    /// Only the sessions of this client
    #[arg(long, value_name = "AGENT")]
    agent: Option<AgentName>,
    /// Only turns that began then or later: `2026-11-01`, `2026-11-01T08:00:00Z`, `12h`, `14d` or `2w`
    #[arg(long, value_name = "WHEN", value_parser = moment::parse)]
    since: Option<Moment>,
    /// Write an HTML page with all of it
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print JSON (schemas/replay.schema.json)
    #[arg(long)]
    json: bool,
    /// How many transcripts to read at once; by default as many as there are cores
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
}

/// The page shows what an agent was asked and did.
const PAGE_MODE: u32 = 0o600;

const WHERE: &str = "`checkstone doctor` prints the newest transcript of each installed client";

pub(crate) fn run(arguments: &ReplayArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let is_missing = |path: &&PathBuf| !path.exists() && transcript::stored_session(path).is_none();
    if let Some(missing) = arguments.paths.iter().find(is_missing) {
        return Err(CommandError::not_found(format!("there is no `{}`", missing.display())).hint(WHERE));
    }
    let checkout = checkout(arguments)?;
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // The second one ends the program at once.
        signal_hook::flag::register_conditional_default(signal, Arc::clone(&interrupted))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&interrupted)))
            .map_err(|error| CommandError::failed(format!("cannot listen for Ctrl-C: {error}")))?;
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let filter = ReplayFilter {
        agent: arguments.agent.map(Agent::from),
        since: arguments.since.map(|since| since.0),
        policies: policies(arguments.policy.as_deref())?,
        checkout,
        words: CheckoutWords::default(),
        interrupted,
    };
    let threads = arguments.threads.map_or(cores, usize::from);
    let request = ReplayRequest { paths: arguments.paths.clone(), filter, threads };
    let bar = progress_bar(printer);
    let report = replay(&request, |read, all| {
        bar.set_length(all);
        bar.set_position(read);
    });
    bar.finish_and_clear();
    let Some(report) = report else {
        return Err(CommandError::interrupted("interrupted; nothing was written"));
    };
    if let Some(unread) = report.unread.first().filter(|_| report.totals.sessions == 0) {
        let problem = format!("`{}` is not a transcript: {}", unread.path, unread.reason);
        return Err(CommandError::usage(problem).hint(WHERE));
    }
    if let Some(file) = &arguments.html {
        files::atomic_file::write(file, page(&report).as_bytes(), PAGE_MODE)?;
    }
    if arguments.json {
        printer.json(&report)?;
    } else {
        // A report of nothing looks like a policy that lets everything pass.
        if report.totals.sessions == 0 {
            printer.warning(Warning::new("no turn was found under these paths").hint(WHERE));
        }
        printer.text(&table(&report, printer.width()));
        if let Some(file) = &arguments.html {
            printer.text(&format!("\nThe page: {STRONG}{}{STRONG:#}\n", home_relative(file)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Shown where somebody watches; a short run does not flicker.
fn progress_bar(printer: &Printer) -> ProgressBar {
    let is_watched = std::io::IsTerminal::is_terminal(&std::io::stderr()) && !printer.is_quiet();
    let target = if is_watched { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(None, target);
    match ProgressStyle::with_template("{bar:30} {percent:>3} % of {total_bytes}, {binary_bytes_per_sec}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Where the repository's own words are read. A folder that only holds a policy file says nothing.
fn checkout(arguments: &ReplayArguments) -> Result<Option<PathBuf>, CommandError> {
    if let Some(folder) = &arguments.repo {
        return match fs_err::canonicalize(folder) {
            Ok(folder) if folder.is_dir() => Ok(Some(folder)),
            Ok(_) => Err(CommandError::usage(format!("`{}` is not a folder", folder.display()))),
            Err(_) => Err(CommandError::not_found(format!("there is no folder `{}`", folder.display()))),
        };
    }
    let file = arguments.policy.as_deref().and_then(|file| fs_err::canonicalize(file).ok());
    let folder = file.as_deref().and_then(Path::parent);
    Ok(folder.filter(|folder| folder.join(".git").exists()).map(Path::to_owned))
}

fn policies(file: Option<&Path>) -> Result<ReplayPolicies, CommandError> {
    let user_file = environment::configuration_file();
    let Some(file) = file else { return Ok(ReplayPolicies::own(user_file)) };
    let shown = file.display();
    let texts = PolicyTexts::of_file(file, user_file.as_deref()).map_err(|reason| match reason {
        UnreadText::Missing => CommandError::not_found(format!("there is no policy file `{shown}`")),
        reason => CommandError::usage(format!("`{shown}` is not a policy: {reason}")),
    })?;
    let policy = texts.load().map_err(|problems| mistakes(&problems))?;
    policy.prepare();
    Ok(ReplayPolicies::Given { policy: Arc::new(policy), file: file.to_owned() })
}
