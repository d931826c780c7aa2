//! The loop over one tree: what it writes, what the shim tells, what others ask for, and time. Everything that can happen
//! to a stage happens here, one after the other.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use machine::CAN_ADOPT_ORPHANS;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::Signal as ProcessSignal;

use super::clock::{Clock, HEARTBEAT, Reading};
use super::controls::{Cause, Controls};
use super::ending::{Ending, How, Observed, Signal, Status};
use super::limits::{Grace, Limits};
use super::shim::{Order, Word};
use super::stall::Vitals;
use super::{EndOfShim, Supervised, WatchError, memory};
use crate::marker::Reader;

/// What is read at once; it stays in the processor's cache.
const PIECE: usize = 256 * 1024;
/// Most stages say little, and room that is never used takes time as well.
const SMALL_PIECE: usize = 4 * 1024;
/// A stage that writes this much at a time is read in larger pieces, after a pause: waking up costs more than reading.
const MUCH: usize = 32 * 1024;
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
/// Until there is so much, by the speed at which it came last. It must not be much more: a stage must not have to wait
/// for us.
const WORTH_WAKING: usize = super::PIPE / 8 * 5;
const OUTPUT_TOLD_EVERY: Duration = Duration::from_millis(100);
/// So long after SIGKILL to all the shim itself is killed, which takes a namespace with it.
const SHIM_MAY_TAKE: Duration = Duration::from_secs(2);

/// How far the tree is from its end. Times are of [`Clock::awake`].
enum Phase {
    Running,
    /// The escalation: what was done last, and when the next step is due.
    Ending {
        cause: Cause,
        grace: Grace,
        step: Signal,
        next: Duration,
        last: Duration,
    },
    /// The stage ended by itself; what it left behind has until then.
    Leaving {
        until: Duration,
    },
    /// All of it has been killed; the shim is to follow.
    Killed {
        cause: Option<Cause>,
        shim_until: Duration,
    },
}

pub(super) struct Watch<'a> {
    supervised: Supervised,
    limits: &'a Limits,
    controls: &'a Controls,
    observe: &'a mut dyn FnMut(Observed),
    clock: Clock,
    phase: Phase,
    status: Option<Status>,
    survivors: u32,
    leftovers: u32,
    markers: Reader,
    vitals: Vitals,
    reported_output: ReportedOutput,
    /// Output is not read before.
    read_after: Duration,
    last_read: Duration,
    buffer: Vec<u8>,
    words: Vec<u8>,
    control_open: bool,
    nobody_left: bool,
}

/// The output as it was told last.
struct ReportedOutput {
    bytes: u64,
    at: Duration,
}

#[derive(Clone, Copy, PartialEq)]
enum Stream {
    Output,
    Errors,
}

impl<'a> Watch<'a> {
    pub(super) fn new(
        supervised: Supervised,
        limits: &'a Limits,
        controls: &'a Controls,
        observe: &'a mut dyn FnMut(Observed),
    ) -> Self {
        let began = supervised.began;
        Self {
            supervised,
            limits,
            controls,
            observe,
            clock: Clock::new(began),
            phase: Phase::Running,
            status: None,
            survivors: 0,
            leftovers: 0,
            markers: Reader::new(),
            vitals: Vitals::new(&limits.stalls),
            reported_output: ReportedOutput { bytes: 0, at: Duration::ZERO },
            read_after: Duration::ZERO,
            last_read: Duration::ZERO,
            buffer: vec![0; SMALL_PIECE],
            words: Vec::new(),
            control_open: true,
            nobody_left: false,
        }
    }

    pub(super) fn run(mut self) -> Result<Ending, WatchError> {
        let mut planned = Duration::ZERO;
        loop {
            if let Some(still) = self.clock.look(Reading::now(), planned) {
                (self.observe)(Observed::Suspended(still));
            }
            self.act_on_time();
            planned = self.until_next();
            let ready = self.wait(planned).map_err(WatchError)?;
            if let Some(still) = self.clock.look(Reading::now(), planned) {
                (self.observe)(Observed::Suspended(still));
            }
            planned = Duration::ZERO;
            if ready.output {
                self.read(Stream::Output);
            }
            if ready.errors {
                self.read(Stream::Errors);
            }
            if ready.control {
                self.listen();
            }
            if ready.requests {
                self.take_requests();
            }
            if ready.shim || self.nobody_left {
                return Ok(self.finish());
            }
        }
    }

    /// Waits for something to happen, for no longer than this.
    fn wait(&self, longest: Duration) -> io::Result<Ready> {
        let reading = self.clock.awake() >= self.read_after;
        let Supervised { tree, output, errors, .. } = &self.supervised;
        let sources: [Source<'_>; 5] = [
            (Some(tree.shim.handle.as_fd()), |ready| ready.shim = true),
            (Some(self.controls.wake()), |ready| ready.requests = true),
            (self.control_open.then_some(tree.shim.control.as_fd()), |ready| ready.control = true),
            (output.as_ref().filter(|_| reading).map(AsFd::as_fd), |ready| ready.output = true),
            (errors.as_ref().filter(|_| reading).map(AsFd::as_fd), |ready| ready.errors = true),
        ];
        let mut watched = Vec::with_capacity(sources.len());
        let mut meant = Vec::with_capacity(sources.len());
        for (descriptor, mark) in sources.iter().filter_map(|(source, mark)| Some((source.as_ref()?, mark))) {
            watched.push(PollFd::new(descriptor, PollFlags::IN));
            meant.push(mark);
        }
        let mut ready = Ready::default();
        match poll(&mut watched, Some(&timespec(longest))) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for (descriptor, mark) in watched.iter().zip(meant) {
            if !descriptor.revents().is_empty() {
                mark(&mut ready);
            }
        }
        Ok(ready)
    }

    /// How long nothing has to be done, if nothing happens.
    fn until_next(&self) -> Duration {
        let awake = self.clock.awake();
        let mut next = if self.limits.memory.is_some() { memory::EVERY } else { HEARTBEAT };
        if self.read_after > awake {
            next = next.min(self.read_after - awake);
        }
        let due = match &self.phase {
            Phase::Running => {
                if self.clock.stopped_for().is_none() {
                    let active = self.clock.active();
                    let limit = self.limits.max_duration.map(|limit| limit.saturating_sub(active));
                    next = next.min(limit.unwrap_or(next));
                    next = next.min(self.vitals.next_look(&self.limits.stalls).saturating_sub(active));
                }
                return next;
            }
            Phase::Ending { next, .. } => *next,
            Phase::Leaving { until } => *until,
            Phase::Killed { shim_until, .. } => *shim_until,
        };
        next.min(due.saturating_sub(awake))
    }

    fn act_on_time(&mut self) {
        let awake = self.clock.awake();
        match self.phase {
            Phase::Running => self.look_after(),
            Phase::Ending { cause, grace, step, next, last } if awake >= next => {
                self.escalate(cause, grace, Some(step), last);
            }
            Phase::Leaving { until } if awake >= until => self.kill(None),
            Phase::Killed { cause, shim_until } if awake >= shim_until => {
                // In a namespace this ends all of it. Without one, whoever is left is found by its environment.
                let _ = self.supervised.tree.shim.handle.signal(ProcessSignal::KILL);
                self.phase = Phase::Killed { cause, shim_until: awake + SHIM_MAY_TAKE };
            }
            Phase::Ending { .. } | Phase::Leaving { .. } | Phase::Killed { .. } => {}
        }
    }

    fn look_after(&mut self) {
        let root = self.supervised.root();
        if let Some(cause) = self.vitals.look_after(&self.clock, self.limits, root, self.observe) {
            self.begin_ending(cause, cause.grace(self.limits.grace));
        }
    }

    fn begin_ending(&mut self, cause: Cause, grace: Grace) {
        let last = self.clock.awake() + grace.at_most;
        self.escalate(cause, grace, None, last);
    }

    /// The next step that the grace has room for.
    fn escalate(&mut self, cause: Cause, grace: Grace, done: Option<Signal>, last: Duration) {
        let awake = self.clock.awake();
        let interrupt = grace.interrupt.filter(|_| done.is_none()).map(|time| (Signal::Interrupt, time));
        let terminate =
            grace.terminate.filter(|_| done < Some(Signal::Terminate)).map(|time| (Signal::Terminate, time));
        match interrupt.or(terminate) {
            Some((step, time)) if awake < last => {
                let order = if step == Signal::Interrupt { Order::INTERRUPT } else { Order::TERMINATE };
                let _ = self.supervised.tree.shim.order(order);
                (self.observe)(Observed::Signalled(step));
                self.phase = Phase::Ending { cause, grace, step, next: (awake + time).min(last), last };
            }
            _ => self.kill(Some(cause)),
        }
    }

    fn kill(&mut self, cause: Option<Cause>) {
        let _ = self.supervised.tree.shim.order(Order::KILL);
        if cause.is_some() {
            (self.observe)(Observed::Signalled(Signal::Kill));
        }
        self.phase = Phase::Killed { cause, shim_until: self.clock.awake() + SHIM_MAY_TAKE };
    }

    fn take_requests(&mut self) {
        while let Some(request) = self.controls.taken() {
            match self.phase {
                Phase::Running => {
                    self.begin_ending(request.cause, request.grace.unwrap_or(self.limits.grace))
                }
                // Asked for a second time: no more grace.
                Phase::Ending { cause, .. } => self.kill(Some(cause)),
                Phase::Leaving { .. } | Phase::Killed { .. } => {}
            }
        }
    }

    fn listen(&mut self) {
        let mut said = [0; 64 * Word::BYTES];
        match rustix::io::read(&self.supervised.tree.shim.control, &mut said) {
            Ok(0) => self.control_open = false,
            Ok(length) => self.words.extend_from_slice(said.get(..length).unwrap_or_default()),
            Err(Errno::INTR) => {}
            Err(_) => self.control_open = false,
        }
        let whole = self.words.len() - self.words.len() % Word::BYTES;
        let words: Vec<u8> = self.words.drain(..whole).collect();
        for bytes in words.as_chunks::<{ Word::BYTES }>().0 {
            if let Some(word) = Word::from_bytes(*bytes) {
                self.hear(word);
            }
        }
    }

    fn hear(&mut self, word: Word) {
        match word {
            Word::Exited(code) => self.stage_is_over(Status::Exited(code)),
            Word::Killed(signal) => self.stage_is_over(Status::Killed(signal)),
            Word::Stopped => {
                self.clock.stopped();
                (self.observe)(Observed::Stopped);
            }
            Word::Continued => self.goes_on(),
            Word::Leftovers(number) => self.leftovers = number,
            Word::Survivors(number) => self.survivors = number,
            Word::Nobody => self.nobody_left = true,
        }
    }

    fn stage_is_over(&mut self, status: Status) {
        self.goes_on();
        self.status = Some(status);
        if matches!(self.phase, Phase::Running) {
            self.phase = Phase::Leaving { until: self.clock.awake() + self.limits.leftovers };
        }
    }

    fn goes_on(&mut self) {
        self.vitals.goes_on();
        if let Some(lasted) = self.clock.goes_on() {
            (self.observe)(Observed::Continued);
            (self.observe)(Observed::Suspended(lasted));
        }
    }

    fn read(&mut self, stream: Stream) {
        let mut taken = 0;
        loop {
            let source = match stream {
                Stream::Output => &self.supervised.output,
                Stream::Errors => &self.supervised.errors,
            };
            let Some(source) = source else { break };
            match rustix::io::read(source, &mut self.buffer) {
                Ok(0) => {
                    self.close(stream);
                    break;
                }
                Ok(length) => {
                    taken += length;
                    self.take(stream, length);
                    // The pipe is emptied in as many pieces as it can hold, and no more: others want to be heard too.
                    if length < self.buffer.len() || taken >= super::PIPE {
                        break;
                    }
                    self.buffer.resize(PIECE, 0);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => {
                    self.close(stream);
                    break;
                }
            }
        }
        let now = self.clock.awake();
        self.read_after = match taken {
            0..MUCH => self.read_after,
            // It may have had to wait already.
            _ if taken >= super::PIPE / 8 * 7 => Duration::ZERO,
            _ => {
                let since = now.saturating_sub(self.last_read);
                let for_enough = since.mul_f64(WORTH_WAKING as f64 / taken as f64);
                now + for_enough.min(LONGEST_PAUSE)
            }
        };
        if taken > 0 {
            self.last_read = now;
        }
    }

    fn close(&mut self, stream: Stream) {
        match stream {
            Stream::Output => self.supervised.output = None,
            Stream::Errors => self.supervised.errors = None,
        }
    }

    fn take(&mut self, stream: Stream, length: usize) {
        let bytes = self.buffer.get(..length).unwrap_or_default();
        self.supervised.keeper.keep(bytes);
        let active = self.clock.active();
        self.vitals.output(active);
        // Markers are what a stage says on purpose; what it complains of may quote anything.
        if stream == Stream::Output {
            let (vitals, observe) = (&mut self.vitals, &mut self.observe);
            self.markers.read(bytes, &mut |marker| {
                vitals.marker(active, &marker);
                observe(Observed::Marker(marker));
            });
        }
        if self.reported_output.bytes == 0
            || self.clock.awake() >= self.reported_output.at + OUTPUT_TOLD_EVERY
        {
            self.tell_output();
        }
    }

    fn tell_output(&mut self) {
        let bytes = self.supervised.keeper.total;
        if bytes != self.reported_output.bytes {
            self.reported_output = ReportedOutput { bytes, at: self.clock.awake() };
            (self.observe)(Observed::Output { bytes });
        }
    }

    /// The shim is gone or has nothing more to say: nobody of the tree is left who could write.
    fn finish(mut self) -> Ending {
        let isolated = self.supervised.tree.isolated;
        if self.nobody_left {
            self.supervised.tree.let_go();
        } else {
            let end_of_shim = self.supervised.tree.reap();
            while self.control_open {
                self.listen();
            }
            if !isolated.is_namespace() && end_of_shim == EndOfShim::Killed {
                // It did not get to its own end. Whoever is left carries the token.
                self.survivors = self.supervised.tree.kill_orphans();
            }
        }
        if !CAN_ADOPT_ORPHANS {
            // Whoever has left the session is not known to the shim, but carries the token.
            self.survivors = self.survivors.max(self.supervised.tree.kill_orphans());
        }
        for stream in [Stream::Output, Stream::Errors] {
            self.drain(stream);
        }
        let (markers, observe) = (&mut self.markers, &mut self.observe);
        markers.finish(&mut |marker| observe(Observed::Marker(marker)));
        self.tell_output();
        let cause = match self.phase {
            Phase::Ending { cause, .. } => Some(cause),
            Phase::Killed { cause, .. } => cause,
            Phase::Running | Phase::Leaving { .. } => None,
        };
        let how = match (cause, self.status) {
            (Some(Cause::TimedOut), _) => How::TimedOut,
            (Some(Cause::Aborted), _) => How::Aborted,
            (Some(Cause::Stalled), _) => How::Stalled,
            (Some(Cause::OutOfMemory), _) => How::OutOfMemory,
            (Some(Cause::NoCheckpoint), _) => How::NoCheckpoint,
            (None, Some(Status::Exited(code))) => How::Exited(code),
            (None, Some(Status::Killed(signal))) => How::Killed(signal),
            // The shim was killed, and the tree with it.
            (None, None) => How::Killed(ProcessSignal::KILL.as_raw()),
        };
        let (elapsed, suspended) = (self.clock.active(), self.clock.suspended());
        let (status, survivors, leftovers) = (self.status, self.survivors, self.leftovers);
        let output = self.supervised.keeper.finish();
        Ending { how, status, survivors, leftovers, output, elapsed, suspended, isolated }
    }

    /// All that is left in a pipe; one that a survivor holds open has no end.
    fn drain(&mut self, stream: Stream) {
        loop {
            let before = self.supervised.keeper.total;
            self.read(stream);
            if self.supervised.keeper.total == before {
                return;
            }
        }
    }
}

/// Something to wait for, unless it is closed or has to wait itself, and what it means.
type Source<'a> = (Option<BorrowedFd<'a>>, fn(&mut Ready));

#[derive(Default)]
struct Ready {
    output: bool,
    errors: bool,
    control: bool,
    requests: bool,
    shim: bool,
}

fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    }
}
