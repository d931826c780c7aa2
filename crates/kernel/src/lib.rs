//! A Jupyter kernel: one per run, started from the project's Python, asked over the Jupyter protocol, one cell after the
//! other, and supervised like any stage.
//!
//! A cell that takes too long is interrupted as the kernel itself does it first, so that its variables survive; what does
//! not end by that is ended as a whole process tree. Whatever the cell had put out until then is kept.

mod cell;
mod channels;
mod json;
mod last_words;
pub mod notebook;
mod outputs;
mod process;
pub mod python_environment;
mod python_literal;
pub mod rehydration;

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jupyter_protocol::ExecuteRequest;
use serde_json::Value;
use tokio::runtime::Runtime;

pub use cell::{CellEnding, ExecutedCell};
pub use channels::ChannelError;
use channels::{Channels, ConnectionFolder, receive};
use last_words::LastWords;
pub use outputs::Spool;
pub use outputs::read_again;
use process::Process;

use supervise::{Cause, Controls, Grace, Isolated, Isolation, SpawnError, Status};

use crate::json::{at, text};
use crate::python_literal::python_literal;

/// How the kernel is started. Nothing is inherited.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program and its arguments; `{connection_file}` in them is replaced.
    pub argv: Vec<OsString>,
    pub environment: Vec<(OsString, OsString)>,
    pub directory: PathBuf,
    /// A folder for a private folder with the sockets.
    pub scratch: PathBuf,
    /// What the kernel's process itself writes, besides the outputs of cells.
    pub log: PathBuf,
    /// For the sweep after a lost supervisor.
    pub record: PathBuf,
    pub isolation: Isolation,
    /// A kernel that does not answer for so long will not.
    pub patience: Duration,
}

#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    #[error("the kernel cannot be started")]
    Spawn(#[source] SpawnError),
    #[error(transparent)]
    Channel(#[from] ChannelError),
    #[error("cannot make the runtime for the kernel's sockets")]
    Runtime(#[source] std::io::Error),
    #[error(
        "the kernel ended before it could be used ({}{}); `{}` has all of its output",
        ended(*status), last_line(said), log.display()
    )]
    EndedEarly { status: Option<Status>, said: String, log: PathBuf },
    #[error("the kernel did not answer for {} s; `{}` has its output", patience.as_secs(), log.display())]
    NoAnswer { patience: Duration, log: PathBuf },
    #[error("aborted")]
    Aborted,
    #[error("the kernel is gone ({})", ended(*status))]
    Gone { status: Option<Status> },
    #[error("the kernel could not do what checkstone asked of it: {0}")]
    Asked(String),
    #[error("cannot keep the output in `{}`", path.display())]
    Spool { path: PathBuf, source: std::io::Error },
}

fn ended(status: Option<Status>) -> String {
    match status {
        Some(Status::Exited(code)) => format!("exit code {code}"),
        Some(Status::Killed(signal)) => format!("signal {signal}"),
        None => "unknown cause".to_owned(),
    }
}

/// The last thing that a program said, which is where Python names the error.
fn last_line(said: &str) -> String {
    let line = said.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let shown: String = line.chars().filter(|character| !character.is_control()).take(200).collect();
    if shown.is_empty() { shown } else { format!(": {shown}") }
}

/// Python that is run once in every kernel.
const PREPARE: &str = include_str!("prepare.py");

#[derive(Debug)]
pub struct Kernel {
    // Dropped in this order: sockets, runtime, processes, folder.
    channels: Channels,
    runtime: Runtime,
    process: Process,
    last_words: LastWords,
    place: ConnectionFolder,
    /// What it is asked between cells is given up when these ask for an end.
    controls: Controls,
    language_version: Option<String>,
}

impl Kernel {
    /// Starts one, unless `controls` end it meanwhile; nothing of it is left then.
    pub fn start(launch: &Launch, controls: &Controls) -> Result<Self, KernelError> {
        let place = ConnectionFolder::new(&launch.scratch)?;
        let connection_file = place.connection_file();
        let fill = |argument: &OsString| match argument.to_str() {
            Some(text) => text.replace("{connection_file}", &connection_file.to_string_lossy()).into(),
            None => argument.clone(),
        };
        let command = supervise::Command {
            argv: launch.argv.iter().map(fill).collect(),
            environment: launch.environment.clone(),
            directory: launch.directory.clone(),
            output: launch.log.clone(),
            kept: 1 << 20,
            record: launch.record.clone(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(KernelError::Runtime)?;
        let mut process = Process::start(&command, launch.isolation).map_err(KernelError::Spawn)?;
        let (channels, language_version) = runtime.block_on(async {
            tokio::select! {
                connected = connect(&place, &mut process, launch) => connected,
                () = asked(controls) => Err(KernelError::Aborted),
            }
        })?;
        let folder = place.folder().to_string_lossy().into_owned();
        let last_words = LastWords::new(place.folder());
        let controls = controls.clone();
        let mut kernel = Self { channels, runtime, process, last_words, place, controls, language_version };
        kernel.run_apart(PREPARE, &[("FOLDER", &folder)], launch.patience)?;
        // What the kernel said while it started is not in its files.
        kernel.last_words = LastWords::new(kernel.place.folder());
        Ok(kernel)
    }

    /// The version of Python, as the kernel says it.
    pub fn language_version(&self) -> Option<&str> {
        self.language_version.as_deref()
    }

    pub fn isolated(&self) -> Isolated {
        self.process.isolated
    }

    pub fn is_alive(&mut self) -> bool {
        self.ended().is_none()
    }

    /// How its process ended, where it did and that is known.
    pub fn ended(&mut self) -> Option<Option<Status>> {
        self.process.end.known()
    }

    /// Whether it is there and idle. One that is about to end is still alive, and does not answer.
    pub fn answers(&mut self, limit: Duration) -> bool {
        self.run_apart_unless("", &[], limit, std::future::pending()).is_ok()
    }

    /// What is asked between cells belongs to another stage now.
    pub fn heed(&mut self, controls: &Controls) {
        self.controls = controls.clone();
    }

    /// Runs Python in a namespace of its own, in which `given` are strings; what it leaves in `RESULT` comes back, as
    /// JSON. The session's variables and its history stay as they are. An abort is heeded at once; the kernel may be busy
    /// then, and is of no more use.
    pub fn run_apart(
        &mut self,
        code: &str,
        given: &[(&str, &str)],
        limit: Duration,
    ) -> Result<Value, KernelError> {
        let controls = self.controls.clone();
        self.run_apart_unless(code, given, limit, asked(&controls))
    }

    /// The same, until `given_up` is ready.
    fn run_apart_unless(
        &mut self,
        code: &str,
        given: &[(&str, &str)],
        limit: Duration,
        given_up: impl Future<Output = ()>,
    ) -> Result<Value, KernelError> {
        let given: Vec<String> = given
            .iter()
            .map(|(name, text)| format!("{}: {}", python_literal(name), python_literal(text)))
            .collect();
        // In one line, so that nothing of it depends on how the session was left.
        let request = ExecuteRequest {
            code: format!(
                "__checkstone = {{\"RESULT\": None, \"get_ipython\": get_ipython, {}}}; exec({}, __checkstone)",
                given.join(", "),
                python_literal(code)
            ),
            silent: true,
            store_history: false,
            user_expressions: Some(HashMap::from([(
                "result".to_owned(),
                "__import__(\"json\").dumps(globals().pop(\"__checkstone\")[\"RESULT\"]).encode().hex()"
                    .to_owned(),
            )])),
            allow_stdin: false,
            stop_on_error: false,
        };
        if !self.is_alive() {
            return Err(KernelError::Gone { status: self.ended().flatten() });
        }
        let Self { channels, runtime, process, last_words, .. } = self;
        let reply = runtime.block_on(async {
            let id = channels.request(request).await?;
            let answered = async {
                let (mut reply, mut is_idle) = (None, false);
                loop {
                    tokio::select! {
                        message = receive(&mut channels.shell) => {
                            let message = message?;
                            if message.parent == id && message.kind == "execute_reply" {
                                reply = Some(message.content);
                            }
                        }
                        message = receive(&mut channels.iopub) => {
                            let message = message?;
                            last_words.count(&message);
                            is_idle |= message.parent == id && at(&message.content, "execution_state") == "idle";
                        }
                        status = process.end.wait() => return Err(KernelError::Gone { status }),
                    }
                    if is_idle && let Some(reply) = reply.take() {
                        return Ok(reply);
                    }
                }
            };
            let answered = async {
                tokio::select! {
                    reply = answered => reply,
                    () = given_up => Err(KernelError::Aborted),
                }
            };
            match tokio::time::timeout(limit, answered).await {
                Ok(reply) => reply,
                Err(_) => {
                    // Whatever keeps it busy must not keep the next one waiting.
                    channels.interrupt().await?;
                    Err(KernelError::Asked(format!("it did not answer for {} s", limit.as_secs_f32())))
                }
            }
        })?;
        if at(&reply, "status") != "ok" {
            return Err(KernelError::Asked(format!("{}: {}", text(&reply, "ename"), text(&reply, "evalue"))));
        }
        let shown = text(at(at(at(&reply, "user_expressions"), "result"), "data"), "text/plain");
        let json = text::from_hexadecimal(shown.trim_matches(['\'', '"']));
        json.and_then(|json| serde_json::from_slice(&json).ok())
            .ok_or_else(|| KernelError::Asked("its answer cannot be read".to_owned()))
    }

    /// Lets the kernel end by itself, and ends it where it does not.
    pub fn shut_down(mut self) {
        if !self.is_alive() {
            return;
        }
        let Self { channels, runtime, process, .. } = &mut self;
        runtime.block_on(async {
            if channels.shut_down().await.is_ok() {
                let _ = tokio::time::timeout(Duration::from_secs(5), process.end.wait()).await;
            }
        });
        // Dropping ends what is left.
    }

    /// Kills it at once, as a crash would.
    pub fn kill(mut self) {
        self.process.end_tree(Cause::Aborted, Grace::NONE);
        self.runtime.block_on(self.process.end.wait());
    }
}

/// Waits until an end is asked for.
async fn asked(controls: &Controls) {
    while !controls.is_asked() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The end of what a kernel's process said by itself.
fn said_in(log: &Path) -> String {
    let bytes = fs_err::read(log).unwrap_or_default();
    let end = bytes.get(bytes.len().saturating_sub(4096)..).unwrap_or_default();
    String::from_utf8_lossy(end).into_owned()
}

/// Waits until the kernel listens, and until both channels have brought its answer: only then no output is lost.
async fn connect(
    place: &ConnectionFolder,
    process: &mut Process,
    launch: &Launch,
) -> Result<(Channels, Option<String>), KernelError> {
    let began = Instant::now();
    let early =
        |status| KernelError::EndedEarly { status, said: said_in(&launch.log), log: launch.log.clone() };
    let late = || KernelError::NoAnswer { patience: launch.patience, log: launch.log.clone() };
    while !place.is_ready() {
        tokio::select! {
            status = process.end.wait() => return Err(early(status)),
            () = tokio::time::sleep(Duration::from_millis(5)) => {}
        }
        if began.elapsed() > launch.patience {
            return Err(late());
        }
    }
    let mut channels = tokio::select! {
        status = process.end.wait() => return Err(early(status)),
        channels = place.connect() => channels?,
        () = tokio::time::sleep(launch.patience) => return Err(late()),
    };
    let mut language_version = None;
    while began.elapsed() < launch.patience {
        let id = channels.ask_info().await?;
        let (mut replied, mut published) = (false, false);
        let answered = async {
            while !(replied && published) {
                tokio::select! {
                    message = receive(&mut channels.shell) => {
                        let message = message?;
                        if message.parent == id && message.kind == "kernel_info_reply" {
                            replied = true;
                            let version = at(at(&message.content, "language_info"), "version").as_str();
                            language_version = version.map(str::to_owned);
                        }
                    }
                    message = receive(&mut channels.iopub) => {
                        let message = message?;
                        published |= message.parent == id && at(&message.content, "execution_state") == "idle";
                    }
                    status = process.end.wait() => return Err(early(status)),
                }
            }
            Ok(())
        };
        match tokio::time::timeout(Duration::from_secs(1), answered).await {
            Ok(Ok(())) => return Ok((channels, language_version)),
            Ok(Err(error)) => return Err(error),
            // It has not heard our subscription yet, or is busy starting.
            Err(_) => {}
        }
    }
    Err(late())
}
