//! `checkstone handoff`: hand-offs between an agent and its sub-agents, built from recorded facts and checked.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use jiff::Timestamp;
use serde_json::{Map, Value};
use text::wrap;
use transcript::visible;
use workflow::handoff::{
    Context, Decision, ExpectedOutput, Facts, FoundDocument, Kind, Limits, Mode, Oversized, Phase, Problem,
    Report, Request, Response, Status, check, find,
};
use workflow::tokens;

use crate::commands::tokens::warning_limit;
use crate::environment;
use crate::error::{CommandError, Warning};
use crate::journal_access;
use crate::printer::{BAD, DOUBTFUL, GOOD, Printer, STRONG};
use crate::recorded_facts;
use crate::repository_argument::RepositoryArgument;
use crate::typed_word::word;

/// Build and check hand-offs between an agent and its sub-agents
///
/// A hand-off is a small JSON document: a request that tells a sub-agent what to do, and the response that comes back.
/// docs/handoff.md explains the fields and the seven modes.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone handoff new --mode code --instructions 'Write the parser in src/parser.rs' > request.json
  checkstone handoff check request.json")]
pub(crate) struct HandoffArguments {
    #[command(subcommand)]
    command: HandoffCommand,
}

#[derive(Debug, clap::Subcommand)]
enum HandoffCommand {
    /// Build a hand-off from what was recorded at the last stop and from your words
    ///
    /// Files changed, commands with their outcome, open errors and the commit come from the journal; the words come from
    /// the arguments, and a `-` reads one of them from stdin. Prints the document. Exit code: 0 built, 1 rejected
    /// because a summary is too long, 2 error.
    #[command(after_help = "Examples:
  checkstone handoff new --mode code --instructions 'Write the parser in src/parser.rs'
  git diff | checkstone handoff new --mode eval --task-id T7 --instructions - --constraint 'change no code'
  checkstone handoff new --response --task-id T7 --phase validate --status complete \\
      --decision PROCEED --summary 'All 41 tests pass.'")]
    New(Box<NewArguments>),
    /// Check a hand-off: its fields, and that its summary is short enough
    ///
    /// A request with a summary over the limit is rejected. A response is accepted with a warning, unless --oversized
    /// says otherwise. Exit code: 0 accepted, 1 rejected, 2 and above not readable.
    #[command(after_help = "Examples:
  checkstone handoff check request.json
  sub-agent | checkstone handoff check - --oversized truncate > response.json
  checkstone handoff check response.json --json | jq '.summary.tokens'")]
    Check(HandoffCheckArguments),
}

#[derive(Debug, clap::Args)]
struct NewArguments {
    /// What the sub-agent is a specialist for; a request needs it
    #[arg(long, value_parser = word::<Mode>(Mode::NAMES), conflicts_with = "response")]
    mode: Option<Mode>,
    /// What is to be done; `-` reads stdin; a request needs it
    #[arg(long, value_name = "TEXT", conflicts_with = "response")]
    instructions: Option<String>,
    /// The task; made up for a request where it is not given
    #[arg(long, value_name = "ID")]
    task_id: Option<String>,
    /// The step of the work; what the mode usually is where it is not given
    #[arg(long, value_parser = word::<Phase>(Phase::NAMES))]
    phase: Option<Phase>,
    /// What the response has to bring; what the phase usually brings where it is not given
    #[arg(long, value_parser = word::<ExpectedOutput>(ExpectedOutput::NAMES), conflicts_with = "response")]
    expect: Option<ExpectedOutput>,
    /// What came before (request) or what came out (response), at most 500 words; `-` reads stdin
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// The feature that the work belongs to
    #[arg(long, value_name = "NAME", conflicts_with = "response")]
    feature: Option<String>,
    /// The specification of the work
    #[arg(long, value_name = "PATH", conflicts_with = "response")]
    spec: Option<String>,
    /// A file that matters, beside those that were changed; may be given several times
    #[arg(long = "file", value_name = "PATH", conflicts_with = "response")]
    files: Vec<String>,
    /// Something to keep to; may be given several times
    #[arg(long = "constraint", value_name = "TEXT", conflicts_with = "response")]
    constraints: Vec<String>,
    /// Build a response instead of a request
    #[arg(long)]
    response: bool,
    /// How far the work came
    #[arg(long, value_parser = word::<Status>(Status::NAMES), requires = "response")]
    status: Option<Status>,
    /// What is advised
    #[arg(long, value_parser = word::<Decision>(Decision::NAMES), requires = "response")]
    decision: Option<Decision>,
    /// What was found: JSON, or a text; `-` reads stdin
    #[arg(long, value_name = "JSON", requires = "response")]
    findings: Option<String>,
    /// Something that is left open; may be given several times
    #[arg(long = "issue", value_name = "TEXT", requires = "response")]
    issues: Vec<String>,
    /// The tokens that the work took
    #[arg(long, value_name = "N", requires = "response")]
    tokens_used: Option<u64>,
    /// Take the facts of this verdict instead of the last one
    #[arg(long, value_name = "ID", conflicts_with = "no_facts")]
    verdict: Option<i64>,
    /// Leave out what was recorded
    #[arg(long)]
    no_facts: bool,
    #[command(flatten)]
    limit: LimitArgument,
    #[command(flatten)]
    repository: RepositoryArgument,
    /// Print the document on one line (schemas/handoff-request.schema.json, schemas/handoff-response.schema.json)
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct HandoffCheckArguments {
    /// The document, alone, in a code fence or with prose around it; `-` reads stdin
    file: PathBuf,
    /// What it has to be; told by its fields where it is not given
    #[arg(long, value_parser = word::<Kind>(["request", "response"]))]
    kind: Option<Kind>,
    /// What becomes of a response whose summary is too long; `truncate` prints the document with it cut
    #[arg(long, value_parser = word::<Oversized>(["warn", "truncate", "reject"]), default_value = "warn")]
    oversized: Oversized,
    #[command(flatten)]
    limit: LimitArgument,
    /// Print JSON (schemas/handoff-check.schema.json)
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct LimitArgument {
    /// The words that a summary may have
    #[arg(long, value_name = "N", default_value_t = tokens::MAX_SUMMARY_TOKENS)]
    max_tokens: usize,
}

impl LimitArgument {
    fn limits(&self) -> Limits {
        Limits { summary: self.max_tokens, estimate: warning_limit() }
    }
}

/// A larger document is no hand-off.
const LARGEST: u64 = 1024 * 1024;

pub(crate) fn run(arguments: &HandoffArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    match &arguments.command {
        HandoffCommand::New(arguments) => new(arguments, printer),
        HandoffCommand::Check(arguments) => check_document(arguments, printer),
    }
}

fn new(arguments: &NewArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let mut input = OneInput { taken_by: None };
    let document = if arguments.response {
        let mut response = response(arguments, &mut input)?;
        response.checkstone = facts(arguments, printer)?;
        serde_json::to_value(response)
    } else {
        let mut request = request(arguments, &mut input)?;
        request.checkstone = facts(arguments, printer)?;
        add_changed_files(&mut request);
        serde_json::to_value(request)
    };
    let document = document?;
    let kind = if arguments.response { Kind::Response } else { Kind::Request };
    // Nobody creates a response that is too long; only one that comes back may be.
    let report = check(document, Some(kind), &arguments.limit.limits(), Oversized::Reject);
    for warning in &report.warnings {
        printer.warning(Warning::new(&warning.message));
    }
    match &report.document {
        Some(document) => {
            let text = match arguments.json {
                true => serde_json::to_string(document)?,
                false => serde_json::to_string_pretty(document)?,
            };
            printer.data(&format!("{text}\n"));
            Ok(ExitCode::SUCCESS)
        }
        None => {
            let hint = "shorten it; `checkstone tokens` counts, and `--file` names files with the rest";
            for problem in &report.problems {
                printer.error(&CommandError::usage(&problem.message).hint(hint));
            }
            Ok(ExitCode::from(1))
        }
    }
}

/// Facts are a help: without a repository or a journal the hand-off has the caller's words alone, and says so.
fn facts(arguments: &NewArguments, printer: &Printer) -> Result<Option<Facts>, CommandError> {
    if arguments.no_facts {
        return Ok(None);
    }
    let folder = arguments.repository.folder()?;
    let repository = changes::Repository::discover(&folder).ok();
    let head = repository.as_ref().and_then(|repository| repository.head(&environment::git()).ok()?);
    let root = repository.as_ref().map(|repository| repository.root.as_path());
    let facts = match journal_access::open_existing(&journal_access::state_directory()?)? {
        Some(mut journal) => recorded_facts::read(&mut journal, root, arguments.verdict, head.as_deref())?,
        None if arguments.verdict.is_some() => {
            return Err(CommandError::not_found("no verdict is recorded yet").hint("leave out `--verdict`"));
        }
        None => None,
    };
    if facts.is_none() {
        let nothing = Warning::new("nothing is recorded here: the hand-off has only your words");
        printer.warning(nothing.hint("hooks record facts; pass `--no-facts` to leave them out on purpose"));
    }
    Ok(facts)
}

fn request(arguments: &NewArguments, input: &mut OneInput) -> Result<Request, CommandError> {
    let Some(mode) = arguments.mode else {
        return Err(CommandError::usage("a request needs `--mode`: the sub-agent's role")
            .hint(format!("the modes are {}", Mode::NAMES.join(", "))));
    };
    let Some(instructions) = input.text("--instructions", arguments.instructions.as_deref())? else {
        return Err(CommandError::usage("a request needs `--instructions`: what the sub-agent should do")
            .hint("`--instructions -` reads them from stdin"));
    };
    let phase = arguments.phase.unwrap_or_else(|| mode.usual_phase());
    Ok(Request {
        task_id: arguments.task_id.clone().unwrap_or_else(|| made_up_id(mode)),
        phase,
        mode,
        context: Context {
            feature: arguments.feature.clone(),
            spec_path: arguments.spec.clone(),
            relevant_files: arguments.files.clone(),
            constraints: arguments.constraints.clone(),
            previous_summary: input.text("--summary", arguments.summary.as_deref())?,
            other: Map::new(),
        },
        instructions,
        expected_output: arguments.expect.unwrap_or_else(|| phase.usual_output()),
        checkstone: None,
        other: Map::new(),
    })
}

/// What was changed matters to whoever goes on with it.
fn add_changed_files(request: &mut Request) {
    let files = &mut request.context.relevant_files;
    for changed in request.checkstone.iter().flat_map(|facts| &facts.files_changed) {
        if !files.contains(&changed.path) {
            files.push(changed.path.clone());
        }
    }
}

fn made_up_id(mode: Mode) -> String {
    format!("{}-{}", mode.name(), Timestamp::now().strftime("%Y%m%dT%H%M%S%.3fZ"))
}

fn response(arguments: &NewArguments, input: &mut OneInput) -> Result<Response, CommandError> {
    let (Some(task_id), Some(phase), Some(status), Some(decision), Some(summary)) = (
        arguments.task_id.clone(),
        arguments.phase,
        arguments.status,
        arguments.decision,
        input.text("--summary", arguments.summary.as_deref())?,
    ) else {
        let given = [
            ("--task-id", arguments.task_id.is_some()),
            ("--phase", arguments.phase.is_some()),
            ("--status", arguments.status.is_some()),
            ("--decision", arguments.decision.is_some()),
            ("--summary", arguments.summary.is_some()),
        ];
        let missing: Vec<String> =
            given.iter().filter(|(_, given)| !given).map(|(name, _)| format!("`{name}`")).collect();
        return Err(CommandError::usage(format!("a response also needs {}", missing.join(", ")))
            .hint("use the task and the phase of the request"));
    };
    let findings = match input.text("--findings", arguments.findings.as_deref())? {
        Some(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        None => Value::Object(Map::new()),
    };
    Ok(Response {
        task_id,
        phase,
        status,
        decision,
        findings,
        context_summary: summary,
        tokens_used: arguments.tokens_used,
        issues: arguments.issues.iter().cloned().map(Value::String).collect(),
        checkstone: None,
        other: Map::new(),
    })
}

/// Stdin can be read once, by one argument.
struct OneInput {
    taken_by: Option<&'static str>,
}

impl OneInput {
    fn text(&mut self, argument: &'static str, given: Option<&str>) -> Result<Option<String>, CommandError> {
        if given != Some("-") {
            return Ok(given.map(str::to_owned));
        }
        if let Some(other) = self.taken_by.replace(argument) {
            return Err(CommandError::usage(format!(
                "`{other}` and `{argument}` cannot both be read from stdin"
            ))
            .hint("give one of them as text"));
        }
        let bytes = read_all(std::io::stdin().lock(), "stdin")?;
        let text = String::from_utf8(bytes)
            .map_err(|_| CommandError::usage("stdin is not UTF-8").hint("give UTF-8 text"))?;
        Ok(Some(text.trim_end().to_owned()))
    }
}

fn check_document(arguments: &HandoffCheckArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let found = read_document(&arguments.file)?;
    let mut report = check(found.document, arguments.kind, &arguments.limit.limits(), arguments.oversized);
    if found.surrounded {
        let message = "there is other text around the JSON: only the JSON counts".to_owned();
        report.warnings.insert(0, Problem { field: String::new(), message });
    }
    match (arguments.oversized, &report.document) {
        (Oversized::Truncate, Some(document)) if !arguments.json => {
            for warning in &report.warnings {
                printer.warning(Warning::new(&warning.message));
            }
            printer.data(&format!("{}\n", serde_json::to_string_pretty(document)?));
        }
        _ => drop(printer.answer(arguments.json, &report, || told(&report, printer.width()))?),
    }
    Ok(if report.accepted { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn read_document(file: &Path) -> Result<FoundDocument, CommandError> {
    let (bytes, name) = if file == Path::new("-") {
        (read_all(std::io::stdin().lock(), "stdin")?, "stdin".to_owned())
    } else {
        let name = format!("`{}`", file.display());
        // A named pipe would be waited for, a folder gives an error that nobody understands.
        if file.exists() && !file.is_file() {
            return Err(CommandError::usage(format!("{name} is not a regular file"))
                .hint("give a JSON file, or `-` for stdin"));
        }
        let file = fs_err::File::open(file)?;
        (read_all(file, &name)?, name)
    };
    find(&bytes).map_err(|error| {
        CommandError::usage(format!("{name} {error}"))
            .hint("a hand-off is one JSON object; `checkstone handoff new` builds one")
    })
}

fn read_all(source: impl std::io::Read, name: &str) -> Result<Vec<u8>, CommandError> {
    let mut bytes = Vec::new();
    let read = source.take(LARGEST + 1).read_to_end(&mut bytes);
    read.map_err(|error| CommandError::from(error).context(format!("cannot read {name}")))?;
    if bytes.len() as u64 > LARGEST {
        return Err(CommandError::usage(format!("{name} is larger than 1 MiB"))
            .hint("a hand-off is short: name files instead of copying them"));
    }
    Ok(bytes)
}

fn told(report: &Report, width: Option<usize>) -> String {
    let kind = match report.kind {
        Kind::Request => "request",
        Kind::Response => "response",
    };
    let name = report.task_id.as_ref().map(|id| format!(" {}", visible(id))).unwrap_or_default();
    let mut text = String::new();
    let _ = if report.accepted {
        writeln!(text, "{GOOD}✓{GOOD:#} {kind}{STRONG}{name}{STRONG:#} is accepted")
    } else {
        writeln!(text, "{BAD}✗{BAD:#} {kind}{STRONG}{name}{STRONG:#} is rejected")
    };
    for (problems, style, word) in
        [(&report.problems, BAD, "problem"), (&report.warnings, DOUBTFUL, "warning")]
    {
        for problem in problems {
            let message = wrap(&visible(&problem.message), 11, width);
            let _ = writeln!(text, "  {style}{word}{style:#}  {message}");
        }
    }
    if let Some(summary) = &report.summary {
        let (field, tokens, limit) = (&summary.field, summary.tokens, summary.limit);
        let about = summary.estimate;
        let _ = writeln!(text, "  `{field}` has {tokens} of {limit} tokens, about {about} for a model");
    }
    text
}
