//! Redirections: where output goes instead, and the files that are written and read by them.

use rable::{Node, NodeKind};

use super::{Walk, Walked};
use crate::shell::opaque::Stripped;
use crate::shell::{Output, Touched, files, word};

#[derive(Default)]
pub(super) struct Redirections {
    /// Where standard output goes instead.
    pub(super) output: Option<Output>,
    /// Error output goes somewhere else, and not with the rest.
    pub(super) hides_errors: bool,
    pub(super) edits: Touched,
    pub(super) reads: Vec<String>,
}

impl Walk {
    /// Runs `inner` with the redirections of a compound command.
    pub(super) fn redirected(
        &mut self,
        redirects: &[Node],
        stripped: &Stripped<'_>,
        inner: impl FnOnce(&mut Self) -> Walked,
    ) -> Walked {
        for redirect in redirects {
            self.substitutions(redirect, stripped)?;
        }
        let effect = self.redirections(redirects, stripped);
        let outer = (self.shell.output, self.shell.hides_errors);
        let first = self.found.len();
        self.shell.output = effect.output.unwrap_or(outer.0);
        self.shell.hides_errors |= effect.hides_errors;
        let flow = inner(self)?;
        (self.shell.output, self.shell.hides_errors) = outer;
        self.edited(first, effect.edits.clone());
        if effect.output == Some(Output::Hidden) {
            for command in
                self.found.iter_mut().skip(first).filter(|command| command.output == Output::Hidden)
            {
                command.edits.add(effect.edits.clone());
            }
        }
        // As `edited`: the first command stands for what is read.
        if let Some(first) = self.found.get_mut(first) {
            first.reads.extend(effect.reads);
        }
        Ok(flow)
    }

    /// The file of a redirection is written while the commands from `first` on run: the last one stands for it.
    pub(super) fn edited(&mut self, first: usize, edits: Touched) {
        if let Some(last) = self.found.get_mut(first..).and_then(<[_]>::last_mut) {
            last.edits.add(edits);
        }
    }

    /// What the redirections of one command do.
    pub(super) fn redirections(&self, redirects: &[Node], stripped: &Stripped<'_>) -> Redirections {
        let mut effect = Redirections::default();
        for redirect in redirects {
            let NodeKind::Redirect { op, target, fd, .. } = &redirect.kind else { continue };
            let NodeKind::Word { value, .. } = &target.kind else { continue };
            let word = word::unquote(value, stripped);
            let text = word.text();
            let stdout = matches!(fd, -1 | 1) || op.starts_with('&');
            match op.as_str() {
                "<" => effect
                    .reads
                    .extend(word.known().and_then(|path| files::resolve(path, &self.shell.directory))),
                ">&" if text == "-" || text.bytes().all(|byte| byte.is_ascii_digit()) => {
                    // `>&2` still shows; `2>&1` moves nothing of ours away.
                }
                ">" | ">>" | ">|" | "&>" | "&>>" | ">&" | "<>" => {
                    if text.starts_with(">(") {
                        effect.output = Some(Output::Filtered);
                    } else if matches!(text, "/dev/stdout" | "/dev/stderr" | "/dev/tty") {
                    } else {
                        if stdout && op != "<>" {
                            effect.output = Some(Output::Hidden);
                        }
                        effect.hides_errors |= *fd == 2;
                        if !text.starts_with("/dev/") {
                            effect.edits.word(&word, &self.shell.directory);
                        }
                    }
                }
                _ => {}
            }
        }
        effect
    }
}
