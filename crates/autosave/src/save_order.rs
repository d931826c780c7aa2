//! A save that a stop leaves to a process of its own. The agent does not wait: the stop says what is to be saved as it is now, and
//! hears no more of it than comes within a moment. How it ended is in the journal by the time that anybody is told.

use std::io::{self, BufRead as _, BufReader};
use std::process::ChildStdout;
use std::sync::mpsc;
use std::time::Duration;

use change_set::BytePath;
use changes::Repository;
use files::{Lock, LockError};
use gate::policy::{Autosave, Problems};
use jiff::Timestamp;
use journal::{AutosaveId, Journal, SessionId, TurnId};
use serde::{Deserialize, Serialize};
use stop::{ClientEvent, lock_file};
use text::counted;
use transcript::Agent;

use crate::begun_saves::{self, BegunSave, EndedSaves, Listener};
use crate::ended_save::{EndedSave, SaveResult};
use crate::facts::Occasion;
use crate::reason::Reason;
use crate::save::Save;
use crate::saving_settings::SavingSettings;

/// So often a save is tried at one crossing, where what stands in its way may pass.
const TRIES: u32 = 3;

/// One save at a time in a repository; another one is waited for.
const OTHERS: Duration = Duration::from_secs(120);

/// By then the process has its lock.
const SECONDS_TO_START: i64 = 10;

/// What the process is told, on its stdin.
#[derive(Debug, Serialize, Deserialize)]
pub struct SaveOrder {
    token: String,
    root: BytePath,
    agent: Agent,
    session: Option<String>,
    turn_key: Option<String>,
    session_id: i64,
    turn_id: i64,
    at_ms: i64,
    reason: Reason,
    percent: Option<u64>,
    iteration: Option<u64>,
    /// Which attempt this is at one crossing of the threshold, counted from 1.
    attempt: u32,
    /// The branch that HEAD was on when the save was ordered: it is committed there or not at all.
    branch: Option<String>,
    notes: String,
    changed: Vec<BytePath>,
    staged: Vec<BytePath>,
}

impl SaveOrder {
    pub(crate) fn new(save: &Save, session: SessionId, turn: TurnId, attempt: u32) -> Self {
        let Occasion { at, reason, percent, iteration } = save.occasion;
        let changed = save.named().to_vec();
        let ask = || keeping::commit::branch(&save.repository, &save.saving.git).ok().flatten();
        Self {
            token: files::random_id(),
            root: BytePath::from(save.repository.root.as_path()),
            agent: save.agent,
            session: save.session.clone(),
            turn_key: save.turn_key.clone(),
            session_id: session.0,
            turn_id: turn.0,
            at_ms: at.as_millisecond(),
            reason,
            percent,
            iteration,
            attempt,
            branch: save.branch.clone().or_else(ask),
            notes: save.notes.clone(),
            changed,
            staged: save.staged.clone(),
        }
    }

    pub fn root(&self) -> &BytePath {
        &self.root
    }

    pub fn agent(&self) -> Agent {
        self.agent
    }

    pub fn client_session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Leaves the save to a process of its own, and waits for it for so long. What is answered is known to be true.
    pub(crate) fn start(&self, journal: &mut Journal, saving: &SavingSettings, wait: Duration) -> EndedSave {
        let session = SessionId(self.session_id);
        let at = Timestamp::from_millisecond(self.at_ms).unwrap_or_default();
        let begun = journal.write(|writing| begun_saves::begin(writing, session, &self.token, at));
        if let Err(error) = begun {
            return EndedSave::failed(&format!("the save cannot be recorded: {error}"));
        }
        let started =
            serde_json::to_vec(self).map_err(io::Error::from).and_then(|order| (saving.start_save)(&order));
        let ended = match started {
            Ok(output) => hear(output, wait),
            Err(error) => Some(EndedSave::failed(&format!("the save could not be started: {error}"))),
        };
        if ended.is_some() {
            // It is told right now. If this fails it is told again, which is the lesser evil.
            let _ = journal.write(|writing| begun_saves::forget(writing, session, &self.token));
        }
        ended.unwrap_or_else(EndedSave::begun)
    }

    /// Saves, records how it ended, and says so. The settings are asked for when it is this save's turn. The id is that of a save
    /// whose push is left to the caller.
    pub fn carry_out(
        self,
        journal: &mut Journal,
        settings: impl FnOnce(&mut Journal) -> Result<Autosave, Problems>,
        saving: SavingSettings,
        event: &ClientEvent,
    ) -> (EndedSave, Option<AutosaveId>) {
        let (session, turn, attempt) = (SessionId(self.session_id), TurnId(self.turn_id), self.attempt);
        let token = self.token.clone();
        let (lock, save) = match self.lock(&saving) {
            Ok((repository, lock)) => (Some(lock), self.into_save(repository, settings(journal), saving)),
            Err(ended) => (None, Err(ended)),
        };
        let (mut ended, id, may_pass) = match save {
            Ok(save) => {
                let (report, recorded) = save.save(journal, Some(session), Some(turn));
                report.log(event, &save.saving);
                (report.ended_save(), recorded.unwrap_or_default(), report.may_pass())
            }
            Err(ended) => {
                event.log("autosave", &ended.sentence);
                (*ended, None, true)
            }
        };
        if is_tried_again(journal, session, attempt, (ended.result, may_pass), event) {
            ended.sentence.push_str("; it is tried again at the next stop");
        }
        if let Err(error) = journal.write(|writing| begun_saves::end(writing, session, &token, &ended)) {
            event.log("autosave", &format!("its result is not recorded: {error}"));
        }
        // Not before: a save without a lock and without an end counts as lost.
        drop(lock);
        (ended, id)
    }

    fn lock(&self, saving: &SavingSettings) -> Result<(Repository, Lock), Box<EndedSave>> {
        let repository = Repository::discover(self.root.as_path()).map_err(|error| failed(&error))?;
        let lock = Lock::acquire(&running(saving, &repository), OTHERS).map_err(|error| match error {
            LockError::Busy { .. } => failed(&"another save has been running here for two minutes"),
            error => failed(&error),
        })?;
        Ok((repository, lock))
    }

    fn into_save(
        self,
        repository: Repository,
        settings: Result<Autosave, Problems>,
        saving: SavingSettings,
    ) -> Result<Save, Box<EndedSave>> {
        // By the defaults it might be pushed where the user has forbidden it.
        let settings = settings.map_err(|problems| {
            failed(&format!("the settings have {}", counted(problems.0.len(), "mistake")))
        })?;
        let now = keeping::commit::branch(&repository, &saving.git).map_err(|error| failed(&error))?;
        if now != self.branch {
            let [before, now] = [&self.branch, &now].map(|branch| match branch {
                Some(branch) => format!("on `{}`", transcript::visible(branch)),
                None => "on no branch".to_owned(),
            });
            return Err(failed(&format!("HEAD was {before} at the stop, and is {now} now")));
        }
        let at = Timestamp::from_millisecond(self.at_ms).map_err(|error| failed(&error))?;
        Ok(Save {
            repository,
            settings,
            agent: self.agent,
            session: self.session,
            turn_key: self.turn_key,
            saving,
            occasion: Occasion { at, reason: self.reason, percent: self.percent, iteration: self.iteration },
            branch: self.branch,
            notes: self.notes,
            changed: self.changed,
            staged: self.staged,
            no_push: None,
        })
    }
}

fn failed(why: &dyn std::fmt::Display) -> Box<EndedSave> {
    Box::new(EndedSave::failed(&why.to_string()))
}

/// What the process says, if it says it in time. It goes on in any case.
fn hear(output: ChildStdout, wait: Duration) -> Option<EndedSave> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(output).read_line(&mut line);
        let _ = sender.send(read.ok().and_then(|_| serde_json::from_str(&line).ok()));
    });
    receiver.recv_timeout(wait).ok().flatten()
}

/// The lock that a process has for as long as it saves.
fn running(saving: &SavingSettings, repository: &Repository) -> std::path::PathBuf {
    lock_file(&saving.state, "autosave-running", repository)
}

/// Whether a save that a stop has left is at work in the repository.
pub fn is_running(saving: &SavingSettings, repository: &Repository) -> bool {
    let lock = running(saving, repository);
    lock.is_file() && matches!(Lock::acquire(&lock, Duration::ZERO), Err(LockError::Busy { .. }))
}

/// How saves of the session ended of which nobody has been told yet.
pub fn take_ended(
    journal: &mut Journal,
    session: SessionId,
    listener: Listener,
    saving: &SavingSettings,
    repository: Option<&Repository>,
    now: Timestamp,
) -> EndedSaves {
    let is_free =
        || repository.is_some_and(|one| Lock::acquire(&running(saving, one), Duration::ZERO).is_ok());
    let is_lost = |begun: &BegunSave| begun.is_older_than(SECONDS_TO_START, now) && is_free();
    journal.write(|writing| begun_saves::take(writing, session, listener, is_lost)).unwrap_or_default()
}

/// Whether the next stop tries again what failed now. Where there was nothing to save, the crossing stays as well.
fn is_tried_again(
    journal: &mut Journal,
    session: SessionId,
    attempt: u32,
    (result, may_pass): (SaveResult, bool),
    event: &ClientEvent,
) -> bool {
    let is_nothing = result == SaveResult::Nothing;
    if !is_nothing && (!may_pass || attempt >= TRIES) {
        return false;
    }
    let kept = journal.write(|writing| match is_nothing {
        true => writing.take_back_try(session),
        false => writing.try_again(session),
    });
    match kept {
        Ok(()) if is_nothing => false,
        Ok(()) => {
            event.log("autosave", "the save is tried again at the next stop");
            true
        }
        Err(error) => {
            event.log("autosave", &format!("not tried again: {error}"));
            false
        }
    }
}
