//! The ids of our checkpoints: a number that grows within the run, the time for people, and something that nobody else
//! has. They sort by the number, which is what tells the newest where clocks were set back (R5).

use files::random_id;
use jiff::Timestamp;

const PREFIX: &str = "ckpt-";
const EMERGENCY: &str = "emergency-";

pub(super) fn ordinary(sequence: u64, now: Timestamp) -> String {
    let time = now.strftime("%Y%m%dT%H%M%SZ");
    format!("{PREFIX}{sequence:06}-{time}-{}", random_id().get(..6).unwrap_or("000000"))
}

pub(super) fn emergency(sequence: u64, now: Timestamp) -> String {
    ordinary(sequence, now).replacen(PREFIX, &format!("{PREFIX}{EMERGENCY}"), 1)
}

/// Whether an id of ours is that of an emergency checkpoint.
pub(super) fn is_emergency(id: &str) -> bool {
    id.strip_prefix(PREFIX).is_some_and(|rest| rest.starts_with(EMERGENCY))
}

/// The number in an id of ours; other tools' ids have none.
pub(super) fn sequence(id: &str) -> Option<u64> {
    let rest = id.strip_prefix(PREFIX)?;
    let rest = rest.strip_prefix(EMERGENCY).unwrap_or(rest);
    let mut parts = rest.split('-');
    let (digits, time, random) = (parts.next()?, parts.next()?, parts.next()?);
    let ours = digits.len() >= 6 && time.len() == 16 && time.ends_with('Z') && random.len() == 6;
    if !ours || parts.next().is_some() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

/// The number after those of all the ids.
pub(super) fn next_sequence<'a>(ids: impl Iterator<Item = &'a str>) -> u64 {
    // A number that somebody made up must not be the last one.
    let reasonable = |number: &u64| *number < 1 << 53;
    ids.filter_map(sequence).filter(reasonable).max().map_or(1, |newest| newest + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_tell_their_number() {
        let now = "2026-11-15T09:10:11Z".parse().unwrap();
        assert!(ordinary(12, now).starts_with("ckpt-000012-20261115T091011Z-"));
        assert!(emergency(13, now).starts_with("ckpt-emergency-000013-20261115T091011Z-"));
        assert_eq!(sequence(&ordinary(12, now)), Some(12));
        assert_eq!(sequence(&emergency(1_234_567, now)), Some(1_234_567));
        for other in
            ["ckpt-001", "ckpt-emergency-1767261600000", "x", "ckpt-", "ckpt-00000x-20261115T091011Z-abcdef"]
        {
            assert_eq!(sequence(other), None, "{other}");
        }
        assert_eq!(next_sequence(["ckpt-001", &ordinary(3, now), &emergency(4, now)].into_iter()), 5);
        assert_eq!(next_sequence(["ckpt-99999999999999999999-20261115T091011Z-abcdef"].into_iter()), 1);
    }
}
