//! What `checkstone demo` plays: an agent's work in a scratch repository, at each of the four boundaries. The agent is
//! played, everything else is real: its edits, its commands, git, and this program as the client would run it.

mod context;
mod phases;
mod played_agent;
mod scratch;
mod stages;
mod stop;
mod story_page;

use std::path::PathBuf;

use crate::error::CommandError;
use crate::interruption::Interruption;
use crate::printer::{FAINT, GOOD, Printer, STRONG};
use scratch::DemoFolder;
use story_page::StoryPage;
use text::wrap;

/// Plays all scenes; each checks itself. What was written where comes at the end, and a page that shows it stays until Ctrl-C.
pub(crate) fn play(folder: PathBuf, is_served: bool, printer: &Printer) -> Result<(), CommandError> {
    let interruption = Interruption::listen()?;
    let scratch = DemoFolder::make(folder, interruption.clone())?;
    let stage = Stage { printer };
    let page = if is_served { Some(StoryPage::start(&scratch)?) } else { None };
    if let Some(page) = &page {
        printer.text(&format!("{}\n", page.address));
    }
    stop::play(&scratch, &stage)?;
    context::play(&scratch, &stage)?;
    phases::play(&scratch, &stage)?;
    stages::play(&scratch, &stage)?;
    stage.ending(&scratch);
    if let Some(page) = page {
        printer.text(&format!("\nThe page stays at {} until you press Ctrl-C.\n", page.address));
        page.stay(&interruption);
    }
    Ok(())
}

/// Where the scenes speak to the person.
struct Stage<'a> {
    printer: &'a Printer,
}

impl Stage<'_> {
    fn scene(&self, number: usize, title: &str) {
        self.printer.text(&format!("\n{STRONG}{number}. {title}{STRONG:#}\n"));
    }

    /// What happens, in our words.
    fn tell(&self, text: &str) {
        self.printer.text(&format!("   {}\n", wrap(text, 3, self.printer.width())));
    }

    /// What the program or the agent says, word for word.
    fn quote(&self, text: &str) {
        let width = self.printer.width().map(|width| width.saturating_sub("   │ ".chars().count()));
        for line in text.lines() {
            let line = crate::printer::shown(line);
            for part in wrap(&line, 0, width).split('\n') {
                self.printer.text(&format!("   {FAINT}│{FAINT:#} {part}\n"));
            }
        }
    }

    /// What was found to be so.
    fn check(&self, text: &str) {
        self.printer.text(&format!("   {GOOD}✓{GOOD:#} {text}\n"));
    }

    fn ending(&self, scratch: &DemoFolder) {
        let folder = scratch.folder().display();
        self.printer.text(&format!(
            "\n{STRONG}Where it all is{STRONG:#}\n\
             \x20  {folder}/repository                     the repository; `git log --stat` shows what was saved\n\
             \x20  {folder}/repository/checkstone.toml     what it requires\n\
             \x20  {folder}/repository/.claude/state       the workflow\n\
             \x20  {folder}/repository/reports             the run: artifacts, checkpoints, report.html\n\
             \x20  {folder}/state                          the journal and the log\n\
             Remove it with: rm -r {folder}\n\n\
             {STRONG}What to type next, in a repository of yours{STRONG:#}\n\
             \x20  checkstone init          register the hook, and write a policy that fits\n\
             \x20  checkstone doctor        prove that the hook fires\n\
             \x20  checkstone replay DIR    what the policy would have decided in your past sessions\n"
        ));
    }
}

/// An error where a scene did not go as expected.
fn expect(is_so: bool, what: &str, seen: &str) -> Result<(), CommandError> {
    if is_so { Ok(()) } else { Err(differs(what, seen)) }
}

/// A scene that did not go as expected.
fn differs(what: &str, seen: &str) -> CommandError {
    CommandError::failed(format!("the demo did not go as expected: {what}: {seen}"))
        .hint("this build is broken, or this machine lacks something: try `checkstone doctor`")
}
