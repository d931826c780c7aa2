//! Who is let in, and what nobody gets.

use std::os::unix::fs::PermissionsExt as _;

use rustix::process::Signal;
use sandbox::PageServer;

use super::{POLICY, prompt, serve};
use crate::workplace::Workplace;

const NO_TOKEN: &str = "Open the address that `checkstone serve` printed: it has the token of this page.\n";

/// A second user of the machine, who knows the port and not the token, is told nothing about anything.
#[test]
fn without_the_token_there_is_nothing() {
    let workplace = Workplace::new(Some(POLICY));
    prompt(&workplace, "one", "a prompt that is nobody's business");
    let server = serve(&workplace);
    let token_file = workplace.path("state/serve.token");
    assert_eq!(token_file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_to_string(&token_file).unwrap().trim(), server.token());
    let wrong = "f".repeat(64);
    for path in [
        "/",
        "/live?page=/",
        "/style.css",
        "/script.js",
        "/session/1",
        "/history?words=prompt",
        "/run/1/abort",
    ] {
        let refused = server.get(path, &[]);
        assert_eq!((refused.status, refused.body.as_str()), (403, NO_TOKEN), "{path}");
        for cookie in [format!("checkstone={wrong}"), format!("checkstone={}", server.token())] {
            let refused = server.get(path, &[("Cookie", &cookie)]);
            assert_eq!((refused.status, refused.body.as_str()), (403, NO_TOKEN), "{path} {cookie}");
        }
    }
    let refused = server.get(&format!("/?token={wrong}"), &[]);
    let sentence = "The token in this address is not the token of this page.\n";
    assert_eq!((refused.status, refused.body.as_str()), (403, sentence));
}

/// The token is good for a cookie of this process, and leaves the address.
#[test]
fn the_token_opens_every_page() {
    let workplace = Workplace::new(Some(POLICY));
    prompt(&workplace, "one", "Fix it");
    let server = serve(&workplace);
    let welcome = server.get(&format!("/history?token={}&words=x", server.token()), &[]);
    assert_eq!((welcome.status, welcome.header("location")), (303, Some("/history?words=x")));
    let cookie = welcome.header("set-cookie").unwrap().to_owned();
    assert_eq!(cookie.split("; ").skip(1).collect::<Vec<_>>(), ["Path=/", "HttpOnly", "SameSite=Strict"]);
    for path in
        ["/", "/session/1", "/runs", "/workflows", "/history", "/style.css", "/script.js", "/icon.svg"]
    {
        let page = server.page(path);
        assert_eq!(page.status, 200, "{path}");
        let policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
             form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
        assert_eq!(page.header("content-security-policy"), Some(policy), "{path}");
        assert_eq!(page.header("cache-control"), Some("no-store"), "{path}");
    }
    // The same token after a restart, and not the same cookie.
    let (token, old) = (server.token().to_owned(), server.cookie());
    assert_eq!(server.end(Signal::TERM).code, Some(0));
    let server = serve(&workplace);
    assert_eq!(server.token(), token);
    assert_eq!(server.get("/", &[("Cookie", &old)]).status, 403);
    assert_eq!(server.end(Signal::INT).code, Some(130));
}

/// Names that others resolve to this machine, pages of others, and paths that lead elsewhere.
#[test]
fn requests_of_other_sites_are_refused() {
    let workplace = Workplace::new(Some(POLICY));
    let server = serve(&workplace);
    let cookie = server.cookie();
    let with = |name: &str, value: &str| {
        let answer = server.get("/", &[("Cookie", cookie.as_str()), (name, value)]);
        (answer.status, answer.body)
    };
    let elsewhere = || (421, "This page is not served at this address.\n".to_owned());
    for host in ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""] {
        assert_eq!(with("Host", host), elsewhere(), "{host}");
    }
    for origin in ["http://evil.example", "null", "https://127.0.0.1"] {
        let foreign = (403, "Another site sent this request.\n".to_owned());
        assert_eq!(with("Origin", origin), foreign, "{origin}");
    }
    for path in [
        "/../../etc/passwd",
        "/%2e%2e/state/journal.db",
        "//etc/passwd",
        "/journal.db",
        "/session/x",
        "/session/999",
    ] {
        assert_eq!(server.page(path).status, 404, "{path}");
    }
}

/// Whatever changes something has the key of our own pages, or is refused.
#[test]
fn nothing_changes_without_the_key_of_a_form() {
    let workplace = Workplace::new(Some(POLICY));
    let server = serve(&workplace);
    let cookie = server.cookie();
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let refusal = "This form is not from this page: open the page again.\n";
    for body in ["", "key=", &format!("key={}", server.token()), &format!("key={}", "0".repeat(64))] {
        let answer = server.request("POST", "/run/1/abort", &[("Cookie", cookie.as_str()), form], body);
        assert_eq!((answer.status, answer.body.as_str()), (403, refusal), "{body}");
    }
    let without = server.request("POST", "/run/1/abort", &[form], "key=x");
    assert_eq!((without.status, without.body.as_str()), (403, NO_TOKEN));
    for method in ["POST", "PUT", "DELETE"] {
        assert_eq!(server.request(method, "/", &[("Cookie", cookie.as_str())], "").status, 405, "{method}");
    }
}

/// The demo's own story is on its page, also after it was played.
#[test]
fn the_demo_is_seen_on_its_page() {
    let workplace = Workplace::new(None);
    let folder = workplace.path("played");
    let server =
        PageServer::of(&mut workplace.checkstone(&["demo", "--serve", "--folder", folder.to_str().unwrap()]));
    let prompts = || server.page("/").texts_behind("<h3><a href=\"/session/1\">");
    sandbox::wait_for("the last prompt of the first session", || {
        prompts() == ["Make ten pieces cheaper still"]
    });
    sandbox::wait_for("the run", || {
        server.page("/runs").texts_behind("<span class=\"state\">") == ["completed"]
    });
    assert_eq!(server.end(Signal::INT).code.map(|code| [0, 130].binary_search(&code).is_ok()), Some(true));
}
