//! `checkstone workflow branch`

use std::process::ExitCode;

use transcript::visible;
use workflow::integrations::branch::{IssueBranch, IssueId, branch_name};

use super::WorkflowCommonArguments;
use crate::error::CommandError;
use crate::integrations::Integrations;
use crate::printer::Printer;

/// Name a branch after a Linear issue
///
/// The prefix is `linear.branch_prefix` of `.claude/config/integrations.json`, else `feature`. Only the name is printed;
/// no branch is created.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  git switch -c \"$(checkstone workflow branch BAS-6)\"
  checkstone workflow branch BAS-6 --title 'Fix the parser'")]
pub(super) struct BranchArguments {
    /// The issue, such as BAS-6
    issue: String,
    /// Words to add to the name
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    #[command(flatten)]
    common: WorkflowCommonArguments,
}

pub(super) fn run(arguments: &BranchArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let Some(issue) = IssueId::parse(&arguments.issue) else {
        return Err(CommandError::usage(format!("`{}` is not an issue id", visible(&arguments.issue)))
            .hint("an id is a team key and a number, such as `BAS-6`"));
    };
    let state = arguments.common.state()?;
    let integrations = Integrations::read(state.root(), printer);
    let branch =
        branch_name(&integrations.repository.linear.branch_prefix, &issue, arguments.title.as_deref());
    let output = IssueBranch { issue: issue.to_string(), branch };
    printer.answer(arguments.common.json, &output, || format!("{}\n", output.branch))
}
