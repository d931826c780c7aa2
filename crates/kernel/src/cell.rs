//! One cell in a kernel: its outputs as they come, its time, and its end, wanted or not.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jupyter_protocol::ExecuteRequest;
use serde_json::Value;
use supervise::marker::Reader;
use supervise::{Cause, Clock, Controls, Grace, Limits, Observed, Reading, Signal, Status, Vitals};
use tokio::time::MissedTickBehavior;

use super::channels::{Incoming, receive};
use super::last_words::LastWord;
use super::outputs::{Outputs, Spool};
use super::process::Process;
use super::{Kernel, KernelError};
use crate::json::{at, text};

/// How often the clock, the kernel's processes and the requests to end the cell are looked at.
const STEP: Duration = Duration::from_millis(50);

/// Code may swallow an interrupt, and then be interrupted again.
const INTERRUPT_AGAIN: Duration = Duration::from_millis(500);

/// The kernel has answered, and says nothing of being idle: its message was lost.
const LAST_OUTPUT: Duration = Duration::from_secs(5);

/// An idle kernel says at once whether its threads are busy; on a machine with much to do it may take a while.
const BUSY_THREADS: Duration = Duration::from_secs(10);

/// What is still in the sockets of a kernel that is gone comes at once.
const DRAIN: Duration = Duration::from_millis(200);

#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum CellEnding {
    #[default]
    Finished,
    Raised {
        name: String,
        value: String,
    },
    /// The kernel's own interrupt was enough; its variables are there.
    Interrupted(Cause),
    /// The kernel had to be ended.
    Killed(Cause),
    /// The kernel ended by itself, or was killed by somebody else.
    Died(Option<Status>),
}

#[derive(Debug, Default)]
pub struct ExecutedCell {
    pub ending: CellEnding,
    pub execution_count: Option<u64>,
    /// As notebooks have them.
    pub outputs: Vec<Value>,
    /// The places of outputs that can be updated later, by display id.
    pub displays: BTreeMap<String, Vec<usize>>,
    /// Displays that changed, with data and metadata; cells before this one may show them too.
    pub updates: Vec<(String, Value, Value)>,
    /// Bytes of text, and how many of them the notebook does not have.
    pub text: u64,
    pub left_out: u64,
    /// Why the text is not all on disk.
    pub trouble: Option<String>,
    /// Without the time in which the machine, this process or the kernel stood still (R14).
    pub elapsed: Duration,
    pub suspended: Duration,
}

impl Kernel {
    /// Runs a cell. The limits' own signals and stalls apply as to any stage; `controls` ends it from elsewhere, a second
    /// request without any grace. `observe` is called on this thread.
    pub fn execute(
        &mut self,
        code: &str,
        spool: &Spool,
        limits: &Limits,
        controls: &Controls,
        observe: &mut dyn FnMut(Observed),
    ) -> Result<ExecutedCell, KernelError> {
        if !self.is_alive() {
            return Err(KernelError::Gone { status: self.ended().flatten() });
        }
        let failed = |source| KernelError::Spool { path: spool.path.clone(), source };
        let mut vitals = Vitals::new(&limits.stalls);
        vitals.begin(&limits.stalls, self.process.root);
        let mut running = Running {
            outputs: Outputs::new(spool).map_err(failed)?,
            markers: Reader::new(),
            limits,
            observe,
            clock: Clock::new(Reading::now()),
            vitals,
            ending: None,
            told: 0,
            reply: None,
            idle: false,
        };
        let ending = self.until_the_end(code, &mut running, controls)?;
        // It may end before its going on was noticed.
        if let Some(lasted) = running.clock.goes_on() {
            (running.observe)(Observed::Suspended(lasted));
        }
        let reply = running.reply.take().unwrap_or_default();
        let (elapsed, suspended) = (running.clock.active(), running.clock.suspended());
        let execution_count = at(&reply, "execution_count").as_u64();
        let executed =
            ExecutedCell { ending, execution_count, elapsed, suspended, ..running.outputs.finish() };
        match executed.ending {
            CellEnding::Interrupted(cause) if self.has_busy_threads() => {
                // What the cell started still runs: it has not ended.
                self.process.end_tree(cause, Grace { interrupt: None, ..limits.grace });
                self.runtime.block_on(self.process.end.wait());
                Ok(ExecutedCell { ending: CellEnding::Killed(cause), ..executed })
            }
            _ => Ok(executed),
        }
    }

    fn until_the_end(
        &mut self,
        code: &str,
        running: &mut Running<'_>,
        controls: &Controls,
    ) -> Result<CellEnding, KernelError> {
        let Self { channels, runtime, process, last_words, .. } = self;
        runtime.block_on(async {
            // An error must not make the kernel refuse what is asked right after it.
            let request =
                ExecuteRequest { code: code.to_owned(), stop_on_error: false, ..ExecuteRequest::default() };
            last_words.begin();
            let id = channels.request(request).await?;
            let mut steps = tokio::time::interval(STEP);
            steps.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let (mut is_open, mut replied_at) = (true, None);
            let status = loop {
                tokio::select! {
                    message = receive(&mut channels.iopub), if is_open => match message {
                        Ok(message) => {
                            last_words.count(&message);
                            running.published(&id, message);
                        }
                        // Only the end of the process tells more.
                        Err(_) => is_open = false,
                    },
                    message = receive(&mut channels.shell), if running.reply.is_none() => {
                        let message = message?;
                        if message.parent == id && message.kind == "execute_reply" {
                            running.reply = Some(message.content);
                            replied_at = Some(Instant::now());
                        }
                    }
                    status = process.end.wait() => break status,
                    _ = steps.tick() => {
                        running.step(process);
                        while let Some(request) = controls.taken() {
                            running.end(request.cause, request.grace);
                        }
                    }
                }
                let is_over = running.idle || replied_at.is_some_and(|at| at.elapsed() > LAST_OUTPUT);
                if running.reply.is_some() && is_over {
                    return Ok(running.ended());
                }
                if let Some(ending) = &mut running.ending {
                    match ending.next() {
                        Next::Wait => {}
                        Next::Interrupt => {
                            channels.interrupt().await?;
                            (running.observe)(Observed::Signalled(Signal::Interrupt));
                        }
                        Next::InterruptAgain => channels.interrupt().await?,
                        Next::EndTree(grace) => process.end_tree(ending.cause, grace),
                    }
                }
            };
            while let Ok(Ok(message)) = tokio::time::timeout(DRAIN, receive(&mut channels.iopub)).await {
                last_words.count(&message);
                running.published(&id, message);
            }
            for word in last_words.missing() {
                match word {
                    LastWord::Text(stream, text) => running.outputs.text(stream, &text),
                    LastWord::Display { kind, content } => running.outputs.take(&kind, content),
                }
            }
            for signal in process.signals() {
                (running.observe)(Observed::Signalled(signal));
            }
            Ok(running
                .ending
                .as_ref()
                .map_or(CellEnding::Died(status), |ending| CellEnding::Killed(ending.cause)))
        })
    }

    /// Whether threads of the session use the processor although no cell runs.
    fn has_busy_threads(&mut self) -> bool {
        // That the cell is to end is known already.
        let never = std::future::pending();
        let busy = self.run_apart_unless(include_str!("busy_threads.py"), &[], BUSY_THREADS, never);
        // A kernel that cannot say so is busy.
        busy.map_or(true, |busy| busy.as_bool() != Some(false))
    }
}

struct Running<'a> {
    outputs: Outputs,
    markers: Reader,
    limits: &'a Limits,
    observe: &'a mut dyn FnMut(Observed),
    clock: Clock,
    vitals: Vitals,
    ending: Option<EndingAsked>,
    told: u64,
    reply: Option<Value>,
    idle: bool,
}

impl Running<'_> {
    /// Also what belongs to cells before this one, such as a thread's late words, is kept here rather than lost.
    fn published(&mut self, id: &str, message: Incoming) {
        if message.kind == "status" {
            self.idle |= message.parent == id && at(&message.content, "execution_state") == "idle";
            return;
        }
        let now = self.clock.active();
        self.vitals.output(now);
        if message.kind == "stream" {
            let printed = text(&message.content, "text");
            let (vitals, observe) = (&mut self.vitals, &mut self.observe);
            self.markers.read(printed.as_bytes(), &mut |marker| {
                vitals.marker(now, &marker);
                observe(Observed::Marker(marker));
            });
        }
        self.outputs.take(&message.kind, message.content);
    }

    fn step(&mut self, process: &Process) {
        if let Some(stood_still) = self.clock.look(Reading::now(), STEP) {
            (self.observe)(Observed::Suspended(stood_still));
        }
        let total = self.outputs.total;
        if total != self.told {
            self.told = total;
            (self.observe)(Observed::Output { bytes: total });
        }
        if process.is_stopped() {
            self.clock.stopped();
        } else if let Some(lasted) = self.clock.goes_on() {
            self.vitals.goes_on();
            (self.observe)(Observed::Suspended(lasted));
        }
        if self.ending.is_none() {
            let Self { vitals, clock, limits, observe, .. } = self;
            if let Some(cause) = vitals.look_after(clock, limits, process.root, *observe) {
                let grace = cause.grace(limits.grace);
                self.end(cause, Some(grace));
            }
        }
    }

    fn end(&mut self, cause: Cause, grace: Option<Grace>) {
        match &mut self.ending {
            Some(ending) => ending.grace = Grace::NONE,
            None => self.ending = Some(EndingAsked::new(cause, grace.unwrap_or(self.limits.grace))),
        }
    }

    fn ended(&mut self) -> CellEnding {
        let reply = self.reply.as_ref();
        let said = |key: &str| reply.map(|reply| text(reply, key)).unwrap_or_default().to_owned();
        if let Some(ending) = &self.ending {
            return CellEnding::Interrupted(ending.cause);
        }
        match said("status").as_str() {
            "ok" => CellEnding::Finished,
            _ => CellEnding::Raised { name: said("ename"), value: said("evalue") },
        }
    }
}

/// An end that was asked for, and how far it got.
struct EndingAsked {
    cause: Cause,
    grace: Grace,
    began: Instant,
    interrupted: Option<Instant>,
    tree_ended: bool,
    killed: bool,
}

enum Next {
    Wait,
    Interrupt,
    InterruptAgain,
    EndTree(Grace),
}

impl EndingAsked {
    fn new(cause: Cause, grace: Grace) -> Self {
        Self { cause, grace, began: Instant::now(), interrupted: None, tree_ended: false, killed: false }
    }

    fn next(&mut self) -> Next {
        let patience = self.grace.interrupt.unwrap_or_default().min(self.grace.at_most);
        if self.grace == Grace::NONE && !self.killed {
            (self.tree_ended, self.killed) = (true, true);
            return Next::EndTree(Grace::NONE);
        }
        if self.tree_ended {
            return Next::Wait;
        }
        match self.interrupted {
            None if !patience.is_zero() => {
                self.interrupted = Some(Instant::now());
                Next::Interrupt
            }
            Some(at) if self.began.elapsed() < patience => {
                if at.elapsed() < INTERRUPT_AGAIN {
                    return Next::Wait;
                }
                self.interrupted = Some(Instant::now());
                Next::InterruptAgain
            }
            _ => {
                self.tree_ended = true;
                let at_most = self.grace.at_most.saturating_sub(self.began.elapsed());
                Next::EndTree(Grace { interrupt: None, terminate: self.grace.terminate, at_most })
            }
        }
    }
}
