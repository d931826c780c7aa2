//! A PostgreSQL server that runs are kept on: connection, migrations, and who has which run in hand. Blocking, and only in
//! commands; no password is ever part of a message.

mod address;
mod connection;
mod held_run;
mod migration;
mod run_record;

pub use address::{AddressError, DatabaseAddress};
pub use connection::{Connection, DatabaseError};
pub use held_run::{CommittedEvent, HeldRun, RunKey};
pub use migration::{MIGRATIONS, Migration, MigrationError, applied, migrate, migrate_to};
pub use run_record::{ServerClock, clock, forget_runs, record_of, runs_of};
