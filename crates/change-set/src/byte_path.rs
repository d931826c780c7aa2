//! Paths as git gives them: bytes. A path that is no UTF-8 survives every way through the program, and through
//! JSON too.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use text::{from_hexadecimal, hexadecimal};

/// A path of bytes. In JSON it is a string, or `{"hex": "…"}` where the bytes are no UTF-8.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BytePath(Vec<u8>);

impl BytePath {
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// The part after the last slash.
    pub fn file_name(&self) -> &[u8] {
        self.0.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
    }

    /// In quotes, as git itself writes unusual names and reads any.
    pub fn quoted(&self) -> Vec<u8> {
        let mut text = vec![b'"'];
        for byte in &self.0 {
            match byte {
                b'"' | b'\\' => text.extend([b'\\', *byte]),
                0x20..=0x7e => text.push(*byte),
                _ => text.extend(format!("\\{byte:03o}").into_bytes()),
            }
        }
        text.push(b'"');
        text
    }
}

impl From<&[u8]> for BytePath {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl From<&str> for BytePath {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<&Path> for BytePath {
    fn from(path: &Path) -> Self {
        Self(path.as_os_str().as_bytes().to_vec())
    }
}

/// For people: bytes that are no UTF-8 are shown as the replacement character.
impl fmt::Display for BytePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Debug for BytePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "\"{}\"", self.0.escape_ascii())
    }
}

impl Serialize for BytePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("hex", &hexadecimal(&self.0))?;
                map.end()
            }
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for BytePath {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Path".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A path; an object with the bytes in hexadecimal if they are not UTF-8.",
            "oneOf": [
                {"type": "string"},
                {"type": "object", "properties": {"hex": {"type": "string"}}, "required": ["hex"]},
            ],
        })
    }
}

impl<'de> Deserialize<'de> for BytePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BytePathVisitor;
        impl<'de> Visitor<'de> for BytePathVisitor {
            type Value = BytePath;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a path, or an object with its bytes under `hex`")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<BytePath, E> {
                Ok(BytePath::from(text))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<BytePath, A::Error> {
                let entry = map.next_entry::<String, String>()?;
                let digits = entry.filter(|(key, _)| key == "hex").map(|(_, digits)| digits);
                digits
                    .and_then(|digits| from_hexadecimal(&digits))
                    .map(BytePath)
                    .ok_or_else(|| A::Error::custom("expected hexadecimal digits under `hex`"))
            }
        }
        deserializer.deserialize_any(BytePathVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(path: &BytePath) -> (String, BytePath) {
        let json = serde_json::to_string(path).unwrap();
        let back = serde_json::from_str(&json).unwrap();
        (json, back)
    }

    /// C4: any bytes survive JSON.
    #[test]
    fn every_path_survives_json() {
        for bytes in
            [b"src/a.rs".as_slice(), "日本 \"x\"\n".as_bytes(), b"\xff\xfe/bad", b"", b"{\"hex\":\"00\"}"]
        {
            let path = BytePath::from(bytes);
            let (json, back) = there_and_back(&path);
            assert_eq!(back, path, "{json}");
        }
        assert_eq!(there_and_back(&BytePath::from(b"\xffa".as_slice())).0, r#"{"hex":"ff61"}"#);
    }

    #[test]
    fn broken_bytes_are_refused() {
        for json in [r#"{"hex":"f"}"#, r#"{"hex":"zz"}"#, r#"{"other":"00"}"#, "{}", "1"] {
            assert!(serde_json::from_str::<BytePath>(json).is_err(), "{json}");
        }
    }
}
