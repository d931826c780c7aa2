//! Sends notes to where `git push` sends the branch. If others were faster, theirs are fetched and merged, and both go.

use std::time::Instant;

use super::outgoing::remote_of;
use super::{
    PushLimits, PushOutcome, PushPlan, PushStep, Pushing, ROUNDS, RemoteAnswer, RemoteKnowledge,
    without_credentials,
};
use crate::acting::ActingGit;
use crate::notes::{NotesError, NotesRef};

/// Pushes the notes, never forced. Pushed means that the remote was asked and has them.
pub fn push_notes(notes: NotesRef<'_>, limits: &PushLimits<'_>) -> PushOutcome {
    rounds(notes, limits).unwrap_or_else(|ended| ended)
}

fn rounds(notes: NotesRef<'_>, limits: &PushLimits<'_>) -> PushStep<PushOutcome> {
    let plan = match plan(notes)? {
        Some(plan) => plan,
        None => return Ok(PushOutcome::NoRemote),
    };
    let pushing = Pushing::new(&plan, limits, Instant::now() + limits.total)?;
    for _ in 0..ROUNDS {
        let ours = notes.tip()?.unwrap_or_else(|| plan.id.clone());
        match pushing.send(&ours)? {
            RemoteAnswer::Behind => notes.merge(&pushing.fetch()?).map_err(PushOutcome::from)?,
            _ => return pushing.verify(&ours),
        }
    }
    Err(PushOutcome::Rejected { reason: "the remote's notes kept moving, or are locked".to_owned() })
}

/// `None` if there is no remote.
fn plan(notes: NotesRef<'_>) -> PushStep<Option<PushPlan>> {
    let git = ActingGit::new(notes.program, &notes.repository.root);
    // A job's HEAD is on no branch, and then only the remotes tell.
    let named = match git.line_or_none(&["symbolic-ref", "--quiet", "HEAD"])? {
        Some(head) => git.line(&["for-each-ref", "--format=%(push:remotename)", &head])?,
        None => String::new(),
    };
    let Some((remote, is_url)) = remote_of(&git, Some(named).filter(|name| !name.is_empty()))? else {
        return Ok(None);
    };
    let nothing = || PushOutcome::Failed { reason: format!("there is no `{}` yet", notes.name) };
    Ok(Some(PushPlan {
        repository: notes.repository.clone(),
        program: notes.program.clone(),
        remote,
        is_url,
        id: notes.tip()?.ok_or_else(nothing)?,
        branch: notes.name.to_owned(),
        destination: notes.name.to_owned(),
        is_tracked: false,
        other_upstream: None,
        commits: Vec::new(),
        knowledge: RemoteKnowledge::Nothing { problem: None },
        is_complete: false,
    }))
}

impl From<NotesError> for PushOutcome {
    fn from(error: NotesError) -> Self {
        Self::Failed { reason: without_credentials(&error.to_string()) }
    }
}
