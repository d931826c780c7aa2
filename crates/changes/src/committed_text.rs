//! The texts of files as a commit has them.

use change_set::BytePath;

use crate::error::Error;
use crate::git::Git;
use crate::git_program::GitProgram;
use crate::repository::Repository;

/// One for each path, in one run of git; `None` if the commit has no such file, or if it is no text.
pub fn committed_texts(
    repository: &Repository,
    program: &GitProgram,
    commit: &str,
    paths: &[&BytePath],
) -> Result<Vec<Option<String>>, Error> {
    let mut questions = Vec::new();
    for path in paths {
        questions.extend_from_slice(format!("{commit}:").as_bytes());
        // A name with a line break in it is asked for as a name that cannot be.
        let name = if path.as_bytes().contains(&b'\n') { b"//" } else { path.as_bytes() };
        questions.extend_from_slice(name);
        questions.push(b'\n');
    }
    let git = Git::at(repository.root.clone(), program);
    let answers = git.run(&["cat-file", "--batch"], &questions)?;
    let mut rest = answers.as_slice();
    Ok(paths.iter().map(|_| next_text(&mut rest)).collect())
}

/// `ID blob SIZE`, the content, a line break; or a line that says why there is none.
fn next_text(rest: &mut &[u8]) -> Option<String> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let (line, content) = (rest.get(..end)?, rest.get(end + 1..)?);
    *rest = content;
    let mut words = std::str::from_utf8(line).ok()?.rsplitn(3, ' ');
    let (size, kind) = (words.next()?.parse::<usize>().ok()?, words.next()?);
    let text = content.get(..size)?;
    *rest = content.get(size + 1..)?;
    (kind == "blob").then(|| String::from_utf8(text.to_vec()).ok())?
}
