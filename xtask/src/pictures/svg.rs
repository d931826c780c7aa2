//! Rows of a terminal as a picture of its window: one SVG file that needs nothing but a font of fixed width.
//!
//! Every run of text is stretched to its columns, so that it lines up in any font; lines and blocks are drawn as
//! shapes, so that they join.

use std::fmt::Write as _;

use super::terminal::{Cell, CellRow, Colour, Style};

/// Pixels.
const CELL_WIDTH: f64 = 8.4;
const CELL_HEIGHT: f64 = 19.0;
const BASELINE: f64 = 14.0;
const PADDING: f64 = 18.0;
const TITLE_BAR: f64 = 34.0;

const FONTS: &str =
    "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace";

type Rgb = (u8, u8, u8);

const FOREGROUND: Rgb = (0xd8, 0xdc, 0xe4);
const BACKGROUND: Rgb = (0x16, 0x18, 0x1d);
const BAR: Rgb = (0x25, 0x28, 0x30);
const TITLE: Rgb = (0x9a, 0xa2, 0xb1);
const BUTTONS: [Rgb; 3] = [(0xff, 0x5f, 0x57), (0xfe, 0xbc, 0x2e), (0x28, 0xc8, 0x40)];

/// The sixteen that a terminal chooses by itself.
const PALETTE: [Rgb; 16] = [
    (0x2b, 0x2f, 0x38),
    (0xe0, 0x6c, 0x75),
    (0x8c, 0xc2, 0x65),
    (0xe5, 0xc0, 0x7b),
    (0x61, 0xaf, 0xef),
    (0xc6, 0x78, 0xdd),
    (0x56, 0xb6, 0xc2),
    (0xc5, 0xca, 0xd3),
    (0x7f, 0x85, 0x91),
    (0xf0, 0x7f, 0x88),
    (0xa5, 0xd6, 0x7f),
    (0xf2, 0xd0, 0x8f),
    (0x7c, 0xc0, 0xf7),
    (0xd7, 0x92, 0xea),
    (0x72, 0xcc, 0xd7),
    (0xff, 0xff, 0xff),
];

/// A window with these rows, this many columns wide.
pub(crate) fn picture(title: &str, rows: &[CellRow], columns: usize) -> String {
    let width = across(columns) + 2.0 * PADDING;
    let height = TITLE_BAR + down(rows.len()) + 2.0 * PADDING;
    let mut svg = String::new();
    let (name, size) = (escaped(title), format!("width=\"{}\" height=\"{}\"", short(width), short(height)));
    let view = format!("viewBox=\"0 0 {} {}\"", short(width), short(height));
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" {size} {view} role=\"img\" font-family=\"{FONTS}\" font-size=\"14\">"
    );
    let _ = writeln!(svg, "<title>{name}</title>");
    let _ = writeln!(svg, "<rect {size} rx=\"10\" fill=\"{}\"/>", hex(BACKGROUND));
    let (right, bar) = (short(width), short(TITLE_BAR));
    let _ = writeln!(
        svg,
        "<path d=\"M0 {bar}V10A10 10 0 0 1 10 0H{}A10 10 0 0 1 {right} 10V{bar}Z\" fill=\"{}\"/>",
        short(width - 10.0),
        hex(BAR)
    );
    for (x, colour) in [20, 40, 60].into_iter().zip(BUTTONS) {
        let _ = writeln!(svg, "<circle cx=\"{x}\" cy=\"17\" r=\"6\" fill=\"{}\"/>", hex(colour));
    }
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"22\" font-size=\"13\" text-anchor=\"middle\" fill=\"{}\">{name}</text>",
        short(width / 2.0),
        hex(TITLE)
    );
    for (number, row) in rows.iter().enumerate() {
        let top = TITLE_BAR + PADDING + down(number);
        for (column, wide, colour) in grounds(row, columns) {
            let place = place(left(column), top, across(wide), CELL_HEIGHT);
            let _ = writeln!(svg, "<rect {place} fill=\"{}\"/>", hex(colour));
        }
        for run in runs(row) {
            run.content(&mut svg, top);
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// Where the ground has a colour of its own: column, columns, colour. Neighbours of one colour are one, since a seam would
/// be seen between two. A row that has one from its beginning to its end has it to the edge: where a client only cleared
/// the rest of a row, tmux does not tell of it.
fn grounds(row: &[Cell], edge: usize) -> Vec<(usize, usize, Rgb)> {
    let mut grounds: Vec<(usize, usize, Rgb)> = Vec::new();
    let mut column = 0;
    for cell in row {
        if let Some(colour) = colours(cell.style).1 {
            match grounds.last_mut() {
                Some((begin, columns, last)) if *last == colour && *begin + *columns == column => {
                    *columns += cell.width;
                }
                _ => grounds.push((column, cell.width, colour)),
            }
        }
        column += cell.width;
    }
    if row.iter().all(|cell| colours(cell.style).1.is_some())
        && let Some((begin, columns, _)) = grounds.last_mut()
    {
        *columns = edge.saturating_sub(*begin);
    }
    grounds
}

/// Whether nothing is seen of it.
pub(crate) fn is_blank(row: &[Cell]) -> bool {
    row.iter().all(|cell| kind(cell) == Kind::Blank && colours(cell.style).1.is_none())
}

/// Neighbours that look alike and are drawn in one.
struct Run {
    column: usize,
    columns: usize,
    text: String,
    style: Style,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Blank,
    /// In every font of fixed width.
    Plain,
    /// A line or a block, drawn as a shape.
    Shape,
    /// Perhaps of another font, and of another width: placed by itself.
    Single,
}

fn kind(cell: &Cell) -> Kind {
    let mut characters = cell.text.chars();
    match (characters.next(), characters.next()) {
        (Some(' ' | '\u{a0}'), None) => Kind::Blank,
        (Some(character), None) if character.is_ascii() => Kind::Plain,
        (Some(character), None) if shape(character).is_some() => Kind::Shape,
        _ => Kind::Single,
    }
}

fn runs(row: &[Cell]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut column = 0;
    for cell in row {
        let kind = kind(cell);
        match runs.last_mut() {
            // A single space stays within its run, so that words need no pictures of their own.
            Some(run) if run.style == cell.style && run.takes(kind) => {
                run.columns += cell.width;
                run.text.push_str(&cell.text);
            }
            _ => runs.push(Run {
                column,
                columns: cell.width,
                text: cell.text.clone(),
                style: cell.style,
                kind,
            }),
        }
        column += cell.width;
    }
    runs
}

impl Run {
    fn takes(&self, kind: Kind) -> bool {
        match self.kind {
            Kind::Plain => kind == Kind::Plain || kind == Kind::Blank,
            Kind::Blank | Kind::Shape => kind == self.kind,
            Kind::Single => false,
        }
    }

    fn content(&self, svg: &mut String, top: f64) {
        let (foreground, _) = colours(self.style);
        let fill = hex(foreground);
        match self.kind {
            Kind::Blank => {}
            Kind::Shape => self.shapes(svg, top, &fill),
            Kind::Plain | Kind::Single => {
                let text = self.text.trim_end();
                let mut marks = String::new();
                if self.style.bold {
                    marks.push_str(" font-weight=\"bold\"");
                }
                if self.style.italic {
                    marks.push_str(" font-style=\"italic\"");
                }
                let lines = [(self.style.underlined, "underline"), (self.style.struck, "line-through")];
                let lines: Vec<&str> =
                    lines.iter().filter(|(is_set, _)| *is_set).map(|(_, line)| *line).collect();
                if !lines.is_empty() {
                    let _ = write!(marks, " text-decoration=\"{}\"", lines.join(" "));
                }
                // A character of its own keeps its shape, whatever its font.
                if self.kind == Kind::Plain {
                    let length = short(across(text.chars().count()));
                    let _ = write!(marks, " textLength=\"{length}\" lengthAdjust=\"spacingAndGlyphs\"");
                }
                let _ = writeln!(
                    svg,
                    "<text x=\"{}\" y=\"{}\" fill=\"{fill}\"{marks} xml:space=\"preserve\">{}</text>",
                    short(left(self.column)),
                    short(top + BASELINE),
                    escaped(text)
                );
            }
        }
    }

    /// The same shape many times is one long shape where it can be.
    fn shapes(&self, svg: &mut String, top: f64, fill: &str) {
        let characters: Vec<char> = self.text.chars().collect();
        let mut column = self.column;
        for same in characters.chunk_by(|one, other| one == other) {
            let Some(shape) = same.first().and_then(|character| shape(*character)) else { continue };
            let repeats = if shape.joins() { 1 } else { same.len() };
            let columns = if shape.joins() { same.len() } else { 1 };
            for number in 0..repeats {
                shape.draw(svg, left(column + number), top, across(columns), fill);
            }
            column += same.len();
        }
    }
}

/// What is drawn for a character of lines or blocks.
enum Shape {
    /// Lines from the middle: up, right, down, left.
    Lines([bool; 4]),
    /// From one side to another, rounded: right or left, and up or down.
    Corner { right: bool, down: bool },
    /// A triangle that points to the right.
    Arrow,
    /// Parts of the cell: left, top, width, height, each from 0 to 1.
    Blocks(&'static [(f64, f64, f64, f64)]),
}

fn shape(character: char) -> Option<Shape> {
    const UPPER_LEFT: (f64, f64, f64, f64) = (0.0, 0.0, 0.5, 0.5);
    const UPPER_RIGHT: (f64, f64, f64, f64) = (0.5, 0.0, 0.5, 0.5);
    const LOWER_LEFT: (f64, f64, f64, f64) = (0.0, 0.5, 0.5, 0.5);
    const LOWER_RIGHT: (f64, f64, f64, f64) = (0.5, 0.5, 0.5, 0.5);
    let lines = |up, right, down, left| Some(Shape::Lines([up, right, down, left]));
    let blocks = |parts| Some(Shape::Blocks(parts));
    match character {
        '─' => lines(false, true, false, true),
        '│' => lines(true, false, true, false),
        '┌' => lines(false, true, true, false),
        '┐' => lines(false, false, true, true),
        // Few fonts have the second.
        '└' | '⎿' => lines(true, true, false, false),
        '┘' => lines(true, false, false, true),
        '├' => lines(true, true, true, false),
        '┤' => lines(true, false, true, true),
        '┬' => lines(false, true, true, true),
        '┴' => lines(true, true, false, true),
        '┼' => lines(true, true, true, true),
        '╭' => Some(Shape::Corner { right: true, down: true }),
        '╮' => Some(Shape::Corner { right: false, down: true }),
        '╰' => Some(Shape::Corner { right: true, down: false }),
        '╯' => Some(Shape::Corner { right: false, down: false }),
        '⏵' => Some(Shape::Arrow),
        '█' => blocks(&[(0.0, 0.0, 1.0, 1.0)]),
        '▀' => blocks(&[(0.0, 0.0, 1.0, 0.5)]),
        '▄' => blocks(&[(0.0, 0.5, 1.0, 0.5)]),
        '▌' => blocks(&[(0.0, 0.0, 0.5, 1.0)]),
        '▐' => blocks(&[(0.5, 0.0, 0.5, 1.0)]),
        '▘' => blocks(&[UPPER_LEFT]),
        '▝' => blocks(&[UPPER_RIGHT]),
        '▖' => blocks(&[LOWER_LEFT]),
        '▗' => blocks(&[LOWER_RIGHT]),
        '▛' => blocks(&[(0.0, 0.0, 1.0, 0.5), LOWER_LEFT]),
        '▜' => blocks(&[(0.0, 0.0, 1.0, 0.5), LOWER_RIGHT]),
        '▙' => blocks(&[UPPER_LEFT, (0.0, 0.5, 1.0, 0.5)]),
        '▟' => blocks(&[UPPER_RIGHT, (0.0, 0.5, 1.0, 0.5)]),
        _ => None,
    }
}

impl Shape {
    /// Whether several in a row are one that is longer.
    fn joins(&self) -> bool {
        match self {
            Self::Lines(arms) => *arms == [false, true, false, true],
            Self::Corner { .. } | Self::Arrow => false,
            Self::Blocks(parts) => {
                matches!(parts, [(left, _, width, _)] if left.abs() < f64::EPSILON && (*width - 1.0).abs() < f64::EPSILON)
            }
        }
    }

    fn draw(&self, svg: &mut String, left: f64, top: f64, width: f64, fill: &str) {
        let (middle, centre) = (left + width / 2.0, top + CELL_HEIGHT / 2.0);
        let (right, bottom) = (left + width, top + CELL_HEIGHT);
        let mut line = |path: String| {
            let _ =
                writeln!(svg, "<path d=\"{path}\" fill=\"none\" stroke=\"{fill}\" stroke-width=\"1.2\"/>");
        };
        let at = |x: f64, y: f64| format!("{} {}", short(x), short(y));
        match self {
            Self::Lines([up, to_right, down, to_left]) => {
                let mut path = String::new();
                if *up || *down {
                    let (from, to) = (if *up { top } else { centre }, if *down { bottom } else { centre });
                    let _ = write!(path, "M{}V{}", at(middle, from), short(to));
                }
                if *to_right || *to_left {
                    let (from, to) =
                        (if *to_left { left } else { middle }, if *to_right { right } else { middle });
                    let _ = write!(path, "M{}H{}", at(from, centre), short(to));
                }
                line(path);
            }
            Self::Corner { right: to_right, down } => {
                let (x, y) = (if *to_right { right } else { left }, if *down { bottom } else { top });
                line(format!("M{}Q{} {}", at(x, centre), at(middle, centre), at(middle, y)));
            }
            Self::Arrow => {
                let (back, high) = (at(left + 1.0, centre - 5.0), at(left + 1.0, centre + 5.0));
                let tip = at(right - 1.0, centre);
                let _ = writeln!(svg, "<path d=\"M{back}L{tip}L{high}Z\" fill=\"{fill}\"/>");
            }
            Self::Blocks(parts) => {
                for (x, y, wide, high) in *parts {
                    let place =
                        place(left + x * width, top + y * CELL_HEIGHT, wide * width, high * CELL_HEIGHT);
                    let _ = writeln!(svg, "<rect {place} fill=\"{fill}\"/>");
                }
            }
        }
    }
}

/// What is seen: the text's colour, and the ground's where it is not the window's.
fn colours(style: Style) -> (Rgb, Option<Rgb>) {
    let foreground = rgb(style.foreground);
    let background = rgb(style.background);
    let (text, ground) = match style.inverse {
        false => (foreground.unwrap_or(FOREGROUND), background),
        true => (background.unwrap_or(BACKGROUND), Some(foreground.unwrap_or(FOREGROUND))),
    };
    match style.dim {
        false => (text, ground),
        true => (between(text, ground.unwrap_or(BACKGROUND)), ground),
    }
}

fn rgb(colour: Colour) -> Option<Rgb> {
    // The cube's six steps, and the greys after it.
    let step = |number: u8| if number == 0 { 0 } else { 55 + 40 * number };
    match colour {
        Colour::Default => None,
        Colour::Rgb(red, green, blue) => Some((red, green, blue)),
        Colour::Indexed(index @ 0..16) => PALETTE.get(usize::from(index)).copied(),
        Colour::Indexed(index @ 16..232) => {
            let index = index - 16;
            Some((step(index / 36), step(index / 6 % 6), step(index % 6)))
        }
        Colour::Indexed(index @ 232..) => {
            let grey = 8 + 10 * (index - 232);
            Some((grey, grey, grey))
        }
    }
}

/// Three fifths of the first colour.
fn between(one: Rgb, other: Rgb) -> Rgb {
    let mix =
        |one: u8, other: u8| u8::try_from((u16::from(one) * 3 + u16::from(other) * 2) / 5).unwrap_or(one);
    (mix(one.0, other.0), mix(one.1, other.1), mix(one.2, other.2))
}

fn hex((red, green, blue): Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn place(left: f64, top: f64, width: f64, height: f64) -> String {
    let [left, top, width, height] = [left, top, width, height].map(short);
    format!("x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"")
}

fn left(column: usize) -> f64 {
    PADDING + across(column)
}

#[expect(clippy::cast_precision_loss, reason = "no screen is that large")]
fn across(columns: usize) -> f64 {
    columns as f64 * CELL_WIDTH
}

#[expect(clippy::cast_precision_loss, reason = "no screen is that large")]
fn down(rows: usize) -> f64 {
    rows as f64 * CELL_HEIGHT
}

/// At most two digits after the point, and none that say nothing.
fn short(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::terminal::rows;
    use super::*;

    /// The drawn lines of a picture of this text, without the window.
    fn drawn(text: &str) -> Vec<String> {
        let picture = picture("t", &rows(text), 20);
        let lines = picture.lines().map(str::to_owned);
        lines.skip_while(|line| !line.ends_with("t</text>")).skip(1).filter(|line| line != "</svg>").collect()
    }

    #[test]
    fn a_run_of_text_is_as_wide_as_its_columns() {
        assert_eq!(
            drawn("  a b"),
            ["<text x=\"34.8\" y=\"66\" fill=\"#d8dce4\" textLength=\"25.2\" \
              lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\">a b</text>"]
        );
    }

    #[test]
    fn what_has_a_meaning_in_xml_is_escaped() {
        assert!(drawn("<a> & b")[0].ends_with(">&lt;a&gt; &amp; b</text>"));
    }

    #[test]
    fn colours_come_from_palette_cube_greys_and_rgb() {
        let fill = |text: &str| drawn(text)[0].split("fill=\"").nth(1).unwrap()[..7].to_owned();
        assert_eq!(fill("\u{1b}[31mx"), "#e06c75");
        assert_eq!(fill("\u{1b}[38;5;16mx"), "#000000");
        assert_eq!(fill("\u{1b}[38;5;174mx"), "#d78787");
        assert_eq!(fill("\u{1b}[38;5;231mx"), "#ffffff");
        assert_eq!(fill("\u{1b}[38;5;246mx"), "#949494");
        assert_eq!(fill("\u{1b}[38;2;1;2;3mx"), "#010203");
        assert_eq!(fill("\u{1b}[2;38;2;100;100;100mx"), "#444547", "dim is nearer to the ground");
    }

    #[test]
    fn an_inverse_cell_is_drawn_on_the_colour_of_its_text() {
        let drawn = drawn("\u{1b}[7mx\u{1b}[0m ");
        assert_eq!(drawn[0], "<rect x=\"18\" y=\"52\" width=\"8.4\" height=\"19\" fill=\"#d8dce4\"/>");
        assert!(drawn[1].contains("fill=\"#16181d\""), "{drawn:?}");
    }

    #[test]
    fn a_coloured_ground_reaches_under_blanks_and_has_no_seams() {
        let drawn = drawn("\u{1b}[48;5;237m> \u{1b}[1ma   \u{1b}[0m ");
        assert_eq!(drawn[0], "<rect x=\"18\" y=\"52\" width=\"50.4\" height=\"19\" fill=\"#3a3a3a\"/>");
        assert_eq!(drawn.len(), 3, "{drawn:?}");
    }

    #[test]
    fn a_ground_under_the_whole_row_reaches_to_the_edge() {
        let drawn = drawn("\u{1b}[41ma\u{1b}[42m b");
        assert_eq!(drawn[0], "<rect x=\"18\" y=\"52\" width=\"8.4\" height=\"19\" fill=\"#e06c75\"/>");
        assert_eq!(drawn[1], "<rect x=\"26.4\" y=\"52\" width=\"159.6\" height=\"19\" fill=\"#8cc265\"/>");
    }

    #[test]
    fn a_row_is_blank_where_neither_text_nor_ground_is_seen() {
        let blank = |text: &str| is_blank(&rows(text)[0]);
        assert!(blank("   \u{a0}"));
        assert!(!blank("  x") && !blank(" \u{1b}[41m ") && !blank("\u{1b}[7m "));
    }

    #[test]
    fn bold_italic_and_lines_are_marked() {
        let marked = &drawn("\u{1b}[1;3;4;9mx")[0];
        assert!(marked.contains("font-weight=\"bold\" font-style=\"italic\""), "{marked}");
        assert!(marked.contains("text-decoration=\"underline line-through\""), "{marked}");
    }

    #[test]
    fn what_follows_a_wide_character_stands_two_columns_further() {
        let drawn = drawn("世a");
        assert!(drawn[0].contains("x=\"18\"") && !drawn[0].contains("textLength"), "{drawn:?}");
        assert!(drawn[1].contains("x=\"34.8\""), "{drawn:?}");
    }

    #[test]
    fn lines_are_drawn_and_join() {
        let lines = drawn("╭──╮");
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[0].contains("M26.4 61.5Q22.2 61.5 22.2 71"), "{lines:?}");
        assert!(lines[1].contains("M26.4 61.5H43.2"), "{lines:?}");
        let blocks = drawn("▀▀▛");
        assert_eq!(blocks[0], "<rect x=\"18\" y=\"52\" width=\"16.8\" height=\"9.5\" fill=\"#d8dce4\"/>");
        assert_eq!(blocks.len(), 3, "{blocks:?}");
    }
}
