//! The server as a client meets it, over real sockets; and what people are told whose scenario is wrong. That the
//! real clients understand it is shown by the end-to-end tests of the program.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod apis;
mod client;
mod limits;
mod program;
mod scenarios;
mod service;
