//! From the turn's records, in the order of the file, to its timeline: calls paired with their results by
//! id, what was said, and the context in use.

use std::collections::{HashMap, HashSet};

use crate::command_output::CommandOutput;
use crate::entry::{CallMade, CallResult, ContextUse, Entry, Record, SCRIPT, SNIPPET, TaskReport, set_paths};
use crate::json_text;
use crate::model::{Call, Kind, Message, Outcome};
use crate::windows_path::unix_spelling;
use jiff::Timestamp;

/// A record and where it stands.
#[derive(Debug)]
pub(crate) struct Placed {
    pub(crate) record: Record,
    pub(crate) offset: u64,
    pub(crate) line: Option<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Timeline {
    pub(crate) calls: Vec<Call>,
    pub(crate) messages: Vec<Message>,
    pub(crate) last_assistant: Option<String>,
    pub(crate) usage: Option<ContextUse>,
    pub(crate) has_marked_prompt: bool,
    /// A text with the reader's mark reached the agent, as a prompt or beside it.
    pub(crate) is_marked: bool,
    /// The person interrupted the agent, which did nothing after that.
    pub(crate) interrupted: bool,
    /// When the client asked its hooks last whether the agent may stop.
    pub(crate) stop_asked_at: Option<Timestamp>,
    /// Ids of the sub-agents that were at work.
    pub(crate) subagents: Vec<String>,
    by_id: HashMap<String, usize>,
    /// Calls that go on in the background, by the client's id of the task.
    tasks: HashMap<String, usize>,
    /// Calls that look after a task, with the task's id.
    polls: HashMap<usize, String>,
    /// Scripts of which no command was recorded by itself, and those of which one was.
    scripts: Vec<usize>,
    told_scripts: HashSet<usize>,
    /// Whether the outcome of a call was recorded by the client, call by call.
    recorded: Vec<bool>,
}

/// Reads records in the order of the file.
pub(crate) fn timeline(records: Vec<Placed>) -> Timeline {
    let mut timeline = Timeline::default();
    for placed in in_force(records) {
        for entry in placed.record.entries {
            if matches!(entry, Entry::Call(_) | Entry::Said(_) | Entry::Prompt(_)) {
                timeline.interrupted = false;
            }
            match entry {
                Entry::Call(made) => timeline.call(*made, placed.offset, placed.line),
                Entry::Result(result) => timeline.result(*result, placed.offset, placed.line),
                Entry::Said(said) => {
                    let text = json_text::snippet(&said.text, SNIPPET);
                    let calls_before = timeline.calls.len();
                    timeline.messages.push(Message { text, at: said.at, calls_before });
                    timeline.last_assistant = Some(said.text);
                }
                Entry::Usage(usage) => {
                    // Lines of one response repeat its usage, and the last one is right: nothing is added up.
                    let before = timeline.usage.take().unwrap_or_default();
                    timeline.usage = Some(ContextUse {
                        tokens: usage.tokens,
                        answered: usage.answered,
                        window: usage.window.or(before.window),
                        model: usage.model.or(before.model),
                    });
                }
                Entry::SubAgent(id) => {
                    if !timeline.subagents.contains(&id) {
                        timeline.subagents.push(id);
                    }
                }
                Entry::MarkedPrompt => {
                    timeline.has_marked_prompt = true;
                    timeline.is_marked = true;
                }
                Entry::MarkedAside => timeline.is_marked = true,
                Entry::Interrupted => timeline.interrupted = true,
                Entry::StopAsked(at) => timeline.stop_asked_at = Some(at),
                Entry::Launched(_) | Entry::Answered(_) | Entry::ToldAside(_) => {}
                Entry::Prompt(_) | Entry::TurnStarts | Entry::Expansion | Entry::Rewind(_) => {}
            }
        }
    }
    timeline.calls.iter_mut().for_each(spell_paths);
    timeline
}

fn spell_paths(call: &mut Call) {
    let edited = call.edits.iter_mut().map(|edit| &mut edit.path);
    let named = call.path.iter_mut().chain(&mut call.cwd).chain(&mut call.paths).chain(&mut call.created);
    named.chain(edited).for_each(unix_spelling);
}

/// The records that count: of those with one key the last, in the place of the first; none that was rewound.
fn in_force(records: Vec<Placed>) -> Vec<Placed> {
    let mut kept: Vec<Placed> = Vec::with_capacity(records.len());
    let mut by_key: HashMap<String, usize> = HashMap::new();
    for placed in records {
        let rewound = placed.record.entries.iter().find_map(|entry| match entry {
            Entry::Rewind(target) => Some(by_key.get(target).copied().unwrap_or(0)),
            _ => None,
        });
        if let Some(length) = rewound {
            kept.truncate(length);
            by_key.retain(|_, place| *place < length);
            continue;
        }
        if let Some(key) = &placed.record.key {
            if let Some(former) = by_key.get(key).and_then(|place| kept.get_mut(*place)) {
                *former = placed;
                continue;
            }
            by_key.insert(key.clone(), kept.len());
        }
        kept.push(placed);
    }
    kept
}

impl Timeline {
    fn call(&mut self, made: CallMade, offset: u64, line: Option<u64>) {
        let CallMade { mut call, polls, is_script, .. } = made;
        if self.by_id.contains_key(&call.id) {
            return;
        }
        call.offset = offset;
        call.line = line;
        let place = self.calls.len();
        if is_script && call.kind == Kind::Shell {
            self.scripts.push(place);
        }
        if !call.id.is_empty() {
            self.by_id.insert(call.id.clone(), place);
        }
        if let Some(task) = polls {
            self.polls.insert(place, task);
        }
        self.calls.push(call);
        self.recorded.push(false);
    }

    fn result(&mut self, mut result: CallResult, offset: u64, line: Option<u64>) {
        if let Some(call) = result.unannounced.take() {
            if let (Kind::Shell, Some(command)) = (call.kind, &call.command) {
                self.script_is_told(command);
            }
            self.call(CallMade { call: *call, ..CallMade::default() }, offset, line);
        }
        let task = result.task.take();
        if let Some(&place) = self.by_id.get(&result.id) {
            let looked_after = self.polls.get(&place).cloned();
            if let Some(id) = looked_after {
                self.polled(place, id, result);
            } else {
                self.settle(place, result);
            }
        }
        if let Some(task) = task
            && let Some(&place) = self.tasks.get(&task.id)
        {
            let TaskReport { outcome, exit_code, is_running, output, .. } = *task;
            self.task_runs(place, is_running);
            self.task_ended(place, outcome, exit_code, None);
            self.task_printed(place, output);
        }
    }

    /// The command of a script is recorded by itself: the script is none.
    fn script_is_told(&mut self, command: &str) {
        let has_it = |call: &Call| call.command.as_ref().is_some_and(|script| script.contains(command));
        let of_it = self.scripts.iter().rposition(|place| self.calls.get(*place).is_some_and(has_it));
        let told = of_it.or(self.scripts.len().checked_sub(1)).map(|at| self.scripts.remove(at));
        let Some((place, script)) = told.and_then(|place| Some((place, self.calls.get_mut(place)?))) else {
            return;
        };
        script.kind = Kind::Other;
        (script.command, script.cwd, script.is_status_hidden) = (None, None, false);
        script.output = CommandOutput::default();
        // How its command ended is not how it ended itself.
        if script.exit_code.take().is_some() {
            script.outcome = Outcome::Ok;
        }
        self.told_scripts.insert(place);
    }

    /// The result of a call that looked after a task tells about the task's own call.
    fn polled(&mut self, place: usize, task: String, mut result: CallResult) {
        // A script has no exit code; a look that failed for its own reasons has none either.
        if let Some(&started) = self.tasks.get(&task) {
            self.task_printed(started, std::mem::take(&mut result.output));
            self.task_runs(started, result.running_as.is_some());
        }
        let ended = result.exit_code.is_some() || (task.starts_with(SCRIPT) && result.outcome == Outcome::Ok);
        if let Some(&started) = self.tasks.get(&task)
            && result.running_as.is_none()
            && ended
        {
            let hidden = result.is_status_hidden;
            let outcome = if hidden { Outcome::Unknown } else { result.outcome };
            self.task_ended(started, outcome, result.exit_code, result.at);
            if let Some(call) = self.calls.get_mut(started) {
                call.is_status_hidden |= hidden && call.kind == Kind::Shell;
            }
            // Looking went well, whatever was seen.
            result.outcome = Outcome::Ok;
        }
        match result.running_as.take() {
            // A script has ended, and the command that it started goes on.
            Some(session) if session != task => {
                if let Some(&started) = self.tasks.get(&task) {
                    self.tasks.insert(session, started);
                }
                result.outcome = Outcome::Ok;
            }
            Some(_) => result.outcome = Outcome::Ok,
            None => {}
        }
        self.settle(place, result);
    }

    fn task_ended(&mut self, place: usize, outcome: Outcome, exit_code: Option<i32>, at: Option<Timestamp>) {
        let Some(call) = self.calls.get_mut(place) else { return };
        if call.outcome != Outcome::Unknown {
            return;
        }
        call.outcome = if self.told_scripts.contains(&place) { Outcome::Ok } else { outcome };
        if call.kind == Kind::Shell {
            call.exit_code = exit_code;
        }
        if at.is_some() {
            call.ended_at = at;
        }
    }

    /// What the last look at a task says. One that tells nothing of it takes back what an earlier one said.
    fn task_runs(&mut self, place: usize, is_running: bool) {
        if let Some(call) = self.calls.get_mut(place) {
            call.is_running = is_running;
        }
    }

    /// What a task printed later belongs to the command that started it (W9, W13).
    fn task_printed(&mut self, place: usize, output: CommandOutput) {
        if let Some(call) = self.calls.get_mut(place) {
            call.output.append(output);
        }
    }

    fn settle(&mut self, place: usize, result: CallResult) {
        let (Some(call), Some(recorded)) = (self.calls.get_mut(place), self.recorded.get_mut(place)) else {
            return;
        };
        if let Some(task) = result.running_as {
            self.tasks.insert(task, place);
        } else if result.recorded || !*recorded {
            *recorded |= result.recorded;
            call.outcome = match result.outcome {
                _ if result.is_status_hidden && call.kind == Kind::Shell => Outcome::Unknown,
                Outcome::Error if result.exit_code.is_some() && self.told_scripts.contains(&place) => {
                    Outcome::Ok
                }
                Outcome::Unknown if result.unmarked && call.kind != Kind::Shell => Outcome::Ok,
                outcome => outcome,
            };
            call.exit_code = if call.kind == Kind::Shell { result.exit_code } else { None };
            call.is_status_hidden = result.is_status_hidden && call.kind == Kind::Shell;
            call.user_stopped |= result.user_stopped;
            call.ended_at = result.at.or(call.ended_at.take());
        }
        // What shows nothing does not take the place of what shows something.
        if call.kind == Kind::Shell
            && (call.output.shows_nothing() || (result.recorded && !result.output.shows_nothing()))
        {
            call.output = result.output;
        }
        if result.snippet.is_some() && (result.recorded || call.snippet.is_none()) {
            call.snippet = result.snippet;
        }
        if !result.edits.is_empty() {
            call.edits = result.edits;
        }
        match result.kind {
            // The client says that the tool made the file.
            Some(Kind::Write) if result.paths.is_empty() && call.kind == Kind::Write => {
                call.created.clone_from(&call.paths);
            }
            Some(kind) if !result.paths.is_empty() => {
                call.kind = kind;
                call.exit_code = None;
                call.created = result.created;
                set_paths(call, result.paths);
            }
            _ if call.paths.is_empty() && call.kind == Kind::Shell => set_paths(call, result.paths),
            _ => {}
        }
    }
}
