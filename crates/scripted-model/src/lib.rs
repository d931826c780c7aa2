//! A model server on loopback that plays a scenario to the real clients. It speaks their streaming
//! APIs, tells them apart by the path that they ask for, and keeps every request, so that a
//! test can say what the model would have received.
//!
//! A scenario names deeds, not tools: the same file plays in every client, in the words of its own tools.

mod api;
mod client;
mod http;
mod scenario;
mod screen;
mod server;

pub use api::Api;
pub use client::{Client, ClientForm, ClientProgram, ClientWay, Installed, McpToolNames, Run, form};
pub use scenario::{Call, Conversation, Failure, Scenario, ScenarioError, Step};
pub use screen::Screen;
pub use server::{Request, Server, ServerError, Settings};
