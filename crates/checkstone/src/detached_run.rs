//! A run that goes on by itself: this program again with the same arguments, in a process group of its own. It has begun
//! when its first event is on the disk, and only then is its name told.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};

use checkpoint::layout::Layout;
use run::output::DetachedRunOutput;
use transcript::visible;

use crate::error::{CommandError, ErrorKind};
use crate::printer::{Printer, STRONG};

/// More than any error of a run has to say.
const LONGEST_COMPLAINT: u64 = 64 << 10;

/// Starts the run of this command line once more, by its name if that was made up here.
pub(crate) fn start(
    layout: &Layout,
    is_name_new: bool,
    json: bool,
    printer: &Printer,
) -> Result<ExitCode, CommandError> {
    let failed = |error| CommandError::from(error).context("the run was not started");
    let name = is_name_new.then(|| layout.run());
    let mut child = Command::new(machine::own_program().map_err(failed)?)
        .args(arguments(std::env::args_os().skip(1), name))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(failed)?;
    let mut first_event = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_until(b'\n', &mut first_event).map_err(failed)?;
    }
    if first_event.is_empty() {
        let mut complaint = Vec::new();
        if let Some(stderr) = child.stderr.take() {
            stderr.take(LONGEST_COMPLAINT).read_to_end(&mut complaint).map_err(failed)?;
        }
        let code = child.wait().map_err(failed)?.code().and_then(|code| u8::try_from(code).ok());
        printer.progress(String::from_utf8_lossy(&complaint).trim_end());
        return Ok(code.map_or(ErrorKind::Failed.exit_code(), ExitCode::from));
    }
    let (title, run) = (layout.title(), layout.run());
    printer.answer(json, &DetachedRunOutput { title, run }, || {
        let run = visible(run);
        format!("started {STRONG}{run}{STRONG:#}; `checkstone watch {run}` follows it, `checkstone abort {run}` ends it\n")
    })
}

/// The same arguments for a run that is not detached and prints its events.
fn arguments(given: impl Iterator<Item = OsString>, name: Option<&str>) -> Vec<OsString> {
    let mut are_options = true;
    let is_kept = |argument: &OsString| {
        are_options &= argument != "--";
        !(are_options && (argument == "--detach" || argument == "--json"))
    };
    let mut arguments: Vec<OsString> = given.filter(is_kept).collect();
    let options = [Some(OsStr::new("--json").to_owned()), name.map(|name| format!("--id={name}").into())];
    // Behind the word `run`, before anything that ends the options.
    let place = arguments.len().min(1);
    arguments.splice(place..place, options.into_iter().flatten());
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_is_kept() {
        let given = ["run", "--detach", "--json", "--set=a=1", "--", "--detach"].map(OsString::from);
        let expected = ["run", "--json", "--id=r1", "--set=a=1", "--", "--detach"].map(OsString::from);
        assert_eq!(arguments(given.into_iter(), Some("r1")), expected);
    }
}
