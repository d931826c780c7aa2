//! How Claude Code says that a call ended: a block for the agent, and beside it the tool's own account, whose fields depend on
//! the tool.

use super::line::{Block, ClaudeLine, FileTexts, ToolUseResult};
use crate::command_output::CommandOutput;
use crate::entry::{CallResult, TaskReport};
use crate::file_edit::FileEdit;
use crate::format::content;
use crate::json_text::Text;
use crate::model::{Kind, Outcome};

/// A task that somebody ended is neither passed nor failed.
pub(super) fn task_outcome(status: &str) -> (Outcome, bool) {
    match status {
        "completed" => (Outcome::Ok, false),
        "failed" => (Outcome::Error, false),
        "killed" | "stopped" | "cancelled" => (Outcome::Unknown, true),
        _ => (Outcome::Unknown, false),
    }
}

pub(super) fn tool_result(line: &ClaudeLine<'_>, block: &Block<'_>) -> CallResult {
    let facts = &line.tool_use_result;
    let failed = block.is_error == Some(true);
    let literals = block.content.map(content::literals).unwrap_or_default();
    let snippet = content::snippet(literals.iter().copied());
    let running_as = facts
        .background_task
        .as_ref()
        .or(if facts.is_async { facts.agent.as_ref() } else { None })
        .map(Text::owned)
        .or_else(|| if facts.given || failed { None } else { moved_to_background(snippet.as_deref()?) });
    let outcome = match () {
        () if failed => Outcome::Error,
        () if running_as.is_some() || facts.interrupted => Outcome::Unknown,
        () => Outcome::Ok,
    };
    let literal = literals.first().copied().unwrap_or_default();
    // Older versions say it in words only.
    let refused = failed && literal.starts_with("\"The user doesn't want to proceed with this tool use");
    let user_stopped = line.tool_denial_kind.is_some() || facts.interrupted || refused;
    // Where the tool's own account is missing, this text also stands for a `grep` without a match.
    let silent = !facts.given && literal == r#""(Bash completed with no output)""#;
    let exit_code = match outcome {
        Outcome::Error => exit_code(literal),
        Outcome::Ok if !facts.interpreted && !facts.is_foreign && !silent => Some(0),
        _ => None,
    };
    let mut task = facts.task_report();
    let mut output = match may_be_output(facts, literal) {
        true => CommandOutput::of_literals(facts.outputs().unwrap_or(literals)),
        false => CommandOutput::default(),
    };
    // What an older version prints of a task is what the task has printed.
    if let Some(task) = &mut task
        && task.output.shows_nothing()
    {
        task.output = std::mem::take(&mut output);
    }
    CallResult {
        id: block.tool_use_id.as_ref().map(Text::owned).unwrap_or_default(),
        outcome,
        exit_code,
        user_stopped,
        at: line.timestamp,
        snippet,
        recorded: true,
        is_status_hidden: outcome == Outcome::Ok && facts.is_foreign,
        output,
        running_as,
        task,
        kind: facts.made_file.then_some(Kind::Write),
        edits: facts.file.edit(facts.made_file).into_iter().collect(),
        ..CallResult::default()
    }
}

/// Whether a result can be what a command printed. The tool's name stands in another line; its own account tells, and where
/// that is missing, files that were read are known by their line numbers.
fn may_be_output(facts: &ToolUseResult<'_>, literal: &str) -> bool {
    let is_file =
        || literal.get(..12).is_some_and(|head| head.contains(['→', '\t']) || head.starts_with("\"     1"));
    facts.stdout.is_some() || facts.is_foreign || (!facts.given && !is_file())
}

impl<'a> ToolUseResult<'a> {
    /// What the command printed, in the tool's own account, which is longer than what the agent was shown.
    fn outputs(&self) -> Option<Vec<&'a str>> {
        let stdout = content::literal(self.stdout)?;
        Some([stdout].into_iter().chain(content::literal(self.stderr)).collect())
    }

    /// What the result tells about a task in the background.
    fn task_report(&self) -> Option<Box<TaskReport>> {
        let (id, status, exit_code, output) = match (&self.task, self.shell) {
            (Some(task), _) => {
                (task.task_id.as_ref()?.owned(), task.status.as_ref()?.owned(), task.exit_code, task.output)
            }
            (None, Some(shell)) => {
                let exit_code = self.exit_code.and_then(|code| code.get().parse().ok());
                (content::string(Some(shell))?, content::string(self.status)?, exit_code, None)
            }
            (None, None) => return None,
        };
        let (outcome, _) = task_outcome(&status);
        let is_running = matches!(status.as_str(), "running" | "pending");
        let output = CommandOutput::of_literals(content::literal(output));
        Some(Box::new(TaskReport { id, outcome, exit_code, is_running, output }))
    }
}

impl FileTexts<'_> {
    fn edit(&self, is_new: bool) -> Option<FileEdit> {
        let path = content::string(self.path)?;
        let [original, old, new, content] =
            [self.original, self.old, self.new, self.content].map(content::literal);
        match (original, old, new, content) {
            _ if self.is_modified => None,
            (Some(original), Some(old), Some(new), _) => {
                Some(FileEdit::in_file(&path, original, old, new, self.replace_all))
            }
            (None, Some(old), Some(new), _) => Some(FileEdit::of_part(&path, old, new)),
            (None, None, None, Some(content)) if is_new => Some(FileEdit::made(&path, content)),
            (Some(_), None, None, Some(content)) => Some(FileEdit::written(&path, original, content)),
            _ => None,
        }
    }
}

/// The id under which a command goes on in the background. Sub-agents' files say it in words only.
fn moved_to_background(text: &str) -> Option<String> {
    let begins =
        ["Command running in background with ID: ", "Command was manually backgrounded by user with ID: "];
    let rest = match begins.iter().find_map(|begin| text.strip_prefix(begin)) {
        Some(rest) => rest,
        None if text.contains("Command did not complete within its ") => {
            text.rsplit_once("moved to the background (ID: ")?.1
        }
        None => return None,
    };
    let end = rest.find(|character: char| !character.is_ascii_alphanumeric()).unwrap_or(rest.len());
    rest.get(..end).map(str::to_owned)
}

/// `Exit code 3` at the very beginning; anywhere else a program may have printed it.
fn exit_code(literal: &str) -> Option<i32> {
    let rest = literal.strip_prefix("\"Exit code ")?;
    let digits = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..digits)?.parse().ok()
}
