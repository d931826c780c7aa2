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
