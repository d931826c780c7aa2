//! The last look at an edited settings file before anybody writes it: read again as a whole, the new text must be exactly the old
//! document with our entries in it, or without them. Every edit goes through here, of whatever format, for a text that looks right to
//! whoever edited it may be another document, or none.

use serde_json::{Map, Value};
use transcript::Agent;

use super::json_text::JsonText;
use super::own_call::OwnCall;
use super::settings::{HOOKS, SettingsError, split_mark};
use super::{Entry, Registration};
use crate::host::host;

/// How the client reads the file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Format {
    Json(Agent),
    Toml,
}

impl Format {
    /// The whole document. Nothing in the text is an empty one.
    pub(super) fn document(self, text: &str) -> Result<Value, SettingsError> {
        match self {
            Self::Toml => toml::from_str(text).map_err(SettingsError::InvalidToml),
            Self::Json(agent) => {
                let (_, body) = split_mark(agent, text)?;
                if body.trim().is_empty() {
                    return Ok(Value::Object(Map::new()));
                }
                let json = JsonText::parse(body).map_err(SettingsError::Invalid)?;
                Ok(json.value(&json.whole()))
            }
        }
    }

    /// The new text, if it is the document of the old one after `meant` has been done to that; else `otherwise`.
    pub(super) fn as_meant(
        self,
        old: &str,
        new: String,
        meant: impl FnOnce(&mut Map<String, Value>),
        otherwise: impl FnOnce() -> SettingsError,
    ) -> Result<String, SettingsError> {
        let Value::Object(mut expected) = self.document(old)? else { return Err(SettingsError::NotAnObject) };
        meant(&mut expected);
        match self.document(&new) {
            Ok(Value::Object(found)) if found == expected => Ok(new),
            _ => Err(otherwise()),
        }
    }
}

/// Our hooks are added: each event gets an entry if it has none of ours, and those of `gone` programs get the present one.
pub(super) fn add_hooks(document: &mut Map<String, Value>, registration: &Registration, gone: &[String]) {
    let lists = document.entry(HOOKS).or_insert_with(|| Value::Object(Map::new()));
    let Some(lists) = lists.as_object_mut() else { return };
    for Entry { event, group } in &registration.entries {
        let list = lists.entry(*event).or_insert_with(|| Value::Array(Vec::new()));
        let Some(list) = list.as_array_mut() else { continue };
        let [present] = &group.hooks;
        let mut has_own = false;
        for handler in list.iter_mut().flat_map(|group| handlers(registration.agent, group)) {
            let Some(call) = OwnCall::of_handler(registration.agent, handler) else { continue };
            has_own = true;
            if call.is_as_written && gone.contains(&call.program) {
                set(handler, "command", Value::from(present.command.as_str()));
            }
        }
        if !has_own {
            list.extend(serde_json::to_value(group));
        }
    }
}

/// Our hooks are taken out, and with them what got empty by that and was not there before: a group always, the list of an event and the
/// whole unless `was_there` says so (`None` is the whole).
pub(super) fn remove_hooks(
    document: &mut Map<String, Value>,
    agent: Agent,
    was_there: impl Fn(Option<&str>) -> bool,
) {
    let Some(lists) = document.get_mut(HOOKS).and_then(Value::as_object_mut) else { return };
    let mut are_all_ours = !lists.is_empty();
    lists.retain(|event, list| {
        let Some(list) = list.as_array_mut() else {
            are_all_ours = false;
            return true;
        };
        let had_groups = !list.is_empty();
        list.retain_mut(|group| !is_emptied(agent, group));
        let goes = had_groups && list.is_empty() && !was_there(Some(event));
        are_all_ours &= goes;
        !goes
    });
    if are_all_ours && !was_there(None) {
        document.remove(HOOKS);
    }
}

/// Takes our handlers out of a group; whether nothing else was in it.
fn is_emptied(agent: Agent, group: &mut Value) -> bool {
    let is_own = |handler: &Value| OwnCall::of_handler(agent, handler).is_some();
    if host(agent).registration.is_flat {
        return is_own(group);
    }
    let Some(handlers) = group.get_mut(HOOKS).and_then(Value::as_array_mut) else { return false };
    let had_any = !handlers.is_empty();
    if handlers.iter().all(is_own) {
        return had_any;
    }
    handlers.retain(|handler| !is_own(handler));
    false
}

/// The handlers of a group, which is itself one if the client has no groups.
fn handlers(agent: Agent, group: &mut Value) -> &mut [Value] {
    if host(agent).registration.is_flat {
        return std::slice::from_mut(group);
    }
    group.get_mut(HOOKS).and_then(Value::as_array_mut).map(Vec::as_mut_slice).unwrap_or_default()
}

/// Sets a key of a table in the document.
pub(super) fn set(table: &mut Value, key: &str, value: Value) {
    if let Some(table) = table.as_object_mut() {
        table.insert(key.to_owned(), value);
    }
}
