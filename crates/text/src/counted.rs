//! Numbers with their noun.

/// `1 file`, `2 files`, `2 processes`.
pub fn counted(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ if noun.ends_with('s') => format!("{number} {noun}es"),
        _ => format!("{number} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_one_is_said_as_people_say_it() {
        assert_eq!(counted(1, "process"), "1 process");
        assert_eq!((counted(2, "process"), counted(0, "file")), ("2 processes".into(), "0 files".into()));
    }
}
