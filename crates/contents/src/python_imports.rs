//! What Python code imports, found without running Python: in functions and conditions as well, and in code that is not valid.

use crate::language::language_of;
use crate::lexer::{Lexer, Share};

/// `from ..a.b import c, d`, or `import a.b`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PythonImport {
    /// The dots before the module; none if it is looked for in the search path.
    pub level: usize,
    /// The parts of its name; none in `from . import c`.
    pub module: Vec<String>,
    /// What is taken out of it, which may be modules as well; `*` for all.
    pub names: Vec<String>,
}

/// In the order of the text.
pub fn python_imports(text: &str) -> Vec<PythonImport> {
    let Some(language) = language_of("code.py") else { return Vec::new() };
    // A line that goes on in the next one is one line.
    let text = text.trim_start_matches('\u{feff}').replace("\\\r\n", " ").replace("\\\n", " ");
    let mut lexer = Lexer::new(language, &text, Share::Whole);
    let mut found = Vec::new();
    let mut statement: Option<Vec<&str>> = None;
    let (mut depth, mut is_at_start) = (0_usize, true);
    while let Some(token) = lexer.next() {
        let is_break = token.text == "\n" || (depth == 0 && matches!(token.text, ";" | ":"));
        match token.text {
            // No bracket holds such a line; one that is open was never meant as one.
            "import" | "from" if is_at_start => {
                read(&statement.take().unwrap_or_default(), &mut found);
                depth = 0;
                statement = Some(vec![token.text]);
            }
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ if is_break && depth == 0 => read(&statement.take().unwrap_or_default(), &mut found),
            text if text.trim().is_empty() => {}
            text => statement.iter_mut().for_each(|statement| statement.push(text)),
        }
        is_at_start = is_break || (is_at_start && token.text.trim().is_empty());
    }
    read(&statement.unwrap_or_default(), &mut found);
    found
}

fn read(statement: &[&str], found: &mut Vec<PythonImport>) {
    // `a.b as c` is `a.b`.
    let names = |words: &[&str]| -> Vec<String> {
        let each = words.split(|word| *word == ",");
        let name =
            |words: &[&str]| words.iter().copied().take_while(|word| *word != "as").collect::<String>();
        each.map(name).filter(|name| !name.is_empty()).collect()
    };
    let parts = |name: &str| -> Option<Vec<String>> {
        let parts: Vec<String> = name.split('.').map(str::to_owned).collect();
        parts.iter().all(|part| is_name(part)).then_some(parts)
    };
    match statement.split_first() {
        Some((&"import", rest)) => {
            let modules = names(rest).into_iter().filter_map(|name| parts(&name));
            found.extend(modules.map(|module| PythonImport { level: 0, module, names: Vec::new() }));
        }
        Some((_, rest)) => {
            let Some(at) = rest.iter().position(|word| *word == "import") else { return };
            let (module, taken) = rest.split_at(at);
            let level = module.iter().take_while(|word| **word == ".").count();
            let module: String = module.iter().skip(level).copied().collect();
            let module = if module.is_empty() && level > 0 { Some(Vec::new()) } else { parts(&module) };
            let mut names = names(taken.get(1..).unwrap_or_default());
            names.retain(|name| name == "*" || is_name(name));
            found.extend(module.map(|module| PythonImport { level, module, names }));
        }
        None => {}
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|character| character.is_alphanumeric() || character == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a person writes it.
    fn shown(code: &str) -> Vec<String> {
        let one = |import: PythonImport| {
            let module = format!("{}{}", ".".repeat(import.level), import.module.join("."));
            [vec![module], import.names].concat().join(" ")
        };
        python_imports(code).into_iter().map(one).collect()
    }

    #[test]
    fn imports_are_found_wherever_they_stand() {
        for (code, expected) in [
            ("import a", &["a"][..]),
            ("import a.b as c, d  # import e\n", &["a.b", "d"]),
            ("from a.b import c as d, e", &["a.b c e"]),
            ("from a import (\n    b,  # why\n    c as d,\n)\nimport e", &["a b c", "e"]),
            ("from . import a\nfrom .b import c\nfrom ...d.e import f", &[". a", ".b c", "...d.e f"]),
            ("from a import *", &["a *"]),
            ("import a; import b", &["a", "b"]),
            ("try: import a\nexcept ImportError: from b import c", &["a", "b c"]),
            ("def f():\n    if x:\n\tfrom a import b\n", &["a b"]),
            ("from a import b, \\\n    c\n", &["a b c"]),
            ("\"\"\"import a\nimport b\"\"\"\nx = 'import c'\nx = '''\nimport d\n'''\nimport e", &["e"]),
            ("# import a\nimportant = 1\nimport_all()\nx.import_(y)\n", &[]),
            ("def f():\n    yield from g()\nraise A from b\n", &[]),
            ("import a\r\nimport b\r\n", &["a", "b"]),
            ("\u{feff}import a", &["a"]),
            ("import größe", &["größe"]),
        ] {
            assert_eq!(shown(code), expected, "{code}");
        }
    }

    /// Also where Python itself would read nothing.
    #[test]
    fn what_is_no_python_hides_nothing_behind_it() {
        for (code, expected) in [
            ("x = (1,\nimport a", &["a"][..]),
            ("%matplotlib inline\n!echo don't (\nimport a", &["a"]),
            ("def f(:\n    from a import b", &["a b"]),
            ("import\nfrom import a\nfrom a\nimport b", &["b"]),
            ("import a/b, ../c\nfrom ../d import e\nimport f", &["f"]),
            ("x = '''never ended\nimport a", &["a"]),
        ] {
            assert_eq!(shown(code), expected, "{code}");
        }
    }
}
