//! What `git fast-import` is told, written into a file without a name first: git then gets all of it or nothing,
//! whatever becomes of us, and the length of a file that changes while it is read is known before git asks for it.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use change_set::BytePath;

/// Enough digits for every length; git reads leading zeros.
const LENGTH_DIGITS: usize = 20;

pub(super) struct ImportStream {
    file: BufWriter<File>,
    written: u64,
    /// Where a length stands, and what it turned out to be.
    lengths: Vec<(u64, u64)>,
}

impl ImportStream {
    /// The file lies in `folder`, which has to have the room that git needs anyway.
    pub(super) fn new(folder: &Path) -> io::Result<Self> {
        let file = tempfile::tempfile_in(folder)?;
        Ok(Self { file: BufWriter::with_capacity(256 * 1024, file), written: 0, lengths: Vec::new() })
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    pub(super) fn line(&mut self, line: &str) -> io::Result<()> {
        self.put(line.as_bytes())?;
        self.put(b"\n")
    }

    pub(super) fn deleted(&mut self, path: &BytePath) -> io::Result<()> {
        self.put(b"D ")?;
        self.put(&path.quoted())?;
        self.put(b"\n")
    }

    /// A path whose content git has.
    pub(super) fn known(&mut self, mode: &str, id: &str, path: &BytePath) -> io::Result<()> {
        self.put(format!("M {mode} {id} ").as_bytes())?;
        self.put(&path.quoted())?;
        self.put(b"\n")
    }

    /// A path with its content; how many bytes that were.
    pub(super) fn content(&mut self, mode: &str, path: &BytePath, source: &mut dyn Read) -> io::Result<u64> {
        self.content_or_reason(mode, path, source)?
    }

    /// The same, where a failure to read the source is told apart from one to write: it ends the content early, and
    /// the stream stays well-formed.
    pub(super) fn content_or_reason(
        &mut self,
        mode: &str,
        path: &BytePath,
        source: &mut dyn Read,
    ) -> io::Result<io::Result<u64>> {
        self.known(mode, "inline", path)?;
        self.data(source)
    }

    pub(super) fn data(&mut self, source: &mut dyn Read) -> io::Result<io::Result<u64>> {
        self.put(b"data ")?;
        let at = self.written;
        self.put(&[b'0'; LENGTH_DIGITS])?;
        self.put(b"\n")?;
        let begin = self.written;
        let outcome = self.copy(source)?;
        let length = self.written - begin;
        self.lengths.push((at, length));
        self.put(b"\n")?;
        Ok(outcome.map(|()| length))
    }

    pub(super) fn append(&mut self, other: &mut File) -> io::Result<()> {
        self.copy(other)?
    }

    fn copy(&mut self, source: &mut dyn Read) -> io::Result<io::Result<()>> {
        let mut buffer = [0; 64 * 1024];
        loop {
            match source.read(&mut buffer) {
                Ok(0) => return Ok(Ok(())),
                Ok(count) => self.put(buffer.get(..count).unwrap_or_default())?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Ok(Err(error)),
            }
        }
    }

    /// The whole, ready to be read from its beginning.
    pub(super) fn finish(self) -> io::Result<File> {
        let mut file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        for (at, length) in self.lengths {
            file.write_all_at(format!("{length:0LENGTH_DIGITS$}").as_bytes(), at)?;
        }
        file.seek(SeekFrom::Start(0))?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_put_in_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let mut stream = ImportStream::new(folder.path()).unwrap();
        stream.content("100644", &BytePath::from(b"a\n\xff\"".as_slice()), &mut &b"one\ntwo"[..]).unwrap();
        let mut text = String::new();
        stream.finish().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "M 100644 inline \"a\\012\\377\\\"\"\ndata 00000000000000000007\none\ntwo\n");
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }
}
