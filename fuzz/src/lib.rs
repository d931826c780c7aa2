//! What must hold for any bytes, one module for each thing that reads them.

pub mod edit;
pub mod marker;
pub mod output;
pub mod payload;
pub mod policy;
pub mod repository;
pub mod transcripts;
