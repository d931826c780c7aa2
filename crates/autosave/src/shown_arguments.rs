//! Which arguments of a command the notes show: those that are known to be harmless. The word behind an option may be its
//! value, and what is written together with a short one too.

use programs::shell::Word;

const LEFT_OUT: &str = "…";

/// The arguments with an ellipsis for what is left out. `is_harmless` is asked about words that belong to no option.
pub(crate) fn shown_arguments(arguments: &[Word], is_harmless: impl Fn(&str) -> bool) -> String {
    let mut shown: Vec<String> = Vec::new();
    let mut is_behind_option = false;
    for word in arguments {
        let word = word.known().unwrap_or_default();
        let is_option = word.starts_with('-') && word != "--";
        let told = match word.split_once('=') {
            Some((name, _)) if is_option_name(name) || is_variable(name) => format!("{name}={LEFT_OUT}"),
            None if word == "--" || is_option_name(word) => word.to_owned(),
            None if !is_option && !is_behind_option && is_harmless(word) => text::command_line(&[word]),
            _ => LEFT_OUT.to_owned(),
        };
        // Several that are left out are one gap.
        if told != LEFT_OUT || shown.last().is_none_or(|last| last != LEFT_OUT) {
            shown.push(told);
        }
        is_behind_option = is_option && !word.contains('=');
    }
    shown.join(" ")
}

/// `-x` or `--all-features`.
fn is_option_name(word: &str) -> bool {
    let is_long = |name: &str| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    match word.strip_prefix("--") {
        Some(name) => !name.is_empty() && is_long(name),
        None => word.strip_prefix('-').is_some_and(|name| name.len() == 1 && name != "-"),
    }
}

/// `CI` of `make CI=1`.
fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_left_out() {
        for (command, shown) in [
            ("test -- --pin 1234", "test -- --pin …"),
            ("--dbpass sommer tests", "--dbpass … tests"),
            ("test -- -p sommer -psommer", "test -- -p …"),
            ("--db=x -Ddb.pass=x PASS=x a=b", "--db=… … PASS=… …"),
            ("-x -q tests", "-x -q …"),
            ("one two", "one two"),
            ("--otp 1 --sommer2024", "--otp …"),
        ] {
            let arguments: Vec<Word> = command.split(' ').map(|word| Word::Known(word.to_owned())).collect();
            assert_eq!(shown_arguments(&arguments, |_| true), shown, "{command}");
        }
    }
}
