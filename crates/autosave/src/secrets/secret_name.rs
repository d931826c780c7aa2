//! Which names mean that what is assigned to them is a secret: by their last word that says something, in any spelling
//! (`DB_PASSWORD`, `dbPassword`, `db-password`, `spring.datasource.password`, `PGPASSWORD`).

/// What a name says about its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SecretName {
    /// A password, which a person may have chosen.
    Password,
    /// A token or key, which a machine has made.
    Token,
    /// A key of any sort: only a value that can be nothing else is a secret.
    Perhaps,
}

/// One of these is in every such name.
pub(super) const KEYWORDS: &[&str] =
    &["pass", "pw", "secret", "token", "key", "cred", "auth", "jwt", "pat", "cookie"];

const PASSWORDS: &[&str] =
    &["password", "passwd", "passphrase", "passcode", "pass", "passwort", "pwd", "pw", "userpass"];

const TOKENS: &[&str] = &["secret", "secrets", "token", "apikey", "credential", "credentials", "creds"];

const PERHAPS: &[&str] = &["auth", "authorization", "jwt", "pat", "cookie"];

/// Also as the end of a longer word: `PGPASSWORD`, `authtoken`.
const ENDINGS: &[&str] =
    &["password", "passwd", "passphrase", "secret", "token", "apikey", "secretkey", "accesskey"];

/// A key of such a kind opens something.
const KEY_OF: &[&str] = &[
    "api",
    "access",
    "secret",
    "private",
    "signing",
    "encryption",
    "master",
    "auth",
    "account",
    "storage",
    "restricted",
    "client",
    "service",
    "admin",
    "license",
    "deploy",
    "ssh",
    "webhook",
    "session",
];

/// Says when or where a secret holds, or how it is written, and not what it is.
const SAYS_NOTHING: &[&str] = &[
    "base",
    "base64",
    "b64",
    "prod",
    "production",
    "staging",
    "stage",
    "dev",
    "test",
    "live",
    "value",
    "plain",
    "new",
    "old",
    "current",
    "default",
    "str",
    "string",
    "text",
    "primary",
    "secondary",
    "env",
    "var",
];

/// What is called so is shown to everybody.
const SHOWN: &[&str] = &[
    "public",
    "hash",
    "hashed",
    "sha",
    "sha1",
    "sha256",
    "sha512",
    "md5",
    "checksum",
    "digest",
    "fingerprint",
    "integrity",
    "etag",
    "uuid",
    "commit",
    "pattern",
    "regex",
    "page",
    "csrf",
    "xsrf",
    "cursor",
    "sort",
    "primarykey",
    "foreignkey",
    "cache",
    "example",
    "fake",
    "mock",
    "dummy",
    "placeholder",
];

impl SecretName {
    pub(super) fn of(name: &[u8]) -> Option<Self> {
        let words = words(name);
        if words.iter().any(|word| SHOWN.contains(&word.as_str())) {
            return None;
        }
        let is_said = |word: &&String| !SAYS_NOTHING.contains(&word.as_str());
        let mut said = words.iter().rev().filter(is_said);
        let last = said.next()?.as_str();
        if PASSWORDS.contains(&last) {
            return Some(Self::Password);
        }
        if last == "key" {
            let is_of = said.any(|word| KEY_OF.contains(&word.as_str()));
            return Some(if is_of { Self::Token } else { Self::Perhaps });
        }
        if TOKENS.contains(&last) {
            return Some(Self::Token);
        }
        match ENDINGS.iter().find(|ending| last.ends_with(*ending)) {
            Some(ending) if ending.starts_with("pass") => Some(Self::Password),
            Some(_) => Some(Self::Token),
            None => PERHAPS.contains(&last).then_some(Self::Perhaps),
        }
    }
}

/// The words of a name in small letters, without numbers at their ends.
fn words(name: &[u8]) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = b'_';
    for byte in name {
        let is_new =
            !byte.is_ascii_alphanumeric() || (before.is_ascii_lowercase() && byte.is_ascii_uppercase());
        if is_new {
            words.push(String::new());
        }
        if byte.is_ascii_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.push(char::from(byte.to_ascii_lowercase()));
        }
        before = *byte;
    }
    let unnumbered =
        |word: String| match ["sha1", "sha256", "sha512", "md5", "base64", "b64"].contains(&word.as_str()) {
            true => word,
            false => word.trim_end_matches(|letter: char| letter.is_ascii_digit()).to_owned(),
        };
    words.into_iter().map(unnumbered).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_any_spelling() {
        use SecretName::{Password, Perhaps, Token};
        for (name, meaning) in [
            ("PASSWORD", Some(Password)),
            ("PGPASSWORD", Some(Password)),
            ("MYSQL_PWD", Some(Password)),
            ("spring.datasource.password", Some(Password)),
            ("db-pass", Some(Password)),
            ("DB_PW", Some(Password)),
            ("pw", Some(Password)),
            ("Passwort", Some(Password)),
            ("userPassword2", Some(Password)),
            ("TOKEN", Some(Token)),
            ("API_KEY", Some(Token)),
            ("apiKey", Some(Token)),
            ("x-api-key", Some(Token)),
            ("AWS_SECRET_ACCESS_KEY", Some(Token)),
            ("SECRET_KEY_BASE", Some(Token)),
            ("STRIPE_API_KEY_LIVE", Some(Token)),
            ("authtoken", Some(Token)),
            ("_authToken", Some(Token)),
            ("OPENAI_KEY", Some(Perhaps)),
            ("Authorization", Some(Perhaps)),
            ("AZURE_DEVOPS_EXT_PAT", Some(Perhaps)),
            ("tokenizer", None),
            ("max_tokens", None),
            ("token_url", None),
            ("password_file", None),
            ("public_key", None),
            ("token_sha256", None),
            ("passed", None),
            ("monkey", None),
        ] {
            assert_eq!(SecretName::of(name.as_bytes()), meaning, "{name}");
        }
    }
}
