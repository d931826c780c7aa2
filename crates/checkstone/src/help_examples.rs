//! The examples in the help of commands, at a terminal that is narrower than they are: each stays one command that can be copied.

/// Behind a backslash, a command goes on in the next line.
const GOES_ON: &str = " \\";
const NEXT_LINE: &str = "      ";

/// The command, and those inside it, with examples that fit.
pub(crate) fn within(width: usize, command: clap::Command) -> clap::Command {
    let after = command.get_after_help().map(|after| folded(&after.to_string(), width));
    let command = match after {
        Some(after) => command.after_help(after),
        None => command,
    };
    command.mut_subcommands(|inside| within(width, inside))
}

fn folded(help: &str, width: usize) -> String {
    let Some((before, examples)) = help.split_once("Examples:\n") else { return help.to_owned() };
    let lines: Vec<String> = examples.split('\n').map(|line| folded_line(line, width)).collect();
    format!("{before}Examples:\n{}", lines.join("\n"))
}

fn folded_line(line: &str, width: usize) -> String {
    let indentation = line.len() - line.trim_start().len();
    if indentation == 0 || columns(line) <= width {
        return line.to_owned();
    }
    let (indentation, rest) = line.split_at(indentation);
    let (rest, end) = rest.strip_suffix(GOES_ON).map_or((rest, ""), |rest| (rest, GOES_ON));
    let mut folded = String::new();
    let mut current = indentation.to_owned();
    let mut is_first = true;
    for word in words(rest) {
        if !is_first && columns(&current) + 1 + columns(word) + GOES_ON.len() > width {
            folded.push_str(&current);
            folded.push_str(GOES_ON);
            folded.push('\n');
            current = NEXT_LINE.to_owned();
            is_first = true;
        }
        if !is_first {
            current.push(' ');
        }
        current.push_str(word);
        is_first = false;
    }
    folded + &current + end
}

/// Examples are plain text.
fn columns(text: &str) -> usize {
    text.chars().count()
}

/// What stands between spaces that are not in quotes.
fn words(line: &str) -> Vec<&str> {
    let mut quote = None;
    let is_gap = |character: char| {
        match (quote, character) {
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            _ => {}
        }
        quote.is_none() && character == ' '
    };
    line.split(is_gap).collect()
}
