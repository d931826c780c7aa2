//! One stage for each of many values: what `forEach` says, the lists that it takes them from, and the instances it comes to.

use std::collections::HashMap;
use std::path::Path;

use files::{FileError, Links, regular_file};
use settings::{At, Entry, Reader, Shape};

use super::parameters::{Parameter, Parameters, Scalar};
use crate::publish::{self, PublishError};

/// A list of lines is read up to this size.
const LARGEST_LIST: u64 = 64 << 20;

/// `forEach`, as it is written.
#[derive(Clone, Debug)]
pub(super) enum ForEachLayer {
    /// The instances of another stage.
    Stage(At<String>),
    /// Every combination of their values.
    Axes(Vec<Axis>),
}

#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) name: At<String>,
    pub(super) values: AxisValues,
}

#[derive(Clone, Debug)]
pub(super) enum AxisValues {
    List(Vec<Scalar>),
    /// The name of a parameter that is a list.
    Parameter(At<String>),
    In(ListKind, At<String>),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ListKind {
    Lines,
    Files,
}

pub(super) struct ForEach;

impl settings::Kind for ForEach {
    settings::used_as_written!(ForEachLayer);

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<ForEachLayer> {
        if let Some(stage) = entry.value.get_ref().as_str() {
            let place = reader.place(entry.value.span());
            return Some(ForEachLayer::Stage(At { value: stage.to_owned(), place }));
        }
        let Some(table) = entry.value.get_ref().as_table().filter(|table| !table.is_empty()) else {
            reader.wrong(entry, "a table of names and lists: `{ seed = [1, 2] }`, or the id of a stage");
            return None;
        };
        let mut axes = Vec::new();
        for (key, value) in table {
            let name = At { value: key.get_ref().to_string(), place: reader.place(key.span()) };
            axes.push(Axis { name, values: axis_values(Entry { key, value }, reader)? });
        }
        axes.sort_by(|one, other| one.name.place.cmp(&other.name.place));
        Some(ForEachLayer::Axes(axes))
    }

    fn shape() -> Shape {
        Shape::NamedTables(None)
    }
}

fn axis_values(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<AxisValues> {
    let value = entry.value.get_ref();
    let place = reader.place(entry.value.span());
    if let Some(text) = value.as_str() {
        let name = text.trim_start_matches('{').trim_end_matches('}').strip_prefix("params.");
        if let Some(name) = name {
            return Some(AxisValues::Parameter(At { value: name.to_owned(), place }));
        }
    }
    if let Some(table) = value.as_table().filter(|table| table.len() == 1) {
        for (word, kind) in [("lines", ListKind::Lines), ("files", ListKind::Files)] {
            if let Some(path) = table.get(word).and_then(|path| path.get_ref().as_str()) {
                return Some(AxisValues::In(kind, At { value: path.to_owned(), place }));
            }
        }
    }
    match Parameter::read(entry.value) {
        Some(Parameter::List(values)) => Some(AxisValues::List(values)),
        _ => {
            reader.wrong(
                entry,
                "a list, `\"{params.NAME}\"`, `{ lines = \"FILE\" }` or `{ files = \"FOLDER\" }`",
            );
            None
        }
    }
}

/// One stage of a fan-out, or the one stage of a draft that has none.
#[derive(Clone, Debug, Default)]
pub(super) struct Instance {
    /// What its id ends with.
    pub(super) suffix: Option<String>,
    pub(super) parameters: Vec<(String, Scalar)>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum ListError {
    #[error("the parameter `{0}` is not a list")]
    NoList(String),
    #[error("there is no parameter `{0}`")]
    NoParameter(String),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Files(#[from] PublishError),
    #[error("`{0}` is not text")]
    NoText(String),
    #[error("there is nothing to run it for: {0} is empty")]
    Empty(String),
    #[error("it would have {found} instances; the limit is {most}, which `maxInstances` sets")]
    TooMany { found: String, most: usize },
}

/// The values of a list, each of them once: a second one would be the same work again, and count twice in what is gathered.
#[derive(Clone, Debug, Default)]
pub(super) struct ListValues {
    pub(super) values: Vec<Scalar>,
    /// Which of them stood there again.
    pub(super) repeated: Option<String>,
}

impl ListValues {
    /// Each with its number, of its kind: `item` or `line`.
    fn of(kind: &str, all: impl Iterator<Item = (usize, Scalar)>) -> Self {
        let mut first: HashMap<String, usize> = HashMap::new();
        let mut values = Vec::new();
        let mut repeated = Vec::new();
        for (number, value) in all {
            match first.insert(format!("{value:?}"), number) {
                None => values.push(value),
                Some(earlier) => {
                    repeated.push(format!("{kind} {number} is `{value}`, the same as {kind} {earlier}"))
                }
            }
        }
        let more = match repeated.len().saturating_sub(1) {
            0 => String::new(),
            more => format!(", and {more} more are repeated"),
        };
        let repeated = repeated.first().map(|first| format!("{first}{more}; each value has one instance"));
        Self { values, repeated }
    }

    fn of_items(values: &[Scalar]) -> Self {
        Self::of("item", values.iter().cloned().enumerate().map(|(index, value)| (index + 1, value)))
    }
}

/// Values that the plan itself has.
pub(super) fn in_plan(values: &AxisValues, parameters: &Parameters) -> Option<Result<ListValues, ListError>> {
    match values {
        AxisValues::List(values) => Some(Ok(ListValues::of_items(values))),
        AxisValues::Parameter(name) => Some(match parameters.get(&name.value) {
            Some(Parameter::List(values)) => Ok(ListValues::of_items(values)),
            Some(Parameter::One(_)) => Err(ListError::NoList(name.value.clone())),
            None => Err(ListError::NoParameter(name.value.clone())),
        }),
        AxisValues::In(..) => None,
    }
}

/// The items of a list on the disk, no more than `most`.
pub(super) fn items(kind: ListKind, path: &Path, shown: &str, most: usize) -> Result<ListValues, ListError> {
    let items: Vec<(usize, String)> = match kind {
        ListKind::Lines => {
            let bytes = regular_file::read(path, Links::Follow, LARGEST_LIST)?;
            let text = String::from_utf8(bytes).map_err(|_| ListError::NoText(shown.to_owned()))?;
            // Some editors begin a file with a mark of its encoding, which is no part of the first line.
            let lines = text.strip_prefix('\u{feff}').unwrap_or(&text).lines();
            let lines = lines.enumerate().map(|(index, line)| (index + 1, line.trim().to_owned()));
            lines.filter(|(_, line)| !line.is_empty()).take(most + 1).collect()
        }
        ListKind::Files => match publish::files_up_to(path, most) {
            Err(PublishError::TooMany { .. }) => return Err(too_many(format!("more than {most}"), most)),
            files => files?.into_iter().enumerate().collect(),
        },
    };
    if items.len() > most {
        return Err(too_many(format!("more than {most}"), most));
    }
    let is_number = |text: &String| text.parse::<f64>().is_ok_and(f64::is_finite);
    let scalar = |text: String| if is_number(&text) { Scalar::Number(text) } else { Scalar::Text(text) };
    let values = items.into_iter().map(|(number, text)| (number, scalar(text)));
    let ListValues { values, repeated } = ListValues::of("line", values);
    Ok(ListValues { values, repeated: repeated.map(|repeated| format!("`{shown}`: {repeated}")) })
}

fn too_many(found: String, most: usize) -> ListError {
    ListError::TooMany { found, most }
}

/// Every combination, the last name changing fastest.
pub(super) fn combinations(axes: &[(String, Vec<Scalar>)], most: usize) -> Result<Vec<Instance>, ListError> {
    if let Some((name, _)) = axes.iter().find(|(_, values)| values.is_empty()) {
        return Err(ListError::Empty(format!("the list of `{name}`")));
    }
    let count = axes.iter().try_fold(1_usize, |count, (_, values)| count.checked_mul(values.len()));
    if count.is_none_or(|count| count > most) {
        return Err(too_many(count.map_or("too many".to_owned(), |count| count.to_string()), most));
    }
    let mut instances = vec![Instance::default()];
    for (name, values) in axes {
        let with = |instance: &Instance, value: &Scalar| {
            let mut parameters = instance.parameters.clone();
            parameters.push((name.clone(), value.clone()));
            Instance { suffix: None, parameters }
        };
        instances = instances
            .iter()
            .flat_map(|instance| values.iter().map(move |value| with(instance, value)))
            .collect();
    }
    for (number, instance) in instances.iter_mut().enumerate() {
        instance.suffix = Some(letters(number));
    }
    Ok(instances)
}

/// a, b, …, z, aa, ab, …: ids have no digits behind their number.
fn letters(number: usize) -> String {
    let mut left = number + 1;
    let mut letters = Vec::new();
    while left > 0 {
        left -= 1;
        letters.push(char::from(b'a' + u8::try_from(left % 26).unwrap_or_default()));
        left /= 26;
    }
    letters.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_are_counted_with_letters() {
        for (number, expected) in
            [(0, "a"), (1, "b"), (25, "z"), (26, "aa"), (51, "az"), (52, "ba"), (702, "aaa")]
        {
            assert_eq!(letters(number), expected, "{number}");
        }
    }

    #[test]
    fn combinations_are_bounded_before_they_are_made() {
        let axis = |name: &str, length: usize| (name.to_owned(), vec![Scalar::Boolean(true); length]);
        assert_eq!(combinations(&[axis("a", 2), axis("b", 3)], 6).unwrap().len(), 6);
        let refused = |axes: &[(String, Vec<Scalar>)]| combinations(axes, 10_000).unwrap_err().to_string();
        assert_eq!(
            refused(&[axis("a", 1000), axis("b", 1000)]),
            "it would have 1000000 instances; the limit is 10000, which `maxInstances` sets"
        );
        assert_eq!(refused(&[axis("a", 0)]), "there is nothing to run it for: the list of `a` is empty");
    }
}
