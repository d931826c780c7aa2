//! Where a bucket is, and how it may be used.

use std::fmt;
use std::str::FromStr;

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BucketAddressError {
    #[error("`{text}` is not the address of a bucket; write it like `s3://bucket/prefix`")]
    NotUnderstood { text: String },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketAddress {
    pub bucket: String,
    /// Without slashes around it; may be empty.
    pub prefix: String,
}

impl FromStr for BucketAddress {
    type Err = BucketAddressError;

    fn from_str(text: &str) -> Result<Self, BucketAddressError> {
        let wrong = || BucketAddressError::NotUnderstood { text: text.to_owned() };
        let rest = text.strip_prefix("s3://").ok_or_else(wrong)?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        // A name and a secret before an `@` do not belong here.
        if bucket.is_empty() || bucket.contains(['@', ':', '?']) {
            return Err(BucketAddressError::NotUnderstood { text: "s3://…".to_owned() });
        }
        Ok(Self { bucket: bucket.to_owned(), prefix: prefix.trim_matches('/').to_owned() })
    }
}

impl fmt::Display for BucketAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "s3://{}", self.bucket)?;
        if self.prefix.is_empty() { Ok(()) } else { write!(formatter, "/{}", self.prefix) }
    }
}

/// The address with what the user's environment and profile say of it.
#[derive(Clone)]
pub struct BucketAccess {
    pub address: BucketAddress,
    /// By the names that the environment has for them, such as `AWS_REGION`.
    pub options: Vec<(String, String)>,
}

impl fmt::Debug for BucketAccess {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.address, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_bucket_and_a_prefix() {
        let read = |text: &str| text.parse::<BucketAddress>().map(|address| address.to_string());
        assert_eq!(read("s3://lab/runs/"), Ok("s3://lab/runs".to_owned()));
        assert_eq!(read("s3://lab"), Ok("s3://lab".to_owned()));
        let told = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(told("lab"), "`lab` is not the address of a bucket; write it like `s3://bucket/prefix`");
        assert_eq!(
            told("s3://key:secret@lab/x"),
            "`s3://…` is not the address of a bucket; write it like `s3://bucket/prefix`"
        );
    }
}
