//! Reads the TOML files that people write: the policy, the user's own configuration, the plan of a run. Pure: texts come
//! in, values and mistakes go out, each with its line and column.

mod document;
mod lines;

pub use document::{Document, Key, SyntaxError, Table, Value};
pub use lines::Lines;
