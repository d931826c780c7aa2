//! One call of a tool: the command runs as a bounded child, and how it ends is the answer. Exit codes 0 and 1 are answers of
//! the command, yes and no; higher ones are errors, told with the command's own words.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use files::{BoundedChild, Bounds, ChildError, Ended};
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ContentBlock};
use rmcp::service::RequestContext;
use serde_json::Value;
use tokio::sync::{Semaphore, watch};

use super::offered_tool::ToolCommand;
use crate::error::CommandError;

/// The longest that a command may take: checks of a policy, a preview deployment.
const LONGEST: Duration = Duration::from_secs(10 * 60);

/// So many run at once; the others wait.
const AT_ONCE: u32 = 8;

/// The children that work for the client, for as long as it is there.
#[derive(Clone, Debug)]
pub(super) struct ToolCalls {
    places: Arc<Semaphore>,
    is_over: Arc<watch::Sender<bool>>,
}

impl ToolCalls {
    pub(super) fn new() -> Self {
        Self {
            places: Arc::new(Semaphore::new(AT_ONCE as usize)),
            is_over: Arc::new(watch::Sender::new(false)),
        }
    }

    /// Ends all of them, now and in the future.
    pub(super) fn interrupt(&self) {
        self.is_over.send_replace(true);
    }

    /// The same, and waits until they have ended.
    pub(super) async fn end(&self) {
        self.interrupt();
        let _ = self.places.acquire_many(AT_ONCE).await;
    }

    /// Runs the command in this folder. It is ended when the client takes the call back or goes away.
    pub(super) async fn answer(
        &self,
        line: ToolCommand,
        folder: PathBuf,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, CommandError> {
        let gone = || CommandError::interrupted("the call was cancelled");
        let place = tokio::select! {
            place = Arc::clone(&self.places).acquire_owned() => place.map_err(|_| gone())?,
            () = context.ct.cancelled() => return Err(gone()),
        };
        let child = RunningChild::default();
        let waited_for = EndedWhenDropped(child.clone());
        let work = tokio::task::spawn_blocking(move || {
            let _place = place;
            if !folder.is_dir() {
                return Err(CommandError::not_found(format!("there is no folder `{}`", folder.display())));
            }
            line.check_claims(&folder)?;
            child.run(&line, &folder)
        });
        let mut is_over = self.is_over.subscribe();
        let answer = tokio::select! {
            ended = work => ended.map_err(CommandError::failed)?.map(|ended| as_answer(&ended)),
            () = context.ct.cancelled() => Err(gone()),
            _ = is_over.wait_for(|is_over| *is_over) => Err(gone()),
            () = tokio::time::sleep(LONGEST) => Err(not_answered(&ChildError::TimedOut { limit: LONGEST })),
        };
        drop(waited_for);
        answer
    }
}

/// A child that another thread waits for.
#[derive(Clone, Debug, Default)]
struct RunningChild {
    /// As long as it has not been waited for.
    id: Arc<Mutex<Option<u32>>>,
    is_unwanted: Arc<AtomicBool>,
}

impl RunningChild {
    fn run(&self, line: &ToolCommand, folder: &Path) -> Result<Ended, CommandError> {
        let mut command = Command::new(machine::own_program()?);
        command.args(&line.words).current_dir(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let interruption = Some(Arc::clone(&self.is_unwanted));
        // The time is the caller's to watch, who ends more than the child's own group.
        let bounds = Bounds { interruption, ..Bounds::within(LONGEST * 2) };
        let mut child = {
            let mut id = self.id();
            let child = BoundedChild::start(&mut command, bounds).map_err(ChildError::Start);
            let child = child.map_err(|error| not_answered(&error))?;
            *id = Some(child.id());
            child
        };
        child.feed(line.input.as_bytes());
        let ended = child.finish();
        *self.id() = None;
        ended.map_err(|error| not_answered(&error))
    }

    fn id(&self) -> MutexGuard<'_, Option<u32>> {
        self.id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the child of a call whose answer nobody waits for any more, with the checks and programs that it has started in groups
/// of their own.
struct EndedWhenDropped(RunningChild);

impl Drop for EndedWhenDropped {
    fn drop(&mut self) {
        if let Some(id) = *self.0.id() {
            supervise::end_child(id);
        }
        self.0.is_unwanted.store(true, Ordering::Relaxed);
    }
}

fn not_answered(error: &ChildError) -> CommandError {
    let told = CommandError::failed(text::error_chain(error)).context("the command gave no answer");
    match error {
        ChildError::TooMuch { .. } => told.hint("ask for less, or run the command itself"),
        _ => told,
    }
}

fn as_answer(ended: &Ended) -> CallToolResult {
    let output = String::from_utf8_lossy(&ended.stdout);
    let complaint = String::from_utf8_lossy(&ended.stderr);
    let complaint = complaint.trim();
    let answer = serde_json::from_str::<Value>(&output).ok().filter(Value::is_object);
    let (Some(0 | 1), Some(answer)) = (ended.status.code(), answer) else {
        let told = if complaint.is_empty() { ended.status.to_string() } else { complaint.to_owned() };
        return CallToolResult::error(vec![ContentBlock::text(told)]);
    };
    let mut content = vec![ContentBlock::text(output.trim_end())];
    if ended.status.code() == Some(1) {
        content.push(ContentBlock::text("The answer is no (exit code 1)."));
    }
    if !complaint.is_empty() {
        content.push(ContentBlock::text(complaint));
    }
    let mut result = CallToolResult::success(content);
    result.structured_content = Some(answer);
    result
}

/// An error of ours in the words that the command line has for errors.
pub(super) fn refusal(error: &CommandError) -> CallToolResult {
    let hints = error.hints().iter().map(|hint| format!("\nhint: {hint}"));
    let told = format!("error: {}{}", error.message(), hints.collect::<String>());
    CallToolResult::error(vec![ContentBlock::text(told)])
}
