//! The name that was probably meant.

use crate::first_characters;

/// The known name with the smallest edit distance, if it is near enough to be a slip.
pub fn nearest<'a>(written: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let allowed = (written.chars().count() / 3).max(1);
    // Long texts are no slips, and cost nothing.
    let distance = |name| strsim::osa_distance(first_characters(written, 64), first_characters(name, 64));
    let near = known.map(|name| (distance(name), name)).min_by_key(|(distance, _)| *distance)?;
    (near.0 <= allowed).then(|| near.1.to_owned())
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
        assert_eq!(nearest("shell", ["stall"].into_iter()), None);
        assert_eq!(nearest("x", [].into_iter()), None);
    }
}
