//! A run for those who watch it: one line for each running stage on a terminal, a line for each event elsewhere, or the
//! events themselves as JSON. Everything comes from the events, so that watching a run looks like running it.

use std::collections::HashMap;
use std::io::IsTerminal as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use checkpoint::layout::Layout;
use checkpoint::manifest::MID_STAGE;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use jiff::Timestamp;
use run::end_of_output::last_line;
use run::engine::{EngineError, PlanText};
use run::event::{Ending, Event, What};
use run::outlook::{StageOutlook, Would};
use run::output::OutlookOutput;
use run::plan::{DEFAULT_DURATION, NOTHING_TO_RUN, Plan};
use run::record::Record;
use run::state::{RunState, StageState};
use supervise::marker::Marker;
use text::{Cell, Column, Table, counted, shell_word};
use transcript::visible;

use crate::error::{CommandError, ErrorKind, Warning};
use crate::printer::{BAD, DOUBTFUL, FAINT, GOOD, Printer, STRONG};
use crate::run_notification;
use crate::run_project::{self, Index};

/// So many stages that need not run again are told one by one.
const MOST_REUSED: usize = 20;

/// So many stages are told in a summary.
const MOST_STAGES: usize = 100;

pub(crate) struct Display<'a> {
    printer: &'a Printer,
    form: Form,
    /// What each stage may take.
    budgets: HashMap<String, Duration>,
    /// What each instance of a fan-out is run for.
    parameters: HashMap<String, String>,
    bars: HashMap<String, Bar>,
    reused: usize,
    is_aborting: bool,
    layout: Option<Layout>,
}

enum Form {
    Json,
    Lines,
    Terminal(MultiProgress),
}

struct Bar {
    bar: ProgressBar,
    budget: Duration,
    percent: Option<String>,
    last: String,
}

impl<'a> Display<'a> {
    pub(crate) fn new(printer: &'a Printer, json: bool) -> Self {
        let form = if json {
            Form::Json
        } else if std::io::stderr().is_terminal() && !printer.is_quiet() {
            Form::Terminal(MultiProgress::new())
        } else {
            Form::Lines
        };
        let (budgets, parameters, bars) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { printer, form, budgets, parameters, bars, reused: 0, is_aborting: false, layout: None }
    }

    pub(crate) fn know(&mut self, plan: &Plan, layout: &Layout) {
        self.budgets = plan.stages.iter().map(|stage| (stage.id.clone(), stage.max_duration)).collect();
        self.budgets.extend(plan.waiting().into_iter().map(|waiting| (waiting.id, waiting.max_duration)));
        // A run that goes on does not say once more what it has recorded.
        if let Ok(record) = Record::read(&layout.events()) {
            let instances = record.instances.into_values().flatten();
            self.parameters.extend(instances.map(|instance| (instance.stage_id, instance.parameters)));
        }
        self.layout = Some(layout.clone());
    }

    pub(crate) fn hear(&mut self, event: &Event) {
        if matches!(self.form, Form::Json) {
            if let Ok(text) = serde_json::to_string(event) {
                self.printer.line(&format!("{text}\n"));
            }
            return;
        }
        if let What::FanOut { stage_id, instances } = &event.what {
            let budget = self.budgets.get(stage_id).copied();
            for instance in instances {
                self.budgets.extend(budget.map(|budget| (instance.stage_id.clone(), budget)));
                self.parameters.insert(instance.stage_id.clone(), instance.parameters.clone());
            }
        }
        self.move_bars(event);
        if let What::StageReused { .. } = event.what {
            self.reused += 1;
            if self.reused > MOST_REUSED {
                return;
            }
        }
        match &event.what {
            // Without progress there are warnings all the same.
            What::Warning { stage_id, text } if self.printer.is_quiet() => {
                let of = stage_id.as_deref().map(|id| format!("{}: ", self.named(id))).unwrap_or_default();
                self.printer.warning(Warning::new(format!("{of}{}", visible(text))));
            }
            what => {
                if let Some(line) = self.line(what) {
                    self.say(&line);
                }
            }
        }
        self.is_aborting |= matches!(event.what, What::AbortRequested { stage_id: None });
    }

    fn say(&self, line: &str) {
        match &self.form {
            // `suspend` would panic once the terminal is gone; a line that nobody can read is nobody's loss.
            Form::Terminal(bars) if !self.bars.is_empty() && !bars.is_hidden() => {
                let _ = bars.println(self.printer.as_it_shows(line));
            }
            _ => self.printer.progress_styled(line),
        }
    }

    fn move_bars(&mut self, event: &Event) {
        let Form::Terminal(bars) = &self.form else { return };
        match &event.what {
            What::StageState { stage_id, to: StageState::Running, .. } => {
                let ran = Timestamp::now().duration_since(event.at).unsigned_abs();
                let budget = self.budgets.get(stage_id).copied().unwrap_or(DEFAULT_DURATION);
                let bar = bars.add(ProgressBar::new_spinner().with_elapsed(ran));
                if let Ok(style) =
                    ProgressStyle::with_template("{spinner} {prefix:.bold}  {elapsed} {wide_msg}")
                {
                    bar.set_style(style);
                }
                bar.set_prefix(self.named(stage_id));
                let bar = Bar { bar, budget, percent: None, last: String::new() };
                bar.show();
                bar.bar.enable_steady_tick(Duration::from_millis(250));
                self.bars.insert(stage_id.clone(), bar);
            }
            What::StageState { stage_id, to, .. } if *to != StageState::Interrupting => {
                if let Some(bar) = self.bars.remove(stage_id) {
                    bar.bar.finish_and_clear();
                }
            }
            What::StageState { stage_id, .. } => {
                if let Some(bar) = self.bars.get_mut(stage_id) {
                    bar.last = "being interrupted".to_owned();
                    bar.show();
                }
            }
            What::Marker { stage_id, marker, .. } => {
                if let Some(bar) = self.bars.get_mut(stage_id) {
                    bar.hear(marker);
                }
            }
            _ => {}
        }
    }

    /// The id of a stage, and what it is run for.
    fn named(&self, id: &str) -> String {
        with_parameters(id, self.parameters.get(id).map_or("", String::as_str))
    }

    /// What a person reads about an event; nothing where it is too small a thing.
    fn line(&self, what: &What) -> Option<String> {
        let stage = |id: &str| format!("{STRONG}{}{STRONG:#}", self.named(id));
        Some(match what {
            What::RunPlanned { report_title, run_id, .. } => {
                format!("run {STRONG}{}{STRONG:#} of {}", visible(run_id), visible(report_title))
            }
            What::PlanChanged { .. } => "the plan has changed; the run continues with the new one".to_owned(),
            What::RunState { to: RunState::InProgress, reason: Some(reason), .. } => visible(reason),
            What::FanOut { stage_id, instances } => {
                format!("{}  {}", stage(stage_id), counted(instances.len(), "instance"))
            }
            What::StageState { stage_id, attempt, to, reason, ending, accepted, .. } => {
                let why = reason.as_ref().map(|reason| format!(": {}", visible(reason))).unwrap_or_default();
                let took = ending.as_ref().map(|ending| seconds(ending.elapsed_milliseconds));
                let said = reason.as_deref().unwrap_or_default();
                let see = || self.output_hint(stage_id, *attempt, ending.as_ref(), said);
                let told = match to {
                    // Its own line shows it.
                    StageState::Running if matches!(self.form, Form::Terminal(_)) => return None,
                    StageState::Running => {
                        let budget = self.budgets.get(stage_id).copied().unwrap_or(DEFAULT_DURATION);
                        let again = if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
                        format!("{FAINT}running, at most {} s{again}{FAINT:#}", budget.as_secs())
                    }
                    StageState::Completed if reason.is_some() => format!("{FAINT}unchanged{FAINT:#}{why}"),
                    StageState::Completed => {
                        let artifacts = accepted.as_ref().map_or(0, |accepted| accepted.artifacts.len());
                        let in_time = took.map(|took| format!(" in {took}")).unwrap_or_default();
                        format!("{GOOD}completed{GOOD:#}{in_time}, {}", counted(artifacts, "artifact"))
                    }
                    StageState::Failed => format!("{BAD}failed{BAD:#}{why}{}", see()),
                    StageState::Interrupting => format!("{DOUBTFUL}being interrupted{DOUBTFUL:#}{why}"),
                    StageState::Interrupted => format!("{DOUBTFUL}interrupted{DOUBTFUL:#}{why}{}", see()),
                    StageState::Blocked => format!("{BAD}blocked{BAD:#}{why}"),
                    StageState::Pending if reason.is_some() => {
                        format!("{FAINT}will run again{FAINT:#}{why}")
                    }
                    StageState::Pending | StageState::Resumable => return None,
                };
                format!("{}  {told}", stage(stage_id))
            }
            What::StageReused { stage_id, restored } => {
                let back = match restored.len() {
                    0 => String::new(),
                    number => format!(", {} restored from the store", counted(number, "artifact")),
                };
                format!("{}  {FAINT}unchanged, not run again{back}{FAINT:#}", stage(stage_id))
            }
            What::Marker { stage_id, marker, .. } if matches!(self.form, Form::Lines) => {
                format!("{}  {}", stage(stage_id), visible(marker))
            }
            What::Stall { stage_id, signal, .. } => {
                format!("{}  {DOUBTFUL}stalled{DOUBTFUL:#}: {}", stage(stage_id), visible(signal))
            }
            What::Signal { stage_id, signal, .. } => {
                format!("{}  {DOUBTFUL}{}{DOUBTFUL:#}", stage(stage_id), visible(signal))
            }
            What::Suspended { stage_id, milliseconds, .. } => {
                let still = seconds(*milliseconds);
                format!("{}  was suspended for {still}, which is not counted", stage(stage_id))
            }
            What::Checkpoint { stage_id, checkpoint_id, status, artifacts, mid_stage, .. } => {
                let status = match (mid_stage, status.as_str()) {
                    (true, _) => format!(" ({MID_STAGE})"),
                    (false, "saved") => String::new(),
                    (false, status) => format!(" ({})", visible(status)),
                };
                let (id, artifacts) = (visible(checkpoint_id), counted(*artifacts, "artifact"));
                format!("{}  {FAINT}checkpoint {id}{status}, {artifacts}{FAINT:#}", stage(stage_id))
            }
            What::ResumedFrom { checkpoint_id: Some(id), stage_id } => {
                let of = stage_id.as_deref().map(|id| format!(" of {}", visible(id))).unwrap_or_default();
                format!("continues from checkpoint {}{of}", visible(id))
            }
            What::AbortRequested { stage_id } => match stage_id {
                Some(id) => format!("{}  aborting", stage(id)),
                None if self.is_aborting => "Forcing the abort.".to_owned(),
                None => "Aborting. Press Ctrl-C again to force.".to_owned(),
            },
            What::Swept { stage_id, processes, .. } if *processes > 0 => {
                format!("{}  {} left behind, killed", stage(stage_id), counted(*processes, "process"))
            }
            What::Warning { stage_id, text } => {
                let of = stage_id.as_deref().map(|id| format!("{}  ", stage(id))).unwrap_or_default();
                format!("{of}{DOUBTFUL}warning:{DOUBTFUL:#} {}", visible(text))
            }
            What::RunTaken { .. }
            | What::RunState { .. }
            | What::Marker { .. }
            | What::Swept { .. }
            | What::ResumedFrom { .. } => return None,
        })
    }

    /// Where its output is, and the last line of it unless the reason says that already.
    fn output_hint(&self, stage: &str, attempt: u32, ending: Option<&Ending>, reason: &str) -> String {
        let Some(layout) = &self.layout else { return String::new() };
        let path = match ending.is_some_and(|ending| ending.verify_failed) {
            true => layout.attempt_verification(stage, attempt),
            false => layout.attempt_output(stage, attempt),
        };
        let Ok(path) = path else { return String::new() };
        if !path.is_file() {
            return String::new();
        }
        let said = last_line(&path).filter(|line| !reason.contains(line.as_str()));
        let said = said.map(|line| format!("; it printed: {}", visible(&line)));
        format!("{} (see `{}`)", said.unwrap_or_default(), visible(&layout.relative(&path)))
    }

    /// The bars are gone, and what was left out is told.
    pub(crate) fn finish(&mut self) {
        for (_, bar) in self.bars.drain() {
            bar.bar.finish_and_clear();
        }
        if self.reused > MOST_REUSED {
            self.say(&format!("{} more are unchanged, not run again", self.reused - MOST_REUSED));
        }
    }
}

impl Bar {
    fn hear(&mut self, text: &str) {
        let Some(marker) = Marker::parse(text) else { return };
        if marker.kind == "STAGE"
            && let Some(percent) = marker.attribute("pct")
        {
            self.percent = Some(percent.trim_end_matches('%').to_owned());
        }
        let said = marker.attribute("msg").filter(|said| !said.is_empty());
        self.last = said.map_or_else(|| text.to_owned(), str::to_owned);
        self.show();
    }

    fn show(&self) {
        let percent =
            self.percent.as_ref().map(|percent| format!(" · {} %", visible(percent))).unwrap_or_default();
        let last = if self.last.is_empty() { String::new() } else { format!(" · {}", visible(&self.last)) };
        self.bar.set_message(format!("of {} s{percent}{last}", self.budget.as_secs()));
    }
}

fn seconds(milliseconds: u64) -> String {
    format!("{}.{} s", milliseconds / 1000, milliseconds % 1000 / 100)
}

/// Runs the stages of a plan to their end: shown and noted in the journal as they go, and told at the end.
pub(crate) fn shown(
    printer: &Printer,
    json: bool,
    root: &Path,
    layout: &Layout,
    plan: PlanText,
    run: impl FnOnce(PlanText, &mut dyn FnMut(&Event)) -> Result<RunState, EngineError>,
) -> Result<ExitCode, CommandError> {
    let stages = plan.plan.clone();
    let began = Timestamp::now();
    let mut display = Display::new(printer, json);
    display.know(&stages, layout);
    let mut index = Index::new(root, layout);
    index.expect(printer);
    let ended = run(plan, &mut |event| {
        index.hear(event, printer);
        display.hear(event);
    });
    display.finish();
    let state = ended.map_err(|error| run_project::engine_error(error, layout.run()))?;
    let record = run_project::record(layout)?;
    if !json {
        printer.text(&summary(&record, &stages, layout, printer.width()));
    }
    let stages: Vec<String> = stages_of(&record, &stages).into_iter().map(|(id, _)| id).collect();
    run_notification::send(&record, &stages, layout, began, printer);
    Ok(match state {
        RunState::Completed => ExitCode::SUCCESS,
        RunState::Aborted => ErrorKind::Interrupted.exit_code(),
        _ => ExitCode::from(1),
    })
}

/// What would become of each stage, and why.
pub(crate) fn outlook(
    stages: Vec<StageOutlook>,
    json: bool,
    printer: &Printer,
) -> Result<ExitCode, CommandError> {
    let output = OutlookOutput { stages };
    printer.answer(json, &output, || {
        let mut table = Table::new([Column::left(0), Column::left(0)]);
        for stage in &output.stages {
            let (style, would) = match stage.would {
                Would::Run => (STRONG, "would run: "),
                Would::Maybe => (DOUBTFUL, "may run: "),
                Would::Refuse => (DOUBTFUL, "not run: "),
                Would::Reuse => (FAINT, ""),
                Would::LeaveOut => (FAINT, "left out: "),
            };
            let told = format!("{would}{}", visible(&stage.why));
            table
                .row([with_parameters(&stage.stage_id, &stage.parameters).into(), Cell::styled(told, style)]);
        }
        let count = |would| output.stages.iter().filter(|stage| stage.would == would).count();
        let (run, maybe) = (count(Would::Run), count(Would::Maybe));
        let may = if maybe > 0 { format!(", and {maybe} may run") } else { String::new() };
        let all = counted(output.stages.len() - count(Would::LeaveOut), "stage");
        format!("{}{run} of {all} would run{may}\n", table.lines(printer.width()))
    })
}

/// How every stage of a run stands, and what to do next (R10: a failed stage is shown as failed).
pub(crate) fn summary(record: &Record, plan: &Plan, layout: &Layout, width: Option<usize>) -> String {
    let mut table = Table::new([Column::left(0), Column::left(12), Column::left(0)]);
    let stages = stages_of(record, plan);
    // Thousands of lines tell nobody anything; the first of those that did not complete do.
    let is_long = stages.len() > MOST_STAGES;
    let is_told = |state| !is_long || !matches!(state, StageState::Completed | StageState::Pending);
    let told = stages.iter().filter(|(id, _)| is_told(record.stage(id).state)).take(MOST_STAGES);
    for (id, parameters) in told {
        let here = record.stage(id);
        let style = match here.state {
            StageState::Completed => GOOD,
            StageState::Failed | StageState::Blocked => BAD,
            StageState::Pending => FAINT,
            _ => DOUBTFUL,
        };
        let reason = here.reason.as_deref().map(visible).unwrap_or_default();
        let name = with_parameters(id, parameters);
        table.row([name.into(), Cell::styled(here.state.name(), style), reason.into()]);
    }
    let mut text = table.lines(width);
    let done = stages.iter().filter(|(id, _)| record.stage(id).state == StageState::Completed).count();
    let (run, word) = (visible(layout.run()), shell_word(layout.run()));
    let published = visible(&layout.relative(&layout.run_directory()));
    let (style, next) = match record.state {
        RunState::Completed => (
            GOOD,
            format!("the artifacts are in `{published}`; `checkstone report {word}` writes the report"),
        ),
        _ => (DOUBTFUL, how_to_continue(record, plan, &word)),
    };
    let progress = match stages.len() {
        0 => NOTHING_TO_RUN.to_owned(),
        all => format!("{done} of {} completed; {next}", counted(all, "stage")),
    };
    let state = record.state.name();
    text.push_str(&format!("run {STRONG}{run}{STRONG:#} {style}{state}{style:#}: {progress}\n"));
    text
}

/// A stage that must not be repeated, and was begun, is run again only for somebody who names it.
fn how_to_continue(record: &Record, plan: &Plan, run: &str) -> String {
    let once = plan.stages.iter().filter(|stage| !stage.is_retryable);
    let once = once.map(|stage| (&stage.id, record.stage(&stage.id)));
    let (begun, not_begun): (Vec<_>, Vec<_>) =
        once.filter(|(_, here)| here.state != StageState::Completed).partition(|(_, here)| here.attempt > 0);
    let elsewhere: Vec<&String> =
        not_begun.iter().filter(|(_, here)| here.is_refused).map(|(id, _)| *id).collect();
    let again =
        |ids: &[&String]| ids.iter().map(|id| format!(" --again {}", shell_word(id))).collect::<String>();
    match (begun.is_empty(), elsewhere.is_empty()) {
        (true, true) => format!("`checkstone resume {run}` continues it"),
        (true, false) => {
            let names =
                elsewhere.iter().map(|id| format!("`{}`", visible(id))).collect::<Vec<_>>().join(", ");
            let again = again(&elsewhere);
            let it = if elsewhere.len() == 1 { "it" } else { "them" };
            format!(
                "once {names} completed in the run that started {it}, `checkstone resume {run}` continues this one; \
                 where that run is gone, `checkstone resume {run}{again}` runs {it} here"
            )
        }
        (false, _) => {
            let begun: Vec<&String> = begun.iter().map(|(id, _)| *id).collect();
            let again = again(&begun);
            format!("`checkstone resume {run}{again}` runs again what is not retryable, and continues it")
        }
    }
}

/// The stages of a run with their parameters: those of the plan, and in the place of a fan-out that was not known when it
/// began, its instances.
fn stages_of(record: &Record, plan: &Plan) -> Vec<(String, String)> {
    let known = plan.stages.iter().map(|stage| (stage.id.clone(), stage.parameters_in_words()));
    let waiting = plan.waiting().into_iter().flat_map(|waiting| match record.instances.get(&waiting.id) {
        Some(instances) => {
            instances.iter().map(|one| (one.stage_id.clone(), one.parameters.clone())).collect()
        }
        // One that only waits behind a fan-out keeps its id.
        None => vec![(waiting.id, String::new())],
    });
    known.chain(waiting).collect()
}

pub(crate) fn with_parameters(id: &str, parameters: &str) -> String {
    match parameters {
        "" => visible(id),
        parameters => format!("{} ({})", visible(id), visible(parameters)),
    }
}
