//! Our entries in the text of a client's settings: found, added, taken away, and everything else left as it is, byte
//! for byte. Pure: a text in, a text out. Where a text is not surely understood, it is an error and nothing else.
//! No edit is handed out before [`as_meant`](super::as_meant) has seen that the new text is what was meant.
//! What the client does with an unusual file decides what is refused. Of two equal names most take the last, some none; a person may
//! mean either.

use serde_json::Value;
use transcript::Agent;

use super::as_meant::{self, Format};
use super::json_text::{JsonText, Member};
use super::layout::{Addition, Edit, Layout, applied};
use super::own_call::OwnCall;
use super::own_file::OwnFile;
use super::{Entry, Lists, Registration, status_line};
use crate::host::{Switch, host};

pub(super) const HOOKS: &str = "hooks";

/// Why a text is left alone.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("it is not valid JSON: {0}")]
    Invalid(serde_json::Error),
    #[error("it has comments, and {} ignores a file with comments", client(*agent))]
    Comments { agent: Agent },
    #[error("it begins with a byte order mark, which {} does not accept", client(*agent))]
    ByteOrderMark { agent: Agent },
    #[error("it is not a JSON object")]
    NotAnObject,
    #[error("`{name}` appears in it twice")]
    Twice { name: String },
    #[error("`hooks` in it is not an object")]
    HooksNotAnObject,
    #[error("`hooks.{event}` in it is not a list")]
    EventNotAList { event: String },
    #[error("it is not a file of ours")]
    NotOurs,
    #[error("it is not valid TOML: {}", _0.message())]
    InvalidToml(toml::de::Error),
    #[error("`{name}` in it is not an object")]
    ServersNotAnObject { name: String },
    #[error("`{name}` in it is not a table")]
    ServersNotATable { name: String },
    #[error("`{entry}` cannot be added under `{place}` in it without changing anything else; add it by hand")]
    NotSurelyAdded { place: String, entry: String },
    #[error("`{name}` cannot be taken out of it without changing anything else; remove it by hand")]
    NotSurelyRemoved { name: String },
}

/// How people call the client.
pub fn client(agent: Agent) -> &'static str {
    host(agent).title
}

/// One of our entries, and the event that it stands under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnEntry {
    pub event: String,
    pub call: OwnCall,
}

/// Our entries in a text. An empty text has none.
pub fn find(agent: Agent, text: &str) -> Result<Vec<OwnEntry>, SettingsError> {
    if let Some(own) = OwnFile::of(agent) {
        return Ok(own.find(agent, text));
    }
    let settings = Settings::of(agent, text)?;
    let own = settings.iter().flat_map(Settings::own);
    Ok(own.map(|(event, _, call)| OwnEntry { event: event.to_owned(), call: call.clone() }).collect())
}

/// Our handlers in a text, as they are written, each with the event that it stands under.
pub fn handlers(agent: Agent, text: &str) -> Result<Vec<(String, Value)>, SettingsError> {
    if let Some(own) = OwnFile::of(agent) {
        let handler = |found: OwnEntry| {
            let handler = serde_json::json!({"command": found.call.program, "args": ["hook", agent.name()]});
            (found.event, handler)
        };
        return Ok(own.find(agent, text).into_iter().map(handler).collect());
    }
    let Some(settings) = Settings::of(agent, text)? else { return Ok(Vec::new()) };
    Ok(settings.own().map(|(event, range, _)| (event.to_owned(), settings.json.value(range))).collect())
}

/// The text with an entry for every event that has none of ours yet, behind what is there. An entry of `init` whose
/// program is among `gone` gets the present one, in its place. The same text where nothing is to be done.
pub fn add(text: &str, registration: &Registration, gone: &[String]) -> Result<String, SettingsError> {
    if let Some(own) = OwnFile::of(registration.agent) {
        return own.add(text, registration, gone);
    }
    let (mark, body) = split_mark(registration.agent, text)?;
    let Some(settings) = Settings::read(registration.agent, body)? else {
        return Ok(format!("{mark}{}", registration.file()));
    };
    let mut edits = Vec::new();
    let mut missing: Vec<&Entry> = Vec::new();
    for entry in &registration.entries {
        match settings.events.iter().find(|event| event.member.name == entry.event) {
            None => missing.push(entry),
            Some(event) if event.has_own() => edits.extend(event.with_present_program(entry, gone)),
            Some(event) => edits.extend(settings.layout.append(
                &settings.json,
                &event.member.value,
                &event.groups.iter().map(|group| group.range.clone()).collect::<Vec<_>>(),
                &[(None, Addition::Group(&entry.group))],
            )),
        }
    }
    if !missing.is_empty() {
        edits.extend(match &settings.hooks {
            Some(hooks) => {
                let members: Vec<_> = settings.members_of(hooks).collect();
                let lists = missing.iter().map(|entry| (Some(entry.event), Addition::List([&entry.group])));
                settings.layout.append(&settings.json, &hooks.value, &members, &lists.collect::<Vec<_>>())
            }
            None => {
                let members: Vec<_> = settings.json.members(&settings.json.whole());
                let members: Vec<_> = members.into_iter().map(|member| member.range).collect();
                let lists = [(Some(HOOKS), Addition::Lists(Lists(&registration.entries)))];
                settings.layout.append(&settings.json, &settings.json.whole(), &members, &lists)
            }
        });
    }
    let added = format!("{mark}{}", applied(body, edits));
    Format::Json(registration.agent).as_meant(
        text,
        added,
        |document| as_meant::add_hooks(document, registration, gone),
        || SettingsError::NotSurelyAdded {
            place: HOOKS.to_owned(),
            entry: format!("checkstone hook {}", registration.agent.name()),
        },
    )
}

/// The text without any entry of ours. What gets empty by that goes too, unless it was there `before`.
pub fn remove(agent: Agent, text: &str, before: Option<&str>) -> Result<String, SettingsError> {
    if let Some(own) = OwnFile::of(agent) {
        return Ok(own.remove(text));
    }
    let text = without_hooks(agent, text, before)?;
    if host(agent).can.has_status_line { status_line::remove(agent, &text) } else { Ok(text) }
}

fn without_hooks(agent: Agent, text: &str, before: Option<&str>) -> Result<String, SettingsError> {
    let (mark, body) = split_mark(agent, text)?;
    let Some(settings) = Settings::read(agent, body)? else { return Ok(text.to_owned()) };
    // Without what was ours already.
    let before = before.and_then(|before| remove(agent, before, None).ok());
    let before = before.as_deref().and_then(|before| Settings::of(agent, before).ok()?);
    let was_there = |event: &str| {
        before.as_ref().is_some_and(|before| before.events.iter().any(|known| known.member.name == event))
    };
    let Some(hooks) = &settings.hooks else { return Ok(text.to_owned()) };
    let mut edits = Vec::new();
    let mut emptied_events = Vec::new();
    for event in &settings.events {
        let mut emptied_groups = Vec::new();
        for group in &event.groups {
            let own: Vec<bool> = group.handlers.iter().map(|handler| handler.own.is_some()).collect();
            let is_all = !own.is_empty() && own.iter().all(|own| *own);
            emptied_groups.push(is_all);
            if !is_all && own.contains(&true) {
                let ranges: Vec<_> = group.handlers.iter().map(|handler| handler.range.clone()).collect();
                edits.extend(settings.layout.take(&settings.json, &group.list, &ranges, &own));
            }
        }
        let is_all = !emptied_groups.is_empty() && emptied_groups.iter().all(|empty| *empty);
        let goes = is_all && !was_there(&event.member.name);
        emptied_events.push(goes);
        if !goes && emptied_groups.contains(&true) {
            let ranges: Vec<_> = event.groups.iter().map(|group| group.range.clone()).collect();
            edits.extend(settings.layout.take(&settings.json, &event.member.value, &ranges, &emptied_groups));
        }
    }
    let is_all = !emptied_events.is_empty() && emptied_events.iter().all(|empty| *empty);
    if is_all && before.as_ref().is_none_or(|before| before.hooks.is_none()) {
        let members = settings.json.members(&settings.json.whole());
        let goes: Vec<bool> = members.iter().map(|member| member.name == HOOKS).collect();
        let ranges: Vec<_> = members.into_iter().map(|member| member.range).collect();
        edits = settings.layout.take(&settings.json, &settings.json.whole(), &ranges, &goes);
    } else if emptied_events.contains(&true) {
        let ranges: Vec<_> = settings.members_of(hooks).collect();
        edits.extend(settings.layout.take(&settings.json, &hooks.value, &ranges, &emptied_events));
    }
    let had_hooks = before.as_ref().is_some_and(|before| before.hooks.is_some());
    Format::Json(agent).as_meant(
        text,
        format!("{mark}{}", applied(body, edits)),
        |document| as_meant::remove_hooks(document, agent, |event| event.map_or(had_hooks, was_there)),
        || SettingsError::NotSurelyRemoved { name: HOOKS.to_owned() },
    )
}

/// Whether nothing is left in a text.
pub fn is_empty(agent: Agent, text: &str) -> bool {
    if OwnFile::of(agent).is_some() {
        return text.trim().is_empty();
    }
    match Settings::of(agent, text) {
        Ok(None) => true,
        Ok(Some(settings)) => {
            let head = host(agent).registration.head;
            let members = settings.json.members(&settings.json.whole());
            members.iter().all(|member| head.iter().any(|(name, _)| *name == member.name))
        }
        Err(_) => false,
    }
}

/// The key by which a person switched the client's hooks off, where the text has one.
pub fn switched_off(agent: Agent, text: &str) -> Option<&'static str> {
    let value = value(agent, text)?;
    let is_off = |switch: &&Switch| value.pointer(switch.pointer).is_some_and(switch.is_off);
    host(agent).files.switches.iter().find(is_off).map(|switch| switch.name)
}

/// The first name in a text for which the client ignores the whole file.
pub fn unknown_key(agent: Agent, text: &str) -> Option<String> {
    let known = host(agent).files.only_keys?;
    let settings = Settings::read(agent, text).ok()??;
    let names = settings.json.members(&settings.json.whole()).into_iter().map(|member| member.name);
    names.into_iter().find(|name| !known.contains(&name.as_str()))
}

/// Whether the client has our plugin switched on, which brings the hooks along.
pub fn has_plugin(agent: Agent, text: &str) -> bool {
    let package = host(agent).files.package.as_ref();
    package.is_some_and(|package| value(agent, text).is_some_and(|value| (package.is_enabled)(&value)))
}

fn value(agent: Agent, text: &str) -> Option<Value> {
    let settings = Settings::of(agent, text).ok()??;
    Some(settings.json.value(&settings.json.whole()))
}

/// The byte order mark, where there is one, and the rest.
pub(super) fn split_mark(agent: Agent, text: &str) -> Result<(&str, &str), SettingsError> {
    match text.strip_prefix('\u{feff}') {
        None => Ok(("", text)),
        Some(_) if !host(agent).files.allows_byte_order_mark => Err(SettingsError::ByteOrderMark { agent }),
        Some(body) => Ok(("\u{feff}", body)),
    }
}

/// A text with the places of everything that matters here.
pub(super) struct Settings {
    pub(super) json: JsonText,
    pub(super) layout: Layout,
    hooks: Option<Member>,
    /// In the order of the text.
    events: Vec<EventList>,
}

struct EventList {
    member: Member,
    groups: Vec<GroupPlace>,
}

struct GroupPlace {
    range: std::ops::Range<usize>,
    /// The list of its handlers.
    list: std::ops::Range<usize>,
    handlers: Vec<HandlerPlace>,
}

struct HandlerPlace {
    range: std::ops::Range<usize>,
    command: std::ops::Range<usize>,
    own: Option<OwnCall>,
}

impl Settings {
    /// As [`read`](Self::read), of a text that may begin with a byte order mark.
    pub(super) fn of(agent: Agent, text: &str) -> Result<Option<Self>, SettingsError> {
        split_mark(agent, text).and_then(|(_, body)| Self::read(agent, body))
    }

    /// Our handlers: the event, the place and the call of each.
    fn own(&self) -> impl Iterator<Item = (&str, &std::ops::Range<usize>, &OwnCall)> {
        self.events.iter().flat_map(|event| {
            let handlers = event.groups.iter().flat_map(|group| &group.handlers);
            let name = event.member.name.as_str();
            handlers.filter_map(move |handler| Some((name, &handler.range, handler.own.as_ref()?)))
        })
    }

    /// `None` if there is nothing in the text at all.
    pub(super) fn read(agent: Agent, text: &str) -> Result<Option<Self>, SettingsError> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        let json = JsonText::parse(text).map_err(SettingsError::Invalid)?;
        if json.has_comments && !host(agent).files.allows_comments {
            return Err(SettingsError::Comments { agent });
        }
        let whole = json.whole();
        if !json.is_object(&whole) {
            return Err(SettingsError::NotAnObject);
        }
        let members = json.members(&whole);
        let hooks = only(members.iter().filter(|member| member.name == HOOKS))?.cloned();
        let mut events: Vec<EventList> = Vec::new();
        if let Some(hooks) = &hooks {
            if !json.is_object(&hooks.value) {
                return Err(SettingsError::HooksNotAnObject);
            }
            for member in json.members(&hooks.value) {
                if events.iter().any(|known| known.member.name == member.name) {
                    return Err(SettingsError::Twice { name: format!("{HOOKS}.{}", member.name) });
                }
                let groups = match json.is_array(&member.value) {
                    true => json.elements(&member.value),
                    // Notes and older switches stand there too, and the clients do not mind.
                    false if !super::events(agent).contains(&member.name.as_str()) => Vec::new(),
                    false => return Err(SettingsError::EventNotAList { event: member.name }),
                };
                let groups = groups.into_iter();
                let groups = groups.map(|range| GroupPlace::read(agent, &json, range)).collect();
                events.push(EventList { member, groups });
            }
        }
        let layout = Layout::of(text, &json);
        Ok(Some(Self { json, layout, hooks, events }))
    }

    /// The member of this name, which must not stand there twice.
    pub(super) fn only_member(
        &self,
        members: Vec<Member>,
        name: &str,
    ) -> Result<Option<Member>, SettingsError> {
        only(members.iter().filter(|member| member.name == name)).map(Option::<&Member>::cloned)
    }

    fn members_of(&self, object: &Member) -> impl Iterator<Item = std::ops::Range<usize>> {
        self.json.members(&object.value).into_iter().map(|member| member.range)
    }
}

impl GroupPlace {
    /// What is no group is a place without handlers, or, where the client has no groups, a handler.
    fn read(agent: Agent, json: &JsonText, range: std::ops::Range<usize>) -> Self {
        if host(agent).registration.is_flat {
            let handlers = vec![HandlerPlace::read(agent, json, range.clone())];
            return Self { list: range.end..range.end, range, handlers };
        }
        let members = if json.is_object(&range) { json.members(&range) } else { Vec::new() };
        let mut lists =
            members.into_iter().filter(|member| member.name == HOOKS && json.is_array(&member.value));
        let (Some(list), None) = (lists.next(), lists.next()) else {
            return Self { list: range.end..range.end, range, handlers: Vec::new() };
        };
        let handlers = json.elements(&list.value).into_iter();
        let handlers = handlers.map(|range| HandlerPlace::read(agent, json, range)).collect();
        Self { range, list: list.value, handlers }
    }
}

impl HandlerPlace {
    fn read(agent: Agent, json: &JsonText, range: std::ops::Range<usize>) -> Self {
        let members = if json.is_object(&range) { json.members(&range) } else { Vec::new() };
        let command = members.into_iter().rev().find(|member| member.name == "command");
        Self {
            command: command.map_or(range.end..range.end, |member| member.value),
            own: OwnCall::of_handler(agent, &json.value(&range)),
            range,
        }
    }
}

impl EventList {
    fn has_own(&self) -> bool {
        self.groups.iter().flat_map(|group| &group.handlers).any(|handler| handler.own.is_some())
    }

    fn with_present_program(&self, entry: &Entry, gone: &[String]) -> Vec<Edit> {
        let [present] = &entry.group.hooks;
        let handlers = self.groups.iter().flat_map(|group| &group.handlers);
        let stale = handlers.filter(|handler| {
            handler.own.as_ref().is_some_and(|call| call.is_as_written && gone.contains(&call.program))
        });
        stale
            .map(|handler| (handler.command.clone(), Value::from(present.command.as_str()).to_string()))
            .collect()
    }
}

fn only<'a>(mut members: impl Iterator<Item = &'a Member>) -> Result<Option<&'a Member>, SettingsError> {
    let first = members.next();
    match members.next() {
        Some(second) => Err(SettingsError::Twice { name: second.name.clone() }),
        None => Ok(first),
    }
}
