//! How values are stored: times as milliseconds since 1970, paths as text of any bytes, choices as words.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

/// A time as it is stored. What is finer than a millisecond is cut off.
#[derive(Debug, PartialEq)]
pub(crate) struct Milliseconds(pub(crate) Timestamp);

impl ToSql for Milliseconds {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.as_millisecond().into())
    }
}

impl FromSql for Milliseconds {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let stored = value.as_i64()?;
        Timestamp::from_millisecond(stored).map(Self).map_err(|_| FromSqlError::OutOfRange(stored))
    }
}

/// A path to store. SQLite keeps text of any bytes, so a name that is not UTF-8 comes back as it was.
#[derive(Debug)]
pub(crate) struct PathText<'a>(pub(crate) &'a Path);

impl ToSql for PathText<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(self.0.as_os_str().as_bytes())))
    }
}

#[derive(Debug)]
pub(crate) struct StoredPath(pub(crate) PathBuf);

impl FromSql for StoredPath {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        match value {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                Ok(Self(PathBuf::from(OsStr::from_bytes(bytes))))
            }
            _ => Err(FromSqlError::InvalidType),
        }
    }
}

/// The word of each variant of an enum.
macro_rules! words {
    ($type:ident { $($variant:ident = $word:literal,)* }) => {
        impl $type {
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }

        impl rusqlite::types::FromSql for $type {
            fn column_result(value: rusqlite::types::ValueRef<'_>) -> rusqlite::types::FromSqlResult<Self> {
                match value.as_str()? {
                    $($word => Ok(Self::$variant),)*
                    _ => Err(rusqlite::types::FromSqlError::InvalidType),
                }
            }
        }
    };
}
pub(crate) use words;
