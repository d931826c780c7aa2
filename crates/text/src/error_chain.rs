//! An error with its causes.

use std::error::Error;

/// The error and what caused it, in one line: `a: b: c`. A cause that the message before it ends with is left out.
pub fn error_chain(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !message.ends_with(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
        cause = error.source();
    }
    message
}

/// Without the numbers that Rust puts behind the system's own words, which say the same: `(os error 2)`.
pub fn without_error_numbers(text: &str) -> String {
    const BEFORE: &str = " (os error ";
    let mut parts = text.split(BEFORE);
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => plain.push_str(rest),
            _ => plain.extend([BEFORE, part]),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;

    #[derive(Debug)]
    struct Failure(&'static str, Option<Box<Failure>>);

    impl fmt::Display for Failure {
        fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str(self.0)
        }
    }

    impl Error for Failure {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|cause| cause as _)
        }
    }

    #[test]
    fn numbers_of_errors_are_left_out() {
        for (text, plain) in [
            ("cannot open `a`: No such file (os error 2)", "cannot open `a`: No such file"),
            ("a (os error 2): b (os error 13)", "a: b"),
            ("`x (os error y)` is a name", "`x (os error y)` is a name"),
            ("", ""),
        ] {
            assert_eq!(without_error_numbers(text), plain);
        }
    }

    #[test]
    fn causes_follow_once_each() {
        let chain = |texts: &[&'static str]| {
            let error = texts.iter().rev().fold(None, |cause, text| Some(Box::new(Failure(text, cause))));
            error_chain(&*error.unwrap())
        };
        assert_eq!(
            chain(&["cannot save", "cannot write `a`", "disk full"]),
            "cannot save: cannot write `a`: disk full"
        );
        assert_eq!(chain(&["cannot read `a`: denied", "denied"]), "cannot read `a`: denied");
        assert_eq!(chain(&["alone"]), "alone");
    }
}
