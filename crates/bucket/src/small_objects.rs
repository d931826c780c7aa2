//! Small objects beside the contents of a bucket, by their names below the scope: what an engine and nodes that share no file
//! system write to each other. All are listed with one request for each thousand, and known by their tags.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use object_store::path::Path;
use object_store::{Error, ObjectStore as _, ObjectStoreExt as _, PutMode, PutOptions, PutPayload};

use crate::content_bucket::{PATIENCE, patiently};
use crate::{BucketError, ContentBucket};

/// An object as the list has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedObject {
    /// Below the scope.
    pub name: String,
    /// Another one after every change.
    pub tag: String,
}

impl ContentBucket {
    fn at(&self, name: &str) -> Path {
        name.split('/').filter(|part| !part.is_empty()).fold(self.scope.clone(), |path, part| path.join(part))
    }

    /// All below a name. Asked for again and again, so that nothing is waited for that does not answer.
    pub fn objects(&self, under: &str) -> Result<Vec<ListedObject>, BucketError> {
        let listed = self
            .runtime
            .block_on(async { self.first.list(Some(&self.at(under))).try_collect::<Vec<_>>().await });
        let scope = format!("{}/", self.scope);
        let objects = listed.map_err(|error| self.failed(error))?.into_iter().filter_map(|object| {
            let name = object.location.as_ref().strip_prefix(&scope)?.to_owned();
            let tag = object.e_tag.unwrap_or_else(|| format!("{} {}", object.last_modified, object.size));
            Some(ListedObject { name, tag })
        });
        Ok(objects.collect())
    }

    /// None if there is none.
    pub fn object(&self, name: &str) -> Result<Option<Vec<u8>>, BucketError> {
        self.runtime.block_on(patiently(PATIENCE, || async {
            let there = match self.store.get(&self.at(name)).await {
                Ok(there) => there,
                Err(error @ Error::NotFound { .. }) => {
                    return match self.failed(error) {
                        missing @ BucketError::NoBucket { .. } => Err(missing),
                        _ => Ok(None),
                    };
                }
                Err(error) => return Err(self.failed(error)),
            };
            let bytes = there.bytes().await.map_err(|error| self.failed(error))?;
            Ok(Some(bytes.to_vec()))
        }))
    }

    /// Replaces what is there.
    pub fn put_object(&self, name: &str, bytes: &[u8]) -> Result<(), BucketError> {
        self.runtime.block_on(patiently(PATIENCE, || async {
            let put = self.store.put(&self.at(name), PutPayload::from(bytes.to_vec())).await;
            put.map(drop).map_err(|error| self.failed(error))
        }))
    }

    /// False if there is one of that name already. If the answer to a first try was lost, that may be this very one.
    pub fn put_new_object(&self, name: &str, bytes: &[u8]) -> Result<bool, BucketError> {
        self.runtime.block_on(patiently(PATIENCE, || async {
            let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
            match self.store.put_opts(&self.at(name), PutPayload::from(bytes.to_vec()), options).await {
                Ok(_) => Ok(true),
                Err(Error::AlreadyExists { .. }) => Ok(false),
                Err(error) => Err(self.failed(error)),
            }
        }))
    }

    /// Removes all below a name.
    pub fn remove_objects(&self, under: &str) -> Result<(), BucketError> {
        let removed = self.runtime.block_on(async {
            let under = self.at(under);
            let all: Vec<_> = self.store.list(Some(&under)).map_ok(|object| object.location).collect().await;
            self.store.delete_stream(stream::iter(all).boxed()).try_collect::<Vec<_>>().await
        });
        removed.map(drop).map_err(|error| self.failed(error))
    }

    /// Removes what is older than that of all parts below the scope, each named by two words, but those that are needed: asked about
    /// once, by their places in `parts`, if there is anything to remove. Nothing while somebody else does so. Answers how many went.
    pub fn free_parts(
        &self,
        grace: Duration,
        parts: &[[&str; 2]],
        is_needed: &mut dyn FnMut(usize) -> bool,
    ) -> Result<usize, BucketError> {
        // By their names as the service has them.
        let path = |[first, second]: &[&str; 2]| self.scope.clone().join(*first).join(*second).to_string();
        let places: HashMap<String, usize> = parts.iter().map(path).zip(0..).collect();
        let mut needed: HashMap<usize, bool> = HashMap::new();
        let inner = self.scope.parts_count();
        let freed = self.free_by_lease(grace, &mut |object| {
            let part = object.location.parts().take(inner + 2).collect::<Path>();
            if object.location.parts_count() <= inner + 2 {
                return false;
            }
            match places.get(part.as_ref()) {
                Some(place) => !*needed.entry(*place).or_insert_with(|| is_needed(*place)),
                None => true,
            }
        });
        freed.map(|(objects, _)| objects)
    }

    /// Removes one; that it is not there is no mistake.
    pub fn remove_object(&self, name: &str) -> Result<(), BucketError> {
        match self.runtime.block_on(self.store.delete(&self.at(name))) {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.failed(error)),
        }
    }
}
