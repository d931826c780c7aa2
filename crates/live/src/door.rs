//! Who may come in. A request is answered only if it is addressed to this machine by its own name (a name that a stranger's
//! server resolves to 127.0.0.1 is none), if no other site sent it, and if it has the token: in its address the first time,
//! and then as a cookie of this process alone. Whatever changes something needs a key that only our own pages have.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, LOCATION, ORIGIN, REFERRER_POLICY, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use crate::access_token::{AccessToken, TokenError};

/// The names of this machine that no other machine can have.
const OWN_NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

const COOKIE_NAME: &str = "checkstone";

const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What stands on every answer.
const HEADERS: [(HeaderName, &str); 7] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    // With none at all, browsers hide the origin of our own forms too.
    (REFERRER_POLICY, "same-origin"),
    (CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// The secrets of one server.
#[derive(Debug)]
pub(crate) struct Door {
    token: AccessToken,
    /// What the cookie holds. Cookies go to every port of a machine, so it is not the token, and ends with this process.
    cookie: AccessToken,
    /// What forms have that change something.
    form: AccessToken,
}

impl Door {
    pub(crate) fn new(token: AccessToken) -> Result<Self, TokenError> {
        Ok(Self { token, cookie: AccessToken::random()?, form: AccessToken::random()? })
    }

    /// For the forms of our own pages.
    pub(crate) fn form_key(&self) -> &str {
        self.form.as_str()
    }

    pub(crate) fn is_form_key(&self, given: &str) -> bool {
        self.form.is(given)
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs =
            cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(name, value)| name == COOKIE_NAME && self.cookie.is(value))
    }
}

/// Stands before every answer.
pub(crate) async fn guard(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    let mut response = match admitted(&door, &request) {
        Admission::In => next.run(request).await,
        Admission::Welcome(place) => welcome(&door, &place),
        Admission::Refused(status, why) => (status, format!("{why}\n")).into_response(),
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

enum Admission {
    In,
    /// With the right token in its address; to be sent on to the same place without it.
    Welcome(String),
    Refused(StatusCode, &'static str),
}

fn admitted(door: &Door, request: &Request) -> Admission {
    let headers = request.headers();
    let Some(host) = own_host(headers) else {
        return Admission::Refused(
            StatusCode::MISDIRECTED_REQUEST,
            "This page is not served at this address.",
        );
    };
    if !is_own_origin(headers, host) {
        return Admission::Refused(StatusCode::FORBIDDEN, "Another site sent this request.");
    }
    let is_reading = matches!(*request.method(), Method::GET | Method::HEAD);
    match token_of(request.uri()) {
        Some((given, place)) if is_reading && door.token.is(given) => Admission::Welcome(place),
        Some(_) => Admission::Refused(
            StatusCode::FORBIDDEN,
            "The token in this address is not the token of this page.",
        ),
        None if door.has_cookie(headers) => Admission::In,
        None => Admission::Refused(
            StatusCode::FORBIDDEN,
            "Open the address that `checkstone serve` printed: it has the token of this page.",
        ),
    }
}

/// What the browser calls us, if that is a name of this machine; the port may be that of a tunnel.
fn own_host(headers: &HeaderMap) -> Option<&str> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = hosts.next()?.to_str().ok()?;
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    (hosts.next().is_none() && OWN_NAMES.contains(&name)).then_some(host)
}

/// Whatever another site sends says so; what a person types or follows says nothing.
fn is_own_origin(headers: &HeaderMap, host: &str) -> bool {
    let mut origins = headers.get_all(ORIGIN).iter();
    origins.all(|origin| origin.to_str().is_ok_and(|origin| origin.strip_prefix("http://") == Some(host)))
}

/// The token of an address, and the address without it.
fn token_of(uri: &Uri) -> Option<(&str, String)> {
    let query = uri.query()?;
    let token = query.split('&').find_map(|pair| pair.strip_prefix("token="))?;
    let rest: Vec<&str> = query.split('&').filter(|pair| !pair.starts_with("token=")).collect();
    // Two slashes at the beginning would be another machine.
    let path = format!("/{}", uri.path().trim_start_matches('/'));
    let place = if rest.is_empty() { path } else { format!("{path}?{}", rest.join("&")) };
    Some((token, place))
}

fn welcome(door: &Door, place: &str) -> Response {
    let cookie = format!("{COOKIE_NAME}={}; Path=/; HttpOnly; SameSite=Strict", door.cookie.as_str());
    let mut response = (StatusCode::SEE_OTHER, Body::empty()).into_response();
    for (name, value) in [(LOCATION, place), (SET_COOKIE, &cookie)] {
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_str(host).unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        own_host(&headers).is_some_and(|host| is_own_origin(&headers, host))
    }

    #[test]
    fn only_names_of_this_machine_and_our_own_pages_are_let_in() {
        for (host, origin, expected) in [
            ("127.0.0.1:4690", None, true),
            ("localhost:8080", None, true),
            ("localhost", None, true),
            ("[::1]:4690", Some("http://[::1]:4690"), true),
            ("127.0.0.1:4690", Some("http://127.0.0.1:4690"), true),
            ("127.0.0.1:4690", Some("http://127.0.0.1:4691"), false),
            ("127.0.0.1:4690", Some("https://127.0.0.1:4690"), false),
            ("127.0.0.1:4690", Some("http://evil.example"), false),
            ("127.0.0.1:4690", Some("null"), false),
            ("evil.example", None, false),
            ("evil.example:4690", None, false),
            ("127.0.0.1.evil.example:4690", None, false),
            ("localhost:x", None, false),
            ("", None, false),
        ] {
            assert_eq!(asked(host, origin), expected, "{host} {origin:?}");
        }
    }

    #[test]
    fn the_token_goes_and_the_rest_of_the_address_stays() {
        for (address, token, place) in [
            ("/?token=a", "a", "/"),
            ("/history?q=x&token=a&week=3", "a", "/history?q=x&week=3"),
            ("//evil.example/?token=a", "a", "/evil.example/"),
        ] {
            let uri: Uri = address.parse().unwrap();
            assert_eq!(token_of(&uri), Some((token, place.to_owned())), "{address}");
        }
        assert_eq!(token_of(&"/?tokens=a".parse().unwrap()), None);
    }
}
