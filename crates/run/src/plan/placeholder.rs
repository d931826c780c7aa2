//! Braces in the texts of a plan that look like a parameter and are not filled in: `{param.lr}`, and `{wildcards.x}` or `{input}`
//! as other tools write them. They may be meant as they are, so that only who checks a plan hears of them.

use settings::{At, Place, Problem};

use super::fan_out::ForEachLayer;
use super::keys::{Kind, StageLayer};
use super::{Plan, Program};

const WORD: &str = "params";

/// Behind these a brace belongs to the shell, to git, to curl, or is written twice to stay.
const BEFORE_OTHER_BRACES: &[char] = &['$', '{', '%', '@', '#', '\\'];

/// Who reads a text.
#[derive(Clone, Copy, PartialEq)]
enum ReadBy {
    Command,
    /// Python, which has braces of its own.
    Cell,
}

impl Plan {
    /// Each with the name that was probably meant.
    pub fn mistyped_placeholders(&self) -> Vec<Problem> {
        self.written.drafts.iter().flat_map(|draft| self.mistyped_in(&draft.value)).collect()
    }

    fn mistyped_in(&self, draft: &StageLayer) -> Vec<Problem> {
        let is_cell = draft.kind == Some(Kind::Python);
        let mut texts: Vec<(&str, &Place, ReadBy)> = Vec::new();
        for (program, is_cell) in [(&draft.command, is_cell), (&draft.verify, false)] {
            let Some(At { value, place }) = program else { continue };
            match value {
                Program::Shell(text) if is_cell => texts.push((text, place, ReadBy::Cell)),
                Program::Shell(text) => texts.push((text, place, ReadBy::Command)),
                Program::Words(words) => {
                    texts.extend(words.iter().map(|word| (word.as_str(), place, ReadBy::Command)));
                }
            }
        }
        let pairs = draft.environment.iter().flatten().chain(draft.inputs.iter().flatten());
        texts.extend(pairs.map(|(_, value)| (value.value.as_str(), &value.place, ReadBy::Command)));
        texts.extend(draft.directory.iter().map(|text| (text.value.as_str(), &text.place, ReadBy::Command)));
        let names = self.names_in(draft);
        let mut found = Vec::new();
        for (text, place, reader) in texts {
            for (name, message, nearest) in
                braces(text).filter_map(|name| mistyped(name, text, reader, &names))
            {
                let place = self.written.place_of(&format!("{{{name}}}"), place);
                found.push(Problem { nearest, ..place.problem(message) });
            }
        }
        found.dedup();
        found
    }

    /// The parameters that the texts of a stage may use.
    fn names_in(&self, draft: &StageLayer) -> Vec<String> {
        let own = match &draft.for_each {
            Some(ForEachLayer::Axes(axes)) => axes.iter().map(|axis| axis.name.value.clone()).collect(),
            _ => Vec::new(),
        };
        self.written.parameters.names().map(str::to_owned).chain(own).collect()
    }
}

/// What stands between braces, if it is a name.
fn braces(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |name: &&str| {
        let is_part = |part: &str| {
            part.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        name.split('.').all(is_part)
    };
    let behind = text.match_indices('{').filter_map(move |(at, _)| {
        let (before, behind) = text.split_at_checked(at)?;
        let name = behind.get(1..)?.split_once('}')?.0;
        (!before.ends_with(BEFORE_OTHER_BRACES)).then_some(name)
    });
    behind.filter(is_name)
}

/// What is wrong with it, and what was probably meant.
fn mistyped<'t>(
    name: &'t str,
    text: &str,
    reader: ReadBy,
    names: &[String],
) -> Option<(&'t str, String, Option<String>)> {
    let known = || names.iter().map(String::as_str);
    let parameter = |name: &str| Some(format!("{{{WORD}.{}}}", text::nearest(name, known())?));
    let not_filled_in = format!("`{{{name}}}` is not filled in");
    match name.split_once('.') {
        Some((WORD, _)) => None,
        Some((word, rest)) => {
            let is_slip = text::nearest(word, [WORD].into_iter()).is_some();
            // Python formats texts like this.
            let has_formats = reader == ReadBy::Cell || text.contains("f\"") || text.contains("f'");
            if has_formats && !(is_slip && known().any(|known| known == rest)) {
                return None;
            }
            Some((name, format!("{not_filled_in}: only `{{{WORD}.NAME}}` is"), parameter(rest)))
        }
        None if reader == ReadBy::Cell => None,
        None if known().any(|known| known == name) => Some((name, not_filled_in, parameter(name))),
        None if matches!(name, "input" | "inputs") => Some((
            name,
            format!("{not_filled_in}: a command finds its inputs by `$CHECKSTONE_INPUT_NAME`"),
            None,
        )),
        None if matches!(name, "output" | "outputs") => {
            let message = "a command writes its outputs below `$CHECKSTONE_ARTIFACT_DIR`";
            Some((name, format!("{not_filled_in}: {message}"), None))
        }
        None => None,
    }
}
