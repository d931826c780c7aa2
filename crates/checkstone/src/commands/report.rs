//! `checkstone report`: what happened in a run, as Markdown and as a page.

use std::process::ExitCode;

use files::FileError;
use jiff::Timestamp;
use run::output::ReportOutput;
use run::report::{Outcome, Report, ReportError};

use crate::error::{CommandError, ErrorKind};
use crate::printer::{Printer, STRONG, shown};
use crate::repository_argument::RepositoryArgument;
use crate::run_project;

/// Write the report of a run: Markdown, and a page with a chart of its stages
///
/// `reports/TITLE/README.md` gets its blocks refreshed in place, and what you wrote around them stays.
/// `reports/TITLE/RUN/report.html` stands alone: stages, attempts, interrupts and resumes over time, artifacts, and the
/// end of what each attempt printed. Without RUN the newest one.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone report
  checkstone report run-20261115-091500-1a2b --json")]
pub(crate) struct ReportArguments {
    /// The run, or TITLE/RUN
    run: Option<String>,
    /// Print JSON (schemas/report.schema.json)
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    repository: RepositoryArgument,
}

pub(crate) fn run(arguments: &ReportArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let root = run_project::root(&arguments.repository)?;
    let layout = run_project::find(&root, arguments.run.as_deref(), |_| true, "run")?.layout;
    let report = Report::of_run(&layout, Timestamp::now())?;
    let written = report.write(&layout)?;
    let attempts = || report.story.stages.iter().flat_map(|stage| &stage.attempts);
    let output = ReportOutput {
        title: report.story.title.clone(),
        run: report.story.run.clone(),
        state: report.story.state.name().to_owned(),
        stages: report.story.stages.len(),
        attempts: attempts().count(),
        broken_off: attempts()
            .filter(|attempt| !matches!(attempt.outcome, Outcome::Completed | Outcome::Running))
            .count(),
        resumes: report.story.resumes(),
        markdown: layout.relative(&written.markdown),
        html: layout.relative(&written.html),
    };
    printer.answer(arguments.json, &output, || {
        let (html, markdown) = (shown(&output.html), shown(&output.markdown));
        format!("{STRONG}{html}{STRONG:#}\n{STRONG}{markdown}{STRONG:#}\n")
    })
}

impl From<ReportError> for CommandError {
    fn from(error: ReportError) -> Self {
        let kind = match error {
            ReportError::Record(error) => return error.into(),
            ReportError::File(FileError::SymbolicLink { .. }) => ErrorKind::Refused,
            _ => ErrorKind::Failed,
        };
        Self::of(kind, &error).hint_at_room(&error, "try again")
    }
}
