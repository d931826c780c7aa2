//! Documents, and tables of keys.

mod documents;
mod tables;
