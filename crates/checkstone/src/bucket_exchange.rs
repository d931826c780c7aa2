//! The bucket as the place where an engine and nodes that do not see its folder exchange the attempts of a run.

use std::fs::File;
use std::sync::{Arc, OnceLock};

use bucket::{BucketAddressError, BucketError, ContentBucket, GRACE, NewContent};
use checkpoint::{FetchedFile, RemoteContent, RemoteError};
use run::exchange::{Exchange, ExchangeStore, ExchangedObject};

use crate::bucket_store::BucketStore;

/// Beside the contents that checkpoints are made of: nothing here outlives its run.
const EXCHANGE: &str = ".exchange";

#[derive(Debug)]
pub(crate) struct BucketExchange {
    store: BucketStore,
}

impl BucketExchange {
    pub(crate) fn new(store: BucketStore) -> Self {
        Self { store }
    }

    /// As [`Exchange::words`] names it on a node.
    pub(crate) fn of_words(address: &str, scope: &str) -> Result<Self, BucketAddressError> {
        Ok(Self { store: BucketStore::of_scope(address, scope)? })
    }
}

impl Exchange for BucketExchange {
    fn of_run(&self, title: &str, run: &str) -> Result<Arc<dyn ExchangeStore>, RemoteError> {
        let bucket = self.store.part(&[EXCHANGE, title, run])?;
        Ok(Arc::new(RunExchange { bucket, is_checked: OnceLock::new() }))
    }

    fn free(&self, runs: &[[&str; 2]], is_needed: &mut dyn FnMut(usize) -> bool) -> Result<(), RemoteError> {
        self.store.part(&[EXCHANGE])?.free_parts(GRACE, runs, is_needed)?;
        Ok(())
    }

    fn words(&self) -> Vec<String> {
        ["--bucket", &self.store.address(), "--scope", self.store.scope()].map(str::to_owned).to_vec()
    }
}

#[derive(Debug)]
struct RunExchange {
    bucket: ContentBucket,
    is_checked: OnceLock<()>,
}

impl RunExchange {
    /// Before the first job is put: without conditional put there is no claim.
    fn check(&self) -> Result<(), BucketError> {
        if self.is_checked.get().is_none() {
            self.bucket.check()?;
            let _ = self.is_checked.set(());
        }
        Ok(())
    }
}

impl ExchangeStore for RunExchange {
    fn name(&self) -> String {
        self.bucket.address().to_string()
    }

    fn is_refusal(&self, error: &RemoteError) -> bool {
        error.downcast_ref().is_some_and(BucketError::is_refusal)
    }

    fn list(&self, under: &str) -> Result<Vec<ExchangedObject>, RemoteError> {
        let objects = self.bucket.objects(under)?.into_iter();
        Ok(objects.map(|object| ExchangedObject { name: object.name, tag: object.tag }).collect())
    }

    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, RemoteError> {
        Ok(self.bucket.object(name)?)
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), RemoteError> {
        Ok(self.bucket.put_object(name, bytes)?)
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<bool, RemoteError> {
        Ok(self.bucket.put_new_object(name, bytes)?)
    }

    fn remove(&self, name: &str) -> Result<(), RemoteError> {
        Ok(self.bucket.remove_object(name)?)
    }

    fn remove_all(&self, under: &str) -> Result<(), RemoteError> {
        Ok(self.bucket.remove_objects(under)?)
    }

    fn put_contents(&self, contents: Vec<RemoteContent>) -> Result<(), RemoteError> {
        self.check()?;
        let new = contents.into_iter().map(|RemoteContent { sha256, file, is_executable }| NewContent {
            sha256,
            file,
            is_executable,
        });
        Ok(self.bucket.put(new.collect())?)
    }

    fn fetch_content(&self, sha256: &str, to: &File) -> Result<Option<FetchedFile>, RemoteError> {
        let fetched = self.bucket.fetch(sha256, to)?;
        Ok(fetched.map(|content| FetchedFile { is_executable: content.is_executable }))
    }
}
