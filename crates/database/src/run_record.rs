//! What the database has of runs, for those who read.

use crate::{Connection, DatabaseError, RunKey};

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

/// The runs of a project that have begun, the newest first.
pub fn runs_of(connection: &mut Connection, project: &str) -> Result<Vec<RunKey>, DatabaseError> {
    let rows = connection.run(|client| {
        let query = "select title, run from checkstone.runs
             where project = $1 and exists (select 1 from checkstone.events where events.run = runs.id)
             order by id desc";
        client.query(query, &[&project])
    })?;
    let key = |row: &postgres::Row| RunKey { project: project.to_owned(), title: row.get(0), run: row.get(1) };
    Ok(rows.iter().map(key).collect())
}
