//! The part of YAML that task files are written in: nested maps and lists by indentation, plain, quoted and block texts,
//! and lists in brackets. Anchors, tags and documents are passed over; what is not understood is missing.

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Yaml {
    Text(String),
    List(Vec<Yaml>),
    Map(Vec<(String, Yaml)>),
}

/// Deeper is no task file.
const DEEPEST: usize = 32;

impl Yaml {
    pub(super) fn read(text: &str) -> Self {
        let lines = text
            .lines()
            .map(|line| Line { indent: line.len() - line.trim_start_matches(' ').len(), text: line });
        let mut reader = Reader { lines: lines.collect(), at: 0 };
        reader.value(0, 0)
    }

    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    pub(super) fn entries(&self) -> &[(String, Self)] {
        match self {
            Self::Map(entries) => entries,
            _ => &[],
        }
    }

    pub(super) fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The texts of a list, or the one text.
    pub(super) fn texts(&self) -> Vec<&str> {
        match self {
            Self::Text(text) => vec![text],
            _ => self.items().iter().filter_map(Self::text).collect(),
        }
    }
}

#[derive(Clone, Copy)]
struct Line<'a> {
    indent: usize,
    text: &'a str,
}

struct Reader<'a> {
    lines: Vec<Line<'a>>,
    at: usize,
}

impl<'a> Reader<'a> {
    /// The next line that says something.
    fn peek(&mut self) -> Option<Line<'a>> {
        while let Some(line) = self.lines.get(self.at) {
            let text = line.text.trim();
            if !text.is_empty() && !text.starts_with('#') && text != "---" {
                return Some(*line);
            }
            self.at += 1;
        }
        None
    }

    /// The block that is indented by at least this much.
    fn value(&mut self, indent: usize, depth: usize) -> Yaml {
        let Some(first) = self.peek().filter(|line| line.indent >= indent && depth < DEEPEST) else {
            return Yaml::Text(String::new());
        };
        if is_item(first.text.trim_start()) {
            self.list(first.indent, depth)
        } else {
            self.map(first.indent, depth)
        }
    }

    fn list(&mut self, indent: usize, depth: usize) -> Yaml {
        let mut items = Vec::new();
        while let Some(line) =
            self.peek().filter(|line| line.indent == indent && is_item(line.text.trim_start()))
        {
            let inner = line.text.trim_start().get(1..).unwrap_or_default();
            let text = inner.trim_start();
            let column = indent + 1 + (inner.len() - text.len());
            if text.is_empty() || text.starts_with('#') {
                self.at += 1;
                items.push(self.value(indent + 1, depth + 1));
            } else if is_item(text) || key(text).is_some() {
                // The rest of the line is the first of the lines of the item.
                if let Some(line) = self.lines.get_mut(self.at) {
                    *line = Line { indent: column, text };
                }
                items.push(self.value(column, depth + 1));
            } else {
                self.at += 1;
                items.push(self.scalar(text, indent));
            }
        }
        Yaml::List(items)
    }

    fn map(&mut self, indent: usize, depth: usize) -> Yaml {
        let mut entries = Vec::new();
        while let Some(line) = self.peek().filter(|line| line.indent >= indent) {
            self.at += 1;
            // What is indented further belongs to nothing.
            if line.indent > indent {
                continue;
            }
            let Some((name, rest)) = key(line.text.trim_start()) else { continue };
            let rest = without_comment(rest);
            let value = match self.peek() {
                _ if !rest.is_empty() => self.scalar(rest, indent),
                // A list may stand at the indentation of its key.
                Some(next) if next.indent == indent && is_item(next.text.trim_start()) => {
                    self.list(indent, depth + 1)
                }
                _ => self.value(indent + 1, depth + 1),
            };
            entries.push((name, value));
        }
        Yaml::Map(entries)
    }

    /// A text that begins on the line of its key or dash.
    fn scalar(&mut self, text: &str, indent: usize) -> Yaml {
        let text = without_comment(text);
        if text.starts_with(['|', '>']) && text.len() <= 3 {
            return Yaml::Text(self.block(indent, text.starts_with('>')));
        }
        if let Some(inner) = text.strip_prefix('[') {
            let inner = inner.trim_end().trim_end_matches(']');
            let items = inner.split(',').map(str::trim).filter(|item| !item.is_empty());
            return Yaml::List(items.map(|item| Yaml::Text(unquoted(item))).collect());
        }
        Yaml::Text(unquoted(text))
    }

    fn block(&mut self, indent: usize, folds: bool) -> String {
        let mut text = String::new();
        let mut own = None;
        while let Some(line) = self.lines.get(self.at) {
            let is_blank = line.text.trim().is_empty();
            if !is_blank && line.indent <= indent {
                break;
            }
            let own = *own.get_or_insert(line.indent);
            text.push_str(line.text.get(own..).unwrap_or_default());
            text.push(if folds { ' ' } else { '\n' });
            self.at += 1;
        }
        text.trim_end().to_owned()
    }
}

fn is_item(text: &str) -> bool {
    text == "-" || text.starts_with("- ")
}

/// `name: rest`, with the name in quotes or not.
fn key(text: &str) -> Option<(String, &str)> {
    let colon = match text.chars().next()? {
        quote @ ('"' | '\'') => text.get(1..)?.find(quote)? + 2,
        '{' | '[' => return None,
        _ => text.find(": ").or_else(|| text.ends_with(':').then(|| text.len() - 1))?,
    };
    let rest = text.get(colon..)?.strip_prefix(':')?;
    Some((unquoted(text.get(..colon)?), rest.trim_start()))
}

fn without_comment(text: &str) -> &str {
    let quoted = text.chars().next().filter(|first| matches!(first, '"' | '\''));
    let end = quoted.and_then(|quote| text.rfind(quote)).unwrap_or(0);
    match text.get(end..).and_then(|rest| rest.find(" #")) {
        Some(at) => text.get(..end + at).unwrap_or(text).trim_end(),
        _ if text.starts_with('#') => "",
        _ => text.trim_end(),
    }
}

fn unquoted(text: &str) -> String {
    let text = text.trim();
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote)) {
            return if quote == '"' {
                inner.replace("\\\"", "\"").replace("\\\\", "\\")
            } else {
                inner.replace("''", "'")
            };
        }
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Yaml {
        Yaml::Text(text.to_owned())
    }

    #[test]
    fn the_shapes_of_task_files() {
        let read = Yaml::read(
            "version: '3' # a comment\ntasks:\n  test:\n    deps: [build, \"lint\"]\n    cmds:\n    - go test ./...\n    - task: other\n      silent: true\n  \"db:up\": docker up\njobs:\n  - run: |\n      cd web\n      npm test\n\n    shell: bash\n  -\n    run: >-\n      pytest\n      -q\n",
        );
        let map = |entries: &[(&str, Yaml)]| {
            Yaml::Map(entries.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
        };
        let other = map(&[("task", text("other")), ("silent", text("true"))]);
        let test = map(&[
            ("deps", Yaml::List(vec![text("build"), text("lint")])),
            ("cmds", Yaml::List(vec![text("go test ./..."), other])),
        ]);
        let first = map(&[("run", text("cd web\nnpm test")), ("shell", text("bash"))]);
        let second = map(&[("run", text("pytest -q"))]);
        let expected = map(&[
            ("version", text("3")),
            ("tasks", map(&[("test", test), ("db:up", text("docker up"))])),
            ("jobs", Yaml::List(vec![first, second])),
        ]);
        assert_eq!(read, expected);
    }

    /// Each kind of nesting counts.
    #[test]
    fn what_is_nested_too_deeply_is_missing() {
        fn depth(value: &Yaml) -> usize {
            match value {
                Yaml::Text(_) => 0,
                Yaml::List(items) => 1 + items.first().map_or(0, depth),
                Yaml::Map(entries) => 1 + entries.first().map_or(0, |(_, value)| depth(value)),
            }
        }
        let lines = |line: &str, indent: usize, count: usize| {
            (0..count).map(|at| format!("{}{line}\n", " ".repeat(indent * at))).collect::<String>()
        };
        for (text, levels) in [
            ("- ".repeat(10), 10),
            (lines("a:", 1, 10), 10),
            (lines("-", 1, 10), 10),
            (lines("- a:", 3, 5), 10),
            ("a:\n- b:\n  - c".to_owned(), 4),
            ("- ".repeat(50), DEEPEST),
            (lines("a:", 1, 50), DEEPEST),
            (lines("-", 1, 50), DEEPEST),
            (lines("- a:", 3, 25), DEEPEST),
        ] {
            assert_eq!(depth(&Yaml::read(&text)), levels, "{text}");
        }
    }

    #[test]
    fn odd_indentation_ends() {
        let read = Yaml::read("a:\n    b: 1\n  c: 2\nd: 3\n - x\n- y: z");
        assert_eq!(read.get("a").and_then(|a| a.get("b")), Some(&text("1")));
    }
}
