//! Durations as people write them: `30s`, `2m`, `1h`, `500ms`, `1m30s`, `7d`.

use std::time::Duration;

/// `None` where the text is no duration.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|character: char| !character.is_ascii_digit())?;
        let (number, after) = rest.split_at(digits);
        let number: u64 = number.parse().ok()?;
        let unit_length = after.find(|character: char| character.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_length);
        let part = match unit {
            "ms" => Duration::from_millis(number),
            "s" => Duration::from_secs(number),
            "m" => Duration::from_secs(number.checked_mul(60)?),
            "h" => Duration::from_secs(number.checked_mul(3600)?),
            "d" => Duration::from_secs(number.checked_mul(24 * 3600)?),
            _ => return None,
        };
        total = total.checked_add(part)?;
        rest = after;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_written() {
        for (text, seconds) in [
            ("0s", 0.0),
            ("30s", 30.0),
            ("2m", 120.0),
            ("1h", 3600.0),
            ("500ms", 0.5),
            ("1m30s", 90.0),
            ("7d", 604_800.0),
        ] {
            assert_eq!(parse(text), Some(Duration::from_secs_f64(seconds)), "{text}");
        }
        for text in ["", "30", "s", "-1s", "1.5s", "2 m", "1w", "99999999999999999999s", "30sec", "m1"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
