//! Parameters of a plan: what `[params]` says, what somebody sets from outside, and how `{params.NAME}` in a text is filled in.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use serde::{Serialize, Serializer};
use settings::{At, Document, Entry, Place, Problem, Problems, Reader, Shape, Table, Value};

const OPENING: &str = "{params.";

/// One value, with a number as it is written: `1e-4` stays that in a command.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Scalar {
    Text(String),
    Number(String),
    Boolean(bool),
}

impl fmt::Display for Scalar {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) | Self::Number(text) => formatter.write_str(text),
            Self::Boolean(value) => write!(formatter, "{value}"),
        }
    }
}

impl Serialize for Scalar {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Boolean(value) => serializer.serialize_bool(*value),
            Self::Number(text) => match (text.parse::<i64>(), text.parse::<f64>()) {
                (Ok(whole), _) => serializer.serialize_i64(whole),
                (_, Ok(number)) if number.is_finite() => serializer.serialize_f64(number),
                _ => serializer.serialize_str(text),
            },
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

/// Scalars in files from which they come back as they are: a number stays as it is written.
pub(crate) mod lossless {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Scalar;

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum TypedScalar {
        Text(String),
        Number(String),
        Boolean(bool),
    }

    pub(crate) fn serialize<S: Serializer>(
        all: &[(String, Scalar)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let typed = all.iter().map(|(name, value)| {
            let typed = match value.clone() {
                Scalar::Text(text) => TypedScalar::Text(text),
                Scalar::Number(text) => TypedScalar::Number(text),
                Scalar::Boolean(value) => TypedScalar::Boolean(value),
            };
            (name, typed)
        });
        serializer.collect_seq(typed)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(String, Scalar)>, D::Error> {
        let typed = Vec::<(String, TypedScalar)>::deserialize(deserializer)?;
        let scalars = typed.into_iter().map(|(name, typed)| {
            let value = match typed {
                TypedScalar::Text(text) => Scalar::Text(text),
                TypedScalar::Number(text) => Scalar::Number(text),
                TypedScalar::Boolean(value) => Scalar::Boolean(value),
            };
            (name, value)
        });
        Ok(scalars.collect())
    }
}

impl Scalar {
    fn read(value: &Value<'_>) -> Option<Self> {
        let value = value.get_ref();
        let number = value.as_integer().map(ToString::to_string);
        let number = number.or_else(|| value.as_float().map(ToString::to_string));
        (value.as_str().map(|text| Self::Text(text.to_owned())))
            .or_else(|| number.map(Self::Number))
            .or_else(|| value.as_bool().map(Self::Boolean))
    }

    /// Nothing in it means anything to a shell or to Python.
    fn is_plain(&self) -> bool {
        match self {
            Self::Number(_) | Self::Boolean(_) => true,
            Self::Text(text) => {
                text.chars().all(|c| c.is_alphanumeric() || "_.,:/@%+=-".contains(c)) && !text.is_empty()
            }
        }
    }

    /// As a TOML file has it.
    fn written(&self) -> String {
        match self {
            // Every JSON string is one of TOML as well.
            Self::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
            other => other.to_string(),
        }
    }
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Parameter {
    One(Scalar),
    List(Vec<Scalar>),
}

impl Parameter {
    pub(super) fn read(value: &Value<'_>) -> Option<Self> {
        match value.get_ref().as_array() {
            Some(items) => Some(Self::List(items.iter().map(Scalar::read).collect::<Option<_>>()?)),
            None => Scalar::read(value).map(Self::One),
        }
    }

    fn written(&self) -> String {
        match self {
            Self::One(value) => value.written(),
            Self::List(values) => {
                format!("[{}]", values.iter().map(Scalar::written).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// A value that somebody sets from outside of the plan.
#[derive(Clone, Debug, PartialEq)]
pub struct SetParameter {
    name: String,
    value: Parameter,
    /// In a file of parameters.
    place: Option<Place>,
    /// Whether a plan without this parameter is wrong; the plan of a run that goes on may have changed.
    is_required: bool,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is not NAME=VALUE")]
pub struct NoParameterError(String);

impl SetParameter {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `NAME=VALUE`; what is no value of TOML is a text.
    pub fn of_argument(argument: &str) -> Result<Self, NoParameterError> {
        let wrong = || NoParameterError(argument.to_owned());
        let (name, text) = argument.split_once('=').ok_or_else(wrong)?;
        if !is_name(name) {
            return Err(wrong());
        }
        let assignment = format!("value = {text}");
        let document = Document::parse("value", &assignment).ok();
        let read = document.filter(|_| !text.contains('\n')).and_then(|document| {
            let mut values = document.root().iter();
            let (_, value) = values.next()?;
            values.next().is_none().then(|| Parameter::read(value)).flatten()
        });
        let value = read.unwrap_or_else(|| Parameter::One(Scalar::Text(text.to_owned())));
        Ok(Self { name: name.to_owned(), value, place: None, is_required: true })
    }

    /// All values of a file, which is called `name` in messages.
    pub fn of_file(name: &str, text: &str) -> Result<Vec<Self>, Problems> {
        let document = Document::parse(name, text)?;
        let mut reader = Reader::new(name, text, settings::Quoting::Values);
        let found = flat(document.root(), &mut reader);
        if !reader.problems.is_empty() {
            return Err(Problems::sorted(reader.problems));
        }
        let set = |(name, value): (At<String>, Parameter)| Self {
            name: name.value,
            value,
            place: Some(name.place),
            is_required: true,
        };
        Ok(found.into_iter().map(set).collect())
    }

    /// What a run was begun with, as far as its plan still has the parameter.
    pub fn of_record(set: &[String]) -> Vec<Self> {
        let recorded = set.iter().filter_map(|argument| Self::of_argument(argument).ok());
        recorded.map(|set| Self { is_required: false, ..set }).collect()
    }

    /// `NAME=VALUE` for each name, the last of each, for the record; they read as the same.
    pub(super) fn arguments(set: &[Self]) -> Vec<String> {
        let last: BTreeMap<&str, &Parameter> =
            set.iter().map(|set| (set.name.as_str(), &set.value)).collect();
        last.into_iter().map(|(name, value)| format!("{name}={}", value.written())).collect()
    }
}

/// Parts of letters, digits, `_` and `-`, with dots between them.
fn is_name(text: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
    };
    text.split('.').all(is_part)
}

/// The values of a table and of those in it, in the order in which they are written.
fn flat(table: &Table<'_>, reader: &mut Reader<'_>) -> Vec<(At<String>, Parameter)> {
    let mut found = Vec::new();
    let mut waiting = vec![(String::new(), table)];
    while let Some((prefix, table)) = waiting.pop() {
        for (key, value) in table {
            let name = format!("{prefix}{}", key.get_ref());
            let place = reader.place(key.span());
            if !is_name(&name) {
                let message = format!("`{name}` cannot be a parameter; use letters, digits, `_` and `-`");
                reader.problems.push(place.problem(message));
            } else if let Some(inner) = value.get_ref().as_table() {
                waiting.push((format!("{name}."), inner));
            } else if let Some(value) = Parameter::read(value) {
                found.push((At { value: name, place }, value));
            } else {
                let expected = "a text, a number, true, false or a list of these";
                reader.wrong(Entry { key, value }, expected);
            }
        }
    }
    found.sort_by(|(one, _), (other, _)| one.place.cmp(&other.place));
    found
}

/// `[params]`, as it is written.
#[derive(Clone, Debug, Default)]
pub(super) struct ParametersLayer {
    place: Place,
    values: Vec<(At<String>, Parameter)>,
}

pub(super) struct ParameterTable;

impl settings::Kind for ParameterTable {
    settings::used_as_written!(ParametersLayer);

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<ParametersLayer> {
        let table = reader.table(entry)?;
        Some(ParametersLayer { place: reader.place(entry.key.span()), values: flat(table, reader) })
    }

    fn shape() -> Shape {
        Shape::NamedTables(None)
    }
}

/// The values that a plan is read with.
#[derive(Clone, Debug, Default)]
pub(super) struct Parameters {
    values: BTreeMap<String, Parameter>,
}

impl Parameters {
    /// The plan's own values, then those from outside, later ones first; one that the plan does not have is a mistake.
    pub(super) fn new(layer: ParametersLayer, set: &[SetParameter], reader: &mut Reader<'_>) -> Self {
        let ParametersLayer { place, values } = layer;
        let mut values: BTreeMap<String, Parameter> =
            values.into_iter().map(|(name, value)| (name.value, value)).collect();
        let known: Vec<String> = values.keys().cloned().collect();
        for SetParameter { name, value, place: own, is_required } in set {
            match values.get_mut(name) {
                Some(known) => known.clone_from(value),
                None if !is_required => {}
                None => {
                    let mut at = own.as_ref().unwrap_or(&place).clone();
                    at.line = at.line.max(1);
                    at.column = at.column.max(1);
                    if at.file.is_empty() {
                        at = reader.place(0..0);
                    }
                    let message = format!("the plan has no parameter `{name}` to set");
                    reader.unknown(at, message, name, known.iter().map(String::as_str));
                }
            }
        }
        Self { values }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Parameter> {
        self.values.get(name)
    }

    /// Each as a TOML file has it.
    pub(super) fn written(&self) -> Vec<(String, String)> {
        self.values.iter().map(|(name, value)| (name.clone(), value.written())).collect()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }
}

/// Why `{params.NAME}` cannot be filled in.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FillError {
    #[error("there is no parameter `{name}`")]
    Unknown { name: String },
    #[error("the parameter `{name}` is a list; `forEach` takes one value at a time")]
    List { name: String },
    #[error(
        "`{value}` of the parameter `{name}` cannot be part of a text for the shell or for Python: set an environment variable \
         to it, or write the command as a list of words"
    )]
    NotPlain { name: String, value: String },
}

/// What a text is read by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TextFor {
    /// A program that gets it as it is.
    Program,
    /// A shell or Python, to which some characters mean something.
    Interpreter,
}

/// The values for the texts of one stage.
#[derive(Debug)]
pub(super) struct Filling<'a> {
    pub(super) parameters: &'a Parameters,
    /// Those of the instance, which win.
    pub(super) own: &'a [(String, Scalar)],
    /// Names whose values are known only later; they stay in the text.
    pub(super) later: &'a HashSet<String>,
}

impl Filling<'_> {
    fn value(&self, name: &str) -> Result<Option<&Scalar>, FillError> {
        if let Some((_, value)) = self.own.iter().find(|(own, _)| own == name) {
            return Ok(Some(value));
        }
        if self.later.contains(name) {
            return Ok(None);
        }
        match self.parameters.get(name) {
            Some(Parameter::One(value)) => Ok(Some(value)),
            Some(Parameter::List(_)) => Err(FillError::List { name: name.to_owned() }),
            None => Err(FillError::Unknown { name: name.to_owned() }),
        }
    }

    pub(super) fn fill(&self, text: &str, read_by: TextFor) -> Result<String, FillError> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(OPENING) {
            let Some((name, behind)) = after.split_once('}').filter(|(name, _)| is_name(name)) else {
                filled.push_str(before);
                filled.push_str(OPENING);
                rest = after;
                continue;
            };
            if let (Some(before), Some(behind)) = (before.strip_suffix('{'), behind.strip_prefix('}')) {
                filled.push_str(&format!("{before}{OPENING}{name}}}"));
                rest = behind;
                continue;
            }
            filled.push_str(before);
            match self.value(name)? {
                Some(value) if read_by == TextFor::Interpreter && !value.is_plain() => {
                    return Err(FillError::NotPlain { name: name.to_owned(), value: value.to_string() });
                }
                Some(value) => filled.push_str(&value.to_string()),
                None => filled.push_str(&format!("{OPENING}{name}}}")),
            }
            rest = behind;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    /// Whether a condition holds: `params.NAME`, `not params.NAME`, `params.NAME == VALUE` or `!=`. `None` if it is none of these.
    pub(super) fn holds(&self, condition: &str) -> Option<Result<bool, FillError>> {
        let (name, is_wanted) = if let Some((name, value)) = condition.split_once("!=") {
            (name, Wanted::Not(value))
        } else if let Some((name, value)) = condition.split_once("==") {
            (name, Wanted::Equal(value))
        } else if let Some(name) = condition.trim().strip_prefix("not ") {
            (name, Wanted::Not("true"))
        } else {
            (condition, Wanted::Equal("true"))
        };
        let name = name.trim().strip_prefix("params.").filter(|name| is_name(name))?;
        let is_equal = |value: &str, wanted: &str| value == wanted.trim().trim_matches(['"', '\'']);
        Some(self.value(name).map(|value| match (value.map(ToString::to_string), is_wanted) {
            (Some(value), Wanted::Equal(wanted)) => is_equal(&value, wanted),
            (Some(value), Wanted::Not(wanted)) => !is_equal(&value, wanted),
            (None, _) => true,
        }))
    }
}

enum Wanted<'a> {
    Equal(&'a str),
    Not(&'a str),
}

/// Whether something in a text is filled in only later.
pub(super) fn waits(text: &str) -> bool {
    text.contains(OPENING)
}

/// A mistake of filling in, with the name that was probably meant.
pub(super) fn problem(error: &FillError, place: &Place, filling: &Filling<'_>) -> Problem {
    let known = filling.parameters.names().chain(filling.own.iter().map(|(name, _)| name.as_str()));
    let nearest = match error {
        FillError::Unknown { name } => text::nearest(name, known),
        _ => None,
    };
    Problem { nearest, ..place.problem(error.to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(argument: &str) -> Parameter {
        SetParameter::of_argument(argument).unwrap().value
    }

    #[test]
    fn a_value_is_read_as_toml_or_is_a_text() {
        let text = |text: &str| Parameter::One(Scalar::Text(text.to_owned()));
        let number = |text: &str| Scalar::Number(text.to_owned());
        for (argument, expected) in [
            ("lr=0.1", Parameter::One(number("0.1"))),
            ("lr=1e-4", Parameter::One(number("1e-4"))),
            ("name=linear", text("linear")),
            ("name=a b", text("a b")),
            ("name=\"3\"", text("3")),
            ("name=a=b", text("a=b")),
            ("name=", text("")),
            ("full=true", Parameter::One(Scalar::Boolean(true))),
            ("seeds=[1, 2]", Parameter::List(vec![number("1"), number("2")])),
            ("day=2026-01-01", text("2026-01-01")),
            ("evil=1\nother = 2", text("1\nother = 2")),
        ] {
            assert_eq!(set(argument), expected, "{argument}");
            let again = SetParameter::arguments(&[SetParameter::of_argument(argument).unwrap()]).concat();
            assert_eq!(set(&again), expected, "{again}");
        }
        for wrong in ["lr", "=1", "a b=1", "a..b=1"] {
            assert_eq!(SetParameter::of_argument(wrong), Err(NoParameterError(wrong.to_owned())));
        }
    }

    #[test]
    fn names_in_braces_are_filled_in() {
        let values = ["lr=0.1", "name=two words", "model.depth=3", "seeds=[1]"];
        let values = values.map(|argument| SetParameter::of_argument(argument).unwrap());
        let values = values.into_iter().map(|set| (set.name, set.value)).collect();
        let parameters = Parameters { values };
        let own = [("seed".to_owned(), Scalar::Number("7".to_owned()))];
        let later = HashSet::from(["part".to_owned()]);
        let filling = Filling { parameters: &parameters, own: &own, later: &later };
        let unknown = |name: &str| FillError::Unknown { name: name.to_owned() };
        for (text, expected) in [
            ("--lr {params.lr} {params.seed}", Ok("--lr 0.1 7")),
            ("d={params.model.depth}", Ok("d=3")),
            ("{{params.lr}} {params.lr}", Ok("{params.lr} 0.1")),
            (
                "${x} {} {params. {params.part} {params.a b}",
                Ok("${x} {} {params. {params.part} {params.a b}"),
            ),
            ("{params.rl}", Err(unknown("rl"))),
            ("{params.seeds}", Err(FillError::List { name: "seeds".to_owned() })),
            ("{params.name}", Ok("two words")),
        ] {
            assert_eq!(filling.fill(text, TextFor::Program), expected.map(str::to_owned), "{text}");
        }
        let (name, value) = ("name".to_owned(), "two words".to_owned());
        assert_eq!(
            filling.fill("{params.name}", TextFor::Interpreter),
            Err(FillError::NotPlain { name, value })
        );
    }

    #[test]
    fn conditions_hold_or_do_not() {
        let values = ["full=false", "model=linear"].map(|text| SetParameter::of_argument(text).unwrap());
        let values = values.into_iter().map(|set| (set.name, set.value)).collect();
        let parameters = Parameters { values };
        let filling = Filling { parameters: &parameters, own: &[], later: &HashSet::new() };
        for (condition, expected) in [
            ("params.full", Some(Ok(false))),
            ("not params.full", Some(Ok(true))),
            ("params.model == linear", Some(Ok(true))),
            ("params.model == 'linear'", Some(Ok(true))),
            ("params.model != linear", Some(Ok(false))),
            ("params.other", Some(Err(FillError::Unknown { name: "other".to_owned() }))),
            ("full", None),
            ("", None),
        ] {
            assert_eq!(filling.holds(condition), expected, "{condition}");
        }
    }
}
