//! Reads a plan file into a draft: what was written, with the place of everything that is checked later. Notes what
//! is wrong with the text itself: unknown keys, wrong types, numbers out of their range.

use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use settings::Lines;
use supervise::StallInterrupt;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::Problem;
use super::{Grace, Kind, LONGEST_DURATION, Program, Python, Stall};

const TOP: &[&str] = &["title", "python", "stage"];
const PYTHON: &[&str] = &["interpreter", "seed", "variables"];
const STAGE: &[&str] = &[
    "stageId",
    "goal",
    "kind",
    "command",
    "verify",
    "environment",
    "directory",
    "inputs",
    "outputs",
    "maxDurationSec",
    "dependencies",
    "retryable",
    "retries",
    "checkpointAfter",
    "midStageCheckpoints",
    "stall",
    "grace",
];
const STALL: &[&str] = &["outputSec", "markerSec", "idleSec", "interrupt"];
const GRACE: &[&str] = &["interruptSec", "terminateSec"];
const KINDS: &[(&str, Kind)] = &[("command", Kind::Command), ("python", Kind::Python)];
const INTERRUPTS: &[(&str, StallInterrupt)] =
    &[("never", StallInterrupt::Never), ("hung", StallInterrupt::Hung), ("any", StallInterrupt::Any)];

/// So many slips are answered with the name that was meant; with more of them the file is another kind of file.
const SUGGESTIONS: usize = 20;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct At<T> {
    pub(super) value: T,
    pub(super) span: Range<usize>,
}

pub(super) struct Draft<'a> {
    pub(super) places: Places<'a>,
    pub(super) title: Option<At<String>>,
    pub(super) python: Python,
    pub(super) stages: Vec<StageDraft>,
    /// Nothing more can be said of a text that is not TOML.
    pub(super) is_text_sound: bool,
}

pub(super) struct StageDraft {
    pub(super) span: Range<usize>,
    pub(super) id: Option<At<String>>,
    pub(super) goal: Option<At<String>>,
    pub(super) kind: Option<At<Kind>>,
    pub(super) command: Option<At<Program>>,
    pub(super) verify: Option<At<Program>>,
    pub(super) environment: Vec<(At<String>, String)>,
    pub(super) directory: Option<At<String>>,
    pub(super) inputs: Vec<(At<String>, At<String>)>,
    pub(super) outputs: Vec<(At<String>, At<String>)>,
    pub(super) max_duration: Option<At<Duration>>,
    pub(super) dependencies: Vec<At<String>>,
    pub(super) is_retryable: Option<bool>,
    pub(super) retries: Option<At<u32>>,
    pub(super) checkpoint_after: Option<bool>,
    pub(super) mid_stage_checkpoints: Option<bool>,
    pub(super) stall: Stall,
    pub(super) grace: Grace,
    /// Keys that were there, with whatever value: what was misspelt is not missing as well.
    pub(super) written: Vec<String>,
}

/// Where in the text something stands.
pub(super) struct Places<'a> {
    name: String,
    lines: Lines<'a>,
    suggested: usize,
}

impl<'a> Places<'a> {
    pub(super) fn problem(&self, span: &Range<usize>, message: String) -> Problem {
        let (line, column) = self.lines.place(span.start);
        Problem { file: self.name.clone(), line, column, message }
    }

    pub(super) fn line(&self, span: &Range<usize>) -> usize {
        self.lines.line(span.start)
    }

    /// `; did you mean …?`, or nothing.
    pub(super) fn meant<'n>(&mut self, written: &str, known: impl Iterator<Item = &'n str>) -> String {
        if self.suggested >= SUGGESTIONS {
            return String::new();
        }
        self.suggested += 1;
        match text::nearest(written, known) {
            Some(name) => format!("; did you mean `{name}`?"),
            None => String::new(),
        }
    }
}

pub(super) fn read<'a>(name: &str, text: &'a str, problems: &mut Vec<Problem>) -> Draft<'a> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (document, errors) = DeTable::parse_recoverable(text);
    let places = Places { name: name.to_owned(), lines: Lines::of(text), suggested: 0 };
    for error in &errors {
        let message = error.message().lines().collect::<Vec<_>>().join(", ");
        problems.push(places.problem(&error.span().unwrap_or(0..0), message));
    }
    let draft = Draft {
        places,
        title: None,
        python: Python::default(),
        stages: Vec::new(),
        is_text_sound: errors.is_empty(),
    };
    // What recovery made of a broken file would only give more of the same mistake.
    if !draft.is_text_sound {
        return draft;
    }
    let mut reader = Reader { draft, problems };
    reader.top(document.get_ref());
    reader.draft
}

struct Reader<'a, 'p> {
    draft: Draft<'a>,
    problems: &'p mut Vec<Problem>,
}

type Key<'i> = Spanned<std::borrow::Cow<'i, str>>;
type Value<'i> = Spanned<DeValue<'i>>;

impl Reader<'_, '_> {
    fn problem(&mut self, span: Range<usize>, message: impl Into<String>) {
        let problem = self.draft.places.problem(&span, message.into());
        self.problems.push(problem);
    }

    fn unknown(&mut self, key: &Key<'_>, known: &[&'static str]) {
        let meant = self.draft.places.meant(key.get_ref(), known.iter().copied());
        self.problem(key.span(), format!("unknown key `{}`{meant}", key.get_ref()));
    }

    fn wrong(&mut self, key: &Key<'_>, value: &Value<'_>, expected: &str) {
        self.problem(value.span(), format!("`{}` must be {expected}", key.get_ref()));
    }

    fn top(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "title" => self.draft.title = self.string(key, value),
                "python" => self.python(key, value),
                "stage" => match value.get_ref() {
                    DeValue::Array(items) => {
                        for item in items.iter() {
                            match item.get_ref() {
                                DeValue::Table(table) => {
                                    let stage = self.stage(item.span(), table);
                                    self.draft.stages.push(stage);
                                }
                                _ => self.wrong(key, item, "tables: write `[[stage]]`"),
                            }
                        }
                    }
                    _ => self.wrong(key, value, "an array of tables: write `[[stage]]`"),
                },
                _ => self.unknown(key, TOP),
            }
        }
    }

    fn python(&mut self, key: &Key<'_>, value: &Value<'_>) {
        let DeValue::Table(table) = value.get_ref() else {
            return self.wrong(key, value, "a table");
        };
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "interpreter" => {
                    self.draft.python.interpreter = self.string(key, value).map(|text| text.value);
                }
                "seed" => self.draft.python.seed = self.integer(key, value, 0..=u32::MAX),
                "variables" => self.draft.python.saves_variables = self.boolean(key, value) == Some(true),
                _ => self.unknown(key, PYTHON),
            }
        }
    }

    fn stage(&mut self, span: Range<usize>, table: &DeTable<'_>) -> StageDraft {
        let mut stage = StageDraft::empty(span);
        for (key, value) in table {
            stage.written.push(key.get_ref().to_string());
            match key.get_ref().as_ref() {
                "stageId" => stage.id = self.string(key, value),
                "goal" => stage.goal = self.string(key, value),
                "kind" => stage.kind = self.choice(key, value, KINDS),
                "command" => stage.command = self.program(key, value),
                "verify" => stage.verify = self.program(key, value),
                "environment" => {
                    let pairs = self.pairs(key, value);
                    stage.environment = pairs.into_iter().map(|(name, text)| (name, text.value)).collect();
                }
                "directory" => stage.directory = self.string(key, value),
                "inputs" => stage.inputs = self.pairs(key, value),
                "outputs" => stage.outputs = self.pairs(key, value),
                "maxDurationSec" => {
                    stage.max_duration = self.integer(key, value, 1..=LONGEST_DURATION).map(|seconds| At {
                        value: Duration::from_secs(u64::from(seconds)),
                        span: value.span(),
                    });
                }
                "dependencies" => stage.dependencies = self.strings(key, value).unwrap_or_default(),
                "retryable" => stage.is_retryable = self.boolean(key, value),
                "retries" => {
                    stage.retries = self
                        .integer(key, value, 0..=100)
                        .map(|value_of| At { value: value_of, span: value.span() });
                }
                "checkpointAfter" => stage.checkpoint_after = self.boolean(key, value),
                "midStageCheckpoints" => stage.mid_stage_checkpoints = self.boolean(key, value),
                "stall" => stage.stall = self.stall(key, value),
                "grace" => stage.grace = self.grace(key, value),
                _ => self.unknown(key, STAGE),
            }
        }
        stage
    }

    fn stall(&mut self, key: &Key<'_>, value: &Value<'_>) -> Stall {
        let mut stall = Stall::default();
        let DeValue::Table(table) = value.get_ref() else {
            self.wrong(key, value, "a table");
            return stall;
        };
        for (key, value) in table {
            let seconds = |reader: &mut Self, before: Option<Duration>| match reader.integer(
                key,
                value,
                0..=LONGEST_DURATION,
            ) {
                Some(0) => None,
                Some(seconds) => Some(Duration::from_secs(u64::from(seconds))),
                None => before,
            };
            match key.get_ref().as_ref() {
                "outputSec" => stall.output = seconds(self, stall.output),
                "markerSec" => stall.marker = seconds(self, stall.marker),
                "idleSec" => {
                    if let Some(seconds) = self.integer(key, value, 1..=LONGEST_DURATION) {
                        stall.idle = Duration::from_secs(u64::from(seconds));
                    }
                }
                "interrupt" => {
                    let when = self.choice(key, value, INTERRUPTS);
                    stall.interrupt = when.map_or(stall.interrupt, |when| when.value);
                }
                _ => self.unknown(key, STALL),
            }
        }
        stall
    }

    fn grace(&mut self, key: &Key<'_>, value: &Value<'_>) -> Grace {
        let mut grace = Grace::default();
        let DeValue::Table(table) = value.get_ref() else {
            self.wrong(key, value, "a table");
            return grace;
        };
        for (key, value) in table {
            let seconds = |reader: &mut Self, window: &mut Duration| {
                if let Some(seconds) = reader.integer(key, value, 0..=30) {
                    *window = Duration::from_secs(u64::from(seconds));
                }
            };
            match key.get_ref().as_ref() {
                "interruptSec" => seconds(self, &mut grace.interrupt),
                "terminateSec" => seconds(self, &mut grace.terminate),
                _ => self.unknown(key, GRACE),
            }
        }
        grace
    }

    fn string(&mut self, key: &Key<'_>, value: &Value<'_>) -> Option<At<String>> {
        match value.get_ref() {
            DeValue::String(text) => Some(At { value: text.to_string(), span: value.span() }),
            _ => {
                self.wrong(key, value, "a string");
                None
            }
        }
    }

    fn strings(&mut self, key: &Key<'_>, value: &Value<'_>) -> Option<Vec<At<String>>> {
        let items = match value.get_ref() {
            DeValue::Array(items) => items,
            _ => {
                self.wrong(key, value, "an array of strings");
                return None;
            }
        };
        items.iter().map(|item| self.string(key, item)).collect()
    }

    fn boolean(&mut self, key: &Key<'_>, value: &Value<'_>) -> Option<bool> {
        match value.get_ref() {
            DeValue::Boolean(value) => Some(*value),
            _ => {
                self.wrong(key, value, "true or false");
                None
            }
        }
    }

    fn integer(&mut self, key: &Key<'_>, value: &Value<'_>, range: RangeInclusive<u32>) -> Option<u32> {
        let number = match value.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse().ok(),
            _ => None,
        };
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            let expected = format!("a whole number from {} to {}", range.start(), range.end());
            self.wrong(key, value, &expected);
        }
        number
    }

    fn choice<T: Copy>(
        &mut self,
        key: &Key<'_>,
        value: &Value<'_>,
        known: &[(&'static str, T)],
    ) -> Option<At<T>> {
        let text = self.string(key, value)?;
        let chosen = known.iter().find(|(name, _)| *name == text.value);
        if chosen.is_none() {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            let expected = format!("one of {}", names.join(", "));
            self.wrong(key, value, &expected);
        }
        chosen.map(|(_, chosen)| At { value: *chosen, span: text.span })
    }

    /// A list of words, or one text for the shell.
    fn program(&mut self, key: &Key<'_>, value: &Value<'_>) -> Option<At<Program>> {
        let program = match value.get_ref() {
            DeValue::String(text) => Program::Shell(text.to_string()),
            DeValue::Array(_) => {
                let words = self.strings(key, value)?;
                Program::Words(words.into_iter().map(|word| word.value).collect())
            }
            _ => {
                self.wrong(key, value, "an array of words, or a string for the shell");
                return None;
            }
        };
        let (is_empty, has_nul) = match &program {
            Program::Shell(text) => (text.trim().is_empty(), text.contains('\0')),
            Program::Words(words) => (
                words.first().is_none_or(|word| word.is_empty()),
                words.iter().any(|word| word.contains('\0')),
            ),
        };
        if is_empty || has_nul {
            self.wrong(key, value, if is_empty { "something to run" } else { "free of NUL characters" });
            return None;
        }
        Some(At { value: program, span: value.span() })
    }

    /// A table of strings.
    fn pairs(&mut self, key: &Key<'_>, value: &Value<'_>) -> Vec<(At<String>, At<String>)> {
        let DeValue::Table(table) = value.get_ref() else {
            self.wrong(key, value, "a table of names and strings: `{ name = \"…\" }`");
            return Vec::new();
        };
        let mut pairs = Vec::new();
        for (name, value) in table {
            if let Some(text) = self.string(name, value) {
                pairs.push((At { value: name.get_ref().to_string(), span: name.span() }, text));
            }
        }
        // As they are written, not by name.
        pairs.sort_by_key(|(name, _)| name.span.start);
        pairs
    }
}

impl StageDraft {
    fn empty(span: Range<usize>) -> Self {
        Self {
            span,
            id: None,
            goal: None,
            kind: None,
            command: None,
            verify: None,
            environment: Vec::new(),
            directory: None,
            inputs: Vec::new(),
            outputs: Vec::new(),
            max_duration: None,
            dependencies: Vec::new(),
            is_retryable: None,
            retries: None,
            checkpoint_after: None,
            mid_stage_checkpoints: None,
            stall: Stall::default(),
            grace: Grace::default(),
            written: Vec::new(),
        }
    }
}
