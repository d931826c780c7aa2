//! The code of a text, token by token, without comments and without white space that means nothing.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::language::{Language, Layout, Quote};

/// A part of the code. Equal code has equal tokens, however it is laid out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    /// Two signs without white space between them can be one operator.
    pub(crate) is_glued: bool,
}

/// How much of a file the text is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Share {
    Whole,
    Part,
}

#[derive(Clone)]
pub(crate) struct Lexer<'a> {
    language: &'static Language,
    /// What comments, strings and all other signs of the language begin with, as a set of ASCII characters.
    beginnings: u128,
    text: &'a str,
    share: Share,
    at: usize,
    line_start: usize,
    /// A token of this line has been handed out.
    line_has_code: bool,
    /// A line of code has ended; that counts as soon as another one follows.
    owes_break: bool,
    /// The indentation of this line has been handed out.
    is_indented: bool,
    last: Option<&'a str>,
    last_end: usize,
    depth: i64,
    has_docstring: bool,
    /// What was seen cannot be lexed for sure.
    pub(crate) is_doubtful: bool,
    comments: DefaultHasher,
}

const BRACKETS: &str = "()[]{},;";

/// Behind these, `/` begins a regular expression; behind anything else it divides.
const BEFORE_REGULAR_EXPRESSION: &str = "(,=:[!&|?{};+-*%~^\n";

impl<'a> Lexer<'a> {
    pub(crate) fn new(language: &'static Language, text: &'a str, share: Share) -> Self {
        Self {
            language,
            beginnings: language.beginnings(),
            text,
            share,
            at: 0,
            line_start: 0,
            line_has_code: false,
            owes_break: false,
            is_indented: false,
            last: None,
            last_end: 0,
            depth: 0,
            has_docstring: false,
            is_doubtful: false,
            comments: DefaultHasher::new(),
        }
    }

    /// A value that is the same for the same comments, once all tokens have been taken.
    pub(crate) fn comments(&self) -> u64 {
        self.comments.finish()
    }

    pub(crate) fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let rest = self.rest();
            let Some(first) = rest.chars().next() else {
                self.end();
                return None;
            };
            if first == '\n' {
                self.line_break();
            } else if first == ' ' {
                self.at += rest.bytes().take_while(|byte| *byte == b' ').count();
            } else if first.is_whitespace() || (first == '\\' && rest.starts_with("\\\n")) {
                self.at += first.len_utf8();
            } else if !self.skip_comment()
                && let Some(token) = self.token(first)
            {
                return Some(token);
            }
        }
    }

    /// How far it has come.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// The same lexer over another text, which is the same up to here and one line further.
    pub(crate) fn over(&self, text: &'a str) -> Self {
        Self { text, ..self.clone() }
    }

    /// Whether both are behind a token from which on, up to the end of their texts, all that they will find is the same.
    /// `same` is how much the ends of the two texts have in common.
    pub(crate) fn will_go_on_as(&self, other: &Self, same: usize) -> bool {
        let state = |lexer: &Self| {
            (
                lexer.rest().len(),
                lexer.line_has_code && lexer.last_end == lexer.at,
                lexer.owes_break,
                lexer.is_indented,
                lexer.depth,
                lexer.has_docstring,
            )
        };
        let (left, is_behind_token, ..) = state(self);
        self.share == Share::Whole
            && left <= same
            && is_behind_token
            && state(self) == state(other)
            && self.last == other.last
    }

    /// Whether anything but a word, white space or a plain sign can begin here.
    fn may_begin(&self) -> bool {
        let is_beginning = |byte: &u8| self.beginnings.checked_shr(u32::from(*byte)).unwrap_or(0) & 1 == 1;
        self.at == 0 || self.text.as_bytes().get(self.at).is_some_and(is_beginning)
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn end(&mut self) {
        self.is_doubtful |= self.share == Share::Part && self.has_docstring && self.depth < 0;
    }

    fn line_break(&mut self) {
        if self.skip_comment() {
            return;
        }
        self.at += 1;
        self.line_start = self.at;
        self.is_indented = false;
        self.owes_break |= std::mem::take(&mut self.line_has_code);
    }

    /// Goes past a comment, where one begins here.
    fn skip_comment(&mut self) -> bool {
        if !self.may_begin() {
            return false;
        }
        let rest = self.rest();
        let stands_apart = self.at == self.line_start
            || self.text.get(..self.at).is_some_and(|before| before.ends_with(char::is_whitespace));
        let language = self.language;
        if let Some((open, close)) = language.block_comments.iter().find(|(open, _)| self.begins_with(open)) {
            let length = self.block_length(rest, open, close);
            self.take_comment(length);
            return true;
        }
        let is_line_comment = language.line_comments.iter().any(|open| rest.starts_with(open));
        let is_obeyed = self.is_directive(rest) || self.is_unsure(rest);
        if !is_line_comment || (language.comments_stand_apart && !stands_apart) || is_obeyed {
            return false;
        }
        self.take_comment(rest.find('\n').unwrap_or(rest.len()));
        true
    }

    /// An opening sign that wants a line of its own also stands at the beginning of the text.
    fn begins_with(&self, open: &str) -> bool {
        let at_start = || open.strip_prefix('\n').is_some_and(|open| self.rest().starts_with(open));
        self.rest().starts_with(open) || (self.at == 0 && at_start())
    }

    fn block_length(&mut self, rest: &str, open: &str, close: &str) -> usize {
        let mut depth = 0_usize;
        let mut at = 0;
        while let Some(here) = rest.get(at..) {
            if here.starts_with(close) && at > 0 {
                depth = depth.saturating_sub(1);
                at += close.len();
                if depth == 0 {
                    return at;
                }
            } else if here.starts_with(open) || at == 0 {
                depth = if self.language.block_comments_nest { depth + 1 } else { 1 };
                at += open.len().min(here.len());
            } else {
                match here.chars().next() {
                    Some(character) => at += character.len_utf8(),
                    None => break,
                }
            }
        }
        self.is_doubtful = true;
        rest.len()
    }

    fn take_comment(&mut self, length: usize) {
        let comment = self.rest().get(..length).unwrap_or_default();
        for word in comment.split_whitespace() {
            word.hash(&mut self.comments);
        }
        self.at += length;
        if let Some(newline) = comment.rfind('\n') {
            self.line_start = self.at - (comment.len() - newline - 1);
        }
    }

    fn is_directive(&self, rest: &str) -> bool {
        self.language.directives.iter().any(|beginning| rest.starts_with(beginning))
    }

    fn is_unsure(&self, rest: &str) -> bool {
        self.language.doubtful.iter().any(|sign| rest.starts_with(sign))
    }

    /// The next token; `None` if a docstring was passed over instead.
    fn token(&mut self, first: char) -> Option<Token<'a>> {
        let rest = self.rest();
        let may_begin = self.may_begin();
        self.is_doubtful |= may_begin && self.is_unsure(rest);
        let quotes = if may_begin { self.language.quotes } else { &[] };
        let quote = quotes.iter().find(|quote| rest.starts_with(quote.open));
        let length = match quote {
            Some(quote) => self.string_length(rest, *quote),
            None if may_begin && self.is_directive(rest) => rest.find('\n').unwrap_or(rest.len()),
            None if is_word(first) => word_length(rest),
            None if first == '/' && self.language.has_regular_expressions => self.regular_expression(rest),
            None => first.len_utf8(),
        };
        if quote.is_some() && self.is_docstring(rest, length) {
            self.has_docstring = true;
            self.is_doubtful |= self.last.is_none() && self.share == Share::Part;
            self.take_comment(length);
            return None;
        }
        if std::mem::take(&mut self.owes_break) && self.language.layout != Layout::Free {
            self.last = Some("\n");
            return Some(Token { text: "\n", is_glued: false });
        }
        if self.language.layout == Layout::Indented && !self.is_indented && !self.line_has_code {
            self.is_indented = true;
            let text = self.text.get(self.line_start..self.at).unwrap_or_default();
            return Some(Token { text, is_glued: false });
        }
        let text = rest.get(..length).unwrap_or(rest);
        let are_signs = is_sign(text) && self.last.is_some_and(is_sign);
        let may_touch = |text: &str| "{};,".contains(text);
        let are_apart = self.language.spaces_matter && !may_touch(text) && !self.last.is_some_and(may_touch);
        let is_glued = self.last_end == self.at && (are_apart || are_signs);
        match first {
            '(' | '[' | '{' => self.depth += 1,
            ')' | ']' | '}' => self.depth -= 1,
            _ => {}
        }
        self.at += length;
        self.last = Some(text);
        self.last_end = self.at;
        self.line_has_code = true;
        // Only strings go over lines.
        if quote.is_some()
            && let Some(newline) = text.rfind('\n')
        {
            self.line_start = self.at - (text.len() - newline - 1);
        }
        Some(Token { text, is_glued })
    }

    fn string_length(&mut self, rest: &str, quote: Quote) -> usize {
        let mut at = quote.open.len();
        while let Some(here) = rest.get(at..) {
            if here.starts_with(quote.close) {
                let whole = rest.get(..at).unwrap_or_default();
                // What is put into a template may hold strings of its own.
                self.is_doubtful |= quote.open == "`"
                    && quote.has_escapes
                    && whole.contains("${")
                    && whole.matches('{').count() != whole.matches('}').count();
                return at + quote.close.len();
            }
            let Some(character) = here.chars().next() else { break };
            if character == '\n' && !quote.spans_lines {
                break;
            }
            at += character.len_utf8();
            if character == '\\' && quote.has_escapes {
                at += rest.get(at..).and_then(|after| after.chars().next()).map_or(0, char::len_utf8);
            }
        }
        // An apostrophe, or a string that goes on outside of this text.
        self.is_doubtful = true;
        quote.open.len()
    }

    /// The length of the regular expression that begins here, or of the sign alone.
    fn regular_expression(&mut self, rest: &str) -> usize {
        if !self.last.is_none_or(|last| last == "return" || BEFORE_REGULAR_EXPRESSION.contains(last)) {
            return 1;
        }
        let line = rest.get(..rest.find('\n').unwrap_or(rest.len())).unwrap_or_default();
        let (mut escaped, mut in_class) = (false, false);
        for (at, character) in line.char_indices().skip(1) {
            match character {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '[' => in_class = true,
                ']' => in_class = false,
                '/' if !in_class => return at + 1,
                _ => {}
            }
        }
        // Nobody looks further, so that a line of such signs is not gone through once for each of them.
        self.is_doubtful = true;
        1
    }

    /// A string that is a statement of its own: nothing before it in the statement, nothing behind it on the line.
    fn is_docstring(&self, rest: &str, length: usize) -> bool {
        if !self.language.has_docstrings || self.line_has_code || self.depth > 0 {
            return false;
        }
        let behind = rest.get(length..).unwrap_or_default();
        let line = behind.lines().next().unwrap_or_default().trim();
        (line.is_empty() || line.starts_with('#')) && (self.last.is_none() || self.owes_break)
    }
}

/// One sign of an operator.
fn is_sign(text: &str) -> bool {
    text.len() == 1 && !text.starts_with(is_word) && !BRACKETS.contains(text) && text != "\n"
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '$'
}

/// A number holds its dots.
fn word_length(rest: &str) -> usize {
    let is_number = rest.starts_with(|character: char| character.is_ascii_digit());
    // Almost all words need no more than this.
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$';
    match rest.bytes().enumerate().find(|(_, byte)| !is_plain(*byte)) {
        Some((at, end)) if end.is_ascii() && !(is_number && end == b'.') => return at,
        _ => {}
    }
    let mut characters = rest.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let is_point =
            is_number && character == '.' && characters.peek().is_some_and(|(_, next)| next.is_ascii_digit());
        if !is_word(character) && !is_point {
            return at;
        }
    }
    rest.len()
}
