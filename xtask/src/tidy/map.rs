//! The map of every module in ARCHITECTURE.md, made from the first sentence of each file, so that it names all that is
//! there and nothing else.

use std::fmt::Write as _;

use super::Source;

const FILE: &str = "ARCHITECTURE.md";
const BEGINNING: &str = "<!-- The map: made by `cargo xtask map` from the first sentence of each file. -->\n";
const END: &str = "<!-- The end of the map. -->\n";

/// Writes the map anew.
pub(crate) fn write() -> Result<(), String> {
    let path = crate::root().join(FILE);
    let text = fs_err::read_to_string(&path).map_err(|error| error.to_string())?;
    let written = with_map(&text, &map(&super::sources()?))?;
    fs_err::write(path, written).map_err(|error| error.to_string())
}

/// Whether the map is the one that would be written now.
pub(super) fn wrong(sources: &[Source]) -> Result<Vec<String>, String> {
    let text = fs_err::read_to_string(crate::root().join(FILE)).map_err(|error| error.to_string())?;
    if with_map(&text, &map(sources))? == text {
        return Ok(Vec::new());
    }
    Ok(vec![format!("the map in {FILE} is not that of the files: run `cargo xtask map`")])
}

fn with_map(text: &str, map: &str) -> Result<String, String> {
    let (before, rest) =
        text.split_once(BEGINNING).ok_or_else(|| format!("{FILE} has no line {}", BEGINNING.trim()))?;
    let (_, after) = rest.split_once(END).ok_or_else(|| format!("{FILE} has no line {}", END.trim()))?;
    Ok(format!("{before}{BEGINNING}{map}{END}{after}"))
}

/// One line per file, indented as it lies.
fn map(sources: &[Source]) -> String {
    let mut map = String::new();
    let mut package = "";
    for source in sources {
        let Some((_, inside)) = source.name.split_once("/src/") else { continue };
        let purpose = purpose(&source.text);
        if inside == "lib.rs" || inside == "main.rs" {
            if package != source.package() {
                package = source.package();
                let _ = writeln!(map, "\n**`{package}`**: {purpose}");
            }
            continue;
        }
        let depth = inside.matches('/').count();
        let name = inside.rsplit('/').next().unwrap_or(inside);
        let _ = writeln!(map, "{}- `{name}`: {purpose}", "  ".repeat(depth));
    }
    map.push('\n');
    map
}

/// The first sentence of the comment at the top, without its full stop.
fn purpose(text: &str) -> String {
    let comment = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let words: Vec<&str> = comment.take_while(|line| !line.is_empty()).collect();
    let paragraph = words.join(" ");
    let end = paragraph.find(". ").unwrap_or(paragraph.len());
    paragraph.get(..end).unwrap_or_default().trim_end_matches(['.', ':']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_its_line() {
        let source = |name: &str, text: &str| Source { name: name.to_owned(), text: text.to_owned() };
        let sources = [
            source("crates/a/src/lib.rs", "//! What a is\n//! for. More.\n\nmod one;\n"),
            source("crates/a/src/one.rs", "//! One:\n//!\n//! and more\n"),
            source("crates/a/src/one/inner.rs", "//! Inside `x.y`. Else\n"),
        ];
        assert_eq!(
            map(&sources),
            "\n**`a`**: What a is for\n- `one.rs`: One\n  - `inner.rs`: Inside `x.y`\n\n"
        );
    }

    #[test]
    fn the_rest_of_the_document_stays() {
        let text = format!("before\n{BEGINNING}old\n{END}after\n");
        assert_eq!(with_map(&text, "new\n").unwrap(), format!("before\n{BEGINNING}new\n{END}after\n"));
        assert_eq!(
            with_map("no map", "").unwrap_err(),
            "ARCHITECTURE.md has no line <!-- The map: made by `cargo xtask map` from the first sentence of each file. -->"
        );
    }
}
