//! Reads one policy file into a layer of optional values, and notes every mistake with its place. The keys
//! are listed once for each table; what is not in the list is a mistake, and the list names the nearest.

use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use programs::shell::Pattern;
use settings::{Document, Lines, SyntaxError};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::autosave::AutosaveLayer;
use super::paths::Globs;
use super::problem::{Problem, ProblemKind};
use super::{
    AutosaveMode, Check, ErrorText, Fresh, Gate, Include, Messages, NoGit, Plan, ResolvedBy, RuleLevel,
    Rules, Scope, SecondStop, SnapshotSettings, Telling, replace,
};

pub(crate) const TOP: &[&str] = &[
    "presets",
    "prose",
    "other_code",
    "gate",
    "plan",
    "snapshot",
    "category",
    "action",
    "error",
    "check",
    "message",
    "autosave",
];
pub(crate) const GATE: &[&str] = &[
    "enabled",
    "min_turn",
    "scope",
    "all_clear",
    "docs_only",
    "no_git",
    "second_stop",
    "capture",
    "commit",
    "blast_radius",
    "ask_again",
    "waivers",
    "resolved_by",
    "always",
    "rules",
];
pub(crate) const RULES: &[&str] = &["errors", "hygiene", "drift"];
pub(crate) const PLAN: &[&str] = &["slug_from_branch", "path"];
pub(crate) const SNAPSHOT: &[&str] = &["at_turn_start", "keep", "keep_for"];
pub(crate) const CATEGORY: &[&str] = &["name", "include", "exclude", "require", "alone"];
pub(crate) const ACTION: &[&str] = &["order", "say", "say_after", "gap", "evidence", "fresh", "after"];
pub(crate) const ERROR: &[&str] = &["contains", "ran", "say"];
pub(crate) const CHECK: &[&str] = &["when", "run", "timeout"];
pub(crate) const MESSAGE: &[&str] =
    &["all_clear", "docs_only", "capture", "commit", "generic", "uncommitted"];
pub(crate) const AUTOSAVE: &[&str] = &[
    "mode",
    "threshold",
    "window",
    "push",
    "include",
    "notes",
    "subject",
    "body",
    "co_author",
    "allow_secrets_in",
    "allow_secrets",
    "hook_timeout",
];

pub(crate) const RULE_LEVELS: &[(&str, RuleLevel)] =
    &[("hold", RuleLevel::Hold), ("notify", RuleLevel::Notify), ("off", RuleLevel::Off)];
pub(crate) const SCOPES: &[(&str, Scope)] =
    &[("turn", Scope::Turn), ("worktree", Scope::Worktree), ("diff", Scope::Diff)];
pub(crate) const TELLINGS: &[(&str, Telling)] =
    &[("silent", Telling::Silent), ("notify", Telling::Notify), ("hold", Telling::Hold)];
pub(crate) const NO_GITS: &[(&str, NoGit)] = &[("silent", NoGit::Silent), ("generic", NoGit::Generic)];
pub(crate) const SECOND_STOPS: &[(&str, SecondStop)] =
    &[("pass", SecondStop::Pass), ("hold-uncommitted", SecondStop::HoldUncommitted)];
pub(crate) const RESOLVED_BY: &[(&str, ResolvedBy)] =
    &[("success", ResolvedBy::Success), ("attempt", ResolvedBy::Attempt)];
pub(crate) const FRESHNESS: &[(&str, Fresh)] =
    &[("after-change", Fresh::AfterChange), ("this-turn", Fresh::ThisTurn)];
pub(crate) const AUTOSAVE_MODES: &[(&str, AutosaveMode)] =
    &[("off", AutosaveMode::Off), ("normal", AutosaveMode::Normal), ("autonomous", AutosaveMode::Autonomous)];
pub(crate) const INCLUDES: &[(&str, Include)] = &[("notes", Include::Notes), ("all", Include::All)];

/// A value and where it stands, for mistakes that only show when all files are merged.
#[derive(Clone, Debug, Default)]
pub(crate) struct At<T> {
    pub(crate) value: T,
    file: Rc<str>,
    line: usize,
    column: usize,
}

impl At<String> {
    pub(crate) fn problem(&self, kind: ProblemKind) -> Problem {
        Problem {
            file: self.file.to_string(),
            line: self.line,
            column: self.column,
            found: self.value.clone(),
            kind,
        }
    }
}

/// One file, or several merged.
#[derive(Default)]
pub(crate) struct Layer {
    pub(crate) presets: Vec<At<String>>,
    pub(crate) prose: Option<Globs>,
    pub(crate) other_code: Option<Vec<At<String>>>,
    pub(crate) gate: GateLayer,
    pub(crate) plan: PlanLayer,
    pub(crate) snapshot: SnapshotLayer,
    pub(crate) categories: Vec<CategoryLayer>,
    pub(crate) actions: Vec<ActionLayer>,
    pub(crate) errors: Vec<ErrorText>,
    pub(crate) checks: Vec<Check>,
    pub(crate) messages: MessagesLayer,
    pub(crate) autosave: AutosaveLayer,
}

#[derive(Default)]
pub(crate) struct GateLayer {
    enabled: Option<bool>,
    min_turn: Option<Duration>,
    scope: Option<Scope>,
    all_clear: Option<Telling>,
    docs_only: Option<Telling>,
    no_git: Option<NoGit>,
    second_stop: Option<SecondStop>,
    capture: Option<bool>,
    commit: Option<bool>,
    blast_radius: Option<u64>,
    ask_again: Option<bool>,
    waivers: Option<bool>,
    resolved_by: Option<ResolvedBy>,
    pub(crate) always: Option<Vec<At<String>>>,
    errors: Option<RuleLevel>,
    hygiene: Option<RuleLevel>,
    drift: Option<RuleLevel>,
}

impl GateLayer {
    pub(crate) fn merge(&mut self, newer: Self) {
        replace(&mut self.enabled, newer.enabled);
        replace(&mut self.min_turn, newer.min_turn);
        replace(&mut self.scope, newer.scope);
        replace(&mut self.all_clear, newer.all_clear);
        replace(&mut self.docs_only, newer.docs_only);
        replace(&mut self.no_git, newer.no_git);
        replace(&mut self.second_stop, newer.second_stop);
        replace(&mut self.capture, newer.capture);
        replace(&mut self.commit, newer.commit);
        replace(&mut self.blast_radius, newer.blast_radius);
        replace(&mut self.ask_again, newer.ask_again);
        replace(&mut self.waivers, newer.waivers);
        replace(&mut self.resolved_by, newer.resolved_by);
        replace(&mut self.always, newer.always);
        replace(&mut self.errors, newer.errors);
        replace(&mut self.hygiene, newer.hygiene);
        replace(&mut self.drift, newer.drift);
    }

    pub(crate) fn finish(self, always: Vec<String>) -> Gate {
        Gate {
            enabled: self.enabled.unwrap_or(true),
            min_turn: self.min_turn.unwrap_or(Duration::ZERO),
            scope: self.scope.unwrap_or(Scope::Turn),
            all_clear: self.all_clear.unwrap_or(Telling::Notify),
            docs_only: self.docs_only.unwrap_or(Telling::Silent),
            no_git: self.no_git.unwrap_or(NoGit::Silent),
            second_stop: self.second_stop.unwrap_or(SecondStop::Pass),
            capture: self.capture.unwrap_or(false),
            commit: self.commit.unwrap_or(false),
            blast_radius: self.blast_radius.unwrap_or(3),
            ask_again: self.ask_again.unwrap_or(false),
            waivers: self.waivers.unwrap_or(true),
            resolved_by: self.resolved_by.unwrap_or(ResolvedBy::Success),
            always,
            rules: Rules {
                errors: self.errors.unwrap_or(RuleLevel::Hold),
                hygiene: self.hygiene.unwrap_or(RuleLevel::Notify),
                drift: self.drift.unwrap_or(RuleLevel::Notify),
            },
        }
    }
}

#[derive(Default)]
pub(crate) struct SnapshotLayer {
    at_turn_start: Option<bool>,
    keep: Option<usize>,
    keep_for: Option<Duration>,
}

impl SnapshotLayer {
    pub(crate) fn merge(&mut self, newer: Self) {
        replace(&mut self.at_turn_start, newer.at_turn_start);
        replace(&mut self.keep, newer.keep);
        replace(&mut self.keep_for, newer.keep_for);
    }

    pub(crate) fn finish(self) -> SnapshotSettings {
        SnapshotSettings {
            at_turn_start: self.at_turn_start.unwrap_or(false),
            keep: self.keep.unwrap_or(50),
            keep_for: self.keep_for.unwrap_or(Duration::from_secs(7 * 24 * 60 * 60)),
        }
    }
}

#[derive(Default)]
pub(crate) struct PlanLayer {
    slug_from_branch: Option<String>,
    path: Option<String>,
}

impl PlanLayer {
    pub(crate) fn merge(&mut self, newer: Self) {
        replace(&mut self.slug_from_branch, newer.slug_from_branch);
        replace(&mut self.path, newer.path);
    }

    pub(crate) fn finish(self) -> Plan {
        Plan {
            slug_from_branch: self.slug_from_branch.unwrap_or_default(),
            path: self.path.unwrap_or_else(|| "todos/{slug}/implementation-plan.md".to_owned()),
        }
    }
}

#[derive(Default)]
pub(crate) struct MessagesLayer {
    all_clear: Option<String>,
    docs_only: Option<String>,
    capture: Option<String>,
    commit: Option<String>,
    generic: Option<String>,
    uncommitted: Option<String>,
}

impl MessagesLayer {
    pub(crate) fn merge(&mut self, newer: Self) {
        replace(&mut self.all_clear, newer.all_clear);
        replace(&mut self.docs_only, newer.docs_only);
        replace(&mut self.capture, newer.capture);
        replace(&mut self.commit, newer.commit);
        replace(&mut self.generic, newer.generic);
        replace(&mut self.uncommitted, newer.uncommitted);
    }

    pub(crate) fn finish(self) -> Messages {
        let or = |text: Option<String>, default: &str| text.unwrap_or_else(|| default.to_owned());
        Messages {
            all_clear: or(self.all_clear, "All expected validations were observed. Commit if ready."),
            docs_only: or(self.docs_only, "No code changes detected."),
            capture: or(self.capture, "Capture anything worth keeping (memories, bugs, ideas)."),
            commit: or(self.commit, "Commit only after the steps above are complete"),
            generic: or(self.generic, "Continue or validate your work if needed."),
            uncommitted: or(
                self.uncommitted,
                "You have uncommitted code changes. Commit your work before stopping.",
            ),
        }
    }
}

pub(crate) struct CategoryLayer {
    pub(crate) name: At<String>,
    pub(crate) include: Option<Globs>,
    pub(crate) exclude: Option<Globs>,
    pub(crate) require: Option<Vec<At<String>>>,
    pub(crate) alone: Option<bool>,
}

impl CategoryLayer {
    pub(crate) fn merge(&mut self, newer: Self) {
        replace(&mut self.include, newer.include);
        replace(&mut self.exclude, newer.exclude);
        replace(&mut self.require, newer.require);
        replace(&mut self.alone, newer.alone);
    }
}

#[derive(Default)]
pub(crate) struct ActionLayer {
    pub(crate) id: At<String>,
    pub(crate) order: Option<i64>,
    pub(crate) say: Option<String>,
    pub(crate) say_after: Option<String>,
    pub(crate) gap: Option<String>,
    pub(crate) evidence: Option<Vec<Pattern>>,
    pub(crate) fresh: Option<Fresh>,
    pub(crate) after: Option<At<String>>,
}

impl ActionLayer {
    pub(crate) fn merge(&mut self, newer: Self) {
        replace(&mut self.order, newer.order);
        replace(&mut self.say, newer.say);
        replace(&mut self.say_after, newer.say_after);
        replace(&mut self.gap, newer.gap);
        replace(&mut self.evidence, newer.evidence);
        replace(&mut self.fresh, newer.fresh);
        replace(&mut self.after, newer.after);
    }
}

/// Reads a file; what is wrong is noted, and the rest of it is read all the same.
pub(crate) fn read(name: &str, text: &str, problems: &mut Vec<Problem>) -> Layer {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match Document::parse(text) {
        Ok(document) => {
            Reader { name: name.into(), text, lines: Lines::of(text), problems }.top(document.root())
        }
        Err(errors) => {
            problems.extend(syntax_problems(name, text, &errors));
            Layer::default()
        }
    }
}

pub(crate) fn syntax_problems(name: &str, text: &str, errors: &[SyntaxError]) -> Vec<Problem> {
    let lines = Lines::of(text);
    let problems = errors.iter().map(|error| {
        let (line, column) = lines.place(error.offset);
        let kind = ProblemKind::Syntax { message: error.message.clone() };
        Problem { file: name.to_owned(), line, column, found: String::new(), kind }
    });
    problems.collect()
}

struct Reader<'a> {
    name: Rc<str>,
    text: &'a str,
    lines: Lines<'a>,
    problems: &'a mut Vec<Problem>,
}

type Key<'i> = Spanned<std::borrow::Cow<'i, str>>;
type Value<'i> = Spanned<DeValue<'i>>;

impl Reader<'_> {
    fn problem(&mut self, span: Range<usize>, kind: ProblemKind) {
        let (line, column) = self.lines.place(span.start);
        let found = self.text.get(span.clone()).filter(|found| !found.is_empty());
        let found = found.or_else(|| self.text.get(span.start..)).unwrap_or_default();
        let found: String =
            found.lines().next().unwrap_or_default().trim_matches(['"', '\'']).chars().take(60).collect();
        self.problems.push(Problem { file: self.name.to_string(), line, column, found, kind });
    }

    fn at(&self, span: Range<usize>, value: String) -> At<String> {
        let (line, column) = self.lines.place(span.start);
        At { value, file: Rc::clone(&self.name), line, column }
    }

    fn unknown(&mut self, key: &Key<'_>, known: &[&'static str]) {
        let nearest = text::nearest(key.get_ref(), known.iter().copied());
        self.problem(key.span(), ProblemKind::UnknownKey { nearest });
    }

    fn wrong(&mut self, value: &Value<'_>, expected: &'static str) {
        self.problem(value.span(), ProblemKind::WrongType { expected });
    }

    fn string(&mut self, value: &Value<'_>) -> Option<String> {
        match value.get_ref() {
            DeValue::String(text) => Some(text.clone().into_owned()),
            _ => {
                self.wrong(value, "a string");
                None
            }
        }
    }

    fn boolean(&mut self, value: &Value<'_>) -> Option<bool> {
        match value.get_ref() {
            DeValue::Boolean(value) => Some(*value),
            _ => {
                self.wrong(value, "true or false");
                None
            }
        }
    }

    fn integer<T: std::str::FromStr>(&mut self, value: &Value<'_>, expected: &'static str) -> Option<T> {
        let number = match value.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse().ok(),
            _ => None,
        };
        if number.is_none() {
            self.wrong(value, expected);
        }
        number
    }

    fn duration(&mut self, value: &Value<'_>) -> Option<Duration> {
        let text = self.string(value)?;
        let duration = text::parse_duration(&text);
        if duration.is_none() {
            self.problem(value.span(), ProblemKind::BadDuration);
        }
        duration
    }

    fn choice<T: Copy>(&mut self, value: &Value<'_>, choices: &[(&'static str, T)]) -> Option<T> {
        let text = self.string(value)?;
        let chosen = choices.iter().find(|(name, _)| *name == text).map(|(_, choice)| *choice);
        if chosen.is_none() {
            let allowed: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
            let nearest = text::nearest(&text, allowed.iter().copied());
            self.problem(value.span(), ProblemKind::UnknownValue { allowed, nearest });
        }
        chosen
    }

    /// An array of strings, each with its place.
    fn strings(&mut self, value: &Value<'_>) -> Option<Vec<(Range<usize>, String)>> {
        let DeValue::Array(items) = value.get_ref() else {
            self.wrong(value, "an array of strings");
            return None;
        };
        let items: Vec<_> = items.iter().map(|item| (item.span(), self.string(item))).collect();
        Some(items.into_iter().filter_map(|(span, text)| Some((span, text?))).collect())
    }

    fn names(&mut self, value: &Value<'_>) -> Option<Vec<At<String>>> {
        let strings = self.strings(value)?;
        Some(strings.into_iter().map(|(span, text)| self.at(span, text)).collect())
    }

    fn globs(&mut self, value: &Value<'_>) -> Option<Globs> {
        let mut globs = Globs::default();
        for (span, text) in self.strings(value)? {
            if let Err(message) = globs.push(&text) {
                self.problem(span, ProblemKind::BadGlob { message });
            }
        }
        Some(globs)
    }

    fn patterns(&mut self, value: &Value<'_>) -> Option<Vec<Pattern>> {
        let mut patterns = Vec::new();
        for (span, text) in self.strings(value)? {
            match Pattern::parse(&text) {
                Ok(pattern) => patterns.push(pattern),
                Err(error) => self.problem(span, ProblemKind::BadPattern { message: error.to_string() }),
            }
        }
        Some(patterns)
    }

    fn table<'v, 'i>(&mut self, value: &'v Value<'i>) -> Option<&'v DeTable<'i>> {
        match value.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => {
                self.wrong(value, "a table");
                None
            }
        }
    }

    /// `[[name]]`
    fn tables<'v, 'i>(&mut self, value: &'v Value<'i>) -> Vec<(Range<usize>, &'v DeTable<'i>)> {
        match value.get_ref() {
            DeValue::Array(items) => {
                items.iter().filter_map(|item| Some((item.span(), self.table(item)?))).collect()
            }
            _ => {
                self.wrong(value, "an array of tables");
                Vec::new()
            }
        }
    }

    fn top(&mut self, table: &DeTable<'_>) -> Layer {
        let mut layer = Layer::default();
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "presets" => layer.presets = self.names(value).unwrap_or_default(),
                "prose" => layer.prose = self.globs(value),
                "other_code" => layer.other_code = self.names(value),
                "gate" => layer.gate = self.gate(value),
                "plan" => layer.plan = self.plan(value),
                "snapshot" => layer.snapshot = self.snapshot(value),
                "category" => layer.categories = self.categories(value),
                "action" => layer.actions = self.actions(value),
                "error" => layer.errors = self.errors(value),
                "check" => layer.checks = self.checks(value),
                "message" => layer.messages = self.messages(value),
                "autosave" => layer.autosave = self.autosave(value),
                _ => self.unknown(key, TOP),
            }
        }
        layer
    }

    fn gate(&mut self, value: &Value<'_>) -> GateLayer {
        let mut gate = GateLayer::default();
        let Some(table) = self.table(value) else { return gate };
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "enabled" => gate.enabled = self.boolean(value),
                "min_turn" => gate.min_turn = self.duration(value),
                "scope" => gate.scope = self.choice(value, SCOPES),
                "all_clear" => gate.all_clear = self.choice(value, TELLINGS),
                "docs_only" => gate.docs_only = self.choice(value, TELLINGS),
                "no_git" => gate.no_git = self.choice(value, NO_GITS),
                "second_stop" => gate.second_stop = self.choice(value, SECOND_STOPS),
                "capture" => gate.capture = self.boolean(value),
                "commit" => gate.commit = self.boolean(value),
                "blast_radius" => gate.blast_radius = self.integer(value, "a whole number from 0 up"),
                "ask_again" => gate.ask_again = self.boolean(value),
                "waivers" => gate.waivers = self.boolean(value),
                "resolved_by" => gate.resolved_by = self.choice(value, RESOLVED_BY),
                "always" => gate.always = self.names(value),
                "rules" => self.rules(value, &mut gate),
                _ => self.unknown(key, GATE),
            }
        }
        gate
    }

    fn rules(&mut self, value: &Value<'_>, gate: &mut GateLayer) {
        let Some(table) = self.table(value) else { return };
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "errors" => gate.errors = self.choice(value, RULE_LEVELS),
                "hygiene" => gate.hygiene = self.choice(value, RULE_LEVELS),
                "drift" => gate.drift = self.choice(value, RULE_LEVELS),
                _ => self.unknown(key, RULES),
            }
        }
    }

    fn plan(&mut self, value: &Value<'_>) -> PlanLayer {
        let mut plan = PlanLayer::default();
        let Some(table) = self.table(value) else { return plan };
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "slug_from_branch" => plan.slug_from_branch = self.string(value),
                "path" => plan.path = self.path_inside(value),
                _ => self.unknown(key, PLAN),
            }
        }
        plan
    }

    fn snapshot(&mut self, value: &Value<'_>) -> SnapshotLayer {
        let mut snapshot = SnapshotLayer::default();
        let Some(table) = self.table(value) else { return snapshot };
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "at_turn_start" => snapshot.at_turn_start = self.boolean(value),
                "keep" => snapshot.keep = self.integer(value, "a whole number from 0 up"),
                "keep_for" => snapshot.keep_for = self.duration(value),
                _ => self.unknown(key, SNAPSHOT),
            }
        }
        snapshot
    }

    /// Plan and notes lie inside the repository, whatever the file says.
    fn path_inside(&mut self, value: &Value<'_>) -> Option<String> {
        let path = self.string(value)?;
        if path.starts_with('/') || path.split('/').any(|part| part == "..") {
            let message = "it must be relative to the root of the repository and stay inside";
            self.problem(value.span(), ProblemKind::BadPath { message });
            return None;
        }
        Some(path)
    }

    fn categories(&mut self, value: &Value<'_>) -> Vec<CategoryLayer> {
        let mut categories: Vec<CategoryLayer> = Vec::new();
        for (span, table) in self.tables(value) {
            let mut name = None;
            let (mut include, mut exclude, mut require, mut alone) = (None, None, None, None);
            for (key, value) in table {
                match key.get_ref().as_ref() {
                    "name" => {
                        name = self.string(value).map(|text| (value.span(), self.at(value.span(), text)))
                    }
                    "include" => include = self.globs(value),
                    "exclude" => exclude = self.globs(value),
                    "require" => require = self.names(value),
                    "alone" => alone = self.boolean(value),
                    _ => self.unknown(key, CATEGORY),
                }
            }
            let Some((name_span, name)) = name else {
                if !table.contains_key("name") {
                    self.problem(span, ProblemKind::Missing { key: "name" });
                }
                continue;
            };
            if let Some(first) = categories.iter().find(|known| known.name.value == name.value) {
                let first_line = first.name.line;
                self.problem(name_span, ProblemKind::Twice { first_line });
                continue;
            }
            categories.push(CategoryLayer { name, include, exclude, require, alone });
        }
        categories
    }

    fn actions(&mut self, value: &Value<'_>) -> Vec<ActionLayer> {
        let mut actions = Vec::new();
        let Some(table) = self.table(value) else { return actions };
        for (id, value) in table {
            let id = self.at(id.span(), id.get_ref().clone().into_owned());
            let mut action = ActionLayer { id, ..ActionLayer::default() };
            let Some(table) = self.table(value) else { continue };
            for (key, value) in table {
                match key.get_ref().as_ref() {
                    "order" => action.order = self.integer(value, "a whole number"),
                    "say" => action.say = self.string(value),
                    "say_after" => action.say_after = self.string(value),
                    "gap" => action.gap = self.string(value),
                    "evidence" => action.evidence = self.patterns(value),
                    "fresh" => action.fresh = self.choice(value, FRESHNESS),
                    "after" => action.after = self.string(value).map(|text| self.at(value.span(), text)),
                    _ => self.unknown(key, ACTION),
                }
            }
            actions.push(action);
        }
        actions
    }

    fn errors(&mut self, value: &Value<'_>) -> Vec<ErrorText> {
        let mut errors = Vec::new();
        for (span, table) in self.tables(value) {
            let mut error = ErrorText { contains: Vec::new(), ran: Vec::new(), say: String::new() };
            for (key, value) in table {
                match key.get_ref().as_ref() {
                    // One text or several.
                    "contains" => {
                        error.contains = match value.get_ref() {
                            DeValue::String(text) => vec![text.clone().into_owned()],
                            _ => self
                                .strings(value)
                                .unwrap_or_default()
                                .into_iter()
                                .map(|(_, text)| text)
                                .collect(),
                        }
                    }
                    "ran" => error.ran = self.patterns(value).unwrap_or_default(),
                    "say" => error.say = self.string(value).unwrap_or_default(),
                    _ => self.unknown(key, ERROR),
                }
            }
            if !table.contains_key("say") {
                self.problem(span, ProblemKind::Missing { key: "say" });
            }
            errors.push(error);
        }
        errors
    }

    fn checks(&mut self, value: &Value<'_>) -> Vec<Check> {
        let mut checks = Vec::new();
        for (span, table) in self.tables(value) {
            let mut check = Check { when: Vec::new(), run: String::new(), timeout: Duration::from_secs(60) };
            for (key, value) in table {
                match key.get_ref().as_ref() {
                    "when" => check.when = self.globs(value).unwrap_or_default().texts(),
                    "run" => check.run = self.string(value).unwrap_or_default(),
                    "timeout" => check.timeout = self.duration(value).unwrap_or(check.timeout),
                    _ => self.unknown(key, CHECK),
                }
            }
            for key in ["when", "run"] {
                if !table.contains_key(key) {
                    self.problem(span.clone(), ProblemKind::Missing { key });
                }
            }
            checks.push(check);
        }
        checks
    }

    fn messages(&mut self, value: &Value<'_>) -> MessagesLayer {
        let mut messages = MessagesLayer::default();
        let Some(table) = self.table(value) else { return messages };
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "all_clear" => messages.all_clear = self.string(value),
                "docs_only" => messages.docs_only = self.string(value),
                "capture" => messages.capture = self.string(value),
                "commit" => messages.commit = self.string(value),
                "generic" => messages.generic = self.string(value),
                "uncommitted" => messages.uncommitted = self.string(value),
                _ => self.unknown(key, MESSAGE),
            }
        }
        messages
    }

    fn autosave(&mut self, value: &Value<'_>) -> AutosaveLayer {
        let mut autosave = AutosaveLayer::default();
        let Some(table) = self.table(value) else { return autosave };
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "mode" => autosave.mode = self.choice(value, AUTOSAVE_MODES),
                "threshold" => autosave.threshold = self.percent(value),
                "window" => autosave.window = self.tokens(value),
                "push" => autosave.push = self.boolean(value),
                "include" => autosave.include = self.choice(value, INCLUDES),
                "notes" => autosave.notes = self.path_inside(value),
                "subject" => autosave.subject = self.string(value),
                "body" => autosave.body = self.string(value),
                "co_author" => autosave.co_author = self.string(value),
                "allow_secrets_in" => {
                    autosave.allow_secrets_in = self.globs(value).map(|globs| globs.texts())
                }
                "allow_secrets" => {
                    let texts = self.strings(value);
                    autosave.allow_secrets =
                        texts.map(|texts| texts.into_iter().map(|(_, text)| text).collect());
                }
                "hook_timeout" => autosave.hook_timeout = self.time_limit(value),
                _ => self.unknown(key, AUTOSAVE),
            }
        }
        autosave
    }

    fn tokens(&mut self, value: &Value<'_>) -> Option<u64> {
        let expected = "a whole number of tokens from 1 up";
        let tokens = self.integer(value, expected)?;
        if tokens == 0 {
            self.wrong(value, expected);
            return None;
        }
        Some(tokens)
    }

    /// Nothing is done within no time.
    fn time_limit(&mut self, value: &Value<'_>) -> Option<Duration> {
        let limit = self.duration(value)?;
        if limit.is_zero() {
            self.wrong(value, "a time above zero");
            return None;
        }
        Some(limit)
    }

    fn percent(&mut self, value: &Value<'_>) -> Option<u8> {
        let expected = "a whole number from 1 to 99";
        let percent = self.integer(value, expected)?;
        if !(1..=99).contains(&percent) {
            self.wrong(value, expected);
            return None;
        }
        Some(percent)
    }
}
