//! Runs that verify code: tests, type checks, builds, linters, the program itself, and whatever shows the summary of a test
//! runner. What a run showed decides: its status where that is known, else its output. A known verifier whose status a
//! pipe or a list hides is green unless its output shows red; if the output was thrown away, nothing is shown.

use std::collections::BTreeSet;

use outputs::Summary;
use programs::Deed;
use programs::repository::{Covered, Repository};
use programs::shell::{Attribution, Intents, Mask, Output, SimpleCommand, Word};
use transcript::{Kind, Outcome};

use super::chain;
use super::errors::harmless;
use super::printed::Printed;
use crate::inputs::RecordedCall;
use crate::ran::{Moment, Ran};
use crate::strength::Strength;

/// What a run showed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Showed {
    Green,
    Red,
    /// Nothing, and why.
    Nothing(String),
    /// Something about the code as it was before.
    WithoutTheChange,
}

#[derive(Clone, Debug)]
pub(crate) struct VerifyingRun<'a> {
    pub(crate) ran: Ran<'a>,
    pub(crate) strength: Strength,
    pub(crate) showed: Showed,
    /// The packages that it was about.
    pub(crate) covers: Covered,
    /// What was chosen of all that the program could take.
    pub(crate) targets: Vec<String>,
}

impl VerifyingRun<'_> {
    /// Why the run proves nothing.
    pub(crate) fn objection(&self) -> Option<String> {
        match &self.showed {
            Showed::Green => None,
            Showed::Nothing(why) => Some(why.clone()),
            Showed::WithoutTheChange => Some("it ran without the change".to_owned()),
            Showed::Red if self.ran.call.outcome == Outcome::Error => Some("it failed".to_owned()),
            Showed::Red => Some("its output tells of failures".to_owned()),
        }
    }
}

/// The verifying runs of a turn, in order.
pub(crate) fn of_turn<'a>(
    calls: &'a [RecordedCall],
    repository: Option<&Repository>,
    cwd: &str,
) -> Vec<VerifyingRun<'a>> {
    let nothing_known = Repository::default();
    let repository = repository.unwrap_or(&nothing_known);
    let of_call = |(number, recorded)| of_call(number, recorded, repository, cwd);
    let mut runs: Vec<VerifyingRun<'a>> = calls.iter().enumerate().flat_map(of_call).collect();
    let away = without_the_change(calls);
    if away.is_empty() {
        return runs;
    }
    // What fails without the change as well says nothing against it (W25).
    let failed_before: Vec<(&SimpleCommand, Vec<String>)> = runs
        .iter()
        .filter(|run| away.contains(&run.ran.at) && run.showed == Showed::Red)
        .map(|run| (run.ran.command, run.targets.clone()))
        .collect();
    let failed_before = |run: &VerifyingRun<'_>| {
        let is_it = |(command, targets): &(&SimpleCommand, Vec<String>)| {
            run.ran.command.is_same_use(command) && run.targets == *targets
        };
        failed_before.iter().any(is_it)
    };
    for run in &mut runs {
        if away.contains(&run.ran.at) {
            run.showed = Showed::WithoutTheChange;
        } else if run.showed == Showed::Red && failed_before(run) {
            run.showed = Showed::Green;
        }
    }
    runs
}

/// The commands that ran while what changed was stashed away.
fn without_the_change(calls: &[RecordedCall]) -> BTreeSet<Moment> {
    let mut moments = BTreeSet::new();
    let mut is_away = false;
    for (call, recorded) in calls.iter().enumerate() {
        // Whoever edits again works on the new state.
        is_away &= !matches!(recorded.call.kind, Kind::Edit | Kind::Write);
        let commands = recorded.intents.as_ref().map(Intents::commands).unwrap_or_default();
        for (place, command) in commands.iter().enumerate() {
            let mut words = command.known_arguments().filter(|word| !word.starts_with('-'));
            if command.program == "git" && words.next() == Some("stash") {
                is_away = match words.next() {
                    None | Some("push" | "save") => true,
                    Some("pop" | "apply") => false,
                    Some(_) => is_away,
                };
            } else if is_away {
                moments.insert(Moment { call, command: place });
            }
        }
    }
    moments
}

fn of_call<'a>(
    number: usize,
    recorded: &'a RecordedCall,
    repository: &Repository,
    cwd: &str,
) -> Vec<VerifyingRun<'a>> {
    let commands = recorded.intents.as_ref().map(Intents::commands).unwrap_or_default();
    if recorded.call.kind != Kind::Shell || commands.is_empty() {
        return Vec::new();
    }
    let shown = Printed::of(recorded);
    let mut runs: Vec<VerifyingRun<'a>> = Vec::new();
    for (place, command) in commands.iter().enumerate() {
        let at = Moment { call: number, command: place };
        let ran = Ran { at, call: &recorded.call, recorded, command };
        let first = runs.len();
        let mut others = Covered::Unknown;
        for run in repository.runs(command, cwd) {
            // A program that nobody knows is taken at its word: `tool check`.
            let deed = if run.deed == Deed::Other { command.likely_deed() } else { run.deed };
            if let Some(strength) = Strength::of_run(command, deed) {
                let attribution = match command.attribution {
                    Attribution::Decides => run.attribution,
                    masked => masked,
                };
                let showed = showed(recorded, command, attribution, strength, &shown);
                runs.push(VerifyingRun { ran, strength, showed, covers: run.covers, targets: run.targets });
            } else {
                others = run.covers;
            }
        }
        // The summary of a runner in the output of anything that executes makes it a run of that runner.
        let is_tested = runs.iter().any(|run| run.strength == Strength::Tested);
        if !is_tested
            && executes(command)
            && !recorded.call.user_stopped
            && !commands.iter().skip(place + 1).any(executes)
            && !commands.iter().take(place).any(could_print_a_summary)
            && let Some(summary @ (Summary::Passed { .. } | Summary::Failed { .. })) = shown.summary
        {
            let showed = if matches!(summary, Summary::Passed { .. }) { Showed::Green } else { Showed::Red };
            let covers = runs.get(first).map_or(others, |run| run.covers.clone());
            runs.push(VerifyingRun { ran, strength: Strength::Tested, showed, covers, targets: Vec::new() });
        }
    }
    runs
}

/// Whether a summary in the output can be from something that the command started: a script, a task, the hooks of a commit.
fn executes(command: &SimpleCommand) -> bool {
    let executes = match command.deed() {
        Deed::Commits | Deed::Pushes | Deed::Other | Deed::Installs | Deed::Fixes => true,
        deed => Strength::of(deed).is_some(),
    };
    executes && command.output != Output::Hidden && command.idle_argument().is_none()
}

/// Whether a summary in the output can be from a command that only shows text (L11).
fn could_print_a_summary(command: &SimpleCommand) -> bool {
    if command.output == Output::Hidden {
        return false;
    }
    match command.deed() {
        Deed::Prints => {
            let words: Vec<&str> = command.arguments.iter().map(Word::text).collect();
            outputs::read(&words.join(" ")).is_some()
        }
        Deed::Looks => !command.reads.is_empty(),
        _ => false,
    }
}

fn showed(
    recorded: &RecordedCall,
    command: &SimpleCommand,
    attribution: Attribution,
    strength: Strength,
    printed: &Printed,
) -> Showed {
    let nothing = |why: &str| Showed::Nothing(why.to_owned());
    let call = &recorded.call;
    let is_hidden = command.output == Output::Hidden && !is_digested(recorded, command);
    let summary = printed.summary.filter(|_| strength == Strength::Tested && !is_hidden);
    if call.user_stopped {
        return nothing("it was stopped");
    }
    let by_output = |mask: Mask| match is_hidden {
        true => Showed::Nothing(mask.to_string()),
        false => by_output(mask, summary, printed),
    };
    match (call.outcome, summary) {
        (Outcome::Unknown, Some(Summary::Passed { .. })) => Showed::Green,
        (Outcome::Unknown, Some(Summary::Failed { .. })) => Showed::Red,
        // It ended, but the client does not say how: the output decides, as behind a pipe (W13).
        (Outcome::Unknown, _) if call.is_status_hidden => by_output(Mask::Piped),
        (Outcome::Unknown, _) => nothing("how it ended is not known"),
        (Outcome::Ok, Some(Summary::NoTestsRan)) => nothing("no tests ran"),
        (Outcome::Ok, _) => match (attribution, summary) {
            (Attribution::Masked(mask), _) => by_output(mask),
            (Attribution::Decides, Some(Summary::Failed { .. })) => {
                nothing("its own summary tells of failures")
            }
            (Attribution::Decides, _) => Showed::Green,
        },
        (Outcome::Error, _) => {
            let suspects = chain::suspects(recorded);
            let is_suspect = suspects.iter().any(|suspect| std::ptr::eq(*suspect, command));
            match attribution {
                // Something else decided the status of the whole.
                Attribution::Masked(mask) if !command.suspect => by_output(mask),
                _ if !is_suspect => Showed::Green,
                _ if harmless::did_not_take_place(recorded) => nothing("it did not take place"),
                _ if suspects.len() == 1 || matches!(summary, Some(Summary::Failed { .. })) => Showed::Red,
                _ => nothing("it failed"),
            }
        }
    }
}

/// Whether the next program of a pipe is code that reads the output and shows what it makes of it (W8).
fn is_digested(recorded: &RecordedCall, command: &SimpleCommand) -> bool {
    let commands = recorded.intents.as_ref().map(Intents::commands).unwrap_or_default();
    let mut after = commands.iter().skip_while(|other| !std::ptr::eq(*other, command)).skip(1);
    command.attribution == Attribution::Masked(Mask::Piped)
        && after.next().is_some_and(|next| next.is_inline_code() && next.output != Output::Hidden)
}

/// What the output shows of a run whose status is hidden.
fn by_output(mask: Mask, summary: Option<Summary>, printed: &Printed) -> Showed {
    // Whether it ran at all, and to its end, is not known.
    let may_not_have_run = matches!(
        mask,
        Mask::Background | Mask::Negated | Mask::Conditional | Mask::Substitution | Mask::Function
    );
    match summary {
        Some(Summary::Passed { .. }) => Showed::Green,
        Some(Summary::Failed { .. }) => Showed::Red,
        Some(Summary::NoTestsRan) => Showed::Nothing("no tests ran".to_owned()),
        None if may_not_have_run => Showed::Nothing(mask.to_string()),
        None if printed.not_started => Showed::Nothing("it did not take place".to_owned()),
        None if printed.has_errors => Showed::Red,
        None => Showed::Green,
    }
}
