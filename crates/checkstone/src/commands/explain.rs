//! `checkstone explain`: how a recorded verdict came about, and that it can be had again from what was recorded.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::process::ExitCode;

use anstyle::Style;
use gate::{CheckOutcome, CheckResult, Decision, Explanation, RuleState, Verdict};
use journal::{Journal, Of, RecordedVerdict, VerdictId};
use serde::Serialize;
use stop::{ExplainedVerdict, Replay, explain, recorded_correction, recorded_reason};
use text::{Cell, Column, Table, fit, wrap};
use transcript::visible;

use crate::error::CommandError;
use crate::journal_access;
use crate::printer::{BAD, DOUBTFUL, FAINT, GOOD, Printer, STRONG};
use crate::repository_argument::RepositoryArgument;
use crate::unproven_work::UnprovenWork;
use crate::verdict_text::{decision, verdict_text};

/// Explain a verdict: every rule, and why it fired or stayed silent
///
/// Shows the latest verdict of this repository, or the one with the given id. It is judged again from its recorded
/// inputs, including the policy at that time. That must give the same verdict, bit for bit; if it does not, this is
/// reported.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone explain
  checkstone explain --list
  checkstone explain 12 --json | jq '.rules[] | select(.state == \"fired\")'")]
pub(crate) struct ExplainArguments {
    /// The id of a verdict, as `--list` shows it
    #[arg(value_parser = id)]
    verdict: Option<i64>,
    /// List the recent verdicts of this repository
    #[arg(long, conflicts_with = "verdict")]
    list: bool,
    #[command(flatten)]
    repository: RepositoryArgument,
    /// Print JSON (schemas/explain.schema.json, with --list schemas/explain-list.schema.json)
    #[arg(long)]
    json: bool,
}

fn id(text: &str) -> Result<i64, CommandError> {
    let wrong = || CommandError::usage("an id is a number, as `checkstone explain --list` shows it");
    text.parse().map_err(|_| wrong())
}

/// How many verdicts a list has.
const LISTED: usize = 20;

pub(crate) fn run(arguments: &ExplainArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let state = journal_access::state_directory()?;
    let mut journal = journal_access::open_existing(&state)?;
    if arguments.list {
        let root = arguments.repository.find()?.root;
        let listed = match &mut journal {
            Some(journal) => recent(journal, Of::Repository(&root), LISTED)?,
            None => Vec::new(),
        };
        return printer.answer(arguments.json, &ExplainList { verdicts: &listed }, || {
            match listed.is_empty() {
                true => "No verdict is recorded for this repository.\n".to_owned(),
                false => listed_lines(&listed, printer.width()),
            }
        });
    }
    let recorded = match (&mut journal, arguments.verdict) {
        (Some(journal), Some(id)) => journal.read(|reader| reader.verdict(VerdictId(id)))?,
        (Some(journal), None) => {
            let root = arguments.repository.find()?.root;
            let latest = journal.read(|reader| reader.recent_verdicts(Of::Repository(&root), 1));
            latest?.into_iter().next()
        }
        (None, _) => None,
    };
    let (Some(recorded), Some(journal)) = (recorded, &mut journal) else {
        return Err(match arguments.verdict {
            Some(id) => journal_access::unknown_verdict(id),
            None => {
                let root = arguments.repository.find()?.root;
                CommandError::not_found(format!("no verdict is recorded for `{}`", root.display()))
                    .hint("hooks record verdicts; `checkstone check` shows what the gate would decide now")
            }
        });
    };
    let inputs = journal.read(|reader| reader.inputs(recorded.id))?;
    let corrected_by = corrected_by(journal, &recorded)?;
    let beside = journal.read(|reader| reader.beside_verdict(&recorded))?;
    let explained = Explained { recorded, beside, explained: explain(inputs.as_ref()), corrected_by };
    let unproven = match arguments.verdict {
        None => UnprovenWork::of_repository(journal, &arguments.repository.find()?)?,
        Some(_) => UnprovenWork::default(),
    };
    printer.answer(arguments.json, &explained.output(), || {
        let unproven = unproven.sentence();
        let now = unproven.map(|sentence| format!("\n{BAD}unproven now{BAD:#}: {sentence}\n"));
        format!("{}{}", explained.text(printer.width()), now.unwrap_or_default())
    })
}

fn corrected_by(journal: &mut Journal, recorded: &RecordedVerdict) -> Result<Option<i64>, CommandError> {
    Ok(journal.read(|reader| {
        for later in reader.verdicts_after(recorded.id, recorded.turn)? {
            let inputs = reader.inputs(later)?;
            if inputs.and_then(|inputs| recorded_correction(&inputs.bytes)) == Some(recorded.id.0) {
                return Ok(Some(later.0));
            }
        }
        Ok(None)
    })?)
}

/// What `checkstone explain --list --json` prints, the newest first.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ExplainList<'a> {
    verdicts: &'a [ListedVerdict],
}

/// A verdict in a list.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ListedVerdict {
    pub(crate) id: i64,
    pub(crate) at: String,
    pub(crate) agent: String,
    pub(crate) session: String,
    pub(crate) verdict: Decision,
    /// Null if the inputs were too large to keep, or of another version.
    pub(crate) reason: Option<String>,
}

pub(crate) fn recent(
    journal: &mut Journal,
    of: Of<'_>,
    limit: usize,
) -> Result<Vec<ListedVerdict>, CommandError> {
    Ok(journal.read(|reader| {
        let listed = reader.recent_verdicts(of, limit)?.into_iter().map(|recorded| {
            let inputs = reader.inputs(recorded.id)?;
            Ok(ListedVerdict {
                id: recorded.id.0,
                at: recorded.at.to_string(),
                agent: recorded.agent,
                session: recorded.client_id,
                verdict: recorded.decision,
                reason: inputs
                    .and_then(|inputs| recorded_reason(&inputs.bytes))
                    .map(|reason| reason.to_string()),
            })
        });
        listed.collect()
    })?)
}

/// `   12  2026-11-15 04:12:09  claude  hold    missing: tests`
pub(crate) fn listed_lines(verdicts: &[ListedVerdict], width: Option<usize>) -> String {
    let word = Column::left(6);
    let mut table = Table::new([Column::right(6), Column::left(0), word, word, Column::left(0)]);
    for verdict in verdicts {
        let (style, word) = decision(verdict.verdict);
        let at = verdict.at.get(..19).unwrap_or(&verdict.at).replace('T', " ");
        let reason = visible(verdict.reason.as_deref().unwrap_or("(not kept)"));
        let (agent, word) = (verdict.agent.as_str().into(), Cell::styled(word, style));
        table.row([verdict.id.to_string().into(), at.into(), agent, word, reason.into()]);
    }
    table.lines(width)
}

/// A recorded verdict with how it came about.
struct Explained {
    recorded: RecordedVerdict,
    /// What the same stop said of other repositories.
    beside: Vec<RecordedVerdict>,
    explained: ExplainedVerdict,
    /// A later verdict of the same stop, made when results had come.
    corrected_by: Option<i64>,
}

impl Explained {
    fn output(&self) -> ExplainOutput<'_> {
        let ExplainedVerdict { verdict, rules, checks, replay } = &self.explained;
        let (same, problem) = match replay {
            Replay::Same => (Some(true), None),
            Replay::Different(again) => (Some(false), Some(judged_again(again))),
            Replay::Impossible(why) => (None, Some(why.clone())),
        };
        ExplainOutput {
            id: self.recorded.id.0,
            at: self.recorded.at.to_string(),
            agent: &self.recorded.agent,
            session: &self.recorded.client_id,
            repository: self.recorded.repository.as_ref().map(|path| path.to_string_lossy()),
            answered: self.recorded.decision,
            timings: &self.recorded.timings,
            corrected_by: self.corrected_by,
            verdict: verdict.as_ref(),
            rules,
            checks,
            replay: ReplayOutput { same, problem },
            beside: self.beside.iter().map(VerdictBeside::of).collect(),
        }
    }

    fn text(&self, width: Option<usize>) -> String {
        let recorded = &self.recorded;
        let ExplainedVerdict { verdict, rules, checks, replay } = &self.explained;
        let mut text = String::new();
        let _ = writeln!(
            text,
            "{STRONG}Verdict {}{STRONG:#} of {}, {}, session {}\n",
            recorded.id.0,
            recorded.at.strftime("%Y-%m-%d %H:%M:%S UTC"),
            visible(&recorded.agent),
            visible(&recorded.client_id),
        );
        match verdict {
            Some(verdict) => text.push_str(&verdict_text(verdict, width)),
            None => {
                let _ = writeln!(text, "{}", recorded.decision.name());
            }
        }
        for beside in &self.beside {
            let (style, word) = decision(beside.decision);
            let root = beside.repository.as_deref().map(|root| visible(&root.to_string_lossy()));
            let (root, id) = (root.unwrap_or_default(), beside.id.0);
            let _ = writeln!(
                text,
                "Judged at the same stop: {style}{word}{style:#} in `{root}` (`checkstone explain {id}`)"
            );
        }
        let held = verdict.as_ref().is_some_and(|verdict| verdict.decision == Decision::Hold);
        if held && recorded.decision != Decision::Hold {
            text.push_str("The agent was not held: the turn had already been held.\n");
        }
        if let Some(correction) = self.corrected_by {
            let _ = writeln!(text, "{DOUBTFUL}corrected{DOUBTFUL:#} by verdict {correction}");
        }
        let _ = writeln!(text, "\n{STRONG}Rules{STRONG:#}");
        if rules.is_empty() && checks.is_empty() {
            text.push_str("  no rule was evaluated: the reason above was enough\n");
        }
        for rule in rules {
            text.push_str(&rule_line(rule, width));
        }
        for check in checks {
            let (style, ended) = match check.outcome {
                CheckOutcome::Passed => (GOOD, "passed"),
                CheckOutcome::Failed => (BAD, "failed"),
                CheckOutcome::TimedOut => (DOUBTFUL, "timed out"),
                CheckOutcome::NotStarted => (DOUBTFUL, "no start"),
            };
            let run = wrap(&format!("check `{}`", visible(&check.run)), 13, width);
            let _ = writeln!(text, "  {style}{ended:<10}{style:#} {run}");
        }
        let _ = match replay {
            Replay::Same => {
                writeln!(
                    text,
                    "\n{GOOD}✓{GOOD:#} judged again from the recorded inputs: the same, bit for bit"
                )
            }
            Replay::Different(again) => {
                let how = wrap(&visible(&judged_again(again)), 2, width);
                writeln!(text, "\n{BAD}✗ the recorded inputs no longer give this verdict{BAD:#}\n  {how}")
            }
            Replay::Impossible(why) => {
                let why = wrap(&visible(why), 2, width);
                writeln!(text, "\n{DOUBTFUL}?{DOUBTFUL:#} cannot be judged again:\n  {why}")
            }
        };
        let _ = writeln!(text, "{FAINT}{}{FAINT:#}", wrap(&visible(&recorded.timings), 0, width));
        text
    }
}

/// What `checkstone explain --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Explain"))]
pub(crate) struct ExplainOutput<'a> {
    id: i64,
    at: String,
    agent: &'a str,
    session: &'a str,
    repository: Option<Cow<'a, str>>,
    /// The answer to the agent: a hold becomes a pass if the turn had already been held.
    answered: Decision,
    timings: &'a str,
    /// The id of the verdict that corrects this one, because results were written after its stop.
    corrected_by: Option<i64>,
    /// As in check.schema.json; null if its inputs were too large to keep.
    verdict: Option<&'a Verdict>,
    rules: &'a [Explanation],
    /// The results of the policy's own checks.
    checks: &'a [CheckResult],
    replay: ReplayOutput,
    /// The verdicts of the same stop on other repositories; left out if it judged only one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    beside: Vec<VerdictBeside<'a>>,
}

/// A verdict of the same stop about another repository.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct VerdictBeside<'a> {
    id: i64,
    repository: Option<Cow<'a, str>>,
    answered: Decision,
}

impl<'a> VerdictBeside<'a> {
    fn of(recorded: &'a RecordedVerdict) -> Self {
        let repository = recorded.repository.as_ref().map(|path| path.to_string_lossy());
        Self { id: recorded.id.0, repository, answered: recorded.decision }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Replay"))]
struct ReplayOutput {
    /// Whether judging the recorded inputs again gives the same verdict, bit for bit; null if that cannot be tried.
    same: Option<bool>,
    problem: Option<String>,
}

fn judged_again(again: &Verdict) -> String {
    let (_, word) = decision(again.decision);
    format!("judged again it is `{word}`: {}", again.reason)
}

fn rule_line(explanation: &Explanation, width: Option<usize>) -> String {
    let (style, state): (Style, &str) = match explanation.state {
        RuleState::Fired => (BAD, "fired"),
        RuleState::Suppressed => (GOOD, "suppressed"),
        RuleState::Waived => (DOUBTFUL, "waived"),
        RuleState::Off => (FAINT, "off"),
    };
    let rule = explanation.rule.name();
    let mut says = format!("{rule}, {}", visible(&explanation.subject));
    let at = |line: Option<u64>| line.map(|line| format!(" (line {line})")).unwrap_or_default();
    says.push_str(&at(explanation.line));
    if let Some(evidence) = &explanation.evidence {
        let command = fit(&visible(&evidence.command), Some(120));
        let _ = write!(says, ", by `{command}`{}", at(evidence.line));
    }
    if let Some(reason) = &explanation.reason {
        let _ = write!(says, ": {}", visible(reason));
    }
    format!("  {style}{state:<10}{style:#} {}\n", wrap(&says, 13, width))
}
