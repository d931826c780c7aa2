//! A notification in every way that the user switched on: the desktop, a program, the webhooks. Each has a few seconds.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use files::{BoundedChild, Bounds, ChildError};
use text::error_chain;
use workflow::integrations::user_settings::{NotificationWays, Webhook};
use workflow::integrations::webhook::WebhookEvent;

use crate::environment;
use crate::integrations;

/// A program that takes longer is ended.
const LIMIT: Duration = Duration::from_secs(10);

/// macOS has no program that shows a notification; the texts are arguments, never code.
const APPLE_SCRIPT: &str =
    "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run";

/// Tells the user of the event; `what` is that in a few words. What went wrong is returned, one sentence each.
pub(crate) fn send(
    ways: &NotificationWays,
    webhooks: &[Webhook],
    event: &(impl WebhookEvent + Sync),
    what: &str,
    folder: &Path,
) -> Vec<String> {
    let line = event.line();
    let mut problems = Vec::new();
    if ways.desktop {
        problems.extend(
            on_desktop(&line).err().map(|error| format!("no desktop notification: {}", error_chain(&error))),
        );
    }
    if let Some((program, arguments)) = ways.command.split_first() {
        let input = serde_json::to_vec(&event).unwrap_or_default();
        let told = started(program, arguments.iter().chain([&line]), &input, folder);
        problems.extend(
            told.err()
                .map(|error| format!("`{program}` was not notified that {what}: {}", error_chain(&error))),
        );
    }
    if ways.webhooks {
        problems.extend(integrations::send_to_webhooks(webhooks, event));
        if webhooks.is_empty() {
            problems.push(format!("no webhook is set, so nobody was notified that {what}"));
        }
    }
    problems
}

#[derive(Debug, thiserror::Error)]
enum NotificationError {
    #[error("neither `notify-send` nor `osascript` is installed")]
    NoDesktopProgram,
    #[error("there is no such program in the absolute folders of PATH")]
    NoProgram,
    #[error(transparent)]
    Child(#[from] ChildError),
    #[error("it ended with {status}{said}")]
    Ended { status: ExitStatus, said: String },
}

fn on_desktop(line: &str) -> Result<(), NotificationError> {
    let folder = environment::temporary_directory();
    if environment::program("notify-send").is_some() {
        return started("notify-send", ["--app-name=checkstone", "--", "checkstone", line], &[], &folder);
    }
    match environment::program("osascript") {
        Some(_) => started("osascript", ["-e", APPLE_SCRIPT, "checkstone", line], &[], &folder),
        None => Err(NotificationError::NoDesktopProgram),
    }
}

/// Runs a program to its end, without a shell.
fn started<Word: AsRef<OsStr>>(
    program: &str,
    arguments: impl IntoIterator<Item = Word>,
    input: &[u8],
    folder: &Path,
) -> Result<(), NotificationError> {
    let path = Some(PathBuf::from(program)).filter(|path| path.is_absolute());
    let path = path.or_else(|| environment::program(program)).ok_or(NotificationError::NoProgram)?;
    let mut command = Command::new(path);
    command.args(arguments).current_dir(folder);
    let ended = BoundedChild::run(&mut command, input, Bounds::within(LIMIT))?;
    if ended.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&ended.stderr);
    let said = stderr.trim().lines().last().map(|line| format!(": {}", text::shortened(line, 200)));
    Err(NotificationError::Ended { status: ended.status, said: said.unwrap_or_default() })
}
