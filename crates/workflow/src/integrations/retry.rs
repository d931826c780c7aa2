//! Trying again: a bounded number of times, in a bounded time, after pauses that grow and are not the same for
//! everyone. What a server asks for with `Retry-After` is granted where the time allows it.

use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, Instant};

use super::http::{Answer, NoAnswer};

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

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServiceError {
    #[error(transparent)]
    NoAnswer(#[from] NoAnswer),
    #[error("{service} does not accept the token (HTTP {status})")]
    Refused { service: &'static str, status: u16 },
    #[error("{service} did not find what was requested{says}")]
    NotFound { service: &'static str, says: Says },
    #[error("{service} got too many requests (HTTP {status})")]
    TooOften { service: &'static str, status: u16 },
    #[error("{service} has an internal problem (HTTP {status})")]
    Trouble { service: &'static str, status: u16 },
    #[error("{service} answered with HTTP {status}{says}")]
    Unexpected { service: &'static str, status: u16, says: Says },
    #[error("the answer of {service} was not understood")]
    NotUnderstood { service: &'static str },
    #[error("{error}; it asks to wait {}", text::duration_in_words(*wait))]
    AskedToWait { error: Box<ServiceError>, wait: Duration },
}

/// A service's own words about an error, where it has any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Says(pub Option<String>);

impl std::fmt::Display for Says {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.as_ref().map_or(Ok(()), |says| write!(formatter, ": {says}"))
    }
}

#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) error: ServiceError,
    pub(crate) again: Again,
}

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
    Some(text::first_characters(&words, 200).to_owned()).filter(|words| !words.is_empty())
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
                return Err(match failed.again {
                    Again::After(wait) if wait >= left => {
                        ServiceError::AskedToWait { error: Box::new(failed.error), wait }
                    }
                    _ => failed.error,
                });
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

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: Retry = Retry {
        attempts: 3,
        first_pause: Duration::from_millis(8),
        longest_pause: Duration::from_millis(20),
        total: Duration::from_secs(5),
        request: Duration::from_secs(1),
    };

    fn busy(again: Again) -> Failed {
        Failed { error: ServiceError::TooOften { service: "it", status: 429 }, again }
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_vary_in_their_upper_half() {
        for (tried, longest) in [(1, 8), (2, 16), (3, 20), (31, 20), (32, 20), (33, 20), (u32::MAX, 20)] {
            let pauses: Vec<Duration> = (0..50).map(|_| QUICK.pause(tried)).collect();
            let whole = Duration::from_millis(longest);
            assert!(pauses.iter().all(|pause| *pause >= whole / 2 && *pause <= whole), "{tried}: {pauses:?}");
            assert!(pauses.iter().any(|pause| *pause != pauses[0]), "{tried}");
        }
    }

    /// How often it was tried, and how it ended. No attempt may take longer than the time that is left.
    fn tried(retry: Retry, again: Again) -> (u32, Result<(), ServiceError>) {
        let mut tried = 0;
        let result = retry.run(|time| {
            tried += 1;
            assert!(time <= retry.total);
            Err(busy(again))
        });
        (tried, result)
    }

    #[test]
    fn attempts_are_counted_and_the_last_error_is_told() {
        assert_eq!(tried(QUICK, Again::Later), (3, Err(busy(Again::Later).error)));
    }

    #[test]
    fn what_is_final_is_not_tried_again() {
        assert_eq!(tried(QUICK, Again::Never).0, 1);
    }

    /// No pause is begun that would outlast the time.
    #[test]
    fn the_time_for_all_is_kept() {
        let short = Retry { attempts: 100, total: Duration::from_millis(60), ..QUICK };
        // Each pause takes some of the time.
        let (often, _) = tried(short, Again::Later);
        assert!(often < 60, "{often}");
        assert_eq!(tried(short, Again::After(Duration::from_secs(60))).0, 1);
    }

    #[test]
    fn a_services_own_words_are_found_and_bounded() {
        let says = |body: &str| words_of(body.as_bytes());
        assert_eq!(says(r#"{"error": {"message": "no"}}"#).as_deref(), Some("no"));
        assert_eq!(says(r#"{"errors": [{"message": "no"}]}"#).as_deref(), Some("no"));
        assert_eq!(says("no_service\n").as_deref(), Some("no_service"));
        assert_eq!(says("<html>no</html>"), None);
        assert_eq!(says(""), None);
        assert_eq!(says(r#"{"code": 1}"#), None);
        let long = format!(r#"{{"message": "{}"}}"#, "x".repeat(5000));
        assert_eq!(says(&long).map(|words| words.len()), Some(200));
    }
}
