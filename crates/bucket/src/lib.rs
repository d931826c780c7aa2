//! A bucket of an S3 service that artifacts are kept in by content: put, fetched and verified by digest, and freed by one at a
//! time. Blocking, and only in commands; no credential is ever part of a message.

mod address;
mod bucket_error;
mod bucket_lease;
mod content_bucket;
mod small_objects;

pub use address::{BucketAccess, BucketAddress, BucketAddressError};
pub use bucket_error::BucketError;
pub use content_bucket::{ContentBucket, FetchedContent, GRACE, NewContent};
pub use small_objects::ListedObject;
