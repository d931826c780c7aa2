//! Which variable an artifact is loaded into: the file's stem made an identifier, distinct from every other and from the
//! names that Python, IPython and the cell itself need (R8).

use std::collections::{BTreeMap, BTreeSet};

// Names that mean something already, in Python and in IPython.
const KEYWORDS: &str = "\
    False None True and as assert async await break case class continue def del elif else except finally for \
    from global if import in is lambda match nonlocal not or pass raise return try type while with yield";
const BUILT_IN: &str = "\
    abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile \
    complex copyright credits delattr dict dir display divmod enumerate eval exec exit filter float format \
    frozenset getattr globals hasattr hash help hex id input int isinstance issubclass iter len license list \
    locals map max memoryview min next object oct open ord pow print property quit range repr reversed round \
    set setattr slice sorted staticmethod str sum super tuple vars zip";
const OF_IPYTHON: &str = "In Out get_ipython";
/// What the rehydration cell imports, or the stages are likely to.
const MODULES: &str =
    "IPython PIL contextlib importlib joblib json np numpy os pandas pathlib pd pickle pyarrow random sys";

/// One name per path, in the paths' order. Files of one stem are told apart by their extension, and what is still the
/// same by a number.
pub(crate) fn variable_names(paths: &[&str], reserved: &BTreeSet<String>) -> Vec<String> {
    let mut stems: BTreeMap<String, usize> = BTreeMap::new();
    for path in paths {
        *stems.entry(identifier(split(path).0)).or_default() += 1;
    }
    let mut used = reserved.clone();
    let mut names = Vec::with_capacity(paths.len());
    for path in paths {
        let (stem, extension) = split(path);
        let mut name = identifier(stem);
        if stems.get(&name).is_some_and(|count| *count > 1) && !extension.is_empty() {
            name = identifier(&format!("{name}_{extension}"));
        }
        let free = (1..).map(|number| if number == 1 { name.clone() } else { format!("{name}_{number}") });
        let name = free.into_iter().find(|name| !used.contains(name)).unwrap_or(name);
        used.insert(name.clone());
        names.push(name);
    }
    names
}

/// ASCII only: Python takes some letters of Unicode for others (NFKC), and two names would be one variable.
fn identifier(text: &str) -> String {
    let mut name: String = text
        .chars()
        .map(|character| if character.is_ascii_alphanumeric() { character } else { '_' })
        .collect();
    // IPython keeps its history in names that begin with an underscore.
    name = name.trim_matches('_').to_owned();
    if name.is_empty() {
        return "file".to_owned();
    }
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        name.insert_str(0, "file_");
    }
    if is_taken(&name) {
        name.push('_');
    }
    name
}

/// Whether a variable of this name can hide something that other lines need.
pub(crate) fn is_taken(name: &str) -> bool {
    [KEYWORDS, BUILT_IN, OF_IPYTHON, MODULES].iter().any(|names| has(names, name))
}

/// Whether a name from outside can be written into code as a variable.
pub(crate) fn is_identifier(name: &str) -> bool {
    let mut characters = name.chars();
    let begins = characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
    begins
        && characters.all(|character| character.is_ascii_alphanumeric() || character == '_')
        && !has(KEYWORDS, name)
}

fn has(names: &str, name: &str) -> bool {
    names.split(' ').any(|known| known == name)
}

/// The file name's stem and its last extension.
pub(crate) fn split(path: &str) -> (&str, &str) {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => (stem, extension),
        _ => (name, ""),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::variable_names;

    #[track_caller]
    fn check(paths: &[&str], expected: &[&str]) {
        assert_eq!(variable_names(paths, &BTreeSet::new()), expected);
    }

    /// R8
    #[test]
    fn files_of_one_stem_get_different_variables() {
        check(&["r/data.csv", "r/data.json"], &["data_csv", "data_json"]);
        check(&["a/data.csv", "b/data.csv"], &["data_csv", "data_csv_2"]);
        check(&["data_csv.txt", "data.csv", "data.json"], &["data_csv", "data_csv_2", "data_json"]);
        check(&["a-b.csv", "a b.csv", "a_b"], &["a_b_csv", "a_b_csv_2", "a_b"]);
    }

    #[test]
    fn keywords_digits_and_what_others_use_are_guarded() {
        check(&["class.csv", "2020.csv", "list.json", "pd.csv"], &["class_", "file_2020", "list_", "pd_"]);
        check(&["_1.csv", "__.csv", ".hidden", "é.csv"], &["file_1", "file_csv", "hidden", "file_csv_2"]);
    }

    #[test]
    fn a_reserved_name_is_not_given_again() {
        assert_eq!(variable_names(&["df.csv"], &BTreeSet::from(["df".to_owned()])), ["df_2"]);
    }
}
