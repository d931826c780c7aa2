//! What the database has of runs, for those who read.

use std::time::{Duration, Instant, SystemTime};

use lease::LeaseOwner;

use crate::{Connection, DatabaseError, RunKey};

/// What the clock of the server says beside that of this machine.
#[derive(Clone, Copy, Debug)]
pub struct ServerClock {
    /// In seconds.
    pub ahead: f64,
    pub round_trip: Duration,
}

pub fn clock(connection: &mut Connection) -> Result<ServerClock, DatabaseError> {
    let (began, before) = (Instant::now(), SystemTime::now());
    let query = "select extract(epoch from clock_timestamp())::double precision";
    let server: f64 = connection.run(|client| Ok(client.query_one(query, &[])?.get(0)))?;
    let round_trip = began.elapsed();
    let here = before.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default() + round_trip / 2;
    Ok(ServerClock { ahead: server - here.as_secs_f64(), round_trip })
}

/// Removes the runs of a project, for one that was only tried.
pub fn forget_runs(connection: &mut Connection, project: &str) -> Result<(), DatabaseError> {
    let remove = "delete from checkstone.runs where project = $1";
    connection.run(|client| client.execute(remove, &[&project])).map(drop)
}

/// The lines of a run's record, each with its line break; none where the database does not know it.
pub fn record_of(connection: &mut Connection, key: &RunKey) -> Result<Vec<u8>, DatabaseError> {
    let rows = connection.run(|client| {
        let query = "select line from checkstone.events join checkstone.runs on id = events.run
             where project = $1 and title = $2 and runs.run = $3 order by sequence";
        client.query(query, &[&key.project, &key.title, &key.run])
    })?;
    let mut lines = Vec::new();
    for row in rows {
        lines.extend_from_slice(row.get::<_, &str>(0).as_bytes());
        lines.push(b'\n');
    }
    Ok(lines)
}

/// A run as the database knows it, without its record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRun {
    pub key: RunKey,
    /// Of its record, every line with its line break.
    pub bytes: u64,
    /// Who has it in hand now.
    pub owner: Option<LeaseOwner>,
}

const RECORDED: &str = "select title, runs.run, sum(octet_length(line) + 1)::bigint,
         case when expires_at >= clock_timestamp() then owner end
     from checkstone.runs join checkstone.events on events.run = runs.id";

impl RecordedRun {
    fn of(project: &str, row: &postgres::Row) -> Self {
        let owner = row.get::<_, Option<&str>>(3).and_then(|owner| serde_json::from_str(owner).ok());
        Self {
            key: RunKey { project: project.to_owned(), title: row.get(0), run: row.get(1) },
            bytes: row.get::<_, i64>(2).unsigned_abs(),
            owner: owner.filter(|owner: &LeaseOwner| !owner.is_gone()),
        }
    }
}

/// The runs of a project that have begun, the newest first.
pub fn runs_of(connection: &mut Connection, project: &str) -> Result<Vec<RecordedRun>, DatabaseError> {
    let rows = connection.run(|client| {
        let query = format!("{RECORDED} where project = $1 group by runs.id order by runs.id desc");
        client.query(&query, &[&project])
    })?;
    Ok(rows.iter().map(|row| RecordedRun::of(project, row)).collect())
}

/// One of them; none if it has not begun.
pub fn recorded_run(connection: &mut Connection, key: &RunKey) -> Result<Option<RecordedRun>, DatabaseError> {
    let row = connection.run(|client| {
        let query =
            format!("{RECORDED} where project = $1 and title = $2 and runs.run = $3 group by runs.id");
        client.query_opt(&query, &[&key.project, &key.title, &key.run])
    })?;
    Ok(row.map(|row| RecordedRun::of(&key.project, &row)))
}
