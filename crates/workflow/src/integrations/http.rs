//! One HTTP request and its answer. Plain HTTP only to this machine itself, no redirects (a token must not travel), a
//! limit for time and for size, and errors that never show a token or the secret part of a URL.

use std::fmt;
use std::io::Read as _;
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use ureq::Agent;
use ureq::http::{Request, Uri};

pub(crate) use ureq::http::Method;

/// A larger answer is not one of the services we talk to.
const LARGEST_ANSWER: u64 = 4 * 1024 * 1024;

/// Where requests go: a base URL that was checked. Shown, it is only scheme and host: the path of a webhook is a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    base: String,
    shown: String,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum EndpointError {
    #[error("it is not a URL")]
    NotAUrl,
    #[error("it must begin with `https://`; plain `http://` is for this machine itself")]
    NotEncrypted,
    #[error("it contains a user name or password; give a token instead")]
    HoldsCredentials,
}

impl Endpoint {
    pub fn parse(url: &str) -> Result<Self, EndpointError> {
        let uri: Uri = url.trim().parse().map_err(|_| EndpointError::NotAUrl)?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(EndpointError::NotAUrl);
        };
        if authority.as_str().contains('@') {
            return Err(EndpointError::HoldsCredentials);
        }
        let local = matches!(authority.host(), "127.0.0.1" | "[::1]" | "localhost");
        if scheme != "https" && !(scheme == "http" && local) {
            return Err(EndpointError::NotEncrypted);
        }
        Ok(Self {
            base: url.trim().trim_end_matches('/').to_owned(),
            shown: format!("{scheme}://{authority}"),
        })
    }

    /// The URL of a path below the base, which begins with a slash, or of the base itself where it is empty.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.shown)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Endpoint({})", self.shown)
    }
}

/// A token or secret. It is never shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proxy {
    /// `ALL_PROXY`, `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, as everywhere.
    FromEnvironment,
    None,
}

#[derive(Debug)]
pub struct Client {
    agent: Agent,
    now: fn() -> Timestamp,
}

/// What a server answered, whatever its status is.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// How long the server asks to wait.
    pub(crate) retry_after: Option<Duration>,
    pub(crate) body: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    #[error("{host} cannot be reached: {reason}")]
    Unreachable { host: String, reason: String },
    #[error("the identity of {host} cannot be verified: {reason}")]
    Untrusted { host: String, reason: String },
    #[error("{host} did not answer in time")]
    TimedOut { host: String },
    #[error("the answer of {host} is too large")]
    TooLarge { host: String },
    #[error("no request can be sent to {host}: {reason}")]
    NotAsked { host: String, reason: String },
}

impl Client {
    /// `now` is asked if a server says until when to wait, and not what time it has itself.
    pub fn new(proxy: Proxy, now: fn() -> Timestamp) -> Self {
        let proxy = match proxy {
            Proxy::FromEnvironment => ureq::Proxy::try_from_env(),
            Proxy::None => None,
        };
        let config = Agent::config_builder()
            .proxy(proxy)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            // A server that has closed an idle connection must not look like one that is out of reach.
            .max_idle_connections(0)
            .user_agent(concat!("checkstone/", env!("CARGO_PKG_VERSION")))
            .build();
        Self { agent: Agent::new_with_config(config), now }
    }

    /// One request: `path` begins with a slash and lies below the base, or is empty.
    pub(crate) fn send(
        &self,
        method: Method,
        endpoint: &Endpoint,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
        timeout: Duration,
    ) -> Result<Answer, NoAnswer> {
        let host = endpoint.to_string();
        if cfg!(not(feature = "tls")) && endpoint.base.starts_with("https:") {
            let reason =
                "this build has no TLS; use a packaged one, or build with `--features full`".to_owned();
            return Err(NoAnswer::NotAsked { host, reason });
        }
        let mut request = Request::builder().method(method).uri(endpoint.at(path));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        // The reason must not repeat a header, which may be a token that was copied with a line break.
        let not_asked = |_| NoAnswer::NotAsked {
            host: host.clone(),
            reason: "the URL, the token or the secret holds characters that cannot be sent".to_owned(),
        };
        let request = request.body(body.to_vec()).map_err(not_asked)?;
        let request = self.agent.configure_request(request).timeout_global(Some(timeout)).build();
        let response = self.agent.run(request).map_err(|error| no_answer(&host, &error))?;
        let status = response.status().as_u16();
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let clock = || header("date").and_then(http_date).unwrap_or_else(self.now);
        let retry_after = header("retry-after").and_then(|text| retry_after(text, clock));
        let mut bytes = Vec::new();
        let reader = response.into_body().into_reader();
        reader.take(LARGEST_ANSWER + 1).read_to_end(&mut bytes).map_err(|error| {
            if error.kind() == std::io::ErrorKind::TimedOut || error.to_string().contains("timeout") {
                NoAnswer::TimedOut { host: host.clone() }
            } else {
                NoAnswer::Unreachable {
                    host: host.clone(),
                    reason: "the connection was interrupted".to_owned(),
                }
            }
        })?;
        if bytes.len() as u64 > LARGEST_ANSWER {
            return Err(NoAnswer::TooLarge { host });
        }
        Ok(Answer { status, retry_after, body: bytes })
    }
}

/// A number of seconds, or a date. A date that is over asks for no wait.
fn retry_after(text: &str, clock: impl FnOnce() -> Timestamp) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let wait = http_date(text)?.duration_since(clock());
    Some(Duration::try_from(wait).unwrap_or_default())
}

/// The form of today, and the two that old servers send.
fn http_date(text: &str) -> Option<Timestamp> {
    let forms = ["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"];
    let date = forms.iter().find_map(|form| DateTime::strptime(form, text.trim()).ok())?;
    TimeZone::UTC.to_timestamp(date).ok()
}

fn no_answer(host: &str, error: &ureq::Error) -> NoAnswer {
    let host = host.to_owned();
    let reason = match error {
        ureq::Error::Timeout(_) => return NoAnswer::TimedOut { host },
        ureq::Error::HostNotFound => "there is no such host, or no network".to_owned(),
        ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::TimedOut => {
            return NoAnswer::TimedOut { host };
        }
        #[cfg(feature = "tls")]
        ureq::Error::Rustls(error) => return NoAnswer::Untrusted { host, reason: error.to_string() },
        ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            return NoAnswer::Untrusted { host, reason: error.to_string() };
        }
        ureq::Error::Io(error) => match error.kind() {
            std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::ConnectionReset => {
                "the connection was interrupted".to_owned()
            }
            std::io::ErrorKind::ConnectionRefused => "the connection was refused".to_owned(),
            _ => error.to_string(),
        },
        ureq::Error::Protocol(_) => "what it sent is not HTTP".to_owned(),
        other => other.to_string(),
    };
    NoAnswer::Unreachable { host, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_says_how_long_or_until_when_to_wait() {
        let now = || "1994-11-06T08:49:00Z".parse().unwrap();
        for (text, seconds) in [
            ("37", Some(37)),
            (" 0 ", Some(0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(37)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(37)),
            ("Sun Nov  6 08:49:37 1994", Some(37)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("soon", None),
            ("-1", None),
            ("Sun, 31 Feb 1994 08:49:37 GMT", None),
            ("99999999999999999999999", None),
            ("", None),
        ] {
            assert_eq!(retry_after(text, now), seconds.map(Duration::from_secs), "{text}");
        }
    }

    #[cfg(not(feature = "tls"))]
    #[test]
    fn a_build_without_tls_says_so_and_sends_nothing() {
        let endpoint = Endpoint::parse("https://example.invalid/hook").unwrap();
        let answer = Client::new(Proxy::None, Timestamp::now).send(
            Method::POST,
            &endpoint,
            "",
            &[],
            b"{}",
            Duration::from_secs(1),
        );
        assert_eq!(
            answer.unwrap_err().to_string(),
            "no request can be sent to https://example.invalid: this build has no TLS; use a packaged one, or build with \
             `--features full`"
        );
    }
}
