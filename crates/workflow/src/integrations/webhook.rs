//! Telling others that a phase or a run is over: one POST to each webhook of the user, signed where there is a secret.
//!
//! The signature is Slack's own scheme: HMAC-SHA256 over `v0:TIMESTAMP:BODY`, so that a receiver can refuse what is
//! forged or old. `Checkstone-Delivery` stays the same when an event is sent again: receivers can drop the second one.

use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::http::{Client, Method, Secret};
use super::retry::{Failed, Retry, ServiceError, successful};
use super::user_settings::{Webhook, WebhookFormat};

const SERVICE: &str = "the webhook";

/// Something that webhooks are told. Plain facts: no file contents, no commands.
pub trait WebhookEvent: Serialize {
    /// Such as `phase.complete`.
    fn name(&self) -> &str;
    /// One line for people.
    fn line(&self) -> String;
    /// What people read below that line.
    fn details(&self) -> Vec<String>;
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PhaseEvent {
    /// `phase.complete`, `phase.failed` or `workflow.complete`.
    pub event: String,
    pub at: String,
    /// The name of the repository's folder.
    pub repository: String,
    pub command: String,
    pub feature: Option<String>,
    pub phase: Option<String>,
    pub status: String,
    pub summary: Option<String>,
    pub error: Option<String>,
    pub head_commit: Option<String>,
    pub branch: Option<String>,
    pub issue: Option<String>,
}

impl WebhookEvent for PhaseEvent {
    fn name(&self) -> &str {
        &self.event
    }

    fn line(&self) -> String {
        let work = match &self.feature {
            Some(feature) => format!("{} {feature}", self.command),
            None => self.command.clone(),
        };
        let what = match &self.phase {
            Some(phase) => format!("{work}: phase {phase} is {}", self.status),
            None => format!("{work} is {}", self.status),
        };
        format!("{}: {what}", self.repository)
    }

    fn details(&self) -> Vec<String> {
        let error = self.error.iter().map(|error| format!("Error: {error}"));
        self.summary.iter().cloned().chain(error).collect()
    }
}

/// Sends the event to one webhook. `now` gives the time of each attempt.
pub fn send(
    client: &Client,
    webhook: &Webhook,
    event: &impl WebhookEvent,
    retry: &Retry,
    now: impl Fn() -> Timestamp,
) -> Result<(), ServiceError> {
    let body = body(webhook.format, event).to_string();
    let delivery = delivery(&body);
    retry.run(|time| attempt(client, webhook, &body, &delivery, now(), time))
}

fn attempt(
    client: &Client,
    webhook: &Webhook,
    body: &str,
    delivery: &str,
    now: Timestamp,
    time: Duration,
) -> Result<(), Failed> {
    let timestamp = now.as_second().to_string();
    let mut headers = vec![
        ("content-type", "application/json"),
        ("checkstone-delivery", delivery),
        ("checkstone-timestamp", timestamp.as_str()),
    ];
    let signature = webhook.secret.as_ref().map(|secret| signature(secret, &timestamp, body.as_bytes()));
    if let Some(signature) = &signature {
        headers.push(("checkstone-signature", signature));
    }
    let answer = client.send(Method::POST, &webhook.endpoint, "", &headers, body.as_bytes(), time)?;
    successful(SERVICE, answer).map(|_| ())
}

/// `v0=` and the hexadecimal HMAC-SHA256 of `v0:TIMESTAMP:BODY`.
pub fn signature(secret: &Secret, timestamp: &str, body: &[u8]) -> String {
    // A key of any length is taken; the error is for other kinds of keys.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.reveal().as_bytes()) else {
        return String::new();
    };
    mac.update(format!("v0:{timestamp}:").as_bytes());
    mac.update(body);
    format!("v0={}", text::hexadecimal(&mac.finalize().into_bytes()))
}

fn body(format: WebhookFormat, event: &impl WebhookEvent) -> Value {
    match format {
        WebhookFormat::Generic => json!({"version": 1, "event": event.name(), "data": event}),
        WebhookFormat::Slack => {
            let mut text = escaped(&event.line());
            for detail in event.details() {
                text.push_str(&format!("\n{}", escaped(text::first_characters(&detail, 1000))));
            }
            json!({"text": text})
        }
    }
}

/// Slack's three control characters: a summary must not mention a channel or hide a link.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn delivery(body: &str) -> String {
    text::head(&text::hexadecimal(&Sha256::digest(body.as_bytes())), 32).to_owned()
}
