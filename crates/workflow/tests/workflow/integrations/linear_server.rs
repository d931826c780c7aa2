//! Linear on loopback, as far as it is relied upon: teams with states of their own names, issues and comments whose ids
//! the client may choose and nobody may choose twice. It behaves as badly as a test wants.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::server::{Asked, Deed, Server, answer};

/// What the server does with one request.
#[derive(Clone, Debug)]
pub(crate) enum Conduct {
    /// As it should.
    Well,
    /// The request is not heeded.
    Instead(Deed),
    /// The request is heeded, and the answer is this.
    Lost(Deed),
}

#[derive(Debug, Default)]
struct Contents {
    issues: Vec<Value>,
    comments: Vec<Value>,
    /// `issue`, `create`, … in their order.
    requests: Vec<String>,
}

pub(crate) struct LinearServer {
    server: Server,
    contents: Arc<Mutex<Contents>>,
}

fn states() -> Value {
    // Neither the names nor the order of the list say anything.
    let state = |id: &str, kind: &str, position: f64| json!({"id": id, "name": format!("Zustand {id}"), "type": kind, "position": position});
    json!({"nodes": [
        state("review", "started", 1002.5), state("done", "completed", 3.0), state("doing", "started", 2.0),
        state("todo", "unstarted", 1.0), state("released", "completed", 4.0), state("later", "backlog", 0.0),
        state("no", "canceled", 5.0),
    ]})
}

fn team() -> Value {
    json!({"id": "team-1", "name": "Basecamp", "key": "BAS", "states": states()})
}

pub(crate) fn graphql_error(status: u16, code: &str, message: &str) -> Deed {
    let error = json!({"message": message, "extensions": {"code": code}});
    answer(status, json!({"errors": [error], "data": null}).to_string())
}

/// As Linear says it: with a code that means anything.
fn not_found(what: &str) -> Deed {
    let extensions = json!({
        "type": "invalid input", "code": "INPUT_ERROR", "statusCode": 400, "userError": true,
        "userPresentableMessage": format!("Could not find referenced {what}."),
    });
    let error = json!({"message": format!("Entity not found: {what}"), "extensions": extensions});
    answer(200, json!({"errors": [error], "data": null}).to_string())
}

impl Contents {
    fn deed(&mut self, kind: &str, variables: &Value) -> Deed {
        let data = |data: Value| answer(200, json!({"data": data}).to_string());
        let input = &variables["input"];
        match kind {
            "teams" => {
                let other = json!({"id": "team-2", "name": "Design", "key": "BASECAMP", "states": states()});
                data(json!({"teams": {"nodes": [other, team()]}}))
            }
            "issue" => match self.issue(&variables["id"]) {
                Some(issue) => data(json!({"issue": issue.clone()})),
                None => not_found("Issue"),
            },
            "create" if self.issue(&input["id"]).is_some() => {
                graphql_error(400, "INVALID_INPUT", "The id is taken")
            }
            "create" => {
                let identifier = format!("BAS-{}", 7 + self.issues.len());
                let issue = json!({
                    "id": input["id"], "identifier": identifier, "title": input["title"], "team": team(),
                    "url": format!("https://linear.app/acme/issue/{identifier}"), "state": states()["nodes"][3],
                });
                self.issues.push(issue.clone());
                data(json!({"issueCreate": {"success": true, "issue": issue}}))
            }
            "move" => {
                let wanted = states()["nodes"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .find(|one| one["id"] == input["stateId"])
                    .cloned();
                match (self.issue(&variables["id"]), wanted) {
                    (Some(issue), Some(state)) => {
                        issue["state"] = state;
                        data(json!({"issueUpdate": {"success": true}}))
                    }
                    _ => not_found("WorkflowState"),
                }
            }
            "comment" if self.comments.iter().any(|comment| comment["id"] == input["id"]) => {
                graphql_error(400, "INVALID_INPUT", "The id is taken")
            }
            "comment" => {
                self.comments.push(input.clone());
                data(
                    json!({"commentCreate": {"success": true, "comment": {"id": input["id"], "url": "https://linear.app/c"}}}),
                )
            }
            "posted" => match self.comments.iter().find(|comment| comment["id"] == variables["id"]) {
                Some(comment) => {
                    data(json!({"comment": {"id": comment["id"], "url": "https://linear.app/c"}}))
                }
                None => not_found("Comment"),
            },
            other => panic!("nobody asks for {other}"),
        }
    }

    fn issue(&mut self, id: &Value) -> Option<&mut Value> {
        self.issues.iter_mut().find(|issue| issue["id"] == *id || issue["identifier"] == *id)
    }
}

fn kind(asked: &Asked) -> &'static str {
    let query = asked.json()["query"].as_str().unwrap().to_owned();
    let signs = [
        ("issueCreate(", "create"),
        ("issueUpdate(", "move"),
        ("commentCreate(", "comment"),
        (" teams(", "teams"),
        (" issue(", "issue"),
        (" comment(", "posted"),
    ];
    signs.iter().find(|(sign, _)| query.contains(sign)).map(|(_, kind)| *kind).unwrap()
}

impl LinearServer {
    pub(crate) fn well_behaved() -> Self {
        Self::new(|_, _| Conduct::Well)
    }

    /// `conduct` is asked with the kind of each request and how many of that kind came before.
    pub(crate) fn new(mut conduct: impl FnMut(&str, usize) -> Conduct + Send + 'static) -> Self {
        let contents = Arc::new(Mutex::new(Contents::default()));
        let shared = Arc::clone(&contents);
        let server = Server::by(move |asked| {
            let (kind, variables) = (kind(asked), asked.json()["variables"].clone());
            let mut contents = shared.lock().unwrap();
            let before = contents.requests.iter().filter(|other| *other == kind).count();
            contents.requests.push(kind.to_owned());
            match conduct(kind, before) {
                Conduct::Well => contents.deed(kind, &variables),
                Conduct::Instead(deed) => deed,
                Conduct::Lost(deed) => {
                    contents.deed(kind, &variables);
                    deed
                }
            }
        });
        Self { server, contents }
    }

    pub(crate) fn url(&self) -> &str {
        &self.server.url
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.server.asked()
    }

    /// The kinds of requests, in their order.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.contents.lock().unwrap().requests.clone()
    }

    /// Every issue as `BAS-7 title: state`.
    pub(crate) fn issues(&self) -> Vec<String> {
        let word = |value: &Value| value.as_str().unwrap().to_owned();
        let issues = &self.contents.lock().unwrap().issues;
        issues
            .iter()
            .map(|one| {
                format!("{} {}: {}", word(&one["identifier"]), word(&one["title"]), word(&one["state"]["id"]))
            })
            .collect()
    }

    pub(crate) fn comments(&self) -> Vec<String> {
        let comments = &self.contents.lock().unwrap().comments;
        comments.iter().map(|comment| comment["body"].as_str().unwrap().to_owned()).collect()
    }

    /// Somebody moves an issue by hand.
    pub(crate) fn set_state(&self, issue: &str, kind: &str) {
        let states = states();
        let state = states["nodes"].as_array().unwrap().iter().find(|state| state["type"] == kind).unwrap();
        self.contents.lock().unwrap().issue(&json!(issue)).unwrap()["state"] = state.clone();
    }

    /// An issue that was there before.
    pub(crate) fn add_issue(&self, identifier: &str, title: &str) {
        let issue = json!({
            "id": format!("uuid-{identifier}"), "identifier": identifier, "title": title, "team": team(),
            "url": format!("https://linear.app/acme/issue/{identifier}"), "state": states()["nodes"][3],
        });
        self.contents.lock().unwrap().issues.push(issue);
    }
}
