//! Walks the syntax tree in the order in which the shell would run it: collects the simple commands, follows
//! `cd`, `set`, redirections and functions, and lets `flow` work out what the exit status proves.

use std::collections::HashMap;
use std::rc::Rc;

use rable::{CasePattern, ListItem, ListOperator, Node, NodeKind};

use super::flow::{Blame, Flow, Proof, Set};
use super::opaque::{self, Stripped};
use super::word::{self, Word};
use super::wrapper::{self, Peeled};
use super::{Attribution, Directory, Mask, NotUnderstood, Output, SimpleCommand, Touched, caps, files};

/// More would be a script that nobody typed.
pub(crate) const MOST_COMMANDS: usize = 4000;
/// Nesting of the syntax tree that is followed.
const DEEPEST: usize = 60;
/// `bash -c "bash -c …"` and functions that call functions.
const DEEPEST_SCRIPT: usize = 4;

pub(crate) fn commands(command: &str) -> Result<Vec<SimpleCommand>, NotUnderstood> {
    if command.len() > caps::LONGEST_WITH_BODIES {
        return Err(NotUnderstood::TooLong);
    }
    // A client on Windows may send CRLF; no shell is meant to see the CR.
    let unix = command.replace("\r\n", "\n");
    let (stripped, nodes) = parse(&unix)?;
    let mut walk = Walk {
        found: Vec::new(),
        masks: Vec::new(),
        shell: Shell::default(),
        depth: 0,
        scripts: 0,
        trapped: false,
    };
    let whole = walk.sequence(&nodes.iter().collect::<Vec<_>>(), &stripped, Tested::No)?;
    Ok(walk.finish(whole.subshell(false)))
}

fn parse(command: &str) -> Result<(Stripped<'_>, Vec<Node>), NotUnderstood> {
    let stripped = opaque::strip(command);
    caps::check(&stripped.text)?;
    let nodes = rable::parse(&stripped.text, true)
        .map_err(|error| NotUnderstood::Syntax(error.to_string().chars().take(200).collect()))?;
    Ok((stripped, nodes))
}

/// Whether the status of a piece of shell is looked at by the shell itself, so that `set -e` leaves it alone.
#[derive(Clone, Copy, PartialEq)]
enum Tested {
    Yes,
    No,
}

/// What a subshell inherits and cannot give back.
#[derive(Clone)]
struct Shell {
    errexit: bool,
    pipefail: bool,
    directory: Directory,
    output: Output,
    functions: HashMap<String, Rc<Node>>,
    /// What `$?` and `${PIPESTATUS[0]}` stand for, and the variables that keep them.
    status: Status,
    first_of_pipe: Status,
    kept: HashMap<String, Status>,
    /// Arguments of the function that runs.
    positional: Vec<Word>,
}

/// The status of something that ran: what 0 proves, and what explains another.
#[derive(Clone)]
struct Status {
    success: Proof,
    failure: Blame,
}

impl Status {
    fn of(flow: &Flow) -> Self {
        Self { success: flow.success.clone(), failure: flow.failure.clone() }
    }

    fn unknown() -> Self {
        Self { success: Some(Set::new()), failure: Blame::nobody() }
    }
}

impl Default for Shell {
    fn default() -> Self {
        Self {
            errexit: false,
            pipefail: false,
            directory: Directory::Start,
            output: Output::Shown,
            functions: HashMap::new(),
            status: Status::unknown(),
            first_of_pipe: Status::unknown(),
            kept: HashMap::new(),
            positional: Vec::new(),
        }
    }
}

struct Walk {
    found: Vec<SimpleCommand>,
    /// The first thing that hid a command's status, where something did.
    masks: Vec<Option<Mask>>,
    shell: Shell,
    depth: usize,
    scripts: usize,
    trapped: bool,
}

type Walked = Result<Flow, NotUnderstood>;

impl Walk {
    fn finish(mut self, whole: Flow) -> Vec<SimpleCommand> {
        let proven = whole.success.unwrap_or_default();
        let explained = !whole.failure.unexplained && !self.trapped;
        for (index, command) in self.found.iter_mut().enumerate() {
            let mask = self.masks.get(index).copied().flatten();
            command.attribution = if self.trapped {
                Attribution::Masked(Mask::Trap)
            } else if proven.contains(&index) {
                Attribution::Decides
            } else {
                Attribution::Masked(mask.unwrap_or(Mask::Conditional))
            };
            command.suspect = explained && whole.failure.suspects.contains(&index);
        }
        self.show_what_is_read_back();
        self.found
    }

    /// `cmd > log; tail log` shows the command's output after all.
    fn show_what_is_read_back(&mut self) {
        let mut read_later: Vec<String> = Vec::new();
        for command in self.found.iter_mut().rev() {
            if command.output == Output::Hidden
                && command.edits.paths.iter().any(|path| read_later.contains(path))
            {
                command.output = Output::Filtered;
            }
            if command.output != Output::Hidden {
                read_later.extend(command.reads.iter().cloned());
            }
        }
    }

    fn strict(&self, tested: Tested) -> bool {
        self.shell.errexit && tested == Tested::No
    }

    /// Everything from `first` on that has no mask yet gets this one.
    fn mask_from(&mut self, first: usize, mask: Mask) {
        for slot in self.masks.iter_mut().skip(first) {
            slot.get_or_insert(mask);
        }
    }

    /// What `before` proves and `after` does not is hidden by `mask`.
    fn mask_lost(&mut self, before: &Proof, after: &Proof, mask: Mask) {
        let (Some(before), Some(after)) = (before, after) else { return };
        for index in before.difference(after) {
            if let Some(slot) = self.masks.get_mut(*index) {
                slot.get_or_insert(mask);
            }
        }
    }

    fn sequence(&mut self, nodes: &[&Node], stripped: &Stripped<'_>, tested: Tested) -> Walked {
        let mut flows = Vec::with_capacity(nodes.len());
        for (index, node) in nodes.iter().enumerate() {
            let flow = self.node(node, stripped, tested)?;
            if index + 1 < nodes.len() {
                self.mask_lost(&flow.success, &flow.goes_on, Mask::Followed);
            }
            flows.push(flow);
        }
        Ok(Flow::sequence(flows))
    }

    fn node(&mut self, node: &Node, stripped: &Stripped<'_>, tested: Tested) -> Walked {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(NotUnderstood::TooDeep);
        }
        let flow = self.construct(node, stripped, tested)?;
        self.depth -= 1;
        self.shell.status = Status::of(&flow);
        if !matches!(node.kind, NodeKind::Pipeline { .. }) {
            self.shell.first_of_pipe = Status::unknown();
        }
        Ok(flow)
    }

    fn construct(&mut self, node: &Node, stripped: &Stripped<'_>, tested: Tested) -> Walked {
        match &node.kind {
            NodeKind::Command { assignments, words, redirects } => {
                self.command(assignments, words, redirects, stripped, tested)
            }
            NodeKind::List { items } => self.list(items, stripped, tested),
            NodeKind::Pipeline { commands, .. } => self.pipeline(commands, stripped, tested),
            NodeKind::Negation { pipeline } => {
                let inner = self.node(pipeline, stripped, Tested::Yes)?;
                self.mask_lost(&inner.success, &inner.goes_on, Mask::Negated);
                Ok(inner.negated())
            }
            NodeKind::Time { pipeline, .. } => self.node(pipeline, stripped, tested),
            NodeKind::BraceGroup { body, redirects } => {
                self.redirected(redirects, stripped, |walk| walk.node(body, stripped, tested))
            }
            NodeKind::Subshell { body, redirects } => {
                self.redirected(redirects, stripped, |walk| walk.subshell(body, stripped, tested))
            }
            NodeKind::If { condition, then_body, else_body, redirects } => {
                self.redirected(redirects, stripped, |walk| {
                    walk.branches(condition, then_body, else_body.as_deref(), stripped, tested)
                })
            }
            NodeKind::While { condition, body, redirects } => self.redirected(redirects, stripped, |walk| {
                let condition = walk.condition(condition, stripped)?;
                let turn = walk.loop_body(body, stripped, tested)?;
                // It ends where the condition fails, after any number of turns.
                let turns = turn.repeated().or_instead(Flow::neutral());
                Ok(Flow::sequence(vec![Flow { success: condition.goes_on.clone(), ..condition }, turns]))
            }),
            NodeKind::Until { condition, body, redirects } => self.redirected(redirects, stripped, |walk| {
                let first = walk.found.len();
                let condition = walk.condition(condition, stripped)?;
                let turn = walk.loop_body(body, stripped, tested)?;
                if walk.jumps(first) {
                    walk.mask_from(first, Mask::Loop);
                    return Ok(turn.or_instead(Flow::neutral()));
                }
                // It ends only where the condition holds.
                let proven = condition.success.clone();
                let turns = turn.repeated().or_instead(Flow::neutral());
                Ok(Flow::sequence(vec![turns, Flow { goes_on: proven, ..condition }]))
            }),
            NodeKind::For { words, body, redirects, .. } | NodeKind::Select { words, body, redirects, .. } => {
                self.redirected(redirects, stripped, |walk| {
                    let words = words.as_deref().unwrap_or_default();
                    for word in words {
                        walk.substitutions(word, stripped)?;
                    }
                    let certain = words.iter().any(|word| matches!(&word.kind, NodeKind::Word { value, .. } if !value.contains(['$', '`'])));
                    let turn = walk.loop_body(body, stripped, tested)?.repeated();
                    Ok(if certain { turn } else { turn.or_instead(Flow::neutral()) })
                })
            }
            NodeKind::ForArith { body, redirects, .. } => self.redirected(redirects, stripped, |walk| {
                Ok(walk.loop_body(body, stripped, tested)?.repeated().or_instead(Flow::neutral()))
            }),
            NodeKind::Case { word, patterns, redirects } => self.redirected(redirects, stripped, |walk| {
                walk.substitutions(word, stripped)?;
                walk.case(patterns, stripped, tested)
            }),
            NodeKind::Function { name, body } => {
                self.shell.functions.insert(name.clone(), Rc::new((**body).clone()));
                Ok(Flow::neutral())
            }
            NodeKind::Coproc { command, .. } => {
                self.background(|walk| walk.subshell(command, stripped, Tested::Yes))
            }
            // Tests and arithmetic: they run nothing, and can fail without a command to name.
            NodeKind::Empty | NodeKind::Comment { .. } => Ok(Flow::neutral()),
            _ => Ok(Flow::opaque()),
        }
    }

    /// The parser nests lists to the left, as deep as they are long; this walks them without recursion.
    fn list(&mut self, items: &[ListItem], stripped: &Stripped<'_>, tested: Tested) -> Walked {
        let mut parts: Vec<(&Node, Option<ListOperator>)> = Vec::new();
        let mut levels = vec![items];
        // Down the left side: each level's first item is the list that came before.
        while let Some(ListItem { command: Node { kind: NodeKind::List { items }, .. }, .. }) =
            levels.last().and_then(|items| items.first())
        {
            levels.push(items);
        }
        for (level, items) in levels.iter().enumerate().rev() {
            let innermost = level + 1 == levels.len();
            for (index, item) in items.iter().enumerate() {
                if index == 0 && !innermost {
                    // Already there; only its operator is new.
                    if let Some(last) = parts.last_mut() {
                        last.1 = item.operator;
                    }
                } else {
                    parts.push((&item.command, item.operator));
                }
            }
        }
        self.parts(&parts, stripped, tested)
    }

    /// `a && b || c; d & e`: and-or lists, which `;` and `&` end.
    fn parts(
        &mut self,
        parts: &[(&Node, Option<ListOperator>)],
        stripped: &Stripped<'_>,
        tested: Tested,
    ) -> Walked {
        let mut statements = Vec::new();
        let ends = |operator| !matches!(operator, Some(ListOperator::And | ListOperator::Or));
        let count = parts.split_inclusive(|(_, operator)| ends(*operator)).count();
        for (index, statement) in parts.split_inclusive(|(_, operator)| ends(*operator)).enumerate() {
            let background =
                statement.last().is_some_and(|(_, operator)| *operator == Some(ListOperator::Background));
            let flow = if background {
                self.background(|walk| walk.and_or(statement, stripped, Tested::Yes))?
            } else {
                self.and_or(statement, stripped, tested)?
            };
            if index + 1 < count {
                self.mask_lost(&flow.success, &flow.goes_on, Mask::Followed);
            }
            statements.push(flow);
        }
        Ok(Flow::sequence(statements))
    }

    fn and_or(
        &mut self,
        parts: &[(&Node, Option<ListOperator>)],
        stripped: &Stripped<'_>,
        tested: Tested,
    ) -> Walked {
        let mut whole: Option<Flow> = None;
        let mut operator = None;
        for (index, (node, next_operator)) in parts.iter().enumerate() {
            let tested = if index + 1 < parts.len() { Tested::Yes } else { tested };
            let flow = self.node(node, stripped, tested)?;
            whole = Some(match (whole, operator) {
                (Some(before), Some(ListOperator::Or)) => {
                    let success = (before.success.clone(), flow.success.clone());
                    let after = before.or(flow);
                    self.mask_lost(&success.0, &after.success, Mask::OrElse);
                    self.mask_lost(&success.0, &after.exits, Mask::OrElse);
                    self.mask_lost(&success.1, &after.success, Mask::Conditional);
                    after
                }
                (Some(before), _) => before.and(flow),
                (None, _) => flow,
            });
            operator = *next_operator;
            // On the right of `&&` it is 0 anyway.
            if operator != Some(ListOperator::And) {
                self.shell.status = whole.as_ref().map_or_else(Status::unknown, Status::of);
            }
            if index > 0 {
                self.shell.first_of_pipe = Status::unknown();
            }
        }
        Ok(whole.unwrap_or_else(Flow::neutral))
    }

    fn background(&mut self, inner: impl FnOnce(&mut Self) -> Walked) -> Walked {
        let first = self.found.len();
        let outer = self.shell.clone();
        inner(self)?;
        self.shell = outer;
        self.mask_from(first, Mask::Background);
        Ok(Flow::neutral())
    }

    fn pipeline(&mut self, commands: &[Node], stripped: &Stripped<'_>, tested: Tested) -> Walked {
        let outer = self.shell.clone();
        let ranges: Vec<_> = {
            let mut flows = Vec::new();
            for command in commands {
                let first = self.found.len();
                let flow = self.node(command, stripped, tested)?.subshell(false);
                flows.push((first, self.found.len(), flow));
                self.shell = outer.clone();
            }
            flows
        };
        self.pipe_output(&ranges);
        let mut flows = ranges.into_iter().map(|(_, _, flow)| flow);
        let Some(first) = flows.next() else { return Ok(Flow::neutral()) };
        let first_status = Status::of(&first);
        let mut whole = first;
        for next in flows {
            if self.shell.pipefail {
                whole = whole.and(next);
            } else {
                self.mask_lost(&whole.success, &next.success, Mask::Piped);
                whole = next;
            }
        }
        self.shell.first_of_pipe = first_status;
        Ok(whole.subshell(self.strict(tested)))
    }

    /// All but the last one show only what the programs after them let through.
    fn pipe_output(&mut self, ranges: &[(usize, usize, Flow)]) {
        let mut passes = Output::Shown;
        for (first, end, _) in ranges.iter().rev() {
            let range = self.found.get_mut(*first..*end).unwrap_or_default();
            let lets_through = range.iter().all(|command| {
                // Behind `xargs` the input becomes arguments.
                files::lets_output_through(&command.program) && !command.arguments.contains(&Word::unknown())
            });
            let hidden =
                range.iter().any(|command| command.output == Output::Hidden && command.program != "tee");
            if passes != Output::Shown {
                for command in range.iter_mut().filter(|command| command.output == Output::Shown) {
                    command.output = passes;
                }
            }
            passes = if lets_through && !hidden && passes != Output::Hidden {
                Output::Filtered
            } else {
                Output::Hidden
            };
        }
    }

    fn subshell(&mut self, body: &Node, stripped: &Stripped<'_>, tested: Tested) -> Walked {
        let outer = self.shell.clone();
        let flow = self.node(body, stripped, tested)?;
        self.shell = outer;
        Ok(flow.subshell(self.strict(tested)))
    }

    fn condition(&mut self, condition: &Node, stripped: &Stripped<'_>) -> Walked {
        let flow = self.node(condition, stripped, Tested::Yes)?;
        self.mask_lost(&flow.success, &flow.goes_on, Mask::Condition);
        Ok(flow)
    }

    fn branches(
        &mut self,
        condition: &Node,
        then_body: &Node,
        else_body: Option<&Node>,
        stripped: &Stripped<'_>,
        tested: Tested,
    ) -> Walked {
        let condition = self.condition(condition, stripped)?;
        let first = self.found.len();
        let before = self.shell.directory.clone();
        let then_flow = self.node(then_body, stripped, tested)?;
        let after_then = std::mem::replace(&mut self.shell.directory, before);
        let else_flow = match else_body {
            Some(body) => self.node(body, stripped, tested)?,
            None => Flow::neutral(),
        };
        if self.shell.directory != after_then {
            self.shell.directory = Directory::Unknown;
        }
        self.mask_from(first, Mask::Conditional);
        Ok(condition.branch(then_flow, else_flow))
    }

    fn case(&mut self, patterns: &[CasePattern], stripped: &Stripped<'_>, tested: Tested) -> Walked {
        let first = self.found.len();
        let before = self.shell.directory.clone();
        let mut whole: Option<Flow> = None;
        let mut has_default = false;
        for CasePattern { patterns, body, .. } in patterns {
            has_default |= patterns
                .iter()
                .any(|pattern| matches!(&pattern.kind, NodeKind::Word { value, .. } if value == "*"));
            let branch = match body {
                Some(body) => self.node(body, stripped, tested)?,
                None => Flow::neutral(),
            };
            whole = Some(match whole {
                Some(whole) => whole.or_instead(branch),
                None => branch,
            });
        }
        if self.shell.directory != before {
            self.shell.directory = Directory::Unknown;
        }
        self.mask_from(first, Mask::Conditional);
        let whole = whole.unwrap_or_else(Flow::neutral);
        Ok(if has_default { whole } else { whole.or_instead(Flow::neutral()) })
    }

    fn loop_body(&mut self, body: &Node, stripped: &Stripped<'_>, tested: Tested) -> Walked {
        let first = self.found.len();
        let before = self.shell.directory.clone();
        let flow = self.node(body, stripped, tested)?;
        if self.shell.directory != before {
            self.shell.directory = Directory::Unknown;
        }
        self.mask_from(first, Mask::Loop);
        if self.jumps(first) {
            // Everything after the jump may not have run.
            return Ok(Flow { success: Some(Set::new()), goes_on: Some(Set::new()), ..flow });
        }
        Ok(flow)
    }

    /// Whether a loop whose commands begin at `first` can be left early.
    fn jumps(&self, first: usize) -> bool {
        self.found.iter().skip(first).any(|command| matches!(command.program.as_str(), "break" | "continue"))
    }

    /// Runs `inner` with the redirections of a compound command.
    fn redirected(
        &mut self,
        redirects: &[Node],
        stripped: &Stripped<'_>,
        inner: impl FnOnce(&mut Self) -> Walked,
    ) -> Walked {
        for redirect in redirects {
            self.substitutions(redirect, stripped)?;
        }
        let effect = self.redirections(redirects, stripped);
        let outer = self.shell.output;
        let first = self.found.len();
        self.shell.output = effect.output.unwrap_or(outer);
        let flow = inner(self)?;
        self.shell.output = outer;
        // The file is written while the group runs: its last command stands for it, its first for what is read.
        if let Some(last) = self.found.get_mut(first..).and_then(<[_]>::last_mut) {
            last.edits.add(effect.edits.clone());
        }
        if effect.output == Some(Output::Hidden) {
            for command in
                self.found.iter_mut().skip(first).filter(|command| command.output == Output::Hidden)
            {
                command.edits.add(effect.edits.clone());
            }
        }
        if let Some(first) = self.found.get_mut(first) {
            first.reads.extend(effect.reads);
        }
        Ok(flow)
    }

    /// What the redirections of one command do.
    fn redirections(&self, redirects: &[Node], stripped: &Stripped<'_>) -> Redirections {
        let mut effect = Redirections::default();
        for redirect in redirects {
            let NodeKind::Redirect { op, target, fd, .. } = &redirect.kind else { continue };
            let NodeKind::Word { value, .. } = &target.kind else { continue };
            let word = word::unquote(value, stripped);
            let text = word.text();
            let stdout = matches!(fd, -1 | 1) || op.starts_with('&');
            match op.as_str() {
                "<" => effect
                    .reads
                    .extend(word.known().and_then(|path| files::resolve(path, &self.shell.directory))),
                ">&" if text == "-" || text.bytes().all(|byte| byte.is_ascii_digit()) => {
                    // `>&2` still shows; `2>&1` moves nothing of ours away.
                }
                ">" | ">>" | ">|" | "&>" | "&>>" | ">&" | "<>" => {
                    if text.starts_with(">(") {
                        effect.output = Some(Output::Filtered);
                    } else if matches!(text, "/dev/stdout" | "/dev/stderr" | "/dev/tty") {
                    } else {
                        if stdout && op != "<>" {
                            effect.output = Some(Output::Hidden);
                        }
                        if !text.starts_with("/dev/") {
                            effect.edits.word(&word, &self.shell.directory);
                        }
                    }
                }
                _ => {}
            }
        }
        effect
    }

    /// The commands inside `$(…)`, `` `…` ``, `<(…)` of a word; the flow of the last one.
    fn substitutions(&mut self, word: &Node, stripped: &Stripped<'_>) -> Result<Option<Flow>, NotUnderstood> {
        let parts = match &word.kind {
            NodeKind::Word { parts, .. } => parts,
            NodeKind::Redirect { target, .. } => return self.substitutions(target, stripped),
            _ => return Ok(None),
        };
        let mut last = None;
        for part in parts {
            if let NodeKind::CommandSubstitution { command, .. }
            | NodeKind::ProcessSubstitution { command, .. } = &part.kind
            {
                let outer = self.shell.clone();
                self.shell.output = Output::Hidden;
                self.shell.errexit = false;
                let flow = self.node(command, stripped, Tested::Yes)?.subshell(false);
                self.shell = outer;
                last = Some(flow);
            }
        }
        Ok(last)
    }

    fn command(
        &mut self,
        assignments: &[Node],
        words: &[Node],
        redirects: &[Node],
        stripped: &Stripped<'_>,
        tested: Tested,
    ) -> Walked {
        let first = self.found.len();
        let mut substituted = None;
        for part in assignments.iter().chain(words).chain(redirects) {
            substituted = self.substitutions(part, stripped)?.or(substituted);
        }
        if words.is_empty() {
            return self.bare(assignments, redirects, substituted, stripped, tested);
        }
        self.mask_from(first, Mask::Substitution);
        let words = self.words(words, stripped);
        let effect = self.redirections(redirects, stripped);
        let bodies = redirects.iter().filter_map(|redirect| match &redirect.kind {
            NodeKind::HereDoc { content, .. } => Some(stripped.body(content)),
            _ => None,
        });
        let body: String = bodies.collect();
        self.run(words, effect, &body, stripped, tested)
    }

    /// `X=1`, `X=$(cmd)`, `> file`: no program.
    fn bare(
        &mut self,
        assignments: &[Node],
        redirects: &[Node],
        substituted: Option<Flow>,
        stripped: &Stripped<'_>,
        tested: Tested,
    ) -> Walked {
        for assignment in assignments {
            let NodeKind::Word { value, .. } = &assignment.kind else { continue };
            let Some((name, value)) = value.split_once('=') else { continue };
            let kept = match value.trim_matches('"') {
                "$?" => Some(self.shell.status.clone()),
                "${PIPESTATUS[0]}" | "$PIPESTATUS" => Some(self.shell.first_of_pipe.clone()),
                _ => None,
            };
            match kept {
                Some(status) => self.shell.kept.insert(name.to_owned(), status),
                None => self.shell.kept.remove(name),
            };
        }
        let effect = self.redirections(redirects, stripped);
        if !effect.edits.is_nothing() {
            let index = self.emit(vec![Word::from(":")], effect, "", Output::Hidden)?;
            return Ok(Flow::command(index, true, self.strict(tested)));
        }
        // The status of an assignment is that of the last substitution in it.
        Ok(substituted.unwrap_or_else(Flow::neutral).subshell(self.strict(tested)))
    }

    fn words(&self, words: &[Node], stripped: &Stripped<'_>) -> Vec<Word> {
        let mut unquoted = Vec::with_capacity(words.len());
        for word in words {
            let NodeKind::Word { value, .. } = &word.kind else { continue };
            if matches!(value.as_str(), "\"$@\"" | "$@" | "\"${@}\"") {
                unquoted.extend(self.shell.positional.iter().cloned());
            } else {
                unquoted.push(word::unquote(value, stripped));
            }
        }
        unquoted
    }

    fn run(
        &mut self,
        words: Vec<Word>,
        effect: Redirections,
        body: &str,
        stripped: &Stripped<'_>,
        tested: Tested,
    ) -> Walked {
        let strict = self.strict(tested);
        let output = effect.output.unwrap_or(self.shell.output);
        let Some(name) = words.first().map(|word| word.text().to_owned()) else {
            return Ok(Flow::neutral());
        };
        if let Some(function) = self.shell.functions.get(&name).cloned() {
            return self.call(&function, words.into_iter().skip(1).collect(), effect, stripped, tested);
        }
        let (mask, inner) = match wrapper::peel(words) {
            Peeled::Command { words, mask } => (mask, Inner::Words(words)),
            Peeled::Script { text, errexit, pipefail } => (None, Inner::Script { text, errexit, pipefail }),
            Peeled::ScriptFromInput { words, errexit } if !body.is_empty() => {
                drop(words);
                (None, Inner::Script { text: body.to_owned(), errexit, pipefail: false })
            }
            Peeled::ScriptFromInput { words, .. } => (None, Inner::Words(words)),
            Peeled::PerFile { words, command, mask } => {
                let index = self.emit(words, effect, "", output)?;
                let inner = self.run(command, Redirections::default(), "", stripped, Tested::Yes)?;
                let find = Flow::command(index, true, strict);
                if let Some(mask) = mask {
                    self.mask_from(index + 1, mask);
                    return Ok(find);
                }
                return Ok(find.and(inner));
            }
        };
        match inner {
            Inner::Words(words) => {
                let index = self.emit(words, effect, body, output)?;
                if let Some(mask) = mask {
                    self.mask_from(index, mask);
                    return Ok(Flow::command(index, true, false).unproven());
                }
                Ok(self.builtin(index, strict))
            }
            Inner::Script { text, errexit, pipefail } => {
                self.script(&text, errexit, pipefail, effect, strict)
            }
        }
    }

    /// `bash -c '…'`, `eval '…'`, `bash <<EOF`.
    fn script(
        &mut self,
        text: &str,
        errexit: bool,
        pipefail: bool,
        effect: Redirections,
        strict: bool,
    ) -> Walked {
        let parsed = if self.scripts < DEEPEST_SCRIPT { parse(text).ok() } else { None };
        let Some((stripped, nodes)) = parsed else {
            let output = effect.output.unwrap_or(self.shell.output);
            let words = vec![Word::from("bash"), Word::from("-c"), Word::from(text)];
            let index = self.emit(words, effect, "", output)?;
            return Ok(Flow::command(index, true, strict));
        };
        let first = self.found.len();
        let outer = self.shell.clone();
        // It is another shell; and the functions' text is not in this one.
        self.shell.functions.clear();
        self.shell.errexit = errexit;
        self.shell.pipefail = pipefail;
        self.shell.output = effect.output.unwrap_or(outer.output);
        self.scripts += 1;
        let flow = self.sequence(&nodes.iter().collect::<Vec<_>>(), &stripped, Tested::No)?;
        self.scripts -= 1;
        self.shell = outer;
        if let Some(last) = self.found.get_mut(first..).and_then(<[_]>::last_mut) {
            last.edits.add(effect.edits);
        }
        Ok(flow.subshell(strict))
    }

    fn call(
        &mut self,
        function: &Rc<Node>,
        arguments: Vec<Word>,
        effect: Redirections,
        stripped: &Stripped<'_>,
        tested: Tested,
    ) -> Walked {
        if self.scripts >= DEEPEST_SCRIPT {
            return Err(NotUnderstood::TooDeep);
        }
        let first = self.found.len();
        let output = self.shell.output;
        self.shell.output = effect.output.unwrap_or(output);
        let positional = std::mem::replace(&mut self.shell.positional, arguments);
        self.scripts += 1;
        let flow = self.node(function, stripped, tested)?;
        self.scripts -= 1;
        self.shell.positional = positional;
        self.shell.output = output;
        if let Some(last) = self.found.get_mut(first..).and_then(<[_]>::last_mut) {
            last.edits.add(effect.edits);
        }
        let runs = |name: &str| self.found.iter().skip(first).any(|command| command.program == name);
        let (returns, exits) = (runs("return"), runs("exit"));
        if returns || exits {
            self.mask_from(first, Mask::Function);
            return Ok(if exits { Flow::may_exit() } else { Flow::opaque() });
        }
        Ok(if self.strict(tested) { flow.checked() } else { flow })
    }

    fn emit(
        &mut self,
        words: Vec<Word>,
        effect: Redirections,
        body: &str,
        output: Output,
    ) -> Result<usize, NotUnderstood> {
        if self.found.len() >= MOST_COMMANDS {
            return Err(NotUnderstood::TooManyCommands);
        }
        let mut words = words.into_iter();
        let program = words.next().map(|word| wrapper::base_name(word.text())).unwrap_or_default();
        let arguments: Vec<Word> = words.collect();
        let (mut edits, mut reads) = files::touched(&program, &arguments, &self.shell.directory, body);
        edits.add(effect.edits);
        reads.extend(effect.reads);
        self.found.push(SimpleCommand {
            program,
            arguments,
            directory: self.shell.directory.clone(),
            attribution: Attribution::Masked(Mask::Conditional),
            suspect: false,
            output,
            edits,
            reads,
        });
        self.masks.push(None);
        Ok(self.found.len() - 1)
    }

    /// The effect of a command on the shell itself, and its flow.
    fn builtin(&mut self, index: usize, strict: bool) -> Flow {
        let Some(command) = self.found.get(index) else { return Flow::neutral() };
        let first = command.arguments.first();
        match command.program.as_str() {
            "cd" | "pushd" => {
                let target =
                    command.arguments.iter().find(|word| !matches!(word.known(), Some("-L" | "-P" | "--")));
                let target =
                    target.and_then(Word::known).filter(|target| *target != "-" && !target.starts_with('+'));
                self.shell.directory =
                    match target.and_then(|path| files::resolve(path, &self.shell.directory)) {
                        Some(path) if path.is_empty() => Directory::Start,
                        Some(path) => Directory::At(path),
                        None => Directory::Unknown,
                    };
            }
            "popd" => self.shell.directory = Directory::Unknown,
            "set" => self.set_options(index),
            "trap" => {
                self.trapped |= first.is_some_and(|word| word.text().contains("exit"));
            }
            "exec" if first.is_none() && command.output == Output::Hidden => {
                self.shell.output = Output::Hidden
            }
            "exit" | "return" => {
                let status = self.status_named(first.map(Word::text));
                let success = status.success.map(|mut proven| {
                    proven.insert(index);
                    proven
                });
                return Flow::exit(success, status.failure);
            }
            "false" => return Flow::failure(strict),
            _ => {}
        }
        let can_fail = self.found.get(index).is_some_and(|command| !files::never_fails(&command.program));
        Flow::command(index, can_fail, strict)
    }

    /// The status that `exit $rc` ends with.
    fn status_named(&self, argument: Option<&str>) -> Status {
        match argument {
            None | Some("$?") => self.shell.status.clone(),
            Some("${PIPESTATUS[0]}" | "$PIPESTATUS") => self.shell.first_of_pipe.clone(),
            Some("0") => Status::unknown(),
            Some(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                Status { success: None, failure: Blame::nobody() }
            }
            Some(name) => {
                let name = name.trim_start_matches('$').trim_start_matches('{').trim_end_matches('}');
                self.shell.kept.get(name).cloned().unwrap_or_else(Status::unknown)
            }
        }
    }

    fn set_options(&mut self, index: usize) {
        let Some(command) = self.found.get(index) else { return };
        let mut names_option = None;
        for argument in command.known_arguments() {
            if let Some(on) = names_option.take() {
                match argument {
                    "errexit" => self.shell.errexit = on,
                    "pipefail" => self.shell.pipefail = on,
                    _ => {}
                }
                continue;
            }
            let (on, letters) = match (argument.strip_prefix('-'), argument.strip_prefix('+')) {
                (Some(letters), _) if !letters.starts_with('-') => (true, letters),
                (_, Some(letters)) => (false, letters),
                _ => break,
            };
            if letters.contains('e') {
                self.shell.errexit = on;
            }
            if letters.ends_with('o') {
                names_option = Some(on);
            }
        }
    }
}

enum Inner {
    Words(Vec<Word>),
    Script { text: String, errexit: bool, pipefail: bool },
}

#[derive(Default)]
struct Redirections {
    /// Where standard output goes instead.
    output: Option<Output>,
    edits: Touched,
    reads: Vec<String>,
}
