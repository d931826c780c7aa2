//! A PostgreSQL server that runs are kept on, and what a team does: connection, migrations, who has which run in hand, and what machines
//! send. Blocking, and only in commands; no password is ever part of a message.

mod address;
mod connection;
mod held_run;
mod migration;
mod run_record;
mod team_event;
mod team_log;
mod team_look;
mod team_schema;

pub use address::{AddressError, DatabaseAddress};
pub use connection::{Connection, DatabaseError, ServerWords};
pub use held_run::{CommittedEvent, HeldRun, RunKey};
pub use migration::{MIGRATIONS, Migration, MigrationError, applied, migrate, migrate_to, script};
pub use run_record::{RecordedRun, ServerClock, clock, forget_runs, record_of, recorded_run, runs_of};
pub use team_event::{TeamEvent, TeamVerdict};
pub use team_log::{TeamMachine, TeamMachineId, introduce, send};
pub use team_look::{TeamClock, TeamConflict, TeamLook, TeamSession, TeamWeek, look, newest};
pub use team_schema::{RoleError, partitions, team_schema};
