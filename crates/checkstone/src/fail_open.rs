//! The guard around the hook path: whatever breaks inside, the agent may go on. A panic must not become an
//! exit code (Gemini takes some for a hold) nor a message (Gemini shows what a silent hook writes to stderr).

use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

/// Runs `hook` and exits with success, whatever happens. `hook` returns what to print; nothing is printed
/// before it has returned.
pub(crate) fn guard(hook: impl FnOnce() -> Option<String>) -> ExitCode {
    panic::set_hook(Box::new(|_| {}));
    if let Ok(Some(decision)) = panic::catch_unwind(AssertUnwindSafe(hook)) {
        crate::printer::write_decision(&decision);
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_on_the_hook_path_is_silence_and_success() {
        let previous = panic::take_hook();
        let code = guard(|| {
            let empty: Vec<String> = Vec::new();
            Some(empty[std::hint::black_box(3)].clone())
        });
        panic::set_hook(previous);
        assert_eq!(code, ExitCode::SUCCESS);
    }
}
