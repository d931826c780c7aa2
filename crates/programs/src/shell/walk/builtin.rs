//! What a command does to the shell that runs it: `cd`, `set`, `trap`, `exec`, `exit`.

use super::{Status, Walk};
use crate::shell::flow::{Blame, Flow};
use crate::shell::word::Word;
use crate::shell::{Directory, Output, SimpleCommand, files};
use crate::table::Fact;

impl Walk {
    /// The effect of a command on the shell itself, and its flow.
    pub(super) fn builtin(&mut self, index: usize, strict: bool) -> Flow {
        let Some(command) = self.found.get(index) else { return Flow::neutral() };
        let first = command.arguments.first();
        match command.program.as_str() {
            "cd" | "pushd" | "Set-Location" => {
                let target =
                    command.arguments.iter().find(|word| !matches!(word.known(), Some("-L" | "-P" | "--")));
                let target =
                    target.and_then(Word::known).filter(|target| *target != "-" && !target.starts_with('+'));
                self.shell.directory =
                    match target.and_then(|path| files::resolve(path, &self.shell.directory)) {
                        Some(path) if path.is_empty() => Directory::Start,
                        Some(path) => Directory::At(path),
                        None => Directory::Unknown,
                    };
            }
            "popd" => self.shell.directory = Directory::Unknown,
            "set" => self.set_options(index),
            "trap" => {
                self.trapped |= first.is_some_and(|word| word.text().contains("exit"));
            }
            "exec" if first.is_none() && command.output == Output::Hidden => {
                self.shell.output = Output::Hidden
            }
            "exit" | "return" => {
                let status = self.status_named(first.map(Word::text));
                let success = status.success.map(|mut proven| {
                    proven.insert(index);
                    proven
                });
                return Flow::exit(success, status.failure);
            }
            "false" => return Flow::failure(strict),
            _ => {}
        }
        let never_fails = |command: &SimpleCommand| command.row().is_some_and(|row| row.is(Fact::NeverFails));
        let can_fail = !self.found.get(index).is_none_or(never_fails);
        Flow::command(index, can_fail, strict)
    }

    /// The status that `exit $rc` ends with, and that `echo $rc` prints.
    pub(super) fn status_named(&self, argument: Option<&str>) -> Status {
        match argument {
            None | Some("$?") => self.shell.status.clone(),
            Some("${PIPESTATUS[0]}" | "$PIPESTATUS") => self.shell.first_of_pipe.clone(),
            Some("0") => Status::unknown(),
            Some(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                Status { success: None, failure: Blame::nobody() }
            }
            Some(name) => {
                let name = name.trim_start_matches('$').trim_start_matches('{').trim_end_matches('}');
                self.shell.kept.get(name).cloned().unwrap_or_else(Status::unknown)
            }
        }
    }

    fn set_options(&mut self, index: usize) {
        let Some(command) = self.found.get(index) else { return };
        let mut names_option = None;
        for argument in command.known_arguments() {
            if let Some(on) = names_option.take() {
                match argument {
                    "errexit" => self.shell.errexit = on,
                    "pipefail" => self.shell.pipefail = on,
                    _ => {}
                }
                continue;
            }
            let (on, letters) = match (argument.strip_prefix('-'), argument.strip_prefix('+')) {
                (Some(letters), _) if !letters.starts_with('-') => (true, letters),
                (_, Some(letters)) => (false, letters),
                _ => break,
            };
            if letters.contains('e') {
                self.shell.errexit = on;
            }
            if letters.ends_with('o') {
                names_option = Some(on);
            }
        }
    }
}
