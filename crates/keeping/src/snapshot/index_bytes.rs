//! Looks for bytes in git's index without taking its entries apart: for questions that nearly always are answered with no,
//! and of which git would have to list every file.

use std::io::Read;
use std::path::Path;

/// Whether these bytes are somewhere in the index. They may be there by chance.
pub(super) fn has(git_dir: &Path, wanted: &[u8]) -> bool {
    let in_file = |path: &Path| fs_err::File::open(path).is_ok_and(|mut file| is_in(&mut file, wanted));
    if in_file(&git_dir.join("index")) {
        return true;
    }
    // A split index has most of its entries in another file.
    let folder = git_dir.read_dir().into_iter().flatten().flatten();
    let mut shared = folder.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"sharedindex."));
    shared.any(|entry| in_file(&entry.path()))
}

/// Piece by piece: the index of a million files has a hundred megabytes.
fn is_in(file: &mut impl Read, wanted: &[u8]) -> bool {
    let finder = memchr::memmem::Finder::new(wanted);
    let mut buffer = vec![0; 1 << 20];
    let mut kept = 0;
    while let Some(room) = buffer.get_mut(kept..) {
        let read = match file.read(room) {
            Ok(0) | Err(_) => return false,
            Ok(read) => read,
        };
        let filled = kept + read;
        let piece = buffer.get(..filled).unwrap_or_default();
        if finder.find(piece).is_some() {
            return true;
        }
        // They may lie across two pieces.
        kept = filled.min(wanted.len());
        buffer.copy_within(filled - kept..filled, 0);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_across_two_pieces_is_found() {
        for before in [0, 1, (1 << 20) - 20, (1 << 20) - 7, 1 << 20, (1 << 20) + 3] {
            let mut bytes = vec![b'x'; before];
            assert!(!is_in(&mut bytes.as_slice(), b".gitattributes"), "{before}");
            bytes.extend_from_slice(b"sub/.gitattributes\0");
            assert!(is_in(&mut bytes.as_slice(), b".gitattributes"), "{before}");
        }
    }
}
