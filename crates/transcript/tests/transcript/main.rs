//! What the real clients write, read right: snapshots of real samples, the cases that broke others, and
//! properties that hold for any bytes.

mod bad_input;
mod cases;
mod properties;
mod samples;
mod write;
