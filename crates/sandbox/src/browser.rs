//! A page as a browser shows it, after its scripts ran.

use std::path::Path;
use std::process::Command;

use crate::{RunToEnd as _, Sandbox};

/// A browser that crashes says nothing about the page: so often it is started again.
const TRIES: usize = 5;

/// The document after its scripts ran; `None` if the machine has no browser.
#[track_caller]
pub fn shown_by_browser(page: &Path) -> Option<String> {
    let browser = browser()?;
    let mut crashes = String::new();
    for _ in 0..TRIES {
        // What a crashed browser has left behind must not be found by the next.
        let sandbox = Sandbox::new();
        let mut command = sandbox.prepared(Command::new(browser));
        command.args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--dump-dom",
        ]);
        command.arg(format!("--user-data-dir={}", sandbox.path("browser").display()));
        let answer = command.arg(format!("file://{}", page.display())).answer();
        if answer.succeeded() && !answer.stdout.is_empty() {
            return Some(answer.stdout);
        }
        crashes += &answer.to_string();
    }
    panic!("the browser crashed {TRIES} times:\n{crashes}")
}

/// The browser of this machine.
pub(crate) fn browser() -> Option<&'static str> {
    let is_there =
        |name: &&str| Command::new("sh").args(["-c", "command -v \"$0\"", name]).answer().succeeded();
    ["chromium-headless-shell", "chromium"].into_iter().find(is_there)
}
