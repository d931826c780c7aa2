//! Lists the texts that people and agents can see, so that they can be read one by one: string literals with a blank in them,
//! the comments that become help, and the descriptions in the schemas. Tests, test crates and this one are left out.

use std::collections::BTreeSet;

use regex::Regex;

use crate::tidy;

/// Prints them, by crate and file, each with its line.
pub(crate) fn list(packages: &[String]) -> Result<(), String> {
    let literal =
        pattern(r##"(?s)//[^\n]*|b?r#".*?"#|b?r"[^"]*"|b?"(?:[^"\\]|\\.)*"|'(?:[^'\\\n]|\\[^']+|\\')'"##)?;
    let line_break = pattern(r"\\\n\s*")?;
    let mut count = 0;
    for source in tidy::sources()? {
        let package = source.package();
        let is_other = !packages.is_empty() && !packages.iter().any(|wanted| wanted == package);
        if is_other || ["xtask", "sandbox", "scripted-model"].contains(&package) {
            continue;
        }
        let code: Vec<&str> = source.own_lines().map(|(_, line)| line).collect();
        let mut texts: Vec<(usize, String)> = help(&code);
        let code = code.join("\n");
        for found in literal.find_iter(&code) {
            let before = code.get(..found.start()).unwrap_or_default();
            let text = line_break.replace_all(found.as_str(), "");
            // What these say is for readers of the code.
            let is_for_code = before.ends_with("expect(") || before.ends_with("reason = ");
            if text.contains(' ') && !text.starts_with("//") && !text.starts_with('\'') && !is_for_code {
                texts.push((before.matches('\n').count() + 1, text.into_owned()));
            }
        }
        texts.sort();
        count += texts.len();
        if !texts.is_empty() {
            println!("\n## {}", source.name);
        }
        for (line, text) in texts {
            println!("{line}: {text}");
        }
    }
    let descriptions = descriptions()?;
    println!("\n## schemas");
    for text in &descriptions {
        println!("{text}");
    }
    println!("\n{} texts", count + descriptions.len());
    Ok(())
}

/// The comments that clap prints: those above and in types that it derives something for.
fn help(lines: &[&str]) -> Vec<(usize, String)> {
    let is_comment = |line: &str| line.trim_start().starts_with("///");
    let is_derived =
        |line: &str| ["Args", "Parser", "Subcommand", "ValueEnum"].iter().any(|name| line.contains(name));
    let mut texts = Vec::new();
    for (place, _) in
        lines.iter().enumerate().filter(|(_, line)| line.contains("#[derive(") && is_derived(line))
    {
        let above = lines.iter().take(place).rev().take_while(|line| is_comment(line)).count();
        let inside = lines.iter().skip(place).take_while(|line| !line.starts_with('}')).count();
        let numbered = lines.iter().enumerate().skip(place - above).take(above + inside);
        let comments = numbered.filter(|(_, line)| is_comment(line));
        texts.extend(comments.map(|(place, line)| (place + 1, line.trim_start().to_owned())));
    }
    texts
}

/// What the schemas say about fields, each sentence once.
fn descriptions() -> Result<BTreeSet<String>, String> {
    let description = pattern(r#""description": ("(?:[^"\\]|\\.)*")"#)?;
    let mut texts = BTreeSet::new();
    for name in tidy::tracked()?.iter().filter(|name| name.starts_with("schemas/")) {
        let text = tidy::read(name)?;
        texts.extend(
            description.captures_iter(&text).filter_map(|found| Some(found.get(1)?.as_str().to_owned())),
        );
    }
    Ok(texts)
}

fn pattern(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::help;

    #[test]
    fn help_is_what_stands_above_and_in_types_of_clap() {
        let lines = [
            "/// Not help",
            "struct A;",
            "/// Do it",
            "#[derive(Args)]",
            "struct B {",
            "    /// Where",
            "    x: u8,",
            "}",
        ];
        assert_eq!(help(&lines), [(3, "/// Do it".to_owned()), (6, "/// Where".to_owned())]);
    }
}
