//! Reads the TOML files that people write: the policy, the user's own configuration, the plan of a run. Pure: texts come
//! in, values and mistakes go out, each with its line and column. What keys there are is said once, in a [`table!`].

mod changed_keys;
mod document;
mod kind;
mod lines;
mod problem;
mod reader;
mod table;

pub use changed_keys::changed_keys;
pub use document::{Document, Key, Table, Value};
pub use kind::{
    Boolean, Choice, Choices, Filled, Kind, List, Name, Names, Nested, OneOrMore, Pairs, Placed, Seconds,
    Text, Time, TimeLimit, Whole,
};
pub use lines::Lines;
pub use problem::{At, Place, Problem, Problems};
pub use reader::{Entry, Quoting, Reader};
pub use table::{KeyReference, Shape, TableOfKeys, TableReference, merge_key, read_table};
