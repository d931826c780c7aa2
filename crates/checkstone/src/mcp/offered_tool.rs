//! A tool as the command line defines it: its description and the schema of its arguments are made from what clap knows of the
//! command, and the arguments of a call become those of the command. No value is split, and none can become an option.

use std::any::TypeId;
use std::path::{Component, Path};
use std::sync::Arc;

use checkpoint::hash;
use clap::{Arg, ArgAction, Command};
use files::{Links, regular_file};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::tool_table::{Effect, Offered, ToolRow};
use crate::error::CommandError;

/// Longer ones, the system would refuse to pass on.
const LONGEST_VALUE: usize = 100 << 10;
/// Of all values of a call together.
const LONGEST_VALUES: usize = 1 << 20;

/// A row of the table, and the command that it names.
#[derive(Debug)]
pub(super) struct OfferedTool {
    pub(super) row: &'static ToolRow,
    pub(super) definition: Tool,
    arguments: Vec<OfferedArgument>,
}

#[derive(Debug)]
struct OfferedArgument {
    name: String,
    argument: Arg,
    kind: ArgumentKind,
    is_list: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArgumentKind {
    Flag,
    Whole,
    Object,
    Text,
    /// A path, or a path with its size and hash.
    HashedFile,
}

/// What a call starts.
#[derive(Debug, PartialEq)]
pub(super) struct ToolCommand {
    pub(super) words: Vec<String>,
    pub(super) input: String,
    /// Files that have to be as the agent says.
    claims: Vec<FileClaim>,
}

impl ToolCommand {
    /// As a person types it, who wants to be asked and to read the answer.
    pub(super) fn as_typed(&self) -> String {
        let own = self.words.iter().take_while(|word| *word != "--");
        let typed = own.filter(|word| !["--json", "--yes"].contains(&word.as_str()));
        let values = self.words.iter().skip_while(|word| *word != "--");
        typed.chain(values).map(|word| text::shell_word(word)).collect::<Vec<_>>().join(" ")
    }
}

#[derive(Debug, PartialEq)]
struct FileClaim {
    path: String,
    sha256: Option<String>,
    size: Option<u64>,
}

impl OfferedTool {
    /// `None` if the program has no such command.
    pub(super) fn new(row: &'static ToolRow, program: &Command) -> Option<Self> {
        let command = row.words.iter().try_fold(program, |command, word| command.find_subcommand(word))?;
        let is_offered = |argument: &&Arg| {
            let id = argument.get_id().as_str();
            let is_ours = ["help", "json", "repo", "version"].contains(&id);
            !is_ours
                && !argument.is_global_set()
                && match row.offered {
                    Offered::AllBut(ids) => !ids.contains(&id),
                    Offered::Only(ids) => ids.contains(&id),
                }
        };
        let arguments = command.get_arguments().filter(is_offered);
        let arguments: Vec<_> = arguments.map(|argument| OfferedArgument::new(row, argument)).collect();
        let definition = definition(row, command, &arguments);
        Some(Self { row, definition, arguments })
    }

    /// What is to be started for these arguments.
    pub(super) fn command_line(&self, given: &JsonObject) -> Result<ToolCommand, CommandError> {
        let mut line = ToolCommand { words: Vec::new(), input: String::new(), claims: Vec::new() };
        let [words, options] = [self.row.words, self.row.options];
        line.words.extend(words.iter().chain(options).chain(&["--json"]).map(|word| (*word).to_owned()));
        if let Some(unknown) =
            given.keys().find(|name| self.arguments.iter().all(|known| known.name != **name))
        {
            let known = self.arguments.iter().map(|argument| argument.name.as_str());
            let known: Vec<&str> = known.collect();
            return Err(CommandError::usage(format!("`{}` has no argument `{unknown}`", self.row.name))
                .hint(format!("it has {}", known.join(", "))));
        }
        let mut length = 0;
        let mut positions: Vec<(&OfferedArgument, Vec<String>)> = Vec::new();
        for argument in &self.arguments {
            let values = argument.values(given.get(&argument.name), &mut line.claims)?;
            length += values.iter().map(String::len).sum::<usize>();
            if length > LONGEST_VALUES {
                return Err(too_long(&argument.name, LONGEST_VALUES));
            }
            if self.row.text_instead_of_file == Some(argument.argument.get_id().as_str()) {
                line.input = values.into_iter().collect();
                positions.push((argument, vec!["-".to_owned()]));
                continue;
            }
            if let Some(value) =
                values.iter().find(|value| value.len() > LONGEST_VALUE || value.contains('\0'))
            {
                return Err(match value.contains('\0') {
                    true => CommandError::usage(format!("`{}` contains a NUL character", argument.name)),
                    false => too_long(&argument.name, LONGEST_VALUE),
                });
            }
            match argument.argument.get_long() {
                _ if argument.argument.is_positional() => positions.push((argument, values)),
                Some(long) if argument.kind == ArgumentKind::Flag => {
                    line.words.extend(values.iter().map(|_| format!("--{long}")));
                }
                Some(long) => line.words.extend(values.iter().map(|value| format!("--{long}={value}"))),
                None => {}
            }
        }
        let is_missing = |argument: &&OfferedArgument| {
            argument.argument.is_required_set() && given.get(&argument.name).is_none_or(Value::is_null)
        };
        if let Some(missing) = self.arguments.iter().find(is_missing) {
            return Err(CommandError::usage(format!(
                "`{}` needs the argument `{}`",
                self.row.name, missing.name
            )));
        }
        line.words.extend(positional(positions)?);
        Ok(line)
    }
}

/// The arguments without a name, in their order. Behind `--` nothing is an option; where the command has a use of its own for
/// what stands there, a value before it must not look like one.
fn positional(given: Vec<(&OfferedArgument, Vec<String>)>) -> Result<Vec<String>, CommandError> {
    let mut given = given;
    given.sort_by_key(|(argument, _)| argument.argument.get_index());
    let last = given.pop_if(|(argument, _)| argument.argument.is_last_set());
    let mut words = Vec::new();
    let mut left_out: Option<&OfferedArgument> = None;
    for (argument, values) in given {
        if values.is_empty() {
            left_out = left_out.or(Some(argument));
            continue;
        }
        if let Some(earlier) = left_out {
            return Err(CommandError::usage(format!("`{}` needs `{}`", argument.name, earlier.name)));
        }
        if let (Some(_), Some(value)) = (&last, values.iter().find(|value| value.starts_with('-'))) {
            return Err(CommandError::usage(format!("`{value}` is not a valid `{}`", argument.name)));
        }
        words.extend(values);
    }
    let after = last.map(|(_, values)| values);
    match after {
        Some(values) if values.is_empty() => Ok(words),
        Some(values) => Ok(words.into_iter().chain(["--".to_owned()]).chain(values).collect()),
        None if words.is_empty() => Ok(words),
        None => Ok(["--".to_owned()].into_iter().chain(words).collect()),
    }
}

fn too_long(name: &str, limit: usize) -> CommandError {
    CommandError::usage(format!("`{name}` is longer than {limit} bytes"))
        .hint("write it into a file of the project, and name that")
}

impl OfferedArgument {
    fn new(row: &ToolRow, argument: &Arg) -> Self {
        let id = argument.get_id().as_str();
        let renamed = row.names.iter().find(|(known, _)| *known == id).map(|(_, name)| *name);
        let name = renamed.or(argument.get_long()).unwrap_or(id).to_owned();
        let is_list = matches!(argument.get_action(), ArgAction::Append);
        let kind = if row.hashed_files == Some(id) { ArgumentKind::HashedFile } else { kind_of(argument) };
        Self { name, argument: argument.clone(), kind, is_list }
    }

    fn schema(&self) -> Value {
        let words = self.argument.get_possible_values();
        let mut schema = match self.kind {
            ArgumentKind::Flag => json!({"type": "boolean"}),
            ArgumentKind::Whole => json!({"type": "integer"}),
            ArgumentKind::Object => json!({"type": "object"}),
            ArgumentKind::Text if !words.is_empty() => {
                let words: Vec<&str> = words.iter().map(|word| word.get_name()).collect();
                json!({"type": "string", "enum": words})
            }
            ArgumentKind::Text => json!({"type": "string"}),
            ArgumentKind::HashedFile => json!({"anyOf": [{"type": "string"}, {
                "type": "object",
                "properties": {
                    "relativePath": {"type": "string"},
                    "sha256": {"type": "string"},
                    "sizeBytes": {"type": "integer"},
                },
                "required": ["relativePath"],
                "additionalProperties": false,
            }]}),
        };
        if self.is_list {
            schema = json!({"type": "array", "items": schema});
        }
        let default = self.argument.get_default_values().first().and_then(|value| value.to_str());
        let default =
            default.filter(|_| self.kind != ArgumentKind::Flag && !self.is_list).map(|text| {
                match (self.kind, text.parse::<u64>()) {
                    (ArgumentKind::Whole, Ok(number)) => json!(number),
                    _ => json!(text),
                }
            });
        let help = self.argument.get_help().map(ToString::to_string);
        if let Value::Object(schema) = &mut schema {
            schema.extend(help.map(|help| ("description".to_owned(), json!(help))));
            schema.extend(default.map(|value| ("default".to_owned(), value)));
        }
        schema
    }

    /// The values as the command line has them; a flag that is set has one, whatever it is.
    fn values(
        &self,
        given: Option<&Value>,
        claims: &mut Vec<FileClaim>,
    ) -> Result<Vec<String>, CommandError> {
        match given {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(values)) if self.is_list => {
                values.iter().map(|value| self.value(value, claims)).collect()
            }
            Some(_) if self.is_list => Err(self.wrong_type()),
            Some(Value::Bool(is_set)) if self.kind == ArgumentKind::Flag => {
                Ok(is_set.then(String::new).into_iter().collect())
            }
            Some(value) => Ok(vec![self.value(value, claims)?]),
        }
    }

    fn value(&self, given: &Value, claims: &mut Vec<FileClaim>) -> Result<String, CommandError> {
        let value = match (self.kind, given) {
            (ArgumentKind::Text | ArgumentKind::HashedFile, Value::String(text)) => text.clone(),
            (ArgumentKind::Whole, Value::Number(number)) if !number.is_f64() => number.to_string(),
            (ArgumentKind::Object, Value::Object(_)) => given.to_string(),
            (ArgumentKind::HashedFile, Value::Object(file)) => {
                let claim = FileClaim::read(file).ok_or_else(|| self.wrong_type())?;
                let path = claim.path.clone();
                claims.push(claim);
                path
            }
            _ => return Err(self.wrong_type()),
        };
        match self.argument.get_value_delimiter() {
            Some(delimiter) if value.contains(delimiter) => Err(CommandError::usage(format!(
                "`{value}` in `{}` contains `{delimiter}`; give several values as a list",
                self.name
            ))),
            _ => Ok(value),
        }
    }

    fn wrong_type(&self) -> CommandError {
        let one = match self.kind {
            ArgumentKind::Flag => "true or false",
            ArgumentKind::Whole => "a whole number",
            ArgumentKind::Object => "an object",
            ArgumentKind::Text => "a text",
            ArgumentKind::HashedFile => {
                "a path, or an object with `relativePath` and, if you like, `sha256` and `sizeBytes`"
            }
        };
        let list = if self.is_list { "a list, each " } else { "" };
        CommandError::usage(format!("`{}` must be {list}{one}", self.name))
    }
}

fn kind_of(argument: &Arg) -> ArgumentKind {
    if matches!(argument.get_action(), ArgAction::SetTrue) {
        return ArgumentKind::Flag;
    }
    let parsed = argument.get_value_parser().type_id();
    let whole = [
        TypeId::of::<u16>(),
        TypeId::of::<u32>(),
        TypeId::of::<u64>(),
        TypeId::of::<usize>(),
        TypeId::of::<i64>(),
    ];
    if whole.iter().any(|kind| parsed == *kind) {
        ArgumentKind::Whole
    } else if parsed == TypeId::of::<Map<String, Value>>() {
        ArgumentKind::Object
    } else {
        ArgumentKind::Text
    }
}

fn definition(row: &ToolRow, command: &Command, arguments: &[OfferedArgument]) -> Tool {
    let about = command.get_long_about().or_else(|| command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    let properties: Map<String, Value> =
        arguments.iter().map(|argument| (argument.name.clone(), argument.schema())).collect();
    let required = arguments.iter().filter(|argument| argument.argument.is_required_set());
    let required: Vec<&str> = required.map(|argument| argument.name.as_str()).collect();
    let mut input = JsonObject::new();
    input.insert("type".to_owned(), json!("object"));
    input.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        input.insert("required".to_owned(), json!(required));
    }
    input.insert("additionalProperties".to_owned(), json!(false));
    let annotations = ToolAnnotations::new()
        .read_only(row.effect == Effect::Reads)
        .destructive(row.effect == Effect::Overwrites)
        .open_world(false);
    let tool = Tool::new(row.name, about, input).with_annotations(annotations);
    match row.output_schema.and_then(|schema| serde_json::from_str::<JsonObject>(schema).ok()) {
        Some(mut schema) => {
            // The dialect is the protocol's own, and some clients know it by no name.
            schema.shift_remove("$schema");
            tool.with_raw_output_schema(Arc::new(schema))
        }
        None => tool,
    }
}

impl ToolCommand {
    /// Whether the files are as the agent says.
    pub(super) fn check_claims(&self, folder: &Path) -> Result<(), CommandError> {
        self.claims.iter().try_for_each(|claim| claim.check(folder))
    }
}

impl FileClaim {
    /// `None` if it is no such object.
    fn read(file: &JsonObject) -> Option<Self> {
        let mut claim = Self { path: String::new(), sha256: None, size: None };
        for (key, value) in file {
            match (key.as_str(), value) {
                ("relativePath", Value::String(path)) => claim.path.clone_from(path),
                ("sha256", Value::String(sha256)) => claim.sha256 = Some(sha256.to_lowercase()),
                ("sizeBytes", Value::Number(size)) => claim.size = Some(size.as_u64()?),
                _ => return None,
            }
        }
        Some(claim).filter(|claim| !claim.path.is_empty())
    }

    fn check(&self, folder: &Path) -> Result<(), CommandError> {
        if self.sha256.is_none() && self.size.is_none() {
            return Ok(());
        }
        let path = Path::new(&self.path);
        if !path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
            return Err(CommandError::usage(format!("`{}` is not below the project's folder", self.path)));
        }
        let file = regular_file::open(&folder.join(path), Links::Refuse)?;
        let found = hash::of_file(&file)?;
        let differs = if self.size.is_some_and(|size| size != found.bytes) {
            format!("has {} bytes", found.bytes)
        } else if self.sha256.as_ref().is_some_and(|sha256| *sha256 != found.sha256) {
            format!("has the SHA-256 {}", found.sha256)
        } else {
            return Ok(());
        };
        Err(CommandError::refused(format!("`{}` does not match: it {differs}", self.path))
            .hint("save it as it is now, or make it again"))
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::super::tool_table::TOOLS;
    use super::*;
    use crate::arguments::Arguments;

    fn program() -> Command {
        let mut program = Arguments::command();
        program.build();
        program
    }

    /// Every command, option and argument that the table names is there.
    #[test]
    fn the_table_is_that_of_the_program() {
        let program = program();
        for row in TOOLS {
            let command =
                row.words.iter().fold(&program, |command, word| command.find_subcommand(word).unwrap());
            let ids: Vec<&str> = command.get_arguments().map(|argument| argument.get_id().as_str()).collect();
            let (Offered::AllBut(named) | Offered::Only(named)) = row.offered;
            let named = named.iter().chain(&row.text_instead_of_file).chain(&row.hashed_files);
            let missing: Vec<&&str> = named.filter(|id| !ids.contains(*id)).collect();
            assert_eq!(missing, [] as [&&str; 0], "{}", row.name);
            let options = row.options.iter().chain(&["--json"]);
            for option in options {
                let is_there =
                    command.get_arguments().any(|known| known.get_long() == option.strip_prefix("--"));
                assert!(is_there, "{} has no `{option}`", row.name);
            }
        }
    }

    #[test]
    fn a_value_stays_one_word_and_no_option() {
        let program = program();
        let words = |tool: &str, given: Value| {
            let row = TOOLS.iter().find(|row| row.name == tool).unwrap();
            let tool = OfferedTool::new(row, &program).unwrap();
            tool.command_line(given.as_object().unwrap()).map(|line| line.words.join(" | "))
        };
        let cases = [
            (
                "snapshot_create",
                json!({"message": "--repo=/ $(x); a 'b'"}),
                "snapshot | create | --json | --message=--repo=/ $(x); a 'b'",
            ),
            (
                "snapshot_diff",
                json!({"snapshot": "a", "paths": ["--patch", "x y"]}),
                "snapshot | diff | --json | a | -- | --patch | x y",
            ),
            (
                "snapshot_restore",
                json!({"snapshot": "-x", "paths": ["-y"], "undo": false}),
                "snapshot | restore | --yes | --json | -- | -x | -y",
            ),
            (
                "workflow_phase",
                json!({"command": "-a", "phase": "b", "created": ["x", "-y"], "data": {"k": 1}}),
                "workflow | phase | --json | --created=x | --created=-y | --data={\"k\":1} | -- | -a | b",
            ),
            (
                "run_start",
                json!({"plan": "--list", "jobs": 3, "fresh": true, "set": ["a=1,2"], "id": null}),
                "run | --detach | --json | --fresh | --set=a=1,2 | --jobs=3 | -- | --list",
            ),
            ("handoff_check", json!({"document": "--json"}), "handoff | check | --json | -- | -"),
        ];
        for (tool, given, expected) in cases {
            assert_eq!(words(tool, given).unwrap(), expected);
        }
    }
}
