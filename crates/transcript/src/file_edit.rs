//! What a call did to the text of a file, from what the transcript holds of it. Texts come as JSON literals: hashes are made of
//! them as they are written, and only what has to be compared is decoded.

use contents::{Nature, TextHash};
use serde::{Deserialize, Serialize};

use crate::edit_nature::{EditNature, EditedFile};
use crate::json_text::decode;

/// What a call did to the text of one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileEdit {
    pub path: String,
    #[cfg_attr(feature = "schema", schemars(with = "Nature"))]
    pub nature: EditNature,
    /// The text before; null if there was none, or if it is not known. A later edit whose `after` is this one's
    /// `before` has taken it back, provided that both are of the whole file or both are of a part.
    pub before: Option<TextHash>,
    pub after: Option<TextHash>,
    /// The hashes are of the whole file, not of the part that was replaced.
    pub whole: bool,
    /// The ending that the file would have by its first line, if its name has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<String>,
}

/// A larger file is not looked at whole.
const LARGEST: usize = 1024 * 1024;

impl FileEdit {
    /// A part of the file was replaced; nothing is known of the rest.
    pub(crate) fn of_part(path: &str, old: &str, new: &str) -> Self {
        let nature = EditNature::of_part(path, old, new, None);
        Self::hashed(path, nature, inner(old), inner(new), false)
    }

    /// A part of the file was replaced whose text was `original`.
    pub(crate) fn in_file(path: &str, original: &str, old: &str, new: &str, everywhere: bool) -> Self {
        let [original, old_part, new_part] = [original, old, new].map(inner);
        let replaced = match original.len() <= LARGEST {
            true => replaced(original, old_part, new_part, everywhere),
            false => None,
        };
        let Some(Replaced { after, places }) = replaced else { return Self::of_part(path, old, new) };
        let (ending, hashes) = (ending(path, &after), [original, &after].map(TextHash::of).map(Some));
        let nature = match places.as_slice() {
            [at] => EditNature::of_part(path, old_part, new_part, Some(EditedFile { after, at: *at })),
            _ => EditNature::of_part(path, old_part, new_part, None)
                .unless_decided(|| contents::nature(path, Some(&decode(original)), Some(&decode(&after)))),
        };
        let [before, after] = hashes;
        Self { path: path.to_owned(), nature, before, after, whole: true, ending }
    }

    /// The whole file was written; `original` is what it held before, where that is known.
    pub(crate) fn written(path: &str, original: Option<&str>, content: &str) -> Self {
        let original = original.filter(|original| original.len().max(content.len()) <= LARGEST);
        let nature = match original {
            Some(original) => contents::nature(path, Some(&decode(original)), Some(&decode(content))),
            None => Nature::Code,
        };
        let after = Some(TextHash::of(inner(content)));
        let before = original.map(|original| TextHash::of(inner(original)));
        let ending = ending(path, inner(content));
        Self { path: path.to_owned(), nature: nature.into(), before, after, whole: true, ending }
    }

    /// The file was made.
    pub(crate) fn made(path: &str, content: &str) -> Self {
        let nature = contents::nature(path, None, Some(&decode(content)));
        Self { nature: nature.into(), ..Self::written(path, None, content) }
    }

    /// The hash that an edit of a whole file has if it leaves this text behind.
    pub fn hash_of_whole(text: &str) -> Option<TextHash> {
        let literal = serde_json::to_string(text).ok()?;
        Some(TextHash::of(inner(&literal)))
    }

    fn hashed(path: &str, nature: EditNature, before: &str, after: &str, whole: bool) -> Self {
        let (before, after) = (Some(TextHash::of(before)), Some(TextHash::of(after)));
        Self { path: path.to_owned(), nature, before, after, whole, ending: None }
    }

    /// The lines of a patch that belong to one file: those taken away begin with `-`, those added with `+`.
    pub(crate) fn patched<'a>(path: &str, lines: impl Iterator<Item = &'a str>) -> Self {
        let (mut all_before, mut all_after) = (String::new(), String::new());
        let (mut begins_before, mut begins_after) = (0, 0);
        let mut nature = Nature::Nothing;
        let mut hunk_ends = |before: &str, after: &str| {
            let old = before.get(std::mem::replace(&mut begins_before, before.len())..).unwrap_or_default();
            let new = after.get(std::mem::replace(&mut begins_after, after.len())..).unwrap_or_default();
            if old != new && nature != Nature::Code {
                nature = nature.max(contents::nature_of_part(path, old, new));
            }
        };
        for line in lines {
            let (sign, text) = line.split_at_checked(1).unwrap_or((line, ""));
            if sign == "@" {
                hunk_ends(&all_before, &all_after);
            }
            if matches!(sign, " " | "-" | "") {
                all_before.push_str(text);
                all_before.push('\n');
            }
            if matches!(sign, " " | "+" | "") {
                all_after.push_str(text);
                all_after.push('\n');
            }
        }
        hunk_ends(&all_before, &all_after);
        // A patch that shows no line leaves open what it did.
        let is_empty = all_before.is_empty() && all_after.is_empty();
        let nature = if is_empty { Nature::Code } else { nature };
        Self::hashed(path, nature.into(), &all_before, &all_after, false)
    }
}

/// What the first line of a text says; whatever ends the line is escaped in a literal.
fn ending(path: &str, text: &str) -> Option<String> {
    contents::script_ending(path, text.split('\\').next()?).map(str::to_owned)
}

/// A literal without its quotes.
fn inner(literal: &str) -> &str {
    let text = literal.strip_prefix('"').unwrap_or(literal);
    text.strip_suffix('"').unwrap_or(text)
}

/// A text with one part replaced, and where the new part begins in it.
struct Replaced {
    after: String,
    places: Vec<usize>,
}

/// The inside of a literal with one part replaced; `None` if the part is not in it.
fn replaced(text: &str, old: &str, new: &str, everywhere: bool) -> Option<Replaced> {
    if old.is_empty() {
        return text.is_empty().then(|| Replaced { after: new.to_owned(), places: vec![0] });
    }
    let mut places = Vec::new();
    let mut after = String::with_capacity(text.len() + new.len());
    let mut copied = 0;
    for at in memchr::memmem::find_iter(text.as_bytes(), old.as_bytes()) {
        // Behind an odd number of backslashes a character is part of an escape.
        let before = text.get(copied..at)?;
        if before.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1 {
            continue;
        }
        // A text that grows without end is compared by its part.
        if after.len() + before.len() + new.len() > LARGEST {
            return None;
        }
        after.push_str(before);
        places.push(after.len());
        after.push_str(new);
        copied = at + old.len();
        if !everywhere {
            break;
        }
    }
    if copied == 0 {
        return None;
    }
    after.push_str(text.get(copied..)?);
    Some(Replaced { after, places })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(text: &str) -> String {
        serde_json::to_string(text).unwrap()
    }

    /// W21: content that is back to what it was has the hash that it had.
    #[test]
    fn w21_what_is_taken_back_is_known_by_its_hashes() {
        let (first, second, third) = (literal("a = 1\nb = 2\n"), literal("b = 2"), literal("b = 3"));
        let there = FileEdit::in_file("a.py", &first, &second, &third, false);
        let changed = literal("a = 1\nb = 3\n");
        let back = FileEdit::in_file("a.py", &changed, &third, &second, false);
        assert_eq!((there.before, there.after), (back.after, back.before));
        assert!(there.whole && there.before != there.after);
        let overwritten = FileEdit::written("a.py", Some(&changed), &first);
        assert_eq!(overwritten.after, there.before);
        assert_eq!(FileEdit::hash_of_whole("a = 1\nb = 2\n"), there.before);
        assert_eq!(FileEdit::hash_of_whole("a = 1\nb = 3\n"), there.after);
    }

    /// W5: the part alone does not say that it stands in a docstring; the file does.
    #[test]
    fn w5_words_inside_of_a_docstring_are_seen_in_the_whole_file() {
        let original = literal("def f():\n    \"\"\"One.\n\n    Old words\n    \"\"\"\n    return 1\n");
        let (old, new) = (literal("    Old words"), literal("    New words"));
        assert_eq!(FileEdit::of_part("a.py", &old, &new).nature.get(), Nature::Code);
        assert_eq!(FileEdit::in_file("a.py", &original, &old, &new, false).nature.get(), Nature::Comments);
        let text = literal("TEXT = '''\n# Old words\n'''\n");
        let (old, new) = (literal("# Old words"), literal("# New words"));
        assert_eq!(FileEdit::of_part("a.py", &old, &new).nature.get(), Nature::Comments);
        assert_eq!(FileEdit::in_file("a.py", &text, &old, &new, false).nature.get(), Nature::Code);
    }

    #[test]
    fn a_part_is_replaced_where_it_really_stands() {
        for (text, old, new, everywhere, expected) in [
            (r"a\nna", "na", "b", false, Some(r"a\nb")),
            (r"na na", "na", "b", true, Some("b b")),
            (r"na na", "na", "b", false, Some("b na")),
            (r"a\\na", "na", "b", false, Some(r"a\\b")),
            ("abc", "x", "y", true, None),
            ("", "", "new", false, Some("new")),
        ] {
            let after = replaced(text, old, new, everywhere).map(|replaced| replaced.after);
            assert_eq!(after.as_deref(), expected, "{text} {old}");
        }
    }

    #[test]
    fn the_hunks_of_a_patch_are_compared_one_by_one() {
        let patch = "@@\n fn f() {}\n-// old\n+// new\n@@\n a\n- b\n+  b";
        let edit = FileEdit::patched("a.rs", patch.lines());
        assert_eq!(edit.nature.get(), Nature::Comments);
        let back = patch.replace("\n-", "\n~").replace("\n+", "\n-").replace("\n~", "\n+");
        let mut lines: Vec<&str> = back.lines().collect();
        lines.swap(2, 3);
        let back = FileEdit::patched("a.rs", lines.into_iter());
        assert_eq!((back.before, back.after), (edit.after, edit.before));
    }
}
