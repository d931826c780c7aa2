//! Change sets against real git. Each module is one group of facts; `sandbox` is the repository they play in.

mod cases;
mod failures;
mod history;
mod ignored;
mod random;
mod repositories;
mod sandbox;
mod scopes;
mod stored;
