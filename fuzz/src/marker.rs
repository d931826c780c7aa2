//! What must hold for any bytes as the output of a stage.

use supervise::marker::{LONGEST_LINE, Marker, Reader};

/// Reads the bytes whole and in pieces, whose length the first byte says; both find what is found line by line, and
/// every marker, written, is read as the same again.
pub fn check(bytes: &[u8]) {
    let Some((size, output)) = bytes.split_first() else { return };
    let whole = read(output, output.len().max(1));
    assert_eq!(whole, read(output, usize::from(*size).max(1)), "cut in pieces of {size}");
    let by_line: Vec<Marker> = output.split(|byte| *byte == b'\n').filter_map(line).collect();
    assert_eq!(whole, by_line);
    for marker in whole {
        let written = marker.to_string();
        // Writing replaces what would end a key, and line breaks where nothing can be quoted.
        let breaks = marker.text.contains('\r') || (marker.kind == "CITATION" && written.contains('_'));
        if !breaks && marker.attributes.iter().all(|(key, _)| is_plain(key)) {
            assert_eq!(Marker::parse(&written).as_ref(), Some(&marker), "{written}");
        }
    }
}

fn line(bytes: &[u8]) -> Option<Marker> {
    let is_white_space = |byte: &&u8| matches!(**byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c);
    let indent = bytes.iter().take_while(is_white_space).count();
    let bytes = &bytes[indent..];
    (bytes.starts_with(b"[") && bytes.len() <= LONGEST_LINE)
        .then(|| Marker::parse(&String::from_utf8_lossy(bytes)))?
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && !key.contains(['"', ':', ']', '=', '\r', '\n'])
}

fn read(output: &[u8], size: usize) -> Vec<Marker> {
    let mut markers = Vec::new();
    let mut reader = Reader::new();
    for piece in output.chunks(size) {
        reader.read(piece, &mut |marker| markers.push(marker));
    }
    reader.finish(&mut |marker| markers.push(marker));
    markers
}
