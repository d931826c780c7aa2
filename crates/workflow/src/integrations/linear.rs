//! Linear, through its GraphQL API: issues are created once, commented on once, and moved through the states of their
//! own team.
//!
//! Relied upon: one endpoint that takes `{query, variables}`; `issue(id)` by UUID or identifier, `teams(filter)`,
//! `issueCreate` and `commentCreate` with an `id` that the caller chose, `issueUpdate(id, input: {stateId})`;
//! `WorkflowState` with `type` and `position`; errors as `errors[].message` and `errors[].extensions` with `code`, `type`
//! and `userPresentableMessage`.

mod comment;
mod issue;
mod team;

use std::time::Duration;

use serde_json::{Value, json};

use super::branch::IssueId;
use super::http::{Client, Method};
use super::retry::{Again, Failed, Retry, Says, ServiceError, successful};
use super::user_settings::Service;

pub use issue::{Issue, IssueNews, IssueProgress, IssueStanding, NewIssue};
pub use team::{Team, TeamState};

const SERVICE: &str = "Linear";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinearError {
    #[error(transparent)]
    Service(#[from] ServiceError),
    #[error(
        "{issue} belongs to the team {found}, not to {expected} as the repository says; nothing was sent"
    )]
    OtherTeam { issue: String, found: String, expected: String },
    #[error("Linear has no team with the name or key `{team}`")]
    NoTeam { team: String },
    #[error("the team {team} has no state of the type `{kind}`")]
    NoState { team: String, kind: &'static str },
}

/// One user's access to it.
#[derive(Clone, Copy, Debug)]
pub struct Linear<'a> {
    pub client: &'a Client,
    pub service: &'a Service,
    pub retry: &'a Retry,
}

impl Linear<'_> {
    /// Makes something that has an id of ours, so that there is never a second one: whatever an attempt came to, the
    /// next one looks first. `unsure` says that somebody may have tried before.
    fn once<T>(
        &self,
        mut unsure: bool,
        look: impl Fn(Duration) -> Result<Option<T>, Failed>,
        create: impl Fn(Duration) -> Result<T, Failed>,
    ) -> Result<T, ServiceError> {
        self.retry.run(|time| {
            if unsure && let Some(there) = look(time)? {
                return Ok(there);
            }
            create(time).or_else(|failed| {
                unsure = true;
                // Refused, perhaps because somebody else was faster with the same id.
                match failed.again {
                    Again::Never => look(time).ok().flatten().ok_or(failed),
                    _ => Err(failed),
                }
            })
        })
    }

    fn ask(&self, query: &str, variables: &Value, time: Duration) -> Result<Value, Failed> {
        let authorization = authorization(self.service.token.reveal());
        let headers = [("authorization", authorization.as_str()), ("content-type", "application/json")];
        let body = json!({"query": query, "variables": variables}).to_string();
        let endpoint = &self.service.endpoint;
        let answer = self.client.send(Method::POST, endpoint, "", &headers, body.as_bytes(), time)?;
        // Errors of GraphQL come with several statuses; what they say counts more.
        let parsed: Option<Value> = serde_json::from_slice(&answer.body).ok();
        if let Some(error) = parsed.as_ref().and_then(|value| value.pointer("/errors/0")) {
            let mut failed = meaning(error, answer.status);
            if let (Some(asked), true) = (answer.retry_after, failed.again != Again::Never) {
                failed.again = Again::After(asked);
            }
            return Err(failed);
        }
        successful(SERVICE, answer)?;
        match parsed.and_then(|mut value| value.get_mut("data").map(Value::take)) {
            Some(data @ Value::Object(_)) => Ok(data),
            _ => Err(not_understood()),
        }
    }
}

/// `None` if Linear says that there is no such thing.
fn if_there<T>(found: Result<Option<T>, Failed>) -> Result<Option<T>, Failed> {
    match found {
        Err(Failed { error: ServiceError::NotFound { .. }, .. }) => Ok(None),
        other => other,
    }
}

fn not_understood() -> Failed {
    Failed::for_now(ServiceError::NotUnderstood { service: SERVICE })
}

fn unknown_issue(issue: &IssueId) -> Failed {
    let says = Says(Some(format!("there is no issue {issue}")));
    Failed::for_good(ServiceError::NotFound { service: SERVICE, says })
}

/// Personal keys stand alone; the tokens of applications are bearer tokens.
fn authorization(token: &str) -> String {
    if token.starts_with("lin_oauth_") { format!("Bearer {token}") } else { token.to_owned() }
}

fn meaning(error: &Value, status: u16) -> Failed {
    let text = |place: &str| error.pointer(place).and_then(Value::as_str).unwrap_or_default();
    let (code, message, for_people) =
        (text("/extensions/code"), text("/message"), text("/extensions/userPresentableMessage"));
    let words = if for_people.is_empty() { message } else { for_people };
    let says = Says(Some(text::first_characters(words, 200).to_owned()).filter(|words| !words.is_empty()));
    // What is missing has the code of any wrong input, and is told by its words alone.
    let is_missing = code == "ENTITY_NOT_FOUND"
        || message.starts_with("Entity not found")
        || for_people.starts_with("Could not find referenced");
    match code {
        _ if is_missing => Failed::for_good(ServiceError::NotFound { service: SERVICE, says }),
        "RATELIMITED" => Failed::for_now(ServiceError::TooOften { service: SERVICE, status }),
        "AUTHENTICATION_ERROR" | "FORBIDDEN" => {
            Failed::for_good(ServiceError::Refused { service: SERVICE, status })
        }
        "INTERNAL_SERVER_ERROR" | "LOCK_TIMEOUT" => {
            Failed::for_now(ServiceError::Trouble { service: SERVICE, status })
        }
        _ => match status {
            401 | 403 => Failed::for_good(ServiceError::Refused { service: SERVICE, status }),
            429 => Failed::for_now(ServiceError::TooOften { service: SERVICE, status }),
            500..=599 => Failed::for_now(ServiceError::Trouble { service: SERVICE, status }),
            _ => Failed::for_good(ServiceError::Unexpected { service: SERVICE, status, says }),
        },
    }
}

/// A UUID (version 4 by its form, as Linear asks for) of at least 32 hexadecimal digits.
pub fn uuid(hexadecimal: &str) -> String {
    let part = |from: usize, to: usize| hexadecimal.get(from..to).unwrap_or_default();
    format!("{}-{}-4{}-a{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}
