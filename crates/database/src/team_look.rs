//! What a team's database shows to its members: who is live, who meets whom in the same files, and what the weeks came to. What other
//! teams have is not seen: the database itself decides that.

use postgres::Row;

use crate::{Connection, DatabaseError};

/// A session by the last thing that was heard of it.
#[derive(Clone, Debug, PartialEq)]
pub struct TeamSession {
    pub machine: i64,
    pub machine_name: String,
    /// The role that the machine logged in with.
    pub member: String,
    /// Hexadecimal digits, as all ids here.
    pub session: String,
    pub agent: String,
    pub repository: Option<String>,
    pub branch: Option<String>,
    /// Seconds since 1970 by the database's clock.
    pub at: f64,
    /// `None` while a turn is under way.
    pub verdict: Option<String>,
    pub waits: bool,
    pub rules: Vec<String>,
    pub changed: i32,
    /// What was sent of texts, as JSON.
    pub texts: Option<String>,
}

/// A file that sessions of several machines changed on one branch of one repository.
#[derive(Clone, Debug, PartialEq)]
pub struct TeamConflict {
    pub repository: String,
    pub branch: Option<String>,
    pub file: i64,
    /// What it is called, if somebody sent that.
    pub path: Option<String>,
    /// The machines, each with the role that it logged in with.
    pub machines: Vec<String>,
}

/// The verdicts of one week.
#[derive(Clone, Debug, PartialEq)]
pub struct TeamWeek {
    /// Its Monday, in seconds since 1970.
    pub week: f64,
    pub passed: i64,
    pub notified: i64,
    pub held: i64,
    /// Of the holds, those after which the same turn proved something.
    pub followed: i64,
    /// Stops that changed something, and of these those that proved something.
    pub changing: i64,
    pub proving: i64,
    pub machines: i64,
}

/// A machine whose clock is far from that of the database.
#[derive(Clone, Debug, PartialEq)]
pub struct TeamClock {
    pub machine: String,
    /// In seconds.
    pub ahead: f64,
}

/// What is known of a team now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TeamLook {
    pub sessions: Vec<TeamSession>,
    pub conflicts: Vec<TeamConflict>,
    pub weeks: Vec<TeamWeek>,
    pub clocks: Vec<TeamClock>,
}

/// Changes whenever something was received.
pub fn newest(connection: &mut Connection) -> Result<f64, DatabaseError> {
    let query = "select coalesce(extract(epoch from max(sent_at)), 0)::double precision from checkstone.team_machines";
    connection.run(|client| Ok(client.query_one(query, &[])?.get(0)))
}

/// The whole of it; sessions that were heard of within so many hours.
pub fn look(connection: &mut Connection, hours: f64) -> Result<TeamLook, DatabaseError> {
    connection.run(|client| {
        let mut reading = client.build_transaction().read_only(true).start()?;
        let sessions = reading.query(SESSIONS, &[&hours])?.iter().map(session).collect();
        let conflicts = reading.query(CONFLICTS, &[])?.iter().map(conflict).collect();
        let weeks = reading.query(WEEKS, &[])?.iter().map(week).collect();
        let clocks = reading.query(CLOCKS, &[])?;
        let clock = |row: &Row| TeamClock { machine: row.get(0), ahead: row.get(1) };
        let clocks = clocks.iter().map(clock).collect();
        reading.commit()?;
        Ok(TeamLook { sessions, conflicts, weeks, clocks })
    })
}

/// How a machine is called: by its name, else by the role that it logged in with and the first digits of what it is known by.
macro_rules! called {
    () => {
        "case machines.name when '' then machines.member || ' (' || left(machines.machine, 6) || ')' else machines.name end"
    };
}

/// Events of the last hours, by the clock of the database. The first of both is the same for all machines, so that an index can answer it.
macro_rules! within {
    ($hours:literal) => {
        concat!(
            "at > now() + (least(0, (select min(clock_ahead) from checkstone.team_machines)) - ",
            $hours,
            " * 3600) * interval '1 second' and at > now() + (clock_ahead - ",
            $hours,
            " * 3600) * interval '1 second'"
        )
    };
}

const SESSIONS: &str = concat!(
    "select distinct on (event.machine, session) event.machine, ",
    called!(),
    ", machines.member, encode(session, 'hex'), agent, encode(repository, 'hex'), encode(branch, 'hex'),
         extract(epoch from at)::double precision - clock_ahead, verdict, coalesce(waits, false), coalesce(rules, '{}'),
         coalesce(changed, 0), (texts || coalesce((
             select opened.texts from checkstone.team_events as opened
             where opened.machine = event.machine and opened.session = event.session and opened.turn = event.turn
                 and opened.verdict is null limit 1), '{}'))::text
     from checkstone.team_events as event join checkstone.team_machines as machines on machines.id = event.machine
     where ",
    within!("$1::double precision"),
    "
     order by event.machine, session, at desc, sequence desc limit 2000"
);

/// What was changed in the last four hours: earlier work is mostly committed and known to the others.
const CONFLICTS: &str = concat!(
    "with changed as (
         select repository, branch, event.machine, file, texts -> 'paths' ->> (place - 1)::integer as path
         from checkstone.team_events as event join checkstone.team_machines as machines on machines.id = event.machine,
             unnest(files) with ordinality as one (file, place)
         where ",
    within!("4"),
    " and repository is not null
     )
     select encode(repository, 'hex'), encode(branch, 'hex'), file, max(path), array_agg(distinct ",
    called!(),
    ") from changed join checkstone.team_machines as machines on machines.id = changed.machine
     group by repository, branch, file having count(distinct changed.machine) > 1 order by 1, 2, 3 limit 200"
);

const WEEKS: &str = "
with judged as (
    select date_trunc('week', at, 'UTC') as week, event.machine, verdict, changed, proofs,
        verdict = 'hold' and exists (
            select from checkstone.team_events as later
            where later.machine = event.machine and later.session = event.session and later.turn = event.turn
                and later.sequence > event.sequence and later.proofs > 0) as is_followed
    from checkstone.team_events as event where verdict is not null and at > now() - interval '26 weeks'
)
select extract(epoch from week)::double precision, count(*) filter (where verdict = 'pass'),
    count(*) filter (where verdict = 'notify'), count(*) filter (where verdict = 'hold'), count(*) filter (where is_followed),
    count(*) filter (where changed > 0), count(*) filter (where changed > 0 and proofs > 0), count(distinct machine)
from judged group by week order by week";

/// A minute is far: agents answer faster.
const CLOCKS: &str = concat!(
    "select ",
    called!(),
    ", clock_ahead from checkstone.team_machines as machines
     where abs(clock_ahead) > 60 and sent_at > now() - interval '1 day' order by 1 limit 50"
);

fn session(row: &Row) -> TeamSession {
    TeamSession {
        machine: row.get(0),
        machine_name: row.get(1),
        member: row.get(2),
        session: row.get(3),
        agent: row.get(4),
        repository: row.get(5),
        branch: row.get(6),
        at: row.get(7),
        verdict: row.get(8),
        waits: row.get(9),
        rules: row.get(10),
        changed: row.get(11),
        texts: row.get(12),
    }
}

fn conflict(row: &Row) -> TeamConflict {
    TeamConflict {
        repository: row.get(0),
        branch: row.get(1),
        file: row.get(2),
        path: row.get(3),
        machines: row.get(4),
    }
}

fn week(row: &Row) -> TeamWeek {
    TeamWeek {
        week: row.get(0),
        passed: row.get(1),
        notified: row.get(2),
        held: row.get(3),
        followed: row.get(4),
        changing: row.get(5),
        proving: row.get(6),
        machines: row.get(7),
    }
}
