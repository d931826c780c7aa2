//! Paths of Windows, spelled as its Unix shells spell them, so that a transcript that was written there can be read anywhere
//! and one file has one name (W28).

/// `C:\x\y` and `C:/x/y` become `/c/x/y`; every other path stays as it is.
pub fn unix_spelling(path: &mut String) {
    let mut characters = path.chars();
    let (Some(drive), Some(':'), Some('/' | '\\')) =
        (characters.next(), characters.next(), characters.next())
    else {
        return;
    };
    if drive.is_ascii_alphabetic() {
        *path = format!("/{}/{}", drive.to_ascii_lowercase(), characters.as_str().replace('\\', "/"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w28_one_file_has_one_spelling() {
        for (written, expected) in [
            (r"C:\Users\me\a b.ts", "/c/Users/me/a b.ts"),
            ("c:/Users/me/a.ts", "/c/Users/me/a.ts"),
            ("/c/Users/me/a.ts", "/c/Users/me/a.ts"),
            (r"src\a.ts", r"src\a.ts"),
            ("C:", "C:"),
            ("1:/x", "1:/x"),
            ("", ""),
        ] {
            let mut path = written.to_owned();
            unix_spelling(&mut path);
            assert_eq!(path, expected);
        }
    }
}
