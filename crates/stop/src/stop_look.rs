//! One look at a stop: the turn as its transcript shows it, judged in the session's repository and in every other one that it
//! worked in, each by its own policy. A repository that cannot be judged passes, and the others are judged all the same.

use std::path::{Path, PathBuf};

use changes::Pending;
use gate::RecordedCall;
use jiff::Timestamp;
use journal::{Author, Journal, SessionId};
use text::visible;
use transcript::Reading;

use crate::client_event::ClientEvent;
use crate::known_turn::{KnownTurn, SessionPart};
use crate::last_words;
use crate::notices::{self, Reduction};
use crate::other_repositories::{self, OtherRepositories, OtherRepository};
use crate::prompt_policy::UnseenPolicy;
use crate::seen_contents;
use crate::stop_case::{AskedBy, JudgedRepository, JudgedTurn, ShownTurn, StopCase, StopError};
use crate::workplace::Workplace;

/// Other repositories beyond these are not judged; the person is told of them.
const MOST_OTHERS: usize = 8;

/// What came out in the session's repository, if that is looked at, and in the others.
type Looked = (Option<JudgedTurn>, Vec<JudgedRepository>);

pub(crate) struct StopLook<'a> {
    pub(crate) event: &'a mut ClientEvent,
    pub(crate) journal: &'a mut Journal,
    /// Where the session is.
    pub(crate) workplace: &'a Workplace,
    /// The case of the session's own repository, if that is looked at.
    pub(crate) case: Option<&'a StopCase>,
    pub(crate) session: Option<SessionId>,
}

/// Another repository to be judged, with git at work in it.
struct OtherCase {
    case: StopCase,
    pending: Result<Pending, changes::Error>,
}

impl StopLook<'_> {
    /// Judges what is written of the turn. Calls that are not written yet are waited for if they could change the answer.
    pub(crate) fn judge(
        &mut self,
        pending: Option<Result<Pending, changes::Error>>,
        is_saving: bool,
    ) -> Result<Looked, StopError> {
        let span = self.case.and_then(|case| case.span.as_ref());
        let mut reading = last_words::read(self.event, span);
        let mut may_wait = last_words::may_come(self.event, &reading);
        let has_checks = self.case.is_some_and(|case| case.policy.checks.count() > 0);
        if may_wait && (has_checks || is_saving) {
            // Checks take seconds and must not run twice; how full the context is stands in what is written last.
            reading = last_words::wait(self.event, span);
            may_wait = false;
        }
        let (own, others) = self.look(pending, reading)?;
        // What is not written yet can only be the last tenth of a second; it counts where it could change the answer.
        let mut drafts = own.iter().chain(others.iter().map(|other| &other.turn));
        match may_wait && drafts.any(JudgedTurn::is_open) {
            true => {
                let reading = last_words::wait(self.event, span);
                self.look(None, reading)
            }
            false => Ok((own, others)),
        }
    }

    fn look(
        &mut self,
        pending: Option<Result<Pending, changes::Error>>,
        reading: Reading,
    ) -> Result<Looked, StopError> {
        self.event.stopwatch.lap("transcript");
        let shown = ShownTurn::of(self.event, reading);
        let pending = self.case.map(|case| pending.unwrap_or_else(|| self.start(case.repository.as_ref())));
        self.look_everywhere(shown, |look, shown| {
            let (Some(case), Some(pending)) = (look.case, pending) else { return Ok((None, Vec::new())) };
            let turn = case.judge_shown(look.event, Some(look.journal), pending, shown)?;
            let submodules = turn.submodules.clone();
            Ok((Some(turn), submodules))
        })
    }

    /// `own` judges the session's repository, and gives back the submodules in it that have a policy.
    fn look_everywhere<T>(
        &mut self,
        mut shown: ShownTurn,
        own: impl FnOnce(&mut Self, ShownTurn) -> Result<(T, Vec<OtherRepository>), StopError>,
    ) -> Result<(T, Vec<JudgedRepository>), StopError> {
        let mut others = self.others(&shown);
        let own_root = self.workplace.root.as_deref();
        let has_submodules = self
            .case
            .is_some_and(|case| !case.policy.gate.turn_only && case.root.join(".gitmodules").exists());
        let whole = (has_submodules || !others.is_empty()).then(|| shown.clone());
        if let (Some(root), false) = (own_root, others.is_empty()) {
            // What was done in another repository that is judged says nothing about this one.
            let roots: Vec<&Path> = others.iter().map(|other| other.case.root.as_path()).collect();
            let cwd = shown.inputs.cwd.clone();
            shown.keep_calls(|call| {
                is_about(call, root, &roots, &cwd)
                    || !roots.iter().any(|other| is_about(call, other, &[], &cwd))
            });
        }
        let (own, submodules) = own(self, shown)?;
        let Some(whole) = whole else { return Ok((own, Vec::new())) };
        for submodule in submodules {
            let is_known = others.iter().any(|other| other.case.root == submodule.repository.root);
            let case =
                self.began(&whole).filter(|_| !is_known).and_then(|began| self.case_of(submodule, began));
            others.extend(case.map(|case| self.started(case)));
        }
        let roots: Vec<PathBuf> = others.iter().map(|other| other.case.root.clone()).collect();
        let own_root = own_root.filter(|_| self.case.is_some());
        let roots: Vec<&Path> = roots.iter().map(PathBuf::as_path).chain(own_root).collect();
        let mut judged = Vec::new();
        for OtherCase { case, pending } in others {
            let mut shown = whole.clone();
            let cwd = shown.inputs.cwd.clone();
            shown.keep_calls(|call| is_about(call, &case.root, &roots, &cwd));
            other_repositories::spell_by_real_paths(&mut shown.inputs, &case.root);
            match case.judge_shown(self.event, Some(self.journal), pending, shown) {
                Ok(turn) => judged.push(JudgedRepository { case, turn }),
                Err(error) => {
                    let folder = case.folder.unwrap_or_default();
                    self.event.log("pass", &format!("in `{folder}`: {error}"));
                }
            }
        }
        Ok((own, judged))
    }

    fn start(&self, repository: Option<&changes::Repository>) -> Result<Pending, changes::Error> {
        let git = &self.event.settings.git;
        match repository {
            Some(repository) => changes::start_in(repository.clone(), git),
            None => changes::start(&self.event.cwd, git),
        }
    }

    fn started(&self, case: StopCase) -> OtherCase {
        OtherCase { pending: self.start(case.repository.as_ref()), case }
    }

    /// The other repositories that have a policy, with git at work in all of them.
    fn others(&mut self, shown: &ShownTurn) -> Vec<OtherCase> {
        let own = self.workplace.root.as_deref();
        // To the letter, a stop is about the session's repository alone.
        let keeps_letter = self.case.is_some_and(|case| case.policy.gate.turn_only);
        // From a folder that is not there nobody could be sent anywhere.
        if keeps_letter || (own.is_none() && !self.event.cwd.is_dir()) {
            return Vec::new();
        }
        let mut found = OtherRepositories::of_turn(&shown.inputs, own, self.event).found;
        if self.case.is_none() {
            found.extend(self.workplace.repository.as_ref().and_then(outer_of));
        }
        let earlier = self.left_unproven();
        let began = if found.is_empty() && earlier.is_empty() { None } else { self.began(shown) };
        let Some(began) = began else { return Vec::new() };
        let mut cases: Vec<StopCase> = Vec::new();
        for other in found {
            let case = self.case_of(other, began);
            cases.extend(case.filter(|case| cases.iter().all(|known| known.root != case.root)));
        }
        for repository in earlier {
            let is_known = cases.iter().any(|case| case.root == repository.root);
            let other = OtherRepository { repository: repository.clone(), written: Vec::new() };
            let case = if is_known { None } else { self.case_of(other, began) };
            cases.extend(case.filter(|case| {
                let unproven = seen_contents::live_unproven(self.journal, &repository, &case.policy);
                unproven.is_ok_and(|unproven| !unproven.is_empty())
            }));
        }
        if cases.len() > MOST_OTHERS {
            let left_out = cases.split_off(MOST_OTHERS);
            self.note_left_out(&left_out, began);
        }
        cases.into_iter().map(|case| self.started(case)).collect()
    }

    /// Other repositories of the session's last stop: what is unproven there is told while it lasts.
    fn left_unproven(&mut self) -> Vec<changes::Repository> {
        let Some(session) = self.session else { return Vec::new() };
        let roots = self.journal.read(|reader| reader.other_repositories(session));
        let own = self.workplace.root.as_ref();
        let roots = roots.unwrap_or_default().into_iter();
        roots.filter(|root| Some(root) != own).filter_map(|root| changes::Repository::at(&root)).collect()
    }

    fn began(&mut self, shown: &ShownTurn) -> Option<Timestamp> {
        let span = self.case.and_then(|case| case.span.as_ref());
        let known = || {
            let turn = shown.turn();
            KnownTurn::read(Some(self.journal), self.event, turn, SessionPart(None)).ok()?.opened_at
        };
        span.map(|span| span.first.opened_at).or_else(known)
    }

    /// `None` if nothing is judged there: without a policy, with one that is switched off, broken, or about the session's
    /// repository alone, and in what the turn itself made or cloned.
    fn case_of(&mut self, other: OtherRepository, began: Timestamp) -> Option<StopCase> {
        let OtherRepository { repository, written } = other;
        let own = self.workplace.repository.as_ref();
        let is_sibling = own.is_some_and(|own| own.common_dir == repository.common_dir);
        if !is_sibling && repository.is_made_since(began) {
            return None;
        }
        let settings = &self.event.settings;
        let UnseenPolicy { texts, is_changed } =
            UnseenPolicy::at(&repository, began, settings.user_file.as_deref(), &settings.git);
        let root = repository.root.clone();
        let folder = way_to(&root, &self.event.cwd);
        if is_changed {
            self.note_changed(&root, &folder, began);
        }
        // A submodule without a policy of its own is a part of the repository around it.
        if texts.as_ref().is_none_or(|texts| texts.own_file.is_none())
            && let Some(outer) = outer_of(&repository)
        {
            let is_judged = self.case.is_some_and(|case| case.root == outer.repository.root);
            return if is_judged { None } else { self.case_of(outer, began) };
        }
        let texts = texts.filter(|texts| !texts.is_switched_off())?;
        let policy = match texts.load() {
            Ok(policy) => policy,
            Err(problems) => {
                let place = format!(" of `{}`", visible(&folder));
                notices::note_broken(self.journal, self.event, Some(&root), &place, &problems.to_string());
                return None;
            }
        };
        (!policy.gate.turn_only).then(|| StopCase {
            texts,
            policy,
            asked_by: self.case.map_or(AskedBy::Client, |case| case.asked_by),
            is_gated: true,
            repository: Some(repository),
            root,
            span: self.case.and_then(|case| case.span.clone()),
            folder: Some(folder),
            beside: Some(written),
        })
    }

    fn note_changed(&mut self, root: &Path, folder: &str, began: Timestamp) {
        let text = format!(
            "The policy of `{}` changed in this turn. The change takes effect at the next prompt; this turn is judged by the \
             policy from before.",
            visible(folder)
        );
        let key = format!("policy:{}:{began}", root.display());
        let author = Author::DuringTurn;
        Reduction { author, repository: Some(root), key: &key, is_told: false, text: &text }
            .note(self.journal, self.event);
    }

    fn note_left_out(&mut self, left_out: &[StopCase], began: Timestamp) {
        let folders = text::listed(left_out.iter().filter_map(|case| case.folder.as_ref()));
        let text = format!(
            "Not judged at this stop, which covers at most {MOST_OTHERS} repositories besides the session's own: {folders}."
        );
        let key = format!("left-out:{}:{began}", self.event.session);
        let author = Author::DuringTurn;
        Reduction { author, repository: None, key: &key, is_told: false, text: &text }
            .note(self.journal, self.event);
    }
}

impl StopCase {
    /// Judges the turn here, and in the other repositories that it worked in. Without a journal nobody knows when it began, and
    /// so only here.
    pub fn judge_everywhere(
        &self,
        event: &mut ClientEvent,
        journal: Option<&mut Journal>,
        workplace: &Workplace,
        pending: Result<Pending, changes::Error>,
        reading: Reading,
    ) -> Result<(JudgedTurn, Vec<JudgedRepository>), StopError> {
        let Some(journal) = journal else {
            return Ok((self.judge(event, None, pending, reading)?, Vec::new()));
        };
        let session = journal.read(|reader| reader.session(event.agent(), &event.session)).ok().flatten();
        let session = session.map(|session| session.id);
        let mut look = StopLook { event, journal, workplace, case: Some(self), session };
        let shown = ShownTurn::of(look.event, reading);
        look.look_everywhere(shown, |look, shown| {
            let turn = self.judge_shown(look.event, Some(look.journal), pending, shown)?;
            let submodules = turn.submodules.clone();
            Ok((turn, submodules))
        })
    }
}

/// The repository that a submodule is of.
fn outer_of(inner: &changes::Repository) -> Option<OtherRepository> {
    let outer = changes::Repository::discover(inner.root.parent()?).ok()?;
    let written = Vec::new();
    inner.is_submodule_of(&outer).then_some(OtherRepository { repository: outer, written })
}

fn is_about(call: &RecordedCall, root: &Path, roots: &[&Path], cwd: &str) -> bool {
    let inner: Vec<&Path> =
        roots.iter().copied().filter(|other| *other != root && other.starts_with(root)).collect();
    other_repositories::is_about(call, root, &inner, cwd)
}

/// How the agent gets to a repository from where it works.
pub(crate) fn way_to(root: &Path, cwd: &Path) -> String {
    let existing = cwd.ancestors().find_map(|folder| fs_err::canonicalize(folder).ok());
    other_repositories::way(existing.as_deref().unwrap_or(cwd), root)
}
