//! What services outside are told about a workflow, if the user wants that: its issue is created and moves as phases begin
//! and end; webhooks hear of ends. What does not arrive is kept as unsent, and the person reads which command sends it
//! again.

use jiff::Timestamp;
use transcript::visible;
use workflow::integrations::branch::IssueId;
use workflow::integrations::linear::{IssueNews, IssueProgress};
use workflow::integrations::webhook::PhaseEvent;
use workflow::{IssueRecord, Name, ResumePoint, StateDirectory, Status, WantedIssue, Workflow};

use super::typed;
use crate::error::Warning;
use crate::integrations::{Integrations, comment_on};
use crate::printer::Printer;

/// A workflow, and everybody outside who may hear of it.
pub(super) struct Outside<'a> {
    state: &'a StateDirectory,
    name: &'a Name,
    printer: &'a Printer,
    integrations: Integrations,
    branch: Option<String>,
}

/// What is told of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Subject<'a> {
    Phase(&'a str),
    /// The workflow as a whole, which is complete.
    End,
}

impl<'a> Subject<'a> {
    /// As it is kept among what is unsent.
    fn of(kept: Option<&'a str>) -> Self {
        kept.map_or(Self::End, Self::Phase)
    }

    fn kept(self) -> Option<String> {
        match self {
            Self::Phase(phase) => Some(phase.to_owned()),
            Self::End => None,
        }
    }
}

impl<'a> Outside<'a> {
    pub(super) fn of(state: &'a StateDirectory, name: &'a Name, printer: &'a Printer) -> Self {
        Self {
            state,
            name,
            printer,
            integrations: Integrations::read(state.root(), printer),
            branch: state.repository().and_then(changes::Repository::branch),
        }
    }

    /// The branch of the issue, unless it is the one that is checked out.
    pub(super) fn branch_to_switch_to(&self, workflow: &Workflow) -> Option<String> {
        self.state.repository()?;
        workflow.issue_record().branch.filter(|branch| self.branch.as_ref() != Some(branch))
    }

    /// Whether the issues of this repository are created and moved from here.
    pub(super) fn keeps_issues(&self) -> bool {
        self.integrations.keeps_issues()
    }

    /// Of one that has just begun or ended.
    pub(super) fn tell_of_phase(&self, phase: &str, workflow: &Workflow) {
        self.tell(workflow, Some(Subject::Phase(phase)));
    }

    pub(super) fn tell_of_end(&self, workflow: &Workflow) {
        self.tell(workflow, Some(Subject::End));
    }

    /// Sends what did not arrive earlier.
    pub(super) fn send_unsent(&self, workflow: &Workflow) {
        if !workflow.issue_record().unsent.is_empty() {
            self.tell(workflow, None);
        }
    }

    /// Creates the issue that the workflow asks for, or takes the one that it is about. Returns the workflow as it is
    /// then, and why there is no issue.
    pub(super) fn begin_issue(&self, workflow: Workflow, title: Option<&str>) -> (Workflow, Option<Warning>) {
        if !self.keeps_issues() || !workflow.wants_issue() {
            return (workflow, None);
        }
        let linear = &self.integrations.repository.linear;
        let feature = self.name.feature();
        let recorded = workflow.issue_record().issue.and_then(|issue| IssueId::parse(&issue));
        // Without a name for it, the work is that of the branch.
        let of_branch = || match (title, feature) {
            (None, None) => self.issue_of_branch(),
            _ => None,
        };
        if let Some(issue) = recorded.or_else(|| self.issue_named()).or_else(of_branch) {
            let kept =
                self.state.keep_issue(self.name, &issue, None, &linear.branch_prefix, Timestamp::now());
            return match kept {
                Ok(workflow) => (workflow, None),
                Err(error) => (workflow, Some(Warning::of(&error))),
            };
        }
        let intended = workflow.issue_record().title;
        let Some(title) = title.or(intended.as_deref()).or(feature) else {
            let problem = Warning::new("no issue was created: it needs a title");
            return (workflow, Some(problem.hint("pass `--title`, or name the `--feature`")));
        };
        let Some(team) = linear.team.as_deref() else {
            let problem = Warning::new("no issue was created: no team is set");
            let hint = "set `linear.team` in `.claude/config/integrations.json` to its name or key";
            return (workflow, Some(problem.hint(hint)));
        };
        let wanted = WantedIssue { team, title, branch_prefix: &linear.branch_prefix };
        match self.integrations.create_issue(self.state, self.name, &wanted, self.printer) {
            None => (workflow, None),
            Some(Ok(workflow)) => (workflow, None),
            Some(Err(error)) => {
                let problem = Warning::new(format!("Linear has not confirmed the issue: {error}"));
                let hint = format!(
                    "the workflow is saved; run `{}` to try again (it never creates a second issue)",
                    typed("start", self.name)
                );
                (workflow, Some(problem.hint(hint)))
            }
        }
    }

    /// Tells of what has just happened, and of what did not arrive earlier.
    fn tell(&self, workflow: &Workflow, now: Option<Subject<'_>>) {
        let record = workflow.issue_record();
        let issue = self.issue(&record);
        let event = now.and_then(|now| self.event(workflow, now, issue.as_ref()));
        let earlier: Vec<Subject<'_>> =
            record.unsent.iter().map(|kept| Subject::of(kept.as_deref())).collect();
        let other = |subject: &Subject<'_>| Some(*subject) != now;
        let subjects: Vec<Subject<'_>> = earlier.iter().copied().filter(other).chain(now).collect();
        let unfinished = self.unfinished_later(workflow);
        let news: Vec<IssueNews> = subjects
            .iter()
            .filter_map(|subject| {
                let ends = unfinished.is_none();
                let news = self.news(workflow, *subject, ends, issue.as_ref())?;
                Some(IssueNews { tried_before: earlier.contains(subject), ..news })
            })
            .collect();
        if news.is_empty() && !earlier.is_empty() {
            let is_earlier = |kept: &Option<String>| earlier.contains(&Subject::of(kept.as_deref()));
            self.record(|record| record.unsent.retain(|kept| !is_earlier(kept)));
        }
        let to_issue = issue.as_ref().map(|issue| (issue, news.as_slice()));
        let (Some(told), Some(issue)) =
            (self.integrations.tell(event.as_ref(), to_issue, self.printer), issue)
        else {
            return;
        };
        self.record(|record| {
            // Another process may have added its own meanwhile.
            record.unsent.retain(|kept| !subjects.contains(&Subject::of(kept.as_deref())));
            if told.is_err() {
                record.issue.get_or_insert_with(|| issue.to_string());
                record.unsent.extend(subjects.iter().map(|subject| subject.kept()));
            }
        });
        match told {
            Ok(standing) => {
                let state = visible(&standing.state);
                if standing.closed_by_others {
                    self.printer.progress(&format!("{issue} stays {state}: somebody closed it in Linear"));
                } else if standing.moved {
                    self.printer.progress(&format!("{issue} is now {state} in Linear"));
                }
                if let (Some(Subject::End), Some(other)) = (now, unfinished) {
                    self.printer.progress(&format!("{issue} stays open: `{other}` is unfinished"));
                }
            }
            Err(error) => {
                let again = if workflow.is_complete() { "complete" } else { "start" };
                let again =
                    format!("the workflow is saved; run `{}` to send it again", typed(again, self.name));
                self.printer.warning(Warning::new(format!("{issue} was not updated: {error}")).hint(again));
            }
        }
    }

    fn record(&self, change: impl FnOnce(&mut IssueRecord)) {
        if let Err(error) = self.state.record_issue(self.name, Timestamp::now(), change) {
            self.printer.warning(Warning::of(&error));
        }
    }

    /// The issue that the work is about: the one that is recorded, what the feature is named after, what another workflow of
    /// the feature has, or what the branch is named after.
    fn issue(&self, record: &IssueRecord) -> Option<IssueId> {
        if !self.integrations.repository.linear.enabled {
            return None;
        }
        let recorded = record.issue.as_deref().and_then(IssueId::parse);
        let shared = || IssueId::parse(&self.issue_of_feature()?);
        recorded.or_else(|| self.issue_named()).or_else(shared).or_else(|| self.issue_of_branch())
    }

    fn issue_named(&self) -> Option<IssueId> {
        let feature = self.name.feature()?;
        self.meant(IssueId::parse(feature)?, feature)
    }

    fn issue_of_branch(&self) -> Option<IssueId> {
        let branch = self.branch.as_deref()?;
        self.meant(IssueId::of_branch(branch)?, branch)
    }

    /// An issue that was read out of a name, if it is spelled there as Linear and we spell it, or is of the team that the
    /// repository names. Many a feature is called like `utf-8` or `api-2`.
    fn meant(&self, issue: IssueId, name: &str) -> Option<IssueId> {
        let team = self.integrations.repository.linear.team.as_deref();
        let is_meant = name.contains(issue.as_str()) || team.is_some_and(|team| issue.is_of_team(team));
        is_meant.then_some(issue)
    }

    /// What another workflow of the same feature is about.
    fn issue_of_feature(&self) -> Option<String> {
        let feature = Some(self.name.feature()?);
        let (listed, _) = self.state.list().ok()?;
        let same = listed.iter().filter(|other| other.name().feature() == feature);
        same.filter_map(|other| other.workflow.issue_record().issue).next()
    }

    /// An end; nothing is told of what only began.
    fn event(
        &self,
        workflow: &Workflow,
        subject: Subject<'_>,
        issue: Option<&IssueId>,
    ) -> Option<PhaseEvent> {
        let file = workflow.file();
        let event = PhaseEvent {
            at: Timestamp::now().to_string(),
            repository: self.state.root().file_name().unwrap_or_default().to_string_lossy().into_owned(),
            command: self.name.command().to_owned(),
            feature: self.name.feature().map(str::to_owned),
            head_commit: self.state.head(),
            branch: self.branch.clone(),
            issue: issue.map(ToString::to_string),
            ..PhaseEvent::default()
        };
        let Subject::Phase(phase) = subject else {
            let last = file.state.completed_phases.last().and_then(|phase| file.phase(phase));
            return Some(PhaseEvent {
                event: "workflow.complete".to_owned(),
                status: "complete".to_owned(),
                summary: last.and_then(|last| last.context_summary.clone()),
                ..event
            });
        };
        let known = file.phase(phase)?;
        let kind = match known.status {
            Status::Complete => "phase.complete",
            Status::Failed => "phase.failed",
            _ => return None,
        };
        Some(PhaseEvent {
            event: kind.to_owned(),
            phase: Some(phase.to_owned()),
            status: known.status.to_string(),
            summary: known.context_summary.clone(),
            error: known.error.clone(),
            ..event
        })
    }

    /// What the issue hears; `None` if it is no longer true. `ends` says whether the end of the workflow is the end of
    /// the work.
    fn news(
        &self,
        workflow: &Workflow,
        subject: Subject<'_>,
        ends: bool,
        issue: Option<&IssueId>,
    ) -> Option<IssueNews> {
        let file = workflow.file();
        let (progress, occasion) = match subject {
            Subject::End => {
                let progress = if ends { IssueProgress::Ended } else { IssueProgress::Continued };
                (progress, file.completed_at.clone()?)
            }
            Subject::Phase(phase) => {
                let phase = file.phase(phase)?;
                let begun = phase.status == Status::InProgress;
                let progress = if begun { IssueProgress::Begun } else { IssueProgress::Continued };
                (progress, phase.updated_at.clone().unwrap_or_default())
            }
        };
        let comment = self.event(workflow, subject, issue).map(|event| comment_on(&event));
        Some(IssueNews { progress, comment, occasion, tried_before: false })
    }

    /// The workflow that goes on with the same work: as long as there is one, the issue does not end.
    fn unfinished_later(&self, workflow: &Workflow) -> Option<Name> {
        let began = |workflow: &Workflow| workflow.file().started_at.clone();
        let (listed, _) = self.state.list().ok().filter(|_| self.keeps_issues())?;
        let later = listed.iter().find(|other| {
            other.name().feature() == self.name.feature()
                && began(&other.workflow) > began(workflow)
                && ResumePoint::of(other.workflow.file()).phase.is_some()
        });
        later.map(workflow::Listed::name)
    }
}
