//! The exit status of a run as a later `echo` of the same command line prints it: `pytest | tail -5; echo "exit
//! ${PIPESTATUS[0]}"`. It is told by the shell itself, and so it says of a hidden status what the client says of another.

use programs::shell::{Intents, SimpleCommand, ToldStatus};

use crate::inputs::RecordedCall;

/// What was printed of the status of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Succeeded,
    Failed {
        code: i32,
        /// Nothing else can have failed instead.
        is_alone: bool,
    },
}

impl Told {
    /// What the call tells of this command.
    pub(super) fn of(recorded: &RecordedCall, command: &SimpleCommand) -> Option<Self> {
        let commands = recorded.intents.as_ref().map(Intents::commands).unwrap_or_default();
        let place = commands.iter().position(|other| std::ptr::eq(other, command))?;
        let printed = recorded.call.snippet.as_deref()?;
        let tellers: Vec<&ToldStatus> =
            commands.iter().filter_map(|command| command.tells.as_ref()).collect();
        let told = tellers.iter().find_map(|teller| {
            if !teller.failed.contains(&place) && !teller.succeeded.contains(&place) {
                return None;
            }
            let is_same =
                |other: &&&ToldStatus| (&other.before, &other.after) == (&teller.before, &teller.after);
            let of_same: Vec<&&ToldStatus> = tellers.iter().filter(is_same).collect();
            let codes = codes(printed, teller);
            // Other lines may look the same.
            if codes.len() != of_same.len() {
                return None;
            }
            let at = of_same.iter().position(|other| std::ptr::eq(**other, *teller))?;
            Some((*codes.get(at)?, *teller))
        });
        match told? {
            (0, teller) => teller.succeeded.contains(&place).then_some(Self::Succeeded),
            (code, teller) => {
                let is_alone = teller.failed == [place];
                teller.failed.contains(&place).then_some(Self::Failed { code, is_alone })
            }
        }
    }
}

/// The numbers in the lines that one `echo` can have printed.
fn codes(printed: &str, teller: &ToldStatus) -> Vec<i32> {
    let number = |line: &str| {
        let line = line.trim().strip_prefix(teller.before.as_str())?.strip_suffix(teller.after.as_str())?;
        line.parse::<u8>().ok().map(i32::from)
    };
    printed.lines().filter_map(number).collect()
}

/// Why a run that ended with such a status says nothing about the code: it did not start, had nothing to run or was stopped.
pub(super) fn why_not_done(code: i32, command: &SimpleCommand) -> Option<&'static str> {
    match code {
        124 => Some("it ran out of time"),
        126 | 127 => Some("the program was not found"),
        130 | 137 | 143 => Some("it was stopped"),
        141 => Some("its output was cut off before it ended"),
        4 if command.program == "pytest" => Some("it rejected its command line"),
        5 if command.program == "pytest" => Some("it collected no tests"),
        _ => None,
    }
}
