//! Turns added up by verdict, agent, project and day, in one way for those that were replayed and those that were recorded.

use gate::Decision;
use jiff::Timestamp;
use journal::DayOfTurns;
use serde::Serialize;
use transcript::Agent;

/// What some turns add up to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Statistics {
    pub turns: Counts,
    pub agents: Vec<AgentCount>,
    /// By the folder of the repository, most turns first; it is null if that is not known.
    pub projects: Vec<ProjectCount>,
    /// By day in UTC, in order; the day is null for turns without a time.
    pub days: Vec<DayCount>,
}

/// Each turn counts once, as at its first stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    pub total: u64,
    pub hold: u64,
    pub notify: u64,
    pub pass: u64,
    pub not_judged: u64,
    /// Turns that were held when they took place, whatever would be decided now.
    pub held: u64,
    /// Of those, the ones in which the tests, or what else was missing, ran after the hold.
    pub then_tested: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentCount {
    pub agent: Agent,
    pub turns: Counts,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProjectCount {
    pub project: Option<String>,
    pub turns: Counts,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DayCount {
    pub day: Option<String>,
    pub turns: Counts,
}

/// Turns of one agent, project and day.
#[derive(Clone, Debug)]
pub(crate) struct CountedTurns {
    /// `None` if no agent that is known here has this name.
    pub(crate) agent: Option<Agent>,
    pub(crate) project: Option<String>,
    pub(crate) began: Option<Timestamp>,
    pub(crate) counts: Counts,
}

impl Counts {
    /// One turn.
    pub(crate) fn one(decision: Option<Decision>, was_held: bool, then_tested: bool) -> Self {
        let is = |asked: Option<Decision>| u64::from(decision == asked);
        Self {
            total: 1,
            hold: is(Some(Decision::Hold)),
            notify: is(Some(Decision::Notify)),
            pass: is(Some(Decision::Pass)),
            not_judged: is(None),
            held: u64::from(was_held),
            then_tested: u64::from(was_held && then_tested),
        }
    }

    fn add(&mut self, other: Self) {
        self.total += other.total;
        self.hold += other.hold;
        self.notify += other.notify;
        self.pass += other.pass;
        self.not_judged += other.not_judged;
        self.held += other.held;
        self.then_tested += other.then_tested;
    }
}

impl Statistics {
    /// Of what the journal has.
    pub fn of_journal(days: Vec<DayOfTurns>) -> Self {
        let mut statistics = Self::default();
        for day in days {
            let DayOfTurns { begins, agent, repository, passed, notified, held, followed, unjudged } = day;
            statistics.add(CountedTurns {
                agent: Agent::named(&agent),
                project: repository.map(|repository| repository.to_string_lossy().into_owned()),
                began: Some(begins),
                counts: Counts {
                    total: passed + notified + held + unjudged,
                    hold: held,
                    notify: notified,
                    pass: passed,
                    not_judged: unjudged,
                    held,
                    then_tested: followed,
                },
            });
        }
        statistics.finish();
        statistics
    }

    pub(crate) fn add(&mut self, turns: CountedTurns) {
        let CountedTurns { agent, project, began, counts } = turns;
        self.turns.add(counts);
        let none = Counts::default;
        if let Some(agent) = agent {
            let agents = &mut self.agents;
            found(agents, |one| one.agent == agent, || AgentCount { agent, turns: none() }).turns.add(counts);
        }
        let same_project = |one: &ProjectCount| one.project == project;
        let new_project = || ProjectCount { project: project.clone(), turns: none() };
        found(&mut self.projects, same_project, new_project).turns.add(counts);
        let day = began.map(|began| began.strftime("%Y-%m-%d").to_string());
        let new_day = || DayCount { day: day.clone(), turns: none() };
        found(&mut self.days, |one| one.day == day, new_day).turns.add(counts);
    }

    /// Puts everything into the order in which it is shown.
    pub(crate) fn finish(&mut self) {
        self.agents.sort_by_key(|count| count.agent.name());
        self.projects.sort_by(|left, right| {
            (right.turns.total, &left.project).cmp(&(left.turns.total, &right.project))
        });
        self.days.sort_by(|left, right| left.day.cmp(&right.day));
    }
}

/// The entry that is meant, made where there is none yet.
pub(crate) fn found<T>(entries: &mut Vec<T>, is_it: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> &mut T {
    let place = entries.iter().position(is_it).unwrap_or_else(|| {
        entries.push(new());
        entries.len() - 1
    });
    #[expect(clippy::indexing_slicing, reason = "it was found or pushed just now")]
    &mut entries[place]
}
