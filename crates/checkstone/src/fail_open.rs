//! The guard around the hook path: whatever breaks inside, the agent may go on. A panic must not become an
//! exit code (Gemini takes some for a hold) nor a message (Gemini shows what a silent hook writes to stderr).

use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

/// Runs `hook` and exits with success, whatever happens. `hook` returns what to print; nothing is printed
/// before it has returned. `report` is told where a panic was.
pub(crate) fn guard(hook: impl FnOnce() -> Option<String>, report: impl FnOnce(&str)) -> ExitCode {
    let place = Arc::new(OnceLock::new());
    let seen = Arc::clone(&place);
    panic::set_hook(Box::new(move |panic| {
        let _ = seen.set(panic.location().map(ToString::to_string).unwrap_or_default());
    }));
    match panic::catch_unwind(AssertUnwindSafe(hook)) {
        // A client that cannot be told anything stops as it would without us.
        Ok(Some(decision)) => drop(crate::printer::write_whole(&decision)),
        Ok(None) => {}
        Err(_) => {
            let place = place.get().map(String::as_str).unwrap_or_default();
            let _ = panic::catch_unwind(AssertUnwindSafe(|| report(place)));
        }
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_on_the_hook_path_is_silence_and_success() {
        let previous = panic::take_hook();
        let mut place = String::new();
        let code = guard(
            || {
                let empty: Vec<String> = Vec::new();
                Some(empty[std::hint::black_box(3)].clone())
            },
            |panicked| panicked.clone_into(&mut place),
        );
        panic::set_hook(previous);
        assert_eq!(code, ExitCode::SUCCESS);
        assert!(place.contains("fail_open.rs:"), "{place}");
    }
}
