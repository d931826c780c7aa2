//! Text with the escape sequences of a terminal, as rows of cells with a style. Colours, bold, dim, italic, underlined,
//! struck and inverse are understood; whatever else is asked of a terminal is passed over.

use unicode_width::UnicodeWidthChar as _;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Colour {
    #[default]
    Default,
    /// One of the terminal's 256.
    Indexed(u8),
    Rgb(u8, u8, u8),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) foreground: Colour,
    pub(crate) background: Colour,
    pub(crate) bold: bool,
    pub(crate) dim: bool,
    pub(crate) italic: bool,
    pub(crate) underlined: bool,
    pub(crate) struck: bool,
    pub(crate) inverse: bool,
}

/// What stands in one place: a character with the marks that are put upon it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    /// Columns that it takes: one, or two.
    pub(crate) width: usize,
    pub(crate) style: Style,
}

pub(crate) type CellRow = Vec<Cell>;

/// The rows of a text. A style goes on until it is changed, past the end of a row too.
pub(crate) fn rows(text: &str) -> Vec<CellRow> {
    let mut rows = Vec::new();
    let mut style = Style::default();
    for line in text.lines() {
        let mut row = CellRow::new();
        let mut rest = line.chars();
        while let Some(character) = rest.next() {
            if character == '\u{1b}' {
                escape(&mut rest, &mut style);
                continue;
            }
            match character.width() {
                // A control character.
                None => {}
                Some(0) => {
                    if let Some(cell) = row.last_mut() {
                        cell.text.push(character);
                    }
                }
                Some(width) => row.push(Cell { text: character.to_string(), width, style }),
            }
        }
        rows.push(row);
    }
    rows
}

/// What a row says.
pub(crate) fn text(row: &[Cell]) -> String {
    row.iter().map(|cell| cell.text.as_str()).collect()
}

/// Takes the rest of an escape sequence.
fn escape(rest: &mut std::str::Chars<'_>, style: &mut Style) {
    match rest.next() {
        Some('[') => {
            let mut parameters = String::new();
            for character in rest.by_ref() {
                if ('@'..='~').contains(&character) {
                    if character == 'm' {
                        render(&parameters, style);
                    }
                    return;
                }
                parameters.push(character);
            }
        }
        // A title, a link: up to the bell, or to an escape and a backslash.
        Some(']') => {
            while let Some(character) = rest.next() {
                if character == '\u{7}' {
                    return;
                }
                if character == '\u{1b}' {
                    rest.next();
                    return;
                }
            }
        }
        // The choice of a character set has one more.
        Some('(' | ')') => {
            rest.next();
        }
        _ => {}
    }
}

/// “Select graphic rendition”.
fn render(parameters: &str, style: &mut Style) {
    let mut parameters = parameters.split(';');
    while let Some(parameter) = parameters.next() {
        // Parts of one parameter are set apart by colons: `4:3` is a kind of underline, `38:2::r:g:b` a colour.
        let mut parts = parameter.split(':');
        let code: u8 = match parts.next().unwrap_or_default() {
            "" => 0,
            code => code.parse().unwrap_or(u8::MAX),
        };
        let parts: Vec<&str> = parts.collect();
        match code {
            0 => *style = Style::default(),
            1 => style.bold = true,
            2 => style.dim = true,
            3 => style.italic = true,
            4 => style.underlined = parts != ["0"],
            7 => style.inverse = true,
            9 => style.struck = true,
            22 => (style.bold, style.dim) = (false, false),
            23 => style.italic = false,
            24 => style.underlined = false,
            27 => style.inverse = false,
            29 => style.struck = false,
            30..=37 => style.foreground = Colour::Indexed(code - 30),
            90..=97 => style.foreground = Colour::Indexed(code - 90 + 8),
            40..=47 => style.background = Colour::Indexed(code - 40),
            100..=107 => style.background = Colour::Indexed(code - 100 + 8),
            39 => style.foreground = Colour::Default,
            49 => style.background = Colour::Default,
            38 | 48 | 58 => {
                let colour = match parts.is_empty() {
                    true => colour(&mut parameters),
                    // An empty part may name a colour space.
                    false => colour(&mut parts.into_iter().filter(|part| !part.is_empty())),
                };
                match (code, colour) {
                    (38, Some(colour)) => style.foreground = colour,
                    (48, Some(colour)) => style.background = colour,
                    // The colour of an underline is not shown.
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

/// `5;n` or `2;r;g;b`.
fn colour<'a>(parameters: &mut impl Iterator<Item = &'a str>) -> Option<Colour> {
    let kind = parameters.next()?;
    let mut number = || parameters.next()?.parse().ok();
    match kind {
        "5" => Some(Colour::Indexed(number()?)),
        "2" => Some(Colour::Rgb(number()?, number()?, number()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> Cell {
        let mut rows = rows(text);
        assert_eq!((rows.len(), rows[0].len()), (1, 1), "{rows:?}");
        rows.remove(0).remove(0)
    }

    #[test]
    fn colours_are_those_of_every_notation() {
        let foreground = |text: &str| only(text).style.foreground;
        assert_eq!(foreground("x"), Colour::Default);
        assert_eq!(foreground("\u{1b}[31mx"), Colour::Indexed(1));
        assert_eq!(foreground("\u{1b}[91mx"), Colour::Indexed(9));
        assert_eq!(foreground("\u{1b}[38;5;174mx"), Colour::Indexed(174));
        assert_eq!(foreground("\u{1b}[38;2;1;20;255mx"), Colour::Rgb(1, 20, 255));
        assert_eq!(foreground("\u{1b}[38:2::1:20:255mx"), Colour::Rgb(1, 20, 255));
        assert_eq!(foreground("\u{1b}[31m\u{1b}[39mx"), Colour::Default);
        let both = only("\u{1b}[38;5;1;48;2;7;8;9;1mx").style;
        assert_eq!((both.foreground, both.background), (Colour::Indexed(1), Colour::Rgb(7, 8, 9)));
        assert!(both.bold, "what follows a colour in the same sequence is read on");
    }

    #[test]
    fn styles_are_put_on_and_taken_off() {
        let style = only("\u{1b}[1;2;3;4;7;9mx").style;
        assert!(style.bold && style.dim && style.italic && style.underlined && style.inverse && style.struck);
        assert_eq!(only("\u{1b}[1;2;3;4;7;9;22;23;24;27;29mx").style, Style::default());
        assert_eq!(only("\u{1b}[1;31;44m\u{1b}[mx").style, Style::default());
        assert!(only("\u{1b}[4:3mx").style.underlined);
        assert!(!only("\u{1b}[4m\u{1b}[4:0mx").style.underlined);
    }

    #[test]
    fn a_style_goes_on_in_the_next_row() {
        let rows = rows("\u{1b}[32ma\nb\u{1b}[0m\n\nc");
        assert_eq!(rows.len(), 4);
        assert_eq!(rows[1][0].style.foreground, Colour::Indexed(2));
        assert_eq!(rows[3][0].style, Style::default());
    }

    #[test]
    fn wide_characters_take_two_columns_and_marks_none() {
        let widths: Vec<(String, usize)> =
            rows("a世e\u{301}✓")[0].iter().map(|cell| (cell.text.clone(), cell.width)).collect();
        let expected = [("a", 1), ("世", 2), ("e\u{301}", 1), ("✓", 1)];
        assert_eq!(widths, expected.map(|(text, width)| (text.to_owned(), width)));
    }

    #[test]
    fn what_is_no_style_is_passed_over() {
        let link = "\u{1b}]8;;https://example.org\u{1b}\\here\u{1b}]8;;\u{7}\u{1b}[2K\u{1b}(B!\u{e}\r";
        assert_eq!(text(&rows(link)[0]), "here!");
        assert_eq!(text(&rows("cut off \u{1b}[38;5")[0]), "cut off ");
        assert_eq!(only("\u{1b}[38;7;1m\u{1b}[999mx").style, Style { bold: true, ..Style::default() });
    }
}
