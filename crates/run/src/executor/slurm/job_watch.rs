//! What becomes of the jobs: by the files in their folders, which say most and say it at once, and by Slurm's list, which says of
//! the others whether they wait, live or are gone.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

use text::error_chain;

use super::submission::NODE_LOG;
use super::{ListedJob, Slurm, SlurmCall, SlurmJob, SlurmPhase, aborted, failed};
use crate::attempt::{AttemptProgress, Cause, Unaccepted};
use crate::exchange::EngineRelay;
use crate::executor::AttemptReport;
use crate::fingerprint;
use crate::job_file::{self, BEAT, CLAIM, OutcomeFile, PROGRESS};
use crate::stage_execution::{has_outcome, names_in};

/// Told once to whoever waits for it.
const LONG_WAIT: Duration = Duration::from_secs(60);
/// Six beats.
const SILENCE: Duration = Duration::from_secs(30);
/// Three: of a job that Slurm says is over, or does not know any more. While it beats, its outcome is still to come.
const SILENCE_OF_GONE: Duration = Duration::from_secs(15);
/// What a node wrote last may take so long to be seen here.
const SETTLING: Duration = Duration::from_secs(2);
/// For so long a controller that was away clears up by itself, and cancels jobs whose numbers it has given twice.
const AFTERMATH: Duration = Duration::from_secs(90);
/// A job that runs has made its claim by then, or Slurm lost it without noticing. A node may also be slow, so that every further
/// attempt waits twice as long, up to so many times.
const LONGEST_START: Duration = Duration::from_secs(60);
const MOST_DOUBLINGS: u32 = 5;
/// A stage that was asked to end has done so by then, or Slurm does it.
const LONGEST_GRACE: Duration = Duration::from_secs(90);
const BETWEEN_CANCELS: Duration = Duration::from_secs(5);
/// An exchange that was not looked at for so long does not answer.
const LONGEST_LOOK: Duration = Duration::from_secs(5);

impl Slurm {
    /// Looks into the folder of each attempt, and at what is overdue.
    pub(super) fn watch(&mut self) {
        let mut places: Vec<usize> = self.jobs.keys().copied().collect();
        places.sort_unstable();
        let mut to_cancel = Vec::new();
        let was_away = self.unanswered.is_some_and(|last| last.elapsed() < AFTERMATH);
        let relay = self.relay.clone();
        if let Some(why) = relay.as_ref().and_then(|relay| relay.refusal()) {
            self.reports.push_back(AttemptReport::Unreachable(why));
            return;
        }
        for place in places {
            self.read_folder(place);
            let Some(job) = self.jobs.get_mut(&place) else { continue };
            let overdue = match &relay {
                Some(relay) => job.overdue_by_relay(relay, was_away, &mut to_cancel),
                None => job.overdue(Instant::now(), was_away, &mut to_cancel),
            };
            if let Some(verdict) = overdue {
                match verdict {
                    Overdue::Over(unaccepted) => self.conclude(place, unaccepted),
                    Overdue::Told(text) => {
                        let told = AttemptProgress::Warning(text);
                        self.reports.push_back(AttemptReport::Progress(place, told));
                    }
                }
            }
        }
        if !to_cancel.is_empty() {
            let _ = self.calls.send(SlurmCall::Cancel(to_cancel));
        }
    }

    fn read_folder(&mut self, place: usize) {
        let Some(job) = self.jobs.get_mut(&place).filter(|job| job.phase != SlurmPhase::Committing) else {
            return;
        };
        // Listed rather than looked up: a shared file system may remember for a while that a name is not there.
        let names = names_in(&job.folder);
        let has = |wanted: &str| names.iter().any(|name| name == wanted);
        if has(PROGRESS) {
            for told in read_progress(&job.folder.join(PROGRESS), &mut job.read) {
                match told {
                    AttemptProgress::WantsCheckpoint => job.wants_checkpoint = true,
                    told => self.reports.push_back(AttemptReport::Progress(place, told)),
                }
            }
        }
        if has(BEAT)
            && let Ok(beat) = fs_err::read(job.folder.join(BEAT))
            && beat != job.beat
        {
            (job.beat, job.beat_at) = (beat, Instant::now());
        }
        if has(CLAIM)
            && !job.is_claimed
            && let Some(claim) = job_file::ClaimFile::read(&job.folder)
        {
            job.is_claimed = true;
            job.beat_at = Instant::now();
            // Of two jobs with one token, this is the one that counts.
            job.phase = SlurmPhase::Sent { id: claim.job };
        }
        if has_outcome(&names) && job.given_up.is_none() {
            match OutcomeFile::read(&job.folder, &job.token) {
                Ok(Some(outcome)) => {
                    job.phase = SlurmPhase::Committing;
                    let mut prepared = outcome.prepared;
                    // Whatever ended it, somebody here had asked for that.
                    if job.aborts > 0
                        && let Err(unaccepted) = &mut prepared.result
                    {
                        *unaccepted = aborted();
                    }
                    self.to_commit.push_back((place, prepared, outcome.cells));
                }
                Ok(None) => {}
                Err(error) => {
                    let reason = format!("its outcome cannot be read: {}", error_chain(&error));
                    self.conclude(place, failed(reason));
                }
            }
        }
        self.save_half_way(place);
    }

    /// What Slurm lists, job by job.
    pub(super) fn compare(&mut self, listed: &[ListedJob]) {
        for job in self.jobs.values_mut() {
            let id = match &job.phase {
                SlurmPhase::Unsent | SlurmPhase::Asked | SlurmPhase::Committing => continue,
                SlurmPhase::Sent { id } => id.as_str(),
                SlurmPhase::Unanswered => "",
            };
            let own = listed.iter().filter(|listed| job.mark.is_of(&listed.id, &listed.comment));
            let found = own.max_by_key(|listed| listed.id == id);
            match (&job.phase, found) {
                (SlurmPhase::Unanswered, Some(found)) => {
                    job.phase = SlurmPhase::Sent { id: found.id.clone() };
                }
                // It never arrived, or the controller lost it; a claim says that it runs all the same.
                (SlurmPhase::Unanswered, None) => {
                    if !job.is_claimed {
                        job.phase = SlurmPhase::Unsent;
                    }
                    continue;
                }
                _ => {}
            }
            let is_running =
                |listed: &Option<ListedJob>| listed.as_ref().is_some_and(|listed| listed.state == "RUNNING");
            let was_running = is_running(&job.listed);
            job.listed = found.cloned();
            if is_running(&job.listed) && !was_running {
                job.since = Instant::now();
            }
            let is_gone = found.is_none_or(ListedJob::is_over);
            job.gone_since = if is_gone { job.gone_since.or_else(|| Some(Instant::now())) } else { None };
        }
    }
}

enum Overdue {
    Over(Unaccepted),
    Told(String),
}

impl SlurmJob {
    /// Nobody is silent who cannot be heard: while the exchange does not answer, and while what a node made is on its way here.
    fn overdue_by_relay(
        &mut self,
        relay: &EngineRelay,
        was_away: bool,
        to_cancel: &mut Vec<String>,
    ) -> Option<Overdue> {
        if let Some(trouble) = relay.trouble(&self.token).filter(|_| self.phase != SlurmPhase::Committing) {
            return Some(Overdue::Over(failed(format!("what it made cannot be fetched: {trouble}"))));
        }
        let looked = relay.looked();
        if relay.is_fetching(&self.token) || looked.elapsed() >= LONGEST_LOOK {
            let now = Instant::now();
            (self.beat_at, self.since) = (now, now);
            self.gone_since = self.gone_since.map(|_| now);
        }
        let had_given_up = self.given_up.is_some();
        let overdue = self.overdue(looked, was_away, to_cancel);
        if self.given_up.is_some() && !had_given_up {
            relay.revoke(&self.token);
        }
        overdue
    }

    /// `looked` is when what is known of the files was as it is known.
    fn overdue(&mut self, looked: Instant, was_away: bool, to_cancel: &mut Vec<String>) -> Option<Overdue> {
        if self.phase == SlurmPhase::Committing {
            return None;
        }
        if self.phase == SlurmPhase::Unsent && self.aborts > 0 {
            return Some(Overdue::Over(aborted()));
        }
        let SlurmPhase::Sent { id } = &self.phase else { return None };
        // As far as anybody could be heard.
        let silence = looked.saturating_duration_since(self.beat_at);
        if let Some(gone) = self.gone_since
            && looked.saturating_duration_since(gone) >= SETTLING
            && (!self.is_claimed || silence >= SILENCE_OF_GONE)
        {
            // It had ended before it saw what was handed over.
            if std::mem::take(&mut self.is_handed_over) && !self.is_claimed {
                (self.phase, self.gone_since) = (SlurmPhase::Unsent, None);
                return None;
            }
            return Some(Overdue::Over(self.reason_of_loss(was_away)));
        }
        let is_running = self.listed.as_ref().is_some_and(|listed| listed.state == "RUNNING");
        if self.given_up.is_none() && is_running {
            self.given_up = match self.is_claimed {
                true if silence >= SILENCE => {
                    Some(lost(format!("its node has not reported for {} s", SILENCE.as_secs())))
                }
                false if self.since.elapsed() >= self.longest_start() => {
                    let seconds = self.longest_start().as_secs();
                    let did_not = if self.is_handed_over { "take it over" } else { "begin" };
                    Some(lost(format!(
                        "its node did not {did_not} within {seconds} s, although Slurm runs its job"
                    )))
                }
                _ => None,
            };
            if self.given_up.is_some() {
                job_file::revoke(&self.folder);
            }
        }
        let is_ending_late = self.aborts > 0 && (!self.is_claimed || self.aborted_long_ago());
        let wants_end = self.given_up.is_some() || is_ending_late;
        let is_listed = self.listed.as_ref().is_some_and(|listed| !listed.is_over());
        if wants_end && is_listed && self.cancelled.is_none_or(|last| last.elapsed() >= BETWEEN_CANCELS) {
            self.cancelled = Some(Instant::now());
            to_cancel.push(id.clone());
        }
        let waiting = self.listed.as_ref().filter(|listed| listed.state == "PENDING");
        if let Some(listed) = waiting
            && !self.has_told_of_waiting
            && self.since.elapsed() >= LONG_WAIT
        {
            self.has_told_of_waiting = true;
            let (reason, seconds) = (&listed.reason, LONG_WAIT.as_secs());
            return Some(Overdue::Told(format!(
                "its job {id} has been waiting for {seconds} s; Slurm's reason is `{reason}` (`scontrol show job {id}` shows more)"
            )));
        }
        None
    }

    fn longest_start(&self) -> Duration {
        let before = self.job.attempt.saturating_sub(1).min(MOST_DOUBLINGS);
        LONGEST_START * 2_u32.pow(before)
    }

    fn aborted_long_ago(&self) -> bool {
        self.aborted_at.is_some_and(|at| at.elapsed() >= LONGEST_GRACE) || self.aborts > 1
    }

    /// Why there is no outcome, as far as that is known.
    fn reason_of_loss(&self, was_away: bool) -> Unaccepted {
        if self.aborts > 0 {
            return aborted();
        }
        if let Some(given_up) = &self.given_up {
            return given_up.clone();
        }
        let state = self.listed.as_ref().map_or("unknown", |listed| listed.state.as_str());
        match state {
            "CANCELLED" if !was_away => failed("its job was cancelled (`scancel`)".to_owned()),
            _ if !self.is_claimed && !was_away && state != "NODE_FAIL" && state != "unknown" => {
                failed(self.is_not_seen())
            }
            state => lost(format!("its job is gone without an outcome (Slurm reports: {state})")),
        }
    }

    fn is_not_seen(&self) -> String {
        if self.is_exchanged {
            return format!(
                "its job began on a node that cannot start checkstone, or cannot use the bucket with the credentials it has; \
                 `{}` on that node says which",
                NODE_LOG.replace("%j", "JOB")
            );
        }
        format!(
            "its job began on a node that does not see `{}`, or cannot start checkstone; both must be on a file system that \
             this machine and all nodes share (`slurm.log` in that folder may say more)",
            self.folder.display()
        )
    }
}

fn lost(reason: String) -> Unaccepted {
    Unaccepted { cause: Cause::Lost, reason }
}

/// The whole lines that came since the last time.
fn read_progress(path: &Path, read: &mut u64) -> Vec<AttemptProgress> {
    let mut bytes = Vec::new();
    let opened = fingerprint::open_regular(path).and_then(|mut file| {
        file.seek(SeekFrom::Start(*read))?;
        file.read_to_end(&mut bytes)
    });
    if opened.is_err() {
        return Vec::new();
    }
    let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
    *read += whole as u64;
    let lines = bytes.get(..whole).unwrap_or_default().split(|byte| *byte == b'\n');
    lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
}
