//! Contents in a bucket, named by their SHA-256 below the scope that they belong to. A content counts as there once it was read
//! back and had the digest of its name.

use std::fmt;
use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path;
use object_store::{
    Attribute, AttributeValue, Attributes, Error, GetResult, ObjectMeta, ObjectStore, ObjectStoreExt as _,
    PutMode, PutMultipartOptions, PutOptions, PutPayload, RetryConfig, WriteMultipart,
};
use sha2::{Digest as _, Sha256};
use tokio::runtime::Runtime;

use crate::bucket_lease::{self, BucketLease};
use crate::{BucketAccess, BucketAddress, BucketError};

/// Up to this size in one piece, beyond it in several at once.
const LARGEST_PIECE: usize = 16 << 20;
const PIECES_AT_ONCE: usize = 4;
/// So many contents at once: most are small, and then it is the answers that are waited for.
const AT_ONCE: usize = 16;
/// Freed with one sign of life each.
const FREED_AT_ONCE: usize = 1000;
/// What nothing refers to stays so long: somebody may have put it whose checkpoint is not committed yet.
pub const GRACE: Duration = Duration::from_secs(24 * 60 * 60);
/// A request is tried again for so long: a service that is restarted costs waiting, not work.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);
/// The first one, for an address may be wrong.
const FIRST_PATIENCE: Duration = Duration::from_secs(20);

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(200);

const EXECUTABLE: &str = "executable";

/// A content to be put.
#[derive(Debug)]
pub struct NewContent {
    pub sha256: String,
    pub file: File,
    pub is_executable: bool,
}

/// What a content was when it was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchedContent {
    pub is_executable: bool,
}

pub struct ContentBucket {
    address: BucketAddress,
    pub(crate) store: Arc<AmazonS3>,
    /// The same with less patience.
    pub(crate) first: AmazonS3,
    pub(crate) runtime: Runtime,
    pub(crate) scope: Path,
    /// The credentials have a session token.
    is_temporary: bool,
}

impl fmt::Debug for ContentBucket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ContentBucket({})", self.address)
    }
}

impl ContentBucket {
    /// `scope` is the part of the bucket, below its prefix, whose contents are freed together.
    pub fn open(access: &BucketAccess, scope: &[&str]) -> Result<Self, BucketError> {
        // Whoever was first has installed the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let address = access.address.clone();
        let wrong = |source| BucketError::Configuration {
            address: access.address.to_string(),
            source: Box::new(source),
        };
        let mut builder = AmazonS3Builder::new().with_bucket_name(&address.bucket);
        for (name, value) in &access.options {
            if let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>() {
                // Somebody who names an address without TLS means it.
                if matches!(key, AmazonS3ConfigKey::Endpoint | AmazonS3ConfigKey::S3Endpoint) {
                    builder = builder.with_allow_http(value.starts_with("http://"));
                }
                builder = builder.with_config(key, value);
            }
        }
        let with_patience = |retry_timeout| {
            let retry = RetryConfig { retry_timeout, max_retries: usize::MAX, ..RetryConfig::default() };
            builder.clone().with_retry(retry).build().map_err(wrong)
        };
        let (store, first) = (Arc::new(with_patience(PATIENCE)?), with_patience(FIRST_PATIENCE)?);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let parts = address.prefix.split('/').filter(|part| !part.is_empty()).chain(scope.iter().copied());
        let scope = parts.map(object_store::path::PathPart::from).collect();
        let is_temporary =
            access.options.iter().any(|(name, _)| name.eq_ignore_ascii_case("AWS_SESSION_TOKEN"));
        Ok(Self { address, store, first, runtime, scope, is_temporary })
    }

    pub fn address(&self) -> &BucketAddress {
        &self.address
    }

    pub(crate) fn failed(&self, error: Error) -> BucketError {
        BucketError::of(&self.address, self.is_temporary, error)
    }

    fn path(&self, sha256: &str) -> Path {
        let part: String = sha256.chars().take(2).collect();
        self.scope.clone().join(part).join(sha256)
    }

    /// Whether the service keeps two who make the same object apart.
    pub fn check(&self) -> Result<(), BucketError> {
        let name = format!(".check-{}", files::random_id());
        let claim = || async { self.claim_at(&self.first, &name).await };
        // Whether a claim whose answer was lost was made does not matter: the next one is refused.
        let first = self.runtime.block_on(patiently(FIRST_PATIENCE, claim)).map_err(|error| match error {
            // Some services do not let anybody without the right to make buckets know that there is none.
            BucketError::Denied { .. } => self.is_missing().unwrap_or(error),
            error => error,
        });
        let claimed = (first?, self.claim(&name)?);
        let _ = self.runtime.block_on(self.store.delete(&self.scope.clone().join(name)));
        match claimed {
            (_, false) => Ok(()),
            (_, true) => Err(BucketError::NoConditionalPut { address: self.address.to_string() }),
        }
    }

    /// Whether this is the first to make an object of that name.
    pub fn claim(&self, name: &str) -> Result<bool, BucketError> {
        self.runtime.block_on(self.claim_at(&self.store, name))
    }

    fn is_missing(&self) -> Option<BucketError> {
        let listed = self.runtime.block_on(self.first.list(Some(&self.scope)).try_next());
        listed
            .err()
            .map(|error| self.failed(error))
            .filter(|error| matches!(error, BucketError::NoBucket { .. }))
    }

    async fn claim_at(&self, store: &AmazonS3, name: &str) -> Result<bool, BucketError> {
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        let path = self.scope.clone().join(name);
        match store.put_opts(&path, PutPayload::from_static(b"claimed"), options).await {
            Ok(_) => Ok(true),
            Err(Error::AlreadyExists { .. }) => Ok(false),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Puts contents, several at once, and reads each back.
    pub fn put(&self, contents: Vec<NewContent>) -> Result<(), BucketError> {
        self.runtime.block_on(async {
            // What was put twice is there once.
            let puts = stream::iter(&contents).map(|content| patiently(PATIENCE, || self.put_one(content)));
            puts.buffer_unordered(AT_ONCE).try_collect::<()>().await
        })
    }

    async fn put_one(&self, content: &NewContent) -> Result<(), BucketError> {
        let NewContent { sha256, file, is_executable } = content;
        let (mut file, path) = (file, self.path(sha256));
        let size = file.metadata()?.len();
        let mut attributes = Attributes::new();
        if *is_executable {
            attributes.insert(Attribute::Metadata(EXECUTABLE.into()), AttributeValue::from("yes"));
        }
        file.rewind()?;
        if size <= LARGEST_PIECE as u64 {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            let options = PutOptions { mode: PutMode::Create, attributes, ..PutOptions::default() };
            match self.store.put_opts(&path, PutPayload::from(bytes), options).await {
                Ok(_) | Err(Error::AlreadyExists { .. }) => {}
                Err(error) => return Err(self.failed(error)),
            }
        } else if !self.has_size(&path, size).await? {
            self.put_in_pieces(&path, file, attributes).await?;
        }
        match self.read(sha256, |_| Ok(())).await? {
            Some(_) => Ok(()),
            None => Err(BucketError::Damaged { address: self.address.to_string(), sha256: sha256.clone() }),
        }
    }

    async fn has_size(&self, path: &Path, size: u64) -> Result<bool, BucketError> {
        match self.store.head(path).await {
            Ok(there) => Ok(there.size == size),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(self.failed(error)),
        }
    }

    async fn put_in_pieces(
        &self,
        path: &Path,
        mut file: &File,
        attributes: Attributes,
    ) -> Result<(), BucketError> {
        let options = PutMultipartOptions { attributes, ..PutMultipartOptions::default() };
        let upload =
            self.store.put_multipart_opts(path, options).await.map_err(|error| self.failed(error))?;
        let mut upload = WriteMultipart::new_with_chunk_size(upload, LARGEST_PIECE);
        let mut piece = vec![0; 1 << 20];
        loop {
            let read = file.read(&mut piece)?;
            let Some(bytes) = piece.get(..read).filter(|bytes| !bytes.is_empty()) else { break };
            let waited = upload.wait_for_capacity(PIECES_AT_ONCE).await;
            if let Err(error) = waited {
                let _ = upload.abort().await;
                return Err(self.failed(error));
            }
            upload.write(bytes);
        }
        upload.finish().await.map(drop).map_err(|error| self.failed(error))
    }

    /// Writes a content to a file, verified; none if the bucket has none that is whole.
    pub fn fetch(&self, sha256: &str, to: &File) -> Result<Option<FetchedContent>, BucketError> {
        self.runtime.block_on(patiently(PATIENCE, || async {
            let mut to = to;
            to.set_len(0)?;
            to.rewind()?;
            self.read(sha256, |bytes| to.write_all(bytes)).await
        }))
    }

    /// What is damaged is removed, so that it is put again.
    async fn read(
        &self,
        sha256: &str,
        mut each: impl FnMut(&[u8]) -> std::io::Result<()>,
    ) -> Result<Option<FetchedContent>, BucketError> {
        let path = self.path(sha256);
        let there = match self.store.get(&path).await {
            Ok(there) => there,
            Err(error @ Error::NotFound { .. }) => {
                return match self.failed(error) {
                    missing @ BucketError::NoBucket { .. } => Err(missing),
                    _ => Ok(None),
                };
            }
            Err(error) => return Err(self.failed(error)),
        };
        let is_executable = is_executable(&there);
        let mut pieces = there.into_stream();
        let mut hasher = Sha256::new();
        while let Some(piece) = pieces.try_next().await.map_err(|error| self.failed(error))? {
            hasher.update(&piece);
            each(&piece)?;
        }
        if text::hexadecimal(&hasher.finalize()) != sha256 {
            let _ = self.store.delete(&path).await;
            return Ok(None);
        }
        Ok(Some(FetchedContent { is_executable }))
    }

    /// Removes what is not wanted and is older than the time that somebody may take to commit it; nothing while somebody else
    /// does so. Answers how many contents were freed, and their bytes.
    pub fn free(&self, is_wanted: &dyn Fn(&str) -> bool) -> Result<(usize, u64), BucketError> {
        self.free_older_than(GRACE, is_wanted)
    }

    /// As [`ContentBucket::free`], with another time.
    pub fn free_older_than(
        &self,
        grace: Duration,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Result<(usize, u64), BucketError> {
        self.free_by_lease(grace, &mut |object| {
            let name = object.location.filename().unwrap_or_default();
            let is_content = name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_content && !is_wanted(name)
        })
    }

    /// Removes what may go of all that is old enough below the scope.
    pub(crate) fn free_by_lease(
        &self,
        grace: Duration,
        may_go: &mut dyn FnMut(&ObjectMeta) -> bool,
    ) -> Result<(usize, u64), BucketError> {
        let freed = self.runtime.block_on(self.free_as_owner(grace, may_go));
        freed.map_err(|error| self.failed(error))
    }

    async fn free_as_owner(
        &self,
        grace: Duration,
        may_go: &mut dyn FnMut(&ObjectMeta) -> bool,
    ) -> Result<(usize, u64), Error> {
        let Some(mut lease) = BucketLease::take(self.store.as_ref(), &self.scope).await? else {
            return Ok((0, 0));
        };
        let now = bucket_lease::now(self.store.as_ref(), &self.scope).await?;
        let all: Vec<_> = self.store.list(Some(&self.scope)).try_collect().await?;
        let is_free = |object: &&ObjectMeta| bucket_lease::age(&now, object) >= grace && may_go(object);
        let free: Vec<_> = all.iter().filter(is_free).collect();
        for batch in free.chunks(FREED_AT_ONCE) {
            lease.renew().await?;
            let paths: Vec<Result<Path, Error>> =
                batch.iter().map(|object| Ok(object.location.clone())).collect();
            self.store.delete_stream(stream::iter(paths).boxed()).try_collect::<Vec<_>>().await?;
        }
        lease.release().await?;
        Ok((free.len(), free.iter().map(|object| object.size).sum()))
    }
}

/// Tries again what a service that went away left without an answer: what may have been done already is not tried again otherwise.
pub(crate) async fn patiently<T, W: Future<Output = Result<T, BucketError>>>(
    patience: Duration,
    work: impl Fn() -> W,
) -> Result<T, BucketError> {
    let began = Instant::now();
    loop {
        match work().await {
            Err(BucketError::NoAnswer { .. }) if began.elapsed() < patience => {
                tokio::time::sleep(PAUSE).await;
            }
            done => return done,
        }
    }
}

fn is_executable(there: &GetResult) -> bool {
    there.attributes.get(&Attribute::Metadata(EXECUTABLE.into())).is_some_and(|value| value.as_ref() == "yes")
}
