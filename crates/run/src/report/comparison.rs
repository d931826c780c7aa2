//! Two runs side by side: parameters, metrics and durations, those that differ first.

use std::collections::HashMap;

use serde::Serialize;

use super::Report;
use super::story::StageStory;

/// `checkstone report --compare A B --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    pub a: ComparedRun,
    pub b: ComparedRun,
    /// In each list those that differ come first.
    pub parameters: Vec<ComparedValue>,
    /// Of accepted attempts.
    pub metrics: Vec<ComparedValue>,
    /// How many seconds the accepted attempts took, the largest difference first, and at the end those of one run alone.
    pub durations: Vec<ComparedValue>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedRun {
    pub title: String,
    pub run: String,
    pub state: String,
    pub started_at: Option<String>,
    /// While a supervisor drove the run.
    pub elapsed_seconds: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedValue {
    /// With the parameters of an instance: `S02_train_model (lr = 0.1)`. Null for a parameter of the plan.
    pub stage: Option<String>,
    pub name: String,
    /// Null if the run has none.
    pub a: Option<String>,
    pub b: Option<String>,
    pub differs: bool,
    /// The second number minus the first, if both are numbers.
    pub change: Option<f64>,
}

impl Comparison {
    pub fn of(a: &Report, b: &Report) -> Self {
        let mut durations = compared(values_of_durations(a), values_of_durations(b));
        let size = |value: &ComparedValue| value.change.map_or(-1.0, f64::abs);
        durations.sort_by(|one, other| size(other).total_cmp(&size(one)));
        Self {
            a: ComparedRun::of(a),
            b: ComparedRun::of(b),
            parameters: compared(values_of_parameters(a), values_of_parameters(b)),
            metrics: compared(values_of_metrics(a), values_of_metrics(b)),
            durations,
        }
    }
}

impl ComparedRun {
    fn of(report: &Report) -> Self {
        Self {
            title: report.story.title.clone(),
            run: report.story.run.clone(),
            state: report.story.state.name().to_owned(),
            started_at: report.story.started_at().map(|at| format!("{at:.0}")),
            elapsed_seconds: report.story.elapsed().as_secs_f64(),
        }
    }
}

/// A share of a number so small that a computer's own rounding may have made it.
const ROUNDING: f64 = 1e-12;

/// What a value is of: the stage and the name.
type Key = (Option<String>, String);

fn values_of_parameters(report: &Report) -> Vec<(Key, String)> {
    report.parameters.iter().map(|(name, value)| ((None, name.clone()), value.clone())).collect()
}

fn values_of_metrics(report: &Report) -> Vec<(Key, String)> {
    let stages: HashMap<&str, &StageStory> =
        report.story.stages.iter().map(|stage| (stage.id.as_str(), stage)).collect();
    let accepted = report.metrics.iter().filter(|metric| metric.remark.is_none() && !metric.name.is_empty());
    accepted
        .filter_map(|metric| {
            let stage = stages.get(metric.stage.as_str())?;
            Some(((Some(stage.known_by()), metric.name.clone()), metric.value.clone()))
        })
        .collect()
}

fn values_of_durations(report: &Report) -> Vec<(Key, String)> {
    let accepted = report.story.stages.iter().filter_map(|stage| Some((stage, stage.accepted_attempt()?)));
    accepted
        .map(|(stage, attempt)| {
            let seconds = format!("{:.3}", attempt.duration().as_secs_f64());
            ((Some(stage.known_by()), "duration".to_owned()), seconds)
        })
        .collect()
}

/// Those that differ first, then what only one of them has, then the others; each in the order of the first run.
fn compared(a: Vec<(Key, String)>, b: Vec<(Key, String)>) -> Vec<ComparedValue> {
    let mut of_b: HashMap<Key, String> = b.iter().cloned().collect();
    let mut rows: Vec<ComparedValue> = a
        .into_iter()
        .map(|(key, value)| {
            let other = of_b.remove(&key);
            ComparedValue::of(key, Some(value), other)
        })
        .collect();
    let only_b = b.into_iter().filter(|(key, _)| of_b.contains_key(key));
    rows.extend(only_b.map(|(key, value)| ComparedValue::of(key, None, Some(value))));
    rows.sort_by_key(|row| (!row.differs, row.a.is_none() || row.b.is_none()));
    rows
}

impl ComparedValue {
    fn of((stage, name): Key, a: Option<String>, b: Option<String>) -> Self {
        let number =
            |text: &Option<String>| text.as_ref()?.parse::<f64>().ok().filter(|value| value.is_finite());
        // What only the order of additions decides is no difference.
        let change = number(&a).zip(number(&b)).map(|(a, b)| {
            let is_rounding = (b - a).abs() <= ROUNDING * a.abs().max(b.abs());
            if is_rounding { 0.0 } else { b - a }
        });
        let differs = change.map_or(a != b, |change| change != 0.0);
        Self { stage, name, a, b, differs, change }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rounding_makes_is_no_difference() {
        let of = |a: &str, b: &str| {
            let value = ComparedValue::of((None, String::new()), Some(a.to_owned()), Some(b.to_owned()));
            (value.differs, value.change)
        };
        assert_eq!(of("0.3", "0.30000000000000004"), (false, Some(0.0)));
        assert!(of("0.3", "0.3000000001").0);
        assert_eq!(of("0", "1e-300"), (true, Some(1e-300)));
        assert_eq!(of("0", "-0"), (false, Some(0.0)));
    }
}
