//! Runs whose record is in a database and whose artifacts are in a bucket: real servers, which are killed on the way.
//!
//! `cargo xtask test` starts them and tells where they are; without them these tests say so and do nothing.

#![cfg(all(feature = "postgres", feature = "s3"))]
#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod bucket_contents;
mod database_record;
mod exchanged_leftovers;
mod expired_credentials;
mod machine;
mod other_hosts;
mod plain_put;
mod project;
mod runs;
mod servers;
mod team;
mod team_page;
mod temporary_credentials;
mod worker;
