//! A comment on a Linear issue.
//!
//! Relied upon: one GraphQL endpoint that takes `{query, variables}`; `issue(id)` by identifier, with `id`, `identifier`
//! and `team { name key }`; `commentCreate(input: {id, issueId, body})` with `success` and `comment { id url }`;
//! `comment(id)`; errors as `errors[].message` and `errors[].extensions.code`, of which `RATELIMITED`,
//! `AUTHENTICATION_ERROR` and `ENTITY_NOT_FOUND` are known.

use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::branch::IssueId;
use super::http::{Client, Method};
use super::retry::{Failed, Retry, Says, ServiceError, successful};
use super::user_settings::Service;

const SERVICE: &str = "Linear";

const ISSUE: &str = "query Issue($id: String!) { issue(id: $id) { id identifier team { name key } } }";
const CREATE: &str = "mutation Comment($input: CommentCreateInput!) \
                      { commentCreate(input: $input) { success comment { id url } } }";
const COMMENT: &str = "query Posted($id: String!) { comment(id: $id) { id url } }";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    pub url: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinearError {
    #[error(transparent)]
    Service(#[from] ServiceError),
    #[error(
        "{issue} belongs to the team {found}, not to {expected} as the repository says; nothing was sent"
    )]
    OtherTeam { issue: String, found: String, expected: String },
}

/// Posts `body` on the issue. `occasion` tells apart two equal comments that are both meant: with the same issue, text
/// and occasion there is never a second comment, however often it is tried.
pub fn comment(
    client: &Client,
    service: &Service,
    team: Option<&str>,
    issue: &IssueId,
    body: &str,
    occasion: &str,
    retry: &Retry,
) -> Result<Posted, LinearError> {
    let known = retry.run(|time| {
        let data = ask(client, service, ISSUE, json!({"id": issue.as_str()}), time)?;
        let text = |place: &str| data.pointer(place).and_then(Value::as_str).map(str::to_owned);
        match text("/issue/id") {
            Some(id) => Ok((id, text("/issue/team/name"), text("/issue/team/key"))),
            None => Err(unknown_issue(issue)),
        }
    })?;
    let (issue_id, team_name, team_key) = known;
    if let (Some(expected), Some(found)) = (team, &team_name) {
        let is_it = |name: &str| name.eq_ignore_ascii_case(expected);
        if !is_it(found) && !team_key.as_deref().is_some_and(is_it) {
            return Err(LinearError::OtherTeam {
                issue: issue.to_string(),
                found: found.clone(),
                expected: expected.to_owned(),
            });
        }
    }
    let id = comment_id(&issue_id, body, occasion);
    let input = json!({"input": {"id": id, "issueId": issue_id, "body": body}});
    let mut unsure = false;
    let posted = retry.run(|time| {
        let created = ask(client, service, CREATE, input.clone(), time).and_then(|data| {
            match data.pointer("/commentCreate/success").and_then(Value::as_bool) {
                Some(true) => Ok(posted(&data, "/commentCreate/comment")),
                _ => Err(Failed::for_now(ServiceError::NotUnderstood { service: SERVICE })),
            }
        });
        match created {
            // An earlier attempt may have arrived though no answer did; the id is then taken.
            Err(failed) if unsure => {
                let there = ask(client, service, COMMENT, json!({"id": id}), time);
                match there {
                    Ok(data) if data.pointer("/comment/id").is_some_and(Value::is_string) => {
                        Ok(posted(&data, "/comment"))
                    }
                    _ => Err(failed),
                }
            }
            other => {
                unsure = other.is_err();
                other
            }
        }
    })?;
    Ok(posted)
}

fn posted(data: &Value, place: &str) -> Posted {
    let url = data.pointer(&format!("{place}/url")).and_then(Value::as_str).map(str::to_owned);
    Posted { url }
}

fn unknown_issue(issue: &IssueId) -> Failed {
    let says = Says(Some(format!("there is no issue {issue}")));
    Failed::for_good(ServiceError::NotFound { service: SERVICE, says })
}

fn ask(
    client: &Client,
    service: &Service,
    query: &str,
    variables: Value,
    time: Duration,
) -> Result<Value, Failed> {
    let authorization = authorization(service.token.reveal());
    let headers = [("authorization", authorization.as_str()), ("content-type", "application/json")];
    let body = json!({"query": query, "variables": variables}).to_string();
    let answer = client.send(Method::POST, &service.endpoint, "", &headers, body.as_bytes(), time)?;
    // Errors of GraphQL come with several statuses; what they say counts more.
    let (status, retry_after) = (answer.status, answer.retry_after);
    let parsed: Option<Value> = serde_json::from_slice(&answer.body).ok();
    if let Some(error) = parsed.as_ref().and_then(|value| value.pointer("/errors/0")) {
        let mut failed = meaning(error, status);
        if let (Some(asked), true) = (retry_after, failed.again != super::retry::Again::Never) {
            failed.again = super::retry::Again::After(asked);
        }
        return Err(failed);
    }
    successful(SERVICE, answer)?;
    match parsed.and_then(|mut value| value.get_mut("data").map(Value::take)) {
        Some(data @ Value::Object(_)) => Ok(data),
        _ => Err(Failed::for_now(ServiceError::NotUnderstood { service: SERVICE })),
    }
}

/// Personal keys stand alone; the tokens of applications are bearer tokens.
fn authorization(token: &str) -> String {
    if token.starts_with("lin_oauth_") { format!("Bearer {token}") } else { token.to_owned() }
}

fn meaning(error: &Value, status: u16) -> Failed {
    let code = error.pointer("/extensions/code").and_then(Value::as_str).unwrap_or_default();
    let message =
        error.get("message").and_then(Value::as_str).map(|text| text::first_characters(text, 200).to_owned());
    let says = Says(message);
    match code {
        "RATELIMITED" => Failed::for_now(ServiceError::TooOften { service: SERVICE, status }),
        "AUTHENTICATION_ERROR" | "FORBIDDEN" => {
            Failed::for_good(ServiceError::Refused { service: SERVICE, status })
        }
        "ENTITY_NOT_FOUND" => Failed::for_good(ServiceError::NotFound { service: SERVICE, says }),
        _ => match status {
            401 | 403 => Failed::for_good(ServiceError::Refused { service: SERVICE, status }),
            429 => Failed::for_now(ServiceError::TooOften { service: SERVICE, status }),
            500..=599 => Failed::for_now(ServiceError::Trouble { service: SERVICE, status }),
            _ => Failed::for_good(ServiceError::Unexpected { service: SERVICE, status, says }),
        },
    }
}

/// A UUID (version 4 by its form, as Linear asks for) that the same comment always has.
fn comment_id(issue: &str, body: &str, occasion: &str) -> String {
    let mut hash = Sha256::new();
    for part in [issue, body, occasion] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let hex = text::hexadecimal(&hash.finalize());
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!("{}-{}-4{}-a{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}
