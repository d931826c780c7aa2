//! What commands print with `--json`, beside the events themselves.

use std::collections::BTreeMap;

use serde::Serialize;

use supervise::marker::Marker;

/// `checkstone markers --json`
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MarkersOutput {
    /// In the order of the log.
    pub markers: Vec<MarkerOutput>,
    /// How many there are of each type.
    pub counts: BTreeMap<String, u64>,
    /// Of those, the types that the taxonomy does not have.
    pub unknown: BTreeMap<String, u64>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MarkerOutput {
    pub r#type: String,
    pub subtype: Option<String>,
    pub attributes: BTreeMap<String, String>,
    pub text: String,
    /// Null for a type that the taxonomy does not have.
    pub category: Option<String>,
}

impl MarkerOutput {
    pub fn of(marker: &Marker) -> Self {
        Self {
            r#type: marker.kind.clone(),
            subtype: marker.subtype.clone(),
            attributes: marker.attributes.iter().cloned().collect(),
            text: marker.text.clone(),
            category: marker.category().map(str::to_owned),
        }
    }
}

/// `checkstone report --json`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReportOutput {
    pub title: String,
    pub run: String,
    pub state: String,
    pub stages: usize,
    pub attempts: usize,
    /// Attempts that failed, were interrupted or aborted, or lost their supervisor.
    pub broken_off: usize,
    pub resumes: usize,
    /// Below the project's root, as is `html`.
    pub markdown: String,
    pub html: String,
}
