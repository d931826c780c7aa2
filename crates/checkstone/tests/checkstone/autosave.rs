//! Autosave through the hook, with real repositories and real remotes: what is saved and when, what is said of it, and
//! what happens where it cannot be.

mod again;
mod background;
mod commands;
mod direct_execution;
mod disks;
mod faults;
#[cfg(target_os = "linux")]
mod kills;
mod merges;
mod occasions;
mod remotes;
mod world;
