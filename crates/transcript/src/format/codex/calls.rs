//! Codex's calls: which command, patch or file each of its tools is given.

use serde::Deserialize;

use super::normaliser::{ResponseItem, call_id};
use super::script::script;
use crate::entry::{COMMAND, CallMade, SCRIPT, set_paths};
use crate::format::{content, patch};
use crate::json_reader::{self, RawJson};
use crate::json_text;
use crate::model::{Call, Kind};

#[derive(Deserialize)]
struct CodexArguments<'a> {
    #[serde(borrow, alias = "cmd")]
    command: Option<RawJson<'a>>,
    #[serde(borrow)]
    input: Option<RawJson<'a>>,
    #[serde(borrow)]
    path: Option<RawJson<'a>>,
    session_id: Option<u64>,
    #[serde(borrow)]
    workdir: Option<RawJson<'a>>,
    #[serde(borrow)]
    target: Option<RawJson<'a>>,
    #[serde(borrow)]
    cell_id: Option<RawJson<'a>>,
}

pub(super) fn call(item: &ResponseItem<'_>) -> CallMade {
    let tool = match &item.name {
        Some(name) => name.owned(),
        None => item.kind.owned(),
    };
    let mut call = Call { id: call_id(item), tool, ..Call::default() };
    let (mut polls, mut closes) = (None, None);
    let arguments = match item.arguments.or(item.action) {
        Some(raw) if raw.get().starts_with('"') => json_text::decode(raw.get()),
        Some(raw) => raw.get().to_owned(),
        None => String::new(),
    };
    let arguments = json_reader::from_str::<CodexArguments<'_>>(&arguments).ok();
    match call.tool.as_str() {
        "exec_command" | "shell" | "shell_command" | "local_shell" | "local_shell_call"
        | "container.exec" | "unified_exec" => {
            call.kind = Kind::Shell;
            let command = arguments.as_ref().and_then(|arguments| arguments.command).and_then(command_line);
            if let Some(patch) = command.as_deref().filter(|command| carries_patch(command)) {
                patch::edit(&mut call, patch);
            }
            call.command = command.map(|command| text::shortened_to_bytes(command, COMMAND));
            call.cwd = arguments.as_ref().and_then(|arguments| content::string(arguments.workdir));
        }
        "exec" => {
            let script = script(&content::string(item.input).unwrap_or_default());
            if let Some(command) = script.command {
                call.kind = Kind::Shell;
                call.command = Some(text::shortened_to_bytes(command, COMMAND));
                call.cwd = script.folder;
            }
            polls = script.session.filter(|_| call.kind != Kind::Shell);
        }
        "close_agent" => {
            closes = arguments.as_ref().and_then(|arguments| content::string(arguments.target));
        }
        "apply_patch" => {
            let patch = content::string(item.input)
                .or_else(|| arguments.as_ref().and_then(|arguments| content::string(arguments.input)));
            patch::edit(&mut call, &patch.unwrap_or_default());
        }
        "read_file" | "view_image" => {
            call.kind = Kind::Read;
            let path = arguments.as_ref().and_then(|arguments| content::string(arguments.path));
            set_paths(&mut call, path.into_iter().collect());
        }
        // Looks after a session that an earlier call started; its command is that call's.
        "write_stdin" | "wait" => {
            polls =
                arguments.as_ref().and_then(|arguments| match (arguments.session_id, arguments.cell_id) {
                    (Some(session), _) => Some(session.to_string()),
                    (None, cell) => content::string(cell).map(|cell| script_task(&cell)),
                });
        }
        // What takes a command is a shell, whatever it is called.
        _ => {
            if let Some(command) = arguments.as_ref().and_then(|arguments| content::string(arguments.command))
            {
                call.kind = Kind::Shell;
                call.command = Some(text::shortened_to_bytes(command, COMMAND));
            }
        }
    }
    CallMade { is_script: call.tool == "exec", call, polls, closes }
}

/// The id under which a script that goes on is remembered; sessions have numbers of their own.
pub(super) fn script_task(cell: &str) -> String {
    format!("{SCRIPT}{cell}")
}

/// The client does not run such a command: it applies the patch in it.
fn carries_patch(command: &str) -> bool {
    let first = match command.split_once("&&") {
        Some((cd, rest)) if cd.trim_start().starts_with("cd ") => rest,
        _ => command,
    };
    let first = first.trim_start();
    (first.starts_with("apply_patch ") || first.starts_with("apply_patch<<"))
        && first.contains("*** Begin Patch")
}

/// The command as one would type it. Of `bash -lc SCRIPT` that is the script.
pub(super) fn command_line(command: RawJson<'_>) -> Option<String> {
    if let Some(line) = content::string(Some(command)) {
        return Some(line);
    }
    let words: Vec<String> = json_reader::from_str(command.get()).ok()?;
    if let [shell, flag, script] = words.as_slice() {
        let shell = shell.rsplit('/').next().unwrap_or(shell);
        if matches!(shell, "bash" | "sh" | "zsh" | "dash")
            && matches!(flag.as_str(), "-lc" | "-c" | "-ic" | "-lic")
        {
            return Some(script.clone());
        }
    }
    Some(text::command_line(&words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_become_a_command_line() {
        for (raw, expected) in [
            (r#""make test""#, "make test"),
            (r#"["bash","-lc","cd x && make"]"#, "cd x && make"),
            (r#"["/usr/bin/zsh","-c","ls"]"#, "ls"),
            (r#"["git","commit","-m","it's"]"#, r"git commit -m 'it'\''s'"),
            (r#"["printf",""]"#, "printf ''"),
        ] {
            let value: RawJson<'_> = json_reader::from_str(raw).unwrap();
            assert_eq!(command_line(value).as_deref(), Some(expected));
        }
    }
}
