//! An issue: created once, found again by the id that was chosen for it, and moved as the work on it goes on.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::team::{FIELDS as TEAM, Team, TeamState};
use super::{Linear, LinearError, if_there, not_understood, unknown_issue};
use crate::integrations::branch::IssueId;
use crate::integrations::retry::Failed;

/// Linear cuts nothing off: a longer title is refused.
const LONGEST_TITLE: usize = 250;

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Issue {
    pub id: String,
    /// Such as `BAS-7`.
    pub identifier: String,
    pub url: Option<String>,
    state: TeamState,
    team: Team,
}

#[derive(Clone, Copy, Debug)]
pub struct NewIssue<'a> {
    /// A UUID that was chosen, and kept, before anything is sent.
    pub id: &'a str,
    pub team: &'a str,
    pub title: &'a str,
}

/// What the work on an issue came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssueProgress {
    /// A phase is under way.
    Begun,
    /// A phase has ended, one way or the other.
    Continued,
    /// Everything is done.
    Ended,
}

/// Something that an issue is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssueNews {
    pub progress: IssueProgress,
    /// Markdown.
    pub comment: Option<String>,
    /// When it happened: the same news of the same time is the same comment.
    pub occasion: String,
    /// It may have arrived.
    pub tried_before: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssueStanding {
    /// The name of the state that the issue is in now.
    pub state: String,
    /// It was in another before.
    pub moved: bool,
    /// Somebody closed it as canceled or as a duplicate, so it was not moved.
    pub closed_by_others: bool,
}

impl Linear<'_> {
    /// `tried_before` says that an earlier attempt may have arrived.
    pub fn create_issue(&self, new: &NewIssue<'_>, tried_before: bool) -> Result<Issue, LinearError> {
        let look = |time| if_there(self.issue(new.id, time));
        if tried_before && let Some(there) = self.retry.run(look)? {
            return Ok(there);
        }
        let team = self.team(new.team)?;
        let title = text::shortened(new.title, LONGEST_TITLE);
        let query = format!(
            "mutation NewIssue($input: IssueCreateInput!) {{ issueCreate(input: $input) {{ success issue {{ {} }} }} }}",
            fields()
        );
        let variables = json!({"input": {"id": new.id, "teamId": team.id, "title": title}});
        let created = self.once(false, look, |time| {
            let data = self.ask(&query, &variables, time)?;
            let success = data.pointer("/issueCreate/success") == Some(&Value::Bool(true));
            read(&data, "/issueCreate/issue").filter(|_| success).ok_or_else(not_understood)
        })?;
        Ok(created)
    }

    /// Comments on the issue and moves it, as the news say. Nothing goes to an issue of another team than `team`.
    pub fn tell(
        &self,
        issue: &IssueId,
        team: Option<&str>,
        news: &[IssueNews],
    ) -> Result<IssueStanding, LinearError> {
        let found = |time| self.issue(issue.as_str(), time)?.ok_or_else(|| unknown_issue(issue));
        let known = self.retry.run(found)?;
        if let Some(expected) = team.filter(|team| !known.team.name.is_empty() && !known.team.is_called(team))
        {
            return Err(LinearError::OtherTeam {
                issue: issue.to_string(),
                found: known.team.name,
                expected: expected.to_owned(),
            });
        }
        for one in news {
            if let Some(comment) = &one.comment {
                self.comment(&known, comment, &one.occasion, one.tried_before)?;
            }
        }
        let closed_by_others = matches!(known.state.kind.as_str(), "canceled" | "duplicate");
        let progress = news.last().map(|news| news.progress).filter(|_| !closed_by_others);
        let kind = progress.and_then(|progress| next_kind(progress, &known.state.kind));
        let Some(kind) = kind else {
            return Ok(IssueStanding { state: known.state.name, moved: false, closed_by_others });
        };
        let state = known.team.first_state(kind)?;
        self.retry.run(|time| self.move_to(&known, state, time))?;
        Ok(IssueStanding { state: state.name.clone(), moved: true, closed_by_others })
    }

    /// By its id or its identifier.
    fn issue(&self, id: &str, time: Duration) -> Result<Option<Issue>, Failed> {
        let query = format!("query Issue($id: String!) {{ issue(id: $id) {{ {} }} }}", fields());
        Ok(read(&self.ask(&query, &json!({"id": id}), time)?, "/issue"))
    }

    fn move_to(&self, issue: &Issue, state: &TeamState, time: Duration) -> Result<(), Failed> {
        let query = "mutation Move($id: String!, $input: IssueUpdateInput!) \
                     { issueUpdate(id: $id, input: $input) { success } }";
        let data = self.ask(query, &json!({"id": issue.id, "input": {"stateId": state.id}}), time)?;
        match data.pointer("/issueUpdate/success") {
            Some(Value::Bool(true)) => Ok(()),
            _ => Err(not_understood()),
        }
    }
}

/// The type of the state to move to; `None` if the issue is far enough. What people moved on by hand is not moved back,
/// except that work which goes on opens it again.
fn next_kind(progress: IssueProgress, now: &str) -> Option<&'static str> {
    match (progress, now) {
        (IssueProgress::Ended, "completed") | (IssueProgress::Begun, "started") => None,
        (IssueProgress::Continued, "started" | "completed") => None,
        (IssueProgress::Ended, _) => Some("completed"),
        (IssueProgress::Begun | IssueProgress::Continued, _) => Some("started"),
    }
}

fn fields() -> String {
    format!("id identifier url state {{ id name type position }} team {{ {TEAM} }}")
}

fn read(data: &Value, place: &str) -> Option<Issue> {
    let mut issue: Issue = serde_json::from_value(data.pointer(place)?.clone()).ok()?;
    // It is shown to people and to agents: an address, and nothing that only begins with one.
    let is_address = |url: &String| url.len() <= 500 && url.bytes().all(|byte| byte.is_ascii_graphic());
    issue.url = issue.url.filter(is_address).filter(|url| url.starts_with("http"));
    (!issue.id.is_empty() && !issue.identifier.is_empty()).then_some(issue)
}
