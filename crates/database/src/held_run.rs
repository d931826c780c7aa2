//! A run that this process has in hand by the database: its lease, and the commits under it. Every commit is one statement that
//! checks the token first; the database's own clock says when a lease has expired.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lease::{LeaseError, LeaseOwner, Renewal};
use postgres::error::SqlState;

use crate::{Connection, DatabaseError, migrate, run_record};

/// So many signs of life within the length of a lease.
const SIGNS: u32 = 6;
/// Between two looks of somebody who waits.
const LOOK: Duration = Duration::from_millis(200);

/// Which run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunKey {
    /// What all hosts call the project.
    pub project: String,
    pub title: String,
    pub run: String,
}

/// One line of a run's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedEvent {
    pub sequence: u64,
    /// As it stands in the record, without its line break.
    pub line: String,
    /// The stage and number of the attempt that it begins.
    pub begun: Option<(String, u32)>,
}

#[derive(Debug)]
pub struct HeldRun {
    key: RunKey,
    id: i64,
    token: i64,
    length: Duration,
    connection: Mutex<Connection>,
    is_lost: Arc<AtomicBool>,
    _renewal: Renewal,
}

/// The row of a run as somebody else sees it.
#[derive(PartialEq)]
struct SeenRow {
    id: i64,
    token: i64,
    owner: Option<String>,
    expires: Option<f64>,
    is_expired: bool,
}

const LOOK_AT_ROW: &str = "select id, token, owner, extract(epoch from expires_at)::double precision,
         coalesce(expires_at < clock_timestamp(), true)
     from checkstone.runs";

impl SeenRow {
    fn of(row: postgres::Row) -> Self {
        Self {
            id: row.get(0),
            token: row.get(1),
            owner: row.get(2),
            expires: row.get(3),
            is_expired: row.get(4),
        }
    }

    fn is_free(&self) -> bool {
        self.owner().is_none_or(|owner| owner.is_gone()) || self.is_expired
    }

    fn owner(&self) -> Option<LeaseOwner> {
        serde_json::from_str(self.owner.as_ref()?).ok()
    }

    fn shown_owner(&self) -> String {
        self.owner().map_or_else(|| "somebody".to_owned(), |owner| owner.to_string())
    }
}

impl HeldRun {
    /// Takes the run in hand. An owner is waited for until it gives a sign of life, or its lease expires.
    pub fn take(
        connection: Connection,
        key: RunKey,
        length: Duration,
    ) -> Result<Result<Self, LeaseError>, DatabaseError> {
        Self::take_after(connection, key, length, || {
            std::thread::sleep(LOOK.min(length / 10));
            true
        })
    }

    /// As [`HeldRun::take`], but nobody is waited for.
    pub fn take_now(
        connection: Connection,
        key: RunKey,
        length: Duration,
    ) -> Result<Result<Self, LeaseError>, DatabaseError> {
        Self::take_after(connection, key, length, || false)
    }

    fn take_after(
        mut connection: Connection,
        key: RunKey,
        length: Duration,
        may_wait: impl Fn() -> bool,
    ) -> Result<Result<Self, LeaseError>, DatabaseError> {
        let owner = match LeaseOwner::of_this_process() {
            Ok(owner) => serde_json::to_string(&owner).unwrap_or_default(),
            Err(error) => return Ok(Err(LeaseError::Owner(error))),
        };
        migrate(&mut connection)?;
        let mut watched: Option<SeenRow> = None;
        loop {
            let seen = seen(&mut connection, &key)?;
            if seen.is_free() {
                if let Some(token) = taken(&mut connection, &seen, &owner, length)? {
                    return Self::kept(connection, key, seen.id, token, length)
                        .map_or_else(|error| Ok(Err(LeaseError::Thread(error))), |held| Ok(Ok(held)));
                }
                watched = None;
                continue;
            }
            let before = watched.get_or_insert(SeenRow { owner: seen.owner.clone(), ..seen });
            if (before.token, before.expires) != (seen.token, seen.expires) || !may_wait() {
                return Ok(Err(LeaseError::Held { owner: seen.shown_owner() }));
            }
        }
    }

    fn kept(
        connection: Connection,
        key: RunKey,
        id: i64,
        token: i64,
        length: Duration,
    ) -> std::io::Result<Self> {
        let is_lost = Arc::new(AtomicBool::new(false));
        let lost = Arc::clone(&is_lost);
        let renew = move |connection: &mut Connection| match renewed(connection, id, token, length) {
            Ok(false) => {
                lost.store(true, Ordering::Relaxed);
                ControlFlow::Break(())
            }
            // A server that does not answer is asked again: only a successor ends the lease.
            _ => ControlFlow::Continue(()),
        };
        let release = move |mut connection: Connection| {
            let free =
                "update checkstone.runs set owner = null, expires_at = null where id = $1 and token = $2";
            // If it cannot be given back, it expires.
            let _ = connection.run(|client| client.execute(free, &[&id, &token]));
        };
        let renewal = Renewal::start(connection.beside(), length / SIGNS, renew, release)?;
        let connection = Mutex::new(connection);
        Ok(Self { key, id, token, length, connection, is_lost, _renewal: renewal })
    }

    /// Whether it was found out already that somebody else has the run. Costs nothing.
    pub fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    pub fn token(&self) -> u64 {
        self.token.unsigned_abs()
    }

    fn with<T>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        work(&mut self.connection.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The owner that has the run instead, if another one has.
    pub fn successor(&self) -> Result<Option<String>, DatabaseError> {
        let seen = self.with(|connection| {
            connection.run(|client| {
                client.query_one(&format!("{LOOK_AT_ROW} where id = $1"), &[&self.id]).map(SeenRow::of)
            })
        })?;
        Ok((seen.token != self.token).then(|| seen.shown_owner()))
    }

    pub fn record(&self) -> Result<Vec<u8>, DatabaseError> {
        self.with(|connection| run_record::record_of(connection, &self.key))
    }

    /// Removes the run with all its events, if it is still in the hands of this process.
    pub fn forget(&self) -> Result<(), DatabaseError> {
        let remove = "delete from checkstone.runs where id = $1 and token = $2";
        self.with(|connection| {
            connection.run(|client| client.execute(remove, &[&self.id, &self.token])).map(drop)
        })
    }

    /// Commits events, all or none; no if the run is no longer in the hands of this process. They are on the server's disk then.
    pub fn commit(&self, events: &[CommittedEvent]) -> Result<bool, DatabaseError> {
        let sequences: Vec<i64> = events.iter().map(|event| signed(event.sequence)).collect();
        let lines: Vec<&str> = events.iter().map(|event| event.line.as_str()).collect();
        let begun: Vec<(i64, &str, i32)> = events
            .iter()
            .filter_map(|event| {
                let (stage, attempt) = event.begun.as_ref()?;
                Some((signed(event.sequence), stage.as_str(), i32::try_from(*attempt).ok()?))
            })
            .collect();
        let begun_at: Vec<i64> = begun.iter().map(|begun| begun.0).collect();
        let stages: Vec<&str> = begun.iter().map(|begun| begun.1).collect();
        let attempts: Vec<i32> = begun.iter().map(|begun| begun.2).collect();
        let length = self.length.as_secs_f64();
        self.with(|connection| {
            connection.run(|client| {
                let statement = "
with held as (
    update checkstone.runs set expires_at = clock_timestamp() + $3 * interval '1 second'
    where id = $1 and token = $2 and owner is not null returning id, token
), added as (
    insert into checkstone.events (run, sequence, token, line)
    select held.id, event.sequence, held.token, event.line
    from held, unnest($4::bigint[], $5::text[]) as event (sequence, line)
    returning sequence
), begun as (
    insert into checkstone.attempts (run, sequence, stage, attempt)
    select held.id, attempt.sequence, attempt.stage, attempt.attempt
    from held, unnest($6::bigint[], $7::text[], $8::integer[]) as attempt (sequence, stage, attempt)
)
select count(*) from added";
                let added = client.query_one(
                    statement,
                    &[&self.id, &self.token, &length, &sequences, &lines, &begun_at, &stages, &attempts],
                );
                match added {
                    Ok(row) => Ok(row.get::<_, i64>(0) == signed(events.len() as u64)),
                    // The answer to the first try was lost: what stands there is ours, or somebody else's.
                    Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => {
                        let query = "select line from checkstone.events
                             where run = $1 and token = $2 and sequence = any($3) order by sequence";
                        let rows = client.query(query, &[&self.id, &self.token, &sequences])?;
                        let there: Vec<&str> = rows.iter().map(|row| row.get(0)).collect();
                        Ok(there == lines)
                    }
                    Err(error) => Err(error),
                }
            })
        })
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn seen(connection: &mut Connection, key: &RunKey) -> Result<SeenRow, DatabaseError> {
    connection.run(|client| {
        let make =
            "insert into checkstone.runs (project, title, run) values ($1, $2, $3) on conflict do nothing";
        client.execute(make, &[&key.project, &key.title, &key.run])?;
        let look = format!("{LOOK_AT_ROW} where project = $1 and title = $2 and run = $3");
        client.query_one(&look, &[&key.project, &key.title, &key.run]).map(SeenRow::of)
    })
}

/// The new token, if nobody was faster. One whose answer was lost expires, and costs a little waiting.
fn taken(
    connection: &mut Connection,
    seen: &SeenRow,
    owner: &str,
    length: Duration,
) -> Result<Option<i64>, DatabaseError> {
    let length = length.as_secs_f64();
    connection.run(|client| {
        let take = "update checkstone.runs
             set token = token + 1, owner = $3, expires_at = clock_timestamp() + $4 * interval '1 second'
             where id = $1 and token = $2 and (owner is null or owner = $5 or expires_at < clock_timestamp())
             returning token";
        let row = client.query_opt(take, &[&seen.id, &seen.token, &owner, &length, &seen.owner])?;
        Ok(row.map(|row| row.get(0)))
    })
}

fn renewed(
    connection: &mut Connection,
    id: i64,
    token: i64,
    length: Duration,
) -> Result<bool, DatabaseError> {
    let length = length.as_secs_f64();
    connection.run(|client| {
        let renew = "update checkstone.runs set expires_at = clock_timestamp() + $3 * interval '1 second'
             where id = $1 and token = $2 and owner is not null";
        Ok(client.execute(renew, &[&id, &token, &length])? == 1)
    })
}
