//! What is recorded with a verdict so that it can be explained and replayed: the policy's texts as they were, presets
//! included, and the gate's inputs.

use gate::policy::{PRESETS, Policy, Problems};
use gate::{Inputs, Verdict};
use serde::{Deserialize, Serialize};

use crate::policy_files::{PolicyText, PolicyTexts};

#[derive(Debug, Deserialize)]
pub struct Record {
    pub(crate) texts: Vec<PolicyText>,
    /// The presets that took part, as this version of the program had them.
    presets: Vec<PolicyText>,
    pub inputs: Inputs,
    pub verdict: Verdict,
}

/// The calls as they are recorded: most of a record, and known before git has answered.
#[derive(Debug)]
pub(crate) struct PackedCalls(Vec<u8>);

impl PackedCalls {
    pub(crate) fn of(inputs: &Inputs) -> Self {
        let json = serde_json::to_vec(&inputs.calls).unwrap_or_default();
        Self(lz4_flex::compress_prepend_size(&json))
    }
}

/// The bytes of a record: JSON, a zero byte, and the compressed calls. `inputs` are left without their calls.
pub(crate) fn write(
    texts: &PolicyTexts,
    policy: &Policy,
    inputs: &mut Inputs,
    calls: &PackedCalls,
    verdict: &Verdict,
) -> Vec<u8> {
    #[derive(Serialize)]
    struct RecordToWrite<'a> {
        texts: &'a [PolicyText],
        presets: Vec<PresetText<'a>>,
        inputs: &'a Inputs,
        verdict: &'a Verdict,
    }
    #[derive(Serialize)]
    struct PresetText<'a> {
        name: &'a str,
        text: &'a str,
    }
    let presets = PRESETS
        .iter()
        .filter(|(name, _)| policy.presets.iter().any(|used| used == name))
        .map(|(name, text)| PresetText { name, text })
        .collect();
    inputs.calls.clear();
    let mut bytes = Vec::with_capacity(calls.0.len() + 8 * 1024);
    if serde_json::to_writer(&mut bytes, &RecordToWrite { texts: &texts.texts, presets, inputs, verdict })
        .is_ok()
    {
        bytes.push(0);
        bytes.extend_from_slice(&calls.0);
    }
    bytes
}

/// The part of a record that is JSON, and its calls. Older records have the calls in the JSON.
fn parts(bytes: &[u8]) -> (&[u8], Option<&[u8]>) {
    match bytes.iter().position(|byte| *byte == 0) {
        Some(end) => (bytes.get(..end).unwrap_or_default(), bytes.get(end + 1..)),
        None => (bytes, None),
    }
}

/// All but the calls.
pub(crate) fn json(bytes: &[u8]) -> &[u8] {
    parts(bytes).0
}

/// The commands that the calls of a record ran, whatever came of them; empty where the bytes are no record.
pub fn recorded_commands(bytes: &[u8]) -> Vec<String> {
    #[derive(Deserialize)]
    struct WithCommand {
        command: Option<String>,
    }
    let Some(calls) = parts(bytes).1 else { return Vec::new() };
    let calls = lz4_flex::decompress_size_prepended(calls).unwrap_or_default();
    let calls: Vec<WithCommand> = serde_json::from_slice(&calls).unwrap_or_default();
    calls.into_iter().filter_map(|call| call.command).collect()
}

impl Record {
    /// `None` if the bytes are no record.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (json, calls) = parts(bytes);
        let mut record: Self = serde_json::from_slice(json).ok()?;
        if let Some(calls) = calls {
            let calls = lz4_flex::decompress_size_prepended(calls).ok()?;
            record.inputs.calls = serde_json::from_slice(&calls).ok()?;
        }
        Some(record)
    }

    /// The policy as it was.
    pub(crate) fn policy(&self) -> Result<Policy, Problems> {
        let sources: Vec<_> = self
            .texts
            .iter()
            .map(|text| gate::policy::Source { name: &text.name, text: &text.text })
            .collect();
        let preset = |name: &str| {
            self.presets.iter().find(|preset| preset.name == name).map(|preset| preset.text.as_str())
        };
        Policy::load_with_presets(&sources, &preset)
    }
}
