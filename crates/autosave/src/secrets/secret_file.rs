//! Files that are secrets as a whole, by the names that programs look for them under. What such a file holds is not
//! asked, with two exceptions: an empty one has nothing to hide, and a `.pem` may hold a certificate or parameters, which are public.
//! A file that is nothing but one value is marked by its name as a variable is: `config/master.key`, `secrets/db_password`.

use change_set::BytePath;
use memchr::memmem;

use super::assignment::{Assignment, Place};
use super::checks;
use super::secret_name::SecretName;

pub(super) const KIND: &str = "secret-file";

/// Whole names, in small letters.
const NAMES: &[&str] = &[
    ".netrc",
    "_netrc",
    ".pgpass",
    "pgpass.conf",
    ".my.cnf",
    ".mylogin.cnf",
    ".git-credentials",
    ".htpasswd",
    ".dockercfg",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_ecdsa_sk",
    "id_ed25519_sk",
    "credentials",
    "kubeconfig",
];

/// Names that count only in this folder.
const IN_FOLDERS: &[(&str, &str)] =
    &[(".kube", "config"), (".docker", "config.json"), (".cargo", "credentials.toml")];

const ENDINGS: &[&str] = &["pem", "p12", "pfx", "jks", "keystore", "kdbx", "ppk", "kubeconfig"];

/// `.env.example` is there to be read.
const SHOWN: &[&str] =
    &["example", "examples", "sample", "template", "tmpl", "dist", "defaults", "default", "schema"];

/// Of a file that is one value.
const LONGEST_VALUE: usize = 1024;

pub(super) fn is_secret(path: &BytePath, content: &[u8]) -> bool {
    let name = |part: Option<&std::ffi::OsStr>| {
        part.and_then(|name| name.to_str()).map(str::to_lowercase).unwrap_or_default()
    };
    let path = path.as_path();
    let file = name(path.file_name());
    let folder = name(path.parent().and_then(std::path::Path::file_name));
    let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
    // `.env`, `.env.local`, `.env-prod`; direnv's file is often only about the shell.
    let is_environment = match file.strip_prefix(".env") {
        Some("rc") => content.contains(&b'='),
        Some(rest) => {
            let last = rest.rsplit(['.', '-', '_']).next().unwrap_or_default();
            !rest.starts_with(char::is_alphanumeric) && !SHOWN.contains(&last)
        }
        None => false,
    };
    let is_named = is_environment
        || NAMES.contains(&file.as_str())
        || IN_FOLDERS.contains(&(folder.as_str(), file.as_str()))
        || ENDINGS.contains(&ending);
    let is_public = ending == "pem"
        && memmem::find(content, b"-----BEGIN ").is_some()
        && memmem::find(content, b"PRIVATE KEY").is_none();
    let is_service_account = ending == "json"
        && memmem::find(content, b"\"service_account\"").is_some()
        && memmem::find(content, b"\"private_key\"").is_some();
    (is_named && !is_public && says_something(content)) || is_service_account
}

/// Whether the content is one value, of which the name of the file says that it is a secret.
pub(super) fn is_one_secret(path: &BytePath, content: &[u8]) -> bool {
    let file = path.as_path().file_name().and_then(|name| name.to_str()).map(str::to_lowercase);
    let file = file.unwrap_or_default();
    let value = content.trim_ascii();
    let stem = file.rsplit_once('.').map_or(file.as_str(), |(stem, _)| stem);
    let name = SecretName::of(file.as_bytes()).or_else(|| SecretName::of(stem.as_bytes()));
    let is_one = value.len() <= LONGEST_VALUE && value.iter().all(u8::is_ascii_graphic);
    name.is_some_and(|name| {
        is_one && checks::assigned(&Assignment { name, place: Place::Quoted, value, at: 0 })
    })
}

/// More than comments and empty lines.
fn says_something(content: &[u8]) -> bool {
    let mut lines = content.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.any(|line| !line.is_empty() && !line.starts_with(b"#"))
}
