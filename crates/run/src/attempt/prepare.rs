//! The half of an attempt that needs nobody: its inputs are read, its command or cell is run and watched, and what it made is
//! looked at. It writes into the attempt's folder and nowhere else, so that it can be done on another machine.

use std::ffi::OsString;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use checkpoint::layout::SUPERVISOR;
use supervise::Observed;
use text::error_chain;

use super::ending::{described, judge, limits};
use super::{
    AttemptProgress, Cause, CheckpointsBy, FINGERPRINT, Job, PreparedResult, RunningAttempt, Unaccepted,
    failed,
};
use crate::event::{Accepted, AcceptedArtifact, AcceptedInput, VERIFY, WHILE_IT_RAN};
use crate::fingerprint;
use crate::input_content::{InputContent, InputReader, ReadInput};
use crate::marker_limit::MarkerLimit;
use crate::plan::{Input, Kind, Output, Stage};
use crate::planted_fault::{Oversight, overlooks};
use crate::publish;
use crate::stage_now::Known;
use crate::stage_parts;
use crate::stage_work::{self, CellJob, ExecuteError, StageEnded};

impl RunningAttempt<'_> {
    /// Where somebody asked for the end, that is why.
    fn aborted(&self) -> Option<Unaccepted> {
        let unaccepted = || Unaccepted { cause: Cause::Aborted, reason: "aborted".to_owned() };
        self.job.controls.is_asked().then(unaccepted)
    }

    /// Up to where only publishing is left.
    pub(super) fn prepared(&mut self) -> Result<PreparedResult, Unaccepted> {
        let Self { job, stage, .. } = *self;
        let attempt = job.layout.attempt(&stage.id, job.attempt)?;
        let artifacts = attempt.join("artifacts");
        publish::make_new_folder(job.layout.root(), &artifacts)?;
        let written = self.last_written();
        let inputs = self.inputs().map_err(|unaccepted| self.aborted().unwrap_or(unaccepted))?;
        let hashes: Vec<(String, String)> =
            inputs.iter().map(|input| (input.name.clone(), input.sha256.clone())).collect();
        let (python, code) = (&job.plan.python, &job.code.of_stage(stage));
        let fingerprint = fingerprint::of_stage(stage, python, code, &hashes, &job.preceding);
        let parts = stage_parts::of_stage(stage, python, code, &job.preceding);
        // For a later attempt, which goes on from this one's checkpoints only where it does the same.
        fs_err::write(attempt.join(FINGERPRINT), &fingerprint)?;
        let environment = self.environment(&artifacts, &fingerprint)?;
        // Asked for while the inputs were read: nothing is started then.
        self.aborted().map_or(Ok(()), Err)?;

        let ended = self.supervise(&environment, &attempt)?;
        let elapsed = ended.ending.elapsed;
        // A Python stage has told it itself.
        if stage.kind == Kind::Command {
            self.tell_beside(&ended.ending, "");
        }
        self.ending = Some(described(&ended.ending));
        judge(&ended.ending, "").map_err(|unaccepted| match ended.raised {
            Some(reason) => Unaccepted { reason, ..unaccepted },
            None => unaccepted,
        })?;
        let mut made = made(stage, &artifacts, job.plan.most_files)?;
        if let Some(verify) = &stage.verify {
            let left = stage.max_duration.saturating_sub(elapsed).max(Duration::from_secs(1));
            let command = supervise::Command {
                argv: verify.argv().into_iter().map(OsString::from).collect(),
                output: attempt.join("verify.log"),
                ..self.command(&environment, &attempt)
            };
            let limits = limits(stage, left, None);
            let verified = stage_work::command(&command, job.isolation, &limits, &job.controls, &mut |_| {})
                .map_err(|error| failed(format!("`verify` cannot be run: {}", error_chain(&error))))?;
            self.tell_beside(&verified, VERIFY);
            // It is part of the stage's time.
            if let Some(ending) = &mut self.ending {
                ending.elapsed_milliseconds += described(&verified).elapsed_milliseconds;
            }
            judge(&verified, VERIFY).inspect_err(|_| {
                self.ending.iter_mut().for_each(|ending| ending.verify_failed = true);
            })?;
            // It may have written there as well.
            made = self::made(stage, &artifacts, job.plan.most_files)?;
        }
        let session = Some(fingerprint::of_attempt(&fingerprint, job.layout.run(), job.attempt));
        let MadeEntries { files, folders } = made;
        let accepted = Accepted { fingerprint, parts, session, inputs, artifacts: Vec::new(), folders };
        self.is_known_by_what_it_read(&accepted, &written)?;
        Ok(PreparedResult { accepted, files, hashed: None, session: ended.state })
    }

    /// Read where the data is; whoever publishes it knows by that whether it arrived.
    pub(super) fn hashed(&self, prepared: PreparedResult) -> Result<PreparedResult, Unaccepted> {
        let artifacts = self.job.layout.attempt(&self.stage.id, self.job.attempt)?.join("artifacts");
        let hashed = prepared.files.iter().map(|file| {
            let path = artifacts.join(file);
            let content = fingerprint::open_regular(&path).and_then(|opened| {
                self.job.hashes.content(&self.job.layout.relative(&path), &opened, &|| true)
            });
            let content =
                content.map_err(|error| failed(format!("`{}` cannot be read: {error}", path.display())))?;
            Ok(AcceptedArtifact {
                path: file.clone(),
                sha256: content.sha256,
                size_bytes: content.bytes,
                identity: String::new(),
                permissions: content.permissions,
            })
        });
        let hashed = Some(hashed.collect::<Result<Vec<_>, Unaccepted>>()?);
        Ok(PreparedResult { hashed, ..prepared })
    }

    /// Nobody knows which content was read of something that changed meanwhile, so that what was made of it is nobody's result.
    fn is_known_by_what_it_read(
        &mut self,
        began: &Accepted,
        written: &[Option<String>],
    ) -> Result<(), Unaccepted> {
        let Self { job: Job { plan, layout, hashes, code, preceding, .. }, stage, .. } = *self;
        // What stages published is read as well: somebody may have written into it.
        let known = Known { plan, layout, hashes, code, accepted: &|_| None };
        let mut changes = known.changes_since(stage, began, preceding);
        if changes.is_empty() {
            // Changed and changed back: it may have read the one or the other.
            let now = self.last_written();
            let both =
                stage.inputs.iter().zip(written.iter().zip(&now)).filter(|(_, (then, now))| then != now);
            changes = both
                .map(|(input, _)| format!("input `{}` was written to", input.source.shown(plan)))
                .collect();
            // Twice is no accident: it does so itself, and leaves it as it was.
            if self.job.is_after_change {
                changes.drain(..).for_each(|change| self.warn(format!("{change} {WHILE_IT_RAN}, again")));
            }
        }
        if changes.is_empty() || overlooks(Oversight::ChangesMeanwhile) {
            return Ok(());
        }
        if let Some(aborted) = self.aborted() {
            return Err(aborted);
        }
        self.ending.iter_mut().for_each(|ending| ending.changed_meanwhile = true);
        Err(failed(format!("{} {WHILE_IT_RAN}", changes.join(", "))))
    }

    /// Output that could not be kept, and processes that were not waited for, are not lost without a word.
    fn tell_beside(&self, ending: &supervise::Ending, of: &str) {
        if let Some(trouble) = &ending.output.trouble {
            let shown = self.job.layout.relative(&ending.output.path);
            self.warn(format!("{of}its output in `{shown}` is incomplete: {trouble}"));
        }
        match ending.leftovers {
            0 => {}
            1 => self.warn(format!("{of}a process that it left running was killed")),
            number => self.warn(format!("{of}{number} processes that it left running were killed")),
        }
    }

    /// The stage's own command or cell, with what it tells on its way.
    fn supervise(
        &self,
        environment: &[(OsString, OsString)],
        attempt: &Path,
    ) -> Result<StageEnded, Unaccepted> {
        let Self { job, stage, tell, .. } = *self;
        let artifacts = attempt.join("artifacts");
        let command = self.command(environment, attempt);
        let is_checked = stage.max_duration > job.longest_unchecked && !stage.is_unchecked;
        let limits = supervise::Limits {
            checkpoint_every: is_checked.then_some(job.longest_unchecked),
            ..limits(stage, stage.max_duration, Some(artifacts.clone()))
        };
        std::thread::scope(|scope| {
            // The watchdog waits for nobody, so that saving at the stage's word is another thread's work.
            let (wanted, wishes) = mpsc::channel::<()>();
            scope.spawn(move || {
                while wishes.recv().is_ok() {
                    // Several words while one was being saved are one checkpoint.
                    while wishes.try_recv().is_ok() {}
                    if job.checkpoints == CheckpointsBy::Engine {
                        tell(AttemptProgress::WantsCheckpoint);
                        continue;
                    }
                    self.save_half_way(&artifacts);
                }
            });
            let mut markers = MarkerLimit::new();
            let mut observe = |observed| {
                if let Observed::Marker(marker) = &observed {
                    if marker.is_checkpoint() {
                        let _ = wanted.send(());
                    }
                    if !markers.lets_through(marker) {
                        return;
                    }
                }
                if let Some(progress) = progress(observed) {
                    tell(progress);
                }
            };
            let watched = match stage.kind {
                Kind::Command => {
                    stage_work::command(&command, job.isolation, &limits, &job.controls, &mut observe)
                        .map(|ending| StageEnded { ending, raised: None, state: None })
                }
                Kind::Python => {
                    let warn = |text| self.warn(text);
                    let cell = CellJob { job, stage, environment, limits: &limits, warn: &warn };
                    job.python.run(&cell, &mut observe).map_err(ExecuteError::from)
                }
            };
            drop(wanted);
            markers.left_out().into_iter().for_each(|told| self.warn(told));
            // It was to end before its code ran: while the kernel started, or was rehydrated.
            watched.map_err(|error| self.aborted().unwrap_or_else(|| error.into()))
        })
    }

    fn command(&self, environment: &[(OsString, OsString)], attempt: &Path) -> supervise::Command {
        supervise::Command {
            argv: self.stage.command.argv().into_iter().map(OsString::from).collect(),
            environment: environment.to_vec(),
            directory: self.job.layout.root().join(&self.stage.directory),
            output: attempt.join("output.log"),
            kept: self.job.kept_output,
            record: attempt.join(SUPERVISOR),
        }
    }

    /// When each input of the project was last written to; nothing of the others.
    fn last_written(&self) -> Vec<Option<String>> {
        let Job { plan, layout, .. } = self.job;
        let of_input =
            |input: &Input| InputContent::of(plan, layout, &input.source).ok()?.last_written(plan.most_files);
        self.stage.inputs.iter().map(of_input).collect()
    }

    /// Every input with its content as it is now.
    fn inputs(&self) -> Result<Vec<AcceptedInput>, Unaccepted> {
        let Self { job, stage, .. } = *self;
        let read = |input: &Input| {
            let content = InputContent::of(&job.plan, &job.layout, &input.source)?;
            let reader = InputReader {
                layout: &job.layout,
                hashes: &job.hashes,
                most_files: job.plan.most_files,
                may_go_on: &|| !job.controls.is_asked(),
            };
            let ReadInput { sha256, identity } = content.read(&reader).map_err(|error| {
                failed(format!("the input `{}` cannot be read: {error}", content.shown()))
            })?;
            if job.made.get(&input.name).is_some_and(|made| *made != sha256) {
                let shown = input.source.shown(&job.plan);
                return Err(failed(format!(
                    "the input `{shown}` was changed after it was made; `checkstone resume` restores it"
                )));
            }
            Ok(AcceptedInput { name: input.name.clone(), sha256, identity: identity.unwrap_or_default() })
        };
        stage.inputs.iter().map(read).collect()
    }
}

/// What an attempt made.
struct MadeEntries {
    files: Vec<String>,
    /// Those without anything in them.
    folders: Vec<String>,
}

/// All files of the attempt, the declared ones among them, and its empty folders.
fn made(stage: &Stage, artifacts: &Path, most: usize) -> Result<MadeEntries, Unaccepted> {
    let entries = publish::entries_up_to(artifacts, most).map_err(|error| {
        // What the plan speaks of has a line there.
        let is_it = |output: &&Output| {
            error.path().is_some_and(|path| path.starts_with(artifacts.join(&output.path)))
        };
        match stage.outputs.iter().find(is_it) {
            Some(output) => failed(output.place.problem(error_chain(&error)).to_string()),
            None => error.into(),
        }
    })?;
    let (folders, files): (Vec<String>, Vec<String>) =
        entries.into_iter().partition(|entry| entry.ends_with('/'));
    let folders = folders.iter().map(|folder| folder.trim_end_matches('/').to_owned()).collect();
    let declared = stage.outputs.iter().map(|output| output.path.as_str());
    let is_made = |path: &str| {
        let is_in =
            |file: &String| file == path || file.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        files.iter().any(is_in)
    };
    let missing: Vec<&str> = declared.filter(|path| !is_made(path)).collect();
    let folder = missing.iter().find(|path| artifacts.join(path).is_dir());
    match (folder, missing.is_empty()) {
        (Some(path), _) => Err(failed(format!("its output `{path}` is a folder without files"))),
        (None, false) => Err(failed(format!(
            "it did not write its output `{}` into `$CHECKSTONE_ARTIFACT_DIR`",
            missing.join("`, `")
        ))),
        (None, true) => Ok(MadeEntries { files, folders }),
    }
}

fn progress(observed: Observed) -> Option<AttemptProgress> {
    match observed {
        Observed::Marker(marker) => Some(AttemptProgress::Marker(marker.to_string())),
        Observed::Stall(stall) => {
            let (sign, looks) = (stall.signal.name(), stall.looks.name());
            let told = format!("{sign} for {} s, looks {looks}", stall.lasting.as_secs());
            Some(AttemptProgress::Stall(told))
        }
        Observed::Signalled(signal) => Some(AttemptProgress::Signalled(signal)),
        Observed::Suspended(time) => {
            let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            Some(AttemptProgress::Suspended { milliseconds })
        }
        // The kept output has all bytes, and how long a stop lasted is told at its end.
        Observed::Output { .. } | Observed::Stopped | Observed::Continued => None,
    }
}
