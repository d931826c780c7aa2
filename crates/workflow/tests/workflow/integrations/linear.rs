use std::sync::{Arc, Mutex};

use serde_json::json;
use workflow::integrations::branch::IssueId;
use workflow::integrations::http::Secret;
use workflow::integrations::linear::{LinearError, Posted, comment};
use workflow::integrations::user_settings::Service;

use super::server::{Asked, Deed, Server, answer, nobody};
use super::{client, quick, service};

fn issue_found() -> Deed {
    answer(
        200,
        json!({"data": {"issue": {"id": "uuid-6", "identifier": "BAS-6", "team": {"name": "Basecamp", "key": "BAS"}}}})
            .to_string(),
    )
}

fn created() -> Deed {
    let comment = json!({"id": "c", "url": "https://linear.app/acme/issue/BAS-6#comment-1"});
    answer(200, json!({"data": {"commentCreate": {"success": true, "comment": comment}}}).to_string())
}

fn graphql_error(status: u16, code: &str) -> Deed {
    let error = json!({"message": "It is so", "extensions": {"code": code}});
    answer(status, json!({"errors": [error], "data": null}).to_string())
}

fn posted(at: &Service) -> Result<Posted, LinearError> {
    let issue = IssueId::parse("bas-6").unwrap();
    comment(&client(), at, Some("Basecamp"), &issue, "Phase research is complete.", "save-1", &quick())
}

fn is_mutation(asked: &Asked) -> bool {
    asked.body.contains("commentCreate")
}

#[test]
fn a_comment_is_posted_on_the_issue() {
    let server = Server::new(vec![issue_found(), created()]);
    let posted = posted(&service(&server.url)).unwrap();
    assert_eq!(posted.url.as_deref(), Some("https://linear.app/acme/issue/BAS-6#comment-1"));
    let asked = server.asked();
    assert_eq!(asked[0].header("authorization"), Some("the-token"), "a personal key stands alone");
    assert_eq!(asked[0].json()["variables"], json!({"id": "BAS-6"}));
    let input = &asked[1].json()["variables"]["input"];
    assert_eq!(
        (&input["issueId"], &input["body"]),
        (&json!("uuid-6"), &json!("Phase research is complete."))
    );
    let id = input["id"].as_str().unwrap();
    assert_eq!((id.len(), id.as_bytes()[14], id.as_bytes()[19]), (36, b'4', b'a'), "{id}");
}

#[test]
fn the_token_of_an_application_is_a_bearer_token() {
    let server = Server::new(vec![issue_found(), created()]);
    let application = Service { token: Secret::new("lin_oauth_x"), ..service(&server.url) };
    posted(&application).unwrap();
    assert_eq!(server.asked()[0].header("authorization"), Some("Bearer lin_oauth_x"));
}

/// A connection that breaks after the comment has arrived does not make a second one.
#[test]
fn a_comment_that_arrived_unanswered_is_not_posted_twice() {
    let ids = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&ids);
    let server = Server::by(move |asked| {
        if asked.body.contains("query Issue") {
            return issue_found();
        }
        if is_mutation(asked) {
            let id = asked.json()["variables"]["input"]["id"].as_str().unwrap().to_owned();
            let mut ids = seen.lock().unwrap();
            ids.push(id);
            // The first one arrives, and its answer does not; the second has an id that is taken.
            return if ids.len() == 1 { Deed::Closed } else { graphql_error(400, "INVALID_INPUT") };
        }
        let comment = json!({"id": "c", "url": "https://linear.app/c"});
        answer(200, json!({"data": {"comment": comment}}).to_string())
    });
    let posted = posted(&service(&server.url)).unwrap();
    assert_eq!(posted.url.as_deref(), Some("https://linear.app/c"));
    let ids = ids.lock().unwrap();
    assert_eq!((ids.len(), &ids[0]), (2, &ids[1]), "every attempt has the same id");
}

#[test]
fn another_team_gets_no_comment() {
    let server = Server::new(vec![issue_found(), created()]);
    let issue = IssueId::parse("BAS-6").unwrap();
    let error =
        comment(&client(), &service(&server.url), Some("Design"), &issue, "x", "1", &quick()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "BAS-6 belongs to the team Basecamp, not to Design as the repository says; nothing was sent"
    );
    assert!(!server.asked().iter().any(is_mutation));
    // By its key the team is the same.
    let server = Server::new(vec![issue_found(), created()]);
    comment(&client(), &service(&server.url), Some("bas"), &issue, "x", "1", &quick()).unwrap();
}

#[test]
fn errors_of_graphql_are_understood_whatever_their_status() {
    for (deed, message, times) in [
        (graphql_error(401, "AUTHENTICATION_ERROR"), "Linear does not accept the token (HTTP 401)", 1),
        (graphql_error(200, "AUTHENTICATION_ERROR"), "Linear does not accept the token (HTTP 200)", 1),
        (graphql_error(400, "RATELIMITED"), "Linear was asked too often (HTTP 400)", 4),
        (graphql_error(400, "ENTITY_NOT_FOUND"), "Linear does not know what was asked for: It is so", 1),
        (graphql_error(400, "INVALID_INPUT"), "Linear answered with HTTP 400: It is so", 1),
        (answer(429, "{}"), "Linear was asked too often (HTTP 429)", 4),
        (answer(500, "oops"), "Linear has trouble of its own (HTTP 500)", 4),
        (answer(200, "<html>"), "what Linear answered was not understood", 4),
        (answer(200, "{}"), "what Linear answered was not understood", 4),
        (
            answer(200, r#"{"data": {"issue": null}}"#),
            "Linear does not know what was asked for: there is no issue BAS-6",
            1,
        ),
        (answer(404, "Not found"), "Linear does not know what was asked for: Not found", 1),
    ] {
        let server = Server::new(vec![deed]);
        assert_eq!(posted(&service(&server.url)).unwrap_err().to_string(), message);
        assert_eq!(server.asked().len(), times, "{message}");
    }
}

#[test]
fn a_rate_limit_that_passes_is_waited_for() {
    let server =
        Server::new(vec![graphql_error(400, "RATELIMITED"), issue_found(), answer(502, ""), created()]);
    // The second attempt of the comment looks for the first one only where it failed as well.
    assert!(posted(&service(&server.url)).is_ok());
}

#[test]
fn without_a_network_there_is_one_sentence() {
    let error = posted(&service(&nobody())).unwrap_err().to_string();
    assert!(error.ends_with("cannot be reached: the connection was refused"), "{error}");
}
