//! Attempts as jobs of a Slurm cluster. A job is a file in its attempt's folder, which the engine writes, and so is its outcome,
//! which the node writes; Slurm only decides when and where. What it says about a job matters while there is no outcome:
//! whether the job is still to come, is alive, or is gone.
//!
//! **Fencing.** Every attempt has a token, which is in the record before the job is submitted, in the job's comment and in its
//! file. A submission that nobody answered is looked for by it, and made again if nothing is found. Should both exist, the one
//! that makes the claim in the attempt's folder carries it out, and the other one ends at once. An attempt that is given up
//! is revoked, its job is cancelled and waited for; whatever it still writes lies in a folder that nobody reads any more.

mod commands;
mod job_watch;
mod living_session;
mod submission;

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use checkpoint::layout::Layout;
use supervise::Controls;
use text::error_chain;

use super::{AttemptReport, AttemptTicket, Executor};
use crate::attempt::{self, Cause, Job, PreparedAttempt, Unaccepted};
use crate::exchange::{CarryError, EngineRelay, Exchange};
use crate::job_file::{self, ABORT, JobFile, JobMark, JobReference, ShownCells};
use crate::plan::Cluster;
use crate::publish;

pub use commands::NoSlurmError;
use commands::SlurmCall;
pub(crate) use commands::{CallFailure, ListedJob, SlurmCommands};
use living_session::LivingSession;
pub use submission::NODE_LOG;
use submission::{Submission, UnsentJob};

/// How often the folders of the attempts are looked into.
const LOOK: Duration = Duration::from_millis(200);
/// So many attempts are published and checkpointed at once.
const COMMITS: usize = 8;
/// So long one waits for jobs of a lost engine to end.
const LONGEST_END: Duration = Duration::from_secs(120);

/// What is known of the cluster before anything runs.
#[derive(Clone, Debug)]
pub struct SlurmSettings {
    pub cluster: Cluster,
    /// This program, as nodes find it.
    pub program: PathBuf,
    /// How nodes are reached that do not see the project's folder; none if they do.
    pub exchange: Option<Arc<dyn Exchange>>,
}

/// What other threads tell.
pub(crate) enum SlurmNews {
    Submitted(Vec<usize>, Result<String, CallFailure>),
    /// None if Slurm did not answer.
    Listed(Option<Vec<ListedJob>>),
    Report(AttemptReport),
    /// A checkpoint that a stage had wanted is saved, or could not be.
    SavedHalfWay(usize),
    /// What a stage needs on its node is where that finds it, or could not be put there.
    Packed(usize, Result<(), PackageError>),
    /// The node of a session has taken the stage, or does not wait any more.
    HandedOver(usize, LivingSession, bool),
}

/// Why what a stage needs is not where its node would find it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PackageError {
    #[error("there is no such stage")]
    NoStage,
    #[error(transparent)]
    Carry(#[from] CarryError),
}

pub(crate) struct Slurm {
    settings: SlurmSettings,
    is_trusted: bool,
    is_secret: fn(&str, &str) -> bool,
    jobs: HashMap<usize, SlurmJob>,
    calls: Sender<SlurmCall>,
    sender: Sender<SlurmNews>,
    news: Receiver<SlurmNews>,
    reports: VecDeque<AttemptReport>,
    looked: Instant,
    /// When Slurm was last asked, and whether the answer is still to come.
    asked: Instant,
    is_asking: bool,
    /// When it last did not answer.
    unanswered: Option<Instant>,
    to_commit: VecDeque<(usize, PreparedAttempt, ShownCells)>,
    committing: usize,
    session: Option<LivingSession>,
    /// Carries files between the attempts' folders here and their nodes, if these do not see them.
    relay: Option<Arc<EngineRelay>>,
    packing: usize,
    /// Nothing here can be ended by it: jobs are ended by files and by Slurm.
    controls: Controls,
}

struct SlurmJob {
    job: Arc<Job>,
    token: String,
    folder: PathBuf,
    /// By which its job is known in the list. Numbers are given twice by a controller that lost its memory.
    mark: JobMark,
    phase: SlurmPhase,
    /// The node that is asked first: it has the session.
    session: Option<LivingSession>,
    /// A node had it as the next stage of its session.
    is_handed_over: bool,
    /// The attempt before it on that node, whose objects are kept until this one is over.
    handed_over_by: Option<String>,
    /// Those of its environment variables that are in no file.
    secrets: Vec<(OsString, OsString)>,
    /// What Slurm said last.
    listed: Option<ListedJob>,
    is_claimed: bool,
    /// Since when it waits for its turn; since when it runs without a claim.
    since: Instant,
    has_told_of_waiting: bool,
    beat: Vec<u8>,
    beat_at: Instant,
    /// So much of its progress was read.
    read: u64,
    aborts: usize,
    aborted_at: Option<Instant>,
    cancelled: Option<Instant>,
    /// It was given up for this, and its end is waited for.
    given_up: Option<Unaccepted>,
    gone_since: Option<Instant>,
    /// A checkpoint is being saved, and perhaps another one is wanted already.
    is_saving: bool,
    wants_checkpoint: bool,
    package: Package,
    /// Its node does not see its folder.
    is_exchanged: bool,
}

/// Whether a node has what it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Package {
    /// It sees the folder, or what it needs was put.
    There,
    Missing,
    UnderWay,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum SlurmPhase {
    Unsent,
    /// `sbatch` is under way.
    Asked,
    /// Nobody knows whether there is a job.
    Unanswered,
    Sent {
        id: String,
    },
    Committing,
}

impl Slurm {
    pub(crate) fn new(
        settings: &SlurmSettings,
        commands: SlurmCommands,
        is_trusted: bool,
        is_secret: fn(&str, &str) -> bool,
    ) -> io::Result<Self> {
        let (calls, to_call) = mpsc::channel();
        let (sender, news) = mpsc::channel();
        let teller = sender.clone();
        std::thread::Builder::new().spawn(move || commands.serve(&to_call, &teller))?;
        Ok(Self {
            settings: settings.clone(),
            is_trusted,
            is_secret,
            jobs: HashMap::new(),
            calls,
            sender,
            news,
            reports: VecDeque::new(),
            looked: Instant::now(),
            asked: Instant::now(),
            is_asking: false,
            unanswered: None,
            to_commit: VecDeque::new(),
            committing: 0,
            session: None,
            relay: None,
            packing: 0,
            controls: Controls::new()?,
        })
    }

    fn job_file(&self, job: &Job) -> io::Result<JobFile> {
        let file = JobFile::of(job, self.is_trusted, self.is_secret);
        file.ok_or_else(|| io::Error::other("there is no such stage"))
    }

    fn folder(job: &Job) -> io::Result<PathBuf> {
        let id = job.stage().map(|stage| stage.id.as_str()).unwrap_or_default();
        job.layout.attempt(id, job.attempt).map_err(io::Error::other)
    }

    fn insert(&mut self, job: Job, file: &JobFile, folder: PathBuf, phase: SlurmPhase) -> &mut SlurmJob {
        let (now, stage) = (Instant::now(), job.stage);
        let token = job.token.clone().unwrap_or_default();
        let secrets = job.stage().map(|stage| file.secrets(stage)).unwrap_or_default();
        let new = SlurmJob {
            mark: JobMark::of_attempt(&folder, &token),
            token,
            job: Arc::new(job),
            folder,
            phase,
            session: None,
            is_handed_over: false,
            handed_over_by: None,
            secrets,
            listed: None,
            is_claimed: false,
            since: now,
            has_told_of_waiting: false,
            beat: Vec::new(),
            beat_at: now,
            read: 0,
            aborts: 0,
            aborted_at: None,
            cancelled: None,
            given_up: None,
            gone_since: None,
            is_saving: false,
            wants_checkpoint: false,
            package: if self.relay.is_some() { Package::Missing } else { Package::There },
            is_exchanged: self.relay.is_some(),
        };
        if let Some(relay) = &self.relay {
            relay.follow(&new.token, &new.folder);
        }
        self.jobs.entry(stage).insert_entry(new).into_mut()
    }

    /// The relay of the run, if there has to be one.
    fn start_relay(&mut self, layout: &Layout) -> io::Result<()> {
        if let (None, Some(exchange)) = (&self.relay, &self.settings.exchange) {
            let store = exchange.of_run(layout.title(), layout.run()).map_err(io::Error::other)?;
            self.relay = Some(Arc::new(EngineRelay::start(store)));
        }
        Ok(())
    }

    /// Puts what the next stages need on their nodes where these find it, a few at a time.
    fn pack(&mut self) {
        let Some(relay) = &self.relay else { return };
        let mut places: Vec<usize> = self.jobs.keys().copied().collect();
        places.sort_unstable();
        for place in places {
            let is_due =
                |job: &&mut SlurmJob| job.phase == SlurmPhase::Unsent && job.package == Package::Missing;
            let Some(job) = self.jobs.get_mut(&place).filter(is_due) else { continue };
            if self.packing >= COMMITS {
                return;
            }
            self.packing += 1;
            job.package = Package::UnderWay;
            let file = JobFile::of(&job.job, self.is_trusted, self.is_secret);
            let (job, relay, sender) = (Arc::clone(&job.job), Arc::clone(relay), self.sender.clone());
            std::thread::spawn(move || {
                let packed = file
                    .ok_or(PackageError::NoStage)
                    .and_then(|file| Ok(submission::put_package(&job, file, &relay)?));
                let _ = sender.send(SlurmNews::Packed(place, packed));
            });
        }
    }

    /// Everything that waits to be submitted.
    fn send(&mut self) {
        self.pack();
        self.hand_over();
        let is_unsent = |job: &&SlurmJob| job.phase == SlurmPhase::Unsent && job.package == Package::There;
        let mut places: Vec<usize> = self.jobs.values().filter(is_unsent).map(|job| job.job.stage).collect();
        if places.is_empty() {
            return;
        }
        places.sort_unstable();
        let unsent: Vec<UnsentJob<'_>> = places
            .iter()
            .filter_map(|place| {
                let job = self.jobs.get(place)?;
                let reference = match &self.relay {
                    Some(_) => JobReference::of_exchange(&job.token),
                    None => JobReference::of(&job.folder, &job.token),
                };
                let secrets = job.secrets.clone();
                Some(UnsentJob { place: *place, job: &job.job, reference, secrets })
            })
            .collect();
        let mut sent = Vec::new();
        for group in submission::grouped(unsent) {
            let Some(first) = group.first() else { continue };
            let token = if group.len() == 1 { first.reference.token.clone() } else { files::random_id() };
            let folder = submission::list_folder(first.job);
            let made = match group.len() {
                1 => Ok(()),
                _ => publish::make_folder(first.job.layout.root(), &folder).map_err(io::Error::other),
            };
            let store = self.relay.as_ref().map(|relay| relay.store.as_ref());
            let submission =
                made.and_then(|()| Submission::of(&group, &token, &self.settings, store, &folder));
            let marks = group.iter().enumerate().map(|(place, one)| {
                let place = (group.len() > 1).then_some(place);
                (one.place, JobMark { token: token.clone(), place })
            });
            sent.push((submission, marks.collect::<Vec<_>>()));
        }
        for (submission, marks) in sent {
            match submission {
                Ok(Some(submission)) => {
                    for (place, mark) in marks {
                        if let Some(job) = self.jobs.get_mut(&place) {
                            job.set_mark(mark);
                            job.phase = SlurmPhase::Asked;
                        }
                    }
                    let _ = self.calls.send(SlurmCall::Submit(submission));
                }
                Ok(None) => {}
                Err(error) => {
                    for (place, _) in marks {
                        self.conclude(place, failed(format!("its job cannot be written: {error}")));
                    }
                }
            }
        }
    }

    fn hear(&mut self, news: SlurmNews) {
        match news {
            SlurmNews::Submitted(places, result) => self.submitted(&places, result),
            SlurmNews::Listed(listed) => {
                self.is_asking = false;
                self.asked = Instant::now();
                match listed {
                    Some(listed) => self.compare(&listed),
                    None => self.unanswered = Some(Instant::now()),
                }
            }
            SlurmNews::SavedHalfWay(place) => {
                if let Some(job) = self.jobs.get_mut(&place) {
                    job.is_saving = false;
                }
                self.save_half_way(place);
            }
            SlurmNews::Packed(place, packed) => {
                self.packing -= 1;
                if let Some(job) = self.jobs.get_mut(&place) {
                    job.package = Package::There;
                }
                if let Err(error) = packed {
                    let why = error_chain(&error);
                    self.conclude(place, failed(format!("what it needs cannot be sent to a node: {why}")));
                }
            }
            SlurmNews::Report(report) => {
                if let AttemptReport::Ended(place, outcome) = &report {
                    self.committing -= 1;
                    self.note_session(*place, outcome.result.as_ref().ok());
                    let ended = self.jobs.remove(place);
                    if let Some(session) = ended.as_ref().and_then(|job| job.session.as_ref()) {
                        self.close(&session.folder, &session.token);
                    }
                    let before = ended.and_then(|job| job.handed_over_by);
                    if let (Some(relay), Some(before)) = (&self.relay, before) {
                        relay.forget(&before);
                    }
                }
                self.reports.push_back(report);
            }
            SlurmNews::HandedOver(place, session, is_taken) => self.handed_over(place, session, is_taken),
        }
    }

    fn submitted(&mut self, places: &[usize], result: Result<String, CallFailure>) {
        if matches!(result, Err(CallFailure::Unanswered(_))) {
            self.unanswered = Some(Instant::now());
        }
        for (number, place) in places.iter().enumerate() {
            let Some(job) = self.jobs.get_mut(place) else { continue };
            if job.phase != SlurmPhase::Asked {
                continue;
            }
            job.since = Instant::now();
            match &result {
                Ok(id) if places.len() == 1 => job.phase = SlurmPhase::Sent { id: id.clone() },
                Ok(id) => job.phase = SlurmPhase::Sent { id: format!("{id}_{number}") },
                Err(CallFailure::Unanswered(_)) => {
                    job.phase = SlurmPhase::Unanswered;
                }
                Err(CallFailure::Refused(why)) => {
                    let reason = format!("Slurm refused its job: {why}");
                    self.conclude(*place, failed(reason));
                }
            }
        }
    }

    /// The attempt is over without an outcome of its own. What it may still write counts no more.
    fn conclude(&mut self, place: usize, unaccepted: Unaccepted) {
        let Some(job) = self.jobs.get_mut(&place) else { return };
        job_file::revoke(&job.folder);
        if let Some(relay) = &self.relay {
            relay.revoke(&job.token);
        }
        job.phase = SlurmPhase::Committing;
        let prepared = PreparedAttempt { ending: None, result: Err(unaccepted), session_after_failure: None };
        self.to_commit.push_back((place, prepared, ShownCells::default()));
    }

    /// What the nodes prepared is committed, a few at a time.
    fn commit(&mut self) {
        let mut waiting = VecDeque::new();
        while let Some((place, prepared, cells)) = self.to_commit.pop_front() {
            let Some(job) = self.jobs.get(&place) else { continue };
            if job.is_saving || self.committing >= COMMITS {
                waiting.push_back((place, prepared, cells));
                continue;
            }
            self.committing += 1;
            let (job, sender) = (Arc::clone(&job.job), self.sender.clone());
            std::thread::spawn(move || {
                let teller = sender.clone();
                let tell =
                    move |told| drop(teller.send(SlurmNews::Report(AttemptReport::Progress(place, told))));
                for text in job.python.show(&job.layout, cells) {
                    tell(attempt::AttemptProgress::Warning(text));
                }
                let outcome = Box::new(attempt::commit(&job, prepared, &tell));
                let _ = sender.send(SlurmNews::Report(AttemptReport::Ended(place, outcome)));
            });
        }
        self.to_commit = waiting;
    }

    /// A stage wants what it has so far to be kept.
    fn save_half_way(&mut self, place: usize) {
        let Some(job) = self.jobs.get_mut(&place) else { return };
        if job.is_saving || !std::mem::take(&mut job.wants_checkpoint) {
            return;
        }
        job.is_saving = true;
        let (job, sender) = (Arc::clone(&job.job), self.sender.clone());
        std::thread::spawn(move || {
            let teller = sender.clone();
            let tell = move |told| drop(teller.send(SlurmNews::Report(AttemptReport::Progress(place, told))));
            attempt::save_half_way(&job, &tell);
            let _ = sender.send(SlurmNews::SavedHalfWay(place));
        });
    }

    /// Asks Slurm about all jobs at once, if there is one whose state matters.
    fn ask(&mut self) {
        let is_unanswered = |job: &SlurmJob| job.phase == SlurmPhase::Unanswered || job.given_up.is_some();
        let is_urgent = self.jobs.values().any(|job| is_unanswered(job) || job.aborts > 0);
        let is_sent = self.jobs.values().any(|job| job.phase != SlurmPhase::Committing);
        let pause = if is_urgent { Duration::from_secs(1) } else { self.settings.cluster.poll };
        if is_sent && !self.is_asking && self.asked.elapsed() >= pause {
            self.is_asking = self.calls.send(SlurmCall::Look).is_ok();
        }
    }
}

impl Executor for Slurm {
    fn ticket(&mut self) -> io::Result<AttemptTicket> {
        let token = files::random_key()?;
        Ok(AttemptTicket { controls: self.controls.clone(), token: Some(text::head(&token, 16).to_owned()) })
    }

    fn submit(&mut self, job: Job) -> io::Result<()> {
        let folder = Self::folder(&job)?;
        job.make_folder().map_err(io::Error::other)?;
        self.start_relay(&job.layout)?;
        let file = self.job_file(&job)?;
        file.write(&folder).map_err(io::Error::other)?;
        let session = self.session_for(&job, &file);
        self.insert(job, &file, folder, SlurmPhase::Unsent).session = session;
        Ok(())
    }

    fn poll(&mut self, wait: Duration) -> Option<AttemptReport> {
        if self.reports.is_empty() {
            self.send();
            self.ask();
            if let Ok(news) = self.news.recv_timeout(wait) {
                self.hear(news);
                while let Ok(news) = self.news.try_recv() {
                    self.hear(news);
                }
            }
            if self.looked.elapsed() >= LOOK {
                self.watch();
                self.looked = Instant::now();
            }
            self.commit();
        }
        self.reports.pop_front()
    }

    fn cancel(&mut self, stage: usize) -> bool {
        let Some(job) = self.jobs.get_mut(&stage).filter(|job| job.phase != SlurmPhase::Committing) else {
            return self.jobs.contains_key(&stage);
        };
        job.aborts += 1;
        job.aborted_at = job.aborted_at.or_else(|| Some(Instant::now()));
        // As many characters as requests.
        let _ = fs_err::write(job.folder.join(ABORT), "!".repeat(job.aborts));
        if let Some(relay) = &self.relay {
            relay.abort(&job.token, job.aborts);
        }
        if job.phase == SlurmPhase::Unsent {
            self.conclude(stage, aborted());
        }
        true
    }

    /// A job that is still the same work goes on; whether it has ended meanwhile is seen by its files.
    fn adopt(&mut self, job: Job) -> Result<(), Box<Job>> {
        let read = |job: &Job| {
            let folder = Self::folder(job).ok()?;
            let (file, own) = (JobFile::read(&folder.join(job_file::JOB)).ok()?, self.job_file(job).ok()?);
            own.is_same_work(&file).then_some((folder, own))
        };
        let found = read(&job).filter(|_| self.start_relay(&job.layout).is_ok());
        match found {
            Some((folder, file)) => {
                self.insert(job, &file, folder, SlurmPhase::Unanswered);
                Ok(())
            }
            None => Err(Box::new(job)),
        }
    }

    fn holds(&self, session: &str) -> bool {
        self.session.as_ref().is_some_and(|living| living.known_as == session)
    }

    fn completed(&mut self) {
        if let Some(relay) = &self.relay {
            // What stays costs room alone, and goes with the run.
            let _ = relay.store.remove_all("");
        }
    }

    /// The next engine adopts them.
    fn let_go(&mut self) {}
}

impl Drop for Slurm {
    fn drop(&mut self) {
        if let Some(session) = &self.session {
            self.close(&session.folder, &session.token);
        }
    }
}

impl SlurmJob {
    /// For an engine that adopts it, where it is another one than the attempt's own. Where that cannot be written, the job is
    /// submitted once more, and the claim decides.
    fn set_mark(&mut self, mark: JobMark) {
        if mark.token != self.token {
            let _ = mark.write(&self.folder);
        }
        self.mark = mark;
    }

    /// What Slurm calls the job that carries it out, once that is known.
    fn claimed_id(&self) -> Option<String> {
        job_file::ClaimFile::read(&self.folder).map(|claim| claim.job)
    }
}

fn failed(reason: String) -> Unaccepted {
    Unaccepted { cause: Cause::Failed, reason }
}

fn aborted() -> Unaccepted {
    Unaccepted { cause: Cause::Aborted, reason: "aborted".to_owned() }
}

/// Why jobs of a lost engine may still be alive.
#[derive(Debug, thiserror::Error)]
pub enum EndJobsError {
    #[error(transparent)]
    NoSlurm(#[from] NoSlurmError),
    #[error("Slurm did not confirm within {} s that the jobs of the last attempts have ended: {why}", LONGEST_END.as_secs())]
    Unanswered { why: String },
}

/// Ends the jobs of attempts that are not to go on, and waits until nothing of them is left.
pub(crate) fn end_jobs(
    layout: &Layout,
    attempts: &[(String, u32, String)],
    environment: &[(OsString, OsString)],
) -> Result<(), EndJobsError> {
    let mut wanted: Vec<JobMark> = Vec::new();
    for (stage, number, token) in attempts {
        let Ok(folder) = layout.attempt(stage, *number) else { continue };
        wanted.push(JobMark::of_attempt(&folder, token));
        job_file::revoke(&folder);
    }
    let commands = SlurmCommands::find(environment)?;
    let began = Instant::now();
    loop {
        let why = match commands.look() {
            Ok(listed) => {
                let is_ours = |job: &&ListedJob| {
                    !job.is_over() && wanted.iter().any(|mark| mark.is_of(&job.id, &job.comment))
                };
                let alive: Vec<String> = listed.iter().filter(is_ours).map(|job| job.id.clone()).collect();
                if alive.is_empty() {
                    return Ok(());
                }
                let _ = commands.cancel(&alive);
                format!("{} alive", text::counted(alive.len(), "job"))
            }
            Err(CallFailure::Refused(why) | CallFailure::Unanswered(why)) => why,
        };
        if began.elapsed() > LONGEST_END {
            return Err(EndJobsError::Unanswered { why });
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}
