//! Rows whose cells line up at a terminal, by the columns that texts take there, and whose last cell is cut to fit.

use std::fmt::Display;

use unicode_width::UnicodeWidthStr as _;

use crate::fit;

/// How the cells of a column stand. Each column is as wide as its widest cell.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    least: usize,
    most: usize,
    gap: usize,
    is_right: bool,
}

impl Column {
    /// Cells begin at the left; the column is at least so wide.
    pub const fn left(least: usize) -> Self {
        Self { least, most: usize::MAX, gap: 2, is_right: false }
    }

    /// Cells end at the right, as numbers do.
    pub const fn right(least: usize) -> Self {
        Self { is_right: true, ..Self::left(least) }
    }

    /// Wider cells are cut.
    pub const fn at_most(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// So many spaces before the next column, instead of two.
    pub const fn gap(self, gap: usize) -> Self {
        Self { gap, ..self }
    }
}

/// One text of a row, with what a terminal needs to show it in its style.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    text: String,
    before: String,
    after: String,
}

impl Cell {
    /// `style` prints what begins it, and with `{:#}` what ends it.
    pub fn styled(text: impl Into<String>, style: impl Display) -> Self {
        Self { text: text.into(), before: style.to_string(), after: format!("{style:#}") }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

#[derive(Clone, Debug)]
pub struct Table<const COLUMNS: usize> {
    columns: [Column; COLUMNS],
    rows: Vec<[Cell; COLUMNS]>,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    pub fn new(columns: [Column; COLUMNS]) -> Self {
        Self { columns, rows: Vec::new() }
    }

    pub fn row(&mut self, cells: [Cell; COLUMNS]) {
        self.rows.push(cells);
    }

    /// One line for each row, in at most `width` columns as far as all but the last cell fit into them.
    pub fn lines(&self, width: Option<usize>) -> String {
        let mut text = String::new();
        let widths = self.widths();
        for row in &self.rows {
            let mut taken = 0;
            let mut line = String::new();
            for (place, ((cell, column), wide)) in row.iter().zip(&self.columns).zip(widths).enumerate() {
                let is_last = place + 1 == COLUMNS;
                let room = width.map(|width| width.saturating_sub(taken));
                let shown = fit(&cell.text, if is_last { room } else { Some(column.most) });
                let space = " ".repeat(wide.saturating_sub(shown.width()));
                let styled =
                    if shown.is_empty() { shown } else { [&cell.before, &*shown, &cell.after].concat() };
                line.extend(if column.is_right { [space, styled] } else { [styled, space] });
                line.push_str(&" ".repeat(column.gap));
                taken += wide + column.gap;
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    fn widths(&self) -> [usize; COLUMNS] {
        let mut place = 0..;
        self.columns.map(|column| {
            let place = place.next().unwrap_or_default();
            let cells = self.rows.iter().filter_map(|row| row.get(place));
            let widest = cells.map(|cell| cell.text.width()).max().unwrap_or_default();
            widest.clamp(column.least, column.most.max(column.least))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(rows: &[(&str, &str, &str)]) -> Table<3> {
        let mut table = Table::new([Column::left(4).at_most(8).gap(1), Column::right(3), Column::left(0)]);
        rows.iter().for_each(|(one, two, three)| table.row([(*one).into(), (*two).into(), (*three).into()]));
        table
    }

    #[test]
    fn cells_line_up_in_any_language() {
        let table = table(&[("日本", "7", "the first"), ("abcdefghij", "1234", ""), ("", "12", "x")]);
        assert_eq!(table.lines(None), "日本        7  the first\nabcdefg… 1234\n           12  x\n");
        assert_eq!(table.lines(Some(20)), "日本        7  the …\nabcdefg… 1234\n           12  x\n");
    }

    /// A style begins and ends at the text, not at the spaces around it.
    #[test]
    fn styles_take_no_columns() {
        struct Marked;
        impl Display for Marked {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(if formatter.alternate() { ">" } else { "<" })
            }
        }
        let mut table = Table::new([Column::right(4), Column::left(4), Column::left(0)]);
        table.row([Cell::styled("a", Marked), Cell::styled("", Marked), Cell::styled("c", Marked)]);
        assert_eq!(table.lines(None), "   <a>        <c>\n");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_asked(texts in proptest::collection::vec("[ab日\u{301}]{0,12}", 3..12), width in 20_usize..60) {
            let rows: Vec<_> = texts.chunks_exact(3).map(|row| (&*row[0], "12", &*row[2])).collect();
            for line in table(&rows).lines(Some(width)).lines() {
                prop_assert!(line.width() <= width, "{line:?}");
            }
        }
    }
}
