//! `checkstone report`: what happened in a run, as Markdown and as a page, and two runs side by side.

use std::path::Path;
use std::process::ExitCode;

use files::FileError;
use jiff::Timestamp;
use run::output::ReportOutput;
use run::report::{ComparedRun, ComparedValue, Comparison, Outcome, Report, ReportError};
use text::{Cell, Column, Table};
use transcript::visible;

use crate::error::{CommandError, ErrorKind};
use crate::printer::{FAINT, Printer, STRONG, shown};
use crate::repository_argument::RepositoryArgument;
use crate::run_project;

/// So many values of a kind are printed; with --json all are.
const MOST_VALUES: usize = 40;

/// Write the report of a run: Markdown, and a page with a chart of its stages
///
/// Refreshes its blocks in `reports/TITLE/README.md` in place; what you wrote around them stays.
/// `reports/TITLE/RUN/report.html` is self-contained: parameters, metrics, pictures and tables; stages, attempts, interrupts and
/// resumes over time; artifacts, and the end of what each attempt printed. By default the newest run. With --compare two
/// runs are compared, and nothing is written.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone report
  checkstone report run-20261115-091500-1a2b --json
  checkstone report --compare run-20261115-091500-1a2b run-20261115-103000-3c4d")]
pub(crate) struct ReportArguments {
    /// The run, or TITLE/RUN
    run: Option<String>,
    /// Print what differs between two runs: parameters, metrics, durations
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with = "run")]
    compare: Option<Vec<String>>,
    /// Print JSON (schemas/report.schema.json, with --compare schemas/run-comparison.schema.json)
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    repository: RepositoryArgument,
}

pub(crate) fn run(arguments: &ReportArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let root = run_project::root(&arguments.repository)?;
    if let Some([a, b]) = arguments.compare.as_deref() {
        return compare(&root, a, b, arguments.json, printer);
    }
    let layout = run_project::find(&root, arguments.run.as_deref(), |_| true, "run")?.layout;
    let report = Report::of_run(&layout, Timestamp::now())?;
    let written = report.write(&layout)?;
    let attempts = || report.story.stages.iter().flat_map(|stage| &stage.attempts);
    let output = ReportOutput {
        title: report.story.title.clone(),
        run: report.story.run.clone(),
        state: report.story.state.name().to_owned(),
        stages: report.story.progress().1,
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

fn compare(root: &Path, a: &str, b: &str, json: bool, printer: &Printer) -> Result<ExitCode, CommandError> {
    let report = |name: &str| -> Result<Report, CommandError> {
        let layout = run_project::find(root, Some(name), |_| true, "run")?.layout;
        Ok(Report::of_run(&layout, Timestamp::now())?)
    };
    let comparison = Comparison::of(&report(a)?, &report(b)?);
    printer.answer(json, &comparison, || side_by_side(&comparison, printer.width()))
}

fn side_by_side(comparison: &Comparison, width: Option<usize>) -> String {
    let Comparison { a, b, parameters, metrics, durations } = comparison;
    let mut table = Table::new([
        Column::left(0),
        Column::left(0).at_most(40),
        Column::left(0).at_most(40),
        Column::left(0),
    ]);
    let mut fact = |name: &str, of: &dyn Fn(&ComparedRun) -> String| {
        table.row([name.into(), Cell::styled(of(a), STRONG), Cell::styled(of(b), STRONG), "".into()]);
    };
    fact("run", &|run| visible(&run.run));
    if a.title != b.title {
        fact("title", &|run| visible(&run.title));
    }
    fact("state", &|run| run.state.clone());
    fact("started", &|run| run.started_at.clone().unwrap_or_default());
    fact("elapsed", &|run| format!("{:.1} s", run.elapsed_seconds));
    for (heading, values, unit) in
        [("parameters", parameters, ""), ("metrics", metrics, ""), ("durations", durations, " s")]
    {
        if values.is_empty() {
            continue;
        }
        table.row(["".into(), "".into(), "".into(), "".into()]);
        table.row([Cell::styled(heading, STRONG), "".into(), "".into(), "".into()]);
        for value in values.iter().take(MOST_VALUES) {
            table.row(row(value, unit));
        }
        if values.len() > MOST_VALUES {
            let more = format!("{} more, with --json", values.len() - MOST_VALUES);
            table.row([Cell::styled(more, FAINT), "".into(), "".into(), "".into()]);
        }
    }
    table.lines(width)
}

fn row(value: &ComparedValue, unit: &str) -> [Cell; 4] {
    let name = match &value.stage {
        Some(stage) if unit.is_empty() => format!("{} {}", visible(stage), visible(&value.name)),
        Some(stage) => visible(stage),
        None => visible(&value.name),
    };
    let text = |text: &Option<String>| {
        text.as_ref().map_or_else(|| "-".to_owned(), |text| visible(&text::shortened_number(text)) + unit)
    };
    let change = value.change.filter(|change| *change != 0.0).map(|change| {
        let sign = if change > 0.0 { "+" } else { "" };
        format!("{sign}{}{unit}", text::shortened_number(&change.to_string()))
    });
    let style = |text: String| if value.differs { Cell::from(text) } else { Cell::styled(text, FAINT) };
    [style(name), style(text(&value.a)), style(text(&value.b)), style(change.unwrap_or_default())]
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
