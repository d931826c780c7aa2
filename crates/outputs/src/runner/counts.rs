//! Numbers with their words, as runners print them: `4 passed, 1 failed`, `Failures: 1, Errors: 0`.

/// Pairs of a number and its word.
#[derive(Debug)]
pub(super) struct Counts<'line>(Vec<(u64, &'line str)>);

impl<'line> Counts<'line> {
    /// `4 passed, 1 failed`; parts of another shape are left out.
    pub(super) fn before_words(line: &'line str, separators: &[char]) -> Self {
        Self(line.split(separators).filter_map(|part| numbered(part.trim())).collect())
    }

    /// `Failures: 1, Errors: 0`; parts of another shape are left out.
    pub(super) fn behind_labels(line: &'line str) -> Self {
        Self(line.split([',', '.']).filter_map(labelled).map(|(label, number)| (number, label)).collect())
    }

    /// The sum of the numbers whose words begin with one of these.
    pub(super) fn sum(&self, beginnings: &[&str]) -> u64 {
        let is_asked = |word: &str| beginnings.iter().any(|beginning| word.starts_with(beginning));
        let asked = self.0.iter().filter(|(_, word)| is_asked(word));
        asked.fold(0, |sum, (number, _)| sum.saturating_add(*number))
    }

    /// Whether there is a number with such a word, be it zero.
    pub(super) fn has(&self, beginnings: &[&str]) -> bool {
        self.0.iter().any(|(_, word)| beginnings.iter().any(|beginning| word.starts_with(beginning)))
    }

    pub(super) fn first(&self) -> Option<(u64, &'line str)> {
        self.0.first().copied()
    }
}

/// Whether the line begins with a number: most lines do not, and need not be looked through.
pub(super) fn begins_with_number(line: &str) -> bool {
    line.as_bytes().first().is_some_and(u8::is_ascii_digit)
}

/// `5 passed` → 5, `passed`
pub(super) fn numbered(text: &str) -> Option<(u64, &str)> {
    let (number, what) = text.split_once(' ')?;
    Some((number.parse().ok()?, what))
}

/// `Failures: 1` → `Failures`, 1
pub(super) fn labelled(text: &str) -> Option<(&str, u64)> {
    let (what, number) = text.split_once(':')?;
    let number = number.trim();
    let digits = number.find(|character: char| !character.is_ascii_digit()).unwrap_or(number.len());
    Some((what.trim(), number.get(..digits)?.parse().ok()?))
}

/// `0.12s`, `1.5 secs`, `3m`, `12ms`: a number with a unit of time, and nothing that could be a word.
pub(super) fn is_duration(text: &str) -> bool {
    let text = text.trim();
    let unit = text.trim_start_matches(|character: char| character.is_ascii_digit() || character == '.');
    unit.len() < text.len()
        && matches!(unit.trim(), "ms" | "s" | "m" | "h" | "µs" | "ns" | "sec" | "secs" | "seconds" | "second")
}
