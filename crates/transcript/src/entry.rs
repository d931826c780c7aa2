//! The common shape that every format is turned into: one record is one line of a transcript, and holds
//! what that line says that a reader of turns needs. Nothing here knows a client.

use crate::command_output::CommandOutput;
use crate::file_edit::FileEdit;
use crate::model::{Call, Kind, Outcome};
use jiff::Timestamp;

/// How the ids of tasks begin that are scripts, which end without an exit code.
pub(crate) const SCRIPT: &str = "script ";

/// A snippet of a result or of what the agent said.
pub(crate) const SNIPPET: usize = 500;

/// A prompt is kept longer: it says what was asked.
pub(crate) const PROMPT: usize = 16 * 1024;

/// A longer command is kept only as a head that ends in `…`; it is a program rather than a command.
pub(crate) const COMMAND: usize = 256 * 1024;

/// The agent's last text is kept whole up to this many bytes.
pub(crate) const LAST_TEXT: usize = 256 * 1024;

/// What one line says.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// Well formed, and of a kind that is known (bookkeeping included).
    pub(crate) understood: bool,
    /// A later record with the same key takes the place of this one.
    pub(crate) key: Option<String>,
    /// The client's id of the turn this record belongs to, where it says so.
    pub(crate) turn: Option<String>,
    pub(crate) entries: Vec<Entry>,
}

impl Record {
    /// The same, with the texts that begin with the reader's `mark` told apart; an empty one marks nothing.
    pub(crate) fn marked(mut self, mark: &str) -> Self {
        let is_marked = |text: &str| !mark.is_empty() && text.starts_with(mark);
        let is_told = |entry: &Entry| matches!(entry, Entry::ToldAside(text) if is_marked(text));
        if self.entries.iter().any(is_told) {
            self.entries = vec![Entry::MarkedAside];
        }
        self.entries.retain(|entry| !matches!(entry, Entry::ToldAside(_)));
        for entry in &mut self.entries {
            if matches!(entry, Entry::Prompt(prompt) if is_marked(&prompt.text)) {
                *entry = Entry::MarkedPrompt;
            }
        }
        self
    }

    pub(crate) fn not_understood() -> Self {
        Self::default()
    }

    /// A known record that says nothing about the turn.
    pub(crate) fn bookkeeping() -> Self {
        Self { understood: true, ..Self::default() }
    }

    pub(crate) fn of(entry: Entry) -> Self {
        Self { understood: true, entries: vec![entry], ..Self::default() }
    }
}

#[derive(Debug)]
pub(crate) enum Entry {
    Prompt(Prompt),
    /// A text with the reader's mark, put before the agent as if a person had typed it.
    MarkedPrompt,
    /// What another program told the agent, as the client records it; nobody but its writer knows it by its mark.
    ToldAside(String),
    /// The same, with the reader's mark.
    MarkedAside,
    /// The person interrupted the agent.
    Interrupted,
    /// The client says that a turn begins here; its prompt follows.
    TurnStarts,
    /// The body of a slash command, which the client puts after the command itself.
    Expansion,
    Said(Said),
    Call(Box<CallMade>),
    Result(Box<CallResult>),
    Usage(ContextUse),
    /// A sub-agent of this id was at work; it has a file of its own.
    SubAgent(String),
    /// A sub-agent of this id works on its own from here on, and will answer.
    Launched(String),
    /// The sub-agent of this id has answered, or will not any more.
    Answered(String),
    /// The client asks its hooks whether the agent may stop, at this time.
    StopAsked(Timestamp),
    /// Everything from the record with this key on is void.
    Rewind(String),
}

#[derive(Debug)]
pub(crate) struct Prompt {
    pub(crate) text: String,
    pub(crate) at: Option<Timestamp>,
    pub(crate) standing: Standing,
    /// The agent is to plan, and to change nothing.
    pub(crate) is_planning: bool,
}

/// What must be known before a prompt counts as the one that opened the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It opens a turn.
    Opens,
    /// It opens a turn unless an earlier prompt of the same turn is found: a message typed while the agent
    /// was working, or the same prompt recorded twice.
    UnlessEarlier,
    /// It opens a turn if its expansion follows: a slash command that was sent to the model.
    IfExpanded,
    /// It is the beginning of a prompt that follows it in the same turn.
    BelongsToNext,
    /// It opens a turn if no prompt is found that surely does: clients also put their own words there.
    IfNoneSurer,
}

#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) at: Option<Timestamp>,
}

/// The context in use after one response.
#[derive(Debug, Default)]
pub(crate) struct ContextUse {
    pub(crate) tokens: u64,
    /// Of these, what the response itself came to.
    pub(crate) answered: u64,
    pub(crate) window: Option<u64>,
    pub(crate) model: Option<String>,
}

/// A call as it was made; its result follows.
#[derive(Debug, Default)]
pub(crate) struct CallMade {
    pub(crate) call: Call,
    /// The running task that this call looks after.
    pub(crate) polls: Option<String>,
    /// A script, whose commands newer versions record one by one.
    pub(crate) is_script: bool,
    /// The sub-agent that this call ends.
    pub(crate) closes: Option<String>,
}

impl From<Call> for Entry {
    fn from(call: Call) -> Self {
        Self::Call(Box::new(CallMade { call, ..CallMade::default() }))
    }
}

impl From<CallResult> for Entry {
    fn from(result: CallResult) -> Self {
        Self::Result(Box::new(result))
    }
}

/// How a call ended, or where it stands.
#[derive(Debug, Default)]
pub(crate) struct CallResult {
    /// The call's id; empty if only `task` names it.
    pub(crate) id: String,
    pub(crate) outcome: Outcome,
    pub(crate) exit_code: Option<i32>,
    pub(crate) user_stopped: bool,
    pub(crate) at: Option<Timestamp>,
    pub(crate) snippet: Option<String>,
    /// The output, where it can be a command's.
    pub(crate) output: CommandOutput,
    /// The text does not say how it went: for a shell command that is unknown, for other tools no error.
    pub(crate) unmarked: bool,
    /// It has ended, but with which status is not told.
    pub(crate) is_status_hidden: bool,
    /// The client recorded the outcome itself; it is not read from the output's text.
    pub(crate) recorded: bool,
    /// Still running, under this id of the client.
    pub(crate) running_as: Option<String>,
    /// The result tells about a task that an earlier call left running. Boxed like `unannounced`: few results have one, and
    /// all of them are moved.
    pub(crate) task: Option<Box<TaskReport>>,
    /// The client tells what the call really was (an edit made by a shell command).
    pub(crate) kind: Option<Kind>,
    pub(crate) paths: Vec<String>,
    pub(crate) created: Vec<String>,
    /// What the call did to the texts of files, in place of what the call itself told.
    pub(crate) edits: Vec<FileEdit>,
    /// The call itself, where nothing but its result is recorded: a command that a script ran.
    pub(crate) unannounced: Option<Box<Call>>,
}

#[derive(Debug)]
pub(crate) struct TaskReport {
    pub(crate) id: String,
    pub(crate) outcome: Outcome,
    pub(crate) exit_code: Option<i32>,
    pub(crate) is_running: bool,
    /// What the task has printed.
    pub(crate) output: CommandOutput,
}

/// The paths of a call, the first of them for readers that want one.
pub(crate) fn set_paths(call: &mut Call, paths: Vec<String>) {
    call.path = paths.first().cloned();
    call.paths = paths;
}
