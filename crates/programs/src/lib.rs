//! What commands mean: from a command line to the programs that it would run and what each of them does.
//!
#![doc = include_str!("../README.md")]

mod meaning;
pub mod repository;
mod selection;
pub mod shell;
mod table;
mod test_file;

pub use table::Deed;
pub use test_file::is_test_file;
