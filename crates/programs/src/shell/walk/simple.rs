//! Simple commands: their words and substitutions, what is behind their wrappers, and the scripts and functions
//! that they run.

use std::rc::Rc;

use rable::{Node, NodeKind};

use super::redirect::Redirections;
use super::{DEEPEST_SCRIPT, MOST_COMMANDS, Tested, Walk, Walked, parse};
use crate::meaning::KnownMeaning;
use crate::shell::flow::Flow;
use crate::shell::opaque::Stripped;
use crate::shell::word::{self, Word};
use crate::shell::wrapper::{self, Chosen, Peeled};
use crate::shell::{Attribution, Directory, Mask, NotUnderstood, Output, SimpleCommand, files};
use crate::table::base_name;

/// Of code on standard input.
const LONGEST_CODE: usize = 4096;

impl Walk {
    /// The commands inside `$(…)`, `` `…` ``, `<(…)` of a word; the flow of the last one.
    pub(super) fn substitutions(
        &mut self,
        word: &Node,
        stripped: &Stripped<'_>,
    ) -> Result<Option<Flow>, NotUnderstood> {
        let parts = match &word.kind {
            NodeKind::Word { parts, .. } => parts,
            NodeKind::Redirect { target, .. } => return self.substitutions(target, stripped),
            _ => return Ok(None),
        };
        let mut last = None;
        for part in parts {
            if let NodeKind::CommandSubstitution { command, .. }
            | NodeKind::ProcessSubstitution { command, .. } = &part.kind
            {
                let outer = self.shell.clone();
                let first = self.found.len();
                self.shell.output = Output::Shown;
                self.shell.errexit = false;
                let flow = self.node(command, stripped, Tested::Yes)?.subshell(false);
                self.shell = outer;
                last = Some(flow);
                let is_text = matches!(part.kind, NodeKind::CommandSubstitution { .. });
                self.capture(first, is_text);
            }
        }
        Ok(last)
    }

    pub(super) fn command(
        &mut self,
        assignments: &[Node],
        words: &[Node],
        redirects: &[Node],
        stripped: &Stripped<'_>,
        tested: Tested,
    ) -> Walked {
        let first = self.found.len();
        let mut substituted = None;
        let outer = std::mem::take(&mut self.captured);
        for assignment in assignments {
            substituted = self.substitutions(assignment, stripped)?.or(substituted);
            let captured = std::mem::take(&mut self.captured);
            self.keep_text(assignment, captured);
        }
        for part in words.iter().chain(redirects) {
            substituted = self.substitutions(part, stripped)?.or(substituted);
        }
        let captured = std::mem::replace(&mut self.captured, outer);
        if words.is_empty() {
            return self.bare(assignments, redirects, substituted, stripped, tested);
        }
        self.mask_from(first, Mask::Substitution);
        let words = self.words(words, stripped);
        let effect = self.redirections(redirects, stripped);
        let bodies = redirects.iter().filter_map(|redirect| match &redirect.kind {
            NodeKind::HereDoc { content, .. } => Some(stripped.body(content)),
            _ => None,
        });
        let body: String = bodies.collect();
        self.run(words, captured, effect, &body, stripped, tested)
    }

    /// `X=1`, `X=$(cmd)`, `> file`: no program.
    fn bare(
        &mut self,
        assignments: &[Node],
        redirects: &[Node],
        substituted: Option<Flow>,
        stripped: &Stripped<'_>,
        tested: Tested,
    ) -> Walked {
        for assignment in assignments {
            let NodeKind::Word { value, .. } = &assignment.kind else { continue };
            let Some((name, value)) = value.split_once('=') else { continue };
            let kept = match value.trim_matches('"') {
                "$?" => Some(self.shell.status.clone()),
                "${PIPESTATUS[0]}" | "$PIPESTATUS" => Some(self.shell.first_of_pipe.clone()),
                _ => None,
            };
            match kept {
                Some(status) => self.shell.kept.insert(name.to_owned(), status),
                None => self.shell.kept.remove(name),
            };
        }
        let effect = self.redirections(redirects, stripped);
        if !effect.edits.is_nothing() {
            let index = self.emit(vec![Word::from(":")], effect, "", Output::Hidden)?;
            return Ok(Flow::command(index, true, self.strict(tested)));
        }
        // The status of an assignment is that of the last substitution in it.
        Ok(substituted.unwrap_or_else(Flow::neutral).subshell(self.strict(tested)))
    }

    fn words(&self, words: &[Node], stripped: &Stripped<'_>) -> Vec<Word> {
        let mut unquoted = Vec::with_capacity(words.len());
        for word in words {
            let NodeKind::Word { value, .. } = &word.kind else { continue };
            if matches!(value.as_str(), "\"$@\"" | "$@" | "\"${@}\"") {
                unquoted.extend(self.shell.positional.iter().cloned());
            } else {
                unquoted.push(word::unquote(value, stripped));
            }
        }
        unquoted
    }

    /// `captured`: the commands whose output stands in the words.
    fn run(
        &mut self,
        words: Vec<Word>,
        captured: Vec<usize>,
        effect: Redirections,
        body: &str,
        stripped: &Stripped<'_>,
        tested: Tested,
    ) -> Walked {
        let Some(name) = words.first().map(|word| word.text().to_owned()) else {
            return Ok(Flow::neutral());
        };
        if let Some(function) = self.shell.functions.get(&name).cloned() {
            return self.call(&function, words.into_iter().skip(1).collect(), effect, stripped, tested);
        }
        let outer = (self.shell.is_in_container, self.shell.is_elsewhere);
        let peeled = wrapper::peel(words);
        self.shell.is_in_container |= peeled.1.is_in_container;
        self.shell.is_elsewhere |= peeled.1.is_elsewhere;
        let flow = self.run_peeled(peeled, captured, effect, body, stripped, tested);
        (self.shell.is_in_container, self.shell.is_elsewhere) = outer;
        flow
    }

    fn run_peeled(
        &mut self,
        (peeled, chosen): (Peeled, Chosen),
        captured: Vec<usize>,
        effect: Redirections,
        body: &str,
        stripped: &Stripped<'_>,
        tested: Tested,
    ) -> Walked {
        let strict = self.strict(tested);
        let output = effect.output.unwrap_or(self.shell.output);
        let (mask, inner) = match peeled {
            Peeled::Command { words, mask } => (mask, Inner::Words(words, chosen)),
            Peeled::Script { text, errexit, pipefail } => (None, Inner::Script { text, errexit, pipefail }),
            Peeled::ScriptFromInput { words, errexit } if !body.is_empty() => {
                drop(words);
                (None, Inner::Script { text: body.to_owned(), errexit, pipefail: false })
            }
            Peeled::ScriptFromInput { words, .. } => (None, Inner::Words(words, Chosen::default())),
            Peeled::PerFile { words, command, mask } => {
                let index = self.emit(words, effect, "", output)?;
                let inner =
                    self.run(command, Vec::new(), Redirections::default(), "", stripped, Tested::Yes)?;
                let find = Flow::command(index, true, strict);
                if let Some(mask) = mask {
                    self.mask_from(index + 1, mask);
                    return Ok(find);
                }
                return Ok(find.and(inner));
            }
        };
        match inner {
            Inner::Words(words, chosen) => {
                let index = self.emit_in(chosen, words, effect, body, output)?;
                self.note_what_is_printed(index, captured);
                if let Some(mask) = mask {
                    self.mask_from(index, mask);
                    return Ok(Flow::command(index, true, false).unproven());
                }
                Ok(self.builtin(index, strict))
            }
            Inner::Script { text, errexit, pipefail } => {
                self.script(&text, errexit, pipefail, effect, strict)
            }
        }
    }

    /// `bash -c '…'`, `eval '…'`, `bash <<EOF`.
    fn script(
        &mut self,
        text: &str,
        errexit: bool,
        pipefail: bool,
        effect: Redirections,
        strict: bool,
    ) -> Walked {
        let parsed = if self.scripts < DEEPEST_SCRIPT { parse(text).ok() } else { None };
        let Some((stripped, nodes)) = parsed else {
            let output = effect.output.unwrap_or(self.shell.output);
            let words = vec![Word::from("bash"), Word::from("-c"), Word::from(text)];
            let index = self.emit(words, effect, "", output)?;
            return Ok(Flow::command(index, true, strict));
        };
        let first = self.found.len();
        let outer = self.shell.clone();
        // It is another shell; and the functions' text is not in this one.
        self.shell.functions.clear();
        self.shell.errexit = errexit;
        self.shell.pipefail = pipefail;
        self.shell.output = effect.output.unwrap_or(outer.output);
        self.shell.hides_errors |= effect.hides_errors;
        self.scripts += 1;
        let flow = self.sequence(&nodes.iter().collect::<Vec<_>>(), &stripped, Tested::No)?;
        self.scripts -= 1;
        self.shell = outer;
        self.edited(first, effect.edits);
        Ok(flow.subshell(strict))
    }

    fn call(
        &mut self,
        function: &Rc<Node>,
        arguments: Vec<Word>,
        effect: Redirections,
        stripped: &Stripped<'_>,
        tested: Tested,
    ) -> Walked {
        if self.scripts >= DEEPEST_SCRIPT {
            return Err(NotUnderstood::TooDeep);
        }
        let first = self.found.len();
        let outer = (self.shell.output, self.shell.hides_errors);
        self.shell.output = effect.output.unwrap_or(outer.0);
        self.shell.hides_errors |= effect.hides_errors;
        let positional = std::mem::replace(&mut self.shell.positional, arguments);
        self.scripts += 1;
        let flow = self.node(function, stripped, tested)?;
        self.scripts -= 1;
        self.shell.positional = positional;
        (self.shell.output, self.shell.hides_errors) = outer;
        self.edited(first, effect.edits);
        let runs = |name: &str| self.found.iter().skip(first).any(|command| command.program == name);
        let (returns, exits) = (runs("return"), runs("exit"));
        if returns || exits {
            self.mask_from(first, Mask::Function);
            return Ok(if exits { Flow::may_exit() } else { Flow::opaque() });
        }
        Ok(if self.strict(tested) { flow.checked() } else { flow })
    }

    /// Notes a command in the folder and for the packages that its launchers chose.
    fn emit_in(
        &mut self,
        chosen: Chosen,
        words: Vec<Word>,
        effect: Redirections,
        body: &str,
        output: Output,
    ) -> Result<usize, NotUnderstood> {
        let outer = self.shell.directory.clone();
        if let Some(folder) = chosen.folder {
            let path = folder.known().and_then(|folder| files::resolve(folder, &outer));
            self.shell.directory = path.map_or(Directory::Unknown, Directory::At);
        }
        let index = self.emit(words, effect, body, output);
        self.shell.directory = outer;
        if let Some(command) = self.found.last_mut().filter(|_| index.is_ok()) {
            command.packages = chosen.packages;
        }
        index
    }

    fn emit(
        &mut self,
        words: Vec<Word>,
        effect: Redirections,
        body: &str,
        output: Output,
    ) -> Result<usize, NotUnderstood> {
        if self.found.len() >= MOST_COMMANDS {
            return Err(NotUnderstood::TooManyCommands);
        }
        let mut words = words.into_iter();
        let written = words.next().map(|word| word.text().to_owned()).unwrap_or_default();
        let program = base_name(&written).to_owned();
        let mut command = SimpleCommand {
            program,
            path: Some(written).filter(|written| written.contains(['/', '\\'])),
            arguments: words.collect(),
            directory: self.shell.directory.clone(),
            packages: Vec::new(),
            attribution: Attribution::Masked(Mask::Conditional),
            suspect: false,
            output,
            hides_errors: effect.hides_errors || self.shell.hides_errors,
            shows_end: false,
            may_be_skipped: false,
            tells: None,
            is_in_container: self.shell.is_in_container,
            is_elsewhere: self.shell.is_elsewhere,
            edits: effect.edits,
            reads: effect.reads,
            meaning: KnownMeaning::default(),
        };
        let (mut edits, mut reads) = files::touched(&command, body);
        if !body.is_empty() && command.is_inline_code() {
            // Code on standard input says what it is about, as code on the command line does.
            if command.arguments.is_empty() {
                command.arguments.push(Word::from("-"));
            }
            let end = body.floor_char_boundary(LONGEST_CODE);
            command.arguments.push(Word::from(body.get(..end).unwrap_or_default()));
            // It was asked what it does before it had these words.
            command.meaning = KnownMeaning::default();
        }
        edits.add(command.edits);
        reads.append(&mut command.reads);
        self.found.push(SimpleCommand { edits, reads, ..command });
        self.masks.push(None);
        Ok(self.found.len() - 1)
    }
}

enum Inner {
    Words(Vec<Word>, Chosen),
    Script { text: String, errexit: bool, pipefail: bool },
}
