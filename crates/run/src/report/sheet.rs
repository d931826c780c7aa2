//! The tables of a run: the first rows of CSV and TSV files, the values of JSON files, and the tables that Python stages
//! showed. However large a file is, only its beginning is read.

use checkpoint::layout::Layout;
use serde_json::Value;

use super::story::{StageStory, Story};
use super::{artifact_text, display, metric, of_shown_stages};

/// Of a file so much is read.
const BEGINNING: usize = 64 << 10;
const MOST_ROWS: usize = 10;
const MOST_COLUMNS: usize = 12;
const LONGEST_CELL: usize = 80;
const LONGEST_TEXT: usize = 4 << 10;
/// A page with more opens slowly and is read by nobody.
const MOST_SHEETS: usize = 40;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sheet {
    pub stage: String,
    /// Of one of many instances, and not of a stage that stands alone.
    pub is_of_instance: bool,
    /// The file among the stage's artifacts; none of one that was shown.
    pub path: Option<String>,
    pub body: SheetBody,
    /// What of it is not shown.
    pub left_out: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SheetBody {
    Rows {
        /// Empty if the file has none.
        header: Vec<String>,
        rows: Vec<Vec<String>>,
    },
    /// As Python wrote it, in letters of equal width.
    Text(String),
}

impl Sheet {
    pub(super) fn of_rows(stage: &str, header: Vec<&str>, rows: Vec<Vec<String>>) -> Self {
        let header = header.into_iter().map(str::to_owned).collect();
        Self {
            stage: stage.to_owned(),
            is_of_instance: false,
            path: None,
            body: SheetBody::Rows { header, rows },
            left_out: None,
        }
    }
}

/// Those of accepted attempts, of the last stages first since they hold the results, and how many are left out.
pub(super) fn sheets(layout: &Layout, story: &Story) -> (Vec<Sheet>, usize) {
    let is_sheet = |path: &str| format(path).is_some() && !metric::is_metrics_file(path);
    let (stages, mut left_out) = of_shown_stages(story, is_sheet);
    let mut found: Vec<Sheet> = stages
        .into_iter()
        .rev()
        .flat_map(|stage| {
            let paths = stage.artifacts.iter().map(|artifact| artifact.path.as_str());
            let files = paths.filter(|path| is_sheet(path)).filter_map(|path| of_file(layout, stage, path));
            shown(layout, stage).into_iter().chain(files)
        })
        .collect();
    left_out += found.len().saturating_sub(MOST_SHEETS);
    found.truncate(MOST_SHEETS);
    (found, left_out)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SheetFormat {
    Comma,
    Tab,
    Json,
}

fn format(path: &str) -> Option<SheetFormat> {
    let (_, extension) = path.rsplit_once('.')?;
    match extension.to_ascii_lowercase().as_str() {
        "csv" => Some(SheetFormat::Comma),
        "tsv" => Some(SheetFormat::Tab),
        "json" => Some(SheetFormat::Json),
        _ => None,
    }
}

fn of_file(layout: &Layout, stage: &StageStory, path: &str) -> Option<Sheet> {
    let (text, is_whole) = artifact_text(layout, stage, path, BEGINNING)?;
    let (body, left_out) = match format(path)? {
        SheetFormat::Json => {
            (metric::body_of_json(&metric::value_of_json(&text).ok().filter(|_| is_whole)?)?, None)
        }
        format => of_text(&text, format, is_whole)?,
    };
    let is_of_instance = !stage.fan_out.is_empty();
    Some(Sheet { stage: stage.id.clone(), is_of_instance, path: Some(path.to_owned()), body, left_out })
}

fn of_text(text: &str, format: SheetFormat, is_whole: bool) -> Option<(SheetBody, Option<String>)> {
    if text.contains('\0') {
        return None;
    }
    let first = text.lines().next()?;
    // Where the comma is the decimal point, semicolons are between the cells.
    let count = |separator: char| first.matches(separator).count();
    let separator = match format {
        SheetFormat::Tab => '\t',
        _ if count(';') > 0 && count(';') >= count(',') => ';',
        _ => ',',
    };
    let mut rows = records(text, separator, MOST_ROWS + 2);
    // The last one that was read may be torn.
    if !is_whole && rows.len() < MOST_ROWS + 2 {
        rows.pop();
    }
    let has_header = !rows.first()?.iter().any(|cell| cell.trim().parse::<f64>().is_ok());
    let header = if has_header { rows.remove(0) } else { Vec::new() };
    let columns = rows.iter().chain([&header]).map(Vec::len).max().unwrap_or_default();
    let more_rows = rows.len() > MOST_ROWS || !is_whole;
    rows.truncate(MOST_ROWS);
    let cut = |row: Vec<String>| -> Vec<String> {
        let cells = row.into_iter().take(MOST_COLUMNS);
        cells.map(|cell| text::shortened(&text::shortened_number(cell.trim()), LONGEST_CELL)).collect()
    };
    let mut left_out = Vec::new();
    left_out.extend(more_rows.then(|| format!("the first {}", text::counted(rows.len(), "row"))));
    if columns > MOST_COLUMNS {
        left_out.push(format!("{MOST_COLUMNS} of {columns} columns"));
    }
    let body = SheetBody::Rows { header: cut(header), rows: rows.into_iter().map(cut).collect() };
    Some((body, (!left_out.is_empty()).then(|| left_out.join(", "))))
}

/// The first records of a text, as RFC 4180 has them: a cell in quotes may hold separators, line ends and doubled quotes.
fn records(text: &str, separator: char, most: usize) -> Vec<Vec<String>> {
    let mut records = Vec::new();
    let (mut record, mut cell, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut letters = text.strip_prefix('\u{feff}').unwrap_or(text).chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => cell.extend(letters.next()),
            '"' if is_quoted || cell.is_empty() => is_quoted = !is_quoted,
            '\n' if !is_quoted => {
                record.push(std::mem::take(&mut cell));
                records.push(std::mem::take(&mut record));
                if records.len() == most {
                    return records;
                }
            }
            other if other == separator && !is_quoted => record.push(std::mem::take(&mut cell)),
            '\r' => {}
            other => cell.push(other),
        }
    }
    if !cell.is_empty() || !record.is_empty() {
        record.push(cell);
        records.push(record);
    }
    records.retain(|record| record.iter().any(|cell| !cell.trim().is_empty()));
    records
}

/// Tables that a Python stage showed, as text: their HTML is the stage's own, and has no place in a page of ours.
fn shown(layout: &Layout, stage: &StageStory) -> Vec<Sheet> {
    let of_display = |data: &Value| {
        display::text_of(data, "text/html").filter(|html| html.contains("<table"))?;
        let text = display::text_of(data, "text/plain")?;
        let is_cut = text.len() > LONGEST_TEXT;
        Some(Sheet {
            stage: stage.id.clone(),
            is_of_instance: !stage.fan_out.is_empty(),
            path: None,
            left_out: is_cut.then(|| "the beginning".to_owned()),
            body: SheetBody::Text(text::shortened_to_bytes(text, LONGEST_TEXT)),
        })
    };
    display::shown(layout, stage, of_display)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet(
        text: &str,
        format: SheetFormat,
        is_whole: bool,
    ) -> (Vec<String>, Vec<Vec<String>>, Option<String>) {
        match of_text(text, format, is_whole).unwrap() {
            (SheetBody::Rows { header, rows }, left_out) => (header, rows, left_out),
            (SheetBody::Text(text), _) => panic!("{text}"),
        }
    }

    #[test]
    fn cells_are_as_a_spreadsheet_reads_them() {
        let (header, rows, left_out) =
            sheet("\u{feff}name,\"say \"\"hi\"\"\"\r\n\"a,\nb\",2\r\n\r\n,3\r\n", SheetFormat::Comma, true);
        assert_eq!(header, ["name", "say \"hi\""]);
        assert_eq!(rows, [["a,\nb", "2"], ["", "3"]]);
        assert_eq!(left_out, None);
        let (header, rows, _) = sheet("1;2,5\n3;4,5", SheetFormat::Comma, true);
        assert_eq!(
            (header, rows),
            (Vec::new(), vec![vec!["1".into(), "2,5".into()], vec!["3".into(), "4,5".into()]])
        );
        assert_eq!(of_text("a\tb\0", SheetFormat::Tab, true), None);
        assert_eq!(of_text("", SheetFormat::Tab, true), None);
    }

    #[test]
    fn only_the_beginning_of_a_large_table_is_there() {
        let wide: Vec<String> = (0..30).map(|column| format!("column {column}")).collect();
        let text = format!("{}\n{}", wide.join("\t"), "1\t2\n".repeat(100));
        let (header, rows, left_out) = sheet(&text, SheetFormat::Tab, true);
        assert_eq!((header.len(), rows.len()), (MOST_COLUMNS, MOST_ROWS));
        assert_eq!(left_out.as_deref(), Some("the first 10 rows, 12 of 30 columns"));
        let (_, rows, left_out) = sheet("a,b\n1,2\n3,4\n5", SheetFormat::Comma, false);
        assert_eq!((rows.len(), left_out.as_deref()), (2, Some("the first 2 rows")));
    }
}
