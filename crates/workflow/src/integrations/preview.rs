//! Waiting for the preview deployment that Vercel makes of a commit.
//!
//! Relied upon: `GET /v6/deployments` with `sha`, `projectId`, `teamId` or `slug`, and `limit`; of each deployment `uid`,
//! `name`, `projectId`, `url`, `readyState` (or `state`), `createdAt` (or `created`), `target`, `inspectorUrl`,
//! `errorMessage`, and in `meta` the commit that the git host gave.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use files::{Links, regular_file};
use serde::Deserialize;

use super::http::{Client, Method};
use super::retry::{Again, Failed, Retry, ServiceError, successful};
use super::user_settings::Service;

const SERVICE: &str = "Vercel";

#[derive(Clone, Copy, Debug)]
pub struct Wait {
    pub timeout: Duration,
    /// Between two looks.
    pub pause: Duration,
    /// For a look that fails; its `total` never goes beyond the timeout.
    pub retry: Retry,
}

impl Wait {
    pub fn until(timeout: Duration) -> Self {
        // Whoever waits for minutes can also wait for a network that is gone for one.
        let retry = Retry { attempts: 8, total: Duration::from_secs(60), ..Retry::default() };
        Self { timeout, pause: Duration::from_secs(5), retry }
    }
}

/// How the waiting ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Preview {
    /// Every project's deployment of the commit is ready; where they can be seen.
    Ready { urls: Vec<String> },
    /// A deployment of the commit failed.
    Failed { why: String },
    /// The time was over; what was seen last.
    TimedOut { last: String },
    /// Vercel could not be asked.
    Unavailable { reason: String },
}

impl Preview {
    /// What stands in the way of shipping; `None` if the preview is ready.
    pub fn trouble(&self) -> Option<String> {
        match self {
            Self::Ready { .. } => None,
            Self::Failed { why } => Some(format!("The preview deployment failed: {why}")),
            Self::TimedOut { last } => Some(format!("The preview deployment was not ready in time: {last}")),
            Self::Unavailable { reason } => {
                Some(format!("The state of the preview deployment is unknown: {reason}"))
            }
        }
    }
}

/// The project that Vercel's own program linked the repository to, where it did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LinkedProject {
    pub project_id: Option<String>,
    pub org_id: Option<String>,
}

impl LinkedProject {
    /// Reads `.vercel/project.json`. These are names, not addresses: they only say what is asked for.
    pub fn read(root: &Path) -> Self {
        let text = regular_file::read(&root.join(".vercel/project.json"), Links::Refuse, 64 * 1024);
        text.ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }
}

#[derive(Debug, Deserialize)]
struct Deployments {
    deployments: Vec<Deployment>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Deployment {
    uid: String,
    name: Option<String>,
    project_id: Option<String>,
    url: Option<String>,
    ready_state: Option<String>,
    state: Option<String>,
    created_at: Option<f64>,
    created: Option<f64>,
    target: Option<String>,
    inspector_url: Option<String>,
    error_message: Option<String>,
    #[serde(default)]
    meta: BTreeMap<String, serde_json::Value>,
}

impl Deployment {
    fn state(&self) -> &str {
        self.ready_state.as_deref().or(self.state.as_deref()).unwrap_or("UNKNOWN")
    }

    fn created(&self) -> f64 {
        self.created_at.or(self.created).unwrap_or(0.0)
    }

    fn project(&self) -> &str {
        self.project_id.as_deref().or(self.name.as_deref()).unwrap_or(&self.uid)
    }

    fn shown_project(&self) -> &str {
        self.name.as_deref().unwrap_or_else(|| self.project())
    }

    /// A preview of the commit, by what the git host said; a deployment without such words was asked for by the
    /// commit, and is believed.
    fn is_preview_of(&self, commit: &str) -> bool {
        let commits = ["githubCommitSha", "gitlabCommitSha", "bitbucketCommitSha", "gitCommitSha"];
        let other = commits
            .iter()
            .filter_map(|name| self.meta.get(*name)?.as_str())
            .any(|deployed| !deployed.eq_ignore_ascii_case(commit));
        !other && self.target.as_deref() != Some("production")
    }
}

/// Waits until the previews of `commit` are ready or one has failed, or until the time is over. `tell` hears what is
/// waited for whenever that changes.
pub fn wait(
    client: &Client,
    service: &Service,
    linked: &LinkedProject,
    commit: &str,
    wait: &Wait,
    mut tell: impl FnMut(&str),
) -> Preview {
    let end = Instant::now() + wait.timeout;
    let path = path(service, linked, commit);
    let mut last = String::new();
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let retry = Retry { total: wait.retry.total.min(left), ..wait.retry };
        let seen = match retry.run(|time| look(client, service, &path, time)) {
            Ok(deployments) => seen(&deployments, commit),
            Err(error) if left.is_zero() && !last.is_empty() => {
                tell(&error.to_string());
                return Preview::TimedOut { last };
            }
            Err(error) => return Preview::Unavailable { reason: error.to_string() },
        };
        let waiting = match seen {
            DeploymentState::Over(preview) => return preview,
            DeploymentState::Waiting(waiting) => waiting,
        };
        if waiting != last {
            tell(&waiting);
            last = waiting;
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Preview::TimedOut { last };
        }
        std::thread::sleep(wait.pause.min(left));
    }
}

fn look(client: &Client, service: &Service, path: &str, time: Duration) -> Result<Deployments, Failed> {
    let authorization = format!("Bearer {}", service.token.reveal());
    let headers = [("authorization", authorization.as_str()), ("accept", "application/json")];
    let answer = client.send(Method::GET, &service.endpoint, path, &headers, &[], time)?;
    let answer = successful(SERVICE, answer)?;
    serde_json::from_slice(&answer.body)
        .map_err(|_| Failed { error: ServiceError::NotUnderstood { service: SERVICE }, again: Again::Later })
}

enum DeploymentState {
    Over(Preview),
    Waiting(String),
}

/// The newest deployment of each project counts: a repository may have several projects, and a commit may be deployed
/// again.
fn seen(deployments: &Deployments, commit: &str) -> DeploymentState {
    let mut newest: BTreeMap<&str, &Deployment> = BTreeMap::new();
    for deployment in deployments.deployments.iter().filter(|one| one.is_preview_of(commit)) {
        let known = newest.entry(deployment.project()).or_insert(deployment);
        if deployment.created() > known.created() {
            *known = deployment;
        }
    }
    let short = commit.get(..7).unwrap_or(commit);
    if newest.is_empty() {
        return DeploymentState::Waiting(format!("there is no preview deployment of {short} yet"));
    }
    let mut urls = Vec::new();
    let mut is_ready = false;
    let mut canceled = None;
    let mut waiting = Vec::new();
    for deployment in newest.values() {
        let failed = |how| DeploymentState::Over(Preview::Failed { why: why(deployment, how) });
        match deployment.state() {
            "READY" => {
                is_ready = true;
                urls.extend(deployment.url.as_ref().map(|url| format!("https://{url}")));
            }
            // Projects that a commit does not touch are canceled, which is right beside one that is ready.
            "CANCELED" => canceled = Some(failed("was canceled")),
            "ERROR" => return failed("did not build"),
            "BLOCKED" => return failed("is blocked"),
            "DELETED" => return failed("was deleted"),
            state => waiting.push(format!("{} is {}", deployment.shown_project(), state.to_lowercase())),
        }
    }
    match canceled {
        _ if !waiting.is_empty() => {
            DeploymentState::Waiting(format!("the preview of {short}: {}", waiting.join(", ")))
        }
        Some(canceled) if !is_ready => canceled,
        _ => DeploymentState::Over(Preview::Ready { urls }),
    }
}

fn why(deployment: &Deployment, how: &str) -> String {
    let mut why = format!("{} {how}", deployment.shown_project());
    if let Some(message) = &deployment.error_message {
        why.push_str(&format!(": {}", text::first_characters(message, 200)));
    }
    if let Some(url) = &deployment.inspector_url {
        why.push_str(&format!(" ({url})"));
    }
    why
}

fn path(service: &Service, linked: &LinkedProject, commit: &str) -> String {
    let mut path = format!("/v6/deployments?limit=100&sha={}", encoded(commit));
    let mut add = |name: &str, value: &str| path.push_str(&format!("&{name}={}", encoded(value)));
    if let Some(project) = service.project.as_ref().or(linked.project_id.as_ref()) {
        add("projectId", project);
    }
    // An organisation that is no team is the user's own account, which needs no naming.
    let linked_team = linked.org_id.as_ref().filter(|id| id.starts_with("team_"));
    if let Some(team) = service.team.as_ref().or(linked_team) {
        add(if team.starts_with("team_") { "teamId" } else { "slug" }, team);
    }
    path
}

fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
}
