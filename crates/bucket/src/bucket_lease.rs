//! A lease on a part of a bucket, for the one who frees what nothing refers to: an object that is made only if it is not there,
//! and changed only as it was last seen. The service's own clock says how old it is.

use std::time::Duration;

use lease::LeaseOwner;
use object_store::path::Path;
use object_store::{
    Error, ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload, UpdateVersion,
};
use serde::{Deserialize, Serialize};

/// Nobody who renews it with every thousand objects is so slow.
const LENGTH: Duration = Duration::from_secs(600);

#[derive(Serialize, Deserialize)]
struct LeaseObject {
    owner: Option<LeaseOwner>,
}

pub(crate) struct BucketLease<'a> {
    store: &'a dyn ObjectStore,
    path: Path,
    owner: Option<LeaseOwner>,
    version: UpdateVersion,
}

impl<'a> BucketLease<'a> {
    /// None while somebody else has it.
    pub(crate) async fn take(store: &'a dyn ObjectStore, scope: &Path) -> Result<Option<Self>, Error> {
        let path = scope.clone().join(".lease");
        let owner = LeaseOwner::of_this_process().ok();
        let mut lease = Self { store, path, owner, version: UpdateVersion { e_tag: None, version: None } };
        match lease.put(PutMode::Create).await {
            Err(Error::AlreadyExists { .. }) => {}
            placed => return placed.map(|()| Some(lease)),
        }
        let there = match store.get(&lease.path).await {
            Ok(there) => there,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let seen = there.meta.clone();
        let content = serde_json::from_slice::<LeaseObject>(&there.bytes().await?).ok();
        let is_free = content.is_some_and(|content| content.owner.is_none_or(|owner| owner.is_gone()));
        if !is_free && age(&now(store, scope).await?, &seen) < LENGTH {
            return Ok(None);
        }
        match lease.put(PutMode::Update(UpdateVersion { e_tag: seen.e_tag, version: seen.version })).await {
            Err(Error::Precondition { .. } | Error::NotFound { .. }) => Ok(None),
            placed => placed.map(|()| Some(lease)),
        }
    }

    /// A sign of life; an error if somebody else has taken it.
    pub(crate) async fn renew(&mut self) -> Result<(), Error> {
        self.put(PutMode::Update(self.version.clone())).await
    }

    pub(crate) async fn release(mut self) -> Result<(), Error> {
        self.owner = None;
        self.renew().await
    }

    async fn put(&mut self, mode: PutMode) -> Result<(), Error> {
        let content = serde_json::to_vec(&LeaseObject { owner: self.owner.clone() }).unwrap_or_default();
        let options = PutOptions { mode, ..PutOptions::default() };
        let put = self.store.put_opts(&self.path, PutPayload::from(content), options).await?;
        self.version = UpdateVersion { e_tag: put.e_tag, version: put.version };
        Ok(())
    }
}

/// Something that the service has written just now, by whose time the age of others is told.
pub(crate) async fn now(store: &dyn ObjectStore, scope: &Path) -> Result<ObjectMeta, Error> {
    let path = scope.clone().join(".now");
    store.put(&path, PutPayload::from_static(b"now")).await?;
    store.head(&path).await
}

pub(crate) fn age(now: &ObjectMeta, object: &ObjectMeta) -> Duration {
    now.last_modified.signed_duration_since(object.last_modified).to_std().unwrap_or_default()
}
