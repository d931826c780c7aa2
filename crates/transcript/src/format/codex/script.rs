//! Codex in code mode: the agent writes a script that calls tools (`tools.exec_command({cmd: "…"})`), and the transcript holds
//! only the script and what it printed (W13). The script is not run here: the texts that it gives to its tools are read off.

use serde::Deserialize;

use super::output::exited;
use crate::entry::CallResult;
use crate::format::content;
use crate::json_reader::{self, RawJson};
use crate::model::Outcome;

/// What a script gives to its tools.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Script {
    /// The shell commands, one a line.
    pub(super) command: Option<String>,
    /// The folder of the first of them.
    pub(super) folder: Option<String>,
    /// The running command that it looks after.
    pub(super) session: Option<String>,
}

/// A script with more commands is a program, and each may have to be looked up in the whole of it.
const MOST_COMMANDS: usize = 100;

pub(super) fn script(source: &str) -> Script {
    let mut script = Script::default();
    for arguments in source.split("tools.exec_command(").skip(1).take(MOST_COMMANDS) {
        let Some(command) = text_argument(source, arguments, "cmd") else { continue };
        match &mut script.command {
            Some(commands) => {
                commands.push('\n');
                commands.push_str(&command);
            }
            None => {
                script.folder = text_argument(source, arguments, "workdir");
                script.command = Some(command);
            }
        }
    }
    let looked_after = source.split("tools.write_stdin(").nth(1);
    script.session = looked_after.and_then(|arguments| value_of(arguments, "session_id")).and_then(|value| {
        let end = value.find(|character: char| !character.is_ascii_digit()).unwrap_or(value.len());
        value.get(..end).filter(|digits| !digits.is_empty()).map(str::to_owned)
    });
    script
}

/// The text of an argument: written there, or in a constant that it names.
fn text_argument(source: &str, arguments: &str, key: &str) -> Option<String> {
    let value = value_of(arguments, key)?;
    literal(value).or_else(|| {
        let end = value
            .find(|character: char| !character.is_alphanumeric() && character != '_')
            .unwrap_or(value.len());
        let name = value.get(..end).filter(|name| !name.is_empty())?;
        let declared = source.split(&format!("const {name}")).nth(1)?.trim_start();
        literal(declared.strip_prefix('=')?.trim_start())
    })
}

/// What stands behind a key of the object that `arguments` begins with; the key alone names a constant.
fn value_of<'a>(arguments: &'a str, key: &str) -> Option<&'a str> {
    let mut rest = arguments.trim_start().strip_prefix('{')?;
    loop {
        rest = rest.trim_start().trim_start_matches([',', '}']).trim_start();
        let name = rest.trim_start_matches(['"', '\'']);
        let end = name.find(|character: char| !character.is_alphanumeric() && character != '_')?;
        let (name, after) = name.split_at(end);
        let after = after.trim_start_matches(['"', '\'']).trim_start();
        let value = match after.strip_prefix(':') {
            Some(value) => value.trim_start(),
            None => rest,
        };
        if name == key {
            return Some(value);
        }
        if name.is_empty() {
            return None;
        }
        rest = behind_value(value)?;
    }
}

/// What follows a value: a text, or anything up to the next comma.
fn behind_value(value: &str) -> Option<&str> {
    match literal_length(value) {
        Some(length) => value.get(length..),
        None => value.get(value.find([',', '}'])?..),
    }
}

/// The length of the text that `value` begins with, quotes included.
fn literal_length(value: &str) -> Option<usize> {
    let quote = value.chars().next().filter(|first| matches!(first, '"' | '\'' | '`'))?;
    let mut escaped = false;
    for (at, character) in value.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if character == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn literal(value: &str) -> Option<String> {
    let inside = value.get(1..literal_length(value)? - 1)?;
    // The quotes of the other kinds need no escape in a script, but end a JSON text.
    Some(inside.split('"').map(crate::json_text::decode).collect::<Vec<_>>().join("\""))
        .filter(|_| !value.starts_with('"') || !inside.contains("\\\""))
        .or_else(|| Some(crate::json_text::decode(inside)))
}

/// What a script prints of one command.
#[derive(Deserialize)]
struct PrintedCommand<'a> {
    exit_code: Option<i32>,
    session_id: Option<u64>,
    #[serde(borrow)]
    output: Option<RawJson<'a>>,
}

/// What a script printed, piece by piece: how its commands ended, as far as that tells, and what they put out.
#[derive(Debug, Default)]
pub(super) struct Printed {
    codes: Vec<i32>,
    running: Option<u64>,
    pub(super) has_plain_text: bool,
    pub(super) outputs: Vec<String>,
}

impl Printed {
    pub(super) fn add(&mut self, piece: String) {
        let commands = match piece.trim_start().chars().next() {
            Some('{') => json_reader::from_str(&piece).map(|command| vec![command]).ok(),
            Some('[') => json_reader::from_str::<Vec<PrintedCommand<'_>>>(&piece).ok(),
            Some(_) => None,
            None => return,
        };
        let is_account =
            |command: &PrintedCommand<'_>| command.exit_code.is_some() || command.session_id.is_some();
        let Some(commands) =
            commands.filter(|commands| !commands.is_empty() && commands.iter().all(is_account))
        else {
            self.has_plain_text = true;
            self.outputs.push(piece);
            return;
        };
        self.codes.extend(commands.iter().filter_map(|command| command.exit_code));
        self.running = self.running.or_else(|| commands.iter().find_map(|command| command.session_id));
        let outputs: Vec<String> =
            commands.iter().filter_map(|command| content::string(command.output)).collect();
        self.outputs.extend(outputs);
    }

    /// How the commands ended. One that failed is known; that none did only if each has told.
    pub(super) fn status(&self) -> CallResult {
        match (self.codes.iter().find(|code| **code != 0), self.running) {
            (Some(code), _) => exited(Some(*code)),
            (None, Some(session)) => {
                CallResult { running_as: Some(session.to_string()), ..CallResult::default() }
            }
            (None, None) if !self.codes.is_empty() && !self.has_plain_text => exited(Some(0)),
            (None, None) => {
                CallResult { outcome: Outcome::Ok, is_status_hidden: true, ..CallResult::default() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// W13: scripts contain their commands.
    #[test]
    fn w13_the_commands_of_a_script_are_read_off() {
        for (source, command, folder, session) in [
            (
                r#"const r = await tools.exec_command({cmd:"go test ./... | tail -5","workdir":"/a/b","yield_time_ms":1000}); text(r.output);"#,
                Some("go test ./... | tail -5"),
                Some("/a/b"),
                None,
            ),
            (
                r#"await tools.exec_command({"workdir": "/a", "cmd": "echo \"x\"\nmake"})"#,
                Some("echo \"x\"\nmake"),
                Some("/a"),
                None,
            ),
            (
                "const cmd = `npm test`;\nawait tools.exec_command({ cmd, workdir: '/w' })",
                Some("npm test"),
                Some("/w"),
                None,
            ),
            ("const c = 'a \"b\" c'; tools.exec_command({cmd: c})", Some("a \"b\" c"), None, None),
            (
                "await Promise.all([tools.exec_command({cmd: 'a'}), tools.exec_command({cmd: 'b'})])",
                Some("a\nb"),
                None,
                None,
            ),
            ("tools.write_stdin({session_id:4711,chars:\"\"})", None, None, Some("4711")),
            ("tools.apply_patch(p)", None, None, None),
        ] {
            let found = script(source);
            assert_eq!(
                (found.command.as_deref(), found.folder.as_deref(), found.session.as_deref()),
                (command, folder, session),
                "{source}"
            );
        }
    }

    #[test]
    fn a_script_may_print_how_its_commands_ended() {
        for (pieces, outcome, exit_code, running_as, is_hidden) in [
            (&[r#"{"output":"ok","exit_code":0}"#] as &[&str], Outcome::Ok, Some(0), None, false),
            (&[r#"{"exit_code":2,"output":""}"#], Outcome::Error, Some(2), None, false),
            (&[r#"[{"exit_code":0},{"exit_code":1}]"#], Outcome::Error, Some(1), None, false),
            (&["text", r#"{"exit_code":1,"output":""}"#], Outcome::Error, Some(1), None, false),
            (&["text", r#"{"exit_code":0,"output":""}"#], Outcome::Ok, None, None, true),
            (&[r#"{"session_id":12,"output":""}"#], Outcome::Unknown, None, Some("12"), false),
            (&[r#"{"name":"package"}"#], Outcome::Ok, None, None, true),
            (&["exit_code: 0"], Outcome::Ok, None, None, true),
            (&[], Outcome::Ok, None, None, true),
        ] {
            let mut printed = Printed::default();
            pieces.iter().for_each(|piece| printed.add((*piece).to_owned()));
            let found = printed.status();
            assert_eq!(
                (found.outcome, found.exit_code, found.running_as.as_deref(), found.is_status_hidden),
                (outcome, exit_code, running_as, is_hidden),
                "{pieces:?}"
            );
        }
    }
}
