//! How the command of an attempt may end, what is made of its end, and in which words.

use std::path::PathBuf;
use std::time::Duration;

use supervise::How;

use super::{Cause, Unaccepted, failed};
use crate::event::{Ending, HowEnded};
use crate::plan::Stage;

pub(super) fn limits(stage: &Stage, max_duration: Duration, artifacts: Option<PathBuf>) -> supervise::Limits {
    supervise::Limits {
        max_duration: Some(max_duration),
        memory: stage.resources.memory(),
        grace: supervise::Grace {
            interrupt: Some(stage.grace.interrupt),
            terminate: Some(stage.grace.terminate),
            ..supervise::Grace::default()
        },
        stalls: supervise::Stalls {
            no_output: stage.stall.output,
            no_marker: stage.stall.marker,
            idle: stage.stall.idle,
            artifacts,
            interrupt: stage.stall.interrupt,
        },
        ..supervise::Limits::default()
    }
}

pub(super) fn described(ending: &supervise::Ending) -> Ending {
    let (exit_code, signal) = match ending.status {
        Some(supervise::Status::Exited(code)) => (Some(code), None),
        Some(supervise::Status::Killed(signal)) => (None, Some(signal)),
        None => (None, None),
    };
    Ending {
        how: match ending.how {
            How::Exited(_) => HowEnded::Exited,
            How::Killed(_) => HowEnded::Killed,
            How::TimedOut => HowEnded::TimedOut,
            How::Stalled => HowEnded::Stalled,
            How::Aborted => HowEnded::Aborted,
            How::OutOfMemory => HowEnded::OutOfMemory,
            How::NoCheckpoint => HowEnded::NoCheckpoint,
        },
        exit_code,
        signal,
        elapsed_milliseconds: u64::try_from(ending.elapsed.as_millis()).unwrap_or(u64::MAX),
        output_bytes: ending.output.total,
        verify_failed: false,
        changed_meanwhile: false,
    }
}

pub(super) fn judge(ending: &supervise::Ending, of: &str) -> Result<(), Unaccepted> {
    let cause = match ending.how {
        How::Exited(0) if ending.survivors == 0 => return Ok(()),
        How::Exited(0) => {
            let survivors = ending.survivors;
            let reason =
                format!("{of}{survivors} of its processes cannot be stopped: they belong to another user");
            return Err(failed(reason));
        }
        How::Exited(_) | How::Killed(_) | How::OutOfMemory => Cause::Failed,
        How::TimedOut | How::Stalled | How::NoCheckpoint => Cause::TimedOut,
        How::Aborted => Cause::Aborted,
    };
    Err(Unaccepted { cause, reason: format!("{of}{}", in_words(ending.how, ending.elapsed)) })
}

pub(crate) fn in_words(how: How, elapsed: Duration) -> String {
    let interrupted = |why: &str| format!("{why}; interrupted after {:.1} s", elapsed.as_secs_f64());
    match how {
        How::Exited(code) => format!("exit status {code}"),
        How::Killed(signal) => format!("killed by signal {signal}"),
        How::TimedOut => interrupted("it exceeded its time limit"),
        How::Stalled => interrupted("it looked stuck"),
        How::NoCheckpoint => interrupted(
            "it saved no checkpoint for too long (`[CHECKPOINT:saved:…]`; `unchecked = true` allows that)",
        ),
        How::OutOfMemory => {
            format!(
                "it used more memory than its `resources` allow; killed after {:.1} s",
                elapsed.as_secs_f64()
            )
        }
        How::Aborted => "aborted".to_owned(),
    }
}
