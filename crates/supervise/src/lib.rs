//! One process tree under supervision: started apart, watched, and ended whole.
//!
//! **Who keeps a tree together.** Several stages run under one supervisor process at once (`--jobs N`), and ending one
//! must never touch another. A process can be made to take in orphans (`PR_SET_CHILD_SUBREAPER`), but that holds for a
//! whole process: were the supervisor itself the one, the orphans of all stages would be its children alike, and
//! nothing would tell whose they are. So every stage has a process of its own between it and the supervisor, the
//! *shim* (`shim.rs`), and belonging is a matter of descent alone: whoever descends from a stage's shim is of that
//! stage, whatever group, session, parent or environment it has given itself, and nobody else is.
//!
//! - Where the machine allows it, the shim is the first process of a **PID namespace** of the stage. Nobody leaves
//!   one; the kernel itself signals all of it at once; when the shim goes, for whatever reason, all of it is killed.
//! - Elsewhere the shim is a **subreaper**: orphans of its stage, and of no other, fall to it. To end the tree it stops
//!   everyone that descends from it until nobody moves, and kills them; it is done when it has no child left.
//! - On macOS, which has neither, the shim leads a **session**, and an orphan in it counts as the shim's child. Who begins a
//!   session of its own and loses its parent is found by its environment, where the system shows that, when the stage ends.
//!
//! **When the supervisor is killed,** the kernel closes its end of the socket to each shim, and each shim ends its own tree.
//! A parent-death signal would do less: it follows the thread that forked, not the process, and would kill only the
//! shim. What neither reaches, because shim and supervisor were killed together without a namespace, is found by
//! [`sweep`].
//!
//! The shim runs as soon as it is forked, from memory that it shares until one of the two writes. Starting our own
//! program again as the shim would need no `unsafe`, but costs a whole program start for every stage.

mod clock;
mod command;
mod controls;
mod ending;
mod limits;
pub mod marker;
mod memory;
mod output;
mod process_identity;
mod record;
mod shim;
mod stall;
mod watch;

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use machine::ChildHandle;
use rustix::fs::OFlags;
use rustix::process::Signal as ProcessSignal;

pub use clock::{Clock, Reading};
pub use command::{Command, Isolation, SpawnError};
pub use controls::{Cause, Controls};
pub use ending::{Ending, How, Observed, OutputKept, Signal, Stall, StallLooks, StallSignal, Status};
pub use limits::{Grace, HARD_LIMIT_AFTER, Limits, StallInterrupt, Stalls};
pub use process_identity::ProcessIdentity;
pub use record::{SweepError, Swept, sweep, sweep_replaced};
pub use shim::{CAVEAT, Isolated};
pub use stall::Vitals;

use self::output::Keeper;
use self::shim::{Outputs, Shim};

/// So long a shim may take to end its tree when nobody watches.
const DROP_TAKES: Duration = Duration::from_secs(5);

/// The size of the pipes from the stage, the largest that needs no rights.
const PIPE: usize = 1024 * 1024;

/// One process tree. Dropping it kills the tree.
#[derive(Debug)]
pub struct Supervised {
    tree: Tree,
    keeper: Keeper,
    /// Until they end.
    output: Option<OwnedFd>,
    errors: Option<OwnedFd>,
    began: Reading,
}

/// Ends a child of this process, which nobody has waited for yet, and whoever descends from it, in whatever group they are: for
/// a program that is trusted to leave nobody behind unless it is itself ended. Where the system does not tell who
/// descends from whom, nobody is.
pub fn end_child(child: u32) {
    if let Ok(child) = i32::try_from(child) {
        shim::end_child(child);
    }
}

/// The processes, and the record of them.
#[derive(Debug)]
struct Tree {
    shim: Shim,
    isolated: Isolated,
    token: String,
    record: PathBuf,
    /// Whether the shim has been waited for, or will be.
    is_gone: bool,
}

/// Why watching could not go on. The tree has been killed then.
#[derive(Debug, thiserror::Error)]
#[error("cannot wait for the stage")]
pub struct WatchError(#[source] io::Error);

impl Supervised {
    /// Starts the command in a tree of its own.
    pub fn spawn(command: &Command, isolation: Isolation) -> Result<Self, SpawnError> {
        let mut refused = None;
        for isolated in ways(&isolation) {
            match Self::spawn_isolated(command, *isolated) {
                // The machine does not allow this way; the next one asks for less.
                Err(error @ SpawnError::Isolate { .. }) => refused = Some(error),
                Ok(supervised) => {
                    if isolation == Isolation::Best {
                        let place = Isolated::ALL.iter().position(|way| way == isolated);
                        BEST.store(place.unwrap_or(0), Ordering::Relaxed);
                    }
                    return Ok(supervised);
                }
                Err(error) => return Err(error),
            }
        }
        Err(refused.unwrap_or(SpawnError::Empty))
    }

    fn spawn_isolated(command: &Command, isolated: Isolated) -> Result<Self, SpawnError> {
        let keeper = Keeper::new(&command.output, command.kept).map_err(SpawnError::Output)?;
        let (output, far_output) = output_pipe().map_err(SpawnError::Output)?;
        let (errors, far_errors) = output_pipe().map_err(SpawnError::Output)?;
        let token = record::new_token();
        let mut with_token = command.clone();
        with_token.environment.push((record::TOKEN.into(), token.clone().into()));
        let outputs = Outputs { output: far_output, errors: far_errors };
        let shim = Shim::start(&with_token, isolated, outputs)?;
        let tree = Tree { shim, isolated, token, record: command.record.clone(), is_gone: false };
        record::write(command, isolated, tree.shim.pid, &tree.token)?;
        tree.shim.let_begin(command, isolated)?;
        reap_leaving();
        Ok(Self { tree, keeper, output: Some(output), errors: Some(errors), began: Reading::now() })
    }

    pub fn isolated(&self) -> Isolated {
        self.tree.isolated
    }

    /// The process that everyone of the tree descends from.
    pub fn root(&self) -> i32 {
        self.tree.shim.pid.as_raw_nonzero().get()
    }

    /// Watches the tree until all of it is gone. `observe` is called on this thread.
    pub fn watch(
        self,
        limits: &Limits,
        controls: &Controls,
        observe: &mut dyn FnMut(Observed),
    ) -> Result<Ending, WatchError> {
        watch::Watch::new(self, limits, controls, observe).run()
    }

    /// Ends the whole tree as aborted, with this grace; what it still writes is kept.
    pub fn end(self, grace: &Grace) -> Result<Ending, WatchError> {
        let limits = Limits { grace: *grace, ..Limits::default() };
        let controls = Controls::new().map_err(WatchError)?;
        controls.abort();
        self.watch(&limits, &controls, &mut |_| {})
    }
}

/// The first way that this machine has allowed, in the order of the platform's.
static BEST: AtomicUsize = AtomicUsize::new(0);

fn ways(isolation: &Isolation) -> &[Isolated] {
    let all = Isolated::ALL;
    match isolation {
        Isolation::Best => all.get(BEST.load(Ordering::Relaxed)..).unwrap_or(all),
        Isolation::Only(way) => std::slice::from_ref(way),
    }
}

/// The end to read from, which never waits, and the end for the stage.
fn output_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (near, far) = shim::pipe()?;
    rustix::fs::fcntl_setfl(&near, OFlags::NONBLOCK)?;
    machine::widen_pipe(&near, PIPE);
    Ok((near, far))
}

/// Shims that have said their last word. A kernel takes a tenth of a millisecond to take a namespace down, for which
/// nobody waits; they are waited for when the next stage has begun.
static LEAVING: Mutex<Vec<ChildHandle>> = Mutex::new(Vec::new());

fn reap_leaving() {
    let mut leaving = LEAVING.lock().unwrap_or_else(PoisonError::into_inner);
    leaving.retain(ChildHandle::is_running);
}

impl Tree {
    /// The shim has said its last word, and is not waited for here.
    fn let_go(&mut self) {
        match self.shim.handle.try_clone() {
            Ok(shim) => {
                self.is_gone = true;
                LEAVING.lock().unwrap_or_else(PoisonError::into_inner).push(shim);
            }
            Err(_) => {
                self.reap();
            }
        }
    }

    /// Waits for the shim, of which it is known that it has ended; tells whether it ended by itself.
    fn reap(&mut self) -> EndOfShim {
        self.is_gone = true;
        match self.shim.handle.wait() {
            Ok(true) => EndOfShim::ItsOwn,
            _ => EndOfShim::Killed,
        }
    }

    /// Kills whoever is left without a shim; returns how many could not be killed.
    fn kill_orphans(&self) -> u32 {
        record::kill_orphans(&self.token, self.shim.pid)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum EndOfShim {
    ItsOwn,
    Killed,
}

impl Drop for Tree {
    fn drop(&mut self) {
        if !self.is_gone {
            // The shim takes the end of the connection for the order to kill.
            let _ = self.shim.control.shutdown(std::net::Shutdown::Both);
            if !self.shim.ends_within(DROP_TAKES) {
                let _ = self.shim.handle.signal(ProcessSignal::KILL);
            }
            if self.reap() == EndOfShim::Killed && !self.isolated.is_namespace() {
                self.kill_orphans();
            }
        }
        // Where this fails, the next sweep finds a record of nobody.
        let _ = fs_err::remove_file(&self.record);
    }
}
