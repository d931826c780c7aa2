//! Makefiles and justfiles: targets with what they need and what they run, simple variables put in. Each line of a recipe
//! is run by a shell of its own, and the first that fails ends it.

use std::collections::HashMap;

use crate::Deed;
use crate::table;

/// A recipe, before it is a task.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Recipe {
    pub(super) name: String,
    pub(super) needs: Vec<String>,
    pub(super) body: String,
}

/// Expansions within expansions.
const DEEPEST: usize = 6;

/// Joins lines that end with a backslash.
fn joined(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in text.lines() {
        let (text, more) = match line.strip_suffix('\\') {
            Some(text) => (text, true),
            None => (line, false),
        };
        match lines.last_mut().filter(|_| goes_on) {
            Some(last) => {
                last.push(' ');
                last.push_str(text.trim_start());
            }
            None => lines.push(text.to_owned()),
        }
        goes_on = more;
    }
    lines
}

/// A line of a recipe as a shell of its own. `@` is silent, and `-` ignores a failure.
fn shell_line(line: &str) -> String {
    let command = line.trim().trim_start_matches(['@', '+', '-', ' ']);
    let ignored =
        line.trim().chars().take_while(|mark| matches!(mark, '@' | '+' | '-' | ' ')).any(|mark| mark == '-');
    match (command.is_empty() || command.starts_with('#'), ignored) {
        (true, _) => String::new(),
        (_, true) => format!("({command}\n) || true\n"),
        _ => format!("({command}\n)\n"),
    }
}

fn with_errexit(lines: String) -> String {
    if lines.is_empty() { lines } else { format!("set -e\n{lines}") }
}

pub(super) fn make(text: &str) -> Vec<Recipe> {
    let lines = joined(text);
    let mut variables: HashMap<&str, String> = HashMap::new();
    let mut recipes: Vec<Recipe> = Vec::new();
    // The targets that the next lines of a recipe belong to.
    let mut open = 0..0;
    for line in &lines {
        if let Some(command) = line.strip_prefix('\t') {
            for recipe in recipes.get_mut(open.clone()).unwrap_or_default() {
                let command = expanded(&command.replace("$@", &recipe.name), &variables);
                recipe.body.push_str(&shell_line(&command));
            }
            continue;
        }
        let line = line.split(" #").next().unwrap_or_default();
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some((name, sign, value)) = assignment(line) {
            match (sign, variables.get_mut(name)) {
                (Some('?'), Some(_)) => {}
                (Some('+'), Some(old)) => *old = format!("{old} {value}"),
                _ => _ = variables.insert(name, value.to_owned()),
            }
            continue;
        }
        let Some((targets, rest)) = line.split_once(':') else { continue };
        let (needs, command) = rest.split_once(';').unwrap_or((rest, ""));
        let needs = expanded(needs.trim_start_matches(':'), &variables);
        let needs: Vec<String> =
            needs.split_whitespace().filter(|need| *need != "|").map(str::to_owned).collect();
        let targets = expanded(targets, &variables);
        let (first, mut again) = (recipes.len(), None);
        for target in
            targets.split_whitespace().filter(|name| !name.starts_with('.') && !name.contains(['%', '=']))
        {
            let body = shell_line(&expanded(&command.replace("$@", target), &variables));
            // A target may be named again to need more.
            if let Some(at) = recipes.iter().position(|recipe| recipe.name == target) {
                again = Some(at);
                recipes.get_mut(at).into_iter().for_each(|recipe| recipe.needs.extend(needs.iter().cloned()));
            } else {
                recipes.push(Recipe { name: target.to_owned(), needs: needs.clone(), body });
            }
        }
        open = again.map_or(first..recipes.len(), |at| at..at + 1);
    }
    for recipe in &mut recipes {
        recipe.body = with_errexit(std::mem::take(&mut recipe.body));
    }
    recipes
}

/// `NAME := value`, with any of make's signs before the `=`.
fn assignment(line: &str) -> Option<(&str, Option<char>, &str)> {
    let (name, value) = line.split_once('=')?;
    let sign = name.chars().last();
    let name = name.trim_end_matches([':', '?', '+', '!']).trim();
    let name = name.strip_prefix("export ").or_else(|| name.strip_prefix("override ")).unwrap_or(name);
    let is_name = !name.is_empty()
        && name.bytes().all(|byte| byte == b'_' || byte == b'-' || byte.is_ascii_alphanumeric());
    is_name.then(|| (name, sign, value.trim()))
}

/// Of the values that are put into one text.
const LONGEST_EXPANSION: usize = 64 * 1024;

/// `$(NAME)` and `${NAME}` with their values. What is not known is left out, unless it is named after a program: `$(GO)`.
fn expanded(text: &str, variables: &HashMap<&str, String>) -> String {
    expanded_within(text, variables, DEEPEST, &mut LONGEST_EXPANSION.clone())
}

/// `levels` and `left`: how deep the values within values may still be, and how long all values; those that name each other
/// crosswise would go on for ever.
fn expanded_within(text: &str, variables: &HashMap<&str, String>, levels: usize, left: &mut usize) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        whole.push_str(rest.get(..at).unwrap_or_default());
        rest = rest.get(at + 1..).unwrap_or_default();
        let close = match rest.chars().next() {
            Some('(') => ')',
            Some('{') => '}',
            Some('$') => {
                whole.push('$');
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            _ => {
                whole.push('$');
                continue;
            }
        };
        let length = closing(rest, close);
        let name = rest.get(1..length).unwrap_or_default();
        rest = rest.get(length + 1..).unwrap_or_default();
        let lower = name.to_ascii_lowercase();
        let value = variables.get(name).and_then(|value| {
            let levels = levels.checked_sub(1)?;
            *left = left.checked_sub(value.len())?;
            Some(expanded_within(value, variables, levels, left))
        });
        match value {
            Some(value) => whole.push_str(&value),
            None if table::find(&lower).is_some_and(|row| row.deed >= Deed::Other) => whole.push_str(&lower),
            None => {}
        }
    }
    whole.push_str(rest);
    whole
}

/// Where the bracket ends that a text begins with.
fn closing(text: &str, close: char) -> usize {
    let open = if close == ')' { '(' } else { '{' };
    let mut depth = 0;
    for (at, character) in text.char_indices() {
        if character == open {
            depth += 1;
        } else if character == close {
            depth -= 1;
            if depth == 0 {
                return at;
            }
        }
    }
    text.len()
}

pub(super) fn just(text: &str) -> Vec<Recipe> {
    let lines = joined(text);
    let mut variables: HashMap<&str, &str> = HashMap::new();
    let (mut recipes, mut aliases): (Vec<Recipe>, Vec<Recipe>) = (Vec::new(), Vec::new());
    for line in &lines {
        let is_indented = line.starts_with([' ', '\t']);
        let trimmed = line.trim();
        if trimmed.is_empty() || (!is_indented && trimmed.starts_with(['#', '['])) {
            continue;
        }
        if is_indented {
            if let Some(recipe) = recipes.last_mut() {
                let mut command = trimmed.to_owned();
                for (name, value) in &variables {
                    command = command.replace(&format!("{{{{{name}}}}}"), value);
                    command = command.replace(&format!("{{{{ {name} }}}}"), value);
                }
                // The other lines of a script with its own interpreter belong together.
                let is_script = recipe.body.starts_with("#!") || command.starts_with("#!");
                let line = if is_script { format!("{command}\n") } else { shell_line(&command) };
                recipe.body.push_str(&line);
            }
            continue;
        }
        if let Some((name, value)) = trimmed.split_once(":=") {
            let value = value.trim().trim_matches(['"', '\'']);
            match name.trim().strip_prefix("alias ") {
                Some(alias) => {
                    aliases.push(Recipe {
                        name: alias.trim().to_owned(),
                        needs: vec![value.to_owned()],
                        ..Recipe::default()
                    });
                }
                None => _ = variables.insert(name.trim().trim_start_matches("export ").trim(), value),
            }
            continue;
        }
        let Some((head, needs)) = trimmed.split_once(':') else { continue };
        let Some(name) = head.split_whitespace().next() else { continue };
        let needs = needs.replace(['(', ')', '&'], " ");
        let needs =
            needs.split_whitespace().filter(|need| !need.starts_with(['#', '"', '\''])).map(str::to_owned);
        recipes.push(Recipe {
            name: name.trim_start_matches('@').to_owned(),
            needs: needs.collect(),
            body: String::new(),
        });
    }
    for recipe in &mut recipes {
        if !recipe.body.starts_with("#!") {
            recipe.body = with_errexit(std::mem::take(&mut recipe.body));
        }
    }
    // An alias stands for its recipe; the first recipe is what runs without a name.
    recipes.extend(aliases);
    recipes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(recipes: &[Recipe]) -> Vec<String> {
        let one = |recipe: &Recipe| {
            format!("{} <{}> {}", recipe.name, recipe.needs.join(","), recipe.body.replace('\n', "~"))
        };
        recipes.iter().map(one).collect()
    }

    #[test]
    fn makefiles() {
        let text = "GO ?= go\nFLAGS := -race $(MORE)\n.PHONY: test lint\ntest: build | tools ## all of it\n\t@$(GO) test $(FLAGS) \\\n\t\t./...\n\t-$(PYTHON) -m x $$HOME\nlint fmt:\n\techo $@\nall: ; make x\ntest: extra\n";
        assert_eq!(
            rendered(&make(text)),
            [
                "test <build,tools,extra> set -e~(go test -race   ./...~)~(python -m x $HOME~) || true~",
                "lint <> set -e~(echo lint~)~",
                "fmt <> set -e~(echo fmt~)~",
                "all <> set -e~(make x~)~",
            ]
        );
    }

    /// Six values within each other are looked up; of texts that grow with each, 64 KB.
    #[test]
    fn variables_that_name_each_other_end() {
        let chain = |count: usize| {
            let next = |at: usize| format!("A{at} = a $(A{})\n", at + 1);
            format!("{}x:\n\techo $(A1) b\n", (1..=count).map(next).collect::<String>())
        };
        let echoed = |count| rendered(&make(&chain(count)));
        assert_eq!(echoed(1), ["x <> set -e~(echo a  b~)~"]);
        assert_eq!(echoed(6), ["x <> set -e~(echo a a a a a a  b~)~"]);
        assert_eq!(echoed(7), ["x <> set -e~(echo a a a a a a  b~)~"]);
        let long = "a".repeat(30 * 1024);
        let made = make(&format!("A = {long}\n$(A)x $(A)y $(A)z:\n"));
        let lengths: Vec<usize> = made.iter().map(|recipe| recipe.name.len()).collect();
        assert_eq!(lengths, [30 * 1024 + 1, 30 * 1024 + 1, 1]);
    }

    #[test]
    fn justfiles() {
        let text = "set shell := [\"bash\"]\nflags := \"-q\"\nalias t := test\n\n# runs it\n[group('x')]\ntest *args: build (other \"a\")\n    @pytest {{flags}} {{args}}\n\nbuild:\n    #!/usr/bin/env bash\n    cd web\n    npm run build\n";
        assert_eq!(
            rendered(&just(text)),
            [
                "test <build,other> set -e~(pytest -q {{args}}~)~",
                "build <> #!/usr/bin/env bash~cd web~npm run build~",
                "t <test> ",
            ]
        );
    }
}
