//! `checkstone` alone: what is on here, and the next sensible step.

use std::fmt::Write as _;
use std::process::ExitCode;

use text::wrap;
use workflow::StateDirectory;

use super::output::INDENT;
use super::policy_state::PolicyState;
use super::resumable::{unfinished_runs, unfinished_workflows};
use super::{off, or_nothing, session};
use crate::environment;
use crate::error::CommandError;
use crate::journal_access;
use crate::known_registrations;
use crate::printer::{BAD, DOUBTFUL, GOOD, Printer, STRONG};
use crate::repository_argument;
use crate::unproven_work::UnprovenWork;

/// Reads what `status` reads, and shows the part of it that decides what to do.
pub(crate) fn overview(printer: &Printer) -> Result<ExitCode, CommandError> {
    let folder = repository_argument::current_folder()?;
    let workflows = StateDirectory::of(&folder, &environment::git());
    let Some(repository) = workflows.repository() else {
        printer.text(&outside(printer.narrow_width()));
        return Ok(ExitCode::SUCCESS);
    };
    let root = Some(repository.root.as_path());
    let state = journal_access::state_directory()?;
    let mut problem = None;
    let mut journal = or_nothing(journal_access::open_existing(&state), &mut problem);
    let policy = or_nothing(PolicyState::of(root, journal.as_mut()), &mut problem);
    let session = or_nothing(session(&state, root, journal.as_mut()), &mut problem);
    let unproven = journal
        .as_mut()
        .map_or(Ok(UnprovenWork::default()), |journal| UnprovenWork::of_repository(journal, repository));
    let unproven = or_nothing(unproven, &mut problem).sentence();
    let is_called = known_registrations::any_is_there(root);
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let value = wrap(value, INDENT, printer.narrow_width());
        let _ = writeln!(text, "{STRONG}{name:<11}{STRONG:#} {value}");
    };
    let off = off(&policy, session.as_ref());
    match (&off, is_called) {
        (Some(reason), _) => line("gate", &format!("{BAD}off{BAD:#}: {reason}")),
        (None, false) => {
            line("gate", &format!("{DOUBTFUL}on here, but no client calls `checkstone hook`{DOUBTFUL:#}"));
        }
        (None, true) => line("gate", &format!("{GOOD}on{GOOD:#}")),
    }
    line("policy", &policy.sentence());
    if let Some(unproven) = &unproven {
        line("unproven", &format!("{BAD}{unproven}{BAD:#}"));
    }
    if let Some(problem) = &problem {
        line("journal", &format!("{BAD}{}{BAD:#}", transcript::visible(problem)));
    }
    let unfinished = unfinished_workflows(&workflows).into_iter().chain(unfinished_runs(&repository.root));
    let unfinished: Vec<String> = unfinished.map(|resumable| resumable.sentence()).collect();
    for sentence in &unfinished {
        line("resumable", sentence);
    }
    line(
        "next",
        match &policy {
            _ if problem.is_some() => "`checkstone doctor` shows what is wrong",
            PolicyState::Broken { .. } => "`checkstone policy check` names the mistakes",
            PolicyState::None => "`checkstone init` registers the hooks and writes a policy",
            PolicyState::Sound { .. } if off.is_some() => "`checkstone status` shows more",
            PolicyState::Sound { .. } if !is_called => "`checkstone init` registers the hooks",
            PolicyState::Sound { .. } if unproven.is_some() => {
                "`checkstone verify` lists what needs a run, `checkstone prove -- COMMAND` runs it"
            }
            PolicyState::Sound { .. } => {
                "`checkstone doctor` proves that the hooks fire, `checkstone log` shows what was decided"
            }
        },
    );
    line("more", "`checkstone --help`");
    printer.answer(false, &(), || text)
}

fn outside(width: Option<usize>) -> String {
    let steps = [
        ("try", "`checkstone demo` shows what it does, in a scratch repository"),
        ("next", "`checkstone init` sets it up, in a git repository of yours"),
        ("more", "`checkstone --help`"),
    ];
    let steps =
        steps.map(|(name, step)| format!("{STRONG}{name:<11}{STRONG:#} {}\n", wrap(step, INDENT, width)));
    format!("This folder is not in a git repository.\n{}", steps.concat())
}
