//! What a command prints of others: the output that was put into its words, and the exit status of what ran before it.

use rable::{Node, NodeKind};

use super::Walk;
use crate::shell::word::Word;
use crate::shell::{Output, SimpleCommand, ToldStatus};
use crate::table::Deed;

impl Walk {
    /// The output of the commands from `first` on does not go on to where the words stand that it is put into. If it becomes
    /// text, whoever prints the words shows it after all.
    pub(super) fn capture(&mut self, first: usize, is_text: bool) {
        for (index, command) in self.found.iter_mut().enumerate().skip(first) {
            if command.output != Output::Hidden {
                (command.output, command.shows_end) = (Output::Hidden, false);
                if is_text {
                    self.captured.push(index);
                }
            }
        }
    }

    /// `out=$(pytest)`
    pub(super) fn keep_text(&mut self, assignment: &Node, captured: Vec<usize>) {
        let NodeKind::Word { value, .. } = &assignment.kind else { return };
        let Some((name, _)) = value.split_once('=') else { return };
        if captured.is_empty() {
            self.shell.texts.remove(name);
        } else {
            self.shell.texts.insert(name.to_owned(), captured);
        }
    }

    /// `echo "$(pytest)"`, `echo "$out"`, `echo "exit: $?"`
    pub(super) fn note_what_is_printed(&mut self, index: usize, mut captured: Vec<usize>) {
        let Some(command) = self.found.get(index).filter(|command| command.deed() == Deed::Prints) else {
            return;
        };
        for (name, commands) in &self.shell.texts {
            if command.arguments.iter().any(|word| names_variable(word, name)) {
                captured.extend(commands);
            }
        }
        let tells = self.told_status(command);
        if !captured.is_empty() {
            self.reprinted.push((index, captured));
        }
        if let Some(command) = self.found.get_mut(index) {
            command.tells = tells;
        }
    }

    /// Whoever prints is behind those whose output it prints.
    pub(super) fn show_what_is_reprinted(&mut self) {
        for (printer, captured) in self.reprinted.iter().rev() {
            let is_shown = self.found.get(*printer).is_some_and(|printer| printer.output != Output::Hidden);
            for index in captured.iter().filter(|_| is_shown) {
                if let Some(command) = self.found.get_mut(*index) {
                    command.output = Output::Filtered;
                }
            }
        }
    }

    /// The one status in the words of `echo`.
    fn told_status(&self, command: &SimpleCommand) -> Option<ToldStatus> {
        if command.program != "echo" {
            return None;
        }
        let words: Vec<&str> = command.arguments.iter().map(Word::text).collect();
        let text = words.join(" ");
        let (before, rest) = text.split_once('$')?;
        let name = ["?", "{PIPESTATUS[0]}", "PIPESTATUS"].into_iter().find(|name| rest.starts_with(name));
        let name = name.or_else(|| {
            let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
            let end = match rest.strip_prefix('{') {
                Some(inner) => inner.find('}')? + 2,
                None => rest.find(|character| !is_part(character)).unwrap_or(rest.len()),
            };
            rest.get(..end)
        })?;
        let after = rest.strip_prefix(name)?;
        let is_plain = |part: &str| !part.contains(['$', '`', '\\']) && !part.starts_with('-');
        let status = self.status_named(Some(&format!("${name}")));
        let succeeded = status.success?.into_iter().collect();
        let failed: Vec<usize> = status.failure.suspects.into_iter().collect();
        let is_known =
            !failed.is_empty() && !status.failure.unexplained && is_plain(before) && is_plain(after);
        let (before, after) = (before.trim_start().to_owned(), after.trim_end().to_owned());
        // A bare number may be anything's, unless it surely was printed.
        let is_known = is_known && (self.left_out == 0 || !(before.is_empty() && after.is_empty()));
        is_known.then_some(ToldStatus { before, after, succeeded, failed })
    }
}

/// Whether the word has `$name` or `${name}` in it.
fn names_variable(word: &Word, name: &str) -> bool {
    if word.known().is_some() {
        return false;
    }
    word.text().split('$').skip(1).any(|rest| {
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        let after = rest.strip_prefix(name);
        after
            .is_some_and(|after| !after.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_'))
    })
}
