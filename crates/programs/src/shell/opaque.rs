//! Takes text out of a command before it is parsed: the bodies of here-documents, and quoted strings that
//! hold nothing the shell would look into. Such text is often long and full of code of other languages, and
//! must neither count against the caps nor cost the parser's time. A short mark stands for each piece, so that
//! it can be found again. Since the parser gets exactly the text that the caps have counted, a mistake here
//! can cost understanding but never a limit.

/// A line that begins with this stands for a body.
const BODY: char = '\u{1}';
/// A string that begins with this stands for a quoted string.
const STRING: char = '\u{2}';
/// Shorter strings stay.
const SHORT: usize = 16;

/// A command without its opaque text.
#[derive(Debug)]
pub(crate) struct Stripped<'a> {
    pub(crate) text: String,
    taken: Vec<&'a str>,
}

impl Stripped<'_> {
    /// The body that the parser found as `content`.
    pub(crate) fn body<'b>(&'b self, content: &'b str) -> &'b str {
        content.strip_prefix(BODY).and_then(|number| self.taken(number.trim_end())).unwrap_or(content)
    }

    /// What stood between the quotes of `quoted`, which is given without them.
    pub(crate) fn string<'b>(&'b self, quoted: &'b str) -> &'b str {
        quoted.strip_prefix(STRING).and_then(|number| self.taken(number)).unwrap_or(quoted)
    }

    fn taken(&self, number: &str) -> Option<&str> {
        number.parse().ok().and_then(|index: usize| self.taken.get(index)).copied()
    }

    /// Puts the text back into a part of the command.
    pub(crate) fn restore(&self, part: &str) -> String {
        let mut restored = String::with_capacity(part.len());
        let mut rest = part;
        while let Some(at) = rest.find([BODY, STRING]) {
            let (before, mark) = rest.split_at(at);
            restored.push_str(before);
            let is_body = mark.starts_with(BODY);
            let number = mark.get(1..).unwrap_or_default();
            let digits = number.find(|character: char| !character.is_ascii_digit()).unwrap_or(number.len());
            let (number, after) = number.split_at(digits);
            match self.taken(number) {
                Some(text) => restored.push_str(text),
                None => restored.push_str(number),
            }
            // A body ends with its own newline.
            rest = if is_body { after.strip_prefix('\n').unwrap_or(after) } else { after };
        }
        restored.push_str(rest);
        restored
    }
}

/// What the scanner is inside of.
#[derive(Clone, Copy, PartialEq)]
enum Inside {
    DoubleQuotes,
    /// `(`, `$(`, `<(`: commands.
    Parentheses,
    /// `((`, `$((`: here `<<` is a shift.
    Arithmetic,
    /// `${`: here `#` begins no comment.
    Braces,
    Backticks,
}

/// A here-document whose body begins at the next newline.
struct Pending {
    delimiter: String,
    /// `<<-`: leading tabs do not count.
    tabs: bool,
}

impl Pending {
    /// Where the body ends in `text`, and where the line after its last one begins.
    fn end(&self, text: &str) -> Option<(usize, usize)> {
        let mut end = 0;
        for line in text.split_inclusive('\n') {
            let content = line.strip_suffix('\n').unwrap_or(line);
            let content = if self.tabs { content.trim_start_matches('\t') } else { content };
            if content == self.delimiter {
                return Some((end, end + line.len()));
            }
            end += line.len();
        }
        None
    }
}

struct Scanner<'a> {
    source: &'a str,
    at: usize,
    stack: Vec<Inside>,
    pending: Vec<Pending>,
    copied: usize,
    stripped: Stripped<'a>,
    word_start: bool,
}

pub(crate) fn strip(source: &str) -> Stripped<'_> {
    let stripped = Stripped { text: String::with_capacity(source.len().min(4096)), taken: Vec::new() };
    let mut scanner = Scanner {
        source,
        at: 0,
        stack: Vec::new(),
        pending: Vec::new(),
        copied: 0,
        stripped,
        word_start: true,
    };
    scanner.run();
    scanner.stripped
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        self.source.get(self.at..).unwrap_or_default()
    }

    fn run(&mut self) {
        while let Some(character) = self.rest().chars().next() {
            let word_start = std::mem::replace(&mut self.word_start, false);
            let rest = self.rest();
            let inside = self.stack.last().copied();
            let code = !matches!(inside, Some(Inside::DoubleQuotes | Inside::Braces | Inside::Arithmetic));
            self.at += character.len_utf8();
            match character {
                '\\' => self.at += self.rest().chars().next().map_or(0, char::len_utf8),
                '"' if inside == Some(Inside::DoubleQuotes) => {
                    self.stack.pop();
                }
                '"' => match plain_double_quoted(self.rest()) {
                    Some(length) => self.take_string(length),
                    None => self.stack.push(Inside::DoubleQuotes),
                },
                '`' if inside == Some(Inside::Backticks) => {
                    self.stack.pop();
                }
                '`' => self.stack.push(Inside::Backticks),
                '$' if rest.starts_with("$((") => self.open(Inside::Arithmetic, 2),
                '$' if rest.starts_with("$(") => self.open(Inside::Parentheses, 1),
                '$' if rest.starts_with("${") => self.open(Inside::Braces, 1),
                '}' if inside == Some(Inside::Braces) => {
                    self.stack.pop();
                }
                _ if inside == Some(Inside::DoubleQuotes) => {}
                '$' if self.rest().starts_with('\'') => self.skip_ansi_quote(),
                '\'' => match self.rest().find('\'') {
                    Some(length) => self.take_string(length),
                    None => self.at = self.source.len(),
                },
                '(' if code && rest.starts_with("((") && word_start => self.open(Inside::Arithmetic, 1),
                '(' => {
                    let inner = if inside == Some(Inside::Arithmetic) {
                        Inside::Arithmetic
                    } else {
                        Inside::Parentheses
                    };
                    self.stack.push(inner);
                    self.word_start = true;
                }
                ')' => {
                    if inside == Some(Inside::Arithmetic)
                        && self.rest().starts_with(')')
                        && self.opened_twice()
                    {
                        self.at += 1;
                    }
                    if matches!(inside, Some(Inside::Parentheses | Inside::Arithmetic)) {
                        self.stack.pop();
                    }
                }
                '#' if code && word_start => {
                    self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                }
                '<' if code && self.rest().starts_with("<<") => self.at += 2,
                '<' if code && self.rest().starts_with('<') => {
                    self.at += 1;
                    self.delimiter();
                }
                '\n' if code => {
                    self.word_start = true;
                    if !self.pending.is_empty() && !self.take_bodies() {
                        break;
                    }
                }
                ' ' | '\t' | ';' | '|' | '&' => self.word_start = true,
                _ => {}
            }
        }
        self.stripped.text.push_str(self.source.get(self.copied..).unwrap_or_default());
    }

    /// A quoted string of this length, after its opening quote.
    fn take_string(&mut self, length: usize) {
        let string = self.rest().get(..length).unwrap_or_default();
        if length > SHORT {
            self.take(string, STRING);
            self.copied = self.at + length;
        }
        self.at += length + 1;
    }

    /// Copies what comes before, and a mark for `text`.
    fn take(&mut self, text: &'a str, mark: char) {
        self.stripped.text.push_str(self.source.get(self.copied..self.at).unwrap_or_default());
        self.stripped.text.push(mark);
        self.stripped.text.push_str(&self.stripped.taken.len().to_string());
        self.stripped.taken.push(text);
    }

    fn open(&mut self, inside: Inside, length: usize) {
        self.stack.push(inside);
        self.at += length;
        self.word_start = true;
    }

    /// Whether the innermost arithmetic was opened by two parentheses, not by one of its own.
    fn opened_twice(&self) -> bool {
        self.stack.iter().rev().nth(1) != Some(&Inside::Arithmetic)
    }

    fn skip_ansi_quote(&mut self) {
        self.at += 1;
        while let Some(character) = self.rest().chars().next() {
            self.at += character.len_utf8();
            match character {
                '\'' => return,
                '\\' => self.at += self.rest().chars().next().map_or(0, char::len_utf8),
                _ => {}
            }
        }
    }

    /// The word after `<<`.
    fn delimiter(&mut self) {
        let tabs = self.rest().starts_with('-');
        self.at += usize::from(tabs);
        self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
        let mut delimiter = String::new();
        let mut quote = None;
        while let Some(character) = self.rest().chars().next() {
            match (quote, character) {
                (None, '\'' | '"') => quote = Some(character),
                (Some(open), _) if character == open => quote = None,
                (None, '\\') => {}
                (None, ' ' | '\t' | ';' | '|' | '&' | '<' | '>' | '(' | ')') | (_, '\n') => break,
                _ => delimiter.push(character),
            }
            self.at += character.len_utf8();
        }
        self.pending.push(Pending { delimiter, tabs });
    }

    /// Takes out the bodies that begin here. False where one has no end: then the parser shall see it all.
    fn take_bodies(&mut self) -> bool {
        for pending in std::mem::take(&mut self.pending) {
            let Some((body_end, next_line)) = pending.end(self.rest()) else { return false };
            let body = self.rest().get(..body_end).unwrap_or_default();
            self.take(body, BODY);
            self.stripped.text.push('\n');
            self.copied = self.at + body_end;
            self.at += next_line;
        }
        true
    }
}

/// The length of a double-quoted string, after its opening quote, that the shell would not look into.
fn plain_double_quoted(rest: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, character) in rest.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(at),
            '$' | '`' => return None,
            _ => {}
        }
    }
    None
}
