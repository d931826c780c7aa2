//! The bucket behind the artifact stores of a project.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bucket::{BucketAccess, BucketAddressError, BucketError, ContentBucket, NewContent};
use checkpoint::{FetchedFile, RemoteContent, RemoteError, RemoteStore};
use sha2::{Digest as _, Sha256};

use crate::aws_profile;
use crate::environment;

#[derive(Debug)]
pub(crate) struct BucketStore {
    access: BucketAccess,
    /// By which the contents of this project are kept apart from those of others.
    project: String,
    /// By report title, once something is put or fetched.
    opened: Mutex<HashMap<String, Arc<ContentBucket>>>,
}

impl BucketStore {
    /// `project` is what all hosts call it.
    pub(crate) fn new(address: &str, project: &str) -> Result<Self, BucketAddressError> {
        let name = Path::new(project).file_name().map(|name| name.to_string_lossy().into_owned());
        let digest = text::hexadecimal(&Sha256::digest(project));
        Self::of_scope(address, &format!("{}-{}", name.unwrap_or_default(), text::head(&digest, 12)))
    }

    /// By what its part of the bucket is called.
    pub(crate) fn of_scope(address: &str, scope: &str) -> Result<Self, BucketAddressError> {
        let access = BucketAccess { address: address.parse()?, options: options() };
        Ok(Self { access, project: scope.to_owned(), opened: Mutex::default() })
    }

    pub(crate) fn address(&self) -> String {
        self.access.address.to_string()
    }

    pub(crate) fn scope(&self) -> &str {
        &self.project
    }

    /// A part of the bucket that holds no contents of checkpoints.
    pub(crate) fn part(&self, names: &[&str]) -> Result<ContentBucket, BucketError> {
        let scope: Vec<&str> = [self.project.as_str()].into_iter().chain(names.iter().copied()).collect();
        ContentBucket::open(&self.access, &scope)
    }

    fn bucket(&self, title: &str) -> Result<Arc<ContentBucket>, RemoteError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = opened.get(title) {
            return Ok(Arc::clone(bucket));
        }
        let bucket = Arc::new(ContentBucket::open(&self.access, &[&self.project, title])?);
        opened.insert(title.to_owned(), Arc::clone(&bucket));
        Ok(bucket)
    }
}

impl RemoteStore for BucketStore {
    fn name(&self) -> String {
        self.access.address.to_string()
    }

    fn put(&self, title: &str, contents: Vec<RemoteContent>) -> Result<(), RemoteError> {
        let is_first = self.opened.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        let bucket = self.bucket(title)?;
        if is_first {
            bucket.check()?;
        }
        let new = contents.into_iter().map(|RemoteContent { sha256, file, is_executable }| NewContent {
            sha256,
            file,
            is_executable,
        });
        Ok(bucket.put(new.collect())?)
    }

    fn fetch(&self, title: &str, sha256: &str, to: &File) -> Result<Option<FetchedFile>, RemoteError> {
        let fetched = self.bucket(title)?.fetch(sha256, to)?;
        Ok(fetched.map(|content| FetchedFile { is_executable: content.is_executable }))
    }

    fn free(&self, title: &str, is_wanted: &dyn Fn(&str) -> bool) -> Result<(), RemoteError> {
        self.bucket(title)?.free(is_wanted)?;
        Ok(())
    }
}

/// What the environment says, and then the profile; keys are never mixed from both.
fn options() -> Vec<(String, String)> {
    let set = environment::all().into_iter().filter_map(|(name, value)| {
        let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
        (name.starts_with("AWS_") && !value.is_empty()).then_some((name, value))
    });
    let set: Vec<(String, String)> = set.collect();
    let of = |wanted: &str| set.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
    let text = |variable: &str, usual: &str| {
        let path = of(variable).map(PathBuf::from).or_else(|| Some(environment::home()?.join(usual)));
        path.and_then(|path| fs_err::read_to_string(path).ok()).unwrap_or_default()
    };
    let profile = of("AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
    let credentials = text("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials");
    let mut options = aws_profile::options(&profile, &credentials, &text("AWS_CONFIG_FILE", ".aws/config"));
    let has_keys = of("AWS_ACCESS_KEY_ID").is_some();
    let is_key = |name: &str| name.contains("_KEY") || name.contains("_TOKEN");
    options.retain(|(name, _)| of(name).is_none() && !(has_keys && is_key(name)));
    options.extend(set);
    options
}
