//! A team, and the states that its issues go through. Every team names them as it likes: their type and their position
//! say what they mean.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Linear, LinearError, not_understood};

/// What is asked of the team of an issue.
pub(super) const FIELDS: &str = "id name key states(first: 100) { nodes { id name type position } }";

/// Linear counts what an answer could hold: no states are asked of teams that only have to be found.
const TEAMS: &str =
    "query Teams($filter: TeamFilter) { teams(filter: $filter, first: 20) { nodes { id name key } } }";

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Team {
    pub id: String,
    pub name: String,
    /// What its issues begin with.
    pub key: String,
    states: States,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct States {
    nodes: Vec<TeamState>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct TeamState {
    pub id: String,
    pub name: String,
    /// `triage`, `backlog`, `unstarted`, `started`, `completed`, `canceled` or `duplicate`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Among those of its type.
    pub position: f64,
}

impl Team {
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name) || self.key.eq_ignore_ascii_case(name)
    }

    /// The first state of a type.
    pub(super) fn first_state(&self, kind: &'static str) -> Result<&TeamState, LinearError> {
        let of_kind = self.states.nodes.iter().filter(|state| state.kind == kind);
        let first = of_kind.min_by(|one, other| one.position.total_cmp(&other.position));
        first.ok_or_else(|| LinearError::NoState { team: self.name.clone(), kind })
    }
}

impl Linear<'_> {
    /// The team with this name, or else with this key.
    pub(super) fn team(&self, name: &str) -> Result<Team, LinearError> {
        let called = json!({"eqIgnoreCase": name});
        let variables = json!({"filter": {"or": [{"name": called}, {"key": called}]}});
        let teams: Vec<Team> = self.retry.run(|time| {
            let mut data = self.ask(TEAMS, &variables, time)?;
            let nodes = data.pointer_mut("/teams/nodes").map(Value::take);
            serde_json::from_value(nodes.unwrap_or_default()).map_err(|_| not_understood())
        })?;
        let by_name = teams.iter().find(|team| team.name.eq_ignore_ascii_case(name));
        let team = by_name.or_else(|| teams.iter().find(|team| team.is_called(name)));
        team.cloned().ok_or_else(|| LinearError::NoTeam { team: name.to_owned() })
    }
}
