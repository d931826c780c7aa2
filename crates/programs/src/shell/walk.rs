//! Walks the syntax tree in the order in which the shell would run it: collects the simple commands, follows
//! `cd`, `set`, redirections and functions, and lets `flow` work out what the exit status proves.

mod builtin;
mod compound;
mod printed;
mod redirect;
mod simple;

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use rable::{Node, NodeKind};

use super::flow::{Blame, Flow, Proof, Set};
use super::opaque::{self, Stripped};
use super::word::Word;
use super::{Attribution, Directory, Mask, NotUnderstood, Output, SimpleCommand, ToldStatus, caps};

/// More would be a script that nobody typed.
pub(crate) const MOST_COMMANDS: usize = 4000;
/// Nesting of the syntax tree that is followed.
const DEEPEST: usize = 60;
/// `bash -c "bash -c …"` and functions that call functions.
const DEEPEST_SCRIPT: usize = 4;

pub(crate) fn commands(command: &str, folder: Directory) -> Result<Vec<SimpleCommand>, NotUnderstood> {
    if command.len() > caps::LONGEST_WITH_BODIES {
        return Err(NotUnderstood::TooLong);
    }
    // A client on Windows may send CRLF; no shell is meant to see the CR.
    let unix = command.replace("\r\n", "\n");
    let (stripped, nodes) = parse(&unix)?;
    let mut walk = Walk {
        found: Vec::new(),
        masks: Vec::new(),
        shell: Shell { directory: folder, ..Shell::default() },
        depth: 0,
        scripts: 0,
        trapped: false,
        guarded: Vec::new(),
        captured: Vec::new(),
        reprinted: Vec::new(),
        left_out: 0,
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
    hides_errors: bool,
    /// What starts here has folders of its own.
    is_in_container: bool,
    /// The same, or it may see other folders.
    is_elsewhere: bool,
    functions: HashMap<String, Rc<Node>>,
    /// What `$?` and `${PIPESTATUS[0]}` stand for, and the variables that keep them.
    status: Status,
    first_of_pipe: Status,
    kept: HashMap<String, Status>,
    /// The commands whose output a variable has: `out=$(pytest)`.
    texts: HashMap<String, Vec<usize>>,
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
            hides_errors: false,
            is_in_container: false,
            is_elsewhere: false,
            functions: HashMap::new(),
            status: Status::unknown(),
            first_of_pipe: Status::unknown(),
            kept: HashMap::new(),
            texts: HashMap::new(),
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
    /// What runs only after something that can fail without a word.
    guarded: Vec<Range<usize>>,
    /// The commands whose output stands in the words that are read now.
    captured: Vec<usize>,
    /// Commands that print what others had printed, with those.
    reprinted: Vec<(usize, Vec<usize>)>,
    /// How many things around what is walked now may have left it out: branches, loops, the right side of `||`.
    left_out: usize,
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
        for range in &self.guarded {
            // It ran if anything of it provably did.
            if !range.clone().any(|index| proven.contains(&index)) {
                let commands = self.found.get_mut(range.clone()).unwrap_or_default();
                commands.iter_mut().for_each(|command| command.may_be_skipped = true);
            }
        }
        self.show_what_is_reprinted();
        self.show_what_is_read_back();
        self.leave_unseen_statuses();
        self.found
    }

    /// A status that went elsewhere is not told. A bare number that a filter let through may be anything's.
    fn leave_unseen_statuses(&mut self) {
        for command in &mut self.found {
            let is_seen = |told: &ToldStatus| match command.output {
                Output::Shown => true,
                Output::Filtered => !(told.before.is_empty() && told.after.is_empty()),
                Output::Hidden => false,
            };
            command.tells = command.tells.take().filter(is_seen);
        }
    }

    /// `cmd > log; tail log` shows the command's output after all.
    fn show_what_is_read_back(&mut self) {
        let mut read_later: Vec<String> = Vec::new();
        for command in self.found.iter_mut().rev() {
            if command.edits.paths.iter().any(|path| read_later.contains(path)) {
                if command.output == Output::Hidden {
                    command.output = Output::Filtered;
                }
                command.hides_errors = false;
            }
            if command.output != Output::Hidden && !compound::keeps_nothing(command) {
                read_later.extend(command.reads.iter().cloned());
            }
        }
    }

    /// Walks what may be left out.
    fn perhaps<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> T {
        self.left_out += 1;
        let result = inner(self);
        self.left_out -= 1;
        result
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
                let first = walk.found.len();
                let turn = walk.loop_body(body, stripped, tested)?;
                if walk.can_fail_silently(&condition) {
                    walk.guarded.push(first..walk.found.len());
                }
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
}
