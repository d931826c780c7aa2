//! Time as a stage's budget counts it. The machine's own sleep is not in the clock that is used; a gap in which this
//! process was not let run, and the time in which the stage was stopped, are taken out.

use std::time::{Duration, Instant};

/// A wake-up that comes later than this was no ordinary delay: this process stood still.
const LATE: Duration = Duration::from_millis(500);

/// The longest time without a look at the clock, by which standing still is noticed.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Clock {
    began: Instant,
    last: Reading,
    /// Time in which this process stood still.
    gaps: Duration,
    /// Time in which the machine slept, which `Instant` does not count anyway.
    slept: Duration,
    /// Time in which the stage was stopped, in stretches that are over.
    stops: Duration,
    stopped_at: Option<Duration>,
}

/// Both clocks at one instant.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    pub instant: Instant,
    /// Since the machine started, its sleep included.
    pub since_boot: Duration,
}

impl Reading {
    pub fn now() -> Self {
        let since_boot = machine::since_boot();
        Self { instant: Instant::now(), since_boot }
    }
}

impl Clock {
    pub fn new(now: Reading) -> Self {
        Self {
            began: now.instant,
            last: now,
            gaps: Duration::ZERO,
            slept: Duration::ZERO,
            stops: Duration::ZERO,
            stopped_at: None,
        }
    }

    /// A look at the clock after waiting for at most `planned`; returns how long everything stood still, if it did.
    pub fn look(&mut self, now: Reading, planned: Duration) -> Option<Duration> {
        let passed = now.instant.saturating_duration_since(self.last.instant);
        let slept = now.since_boot.saturating_sub(self.last.since_boot).saturating_sub(passed);
        let late = passed.saturating_sub(planned);
        self.last = now;
        let mut still = Duration::ZERO;
        if late > LATE {
            self.gaps += late;
            still += late;
        }
        if slept > LATE {
            self.slept += slept;
            still += slept;
        }
        (still > Duration::ZERO).then_some(still)
    }

    /// Time in which this process could act.
    pub(super) fn awake(&self) -> Duration {
        self.last.instant.saturating_duration_since(self.began).saturating_sub(self.gaps)
    }

    /// Time that counts for the stage.
    pub fn active(&self) -> Duration {
        self.awake().saturating_sub(self.stopped_in_all())
    }

    /// For how long the stage has been stopped, if it is.
    pub fn stopped_for(&self) -> Option<Duration> {
        self.stopped_at.map(|since| self.awake().saturating_sub(since))
    }

    /// For how long the stage has been stopped so far, all stretches together.
    pub fn stopped_in_all(&self) -> Duration {
        self.stops + self.stopped_for().unwrap_or_default()
    }

    pub fn stopped(&mut self) {
        self.stopped_at.get_or_insert(self.last.instant.saturating_duration_since(self.began) - self.gaps);
    }

    /// The stage goes on; returns how long it had been stopped.
    pub fn goes_on(&mut self) -> Option<Duration> {
        let lasted = self.stopped_for()?;
        self.stopped_at = None;
        self.stops += lasted;
        Some(lasted)
    }

    /// All time that did not count.
    pub fn suspended(&self) -> Duration {
        self.gaps + self.slept + self.stopped_in_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(start: Reading, running: Duration, asleep: Duration) -> Reading {
        Reading { instant: start.instant + running, since_boot: start.since_boot + running + asleep }
    }

    fn started() -> (Reading, Clock) {
        let start = Reading::now();
        (start, Clock::new(start))
    }

    /// R14: the machine sleeps.
    #[test]
    fn r14_a_sleep_of_the_machine_is_told_and_does_not_count() {
        let (start, mut clock) = started();
        assert_eq!(clock.look(at(start, SECOND, Duration::ZERO), SECOND), None);
        assert_eq!(clock.look(at(start, 2 * SECOND, 3600 * SECOND), SECOND), Some(3600 * SECOND));
        assert_eq!(clock.active(), 2 * SECOND);
        assert_eq!(clock.suspended(), 3600 * SECOND);
    }

    /// R14: the supervisor is stopped, or the virtual machine is.
    #[test]
    fn r14_a_wake_up_that_comes_far_too_late_does_not_count() {
        let (start, mut clock) = started();
        assert_eq!(clock.look(at(start, 31 * SECOND, Duration::ZERO), SECOND), Some(30 * SECOND));
        assert_eq!(clock.active(), SECOND);
    }

    #[test]
    fn an_ordinary_delay_counts() {
        let (start, mut clock) = started();
        assert_eq!(clock.look(at(start, Duration::from_millis(1_400), Duration::ZERO), SECOND), None);
        assert_eq!(clock.active(), Duration::from_millis(1_400));
    }

    /// R14: the stage is stopped while its supervisor runs on, and a gap meanwhile is not taken out twice.
    #[test]
    fn r14_a_stopped_stage_does_not_use_up_its_time() {
        let (start, mut clock) = started();
        clock.look(at(start, SECOND, Duration::ZERO), SECOND);
        clock.stopped();
        clock.look(at(start, 2 * SECOND, Duration::ZERO), SECOND);
        clock.look(at(start, 12 * SECOND, Duration::ZERO), SECOND);
        assert_eq!(clock.active(), SECOND);
        assert_eq!(clock.stopped_for(), Some(2 * SECOND));
        assert_eq!(clock.goes_on(), Some(2 * SECOND));
        clock.look(at(start, 13 * SECOND, Duration::ZERO), SECOND);
        assert_eq!(clock.active(), 2 * SECOND);
        assert_eq!(clock.suspended(), 11 * SECOND);
    }
}
