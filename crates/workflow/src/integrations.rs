//! Services outside: Linear, Vercel and webhooks. What a repository says about them comes from its integrations file;
//! where anything is sent to, and with which token or secret, comes from the user alone.
//!
//! Only commands call this, never a hook: everything here waits for a network.

pub mod branch;
pub mod http;
pub mod linear;
pub mod preview;
pub mod repository_file;
pub mod retry;
pub mod user_settings;
pub mod webhook;
