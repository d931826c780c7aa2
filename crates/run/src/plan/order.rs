//! Who waits for whom: finds stages that wait for each other, and an order in which none has to.

use std::collections::BTreeSet;

/// Each behind what it waits for, and otherwise as they come. Those that wait for each other are left out.
pub(super) fn sorted(dependencies: &[&[usize]]) -> Vec<usize> {
    let mut waits_for: Vec<usize> = dependencies.iter().map(|on| on.len()).collect();
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); dependencies.len()];
    for (index, on) in dependencies.iter().enumerate() {
        for on in *on {
            dependents.get_mut(*on).into_iter().for_each(|dependents| dependents.push(index));
        }
    }
    let is_free = |(index, count): (usize, &usize)| (*count == 0).then_some(index);
    let mut ready: BTreeSet<usize> = waits_for.iter().enumerate().filter_map(is_free).collect();
    let mut sorted = Vec::new();
    while let Some(index) = ready.pop_first() {
        sorted.push(index);
        for dependent in dependents.get(index).into_iter().flatten() {
            if let Some(count) = waits_for.get_mut(*dependent) {
                *count -= 1;
                if *count == 0 {
                    ready.insert(*dependent);
                }
            }
        }
    }
    sorted
}

/// One cycle for every knot of stages that wait for each other, as places, in the order of the waiting.
pub(super) fn cycles(dependencies: &[&[usize]]) -> Vec<Vec<usize>> {
    let on = |stage: usize| dependencies.get(stage).copied().unwrap_or_default();
    let done: BTreeSet<usize> = sorted(dependencies).into_iter().collect();
    // Whoever still waits is in a cycle or behind one: going from one to what it waits for ends in a cycle.
    let is_waiting = |stage: usize| !done.contains(&stage);
    let mut seen = vec![false; dependencies.len()];
    let mut found = Vec::new();
    for start in (0..dependencies.len()).filter(|stage| is_waiting(*stage)) {
        let mut way: Vec<usize> = Vec::new();
        let mut stage = start;
        while seen.get(stage) == Some(&false) {
            if let Some(seen) = seen.get_mut(stage) {
                *seen = true;
            }
            way.push(stage);
            match on(stage).iter().copied().find(|on| is_waiting(*on)) {
                Some(next) => stage = next,
                None => break,
            }
        }
        if let Some(from) = way.iter().position(|passed| *passed == stage)
            && (way.len() - from > 1 || on(stage).contains(&stage))
        {
            found.push(way.split_off(from));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_knot_is_found_once() {
        let check = |dependencies: &[&[usize]], expected: &[&[usize]]| {
            assert_eq!(cycles(dependencies), expected, "{dependencies:?}");
        };
        check(&[&[], &[0], &[0, 1]], &[]);
        check(&[&[1], &[0]], &[&[0, 1]]);
        check(&[&[2], &[0], &[1], &[0]], &[&[0, 2, 1]]);
        check(&[&[1], &[0], &[3], &[2]], &[&[0, 1], &[2, 3]]);
    }
}
