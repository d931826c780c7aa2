//! What is recorded with a verdict so that it can be explained and replayed: the policy's texts as they were, presets
//! included, and the gate's inputs.

use gate::policy::{PRESETS, Policy, Problems};
use gate::{Inputs, RecordedCall, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::policy_files::{PolicyText, PolicyTexts};

#[derive(Debug, Deserialize)]
pub(crate) struct Record {
    texts: Vec<PolicyText>,
    /// The presets that took part, as this version of the program had them.
    presets: Vec<PolicyText>,
    pub(crate) inputs: Inputs,
    pub(crate) verdict: Verdict,
    /// The inputs' calls, which are written first and stand apart. Older records have them in their place.
    #[serde(default)]
    calls: Vec<RecordedCall>,
}

/// The calls as they are recorded: most of a record, and known before git has answered.
#[derive(Debug)]
pub(crate) struct WrittenCalls(Option<Box<RawValue>>);

impl WrittenCalls {
    pub(crate) fn of(inputs: &Inputs) -> Self {
        Self(serde_json::value::to_raw_value(&inputs.calls).ok())
    }
}

/// The bytes of a record. `inputs` are left without their calls.
pub(crate) fn write(
    texts: &PolicyTexts,
    policy: &Policy,
    inputs: &mut Inputs,
    calls: &WrittenCalls,
    verdict: &Verdict,
) -> Vec<u8> {
    #[derive(Serialize)]
    struct Written<'a> {
        texts: &'a [PolicyText],
        presets: Vec<PresetText<'a>>,
        inputs: &'a Inputs,
        verdict: &'a Verdict,
        calls: Option<&'a RawValue>,
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
    let record = Written { texts: &texts.texts, presets, inputs, verdict, calls: calls.0.as_deref() };
    serde_json::to_vec(&record).unwrap_or_default()
}

impl Record {
    pub(crate) fn read(bytes: &[u8]) -> serde_json::Result<Self> {
        let mut record: Self = serde_json::from_slice(bytes)?;
        if record.inputs.calls.is_empty() {
            record.inputs.calls = std::mem::take(&mut record.calls);
        }
        Ok(record)
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
