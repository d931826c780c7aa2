//! Durations as people write and read them.

use std::time::Duration;

/// A duration as people write it: `30s`, `2m`, `1h`, `500ms`, `1m30s`, `7d`; `None` if the text is none.
pub fn parse_duration(text: &str) -> Option<Duration> {
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

/// A duration in a sentence: `999 ms`, `1.2 s`, `2 min 5 s`, `1 h 1 min`, `4 days`.
pub fn duration_in_words(duration: Duration) -> String {
    let (seconds, milliseconds) = (duration.as_secs(), duration.subsec_millis());
    match seconds {
        0 => format!("{milliseconds} ms"),
        1..60 => format!("{seconds}.{} s", milliseconds / 100),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..172_800 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// A duration in the column of a table, in at most seven characters below a hundred days: `1.2s`, `2m05s`, `1h01m`, `4d02h`.
pub fn short_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{seconds}.{}s", duration.subsec_millis() / 100),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds % 86_400 / 3600),
    }
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
            assert_eq!(parse_duration(text), Some(Duration::from_secs_f64(seconds)), "{text}");
        }
        for text in ["", "30", "s", "-1s", "1.5s", "2 m", "1w", "99999999999999999999s", "30sec", "m1"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }

    #[test]
    fn durations_read_well() {
        for (milliseconds, words, short) in [
            (0, "0 ms", "0.0s"),
            (999, "999 ms", "0.9s"),
            (1_250, "1.2 s", "1.2s"),
            (59_000, "59.0 s", "59.0s"),
            (61_000, "1 min 1 s", "1m01s"),
            (3_660_000, "1 h 1 min", "1h01m"),
            (93_600_000, "26 h 0 min", "1d02h"),
            (400_000_000, "4 days", "4d15h"),
        ] {
            let duration = Duration::from_millis(milliseconds);
            assert_eq!(
                (duration_in_words(duration).as_str(), short_duration(duration).as_str()),
                (words, short)
            );
        }
    }
}
