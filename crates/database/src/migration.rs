//! The tables of the database, as steps that can be taken forwards and back. What was done stands in the database itself, with
//! the text of every step, so that a program never works on tables that it does not know.

use postgres::{Client, Transaction};

use crate::{Connection, DatabaseError};

/// Two programs at once take the steps one after the other.
const LOCK: i64 = 0x6368_6563_6b73;

/// Where it stands which steps were taken.
const FOUNDATION: &str = "create schema if not exists checkstone;
create table if not exists checkstone.migrations (
    number integer primary key,
    name text not null,
    script text not null,
    applied_at timestamptz not null default now()
);
";

#[derive(Debug, PartialEq, Eq)]
pub struct Migration {
    pub name: &'static str,
    up: &'static str,
    down: &'static str,
}

/// In their order; the number of a step is its place, from 1 on. A step that was once handed out is never changed: a new one
/// follows.
pub const MIGRATIONS: &[Migration] = &[
    Migration {
        name: "runs, events and attempts",
        up: "
create table checkstone.runs (
    id bigint generated always as identity primary key,
    project text not null,
    title text not null,
    run text not null,
    token bigint not null default 0,
    owner text,
    expires_at timestamptz,
    created_at timestamptz not null default now(),
    unique (project, title, run),
    check ((owner is null) = (expires_at is null))
);
create table checkstone.events (
    run bigint not null references checkstone.runs on delete cascade,
    sequence bigint not null check (sequence > 0),
    token bigint not null,
    line text not null,
    recorded_at timestamptz not null default now(),
    primary key (run, sequence)
);
create table checkstone.attempts (
    run bigint not null,
    sequence bigint not null,
    stage text not null,
    attempt integer not null check (attempt > 0),
    primary key (run, stage, attempt),
    unique (run, sequence),
    foreign key (run, sequence) references checkstone.events on delete cascade
);
",
        down: "
drop table checkstone.attempts;
drop table checkstone.events;
drop table checkstone.runs;
",
    },
    Migration {
        name: "machines and events of a team",
        up: include_str!("migration/team_up.sql"),
        down: include_str!("migration/team_down.sql"),
    },
];

#[derive(Debug, thiserror::Error)]
pub enum MigrationError {
    #[error(
        "the database was set up by a newer version of checkstone (step {found}; this one knows {known})"
    )]
    Newer { found: usize, known: usize },
    #[error("step {number} of the database, `{name}`, is not the one that this version knows")]
    Changed { number: usize, name: String },
    #[error("there is no step {number} of the database; the last is {known}")]
    NoSuch { number: usize, known: usize },
}

impl MigrationError {
    /// What a person can do about it.
    pub(crate) fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Newer { .. } => Some("update checkstone"),
            Self::Changed { .. } | Self::NoSuch { .. } => None,
        }
    }
}

/// Takes all steps that were not taken yet.
pub fn migrate(connection: &mut Connection) -> Result<(), DatabaseError> {
    // Mostly nothing is to be done, and then nobody is locked out.
    if applied(connection)? == MIGRATIONS.len() {
        return Ok(());
    }
    migrate_to(connection, MIGRATIONS.len())
}

/// Goes forwards or back until so many steps are taken: all of them or none.
pub fn migrate_to(connection: &mut Connection, number: usize) -> Result<(), DatabaseError> {
    if number > MIGRATIONS.len() {
        return Err(MigrationError::NoSuch { number, known: MIGRATIONS.len() }.into());
    }
    let stepped = connection.run(|client| {
        let mut transaction = client.transaction()?;
        transaction.execute("select pg_advisory_xact_lock($1)", &[&LOCK])?;
        transaction.batch_execute(FOUNDATION)?;
        let taken = match known_steps(&mut transaction)? {
            Ok(taken) => taken,
            Err(error) => return Ok(Err(error)),
        };
        for (place, migration) in MIGRATIONS.iter().enumerate().take(number).skip(taken) {
            transaction.batch_execute(migration.up)?;
            let row: (i32, &str, &str) =
                (i32::try_from(place + 1).unwrap_or(i32::MAX), migration.name, migration.up);
            let add = "insert into checkstone.migrations (number, name, script) values ($1, $2, $3)";
            transaction.execute(add, &[&row.0, &row.1, &row.2])?;
        }
        for (place, migration) in MIGRATIONS.iter().enumerate().take(taken).skip(number).rev() {
            transaction.batch_execute(migration.down)?;
            let step = i32::try_from(place + 1).unwrap_or(i32::MAX);
            transaction.execute("delete from checkstone.migrations where number = $1", &[&step])?;
        }
        transaction.commit().map(Ok)
    })?;
    Ok(stepped?)
}

/// How many steps the database has taken; an error if one of them is not known here.
pub fn applied(connection: &mut Connection) -> Result<usize, DatabaseError> {
    let steps = connection.run(|client: &mut Client| {
        let there = client.query_one("select to_regclass('checkstone.migrations') is not null", &[])?;
        if !there.get::<_, bool>(0) {
            return Ok(Ok(0));
        }
        let mut transaction = client.transaction()?;
        known_steps(&mut transaction)
    })?;
    Ok(steps?)
}

fn known_steps(transaction: &mut Transaction<'_>) -> Result<Result<usize, MigrationError>, postgres::Error> {
    let rows = transaction.query("select name, script from checkstone.migrations order by number", &[])?;
    if rows.len() > MIGRATIONS.len() {
        return Ok(Err(MigrationError::Newer { found: rows.len(), known: MIGRATIONS.len() }));
    }
    for (place, (row, migration)) in rows.iter().zip(MIGRATIONS).enumerate() {
        let (name, script): (String, String) = (row.get(0), row.get(1));
        if name != migration.name || script != migration.up {
            return Ok(Err(MigrationError::Changed { number: place + 1, name }));
        }
    }
    Ok(Ok(rows.len()))
}

/// All steps as one script for `psql`, which takes those that were not taken yet: for an administrator, where the roles of the program may
/// not make tables.
pub fn script() -> String {
    let mut script = format!("begin;\n{FOUNDATION}");
    for (place, migration) in MIGRATIONS.iter().enumerate() {
        let (number, name, up) = (place + 1, migration.name, migration.up);
        script.push_str(&format!(
            "do $checkstone$ begin
if not exists (select from checkstone.migrations where number = {number}) then
execute $step${up}$step$;
insert into checkstone.migrations (number, name, script) values ({number}, $step${name}$step$, $step${up}$step$);
end if; end $checkstone$;\n"
        ));
    }
    script + "commit;\n"
}
