//! Who waits for whom: finds stages that wait for each other.

/// One cycle for every knot of stages that wait for each other, as places, in the order of the waiting.
pub(super) fn cycles(dependencies: &[&[usize]]) -> Vec<Vec<usize>> {
    let on = |stage: usize| dependencies.get(stage).copied().unwrap_or_default();
    let mut waiting: Vec<usize> = (0..dependencies.len()).map(|stage| on(stage).len()).collect();
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); dependencies.len()];
    for stage in 0..dependencies.len() {
        for on in on(stage) {
            if let Some(dependents) = dependents.get_mut(*on) {
                dependents.push(stage);
            }
        }
    }
    let mut ready: Vec<usize> = (0..waiting.len()).filter(|stage| waiting.get(*stage) == Some(&0)).collect();
    while let Some(done) = ready.pop() {
        for dependent in dependents.get(done).cloned().unwrap_or_default() {
            if let Some(count) = waiting.get_mut(dependent) {
                *count -= 1;
                if *count == 0 {
                    ready.push(dependent);
                }
            }
        }
    }
    // Whoever still waits is in a cycle or behind one: going from one to what it waits for ends in a cycle.
    let is_waiting = |stage: usize| waiting.get(stage).is_some_and(|count| *count > 0);
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
