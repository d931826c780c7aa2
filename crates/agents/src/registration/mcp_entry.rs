//! Our MCP server among those that a client starts: found, added, taken away, and everything else left as it is. Pure, as the edits of
//! settings are: a text in, a text out. Where the file is and what an entry looks like is in the host's [`McpForm`].

use serde_json::{Map, Value};
use toml::de::{DeTable, DeValue};
use transcript::Agent;

use super::as_meant::Format;
use super::layout::{Addition, applied};
use super::own_call::is_our_name;
use super::settings::{Settings, SettingsError, split_mark};
use crate::host::{McpForm, McpText, host};

/// What our server is called among the others.
pub const NAME: &str = "checkstone";

/// The one argument that our program is started with.
const ARGUMENT: &str = "mcp";

/// Whose server has our name in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpOwner {
    Nobody,
    /// Ours, with the program that it starts.
    Ours(String),
    Others,
}

/// Where one entry stands in a JSON text.
struct JsonPlaces {
    settings: Settings,
    servers: Option<super::json_text::Member>,
    own: Option<super::json_text::Member>,
}

/// Whose server the client would start under our name.
pub fn owner(agent: Agent, form: &McpForm, text: &str) -> Result<McpOwner, SettingsError> {
    let value = match form.text {
        McpText::Json { servers, .. } => {
            let (_, body) = split_mark(agent, text)?;
            JsonPlaces::read(agent, servers, body)?.and_then(|places| places.value())
        }
        McpText::Toml { table } => {
            let all = Format::Toml.document(text)?;
            match all.get(table) {
                Some(Value::Object(servers)) => servers.get(NAME).cloned(),
                Some(_) => return Err(SettingsError::ServersNotATable { name: table.to_owned() }),
                None => None,
            }
        }
    };
    Ok(value.map_or(McpOwner::Nobody, |value| match program(&value) {
        Some(program) => McpOwner::Ours(program),
        None => McpOwner::Others,
    }))
}

/// The text with our server. The same text where somebody's has its name; ours gets the present program where the one that it starts is
/// among `gone`.
pub fn add(
    agent: Agent,
    form: &McpForm,
    text: &str,
    program: &str,
    gone: &[String],
) -> Result<String, SettingsError> {
    let text = match owner(agent, form, text)? {
        McpOwner::Nobody => text.to_owned(),
        McpOwner::Ours(old) if gone.contains(&old) => remove(agent, form, text, Some(text))?,
        McpOwner::Ours(_) | McpOwner::Others => return Ok(text.to_owned()),
    };
    let (servers, entry, by_hand) = match form.text {
        McpText::Json { servers, entry } => {
            let entry = entry(program);
            (servers, entry.clone(), format!("\"{NAME}\": {entry}"))
        }
        McpText::Toml { table } => {
            let entry = serde_json::json!({ "command": program, "args": [ARGUMENT] });
            (table, entry, format!("{NAME} = {{ {} }}", toml_entry(program, ", ")))
        }
    };
    let added = match form.text {
        McpText::Json { .. } => add_json(agent, servers, &entry, &text)?,
        McpText::Toml { .. } => with_table(&text, servers, program),
    };
    format_of(agent, form).as_meant(
        &text,
        added,
        |document| {
            let list = document.entry(servers).or_insert_with(|| Value::Object(Map::new()));
            if let Some(list) = list.as_object_mut() {
                list.insert(NAME.to_owned(), entry);
            }
        },
        || SettingsError::NotSurelyAdded { place: servers.to_owned(), entry: by_hand },
    )
}

fn format_of(agent: Agent, form: &McpForm) -> Format {
    match form.text {
        McpText::Json { .. } => Format::Json(agent),
        McpText::Toml { .. } => Format::Toml,
    }
}

/// The text without our server. A list of servers that gets empty by that goes too, unless it was there `before`.
pub fn remove(
    agent: Agent,
    form: &McpForm,
    text: &str,
    before: Option<&str>,
) -> Result<String, SettingsError> {
    if !matches!(owner(agent, form, text)?, McpOwner::Ours(_)) {
        return Ok(text.to_owned());
    }
    let (servers, (rest, keeps_list)) = match form.text {
        McpText::Json { servers, .. } => (servers, remove_json(agent, servers, text, before)?),
        McpText::Toml { table } => (table, (without_table(text, table)?, false)),
    };
    format_of(agent, form).as_meant(
        text,
        rest,
        |document| {
            let Some(list) = document.get_mut(servers).and_then(Value::as_object_mut) else { return };
            list.remove(NAME);
            if list.is_empty() && !keeps_list {
                document.remove(servers);
            }
        },
        || SettingsError::NotSurelyRemoved { name: format!("{servers}.{NAME}") },
    )
}

/// Whether nothing is left in a text.
pub fn is_empty(form: &McpForm, text: &str) -> bool {
    match form.text {
        McpText::Json { .. } => {
            text.trim().is_empty()
                || serde_json::from_str(text).is_ok_and(|value: Value| value == serde_json::json!({}))
        }
        McpText::Toml { .. } => text.trim().is_empty(),
    }
}

/// The program of an entry that starts us: a program with its arguments, or both as one list.
fn program(entry: &Value) -> Option<String> {
    let words = |value: &Value| -> Vec<String> {
        match value {
            Value::String(word) => vec![word.clone()],
            Value::Array(words) => words.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        }
    };
    let mut all = entry.get("command").map(words).unwrap_or_default();
    all.extend(entry.get("args").map(words).unwrap_or_default());
    match all.as_slice() {
        [program, argument] if argument == ARGUMENT && is_our_name(program) => Some(program.clone()),
        _ => None,
    }
}

impl JsonPlaces {
    /// `None` where there is nothing in the text at all.
    fn read(agent: Agent, servers: &str, text: &str) -> Result<Option<Self>, SettingsError> {
        let Some(settings) = Settings::read(agent, text)? else { return Ok(None) };
        let whole = settings.json.members(&settings.json.whole());
        let servers = settings.only_member(whole, servers)?;
        if let Some(servers) = servers.as_ref().filter(|servers| !settings.json.is_object(&servers.value)) {
            return Err(SettingsError::ServersNotAnObject { name: servers.name.clone() });
        }
        let entries = servers.as_ref().map(|servers| settings.json.members(&servers.value));
        let own = settings.only_member(entries.unwrap_or_default(), NAME)?;
        Ok(Some(Self { settings, servers, own }))
    }

    fn value(&self) -> Option<Value> {
        let own = self.own.as_ref()?;
        Some(self.settings.json.value(&own.value))
    }
}

fn add_json(agent: Agent, servers: &str, entry: &Value, text: &str) -> Result<String, SettingsError> {
    let (mark, body) = split_mark(agent, text)?;
    let Some(places) = JsonPlaces::read(agent, servers, body)? else {
        return Ok(format!("{mark}{:#}\n", serde_json::json!({ servers: { NAME: entry } })));
    };
    let settings = &places.settings;
    let (container, name, value) = match &places.servers {
        Some(servers) => (servers.value.clone(), NAME, entry.clone()),
        None => (settings.json.whole(), servers, serde_json::json!({ NAME: entry })),
    };
    let present: Vec<_> = settings.json.members(&container).into_iter().map(|member| member.range).collect();
    let new = [(Some(name), Addition::Value(&value))];
    let edits = settings.layout.append(&settings.json, &container, &present, &new);
    Ok(format!("{mark}{}", applied(body, edits)))
}

/// The text without our server, and whether the list stays even if it is empty by that.
fn remove_json(
    agent: Agent,
    servers: &str,
    text: &str,
    before: Option<&str>,
) -> Result<(String, bool), SettingsError> {
    let (mark, body) = split_mark(agent, text)?;
    let Some(places) = JsonPlaces::read(agent, servers, body)? else { return Ok((text.to_owned(), true)) };
    let Some(list) = &places.servers else { return Ok((text.to_owned(), true)) };
    let settings = &places.settings;
    let entries = settings.json.members(&list.value);
    let was_there = before.is_some_and(|before| {
        let body = split_mark(agent, before).map(|(_, body)| body);
        let read = body.and_then(|body| JsonPlaces::read(agent, servers, body));
        read.is_ok_and(|places| places.is_some_and(|places| places.servers.is_some()))
    });
    let (container, members, goes) = match entries.len() == 1 && !was_there {
        true => {
            let whole = settings.json.whole();
            (whole.clone(), settings.json.members(&whole), servers)
        }
        false => (list.value.clone(), entries, NAME),
    };
    let marked: Vec<bool> = members.iter().map(|member| member.name == goes).collect();
    let ranges: Vec<_> = members.into_iter().map(|member| member.range).collect();
    let edits = settings.layout.take(&settings.json, &container, &ranges, &marked);
    Ok((format!("{mark}{}", applied(body, edits)), was_there))
}

/// A table at the end of a TOML text, where there are tables.
fn with_table(text: &str, table: &str, program: &str) -> String {
    let gap = match text {
        "" => "",
        text if text.ends_with("\n\n") => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    format!("{text}{gap}[{table}.{NAME}]\n{}\n", toml_entry(program, "\n"))
}

fn toml_entry(program: &str, between: &str) -> String {
    // A string is written as in JSON.
    let program = Value::from(program);
    format!("command = {program}{between}args = [\"{ARGUMENT}\"]")
}

/// Takes out the lines of our table, and of tables in it, as far as they have headers of their own.
fn without_table(text: &str, table: &str) -> Result<String, SettingsError> {
    let root = DeTable::parse(text).map_err(SettingsError::InvalidToml)?;
    let mut headers = Vec::new();
    collect_headers(text, root.get_ref(), &mut vec![], &mut headers);
    let (mut kept, mut is_ours, mut owes_blank) = (String::with_capacity(text.len()), false, false);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let place = at..at + line.len();
        at = place.end;
        let start = line.trim();
        if let Some((_, path)) = headers.iter().find(|(header, _)| place.contains(header)) {
            is_ours = path.starts_with(&[table, NAME]);
            // One of the empty lines around it goes with it.
            owes_blank = owes_blank || (is_ours && (kept.is_empty() || kept.ends_with("\n\n")));
        }
        let is_beside = start.is_empty() || start.starts_with('#');
        if is_ours && start.is_empty() && owes_blank {
            owes_blank = false;
        } else if !is_ours || is_beside {
            kept.push_str(line);
        }
    }
    if owes_blank && kept.ends_with("\n\n") {
        kept.pop();
    }
    Ok(kept)
}

/// Where the header of each table is, and the keys that lead to it.
fn collect_headers<'a>(
    text: &str,
    table: &'a DeTable<'_>,
    path: &mut Vec<&'a str>,
    found: &mut Vec<(usize, Vec<&'a str>)>,
) {
    for (key, value) in table {
        path.push(key.get_ref());
        let items = match value.get_ref() {
            DeValue::Array(items) => items.iter().collect(),
            _ => vec![value],
        };
        for item in items {
            let DeValue::Table(inner) = item.get_ref() else { continue };
            // A table in braces, or one that is only named on the way to another, has none.
            if text.get(item.span()).is_some_and(|written| written.starts_with('[')) {
                found.push((item.span().start, path.clone()));
            }
            collect_headers(text, inner, path, found);
        }
        path.pop();
    }
}

/// The form of a client that has MCP.
pub fn form(agent: Agent) -> Option<&'static McpForm> {
    host(agent).mcp.as_ref()
}
