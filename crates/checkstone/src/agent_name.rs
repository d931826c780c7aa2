//! A client as it is named on the command line.

use std::sync::LazyLock;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use transcript::Agent;

/// A client, by the name it is typed with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AgentName(Agent);

static NAMES: LazyLock<[AgentName; Agent::ALL.len()]> = LazyLock::new(|| Agent::ALL.map(AgentName));

impl ValueEnum for AgentName {
    fn value_variants<'a>() -> &'a [Self] {
        NAMES.as_slice()
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()))
    }
}

impl From<AgentName> for Agent {
    fn from(name: AgentName) -> Self {
        name.0
    }
}
