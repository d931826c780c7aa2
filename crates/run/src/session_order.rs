//! The order in which Python stages use the run's session: that of the plan, each after what it depends on. It does not
//! depend on how many stages run at once or how long they take, so that each finds the same variables every time.

use std::collections::HashMap;

use crate::plan::{Plan, SessionTurn};

#[derive(Debug, Default)]
pub(crate) struct SessionOrder {
    turns: Vec<SessionTurn>,
    /// By their places in `Plan::stages`.
    positions: HashMap<usize, usize>,
    /// All before this one are done.
    next: usize,
}

impl SessionOrder {
    pub(crate) fn of(plan: &Plan) -> Self {
        let turns = plan.session_turns();
        let positions = turns.iter().enumerate().filter_map(|(position, turn)| match turn {
            SessionTurn::Stage(index) => Some((*index, position)),
            SessionTurn::Waiting(_) => None,
        });
        Self { positions: positions.collect(), turns, next: 0 }
    }

    /// Whether everything that comes before it in the session is done; other stages need not wait for that.
    pub(crate) fn has_its_turn(&mut self, index: usize, is_done: impl Fn(&SessionTurn) -> bool) -> bool {
        if !self.positions.contains_key(&index) {
            return true;
        }
        while self.turns.get(self.next).is_some_and(&is_done) {
            self.next += 1;
        }
        self.turns.get(self.next) == Some(&SessionTurn::Stage(index))
    }

    /// The stage is to be run once more.
    pub(crate) fn go_back_to(&mut self, index: usize) {
        self.next = self.positions.get(&index).map_or(self.next, |position| self.next.min(*position));
    }

    /// Those that come before it in the session, the last one first; before a stage that is none of them, all.
    pub(crate) fn before(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        self.turns_before(index).rev().filter_map(|turn| match turn {
            SessionTurn::Stage(before) => Some(*before),
            SessionTurn::Waiting(_) => None,
        })
    }

    /// The Python stages that one of them cannot do without, the last one first; none for a stage of another kind.
    pub(crate) fn needed_by(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        self.before(index).take_while(move |_| self.positions.contains_key(&index))
    }

    /// What has its turn before a Python stage, and is not known yet.
    pub(crate) fn unknown_before(&self, index: usize) -> Option<&str> {
        self.positions.get(&index)?;
        self.turns_before(index).find_map(|turn| match turn {
            SessionTurn::Stage(_) => None,
            SessionTurn::Waiting(id) => Some(id.as_str()),
        })
    }

    fn turns_before(&self, index: usize) -> impl DoubleEndedIterator<Item = &SessionTurn> {
        let position = self.positions.get(&index).copied().unwrap_or(self.turns.len());
        self.turns.get(..position).unwrap_or_default().iter()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_order_is_that_of_the_plan_as_far_as_dependencies_allow() {
        let stage = |id: &str, kind: &str, on: &str| {
            format!(
                "[[stage]]\nstageId = \"{id}\"\nkind = \"{kind}\"\ngoal = \"Do the work\"\ncommand = \"1\"\ndependencies = [{on}]\n"
            )
        };
        let text = [
            "title = \"t\"\n".to_owned(),
            stage("S01_do_last", "python", "\"S03_do_middle\""),
            stage("S02_do_else", "command", ""),
            stage("S03_do_middle", "python", "\"S02_do_else\""),
            stage("S04_do_alone", "python", ""),
        ];
        let plan = Plan::read("plan.toml", &text.concat(), Path::new("/")).unwrap();
        let mut order = SessionOrder::of(&plan);
        assert_eq!(order.turns, [2, 0, 3].map(SessionTurn::Stage));
        assert_eq!(order.before(3).collect::<Vec<_>>(), [0, 2]);
        assert!(order.has_its_turn(1, |_| false), "it is no Python stage");
        assert!(!order.has_its_turn(0, |_| false));
        assert!(order.has_its_turn(0, |done| *done == SessionTurn::Stage(2)));
        order.go_back_to(2);
        assert!(order.has_its_turn(2, |_| false));
    }

    /// Which list is there first makes no difference.
    #[test]
    fn what_is_known_only_later_has_its_turn_all_the_same() {
        let list = |id: &str| {
            format!(
                "[[stage]]\nstageId = \"{id}\"\ngoal = \"Make a list\"\ncommand = 'list'\noutputs = {{ all = \"all\" }}\n"
            )
        };
        let each = |id: &str, of: &str| {
            format!(
                "[[stage]]\nstageId = \"{id}\"\nkind = \"python\"\ngoal = \"Do the work\"\ncommand = '1'\n\
                 forEach = {{ x = {{ lines = \"{of}/all\" }} }}\n"
            )
        };
        let text = [
            "title = \"t\"\n".to_owned(),
            list("S01_list_one"),
            list("S02_list_two"),
            each("S03_do_one", "S01_list_one"),
            each("S04_do_two", "S02_list_two"),
            "[[stage]]\nstageId = \"S05_do_last\"\nkind = \"python\"\ngoal = \"Do the work\"\ncommand = '1'\n".to_owned(),
        ];
        let folder = tempfile::tempdir().unwrap();
        fs_err::write(folder.path().join("all"), "1\n2\n").unwrap();
        let plan = Plan::read("plan.toml", &text.concat(), folder.path()).unwrap();
        let ids = |first: usize, second: usize| {
            let grown = plan.grown(first, folder.path()).unwrap().unwrap();
            let order = SessionOrder::of(&grown);
            let last = grown.stage("S05_do_last").unwrap();
            assert_eq!(order.unknown_before(last), Some(["S03_do_one", "S04_do_two"][second]));
            let grown = grown.grown(second, folder.path()).unwrap().unwrap();
            let order = SessionOrder::of(&grown);
            assert_eq!(order.unknown_before(last), None);
            let turns = order.before(last).map(|index| grown.stages[index].id.clone());
            turns.collect::<Vec<_>>()
        };
        let expected = ["S04_do_two_b", "S04_do_two_a", "S03_do_one_b", "S03_do_one_a"];
        assert_eq!([ids(0, 1), ids(1, 0)], [expected; 2]);
    }
}
