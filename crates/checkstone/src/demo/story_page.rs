//! The page on which the demo's own story is seen while it is played.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::error::CommandError;
use crate::interruption::Interruption;

use super::scratch::DemoFolder;

const LOOK: Duration = Duration::from_millis(50);

/// Ends with the value.
pub(super) struct StoryPage {
    server: Child,
    pub(super) address: String,
}

impl StoryPage {
    /// On any port that is free, opened in the person's browser where there is one.
    pub(super) fn start(scratch: &DemoFolder) -> Result<Self, CommandError> {
        if !cfg!(feature = "serve") {
            return Err(CommandError::environment("this build of checkstone has no page to serve").hint(
                "install one that has: `cargo install --locked --path crates/checkstone --features full`",
            ));
        }
        let mut command = scratch.own_command(&["serve", "--port", "0", "--open"])?;
        let mut server = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut address = String::new();
        if let Some(output) = server.stdout.take() {
            BufReader::new(output).read_line(&mut address)?;
        }
        let page = Self { server, address: address.trim().to_owned() };
        match page.address.is_empty() {
            true => Err(CommandError::failed("the page was not served")),
            false => Ok(page),
        }
    }

    /// Until the person presses Ctrl-C.
    pub(super) fn stay(mut self, interruption: &Interruption) {
        while !interruption.came() && matches!(self.server.try_wait(), Ok(None)) {
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for StoryPage {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
