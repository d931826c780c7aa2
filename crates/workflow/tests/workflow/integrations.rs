mod branch;
mod linear;
mod linear_server;
mod preview;
mod server;
mod settings;
mod webhook;

use std::time::Duration;

use workflow::integrations::http::{Client, Endpoint, Proxy, Secret};
use workflow::integrations::retry::Retry;
use workflow::integrations::user_settings::Service;

/// The service that a server plays.
fn service(url: &str) -> Service {
    Service {
        endpoint: Endpoint::parse(url).unwrap(),
        token: Secret::new("the-token"),
        project: None,
        team: None,
    }
}

fn client() -> Client {
    Client::new(Proxy::None, jiff::Timestamp::now)
}

/// As in earnest, with pauses that nobody notices.
fn quick() -> Retry {
    Retry {
        attempts: 4,
        first_pause: Duration::from_millis(1),
        longest_pause: Duration::from_millis(4),
        total: Duration::from_secs(20),
        request: Duration::from_secs(5),
    }
}
