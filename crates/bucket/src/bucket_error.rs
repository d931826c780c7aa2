//! What can go wrong with a bucket, each with what to do about it.

use std::io;

use crate::BucketAddress;

#[derive(Debug, thiserror::Error)]
pub enum BucketError {
    #[error("there is no bucket `{bucket}`: create it, or fix `store` in your configuration")]
    NoBucket { bucket: String },
    #[error("the credentials for `{address}` have expired: renew them, then resume the run")]
    Expired { address: String },
    #[error(
        "`{address}` does not accept the session token of the credentials, which has probably expired: renew the credentials, then \
         resume the run"
    )]
    OldToken { address: String },
    #[error(
        "`{address}` rejects requests because this machine's clock is wrong: set it, then resume the run"
    )]
    OtherClock { address: String },
    #[error(
        "`{address}` does not accept the credentials: set `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, or `AWS_PROFILE`, \
         to ones that may read, write, list and delete there"
    )]
    Denied { address: String },
    #[error(
        "`{address}` has no conditional put (`If-None-Match`), without which two hosts could overwrite each other: use a service \
         that has it, such as AWS S3, MinIO or SeaweedFS"
    )]
    NoConditionalPut { address: String },
    #[error("`{address}` has no space left: free some there, then resume the run")]
    Full { address: String },
    #[error("`{address}` does not answer: check `AWS_ENDPOINT_URL` and the network, then resume the run")]
    NoAnswer { address: String, source: Box<object_store::Error> },
    #[error(
        "`{address}` returned other content than it was given for {sha256}: nothing was committed; resume the run"
    )]
    Damaged { address: String, sha256: String },
    #[error("`{address}` cannot be used")]
    Failed { address: String, source: Box<object_store::Error> },
    #[error("the configuration for `{address}` is not valid")]
    Configuration { address: String, source: Box<object_store::Error> },
    #[error("cannot read or write the local copy")]
    Local(#[from] io::Error),
}

impl BucketError {
    /// Whether it is the service's answer, and stays so until a person does something.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::NoBucket { .. }
                | Self::Expired { .. }
                | Self::OldToken { .. }
                | Self::OtherClock { .. }
                | Self::Denied { .. }
        )
    }

    /// `is_temporary` says whether the credentials have a session token: a service that has forgotten them does not know their key.
    pub(crate) fn of(address: &BucketAddress, is_temporary: bool, error: object_store::Error) -> Self {
        let told = text_of(&error);
        let has = |words: &[&str]| words.iter().any(|word| told.contains(word));
        let (address, bucket) = (address.to_string(), address.bucket.clone());
        if has(&["NoSuchBucket"]) {
            return Self::NoBucket { bucket };
        }
        if has(&["ExpiredToken", "TokenRefreshRequired", "RequestExpired"]) {
            return Self::Expired { address };
        }
        if has(&["InvalidToken"]) || (is_temporary && has(&["InvalidAccessKeyId"])) {
            return Self::OldToken { address };
        }
        if has(&["RequestTimeTooSkewed"]) {
            return Self::OtherClock { address };
        }
        if has(&["507 ", "InsufficientStorage", "XMinioStorageFull", "no free volumes", "no writable volume"])
        {
            return Self::Full { address };
        }
        let is_denied = matches!(
            error,
            object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. }
        );
        if is_denied
            || has(&["InvalidAccessKeyId", "SignatureDoesNotMatch", "AccessDenied", "instance metadata"])
        {
            return Self::Denied { address };
        }
        if matches!(
            error,
            object_store::Error::NotImplemented { .. } | object_store::Error::NotSupported { .. }
        ) || has(&["NotImplemented", "501 "])
        {
            return Self::NoConditionalPut { address };
        }
        match has(&["error sending request", "HTTP error", "timed out", "connect"]) {
            true => Self::NoAnswer { address, source: Box::new(error) },
            false => Self::Failed { address, source: Box::new(error) },
        }
    }
}

/// With all its causes: the service's own word is in the innermost one.
fn text_of(error: &object_store::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_service_answers_becomes_something_to_do() {
        let address: BucketAddress = "s3://lab/runs".parse().unwrap();
        let told = |answer: &str| {
            let error = object_store::Error::Generic { store: "S3", source: answer.into() };
            BucketError::of(&address, answer.contains("temporary"), error).to_string()
        };
        assert_eq!(
            told("404: <Code>NoSuchBucket</Code>"),
            "there is no bucket `lab`: create it, or fix `store` in your configuration"
        );
        assert_eq!(
            told("400: <Code>ExpiredToken</Code>"),
            "the credentials for `s3://lab/runs` have expired: renew them, then resume the run"
        );
        assert_eq!(
            told("403: <Code>InvalidAccessKeyId</Code> for a temporary key"),
            "`s3://lab/runs` does not accept the session token of the credentials, which has probably expired: renew the \
             credentials, then resume the run"
        );
        assert_eq!(
            told("501 Not Implemented"),
            "`s3://lab/runs` has no conditional put (`If-None-Match`), without which two hosts could overwrite each other: use a \
             service that has it, such as AWS S3, MinIO or SeaweedFS"
        );
        assert_eq!(
            told("507 Insufficient Storage"),
            "`s3://lab/runs` has no space left: free some there, then resume the run"
        );
        assert_eq!(
            told("error sending request for url (http://127.0.0.1:1/)"),
            "`s3://lab/runs` does not answer: check `AWS_ENDPOINT_URL` and the network, then resume the run"
        );
    }
}
