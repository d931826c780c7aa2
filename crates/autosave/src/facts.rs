//! What is known of the work so far, and how it reads in the notes. Facts only: what was asked, what changed, what ran
//! and how it ended; never what the agent says of itself.
//!
//! Notes are committed and pushed, so they say less than is known. Of a command they have the programs and what these
//! were to do; words are shown only of programs that verify code, and only harmless ones (`shown_arguments`). Of a prompt
//! or an error, what stands where a secret would is left out, whatever it looks like, and so are words that look random.

use std::path::Path;

use gate::policy::Policy;
use gate::{Changes, Inputs, Observation, RecordedCall, Rule};
use jiff::Timestamp;
use programs::Deed;
use programs::shell::{Intents, SimpleCommand, Word};
use transcript::{Extent, Kind};

use crate::build_state::BuildState;
use crate::command_end::CommandEnd;
use crate::look::{Look, WITHHELD};
use crate::plain::{code, line};
use crate::private_place::without_private_places;
use crate::reason::Reason;
use crate::secrets;
use crate::shown_arguments::shown_arguments;

/// So much of a list is told.
const FILES: usize = 20;
const COMMANDS: usize = 8;
const ERRORS: usize = 5;

/// A prompt of no more characters says nothing without the one before it: `yes`, `go on`.
pub const SHORT_PROMPT: usize = 20;

/// So many characters of a text.
const LONGEST_PROMPT: usize = 400;
const LONGEST_COMMAND: usize = 160;
const LONGEST_ERROR: usize = 240;
const LONGEST_WORD: usize = 80;

/// Stands for a command in which no program was made out.
const NOT_READ: &str = "(a command that could not be parsed)";

/// When and why something is saved.
#[derive(Clone, Copy, Debug)]
pub struct Occasion {
    pub at: Timestamp,
    pub reason: Reason,
    /// How full the context is.
    pub percent: Option<u64>,
    /// How often the session has been saved, this time included; `None` if no session is known.
    pub iteration: Option<u64>,
}

/// What was asked, and where.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    pub prompt: Option<&'a str>,
    /// The last longer prompt of the session: what `yes` and `go on` mean depends on it.
    pub before: Option<&'a str>,
    /// The branch that the turn began on, if HEAD is on another one now.
    pub elsewhere: Option<&'a str>,
}

/// What is known of the work so far.
#[derive(Clone, Debug)]
pub struct Facts {
    pub occasion: Occasion,
    pub branch: Option<String>,
    /// The branch that the turn began on, if that is another one.
    pub elsewhere: Option<String>,
    /// How much of the turn is known.
    pub extent: Extent,
    /// The prompt that opened the turn.
    pub asked: Option<String>,
    /// The last longer prompt, if this one is too short to say what it is about.
    pub asked_before: Option<String>,
    /// The files that the turn changed, from the root of the repository.
    pub files: Vec<String>,
    /// Those that look alike in the notes are one.
    pub commands: Vec<Ran>,
    /// Failures that nothing settled since.
    pub errors: Vec<String>,
    /// The first unchecked item of `buildguide.md`.
    pub next: Option<String>,
    pub build: Option<BuildState>,
}

/// A command of the turn as the notes show it, and how it ended the last time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    pub command: String,
    pub is_test: bool,
    /// The worst first: several commands may look the same once their arguments are cut.
    pub ends: Vec<CommandEnd>,
}

impl Facts {
    /// What the turn shows. `inputs` hold its calls and its change set. Each text is looked through as a whole, before it is
    /// cut: of half a secret nobody would see that it is one.
    pub fn new(occasion: Occasion, inputs: &Inputs, asked: Asked<'_>, look: &Look) -> Self {
        let (branch, files, root) = match &inputs.changes {
            Changes::Known(set) => {
                let files = set.files.iter().map(|file| file.path.to_string()).collect();
                (set.branch.clone(), files, set.root.to_string())
            }
            Changes::Transcript(files) => (None, files.clone(), inputs.cwd.clone()),
            Changes::Unknown(_) => (None, Vec::new(), inputs.cwd.clone()),
        };
        let teller = Teller { look, root: &root };
        let is_short = asked.prompt.is_some_and(|prompt| prompt.chars().count() <= SHORT_PROMPT);
        Self {
            occasion,
            branch,
            elsewhere: asked.elsewhere.map(str::to_owned),
            extent: inputs.coverage.extent,
            asked: asked.prompt.map(|text| teller.text(text, LONGEST_PROMPT)).filter(|text| !text.is_empty()),
            asked_before: asked.before.filter(|_| is_short).map(|text| teller.text(text, LONGEST_PROMPT)),
            files: files.iter().map(|file: &String| teller.file(file)).collect(),
            commands: teller.commands(&inputs.calls),
            errors: teller.errors(inputs),
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
        let session = match iteration {
            Some(number) => format!("save {number} of the session"),
            None => "no session is known here".to_owned(),
        };
        item("When", &format!("{when}, {} ({session})", reason.sentence(percent)));
        let plain = |branch: &str| code(&secrets::without_random_words(branch));
        item("Branch", &self.branch.as_deref().map_or("none, HEAD is detached".to_owned(), plain));
        let of_turn = |name: &str| match &self.elsewhere {
            Some(branch) => format!("{name} (of a turn that began on {})", plain(branch)),
            None => name.to_owned(),
        };
        if let Some(asked) = &self.asked {
            let before = self.asked_before.as_deref().map(|before| format!(" (before: {})", code(before)));
            item(&of_turn("Asked"), &format!("{}{}", code(asked), before.unwrap_or_default()));
        }
        let none = if iteration.is_some() { "none in this turn" } else { "none" };
        item("Files changed", &listed(&self.files).unwrap_or_else(|| none.to_owned()));
        if iteration.is_some() {
            let (tests, others): (Vec<&Ran>, Vec<&Ran>) = self.commands.iter().partition(|ran| ran.is_test);
            let none = match self.extent {
                Extent::Complete => "none were run",
                Extent::Truncated => "none in the part of the turn that could be read",
                Extent::Unavailable => "unknown, the transcript could not be read",
            };
            item(&of_turn("Tests"), &shown(&tests).unwrap_or_else(|| none.to_owned()));
            if let Some(others) = shown(&others) {
                item(&of_turn("Commands"), &others);
            }
            let errors: Vec<String> = self.errors.iter().map(|error| code(error)).collect();
            let is_all_known = self.extent == Extent::Complete
                && !self.commands.iter().flat_map(|ran| &ran.ends).any(|end| end.may_hide_a_failure());
            let none = if is_all_known { "none" } else { "none known" };
            item(
                &of_turn("Open errors"),
                &if errors.is_empty() { none.to_owned() } else { errors.join("; ") },
            );
        }
        if let Some(build) = &self.build {
            item("Build", &code(&build.sentence()));
        }
        if let Some(next) = &self.next {
            item("Next", &code(next));
        }
        text
    }
}

/// All of a section but when it was written.
pub(crate) fn without_time(section: &str) -> &str {
    section.split_once('\n').map_or(section, |(_when, rest)| rest)
}

/// The first of the files; `None` if there are none.
fn listed(files: &[String]) -> Option<String> {
    let mut shown: Vec<String> =
        files.iter().take(FILES).map(|file| code(&line(file, LONGEST_COMMAND))).collect();
    if files.len() > FILES {
        shown.push(format!("and {} more", files.len() - FILES));
    }
    (!shown.is_empty()).then(|| shown.join(", "))
}

/// The last of the commands; `None` if there are none.
fn shown(ran: &[&Ran]) -> Option<String> {
    let one = |ran: &&Ran| {
        let ends: Vec<String> = ran.ends.iter().map(ToString::to_string).collect();
        format!("{} {}", code(&ran.command), ends.join(", another one "))
    };
    let cut = ran.len().saturating_sub(COMMANDS);
    let mut shown: Vec<String> = ran.iter().skip(cut).map(one).collect();
    if cut > 0 {
        shown.insert(0, format!("{cut} earlier, not shown"));
    }
    (!shown.is_empty()).then(|| shown.join("; "))
}

/// Makes texts of the turn fit to be told.
pub(crate) struct Teller<'a> {
    pub(crate) look: &'a Look,
    /// Of the repository.
    pub(crate) root: &'a str,
}

impl Teller<'_> {
    /// The text without what stands where secrets stand, and without the names of homes; `None` if it is withheld.
    pub(crate) fn told(&self, text: &str) -> Option<String> {
        self.look.tellable(text).map(|text| self.without_private_places(&text))
    }

    fn without_private_places(&self, text: &str) -> String {
        without_private_places(text, self.root, self.look.home.as_deref())
    }

    /// A path from the root of the repository.
    fn file(&self, path: &str) -> String {
        secrets::without_random_words(&self.without_private_places(path))
    }

    /// The text in one line, or that it is withheld.
    fn text(&self, text: &str, most: usize) -> String {
        self.told(text).map_or_else(|| WITHHELD.to_owned(), |text| line(&text, most))
    }

    /// One item of a list of things to do.
    pub(crate) fn item(&self, text: &str) -> String {
        self.text(text, LONGEST_PROMPT)
    }

    /// What a command would run.
    fn command(&self, recorded: &RecordedCall) -> String {
        let written = recorded.call.command.as_deref().unwrap_or_default();
        if self.look.sees_secret(written) {
            return WITHHELD.to_owned();
        }
        let all = recorded.intents.as_ref().map(Intents::commands).unwrap_or_default();
        // Where the shell goes, and what it sets there, is nothing that was done.
        let done: Vec<&SimpleCommand> = all.iter().filter(|command| command.deed() != Deed::Steers).collect();
        let done = if done.is_empty() { all.iter().collect() } else { done };
        let programs: Vec<String> = done.into_iter().map(|command| self.program(command)).collect();
        match programs.is_empty() {
            true => NOT_READ.to_owned(),
            false => line(&self.without_private_places(&programs.join("; ")), LONGEST_COMMAND),
        }
    }

    /// The program, what it was to do, and its words if they can be nothing else; an ellipsis if there were more.
    fn program(&self, command: &SimpleCommand) -> String {
        let written = command.path.as_deref().filter(|path| !path.starts_with(['/', '~']) && is_plain(path));
        let name = written.unwrap_or(&command.program);
        let mut words = vec![if is_plain(name) { name } else { "…" }];
        if VERIFYING.contains(&command.deed()) {
            let is_root =
                |word: &Word| word.known().map(|path| path.trim_end_matches('/')) == Some(self.root);
            let from_root =
                |word: &Word| if is_root(word) { Word::Known(".".to_owned()) } else { word.clone() };
            let arguments: Vec<Word> = command.arguments.iter().map(from_root).collect();
            let whole = shown_arguments(&arguments, |word| self.is_harmless(word));
            let told = self.look.tellable(&format!("{name} {whole}"));
            if told.is_some_and(|told| told.ends_with(&whole)) {
                words.extend(Some(whole.as_str()).filter(|whole| !whole.is_empty()));
                return words.join(" ");
            }
        }
        // Behind an option, nobody knows whether a word is the option's value.
        let first = command.arguments.first().and_then(Word::known);
        let subcommand = command.subcommand().filter(|word| first == Some(word) && is_plain(word));
        words.extend(subcommand);
        if command.arguments.len() > usize::from(subcommand.is_some()) {
            words.push("…");
        }
        words.join(" ")
    }

    /// Whether a word that belongs to no option is a path of the repository or of tests, or a name.
    fn is_harmless(&self, word: &str) -> bool {
        let path = word.split("::").next().unwrap_or(word);
        let path = path.strip_prefix(self.root).map_or(path, |path| path.trim_start_matches('/'));
        let is_of_tests =
            |part: &str| matches!(part.trim_matches('_'), "test" | "tests" | "spec" | "specs" | "testing");
        let is_name = || !path.contains(['/', ' ', '=']) && path.starts_with(char::is_alphabetic);
        let is_path = || {
            path.starts_with("./")
                || path.split('/').any(is_of_tests)
                || programs::is_test_file(path)
                || Path::new(self.root).join(path).exists()
        };
        is_plain(word) && (is_name() || is_path())
    }

    /// The commands, each as it ended the last time. Only the same words in the same folder are the same command.
    fn commands(&self, calls: &[RecordedCall]) -> Vec<Ran> {
        let is_command =
            |recorded: &&RecordedCall| recorded.call.kind == Kind::Shell && recorded.call.command.is_some();
        let run = |recorded: &RecordedCall| (recorded.call.command.clone(), recorded.call.cwd.clone());
        let mut last: Vec<&RecordedCall> = Vec::new();
        for recorded in calls.iter().filter(is_command) {
            last.retain(|before| run(before) != run(recorded));
            last.push(recorded);
        }
        let mut found: Vec<Ran> = Vec::new();
        for recorded in last {
            let commands = recorded.intents.as_ref().map(Intents::commands).unwrap_or_default();
            let is_test = commands.iter().any(|command| command.does(Deed::Tests));
            let command = self.command(recorded);
            let alike = found.iter().position(|ran| ran.command == command && ran.is_test == is_test);
            let mut ends = alike.map_or_else(Vec::new, |place| found.remove(place).ends);
            ends.push(CommandEnd::of(recorded));
            ends.sort();
            ends.dedup();
            found.push(Ran { command, is_test, ends });
        }
        found
    }

    /// Failures that nothing settled, by the gate's own rule.
    fn errors(&self, inputs: &Inputs) -> Vec<String> {
        let Ok(policy) = Policy::load(&[]) else { return Vec::new() };
        let observations = gate::judge(&policy, inputs).observations.into_iter();
        let errors = observations.filter(|observation| observation.rule == Rule::UnresolvedError);
        errors.take(ERRORS).map(|error| self.error(&error, &inputs.calls)).collect()
    }

    /// The gate's words, with the command as the notes have it.
    fn error(&self, error: &Observation, calls: &[RecordedCall]) -> String {
        let cause = error.failure.as_ref().map_or(error.text.as_str(), |failure| failure.cause.as_str());
        let cause = self.text(cause, LONGEST_ERROR);
        let failed = calls.iter().find(|recorded| error.line.is_some() && recorded.call.line == error.line);
        let shown = failed.map(|recorded| match recorded.call.kind {
            Kind::Shell => self.command(recorded),
            _ => {
                let path = recorded.call.path.as_deref().unwrap_or_default();
                self.text(&format!("{} {path}", recorded.call.tool), LONGEST_COMMAND)
            }
        });
        match shown {
            Some(shown) if shown == WITHHELD => shown,
            Some(shown) => format!("{cause} (`{shown}`)"),
            None => cause,
        }
    }
}

/// What is done to code, by programs that are given nothing secret.
const VERIFYING: [Deed; 6] =
    [Deed::Formats, Deed::Fixes, Deed::Lints, Deed::TypeChecks, Deed::Builds, Deed::Tests];

/// A word such as names, paths, flags and selections are made of. A name beside it may still say that it is a secret.
fn is_plain(word: &str) -> bool {
    let is_of_word = |letter: char| letter.is_ascii_alphanumeric() || "_-./:,=+*[] ".contains(letter);
    let is_short = !word.is_empty() && word.len() <= LONGEST_WORD;
    is_short && word.chars().all(is_of_word) && secrets::without_random_words(word) == word
}
