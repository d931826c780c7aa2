//! The order in which Python stages use the run's session: that of the plan, each after what it depends on. It does not
//! depend on how many stages run at once or how long they take, so that each finds the same variables every time.

use std::collections::{BTreeSet, HashMap};

use crate::plan::{Kind, Plan};

#[derive(Debug, Default)]
pub(crate) struct SessionOrder {
    /// Places in `Plan::stages`.
    order: Vec<usize>,
    positions: HashMap<usize, usize>,
    /// All before this one are settled.
    next: usize,
}

impl SessionOrder {
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut waits_for: Vec<usize> = plan.stages.iter().map(|stage| stage.dependencies.len()).collect();
        let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); plan.stages.len()];
        for (index, stage) in plan.stages.iter().enumerate() {
            for on in &stage.dependencies {
                dependents.get_mut(*on).into_iter().for_each(|dependents| dependents.push(index));
            }
        }
        let is_free = |(index, count): (usize, &usize)| (*count == 0).then_some(index);
        let mut ready: BTreeSet<usize> = waits_for.iter().enumerate().filter_map(is_free).collect();
        let mut order = Vec::new();
        while let Some(index) = ready.pop_first() {
            if plan.stages.get(index).is_some_and(|stage| stage.kind == Kind::Python) {
                order.push(index);
            }
            for dependent in dependents.get(index).into_iter().flatten() {
                if let Some(count) = waits_for.get_mut(*dependent) {
                    *count -= 1;
                    if *count == 0 {
                        ready.insert(*dependent);
                    }
                }
            }
        }
        let positions = order.iter().enumerate().map(|(position, index)| (*index, position)).collect();
        Self { order, positions, next: 0 }
    }

    /// All that use the session.
    pub(crate) fn stages(&self) -> &[usize] {
        &self.order
    }

    /// Whether everything that comes before it in the session is settled; other stages need not wait for that.
    pub(crate) fn has_its_turn(&mut self, index: usize, is_settled: impl Fn(usize) -> bool) -> bool {
        if !self.positions.contains_key(&index) {
            return true;
        }
        while self.order.get(self.next).is_some_and(|next| is_settled(*next)) {
            self.next += 1;
        }
        self.order.get(self.next) == Some(&index)
    }

    /// The stage is to be run once more.
    pub(crate) fn go_back_to(&mut self, index: usize) {
        self.next = self.positions.get(&index).map_or(self.next, |position| self.next.min(*position));
    }

    /// Those that come before it in the session, the last one first; before a stage that is none of them, all.
    pub(crate) fn before(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        let position = self.positions.get(&index).copied().unwrap_or(self.order.len());
        self.order.iter().take(position).rev().copied()
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
        assert_eq!(order.order, [2, 0, 3]);
        assert_eq!(order.before(3).collect::<Vec<_>>(), [0, 2]);
        assert!(order.has_its_turn(1, |_| false), "it is no Python stage");
        assert!(!order.has_its_turn(0, |_| false));
        assert!(order.has_its_turn(0, |settled| settled == 2));
        order.go_back_to(2);
        assert!(order.has_its_turn(2, |_| false));
    }
}
