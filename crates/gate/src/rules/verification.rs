//! Runs that verify code: tests, type checks, builds, linters, the program itself, and whatever shows the summary of a test
//! runner. What a run showed decides: its status where that is known, else its output. A known verifier whose status a
//! pipe or a list hides is green unless its output shows red, or shows that it came to no end; if the output was thrown
//! away, nothing is shown.

use std::cell::LazyCell;
use std::collections::BTreeSet;

use outputs::Summary;
use programs::Deed;
use programs::repository::{Covered, Language, Package, Repository, Run};
use programs::shell::{Attribution, Directory, Intents, Mask, Output, SimpleCommand, Word, one_spelling};
use transcript::{Kind, Outcome};

use super::chain;
use super::errors::harmless;
use super::printed::Printed;
use super::told_status::{self, Told};
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
    /// What ran in the end, behind launchers, tasks and scripts.
    pub(crate) program: String,
    /// The packages that it was about.
    pub(crate) covers: Covered,
    /// What was chosen of all that the program could take.
    pub(crate) targets: Vec<String>,
}

/// The code of some languages in a package; of no language if its files are of none of the package's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PackageCode<'r> {
    pub(crate) folder: &'r str,
    pub(crate) languages: Vec<Language>,
}

impl<'r> PackageCode<'r> {
    /// What a file belongs to.
    pub(crate) fn of(package: &'r Package, path: &str) -> Self {
        Self { folder: &package.folder, languages: package.languages_of(path) }
    }
}

impl VerifyingRun<'_> {
    /// Whether it can say something about this code: a program of one language says nothing about code of others, and one
    /// for prose or settings nothing about any.
    pub(crate) fn is_about(&self, code: &PackageCode<'_>) -> bool {
        let speaks = |language| code.languages.is_empty() || code.languages.contains(&language);
        let is_of_code = || code.languages.is_empty() || Language::is_of_program(&self.program);
        self.covers.has(code.folder) && self.language().is_none_or(speaks) && is_of_code()
    }

    /// Whether it looked at some files of its packages alone.
    pub(crate) fn looks_at_files(&self) -> bool {
        matches!(self.covers, Covered::Files { .. })
    }

    /// The first of these files that it did not look at.
    pub(crate) fn misses<'f>(&self, files: &'f BTreeSet<String>) -> Option<&'f str> {
        files.iter().map(String::as_str).find(|file| !self.covers.has_file(file))
    }

    /// The one language that its program is about.
    pub(crate) fn language(&self) -> Option<Language> {
        Language::of_program(&self.program)
    }

    /// Why the run proves nothing.
    pub(crate) fn objection(&self) -> Option<String> {
        match &self.showed {
            Showed::Green => None,
            Showed::Nothing(why) => Some(why.clone()),
            Showed::WithoutTheChange => Some("it ran without the change".to_owned()),
            Showed::Red if self.ran.call.outcome == Outcome::Error => Some("it failed".to_owned()),
            Showed::Red => Some("its output reports failures".to_owned()),
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
    let mut away = without_the_change(calls);
    away.extend(in_worktrees_of_the_base(calls, cwd));
    if away.is_empty() {
        return runs;
    }
    // What fails without the change as well says nothing against it (W25).
    let failed_before = runs.iter().filter(|run| away.contains(&run.ran.at) && run.showed == Showed::Red);
    let failed_before: Vec<VerifyingRun<'a>> = failed_before.cloned().collect();
    let failed_before = |run: &VerifyingRun<'_>| {
        let is_it = |before: &VerifyingRun<'_>| {
            run.ran.command.is_same_use(before.ran.command)
                && (&run.targets, &run.covers) == (&before.targets, &before.covers)
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

/// The commands that ran while what changed was stashed away, or while another revision was looked at.
fn without_the_change(calls: &[RecordedCall]) -> BTreeSet<Moment> {
    let mut moments = BTreeSet::new();
    let mut is_away = false;
    // Since another revision was checked out; it was an excursion if there was a way back.
    let mut excursion: Option<Vec<Moment>> = None;
    let mut has_edited = false;
    // What the person stopped or refused put nothing away.
    let made = calls.iter().enumerate().filter(|(_, recorded)| !recorded.call.user_stopped);
    for (call, recorded) in made {
        if matches!(recorded.call.kind, Kind::Edit | Kind::Write) {
            // Whoever edits again works on the new state.
            (is_away, excursion, has_edited) = (false, None, true);
        }
        let commands = recorded.intents.as_ref().map(Intents::commands).unwrap_or_default();
        for (place, command) in commands.iter().enumerate() {
            let moment = Moment { call, command: place };
            match git_step(command) {
                Some(GitStep::Away) => is_away = true,
                Some(GitStep::Back) => {
                    is_away = false;
                    moments.extend(excursion.take().into_iter().flatten());
                }
                Some(GitStep::OtherRevision) => match excursion.take() {
                    Some(seen) => moments.extend(seen),
                    None => excursion = has_edited.then(Vec::new),
                },
                None if is_away => {
                    moments.insert(moment);
                }
                None => excursion.iter_mut().for_each(|seen| seen.push(moment)),
            }
        }
    }
    moments
}

/// What a command of git does to the state that others see.
enum GitStep {
    /// The changes are put away.
    Away,
    /// They are there again.
    Back,
    /// Another revision is checked out, or the one from before.
    OtherRevision,
}

fn git_step(command: &SimpleCommand) -> Option<GitStep> {
    let mut words = command.known_arguments().filter(|word| !word.starts_with('-') || *word == "-");
    let makes_branch =
        || command.known_arguments().any(|word| matches!(word, "-b" | "-B" | "-c" | "-C" | "--orphan"));
    // What has an extension is a file.
    let names_paths = || command.known_arguments().any(|word| word == "--" || word.contains('.'));
    match (command.program.as_str(), words.next()?) {
        ("git", "stash") => match words.next() {
            None | Some("push" | "save") => Some(GitStep::Away),
            Some("pop" | "apply") => Some(GitStep::Back),
            Some(_) => None,
        },
        ("git", "checkout" | "switch")
            if !makes_branch() && !names_paths() && words.by_ref().count() == 1 =>
        {
            Some(GitStep::OtherRevision)
        }
        ("git", "merge" | "rebase" | "cherry-pick" | "pull") => Some(GitStep::Back),
        _ => None,
    }
}

/// The commands that ran in a second worktree which shows another revision and in which nothing was edited.
fn in_worktrees_of_the_base(calls: &[RecordedCall], cwd: &str) -> Vec<Moment> {
    let absolute = |path: &str| one_spelling(&format!("/{cwd}"), path);
    let mut moments = Vec::new();
    let mut worktrees: Vec<String> = Vec::new();
    let lies_in = |path: &str, folder: &String| {
        path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    for (call, recorded) in calls.iter().enumerate() {
        let edits = matches!(recorded.call.kind, Kind::Edit | Kind::Write);
        for path in recorded.call.paths.iter().filter(|_| edits) {
            worktrees.retain(|worktree| !lies_in(&absolute(path), worktree));
        }
        let commands = recorded.intents.as_ref().map(Intents::commands).unwrap_or_default();
        for (place, command) in commands.iter().enumerate() {
            for path in &command.edits.paths {
                worktrees.retain(|worktree| !lies_in(&absolute(path), worktree));
            }
            let words: Vec<&str> = command.known_arguments().collect();
            let operands = words.iter().copied().filter(|word| !word.starts_with('-'));
            if command.program == "git"
                && let ["worktree", "add", folder, _revision] = operands.collect::<Vec<_>>().as_slice()
                && !words.iter().any(|word| matches!(*word, "-b" | "-B" | "--orphan"))
            {
                let from = match &command.directory {
                    Directory::At(from) => absolute(from),
                    Directory::Start | Directory::Unknown => absolute("."),
                };
                worktrees.push(one_spelling(&from, folder));
            }
            if let Directory::At(folder) = &command.directory
                && worktrees.iter().any(|worktree| lies_in(&absolute(folder), worktree))
            {
                moments.push(Moment { call, command: place });
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
    let shown = LazyCell::new(|| Printed::of(recorded));
    let last_executing = LazyCell::new(|| commands.iter().rposition(executes));
    let could_be_printed = LazyCell::new(|| commands.iter().any(could_print_a_summary));
    let mut runs: Vec<VerifyingRun<'a>> = Vec::new();
    for (place, command) in commands.iter().enumerate() {
        let at = Moment { call: number, command: place };
        let ran = Ran { at, call: &recorded.call, recorded, command };
        let first = runs.len();
        let mut others = Covered::Unknown;
        let started = repository.runs(command, cwd);
        let is_one_of_many = started.len() > 1;
        for run in started {
            // A program that nobody knows is taken at its word: `tool check`.
            let deed = if run.deed == Deed::Other { command.likely_deed() } else { run.deed };
            if let Some(mut strength) = Strength::of_run(command, deed) {
                let attribution = match command.attribution {
                    Attribution::Decides => run.attribution,
                    masked => masked,
                };
                let showed = showed(recorded, command, attribution, strength, is_one_of_many, &shown);
                // A test file that nothing in it runs ends as well as one whose tests pass.
                if showed == Showed::Green
                    && command.starts_test_file()
                    && !shown.tells_of_tests(recorded)
                    && !repository.is_way(command)
                {
                    strength = Strength::Ran;
                }
                let Run { program, covers, targets, .. } = run;
                runs.push(VerifyingRun { ran, strength, showed, program, covers, targets });
            } else {
                others = run.covers;
            }
        }
        let parts = runs.get_mut(first..).unwrap_or_default();
        if parts.iter().any(|part| part.showed == Showed::Red) {
            tell_parts_apart(parts, &shown);
        }
        // The summary of a runner in the output of anything that executes makes it a run of that runner.
        let is_tested = runs.iter().any(|run| run.strength == Strength::Tested);
        if !is_tested
            && !recorded.call.user_stopped
            && *last_executing == Some(place)
            && !*could_be_printed
            && let Some(summary) = shown.tests()
        {
            let showed = if matches!(summary, Summary::Passed { .. }) { Showed::Green } else { Showed::Red };
            let covers = runs.get(first).map_or(others, |run| run.covers.clone());
            // Having run it is no run of its own beside what it showed.
            let weaker = runs.split_off(first).into_iter().filter(|run| run.strength > Strength::Ran);
            let weaker: Vec<_> = weaker.collect();
            runs.extend(weaker);
            let (program, targets) = (command.program.clone(), Vec::new());
            runs.push(VerifyingRun { ran, strength: Strength::Tested, showed, program, covers, targets });
        }
    }
    runs
}

/// A task of several parts failed as a whole: the summary of its tests says whether these were it.
fn tell_parts_apart(parts: &mut [VerifyingRun<'_>], printed: &Printed) {
    let Some(summary) = printed.tests() else { return };
    let tests_passed = matches!(summary, Summary::Passed { .. });
    let has_others = parts.iter().any(|part| part.strength != Strength::Tested);
    for part in parts.iter_mut().filter(|part| has_others && part.showed == Showed::Red) {
        part.showed = match (part.strength == Strength::Tested, tests_passed) {
            (true, true) => Showed::Green,
            (false, false) => Showed::Nothing("another part of it failed".to_owned()),
            (true, false) | (false, true) => continue,
        };
    }
}

/// Whether a summary in the output can be from something that the command started: a script, a task, the hooks of a commit.
fn executes(command: &SimpleCommand) -> bool {
    let executes = match command.deed() {
        Deed::Commits | Deed::Pushes | Deed::Other | Deed::Installs | Deed::Fixes => true,
        deed => Strength::of(deed).is_some(),
    };
    executes
        && command.output != Output::Hidden
        && command.idle_argument().is_none()
        && !command.shows_texts()
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
        _ => command.shows_texts(),
    }
}

/// Whether a program that ran did what it is for, as far as its status and its output tell.
pub(super) fn went_well(ran: &Ran<'_>) -> bool {
    let printed = Printed::of(ran.recorded);
    let showed = showed(ran.recorded, ran.command, ran.command.attribution, Strength::Ran, false, &printed);
    showed == Showed::Green
}

fn showed(
    recorded: &RecordedCall,
    command: &SimpleCommand,
    attribution: Attribution,
    strength: Strength,
    is_one_of_many: bool,
    printed: &Printed,
) -> Showed {
    let nothing = |why: &str| Showed::Nothing(why.to_owned());
    let call = &recorded.call;
    let is_hidden = command.output == Output::Hidden && !is_digested(recorded, command);
    let summary = printed.summary.filter(|_| strength == Strength::Tested && !is_hidden);
    if call.user_stopped {
        return nothing("it was stopped");
    }
    let told = LazyCell::new(|| Told::of(recorded, command));
    let failed = |code, is_alone| match told_status::why_not_done(code, command) {
        Some(why) => nothing(why),
        None if is_alone || matches!(summary, Some(Summary::Failed { .. })) => Showed::Red,
        None => nothing("it failed"),
    };
    let by_output = |mask: Mask| match is_hidden {
        true if mask == Mask::Piped => nothing("a filter hid its output"),
        true => Showed::Nothing(mask.to_string()),
        // Some test runners report everything there, and all of them what keeps them from starting.
        false if command.hides_errors && strength == Strength::Tested && summary.is_none() => {
            nothing("its status is hidden, and its error output was thrown away")
        }
        false => by_output(mask, summary, recorded, command, strength, printed, *told),
    };
    let by_told_or_shown = |mask: Mask| match (*told, by_output(mask)) {
        (Some(Told::Failed { code, is_alone }), _) => failed(code, is_alone),
        // A tool's own word for the whole is what a build has for a summary.
        (_, Showed::Green) if strength != Strength::Tested && printed.has_failed_tool => Showed::Red,
        (None, Showed::Green) if summary.is_none() && ends_early(recorded, command, printed) => {
            nothing("its output ends without a summary")
        }
        (_, showed) => showed,
    };
    match (call.outcome, summary) {
        (Outcome::Unknown, Some(Summary::Passed { .. })) => Showed::Green,
        (Outcome::Unknown, Some(Summary::Failed { .. })) => Showed::Red,
        // It ended, but the client does not say how: the output decides, as behind a pipe (W13).
        (Outcome::Unknown, _) if call.is_status_hidden => by_told_or_shown(Mask::Piped),
        (Outcome::Unknown, _) => nothing("its outcome is unknown"),
        (Outcome::Ok, Some(Summary::NoTestsRan)) => nothing("no tests ran"),
        (Outcome::Ok, _) => match (attribution, summary) {
            (Attribution::Masked(mask), _) => by_told_or_shown(mask),
            (Attribution::Decides, Some(Summary::Failed { .. })) => {
                nothing("its own summary reports failures")
            }
            (Attribution::Decides, _) => Showed::Green,
        },
        (Outcome::Error, _) => {
            let suspects = chain::suspects(recorded);
            let is_suspect = suspects.iter().any(|suspect| std::ptr::eq(*suspect, command));
            match attribution {
                // Something else decided the status of the whole.
                Attribution::Masked(mask) if !command.suspect => by_told_or_shown(mask),
                _ if !is_suspect => Showed::Green,
                // Its own summary tells of a pass, and something beside or after it can have failed instead.
                _ if matches!(summary, Some(Summary::Passed { .. }))
                    && (is_one_of_many
                        || (!printed.has_code_errors
                            && suspects.last().is_some_and(|last| !std::ptr::eq(*last, command)))) =>
                {
                    Showed::Green
                }
                _ => match harmless::why_not_done(recorded) {
                    Some(why) => nothing(why),
                    None if suspects.len() == 1 || matches!(summary, Some(Summary::Failed { .. })) => {
                        Showed::Red
                    }
                    None => nothing("it failed"),
                },
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

/// Whether a runner whose summary comes last shows the end of its output without one: it crashed, or was stopped.
fn ends_early(recorded: &RecordedCall, command: &SimpleCommand, printed: &Printed) -> bool {
    // Stands where a client or we ourselves cut a part of the output out.
    const CUTS: [&str; 7] = ["…", "truncated", "too large", "too long", "omitted", "hidden", "saved to"];
    let text = recorded.call.snippet.as_deref().unwrap_or_default();
    command.ends_with_summary()
        && (command.output == Output::Shown || command.shows_end)
        && !text.trim().is_empty()
        && !CUTS.iter().any(|cut| text.contains(cut))
        && !printed.tells_of_tests(recorded)
}

/// What the output shows of a run whose status is hidden.
fn by_output(
    mask: Mask,
    summary: Option<Summary>,
    recorded: &RecordedCall,
    command: &SimpleCommand,
    strength: Strength,
    printed: &Printed,
    told: Option<Told>,
) -> Showed {
    let may_be_skipped = command.may_be_skipped && told != Some(Told::Succeeded);
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
        None if printed.not_started => Showed::Nothing("it did not start".to_owned()),
        None if Printed::says_killed(recorded, &command.program) => {
            Showed::Nothing("it was killed".to_owned())
        }
        // Of what may not have run, the errors may be another's.
        None if printed.has_errors && (!may_be_skipped || printed.errors_are_of(recorded, command)) => {
            Showed::Red
        }
        None if may_be_skipped => {
            let text = recorded.call.snippet.as_deref().unwrap_or_default();
            match command.says_it_is_done(text) || printed.tells_of_success(recorded, command, strength) {
                true => Showed::Green,
                false => Showed::Nothing(Mask::Conditional.to_string()),
            }
        }
        None => Showed::Green,
    }
}
