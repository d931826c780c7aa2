//! The servers that `cargo xtask test` has started, each test with a database of its own.

use std::process::Command;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bucket::BucketAccess;
use database::{Connection, DatabaseAddress};

/// Those that kill a server are alone.
static SERVERS: RwLock<()> = RwLock::new(());

pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A number for soak runs from the environment, else the small one.
pub(crate) fn count(name: &str, otherwise: u32) -> u32 {
    variable(name).map_or(otherwise, |value| value.parse().unwrap())
}

fn are_there() -> bool {
    let are_there = variable("CHECKSTONE_TEST_CLUSTER").is_some();
    if !are_there {
        println!("no servers: `cargo xtask test` starts them");
    }
    are_there
}

/// The servers, and nobody kills them meanwhile.
pub(crate) fn shared() -> Option<RwLockReadGuard<'static, ()>> {
    are_there().then(|| SERVERS.read().unwrap_or_else(PoisonError::into_inner))
}

/// The servers for one test alone.
pub(crate) fn alone() -> Option<RwLockWriteGuard<'static, ()>> {
    are_there().then(|| SERVERS.write().unwrap_or_else(PoisonError::into_inner))
}

/// Kills a server, and starts it again.
pub(crate) fn crash(part: &str) {
    for deed in ["kill", "up"] {
        let mut command = Command::new(variable("CHECKSTONE_TEST_CLUSTER").unwrap());
        let output = command.args(["cluster", deed, part]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// The address of a database that is new.
pub(crate) fn new_database() -> String {
    let server = variable("CHECKSTONE_DATABASE").unwrap();
    let name = format!("test_{}", files::random_id());
    let mut connection = Connection::open(&server.parse().unwrap()).unwrap();
    connection.run(|client| client.batch_execute(&format!("create database {name}"))).unwrap();
    format!("{}/{name}", server.rsplit_once('/').unwrap().0)
}

pub(crate) fn connection(address: &str) -> Connection {
    let address: DatabaseAddress = address.parse().unwrap();
    Connection::open(&address).unwrap()
}

/// What a command needs to reach the bucket.
pub(crate) fn bucket_variables() -> Vec<(String, String)> {
    std::env::vars().filter(|(name, _)| name.starts_with("AWS_")).collect()
}

pub(crate) fn bucket_access() -> BucketAccess {
    let address = variable("CHECKSTONE_STORE").unwrap().parse().unwrap();
    BucketAccess { address, options: bucket_variables() }
}
