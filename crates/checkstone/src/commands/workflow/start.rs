//! `checkstone workflow start`

use std::process::ExitCode;

use jiff::Timestamp;
use transcript::visible;
use workflow::output::{KnownIssue, WorkflowOutput};
use workflow::{Begin, Name, usual_phases};

use super::{
    NameArguments, WorkflowCommonArguments, next_sentence, output, outside::Outside, typed_phase, warn,
};
use crate::error::{CommandError, Warning};
use crate::printer::{FAINT, Printer, STRONG};

/// Start a workflow, or resume one that is unfinished
///
/// A complete workflow is archived, and a new one begins. With Linear switched on (docs/integrations.md), a workflow with
/// the phase `issue-creation`, such as `start`, also gets an issue, created exactly once, and updates that did not reach
/// Linear earlier are sent again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone workflow start start --feature parser --title 'Parse dates'
  checkstone workflow start design --feature parser
  checkstone workflow start implement --fresh
  checkstone workflow start deploy --phases build,roll-out,watch")]
pub(super) struct StartArguments {
    #[command(flatten)]
    name: NameArguments,
    /// Start over; an unfinished workflow is archived first
    #[arg(long)]
    fresh: bool,
    /// The phases, in order; by default the usual ones of the command
    #[arg(long, value_name = "PHASE,…", value_delimiter = ',')]
    phases: Option<Vec<String>>,
    /// The title of the issue; by default the feature's name
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    #[command(flatten)]
    common: WorkflowCommonArguments,
}

pub(super) fn run(arguments: &StartArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let name = arguments.name.name()?;
    let state = arguments.common.state()?;
    let exists = || state.load(&name).is_ok_and(|loaded| loaded.workflow.is_some());
    if usual_phases(name.command()).is_none() && arguments.phases.is_none() && !exists() {
        return Err(arguments.name.unknown_command());
    }
    let is_phase = |phase: &String| !phase.trim().is_empty() && !phase.chars().any(char::is_control);
    if let Some(phases) = arguments.phases.as_ref().filter(|phases| !phases.iter().all(is_phase)) {
        return Err(CommandError::usage(format!(
            "every phase in `{}` needs a name",
            visible(&phases.join(","))
        )));
    }
    let begin = if arguments.fresh { Begin::Fresh } else { Begin::Resume };
    let started = state.start(&name, arguments.phases.as_deref(), begin, Timestamp::now())?;
    warn(&started.warnings, printer);
    if started.resumed && arguments.phases.is_some() {
        let kept = Warning::new("the workflow is unfinished and keeps its phases; `--phases` is ignored");
        printer.warning(kept.hint("`--fresh` archives it and starts over"));
    }
    let outside = Outside::of(&state, &name, printer);
    let may_have_issue = started.workflow.wants_issue() || started.workflow.issue_record().issue.is_some();
    if arguments.title.is_some() && !(outside.keeps_issues() && may_have_issue) {
        let ignored = Warning::new("`--title` is ignored: no issue is created");
        printer.warning(ignored.hint("docs/integrations.md says when one is"));
    }
    let (workflow, problem) = outside.begin_issue(started.workflow, arguments.title.as_deref());
    outside.send_unsent(&workflow);
    let archived = started.archived.map(|archived| archived.id);
    let mut output = WorkflowOutput {
        resumed: started.resumed,
        archived,
        ..output(&name, Some(&started.path), &workflow, &started.warnings)
    };
    if let Some(problem) = problem {
        output.warnings.push(problem.message.clone());
        printer.warning(problem);
    }
    let switch_to = outside.branch_to_switch_to(&workflow);
    printer.answer(arguments.common.json, &output, || shown(&name, &output, switch_to.as_deref()))
}

fn shown(name: &Name, output: &WorkflowOutput, switch_to: Option<&str>) -> String {
    let point = &output.resume_point;
    let deed = if output.resumed { "Resuming" } else { "Started" };
    let mut text = format!("{deed} {STRONG}{}{STRONG:#}: ", visible(&name.to_string()));
    text.push_str(&format!("{}\n", next_sentence(point, false)));
    for earlier in &point.summaries {
        let (phase, summary) = (visible(&earlier.phase), visible(&earlier.summary));
        text.push_str(&format!("  {FAINT}{phase}:{FAINT:#} {summary}\n"));
    }
    if let Some(id) = &output.archived {
        text.push_str(&format!("  The previous one is in the archive as {}\n", visible(id)));
    }
    if let Some(KnownIssue { issue, url, .. }) = &output.issue {
        // The phase that created it says so already.
        if !point.summaries.iter().any(|earlier| earlier.summary.starts_with(issue.as_str())) {
            let url = url.as_ref().map(|url| format!(": {}", visible(url))).unwrap_or_default();
            text.push_str(&format!("  {FAINT}issue:{FAINT:#} {}{url}\n", visible(issue)));
        }
    }
    if let Some(branch) = switch_to {
        text.push_str(&format!("  {FAINT}git switch --create {}{FAINT:#}\n", text::shell_word(branch)));
    }
    if let Some(phase) = &point.phase {
        let typed = typed_phase(name, phase);
        text.push_str(&format!("  {FAINT}{typed} --status complete --summary '…'{FAINT:#}\n"));
    }
    text
}
