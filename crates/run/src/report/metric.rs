//! The figures of a run: what its stages said with `[METRIC:…]`, and what the metrics files among their artifacts hold.
//! Those of accepted attempts come first; of every other one it is said what became of its attempt.

use std::collections::{HashMap, HashSet};

use checkpoint::layout::Layout;
use serde_json::Value;
use supervise::marker::Marker;

use super::artifact_text;
use super::sheet::{Sheet, SheetBody};
use super::story::{StageMarker, StageStory, Story};

/// A file with more in it is data.
const LARGEST: usize = 256 << 10;
/// So many are shown of a stage.
const MOST_OF_STAGE: usize = 100;
/// A longer list in a metrics file is data.
const LONGEST_LIST: usize = 8;
/// More figures of one name, each of something else, are a series; the last one of it counts.
const LONGEST_SERIES: usize = 12;
/// So many columns has a table of a fan-out; the events and the files have the rest.
const MOST_COLUMNS: usize = 12;
const MOST_ROWS: usize = 300;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    pub stage: String,
    /// What an instance of a fan-out was run for when it said so.
    pub parameters: String,
    /// Empty if a marker has none.
    pub name: String,
    /// As the stage wrote it.
    pub value: String,
    /// What became of the attempt that said so, unless it is the accepted one: `attempt 1, failed`.
    pub remark: Option<String>,
}

/// Those of all stages, in the order of the plan, and a sentence on each file that cannot be read.
pub(super) fn metrics(layout: &Layout, story: &Story) -> (Vec<Metric>, Vec<String>) {
    let mut said: HashMap<&str, Vec<&StageMarker>> = HashMap::new();
    for marker in story.markers.iter().filter(|said| said.marker.kind == "METRIC") {
        said.entry(&marker.stage).or_default().push(marker);
    }
    let (mut metrics, mut unread) = (Vec::new(), Vec::new());
    for stage in &story.stages {
        let mut of_stage = StageMetrics { stage, found: Vec::new(), places: HashMap::new() };
        let said = said.remove(stage.id.as_str()).unwrap_or_default();
        let figures: Vec<(&StageMarker, MarkerFigure)> = said
            .into_iter()
            .flat_map(|said| of_marker(&said.marker).into_iter().map(move |figure| (said, figure)))
            .collect();
        let mut series: HashMap<(u32, &str), HashSet<&str>> = HashMap::new();
        for (said, figure) in &figures {
            series.entry((said.attempt, &figure.name)).or_default().insert(&figure.of);
        }
        for (said, figure) in &figures {
            let length = series.get(&(said.attempt, figure.name.as_str())).map_or(0, HashSet::len);
            let name = match figure.of.as_str() {
                of if !of.is_empty() && length <= LONGEST_SERIES => format!("{} ({of})", figure.name),
                _ => figure.name.clone(),
            };
            of_stage.put(name, figure.value.clone(), &said.parameters, stage.remark(said.attempt));
        }
        let accepted = stage.accepted.clone().unwrap_or_default();
        for artifact in stage.artifacts.iter().filter(|artifact| is_metrics_file(&artifact.path)) {
            let value = match artifact_text(layout, stage, &artifact.path, LARGEST) {
                Some((text, true)) => value_of_json(&text).map_err(|error| error.to_string()),
                Some((_, false)) => Err(format!("it is larger than {}", text::size_in_words(LARGEST as u64))),
                None => Err("it cannot be opened".to_owned()),
            };
            match value {
                Ok(value) => {
                    for (name, value) in scalars(&value) {
                        of_stage.put(name, value, &accepted.parameters, stage.remark(accepted.attempt));
                    }
                }
                Err(why) => unread
                    .push(format!("the metrics in `{}/{}` cannot be read: {why}", stage.id, artifact.path)),
            }
        }
        metrics.extend(of_stage.found);
    }
    metrics.sort_by_key(|metric| metric.remark.is_some());
    (metrics, unread)
}

/// One table of the stages that stand alone, and one of each fan-out with a row for each instance.
pub(super) fn sheets(story: &Story, metrics: &[Metric]) -> Vec<Sheet> {
    let stages: HashMap<&str, &StageStory> =
        story.stages.iter().map(|stage| (stage.id.as_str(), stage)).collect();
    let mut alone = Vec::new();
    let mut fan_outs: Vec<(&str, Vec<&Metric>)> = Vec::new();
    for metric in metrics {
        let Some(stage) = stages.get(metric.stage.as_str()) else { continue };
        if stage.fan_out.is_empty() {
            alone.push(metric);
            continue;
        }
        match fan_outs.iter_mut().find(|(fan_out, _)| *fan_out == stage.fan_out) {
            Some((_, of_fan_out)) => of_fan_out.push(metric),
            None => fan_outs.push((&stage.fan_out, vec![metric])),
        }
    }
    let mut sheets = Vec::new();
    if !alone.is_empty() {
        let has_remarks = alone.iter().any(|metric| metric.remark.is_some());
        let mut header = vec!["Stage", "Metric", "Value"];
        header.extend(has_remarks.then_some("Attempt"));
        let row = |metric: &&Metric| {
            let mut row =
                vec![metric.stage.clone(), metric.name.clone(), text::shortened_number(&metric.value)];
            row.extend(has_remarks.then(|| metric.remark.clone().unwrap_or_else(|| "accepted".to_owned())));
            row
        };
        sheets.push(Sheet::of_rows("", header, alone.iter().map(row).collect()));
    }
    for (fan_out, metrics) in fan_outs {
        sheets.push(of_fan_out(fan_out, &metrics));
    }
    for sheet in &mut sheets {
        if let SheetBody::Rows { rows, .. } = &mut sheet.body
            && rows.len() > MOST_ROWS
        {
            let cut = format!("{MOST_ROWS} of {} rows", rows.len());
            rows.truncate(MOST_ROWS);
            sheet.left_out = Some(sheet.left_out.iter().cloned().chain([cut]).collect::<Vec<_>>().join(", "));
        }
    }
    sheets
}

fn of_fan_out(fan_out: &str, metrics: &[&Metric]) -> Sheet {
    let mut names: Vec<&str> = Vec::new();
    let mut rows: Vec<(&Metric, HashMap<&str, &str>)> = Vec::new();
    let mut places = HashMap::new();
    let mut known = HashSet::new();
    for metric in metrics {
        if known.insert(metric.name.as_str()) {
            names.push(&metric.name);
        }
        let key = (metric.stage.as_str(), metric.remark.as_deref());
        let place = *places.entry(key).or_insert_with(|| {
            rows.push((metric, HashMap::new()));
            rows.len() - 1
        });
        if let Some((_, values)) = rows.get_mut(place) {
            values.insert(&metric.name, &metric.value);
        }
    }
    let left_out = names.len().saturating_sub(MOST_COLUMNS);
    names.truncate(MOST_COLUMNS);
    // On a phone the first columns are those that one sees.
    let header = ["Parameters"].into_iter().chain(names.iter().copied()).chain(["Stage"]).collect();
    let rows = rows.iter().map(|(metric, values)| {
        let Metric { stage, parameters, remark, .. } = metric;
        let id = remark.as_ref().map_or_else(|| stage.clone(), |remark| format!("{stage} ({remark})"));
        let values = names.iter().map(|name| values.get(name).map(|value| text::shortened_number(value)));
        [parameters.clone()].into_iter().chain(values.map(Option::unwrap_or_default)).chain([id]).collect()
    });
    let mut sheet = Sheet::of_rows(fan_out, header, rows.collect());
    sheet.left_out = (left_out > 0).then(|| format!("{} not shown", text::counted(left_out, "metric")));
    sheet
}

struct StageMetrics<'s> {
    stage: &'s StageStory,
    found: Vec<Metric>,
    places: HashMap<(String, Option<String>), usize>,
}

impl StageMetrics<'_> {
    /// The last value of a name is the one that counts.
    fn put(&mut self, name: String, value: String, parameters: &str, remark: Option<String>) {
        let key = (name, remark);
        let place = self.places.get(&key).copied().filter(|_| !key.0.is_empty());
        if let Some(metric) = place.and_then(|place| self.found.get_mut(place)) {
            metric.value = value;
        } else if self.found.len() < MOST_OF_STAGE {
            let (name, remark) = key.clone();
            self.places.insert(key, self.found.len());
            let (stage, parameters) = (self.stage.id.clone(), parameters.to_owned());
            self.found.push(Metric { stage, parameters, name, value, remark });
        }
    }
}

/// By its name, as others know them too: `metrics.json`, `test-metrics.json`.
pub(super) fn is_metrics_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    name.strip_suffix(".json").is_some_and(|stem| stem.contains("metric"))
}

/// What a marker says.
struct MarkerFigure {
    name: String,
    /// What it is of: `split = test`.
    of: String,
    value: String,
}

/// Names and values, in each of the ways to write them: `[METRIC:loss=0.1]`, `[METRIC:loss] 0.1`, `[METRIC:loss:0.1]`,
/// `[METRIC] loss = 0.1`, `[METRIC] loss 0.1`. Pairs beside the figure of a name say what it is of:
/// `[METRIC:loss:split=test] 0.1`.
fn of_marker(marker: &Marker) -> Vec<MarkerFigure> {
    let mut found: Vec<(String, String)> = Vec::new();
    let text = || marker.text.clone();
    match &marker.subtype {
        Some(name) if !marker.text.is_empty() => found.push((name.clone(), text())),
        Some(name) => {
            let value = marker.attributes.iter().find(|(_, value)| value.is_empty());
            found.extend(value.map(|(value, _)| (name.clone(), value.clone())));
        }
        None if marker.text.is_empty() => {}
        None => {
            let is_number = |text: &str| text.parse::<f64>().is_ok();
            // A sentence with several numbers does not say which is which.
            let is_plain = |(name, value): &(&str, &str)| is_number(value) && !name.split(' ').any(is_number);
            let number = || marker.text.rsplit_once(' ').filter(is_plain);
            found.push(match marker.text.split_once(['=', ':']).or_else(number) {
                Some((name, value)) => (name.trim().to_owned(), value.trim().to_owned()),
                None => (String::new(), text()),
            });
        }
    }
    let pairs = || marker.attributes.iter().filter(|(_, value)| !value.is_empty());
    let mut of = String::new();
    match found.first() {
        Some((_, value)) if marker.subtype.is_some() && is_figure(value) => {
            of = pairs().map(|(key, value)| format!("{key} = {value}")).collect::<Vec<_>>().join(", ");
        }
        _ => found.extend(pairs().cloned()),
    }
    if found.is_empty() {
        found.extend(marker.subtype.iter().map(|name| (name.clone(), String::new())));
    }
    found.into_iter().map(|(name, value)| MarkerFigure { name, of: of.clone(), value }).collect()
}

/// Whether it begins with a number: `0.9`, `90 %`.
fn is_figure(text: &str) -> bool {
    let digits = text.trim_start_matches(['-', '+', '.']);
    digits.starts_with(|first: char| first.is_ascii_digit()) || text.parse::<f64>().is_ok()
}

/// JSON as Python writes it too: what it has for numbers that are none is read as text.
pub(super) fn value_of_json(text: &str) -> serde_json::Result<Value> {
    let (mut sound, mut rest, mut is_quoted) = (String::with_capacity(text.len()), text, false);
    while let Some(letter) = rest.chars().next() {
        let number = ["NaN", "Infinity", "-Infinity"].into_iter().find(|name| rest.starts_with(name));
        let length = match (letter, number) {
            // Whatever follows it does not end the text.
            ('\\', _) if is_quoted => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
            (_, Some(number)) if !is_quoted => {
                sound.push_str(&format!("\"{number}\""));
                rest = rest.get(number.len()..).unwrap_or_default();
                continue;
            }
            _ => letter.len_utf8(),
        };
        is_quoted ^= letter == '"';
        let (taken, after) = rest.split_at(length);
        sound.push_str(taken);
        rest = after;
    }
    serde_json::from_str(&sound)
}

/// The values in an object, those further inside by their path: `test.accuracy`.
pub(super) fn scalars(value: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), value)];
    while let Some((path, value)) = open.pop() {
        let inside = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        match value {
            // The last one that is pushed is the first one that is popped.
            Value::Object(fields) => {
                open.extend(fields.iter().rev().map(|(name, value)| (inside(name), value)))
            }
            _ if path.is_empty() => {}
            value => found.extend(scalar(value).map(|text| (path, text))),
        }
    }
    found
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(items) if items.len() <= LONGEST_LIST => {
            let items: Option<Vec<String>> =
                items.iter().map(|item| scalar(item).map(|text| text::shortened_number(&text))).collect();
            Some(items?.join(", "))
        }
        Value::Array(_) | Value::Object(_) => None,
        other => Some(other.to_string()),
    }
}

/// The rows of a JSON file that is no metrics file: one for each value.
pub(super) fn body_of_json(value: &Value) -> Option<SheetBody> {
    let rows: Vec<Vec<String>> =
        scalars(value).into_iter().map(|(name, value)| vec![name, text::shortened_number(&value)]).collect();
    let header = vec!["Name".to_owned(), "Value".to_owned()];
    (!rows.is_empty()).then_some(SheetBody::Rows { header, rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_may_name_its_value_in_many_ways() {
        for (line, expected) in [
            ("[METRIC:loss=0.1:epoch=3]", "loss=0.1 epoch=3"),
            ("[METRIC:loss] 0.1", "loss=0.1"),
            ("[METRIC:loss:0.1]", "loss=0.1"),
            ("[METRIC:loss:split=test:fold=2] 0.1", "loss[split = test, fold = 2]=0.1"),
            ("[METRIC:loss:0.1:split=test]", "loss[split = test]=0.1"),
            ("[METRIC:loss=0.1] after training", "=after training loss=0.1"),
            ("[METRIC] loss = 0.1", "loss=0.1"),
            ("[METRIC] mean error 12.5", "mean error=12.5"),
            ("[METRIC] loss 0.1 after epoch 300", "=loss 0.1 after epoch 300"),
            ("[METRIC] good enough", "=good enough"),
            ("[METRIC:good]", "good="),
        ] {
            let found = of_marker(&Marker::parse(line).unwrap());
            let told = |figure: &MarkerFigure| match figure.of.as_str() {
                "" => format!("{}={}", figure.name, figure.value),
                of => format!("{}[{of}]={}", figure.name, figure.value),
            };
            assert_eq!(found.iter().map(told).collect::<Vec<_>>().join(" "), expected, "{line}");
        }
    }

    #[test]
    fn values_of_a_file_are_named_by_their_path() {
        let value = serde_json::json!({
            "accuracy": 0.873_333_333_333, "test": {"n": 12, "interval": [0.1, 0.25]}, "name": "a", "curve": vec![1; 9],
        });
        insta::assert_compact_debug_snapshot!(scalars(&value), @r#"[("accuracy", "0.873333333333"), ("test.n", "12"), ("test.interval", "0.1, 0.25"), ("name", "a")]"#);
    }
}
