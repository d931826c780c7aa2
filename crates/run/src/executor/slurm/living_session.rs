//! A node that keeps its kernel after a Python stage: which stage it is given next, and when it is told that nothing follows.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::{Package, Slurm, SlurmJob, SlurmNews, SlurmPhase};
use crate::attempt::Job;
use crate::event::Accepted;
use crate::job_file::{JobFile, JobMark, JobReference};
use crate::next_in_session;
use crate::plan::Kind;

/// A node that keeps its kernel for the next Python stage.
pub(crate) struct LivingSession {
    /// Of the attempt that it carried out last.
    pub(super) folder: PathBuf,
    pub(super) token: String,
    job: String,
    mark: JobMark,
    /// What the session is known by.
    pub(super) known_as: String,
    /// Those that the job's environment has.
    secrets: Vec<(OsString, OsString)>,
}

impl Slurm {
    /// The node that has the session with which this stage begins, and what else it needs. Another one is not needed any more.
    pub(super) fn session_for(&mut self, job: &Job, file: &JobFile) -> Option<LivingSession> {
        let stage = job.stage().filter(|stage| stage.kind == Kind::Python)?;
        let session = self.session.take()?;
        let is_it = job.session.as_ref().is_some_and(|before| before.session == session.known_as);
        if is_it && file.secrets(stage).iter().all(|secret| session.secrets.contains(secret)) {
            return Some(session);
        }
        self.close(&session.folder, &session.token);
        None
    }

    /// Nothing follows in the session of an attempt that is over.
    pub(super) fn close(&self, folder: &Path, token: &str) {
        match &self.relay {
            Some(relay) => relay.forget(token),
            None => drop(next_in_session::close(folder)),
        }
    }

    /// Asks the nodes that have the sessions of the next stages, which may take as long as a bucket takes to answer.
    pub(super) fn hand_over(&mut self) {
        for (place, job) in &mut self.jobs {
            let is_due = job.phase == SlurmPhase::Unsent && job.package == Package::There && job.aborts == 0;
            let Some(session) = job.session.take_if(|_| is_due) else { continue };
            job.phase = SlurmPhase::Asked;
            let reference = JobReference::of(&job.folder, &job.token);
            let (place, relay, sender) = (*place, self.relay.clone(), self.sender.clone());
            std::thread::spawn(move || {
                let is_taken = match relay {
                    Some(relay) => {
                        let store = relay.store.as_ref();
                        next_in_session::hand_over_by(store, &session.token, &reference.token)
                    }
                    None => next_in_session::hand_over(&session.folder, &reference),
                };
                let _ = sender.send(SlurmNews::HandedOver(place, session, is_taken));
            });
        }
    }

    pub(super) fn handed_over(&mut self, place: usize, session: LivingSession, is_taken: bool) {
        if !is_taken {
            self.close(&session.folder, &session.token);
        }
        let Some(job) = self.jobs.get_mut(&place) else { return };
        job.since = Instant::now();
        // A claim may have been seen before the answer.
        let is_open = job.phase == SlurmPhase::Asked;
        if is_taken {
            job.is_handed_over = true;
            job.handed_over_by = Some(session.token);
            job.secrets = session.secrets;
            job.set_mark(session.mark);
            if is_open {
                job.phase = SlurmPhase::Sent { id: session.job };
            }
        } else if is_open {
            job.phase = SlurmPhase::Unsent;
        }
    }

    /// A node whose stage was accepted keeps its kernel for the next one.
    pub(super) fn note_session(&mut self, place: usize, accepted: Option<&Accepted>) {
        let is_python = |job: &SlurmJob| job.job.stage().is_some_and(|stage| stage.kind == Kind::Python);
        let Some(job) = self.jobs.get(&place) else { return };
        let known_as = accepted.filter(|_| is_python(job)).and_then(|accepted| accepted.session.clone());
        let (folder, token) = (job.folder.clone(), job.token.clone());
        match (known_as, job.claimed_id()) {
            (Some(known_as), Some(id)) => {
                let (mark, secrets) = (job.mark.clone(), job.secrets.clone());
                self.session = Some(LivingSession { folder, token, job: id, mark, known_as, secrets });
            }
            _ => self.close(&folder, &token),
        }
    }
}
