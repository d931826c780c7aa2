//! What only one platform has stands in the modules of that platform: nobody else reads `/proc`, or asks what it is compiled
//! for. The tools of contributors are for Linux anyway.

use super::Source;

/// The modules of a platform.
const PLATFORMS: [&str; 2] = ["linux", "macos"];

/// Where the modules are chosen.
const CHOOSERS: [&str; 2] = ["crates/machine/src/lib.rs", "crates/supervise/src/shim.rs"];

/// Each line that belongs into the module of a platform.
pub(super) fn wrong(sources: &[Source]) -> Vec<String> {
    let ours = sources
        .iter()
        .filter(|source| source.package() != "xtask" && !is_in_one_of(&PLATFORMS, &source.name));
    let lines = ours.flat_map(|source| source.own_lines().map(move |(number, line)| (source, number, line)));
    lines
        .filter_map(|(source, number, line)| {
            let is_choice = CHOOSERS.contains(&source.name.as_str());
            let words =
                ["\"/proc", "target_os"].into_iter().filter(|word| !(is_choice && *word == "target_os"));
            let word = words.into_iter().find(|word| line.contains(word))?;
            Some(format!(
                "{}:{number}: `{}` belongs to a platform's module",
                source.name,
                word.trim_matches('"')
            ))
        })
        .collect()
}

/// Of everything but the other platforms' modules, each platform has all.
pub(super) fn on_each_platform(sources: &[Source]) -> impl Iterator<Item = Vec<&Source>> {
    PLATFORMS.into_iter().map(move |platform| {
        let others: Vec<&str> = PLATFORMS.into_iter().filter(|other| *other != platform).collect();
        sources.iter().filter(|source| !is_in_one_of(&others, &source.name)).collect()
    })
}

fn is_in_one_of(platforms: &[&str], file: &str) -> bool {
    let mut parts = file.trim_end_matches(".rs").split('/');
    parts.any(|part| platforms.contains(&part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_a_platform_is_found_elsewhere() {
        let source = |name: &str, text: &str| Source { name: name.to_owned(), text: text.to_owned() };
        let sources = [
            source("crates/machine/src/lib.rs", "#[cfg(target_os = \"linux\")]\nmod linux;\n"),
            source("crates/machine/src/linux/system.rs", "read(\"/proc/meminfo\")\n"),
            source(
                "crates/run/src/one.rs",
                "//! Not of /proc.\nread(\"/proc/meminfo\")\ncfg!(target_os = \"macos\")\n",
            ),
        ];
        assert_eq!(
            wrong(&sources),
            [
                "crates/run/src/one.rs:2: `/proc` belongs to a platform's module",
                "crates/run/src/one.rs:3: `target_os` belongs to a platform's module",
            ]
        );
    }
}
