//! The SQL with which an administrator sets a team up: the tables, a role for the team, and what it may do. The rows of a team are seen by
//! the members of its role alone, which the policies of the tables say.

use jiff::ToSpan as _;
use jiff::civil::{Date, Weekday};

use crate::migration::script;

/// PostgreSQL cuts longer names.
const LONGEST_ROLE: usize = 63;

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "`{role}` is not a valid name for a role: use letters, digits, `_` and `-`, at most {LONGEST_ROLE} bytes"
)]
pub struct RoleError {
    role: String,
}

/// The script for `psql`: it can be run again, also for a second team.
pub fn team_schema(role: &str) -> Result<String, RoleError> {
    let is_plain = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-';
    if role.is_empty() || role.len() > LONGEST_ROLE || !role.chars().all(is_plain) {
        return Err(RoleError { role: role.to_owned() });
    }
    Ok(format!(
        "-- The tables. This does nothing if they already exist.
{script}
-- The team: a role that owns its rows. Its members see them, and nobody else's.
do $checkstone$ begin
if not exists (select from pg_roles where rolname = '{role}') then
create role \"{role}\" nologin;
end if; end $checkstone$;
grant usage on schema checkstone to \"{role}\";
grant select on checkstone.migrations to \"{role}\";
grant select, insert, update on checkstone.team_machines to \"{role}\";
grant select, insert on checkstone.team_events to \"{role}\";

-- A member: a login role that may become the team's. They set `role = \"{role}\"` in `[team]`.
--   create role ada login password '…' in role \"{role}\";
--   postgres://ada@host/name
-- To remove old events, or a team that no longer exists:
--   delete from checkstone.team_events where at < now() - interval '180 days';
--   delete from checkstone.team_events where team = '\"{role}\"'::regrole;
",
        script = script()
    ))
}

/// Partitions for so many weeks from the one of this day on, the next one first: those that are there stay as they are.
pub fn partitions(today: Date, weeks: u32) -> String {
    let mut monday = today;
    while monday.weekday() != Weekday::Monday {
        monday = monday.saturating_sub(1.day());
    }
    let mut script = String::from(
        "\n-- A table for each week: an old one is dropped at once, with `drop table`. Only for weeks without any events yet.\n",
    );
    for _ in 0..weeks {
        // What was sent of this week already lies in the table for the rest.
        monday = monday.saturating_add(7.days());
        let end = monday.saturating_add(7.days());
        script.push_str(&format!(
            "create table if not exists checkstone.team_events_{name} partition of checkstone.team_events
    for values from ('{monday} 00:00+00') to ('{end} 00:00+00');\n",
            name = monday.strftime("%Y_%m_%d")
        ));
    }
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_could_be_more_than_a_name_is_refused() {
        for role in ["", "a\"b", "a'; drop role x", "a b", "$step$"] {
            assert_eq!(team_schema(role), Err(RoleError { role: role.to_owned() }));
        }
        assert!(team_schema("web-team_1").is_ok());
    }

    #[test]
    fn a_name_that_the_database_would_cut_is_refused() {
        assert!(team_schema(&"a".repeat(63)).is_ok());
        let refused = team_schema(&"a".repeat(64)).unwrap_err().to_string();
        let expected = "is not a valid name for a role: use letters, digits, `_` and `-`, at most 63 bytes";
        assert_eq!(refused, format!("`{}` {expected}", "a".repeat(64)));
    }

    #[test]
    fn partitions_begin_with_the_next_week() {
        let script = partitions(Date::constant(2026, 11, 18), 2);
        let names: Vec<&str> =
            script.split_whitespace().filter(|word| word.starts_with("checkstone.team_events_")).collect();
        assert_eq!(names, ["checkstone.team_events_2026_11_23", "checkstone.team_events_2026_11_30"]);
    }
}
