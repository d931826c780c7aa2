//! `checkstone policy`: whether a repository's policy is sound, and what it comes to with its presets.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use gate::policy::{Action, Fresh, JudgedScope, Policy, Problem, Proof, RuleLevel, Telling, Trust};
use serde::Serialize;
use serde_json::{Value, json};
use settings::Choices as _;
use stop::policy_files::{FILE_NAME, PolicyTexts, USER_FILE_NAME};
use stop::trust::Standing;
use text::{counted, wrap, wrap_behind};
use transcript::visible;

use super::check::no_policy;
use crate::asked_for::own_commands;
use crate::environment;
use crate::error::{CommandError, ErrorKind};
use crate::journal_access;
use crate::printer::{DOUBTFUL, FAINT, GOOD, Printer, STRONG, shown};
use crate::repository_argument::RepositoryArgument;
use crate::repository_policy;

/// Check or show the policy of a repository
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone policy check
  checkstone policy show")]
pub(crate) struct PolicyArguments {
    #[command(subcommand)]
    command: PolicyCommand,
}

#[derive(Debug, clap::Subcommand)]
enum PolicyCommand {
    /// Find every mistake in the policy
    ///
    /// Prints each with file, line and column. Exit code: 0 valid or none, 2 mistakes.
    #[command(
        after_help = "Examples:\n  checkstone policy check\n  checkstone policy check --json | jq '.problems[].message'"
    )]
    Check(PolicyWhere),
    /// Show the policy as it applies: the user's configuration, presets and the repository's file in one
    #[command(
        after_help = "Examples:\n  checkstone policy show\n  checkstone policy show --json | jq '.policy.actions[].id'"
    )]
    Show(PolicyWhere),
}

#[derive(Debug, clap::Args)]
struct PolicyWhere {
    #[command(flatten)]
    repository: RepositoryArgument,
    /// Print JSON (schemas/policy-check.schema.json, schemas/policy-show.schema.json)
    #[arg(long)]
    json: bool,
}

/// Commands that are shown of one action.
const MOST_COMMANDS: usize = 3;

pub(crate) fn run(arguments: &PolicyArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    match &arguments.command {
        PolicyCommand::Check(place) => check(place, printer),
        PolicyCommand::Show(place) => show(place, printer),
    }
}

fn check(place: &PolicyWhere, printer: &Printer) -> Result<ExitCode, CommandError> {
    let root = place.repository.find()?.root;
    let texts = repository_policy::of(&root);
    let (problems, warnings) = match texts.as_ref().map(PolicyTexts::load) {
        Some(Ok(policy)) => (Vec::new(), policy.warnings(|path| root.join(path).is_dir())),
        Some(Err(problems)) => (problems.0, Vec::new()),
        None => (Vec::new(), Vec::new()),
    };
    let code = if problems.is_empty() { ExitCode::SUCCESS } else { ErrorKind::Usage.exit_code() };
    if place.json {
        printer.json(&PolicyCheck {
            policy: texts.is_some(),
            problems: problems.iter().map(PolicyProblem::of).collect(),
            warnings: warnings.iter().map(PolicyProblem::of).collect(),
        })?;
        return Ok(code);
    }
    for problem in problems.iter().chain(&warnings) {
        printer.data(&format!("{}\n", shown(&repository_policy::located(problem))));
    }
    if !problems.is_empty() {
        let count = counted(problems.len(), "mistake");
        let whose = match repository_policy::are_users(&problems) {
            true => "your configuration".to_owned(),
            false => format!("the policy of `{}`", root.display()),
        };
        return Err(CommandError::usage(format!("{whose} has {count}"))
            .hint("agents are not held until you fix this"));
    }
    match texts {
        Some(texts) => {
            let from: Vec<&str> = texts.texts.iter().map(|text| text.name.as_str()).collect();
            let from = from.join(", ");
            printer.text(&match warnings.len() {
                0 => format!("{GOOD}✓{GOOD:#} the policy is valid ({from})\n"),
                count => {
                    let count = counted(count, "warning");
                    format!("{DOUBTFUL}!{DOUBTFUL:#} the policy is valid, with {count} ({from})\n")
                }
            });
        }
        None => printer.text(&no_policy(&root)),
    }
    Ok(code)
}

/// What `checkstone policy check --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct PolicyCheck<'a> {
    /// Whether the repository has a policy.
    policy: bool,
    problems: Vec<PolicyProblem<'a>>,
    /// What is allowed and probably not meant: globs that can match no file.
    warnings: Vec<PolicyProblem<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Problem"))]
struct PolicyProblem<'a> {
    file: &'a str,
    line: usize,
    column: usize,
    message: String,
}

impl<'a> PolicyProblem<'a> {
    fn of(problem: &'a Problem) -> Self {
        let Problem { file, line, column, .. } = problem;
        Self { file, line: *line, column: *column, message: problem.sentence() }
    }
}

fn show(place: &PolicyWhere, printer: &Printer) -> Result<ExitCode, CommandError> {
    let root = place.repository.find()?.root;
    let Some(texts) = repository_policy::of(&root) else {
        let nothing = json!({"repository": root.to_string_lossy(), "files": [], "trust": "untrusted",
                             "ignored": [], "policy": null});
        return printer.answer(place.json, &nothing, || no_policy(&root));
    };
    let policy = repository_policy::sound(&texts, "agents are not held until you fix this")?;
    let mut journal = journal_access::open_existing(&journal_access::state_directory()?)?;
    let standing = journal_access::standing(journal.as_mut(), &texts, &policy)?;
    let output = as_json(&root, &texts, &policy, &standing)?;
    printer.answer(place.json, &output, || {
        let commands = own_commands(&root, &policy);
        text(&texts, &policy, &commands, &standing, printer.width())
    })
}

/// Where each text of a policy comes from.
pub(crate) fn files(root: &Path, texts: &PolicyTexts) -> Vec<String> {
    let place = |name: &str| match name {
        FILE_NAME => Some(root.join(FILE_NAME)),
        USER_FILE_NAME => environment::configuration_file(),
        _ => None,
    };
    let path = |name: &str| place(name).map_or(name.to_owned(), |path| path.to_string_lossy().into_owned());
    texts.texts.iter().map(|text| path(&text.name)).collect()
}

fn as_json(
    root: &Path,
    texts: &PolicyTexts,
    policy: &Policy,
    standing: &Standing,
) -> Result<Value, CommandError> {
    let mut merged = serde_json::to_value(policy)?;
    // Durations as they are written in the file.
    if let Some(shortest) = merged.pointer_mut("/gate/min_turn") {
        *shortest = json!(format!("{:?}", policy.gate.min_turn));
    }
    if let (Some(kept), Some(settings)) =
        (merged.pointer_mut("/snapshot/keep_for"), policy.snapshot.with(Trust::Given))
    {
        *kept = json!(format!("{:?}", settings.keep_for));
    }
    if let Some(checks) = merged.get_mut("checks") {
        *checks = json!(standing.allowed.iter().map(CheckOutput::of).collect::<Vec<_>>());
    }
    if let Some(autosave) = merged.get_mut("autosave") {
        let allowed = autosave::wish::allowed(policy, texts, || standing.trust);
        let times = [("hook_timeout", allowed.hook_timeout), ("wait", allowed.wait)];
        *autosave = serde_json::to_value(allowed)?;
        for (key, time) in times {
            if let Some(written) = autosave.get_mut(key) {
                *written = json!(format!("{time:?}"));
            }
        }
    }
    Ok(json!({
        "repository": root.to_string_lossy(),
        "files": files(root, texts),
        "trust": standing.word(),
        "ignored": standing.ignored.iter().map(CheckOutput::of).collect::<Vec<_>>(),
        "policy": merged,
    }))
}

/// A command that runs at the stop.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Check"))]
pub(crate) struct CheckOutput<'a> {
    when: &'a [String],
    run: &'a str,
    timeout: String,
}

impl<'a> CheckOutput<'a> {
    pub(crate) fn of(check: &'a gate::policy::Check) -> Self {
        Self { when: &check.when, run: &check.run, timeout: format!("{:?}", check.timeout) }
    }
}

/// What an action says, with the commands of this repository if it names none itself.
fn instruction(action: &Action, commands: Option<&Vec<String>>) -> String {
    match commands.map(Vec::as_slice) {
        None | Some([]) => action.instruction(),
        Some([only]) => format!("Run {only}"),
        Some(commands) => {
            let shown = commands.get(..MOST_COMMANDS).unwrap_or(commands);
            let more = match commands.len() - shown.len() {
                0 => String::new(),
                more => format!(" and {}", counted(more, "more command")),
            };
            format!("Run the command of the package that changed: {}{more}", shown.join(", "))
        }
    }
}

fn text(
    texts: &PolicyTexts,
    policy: &Policy,
    commands: &BTreeMap<String, Vec<String>>,
    standing: &Standing,
    width: Option<usize>,
) -> String {
    let mut text = String::new();
    let mut from: Vec<String> = texts.texts.iter().map(|text| text.name.clone()).collect();
    from.extend(policy.presets.iter().map(|preset| format!("preset {preset}")));
    let _ = writeln!(text, "{STRONG}From{STRONG:#} {}", wrap(&from.join(", "), 5, width));
    let _ = writeln!(text, "{STRONG}Gate{STRONG:#} {}", wrap(&gate_sentence(policy), 5, width));
    let _ = writeln!(text, "\n{STRONG}Categories{STRONG:#}");
    for category in &policy.categories {
        let require = match category.require.is_empty() {
            true => "nothing".to_owned(),
            false => visible(&category.require.join(", ")),
        };
        let _ = writeln!(text, "  {} → {STRONG}{require}{STRONG:#}", visible(&category.name));
        let mut globs = category.include.join(" ");
        if !category.exclude.is_empty() {
            let _ = write!(globs, ", not {}", category.exclude.join(" "));
        }
        let _ = writeln!(text, "    {FAINT}{}{FAINT:#}", wrap(&visible(&globs), 4, width));
    }
    if !policy.other_code.is_empty() {
        let _ = writeln!(text, "  other code → {STRONG}{}{STRONG:#}", visible(&policy.other_code.join(", ")));
    }
    let _ = writeln!(text, "\n{STRONG}Actions{STRONG:#}");
    for action in &policy.actions {
        let _ = writeln!(
            text,
            "  {STRONG}{}{STRONG:#}: {}",
            visible(&action.id),
            wrap_behind(
                &format!("{}: ", action.id),
                &visible(&instruction(action, commands.get(&action.id))),
                4,
                width
            )
        );
        let evidence: Vec<String> =
            action.evidence.iter().map(|pattern| format!("`{}`", String::from(pattern.clone()))).collect();
        let fresh = match action.fresh {
            Fresh::AfterChange => "after the change",
            Fresh::ThisTurn => "anywhere in the turn",
        };
        let any = match action.proof {
            Proof::Evidence => None,
            Proof::Verification => {
                Some("any run that verifies code: tests, a type check, a build, a linter, the program")
            }
            Proof::Installation => Some("whatever installs dependencies, or works with them"),
        };
        let proof: Vec<String> = evidence.into_iter().chain(any.map(str::to_owned)).collect();
        let proof = proof.join(", ");
        let level = match action.level {
            RuleLevel::Hold => "",
            RuleLevel::Notify => "; only reported",
            RuleLevel::Off => "; off",
        };
        let proof = format!("proved {fresh} by {proof}{level}");
        let _ = writeln!(text, "    {FAINT}{}{FAINT:#}", wrap(&visible(&proof), 4, width));
    }
    checks(&mut text, standing);
    text
}

fn gate_sentence(policy: &Policy) -> String {
    let gate = &policy.gate;
    if !gate.enabled {
        return "switched off (`enabled = false`)".to_owned();
    }
    let scope = match gate.scope {
        JudgedScope::Turn => "what the turn changed",
        JudgedScope::Worktree => "everything that is not committed",
        JudgedScope::Diff => "everything that differs from HEAD",
    };
    let mut sentence = format!(
        "looks at {scope}; missing actions: hold; failing tests, type check or build: {}; other errors: {}; weaker runs: {}; hygiene: {}; plan drift: {}; all clear: {}",
        RuleLevel::word(gate.rules.red),
        RuleLevel::word(gate.rules.errors),
        RuleLevel::word(gate.rules.weaker),
        RuleLevel::word(gate.rules.hygiene),
        RuleLevel::word(gate.rules.drift),
        Telling::word(gate.all_clear),
    );
    if !gate.min_turn.is_zero() {
        let _ = write!(sentence, "; turns shorter than {:?} pass", gate.min_turn);
    }
    sentence
}

fn checks(text: &mut String, standing: &Standing) {
    if !standing.allowed.is_empty() {
        let _ = writeln!(text, "\n{STRONG}Checks that run at the stop{STRONG:#}");
        for check in &standing.allowed {
            let _ = writeln!(text, "  {} ({:?})", check_text(check), check.timeout);
        }
    }
    if !standing.ignored.is_empty() {
        let why = match standing.trust {
            journal::Trust::Changed => "the file has changed since it was trusted",
            _ => "the file is not trusted",
        };
        let _ = writeln!(text, "\n{DOUBTFUL}Ignored: {why} (`checkstone trust`){DOUBTFUL:#}");
        for check in &standing.ignored {
            let _ = writeln!(text, "  {}", check_text(check));
        }
    }
}

fn check_text(check: &gate::policy::Check) -> String {
    format!("`{}` for {}", visible(&check.run), visible(&check.when.join(" ")))
}
