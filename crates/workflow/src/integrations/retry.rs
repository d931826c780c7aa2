//! Trying again: a bounded number of times, in a bounded time, after pauses that grow and are not the same for
//! everyone. What a server asks for with `Retry-After` is granted where the time allows it.

use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, Instant};

use super::http::{Answer, NoAnswer};

/// How often and how long.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    pub attempts: u32,
    pub first_pause: Duration,
    pub longest_pause: Duration,
    /// For all attempts and pauses together.
    pub total: Duration,
    /// For one request.
    pub request: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 4,
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(8),
            total: Duration::from_secs(20),
            request: Duration::from_secs(10),
        }
    }
}

/// Why a service did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServiceError {
    #[error(transparent)]
    NoAnswer(#[from] NoAnswer),
    #[error("{service} does not accept the token (HTTP {status})")]
    Refused { service: &'static str, status: u16 },
    #[error("{service} does not know what was asked for{says}")]
    NotFound { service: &'static str, says: Says },
    #[error("{service} was asked too often (HTTP {status})")]
    TooOften { service: &'static str, status: u16 },
    #[error("{service} has trouble of its own (HTTP {status})")]
    Trouble { service: &'static str, status: u16 },
    #[error("{service} answered with HTTP {status}{says}")]
    Unexpected { service: &'static str, status: u16, says: Says },
    #[error("what {service} answered was not understood")]
    NotUnderstood { service: &'static str },
}

/// A service's own words about an error, where it has any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Says(pub Option<String>);

impl std::fmt::Display for Says {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.as_ref().map_or(Ok(()), |says| write!(formatter, ": {says}"))
    }
}

/// An attempt that failed.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) error: ServiceError,
    pub(crate) again: Again,
}

/// Whether another attempt makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    Never,
    Later,
    After(Duration),
}

impl Failed {
    pub(crate) fn for_good(error: ServiceError) -> Self {
        Self { error, again: Again::Never }
    }

    pub(crate) fn for_now(error: ServiceError) -> Self {
        Self { error, again: Again::Later }
    }
}

impl From<NoAnswer> for Failed {
    fn from(error: NoAnswer) -> Self {
        let again = match error {
            NoAnswer::NotAsked { .. } | NoAnswer::Untrusted { .. } => Again::Never,
            NoAnswer::Unreachable { .. } | NoAnswer::TimedOut { .. } | NoAnswer::TooLarge { .. } => {
                Again::Later
            }
        };
        Self { error: error.into(), again }
    }
}

/// A successful answer, or what its status means.
pub(crate) fn successful(service: &'static str, answer: Answer) -> Result<Answer, Failed> {
    let status = answer.status;
    let says = || Says(words_of(&answer.body));
    match status {
        200..=299 => Ok(answer),
        401 | 403 => Err(Failed::for_good(ServiceError::Refused { service, status })),
        404 => Err(Failed::for_good(ServiceError::NotFound { service, says: says() })),
        429 => Err(Failed {
            error: ServiceError::TooOften { service, status },
            again: answer.retry_after.map_or(Again::Later, Again::After),
        }),
        408 | 500..=599 => Err(Failed {
            error: ServiceError::Trouble { service, status },
            again: answer.retry_after.map_or(Again::Later, Again::After),
        }),
        _ => Err(Failed::for_good(ServiceError::Unexpected { service, status, says: says() })),
    }
}

/// `{"error": {"message": …}}`, `{"errors": [{"message": …}]}`, or a short plain text.
fn words_of(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?.trim();
    let words = match serde_json::from_str::<serde_json::Value>(text) {
        Ok(value) => {
            let places = ["/error/message", "/errors/0/message", "/message"];
            places.iter().find_map(|place| value.pointer(place)?.as_str().map(str::to_owned))?
        }
        Err(_) if text.len() <= 80 && !text.contains('<') => text.to_owned(),
        Err(_) => return None,
    };
    Some(words.chars().take(200).collect::<String>()).filter(|words| !words.is_empty())
}

impl Retry {
    /// Calls `attempt` with the time that it may take until it succeeds, fails for good, or time or attempts are used
    /// up; then the last error is returned.
    pub(crate) fn run<T>(
        &self,
        mut attempt: impl FnMut(Duration) -> Result<T, Failed>,
    ) -> Result<T, ServiceError> {
        let end = Instant::now() + self.total;
        let mut tried = 0;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let failed = match attempt(self.request.min(left).max(Duration::from_millis(1))) {
                Ok(done) => return Ok(done),
                Err(failed) => failed,
            };
            tried += 1;
            let pause = match failed.again {
                Again::Never => return Err(failed.error),
                Again::After(asked) => asked.max(self.pause(tried)),
                Again::Later => self.pause(tried),
            };
            let left = end.saturating_duration_since(Instant::now());
            if tried >= self.attempts || pause >= left {
                return Err(failed.error);
            }
            std::thread::sleep(pause);
        }
    }

    /// Doubled each time, and then somewhere in its upper half: many that fail together must not return together.
    pub(crate) fn pause(&self, tried: u32) -> Duration {
        let doubled =
            self.first_pause.saturating_mul(1_u32.checked_shl(tried.saturating_sub(1)).unwrap_or(u32::MAX));
        let longest = doubled.min(self.longest_pause);
        longest.div_f64(2.0) + longest.mul_f64(random_fraction() / 2.0)
    }
}

/// Between 0 and 1. The standard library's hash keys are random, which is all that is needed here.
fn random_fraction() -> f64 {
    let random = RandomState::new().hash_one(0_u8);
    (random >> 11) as f64 / (1_u64 << 53) as f64
}
