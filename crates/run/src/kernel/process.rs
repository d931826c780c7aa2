//! The kernel's process tree (stand-in until the supervisor can start one).

use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::supervisor::{Cause, Command, Controls, Grace, Signal, SpawnError, Status};

#[derive(Debug)]
pub(super) struct Process {
    controls: Controls,
    pub(super) gone: oneshot::Receiver<Option<Status>>,
    signals: mpsc::Receiver<Signal>,
    thread: Option<JoinHandle<()>>,
}

impl Process {
    pub(super) fn start(command: &Command) -> Result<Self, SpawnError> {
        let program = command.argv.first().ok_or(SpawnError::Empty)?;
        let log = std::fs::File::create(&command.output).map_err(SpawnError::Output)?;
        let mut child = std::process::Command::new(program)
            .args(command.argv.iter().skip(1))
            .env_clear()
            .envs(command.environment.iter().cloned())
            .current_dir(&command.directory)
            .stdin(std::process::Stdio::null())
            .stdout(log.try_clone().map_err(SpawnError::Output)?)
            .stderr(log)
            .process_group(0)
            .spawn()
            .map_err(|source| SpawnError::Program {
                program: program.to_string_lossy().into_owned(),
                source,
            })?;
        let controls = Controls::new().map_err(SpawnError::Shim)?;
        let (tell, gone) = oneshot::channel();
        let (tell_signal, signals) = mpsc::channel();
        let watched = controls.clone();
        let thread = std::thread::spawn(move || {
            let group = rustix::process::Pid::from_child(&child);
            let kill = |signal| {
                let _ = rustix::process::kill_process_group(group, signal);
            };
            let mut kill_at = None;
            let status = loop {
                if let Ok(Some(status)) = child.try_wait() {
                    break status;
                }
                if let Some(request) = watched.taken() {
                    let terminate = request.grace.and_then(|grace: Grace| grace.terminate);
                    if let (Some(wait), None) = (terminate, kill_at) {
                        kill(rustix::process::Signal::TERM);
                        let _ = tell_signal.send(Signal::Terminate);
                        kill_at = Some(Instant::now() + wait);
                    } else {
                        kill_at = Some(Instant::now());
                    }
                }
                if kill_at.is_some_and(|at| at <= Instant::now()) {
                    kill(rustix::process::Signal::KILL);
                    let _ = tell_signal.send(Signal::Kill);
                }
                std::thread::sleep(Duration::from_millis(5));
            };
            kill(rustix::process::Signal::KILL);
            let code = status.code().map(Status::Exited);
            let _ = tell.send(code.or(status.signal().map(Status::Killed)));
        });
        Ok(Self { controls, gone, signals, thread: Some(thread) })
    }

    pub(super) fn end(&self, cause: Cause, grace: Grace) {
        self.controls.end(cause, grace);
    }

    pub(super) fn signals(&self) -> impl Iterator<Item = Signal> + '_ {
        self.signals.try_iter()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.controls.end(Cause::Aborted, Grace::NONE);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
