//! Moments as people type them: a day, an instant, or how long ago it was.

use jiff::{SignedDuration, Timestamp};

use crate::error::CommandError;

/// A moment that was named on the command line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment(pub(crate) Timestamp);

/// `2026-11-01`, `2026-11-01T08:00:00Z`, or how long ago: `12h`, `14d`, `2w`.
pub(crate) fn parse(text: &str) -> Result<Moment, CommandError> {
    let text = text.trim();
    let back = |number: Option<&str>, hours: i64| {
        let hours = number?.parse::<i64>().ok().filter(|number| *number >= 0)?.checked_mul(hours)?;
        let back = SignedDuration::try_from_hours(hours)?;
        Timestamp::now().checked_sub(back).ok()
    };
    let when = back(text.strip_suffix('h'), 1)
        .or_else(|| back(text.strip_suffix('d'), 24))
        .or_else(|| back(text.strip_suffix('w'), 24 * 7))
        .or_else(|| text.parse().ok())
        .or_else(|| format!("{text}T00:00:00Z").parse().ok());
    let wrong = || CommandError::usage("expected a day such as `2026-11-01` or a span such as `14d`");
    when.map(Moment).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        assert_eq!(parse("2026-11-01").unwrap().0.to_string(), "2026-11-01T00:00:00Z");
        assert_eq!(parse("2026-11-01T08:00:00+02:00").unwrap().0.to_string(), "2026-11-01T06:00:00Z");
        let hours = |text: &str| {
            let then = parse(text).unwrap().0;
            parse("0h").unwrap().0.duration_since(then).as_hours()
        };
        assert_eq!([hours("12h"), hours("14d"), hours("2w")], [12, 336, 336]);
        for text in ["", "d", "-1d", "yesterday", "2026-13-01", "99999999999999999w"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
