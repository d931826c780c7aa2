//! What must hold for any files as those of a repository.

use programs::repository::{Repository, RepositoryFile};
use programs::shell::Intents;

/// More tasks than this are read, but not all of them are called.
const MOST_CALLS: usize = 10;

/// Reads the text as files: a line `=== PATH` begins each.
pub fn check(text: &str) {
    let mut files: Vec<RepositoryFile> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("=== "), files.last_mut()) {
            (Some(path), _) => {
                files.push(RepositoryFile { path: path.to_owned(), text: Some(String::new()) })
            }
            (None, Some(RepositoryFile { text: Some(text), .. })) => {
                text.push_str(line);
                text.push('\n');
            }
            _ => {}
        }
    }
    let repository = Repository::of_files("/repo", &files);
    for file in &files {
        let _ = repository.package_of(&file.path);
    }
    for way in repository.packages.iter().flat_map(|package| &package.ways).take(MOST_CALLS) {
        assert!(!way.command.is_empty());
    }
    for task in repository.tasks.iter().take(MOST_CALLS) {
        for word in ["make", "npm run", "just", "mise run"] {
            let intents = Intents::read(&format!("{word} {}", task.name));
            for command in intents.commands() {
                let _ = repository.runs(command, &task.folder);
            }
        }
    }
}
