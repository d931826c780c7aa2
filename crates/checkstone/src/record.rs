//! What is recorded with a verdict so that it can be explained and replayed: the policy's texts as they were, presets
//! included, and the gate's inputs.

use gate::policy::{PRESETS, Policy, Problems};
use gate::{Inputs, Verdict};
use serde::{Deserialize, Serialize};

use crate::policy_files::{PolicyText, PolicyTexts};

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) texts: Vec<PolicyText>,
    /// The presets that took part, as this version of the program had them.
    pub(crate) presets: Vec<PolicyText>,
    pub(crate) inputs: Inputs,
    pub(crate) verdict: Verdict,
}

impl Record {
    pub(crate) fn new(texts: &PolicyTexts, policy: &Policy, inputs: Inputs, verdict: Verdict) -> Self {
        let presets = PRESETS
            .iter()
            .filter(|(name, _)| policy.presets.iter().any(|used| used == name))
            .map(|(name, text)| PolicyText { name: (*name).to_owned(), text: (*text).to_owned() })
            .collect();
        Self { texts: texts.texts.clone(), presets, inputs, verdict }
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
