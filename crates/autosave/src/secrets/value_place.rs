//! Where on a line something stands that would be a secret, whatever it looks like: for texts that leave the machine and
//! lose nothing worth having if the rest of the line is left out.

use std::net::Ipv4Addr;

use super::assignment::{Assignment, Place};
use super::other_languages;
use super::secret_name::{KEYWORDS, SecretName};

/// The first byte of it.
pub(super) fn value_place(line: &str) -> Option<usize> {
    let small = line.to_ascii_lowercase();
    let hits = KEYWORDS.iter().flat_map(|word| small.match_indices(word).map(|(at, _)| at));
    let assigned = hits.filter_map(|at| assigned(line.as_bytes(), at));
    let found = assigned.chain(in_address(line)).chain(of_options(line)).chain(of_login(line));
    let found = found.chain(named_behind(line));
    found.chain(of_bearer(line, &small)).chain(other_languages::value_place(line)).min()
}

fn assigned(line: &[u8], at: usize) -> Option<usize> {
    let is_of_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let end = at + line.get(at..)?.iter().take_while(is_of_name).count();
    let start = at - line.get(..at)?.iter().rev().take_while(is_of_name).count();
    let written = line.get(start..end)?;
    if let (Some(assignment), _) = Assignment::around(line, at) {
        let Assignment { name, place, value, .. } = assignment;
        let is_reference = value.first().is_some_and(|byte| b"$<{%".contains(byte));
        let has_digit = value.iter().any(u8::is_ascii_digit);
        let is_told = match name {
            // `OPENAI_KEY=…`, `Cookie: …`, but not `the key: …`
            SecretName::Perhaps => {
                let before = line.get(..assignment.at).unwrap_or_default().trim_ascii_end();
                let unquoted = before.strip_suffix(b"\"").or(before.strip_suffix(b"'")).unwrap_or(before);
                let is_joined = written.iter().any(|byte| matches!(byte, b'_' | b'-'));
                let is_key = written.eq_ignore_ascii_case(b"key");
                // `key = value` is how files are described.
                let is_odd = !value.iter().all(u8::is_ascii_lowercase);
                (unquoted.ends_with(b"=") && (is_odd || !is_key))
                    || (place != Place::Sentence && (is_joined || !is_key))
            }
            SecretName::Password | SecretName::Token => place != Place::Sentence || has_digit,
        };
        if is_told && !is_reference {
            return Some(assignment.at);
        }
    }
    let rest = line.get(end..)?;
    if let Some(length) = words_to_colon(rest)
        && matches!(SecretName::of(written), Some(SecretName::Password | SecretName::Token))
    {
        return Some(end + length);
    }
    let name = SecretName::of(written.strip_suffix(b"s").unwrap_or(written)).or(SecretName::of(written))?;
    // `the secret is LVWHQCXKNZEP`, `api token -> ab12cd34`
    if let Some(length) = odd_word(rest) {
        return Some(end + length);
    }
    // `the password is swordfish`
    let said = [&b" is "[..], b" was ", b" to ", b": ", b" -> ", b" => ", "→ ".as_bytes(), " → ".as_bytes()];
    let said = said.into_iter().find(|said| rest.starts_with(said))?;
    (name == SecretName::Password).then_some(end + said.len())
}

/// As far as a word that is none: large letters only, or letters and digits, behind nothing but a sign or a small word.
fn odd_word(rest: &[u8]) -> Option<usize> {
    const LONGEST_BETWEEN: usize = 4;
    let mut at = 0;
    for word in rest.split(u8::is_ascii_whitespace).take(3) {
        let of_letters = word.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
        let has = |is: fn(&u8) -> bool| word.iter().any(is);
        let is_of_value = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&*^@?~+=".contains(byte);
        let is_large = word.len() >= 12 && word.iter().all(u8::is_ascii_uppercase);
        let is_mixed =
            word.len() >= 8 && has(u8::is_ascii_digit) && of_letters >= 2 && word.iter().all(is_of_value);
        if is_large || is_mixed {
            return Some(at);
        }
        if word.len() > LONGEST_BETWEEN {
            return None;
        }
        at += word.len() + 1;
    }
    None
}

/// `Bearer abc12345`: what is behind it, whatever stands before.
fn of_bearer(line: &str, small: &str) -> Option<usize> {
    let at = small.match_indices("bearer ").map(|(at, word)| at + word.len()).find(|at| {
        let word = line.get(*at..).and_then(|rest| rest.split_whitespace().next()).unwrap_or_default();
        word.len() >= 8
            && !word.chars().all(|letter| letter.is_ascii_lowercase() || "$<{%.,".contains(letter))
    })?;
    line.get(at..).is_some_and(|rest| !rest.starts_with(['$', '<', '{', '%'])).then_some(at)
}

/// `a token with the scope of packages only: abc1`: as far as the value, if it is one word that can be no path and is no
/// mere word.
fn words_to_colon(rest: &[u8]) -> Option<usize> {
    let colon = rest.iter().position(|byte| !byte.is_ascii_lowercase() && !b" ,'()-".contains(byte))?;
    let behind = rest.get(colon..)?.strip_prefix(b":")?;
    let gap = behind.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let value = behind.get(gap..)?.split(u8::is_ascii_whitespace).next()?;
    let is_word = value.iter().all(|byte| byte.is_ascii_alphabetic() || b",.;".contains(byte));
    (gap > 0 && !is_word && !value.contains(&b'/')).then_some(colon + 1 + gap)
}

/// `use swordfish as the password`, `hunter22 is the password`
fn named_behind(line: &str) -> Option<usize> {
    const NAMES_NOTHING: [&str; 14] = [
        "it", "this", "that", "these", "those", "them", "one", "which", "what", "he", "she", "you", "here",
        "there",
    ];
    const GOES_ON: [&str; 12] =
        ["for", "of", "on", "in", "to", "and", "then", "please", "when", "at", "there", "here"];
    let words: Vec<&str> = line.split_whitespace().collect();
    words.iter().enumerate().find_map(|(at, link)| {
        if !matches!(*link, "as" | "is") {
            return None;
        }
        let mut behind = words.get(at + 1..)?.iter().take(MOST_BEFORE_NAME);
        let name = behind.position(|word| {
            matches!(SecretName::of(bare(word).as_bytes()), Some(SecretName::Password | SecretName::Token))
        })?;
        let name = at + 1 + name;
        let is_over =
            words.get(name).is_some_and(|word| word.ends_with(|end: char| end.is_ascii_punctuation()))
                || words.get(name + 1).is_none_or(|next| GOES_ON.contains(&bare(next)));
        let value = words.get(at.checked_sub(1)?)?;
        let verb = at.checked_sub(2).and_then(|at| words.get(at)).map(|verb| verb.to_ascii_lowercase());
        let is_given = *link == "as"
            && verb.is_some_and(|verb| {
                ["use", "using", "set", "enter", "type", "try", "with", "put"].contains(&&*verb)
            })
            && !NAMES_NOTHING.contains(&bare(value));
        (is_over && (is_given || is_odd(value))).then(|| place_of(value, line))
    })
}

/// `the`, and what kind of a password it is.
const MOST_BEFORE_NAME: usize = 4;

fn place_of(word: &str, line: &str) -> usize {
    word.as_ptr() as usize - line.as_ptr() as usize
}

fn bare(word: &str) -> &str {
    word.trim_matches(|letter: char| ".,;:!?()\"'`*".contains(letter))
}

/// More than a word of a sentence, which has small letters behind its first one and an apostrophe at most.
fn is_odd(word: &str) -> bool {
    let inner = bare(word).as_bytes();
    inner.len() > 1 && !inner.iter().skip(1).all(|byte| byte.is_ascii_lowercase() || *byte == b'\'')
}

/// `the login is admin / swordfish`, `user admin and hunter22`, `as admin with password swordfish`: who somebody is, and
/// how they prove it.
fn of_user(words: &[&str]) -> Option<usize> {
    const SAY_WHO: [&str; 6] = ["as", "user", "username", "account", "login", "with"];
    const BETWEEN: [&str; 6] = ["the", "a", "my", "its", "is", "this"];
    for (at, word) in words.iter().enumerate() {
        let says = |word: &&str| SAY_WHO.contains(&bare(word).to_ascii_lowercase().as_str());
        if !says(word) {
            continue;
        }
        let is_between = |word: &&str| says(word) || BETWEEN.contains(&bare(word));
        let mut next = at + 1;
        while words.get(next).is_some_and(is_between) {
            next += 1;
        }
        let link = words.get(next + 1).map(|link| link.trim_end_matches(':'));
        let mut value = next + 2;
        let is_pair = link == Some("/") || link == Some("|");
        if !is_pair && !matches!(link, Some("and" | "with" | "pw" | "pass" | "password")) {
            continue;
        }
        let is_name = |word: &&&str| {
            ["the", "a", "is"].contains(&bare(word))
                || SecretName::of(bare(word).as_bytes()) == Some(SecretName::Password)
        };
        let named = words.get(value..)?.iter().take_while(is_name).count();
        value += named;
        let is_named = named > 0 || link.and_then(|link| SecretName::of(link.as_bytes())).is_some();
        if words.get(value).is_some_and(|word| is_pair || is_named || is_odd(word)) {
            return Some(value);
        }
    }
    None
}

/// `log in as user/password`, `connect with user:password`
fn of_login(line: &str) -> Option<usize> {
    let small = line.to_ascii_lowercase();
    let verb = ["connect", "log in", "login", "logged in", "sign in", "authenticate", "basic auth"]
        .iter()
        .filter_map(|verb| small.find(verb))
        .min()?;
    let words: Vec<&str> = line.get(verb..)?.split_whitespace().collect();
    if let Some(value) = of_user(&words).and_then(|at| words.get(at)) {
        return Some(place_of(value, line));
    }
    let mut before = "";
    for word in words {
        let is_pair = || {
            let mut parts = word.trim_matches(['"', '\'', '`']).split(['/', ':']);
            let is_name = |part: Option<&str>| part.is_some_and(|part| !part.is_empty());
            is_name(parts.next()) && is_name(parts.next()) && parts.next().is_none()
        };
        if matches!(before, "as" | "with" | "using" | "by" | "auth") && is_pair() {
            return Some(place_of(word, line));
        }
        before = word;
    }
    None
}

/// `scheme://user:password@host`, and the same without a scheme, which is no `npm:package@version`.
fn in_address(line: &str) -> Option<usize> {
    let bare = line.split_whitespace().find(|word| {
        let parts = word.split_once(':').and_then(|(user, rest)| Some((user, rest.rsplit_once('@')?)));
        parts.is_some_and(|(user, (password, host))| {
            let is_name = |name: &str| name.starts_with(|letter: char| letter.is_ascii_alphabetic());
            is_name(user.trim_start_matches(['"', '\'', '`', '(']))
                && (is_name(host) || is_address(host))
                && user != "npm"
                && !password.is_empty()
                && !password.contains('/')
        })
    });
    let bare = bare.map(|word| place_of(word, line));
    schemed(line).into_iter().chain(bare).min()
}

/// `10.0.0.5:22`, but no version.
fn is_address(host: &str) -> bool {
    let host = host.split([':', '/']).next().unwrap_or_default();
    host.trim_end_matches(|letter: char| ".,;!?)'\"`".contains(letter)).parse::<Ipv4Addr>().is_ok()
}

fn schemed(line: &str) -> Option<usize> {
    line.match_indices("://").map(|(at, sign)| at + sign.len()).find(|at| {
        let rest = line.get(*at..).unwrap_or_default();
        let authority = rest.split(|letter: char| letter.is_whitespace() || "/\"'`".contains(letter)).next();
        authority.and_then(|authority| authority.rsplit_once('@')).is_some_and(|(user, _)| user.contains(':'))
    })
}

/// `-u user:password`, and `-ppassword` of the clients that have it.
fn of_options(line: &str) -> Option<usize> {
    let has_password_option =
        ["mysql", "mariadb", "sshpass", "mongo"].iter().any(|program| line.contains(program));
    let mut before = "";
    for word in line.split_whitespace() {
        let at = place_of(word, line);
        let unquoted = word.trim_start_matches(['"', '\'']);
        let is_user = matches!(before, "-u" | "--user" | "--proxy-user" | "-U") && unquoted.contains(':');
        let is_password =
            has_password_option && (before == "-p" || (word.starts_with("-p") && word.len() > 2));
        let is_attached = word.starts_with("-u") && word.contains(':');
        if is_user || is_password || is_attached || (word.starts_with("--user=") && word.contains(':')) {
            return Some(at);
        }
        before = word;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_a_secrets_place_is_found_whatever_it_looks_like() {
        for (line, kept) in [
            ("PASSWORD=swordfish make", "PASSWORD="),
            ("set api_key to: x, token = abc", "set api_key to: x, token = "),
            ("login --token abc", "login --token "),
            ("OPENAI_KEY='abc'", "OPENAI_KEY='"),
            ("Cookie: session=abc", "Cookie: session="),
            ("auth: abc", "auth: "),
            ("MYSQL_PW=abc", "MYSQL_PW="),
            ("the password is swordfish", "the password is "),
            ("curl -u kim:swordfish x", "curl -u "),
            ("mysql -uroot -pswordfish", "mysql -uroot "),
            ("postgres://kim:swordfish@db/x", "postgres://"),
            ("Authorization: Bearer abc", "Authorization: Bearer "),
            ("x-api-key: abc", "x-api-key: "),
            ("here's a token with publish scope only: ab-1", "here's a token with publish scope only: "),
            ("then connect as scott/tiger and go on", "then connect as "),
            ("Log in with kim:swordfish", "Log in with "),
            ("basic auth kim:Winter2031!", "basic auth "),
            ("ssh kim:hunterx22@host now", "ssh "),
            ("passwords: Winter2031!", "passwords: "),
            ("password -> Winter2031!", "password -> "),
            ("use Bearer Falcon1018!", "use Bearer "),
            ("the secret is LVWHQCXKNZEP", "the secret is "),
            ("Passwort LVWHQCXKNZEP", "Passwort "),
            ("use correct-horse-battery as the password", "use "),
            ("use swordfish as the admin password.", "use "),
            ("Hunter-22 is the password for it", ""),
            ("the login is admin / RV5IfLBcbf", "the login is admin / "),
            ("log in as admin with password correct-horse-battery", "log in as admin with password "),
            ("Login with user admin and RV5IfLBcbf please", "Login with user admin and "),
            ("login: user admin password swordfish", "login: user admin password "),
            ("ssh admin:RV5IfLBcbf@10.0.0.5", "ssh "),
            ("my api key is ab12cd34ef", "my api key is "),
            ("my api key is LVWHQCXKNZEP", "my api key is "),
        ] {
            assert_eq!(value_place(line).and_then(|at| line.get(..at)), Some(kept), "{line}");
        }
        for line in [
            "Fix the tokenizer",
            "Rename `key` to `name`",
            "Read TOKEN=$TOKEN from the environment",
            "Why does the token Parser fail?",
            "see https://example.com/a:b@c",
            "Pass the tests",
            "Fix the token parser in this file: src/a.rs",
            "connect as somebody else",
            "install npm:react@latest and pnpm@9, clone git@host.dev:kim/app",
            "The bearer token is missing, see $TOKEN",
            "Rename the token STRING to TEXT",
            "Use it as the password",
            "use argon2 as the password hasher",
            "Show the email as the token's subject",
            "log in as admin and check the page",
            "the login page is blue / green",
            "log in with the new form",
            "install jsr:std@1.2.3",
            "key = value parsing fails with comments",
            "The key is user_id_2 or src/a1/key2.rs",
        ] {
            assert_eq!(value_place(line), None, "{line}");
        }
    }
}
