//! Commands that hold other commands: lists, pipelines, subshells, branches and loops. Each works out how the
//! statuses of its parts make its own.

use rable::{CasePattern, ListItem, ListOperator, Node, NodeKind};

use super::{Status, Tested, Walk, Walked};
use crate::shell::flow::{Flow, Set};
use crate::shell::opaque::Stripped;
use crate::shell::word::Word;
use crate::shell::{Directory, Mask, Output, SimpleCommand};
use crate::table::Fact;

impl Walk {
    /// The parser nests lists to the left, as deep as they are long; this walks them without recursion.
    pub(super) fn list(&mut self, items: &[ListItem], stripped: &Stripped<'_>, tested: Tested) -> Walked {
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
        // What decides whether the next part runs.
        let mut is_silent = false;
        for (index, (node, next_operator)) in parts.iter().enumerate() {
            let tested = if index + 1 < parts.len() { Tested::Yes } else { tested };
            let first = self.found.len();
            let flow = match index {
                0 => self.node(node, stripped, tested)?,
                _ => self.perhaps(|walk| walk.node(node, stripped, tested))?,
            };
            if is_silent && operator == Some(ListOperator::And) {
                self.guarded.push(first..self.found.len());
            }
            is_silent &= operator == Some(ListOperator::And);
            is_silent |= self.can_fail_silently(&flow);
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

    /// Whether it can fail so that nobody sees it: a question that is answered by the exit status alone, or something whose
    /// errors are thrown away. `cd`, `source` and a build say what went wrong.
    pub(super) fn can_fail_silently(&self, flow: &Flow) -> bool {
        let is_silent = |command: &SimpleCommand| {
            let is = |fact| command.row().is_some_and(|row| row.is(fact));
            let is_hidden = command.output == Output::Hidden || keeps_nothing(command);
            command.hides_errors || is(Fact::AnswersSilently) || (command.asks() && is_hidden)
        };
        let mut suspects = flow.failure.suspects.iter().filter_map(|index| self.found.get(*index));
        flow.failure.unexplained || suspects.any(is_silent)
    }

    pub(super) fn background(&mut self, inner: impl FnOnce(&mut Self) -> Walked) -> Walked {
        let first = self.found.len();
        let outer = self.shell.clone();
        inner(self)?;
        self.shell = outer;
        self.mask_from(first, Mask::Background);
        Ok(Flow::neutral())
    }

    pub(super) fn pipeline(&mut self, commands: &[Node], stripped: &Stripped<'_>, tested: Tested) -> Walked {
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
        let (mut passes, mut passes_end) = (Output::Shown, true);
        for (first, end, _) in ranges.iter().rev() {
            let range = self.found.get_mut(*first..*end).unwrap_or_default();
            let lets_through = range.iter().all(|command| {
                // Behind `xargs` the input becomes arguments.
                command.row().is_some_and(|row| row.is(Fact::Filters))
                    && !command.arguments.contains(&Word::unknown())
                    && !keeps_nothing(command)
            });
            let hidden =
                range.iter().any(|command| command.output == Output::Hidden && command.program != "tee");
            if passes != Output::Shown {
                for command in range.iter_mut() {
                    let is_shown = command.output == Output::Shown;
                    command.shows_end =
                        passes_end && passes == Output::Filtered && (is_shown || command.shows_end);
                    if is_shown {
                        command.output = passes;
                    }
                }
            }
            passes_end &= range.iter().all(|command| keeps_end(command) && command.output != Output::Hidden);
            passes = if lets_through && !hidden && passes != Output::Hidden {
                Output::Filtered
            } else {
                Output::Hidden
            };
        }
    }

    pub(super) fn subshell(&mut self, body: &Node, stripped: &Stripped<'_>, tested: Tested) -> Walked {
        let outer = self.shell.clone();
        let flow = self.node(body, stripped, tested)?;
        self.shell = outer;
        Ok(flow.subshell(self.strict(tested)))
    }

    pub(super) fn condition(&mut self, condition: &Node, stripped: &Stripped<'_>) -> Walked {
        let flow = self.node(condition, stripped, Tested::Yes)?;
        self.mask_lost(&flow.success, &flow.goes_on, Mask::Condition);
        Ok(flow)
    }

    pub(super) fn branches(
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
        let statuses = self.statuses();
        let then_flow = self.perhaps(|walk| walk.node(then_body, stripped, tested))?;
        let after_then = std::mem::replace(&mut self.shell.directory, before);
        // What the other branch left is not what ran before this one.
        (self.shell.status, self.shell.first_of_pipe) = statuses;
        let else_flow = match else_body {
            Some(body) => self.perhaps(|walk| walk.node(body, stripped, tested))?,
            None => Flow::neutral(),
        };
        if self.shell.directory != after_then {
            self.shell.directory = Directory::Unknown;
        }
        self.mask_from(first, Mask::Conditional);
        Ok(condition.branch(then_flow, else_flow))
    }

    /// What `$?` and `${PIPESTATUS[0]}` stand for now.
    fn statuses(&self) -> (Status, Status) {
        (self.shell.status.clone(), self.shell.first_of_pipe.clone())
    }

    pub(super) fn case(
        &mut self,
        patterns: &[CasePattern],
        stripped: &Stripped<'_>,
        tested: Tested,
    ) -> Walked {
        let first = self.found.len();
        let before = self.shell.directory.clone();
        let mut whole: Option<Flow> = None;
        let mut has_default = false;
        let statuses = self.statuses();
        for CasePattern { patterns, body, .. } in patterns {
            has_default |= patterns
                .iter()
                .any(|pattern| matches!(&pattern.kind, NodeKind::Word { value, .. } if value == "*"));
            (self.shell.status, self.shell.first_of_pipe) = statuses.clone();
            let branch = match body {
                Some(body) => self.perhaps(|walk| walk.node(body, stripped, tested))?,
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

    pub(super) fn loop_body(&mut self, body: &Node, stripped: &Stripped<'_>, tested: Tested) -> Walked {
        let first = self.found.len();
        let before = self.shell.directory.clone();
        let flow = self.perhaps(|walk| walk.node(body, stripped, tested))?;
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
    pub(super) fn jumps(&self, first: usize) -> bool {
        self.found.iter().skip(first).any(|command| matches!(command.program.as_str(), "break" | "continue"))
    }
}

/// A filter that lets no line through: `grep -c`, `grep -q`, `head -0`, `wc` (L11).
pub(super) fn keeps_nothing(command: &SimpleCommand) -> bool {
    if command.row().is_some_and(|row| row.is(Fact::ShowsNoLine)) {
        return true;
    }
    let arguments: Vec<&str> = command.known_arguments().collect();
    let has = |options: &[&str]| arguments.iter().any(|argument| options.contains(argument));
    match command.program.as_str() {
        "grep" | "egrep" | "fgrep" | "rg" => has(&["-c", "--count", "-q", "--quiet", "--silent"]),
        "head" | "tail" => {
            has(&["-0", "-n0", "-c0"]) || arguments.windows(2).any(|pair| matches!(pair, ["-n" | "-c", "0"]))
        }
        _ => false,
    }
}

/// A filter that lets the last lines through: `tail -5`, `tee log`. Of fewer than these a program may have printed others
/// after its summary.
fn keeps_end(command: &SimpleCommand) -> bool {
    const FEWEST: u32 = 3;
    let mut arguments = command.known_arguments();
    match command.program.as_str() {
        "cat" | "tee" => true,
        "tail" => match arguments.find(|argument| argument.starts_with('-')) {
            None => true,
            Some("-n" | "--lines") => arguments.next().is_some_and(|lines| is_at_least(lines, FEWEST)),
            Some(option) => {
                let lines = ["--lines=", "-n", "-"].iter().find_map(|before| option.strip_prefix(before));
                lines.is_some_and(|lines| is_at_least(lines, FEWEST))
            }
        },
        _ => false,
    }
}

fn is_at_least(lines: &str, fewest: u32) -> bool {
    // `+5`: from the fifth line on.
    lines.starts_with('+') || lines.parse::<u32>().is_ok_and(|lines| lines >= fewest)
}
