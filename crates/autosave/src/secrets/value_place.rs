//! Where on a line something stands that would be a secret, whatever it looks like: for texts that leave the machine and
//! lose nothing worth having if the rest of the line is left out.

use super::assignment::{Assignment, Place};
use super::secret_name::{KEYWORDS, SecretName};

/// The first byte of it.
pub(super) fn value_place(line: &str) -> Option<usize> {
    let small = line.to_ascii_lowercase();
    let hits = KEYWORDS.iter().flat_map(|word| small.match_indices(word).map(|(at, _)| at));
    let assigned = hits.filter_map(|at| assigned(line.as_bytes(), at));
    assigned.chain(in_address(line)).chain(of_options(line)).min()
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
                unquoted.ends_with(b"=") || (place != Place::Sentence && (is_joined || !is_key))
            }
            SecretName::Password | SecretName::Token => place != Place::Sentence || has_digit,
        };
        if is_told && !is_reference {
            return Some(assignment.at);
        }
    }
    // `the password is swordfish`
    let rest = line.get(end..)?;
    let said = [&b" is "[..], b" was ", b" to ", b": "].into_iter().find(|said| rest.starts_with(said))?;
    (SecretName::of(written)? == SecretName::Password).then_some(end + said.len())
}

/// `scheme://user:password@host`
fn in_address(line: &str) -> Option<usize> {
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
        let at = word.as_ptr() as usize - line.as_ptr() as usize;
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
        ] {
            assert_eq!(value_place(line), None, "{line}");
        }
    }
}
