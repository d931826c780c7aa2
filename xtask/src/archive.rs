//! Archives whose bytes depend on nothing but the files in them: sorted, with fixed times, owners and modes, and compressed by code that
//! is pinned in `Cargo.lock`. Tar for npm, Debian and plain archives, zip for wheels, ar for the outside of a Debian package.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc};

/// The time of every file in an archive: 2020-01-01.
const TIME: u64 = 1_577_836_800;
/// The same as a zip writes it.
const DOS_DATE: u16 = (2020 - 1980) << 9 | 1 << 5 | 1;

/// How hard the bytes are squeezed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Squeeze {
    /// For what is handed out.
    Best,
    /// For what is thrown away after a test.
    Fast,
}

impl Squeeze {
    fn level(self) -> Compression {
        match self {
            Self::Best => Compression::best(),
            Self::Fast => Compression::fast(),
        }
    }
}

struct FileInTree {
    bytes: Vec<u8>,
    is_program: bool,
}

/// The files of an archive by their paths, with `/` between the parts.
#[derive(Default)]
pub(crate) struct FileTree {
    files: BTreeMap<String, FileInTree>,
}

impl FileTree {
    pub(crate) fn add(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.files.insert(path.into(), FileInTree { bytes: bytes.into(), is_program: false });
    }

    pub(crate) fn add_program(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.files.insert(path.into(), FileInTree { bytes: bytes.into(), is_program: true });
    }

    /// Every file below a folder of the disk.
    pub(crate) fn read(folder: &Path) -> Result<Self, String> {
        let mut tree = Self::default();
        tree.read_below(folder, "").map_err(|error| error.to_string())?;
        Ok(tree)
    }

    fn read_below(&mut self, folder: &Path, prefix: &str) -> std::io::Result<()> {
        for entry in fs_err::read_dir(folder)? {
            let entry = entry?;
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                self.read_below(&entry.path(), &format!("{path}/"))?;
            } else {
                let is_program = entry.metadata()?.permissions().mode() & 0o100 != 0;
                self.files.insert(path, FileInTree { bytes: fs_err::read(entry.path())?, is_program });
            }
        }
        Ok(())
    }

    /// Path and bytes of each file, in the order in which they are packed.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(path, file)| (path.as_str(), file.bytes.as_slice()))
    }

    /// The sum of all files, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.files.values().map(|file| file.bytes.len()).sum()
    }

    /// As `.tar.gz`, with `prefix` in front of every path. Folders are entries of their own, since dpkg makes none by itself.
    pub(crate) fn tar_gz(&self, prefix: &str, squeeze: Squeeze) -> Result<Vec<u8>, String> {
        let mut tar = Vec::with_capacity(self.size() + 1024 * 1024);
        let mut last_folders: Vec<String> = Vec::new();
        for (path, file) in &self.files {
            let path = format!("{prefix}{path}");
            let folders: Vec<String> =
                path.match_indices('/').filter_map(|(end, _)| path.get(..=end)).map(str::to_owned).collect();
            for folder in folders.iter().filter(|folder| !last_folders.contains(folder)) {
                tar.extend(tar_header(folder, 0, 0o755, b'5')?);
            }
            last_folders = folders;
            let mode = if file.is_program { 0o755 } else { 0o644 };
            tar.extend(tar_header(&path, file.bytes.len(), mode, b'0')?);
            tar.extend(&file.bytes);
            tar.resize(tar.len().next_multiple_of(TAR_BLOCK), 0);
        }
        tar.resize(tar.len() + 2 * TAR_BLOCK, 0);
        gzip(&tar, squeeze)
    }

    pub(crate) fn zip(&self, squeeze: Squeeze) -> Result<Vec<u8>, String> {
        let too_large = |_| "a zip holds at most 4 GB".to_owned();
        let mut zip = Vec::new();
        let mut directory = Vec::new();
        for (path, file) in &self.files {
            let mut crc = Crc::new();
            crc.update(&file.bytes);
            let mut encoder = DeflateEncoder::new(Vec::new(), squeeze.level());
            encoder.write_all(&file.bytes).map_err(|error| error.to_string())?;
            let packed = encoder.finish().map_err(|error| error.to_string())?;
            let offset = u32::try_from(zip.len()).map_err(too_large)?;
            let mut entry = Vec::new();
            for number in [20, 0, 8, 0, DOS_DATE] {
                entry.extend(u16::to_le_bytes(number));
            }
            entry.extend(crc.sum().to_le_bytes());
            entry.extend(u32::try_from(packed.len()).map_err(too_large)?.to_le_bytes());
            entry.extend(u32::try_from(file.bytes.len()).map_err(too_large)?.to_le_bytes());
            entry.extend(u16::try_from(path.len()).map_err(too_large)?.to_le_bytes());
            entry.extend(0_u16.to_le_bytes());
            zip.extend(b"PK\x03\x04");
            zip.extend(&entry);
            zip.extend(path.as_bytes());
            zip.extend(packed);
            // Made on Unix, so that the mode counts.
            directory.extend(b"PK\x01\x02\x14\x03");
            directory.extend(&entry);
            for number in [0_u16, 0, 0] {
                directory.extend(number.to_le_bytes());
            }
            let mode: u32 = if file.is_program { 0o100_755 } else { 0o100_644 };
            directory.extend((mode << 16).to_le_bytes());
            directory.extend(offset.to_le_bytes());
            directory.extend(path.as_bytes());
        }
        let count = u16::try_from(self.files.len()).map_err(too_large)?;
        let (start, size) = (u32::try_from(zip.len()), u32::try_from(directory.len()));
        zip.extend(&directory);
        zip.extend(b"PK\x05\x06\0\0\0\0");
        zip.extend(count.to_le_bytes());
        zip.extend(count.to_le_bytes());
        zip.extend(size.map_err(too_large)?.to_le_bytes());
        zip.extend(start.map_err(too_large)?.to_le_bytes());
        zip.extend(0_u16.to_le_bytes());
        Ok(zip)
    }
}

/// Without the time and the name that gzip itself would put in.
pub(crate) fn gzip(bytes: &[u8], squeeze: Squeeze) -> Result<Vec<u8>, String> {
    let mut encoder = GzEncoder::new(Vec::new(), squeeze.level());
    encoder.write_all(bytes).map_err(|error| error.to_string())?;
    encoder.finish().map_err(|error| error.to_string())
}

/// The members in the order given, as Debian packages have them.
pub(crate) fn ar(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut ar = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        let header = format!("{name:<16}{TIME:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, "100644", bytes.len());
        ar.extend(header.as_bytes());
        ar.extend(bytes);
        if bytes.len() % 2 == 1 {
            ar.push(b'\n');
        }
    }
    ar
}

const TAR_BLOCK: usize = 512;

/// A header in the format `ustar`.
fn tar_header(path: &str, size: usize, mode: u32, kind: u8) -> Result<Vec<u8>, String> {
    if path.len() > 100 {
        return Err(format!("`{path}` is too long for a tar archive"));
    }
    let mut header = Vec::with_capacity(TAR_BLOCK);
    let field = |header: &mut Vec<u8>, text: &str, width: usize| {
        let end = header.len() + width;
        header.extend(text.as_bytes());
        header.resize(end, 0);
    };
    field(&mut header, path, 100);
    for number in [mode, 0, 0] {
        field(&mut header, &format!("{number:07o}"), 8);
    }
    field(&mut header, &format!("{size:011o}"), 12);
    field(&mut header, &format!("{TIME:011o}"), 12);
    // The sum is taken with blanks in its own place.
    let place_of_sum = header.len();
    header.extend(b"        ");
    header.push(kind);
    header.resize(header.len() + 100, 0);
    field(&mut header, "ustar", 6);
    header.extend(b"00");
    field(&mut header, "root", 32);
    field(&mut header, "root", 32);
    header.resize(TAR_BLOCK, 0);
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    let sum = format!("{sum:06o}\0 ");
    header.splice(place_of_sum..place_of_sum + sum.len(), sum.bytes());
    Ok(header)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::process::Command;

    use super::*;

    fn tree() -> FileTree {
        let mut tree = FileTree::default();
        tree.add_program("bin/tool", "#!/bin/sh\n");
        tree.add("a.txt", vec![b'a'; 70_000]);
        tree.add("bin/notes.txt", "");
        tree
    }

    /// What another program says about an archive of ours.
    fn said(archive: &[u8], program: &str, arguments: &[&str]) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs_err::write(file.path(), archive).unwrap();
        let mut command = Command::new(program);
        command.env("TZ", "UTC").args(arguments).arg(file.path());
        crate::process::output(&mut command).unwrap()
    }

    #[test]
    fn tar_reads_what_was_packed() {
        let archive = tree().tar_gz("package/", Squeeze::Best).unwrap();
        assert_eq!(
            said(&archive, "tar", &["--list", "--verbose", "--gunzip", "--file"]),
            "drwxr-xr-x root/root         0 2020-01-01 00:00 package/\n\
             -rw-r--r-- root/root     70000 2020-01-01 00:00 package/a.txt\n\
             drwxr-xr-x root/root         0 2020-01-01 00:00 package/bin/\n\
             -rw-r--r-- root/root         0 2020-01-01 00:00 package/bin/notes.txt\n\
             -rwxr-xr-x root/root        10 2020-01-01 00:00 package/bin/tool\n"
        );
    }

    #[test]
    fn python_reads_what_was_zipped() {
        let list = "import sys, zipfile\n\
            archive = zipfile.ZipFile(sys.argv[1])\n\
            assert archive.testzip() is None\n\
            for i in archive.infolist():\n    print(i.filename, i.date_time, oct(i.external_attr >> 16), len(archive.read(i)))";
        assert_eq!(
            said(&tree().zip(Squeeze::Fast).unwrap(), "python3", &["-c", list]),
            "a.txt (2020, 1, 1, 0, 0, 0) 0o100644 70000\n\
             bin/notes.txt (2020, 1, 1, 0, 0, 0) 0o100644 0\n\
             bin/tool (2020, 1, 1, 0, 0, 0) 0o100755 10\n"
        );
    }

    #[test]
    fn a_path_that_does_not_fit_is_refused() {
        let mut tree = FileTree::default();
        tree.add("a".repeat(101), "");
        let refused = tree.tar_gz("", Squeeze::Fast).unwrap_err();
        assert_eq!(refused, format!("`{}` is too long for a tar archive", "a".repeat(101)));
    }
}
