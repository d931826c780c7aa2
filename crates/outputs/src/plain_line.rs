//! A line without what others put in front of it, such as the time or the name of a service.

/// The line without the first thing in front of it: a time, `[1] `, `web:test: `, `packages/api test: `, `web-1  | `,
/// `│ `. None if there is nothing of the kind.
pub(crate) fn without_prefix(line: &str) -> Option<&str> {
    bracketed(line).or_else(|| timed(line)).or_else(|| piped(line)).or_else(|| named(line))
}

/// Names of services and packages are short; a sentence is none.
const LONGEST_NAME: usize = 60;

/// `[1] `, `[INFO] `, `[12:00:01] `, `[@scope/web]: `
fn bracketed(line: &str) -> Option<&str> {
    let (inside, rest) = line.strip_prefix('[')?.split_once(']')?;
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    let is_short = inside.len() <= LONGEST_NAME && !inside.contains('[');
    rest.strip_prefix(' ').filter(|_| is_short).map(str::trim_start)
}

/// `12:00:01 `, `2024-05-06T07:08:09.123Z `, `2024-05-06 07:08:09,123 `
fn timed(line: &str) -> Option<&str> {
    let is_of_time = |byte: u8| byte.is_ascii_digit() || b"-:.,/TZ+".contains(&byte);
    let is_clock = |word: &str| word.matches(':').count() >= 2 && word.bytes().all(is_of_time);
    let end = line.bytes().position(|byte| !is_of_time(byte))?;
    let (first, rest) = line.split_at_checked(end)?;
    let rest = rest.strip_prefix(' ')?;
    if is_clock(first) {
        return Some(rest.trim_start());
    }
    rest.split_once(' ').filter(|(second, _)| is_clock(second)).map(|(_, rest)| rest.trim_start())
}

/// `web-1  | `, `│ `
fn piped(line: &str) -> Option<&str> {
    let is_pipe = |character: char| matches!(character, '|' | '│' | '┃');
    let (name, rest) = line.split_at(line.find(|end: char| end.is_whitespace() || is_pipe(end))?);
    let rest = rest.trim_start().strip_prefix(is_pipe)?.strip_prefix(' ')?;
    (name.len() <= LONGEST_NAME).then(|| rest.trim_start())
}

/// `web:test: `, `@scope/web:test: `, `packages/api test: `
fn named(line: &str) -> Option<&str> {
    let head = line.as_bytes().get(..LONGEST_NAME + 2).unwrap_or(line.as_bytes());
    let colon = memchr::memchr_iter(b':', head).find(|colon| head.get(colon + 1) == Some(&b' '))?;
    let (name, rest) = (line.get(..colon)?, line.get(colon + 2..)?);
    let is_name = match name.split_once(' ') {
        None => name.contains(':'),
        Some((folder, script)) => {
            !script.contains(' ') && !folder.contains(':') && folder.contains(['/', '.', '@'])
        }
    };
    (is_name && !name.is_empty()).then_some(rest.trim_start())
}
