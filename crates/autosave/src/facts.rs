//! What is known of the work so far, and how it reads in the notes. Facts only: what was asked, what changed, what ran
//! and how it ended; never what the agent says of itself.

use gate::policy::Policy;
use gate::{Changes, Inputs, RecordedCall, Rule};
use jiff::Timestamp;
use outputs::Summary;
use programs::Deed;
use programs::shell::{Intents, SimpleCommand};
use transcript::{Kind, Outcome};

use crate::build_state::BuildState;
use crate::look::Look;
use crate::plain::{code, line};
use crate::reason::Reason;

/// So much of a list is told.
const FILES: usize = 20;
const COMMANDS: usize = 8;
const ERRORS: usize = 5;

/// So many characters of a text.
const LONGEST_PROMPT: usize = 400;
const LONGEST_COMMAND: usize = 160;
const LONGEST_ERROR: usize = 240;

/// Stands for a text with a secret in it: notes are committed and pushed.
const WITHHELD: &str = "(withheld: it looks like a secret)";

/// When and why something is saved.
#[derive(Clone, Copy, Debug)]
pub struct Occasion {
    pub at: Timestamp,
    pub reason: Reason,
    /// How full the context is.
    pub percent: Option<u64>,
    /// How often the session has been saved, this time included.
    pub iteration: u64,
}

/// What is known of the work so far.
#[derive(Clone, Debug)]
pub struct Facts {
    pub occasion: Occasion,
    pub branch: Option<String>,
    /// The prompt that opened the turn.
    pub asked: Option<String>,
    /// The files that the turn changed, from the root of the repository.
    pub files: Vec<String>,
    pub commands: Vec<Ran>,
    /// Failures that nothing settled since.
    pub errors: Vec<String>,
    /// The first unchecked item of `buildguide.md`.
    pub next: Option<String>,
    pub build: Option<BuildState>,
}

/// A command of the turn, and how it ended the last time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    pub command: String,
    pub is_test: bool,
    pub ended: String,
}

impl Facts {
    /// What the turn shows. `inputs` hold its calls and its change set. Each text is looked through as a whole, before it is
    /// cut: of half a secret nobody would see that it is one.
    pub fn new(occasion: Occasion, inputs: &Inputs, asked: Option<&str>, look: &Look) -> Self {
        let (branch, files) = match &inputs.changes {
            Changes::Known(set) => {
                (set.branch.clone(), set.files.iter().map(|file| file.path.to_string()).collect())
            }
            Changes::Transcript(files) => (None, files.clone()),
            Changes::Unknown(_) => (None, Vec::new()),
        };
        Self {
            occasion,
            branch,
            asked: asked.map(|text| told(text, LONGEST_PROMPT, look)).filter(|text| !text.is_empty()),
            files,
            commands: commands(&inputs.calls, look),
            errors: errors(inputs, look),
            next: None,
            build: None,
        }
    }

    /// The body of the notes section, below its heading.
    pub fn section(&self) -> String {
        let mut text = String::new();
        let mut item = |name: &str, value: &str| text.push_str(&format!("- {name}: {value}\n"));
        let Occasion { at, reason, percent, iteration } = self.occasion;
        let when = at.strftime("%Y-%m-%d %H:%M:%S UTC");
        item("When", &format!("{when}, {} (save {iteration} of the session)", reason.sentence(percent)));
        item("Branch", &self.branch.as_deref().map_or("none, HEAD is detached".to_owned(), code));
        if let Some(asked) = &self.asked {
            item("Asked", &code(asked));
        }
        item("Files changed", &listed(&self.files, FILES));
        let tests: Vec<&Ran> = self.commands.iter().filter(|ran| ran.is_test).collect();
        match tests.is_empty() {
            true => item("Tests", "none were run"),
            false => item("Tests", &shown(&tests)),
        }
        let others: Vec<&Ran> = self.commands.iter().filter(|ran| !ran.is_test).collect();
        if !others.is_empty() {
            item("Commands", &shown(&others));
        }
        let errors: Vec<String> = self.errors.iter().map(|error| code(error)).collect();
        item("Open errors", &if errors.is_empty() { "none".to_owned() } else { errors.join("; ") });
        if let Some(build) = &self.build {
            item("Build", &code(&build.sentence()));
        }
        if let Some(next) = &self.next {
            item("Next", &code(next));
        }
        text
    }
}

/// The text in one line, or that it is withheld.
fn told(text: &str, most: usize, look: &Look) -> String {
    if look.sees_secret(text) { WITHHELD.to_owned() } else { line(text, most) }
}

fn listed(files: &[String], most: usize) -> String {
    let mut shown: Vec<String> =
        files.iter().take(most).map(|file| code(&line(file, LONGEST_COMMAND))).collect();
    if shown.is_empty() {
        return "none in this turn".to_owned();
    }
    if files.len() > most {
        shown.push(format!("and {} more", files.len() - most));
    }
    shown.join(", ")
}

fn shown(ran: &[&Ran]) -> String {
    let one = |ran: &&Ran| format!("{} {}", code(&ran.command), ran.ended);
    ran.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// The last commands, each once, with its last outcome; those that tested something are kept before others.
fn commands(calls: &[RecordedCall], look: &Look) -> Vec<Ran> {
    let mut found: Vec<Ran> = Vec::new();
    for recorded in calls.iter().filter(|recorded| recorded.call.kind == Kind::Shell) {
        let Some(command) = recorded.call.command.as_deref() else { continue };
        let summary = recorded.call.snippet.as_deref().and_then(outputs::read);
        let intents = recorded.intents.as_ref().map(Intents::commands).unwrap_or_default();
        let is_test = intents.iter().any(|command| command.does(Deed::Tests));
        let ran = Ran {
            command: told(command, LONGEST_COMMAND, look),
            is_test,
            ended: ended(recorded, summary.filter(|_| is_test)),
        };
        found.retain(|before| before.command != ran.command);
        found.push(ran);
    }
    let mut others = found.iter().filter(|ran| !ran.is_test).count();
    let mut tested = found.len() - others;
    found.retain(|ran| {
        let left = if ran.is_test { &mut tested } else { &mut others };
        *left -= 1;
        *left < COMMANDS
    });
    found
}

/// How a command ended, as far as that is known: a status that the shell hides proves nothing.
fn ended(recorded: &RecordedCall, summary: Option<Summary>) -> String {
    let call = &recorded.call;
    match (call.outcome, summary) {
        (_, Some(Summary::Failed { tests: Some(count) })) => format!("failed ({count} failed)"),
        (_, Some(Summary::Failed { tests: None })) => "failed".to_owned(),
        (Outcome::Error, _) => match call.exit_code {
            Some(code) => format!("failed (exit code {code})"),
            None => "failed".to_owned(),
        },
        (_, Some(Summary::NoTestsRan)) => "ran no tests".to_owned(),
        (_, Some(Summary::Passed { tests: Some(count) })) => format!("passed ({count} passed)"),
        (_, Some(Summary::Passed { tests: None })) => "passed".to_owned(),
        (Outcome::Unknown, None) => "did not end".to_owned(),
        (Outcome::Ok, None) => {
            let proven = recorded.intents.as_ref().is_some_and(|intents| {
                let is_test = |command: &&SimpleCommand| command.does(Deed::Tests);
                let all = intents.commands().iter().filter(is_test).count();
                intents.proven_by_success().filter(is_test).count() == all
                    && matches!(intents, Intents::Understood(_))
            });
            if proven { "ended well".to_owned() } else { "ended, its status is hidden".to_owned() }
        }
    }
}

/// Failures that nothing settled, by the gate's own rule.
fn errors(inputs: &Inputs, look: &Look) -> Vec<String> {
    let Ok(policy) = Policy::load(&[]) else { return Vec::new() };
    let observations = gate::judge(&policy, inputs).observations.into_iter();
    let errors = observations.filter(|observation| observation.rule == Rule::UnresolvedError);
    let told = errors.take(ERRORS).map(|error| {
        // The gate has cut the command in it; where its line is not known, it may be any of them.
        let of_error = |recorded: &&RecordedCall| error.line.is_none() || recorded.call.line == error.line;
        let mut commands =
            inputs.calls.iter().filter(of_error).filter_map(|recorded| recorded.call.command.as_deref());
        match commands.any(|command| look.sees_secret(command)) {
            true => WITHHELD.to_owned(),
            false => told(&error.text, LONGEST_ERROR, look),
        }
    });
    told.collect()
}
