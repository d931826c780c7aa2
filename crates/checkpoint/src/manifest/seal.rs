//! The hash that a manifest carries over itself: SHA-256 of the two-space JSON without the line that holds it.
//!
//! It is taken from the text, not from what was parsed, so that it covers every byte, white space included, and so that
//! a number or an escape that another program writes in its own way does not matter.

use serde_json::Value;

use crate::hash;
use crate::manifest::{LARGEST, Manifest, ManifestError, is_digest, strict_json};

const KEY: &str = "manifestSha256";

/// A manifest with its text and hash.
#[derive(Clone, Debug, PartialEq)]
pub struct Sealed {
    pub manifest: Manifest,
    pub manifest_sha256: String,
    pub text: String,
}

pub(super) fn parse(text: &[u8]) -> Result<Sealed, ManifestError> {
    if text.len() as u64 > LARGEST {
        return Err(ManifestError::TooLarge);
    }
    strict_json::check(text).map_err(ManifestError::Json)?;
    let mut manifest: Manifest = serde_json::from_slice(text).map_err(ManifestError::Json)?;
    let declared = manifest.unknown.shift_remove(KEY);
    let declared = declared.as_ref().and_then(Value::as_str).filter(|digest| is_digest(digest));
    let declared = declared.ok_or(ManifestError::NoDigest)?.to_owned();
    manifest.check()?;
    // It was JSON, so it is UTF-8.
    let text = String::from_utf8_lossy(text).into_owned();
    let actual = digest_of(&text).ok_or(ManifestError::NoDigest)?;
    if actual != declared {
        return Err(ManifestError::Digest { expected: declared, actual });
    }
    Ok(Sealed { manifest, manifest_sha256: declared, text })
}

pub(super) fn seal(manifest: &Manifest) -> Result<Sealed, ManifestError> {
    manifest.check()?;
    let mut manifest = manifest.clone();
    manifest.unknown.shift_remove(KEY);
    let body = serde_json::to_string_pretty(&manifest).map_err(ManifestError::Json)?;
    let digest = hash::of_bytes(body.as_bytes());
    // A manifest has keys, so the text ends with the line break and the brace.
    let members = body.strip_suffix("\n}").unwrap_or(&body);
    let text = format!("{members},\n  \"{KEY}\": \"{digest}\"\n}}");
    if text.len() as u64 > LARGEST {
        return Err(ManifestError::TooLarge);
    }
    Ok(Sealed { manifest, manifest_sha256: digest, text })
}

/// The hash over a manifest's text without the line of the hash; `None` if there is no such line, or it is not as two-space
/// JSON has it. A line break at the end of the file does not count.
pub fn digest_of(text: &str) -> Option<String> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    // Only a key of the outermost object is indented by two spaces, and no string holds a line break.
    let start = text.find(&format!("\n  \"{KEY}\": \""))?;
    let (before, line) = text.split_at_checked(start)?;
    let value = line.strip_prefix("\n  \"")?.strip_prefix(KEY)?.strip_prefix("\": \"")?;
    let (digest, rest) = value.split_at_checked(64)?;
    if !is_digest(digest) {
        return None;
    }
    let rest = rest.strip_prefix('"')?;
    let without = match rest.strip_prefix(',') {
        Some(rest) => format!("{before}{}", rest.strip_prefix('\n').map(|_| rest)?),
        None if rest == "\n}" => match before.strip_suffix(',') {
            Some(before) => format!("{before}{rest}"),
            None => return None,
        },
        None => return None,
    };
    Some(hash::of_bytes(without.as_bytes()))
}
