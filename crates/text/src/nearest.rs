//! The name that was probably meant.

/// The known name with the smallest edit distance, if it is near enough to be a slip.
pub fn nearest<'a>(written: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let allowed = (written.chars().count() / 3).max(2);
    let near = known.map(|name| (distance(written, name), name)).min_by_key(|(distance, _)| *distance)?;
    (near.0 <= allowed).then(|| near.1.to_owned())
}

/// Insertions, removals, replacements and swaps of neighbours. Long texts are no slips, and cost nothing.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) =
        (one.chars().take(64).collect(), other.chars().take(64).collect());
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (row, character) in one.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, against) in other.iter().enumerate() {
            let at = |line: &[usize], index: usize| line.get(index).copied().unwrap_or(usize::MAX / 2);
            let mut best = (at(&last, column + 1) + 1)
                .min(at(&current, column) + 1)
                .min(at(&last, column) + usize::from(character != against));
            let swapped = row > 0
                && column > 0
                && one.get(row - 1) == Some(against)
                && other.get(column - 1) == Some(character);
            if swapped {
                best = best.min(at(&before_last, column - 1) + 1);
            }
            current.push(best);
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let known = ["presets", "prose", "gate", "plan", "category"];
        for (written, meant) in [
            ("preset", "presets"),
            ("presest", "presets"),
            ("porse", "prose"),
            ("categories", "category"),
            ("gat", "gate"),
        ] {
            assert_eq!(nearest(written, known.into_iter()).as_deref(), Some(meant), "{written}");
        }
        assert_eq!(nearest("webhooks", known.into_iter()), None);
        assert_eq!(nearest("x", [].into_iter()), None);
    }
}
