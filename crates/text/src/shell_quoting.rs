//! Words for a POSIX shell, which takes each for what it says.

/// One word for any shell: as it is if nothing in it means anything to a shell, else in single quotes.
pub fn shell_word(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The words as one would type them.
pub fn command_line<Word: AsRef<str>>(words: &[Word]) -> String {
    words.iter().map(|word| shell_word(word.as_ref())).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_gets_any_text_as_one_word() {
        let words =
            ["", "plain/path-1.0", "/a b/x", "it's", "/$HOME/`x`/\"/\\/x", "/a;b&c/\u{fc}/\n/x", "~", "*"];
        let line = format!("printf '[%s]' {}", command_line(&words));
        let output = std::process::Command::new("sh").args(["-c", &line]).output().unwrap();
        let expected: String = words.iter().map(|word| format!("[{word}]")).collect();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    }

    #[test]
    fn only_what_needs_quotes_gets_them() {
        assert_eq!(command_line(&["git", "commit", "-m", "it's", ""]), r"git commit -m 'it'\''s' ''");
        assert_eq!(shell_word("/usr/bin/a@b%c+d=e:f,g.h_i-j"), "/usr/bin/a@b%c+d=e:f,g.h_i-j");
    }
}
