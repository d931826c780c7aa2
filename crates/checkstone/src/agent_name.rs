//! A client as it is named on the command line.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use transcript::Agent;

/// A client, by the name it is typed with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AgentName(Agent);

const NAMES: [AgentName; Agent::ALL.len()] = {
    let mut names = [AgentName(Agent::ALL[0]); Agent::ALL.len()];
    let mut place = 0;
    while place < names.len() {
        names[place] = AgentName(Agent::ALL[place]);
        place += 1;
    }
    names
};

impl ValueEnum for AgentName {
    fn value_variants<'a>() -> &'a [Self] {
        &NAMES
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
