//! `checkstone markers`: the markers in what a stage printed.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::ExitCode;

use run::output::{MarkerOutput, MarkersOutput};
use supervise::marker::{Counts, Marker, Reader};
use text::{Column, Table, counted};
use transcript::visible;

use crate::error::CommandError;
use crate::printer::{DOUBTFUL, FAINT, Printer, STRONG};

/// Show the markers in a log: `[STAGE:progress:pct=40]` and the like
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone markers reports/study/run-1/.attempts/S01_load_data/1/output.log
  some-program | checkstone markers - --json")]
pub(crate) struct MarkersArguments {
    /// The log; `-` for standard input
    file: PathBuf,
    /// Print JSON (schemas/markers.schema.json)
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &MarkersArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let (markers, counts) = read(&arguments.file)?;
    let output = MarkersOutput {
        markers: markers.iter().map(MarkerOutput::of).collect(),
        unknown: counts.unknown().map(|(kind, number)| (kind.to_owned(), number)).collect(),
        counts: counts.0.clone(),
    };
    printer.answer(arguments.json, &output, || shown(&markers, &counts, printer.width()))
}

fn shown(markers: &[Marker], counts: &Counts, width: Option<usize>) -> String {
    let kind = Column::left(14).gap(1);
    let mut table = Table::new([kind, Column::left(10).gap(1), Column::left(0)]);
    for marker in markers {
        let subtype = marker.subtype.as_deref().map(visible).unwrap_or_default();
        let attribute = |(key, value): &(String, String)| match value.as_str() {
            "" => visible(key),
            value => format!("{}={}", visible(key), visible(value)),
        };
        let mut rest: Vec<String> = marker.attributes.iter().map(attribute).collect();
        if !marker.text.is_empty() {
            rest.push(visible(&marker.text));
        }
        table.row([visible(&marker.kind).into(), subtype.into(), rest.join("  ").into()]);
    }
    let mut text = table.lines(width);
    let kinds: Vec<String> =
        counts.0.iter().map(|(kind, number)| format!("{} {number}", visible(kind))).collect();
    let unknown: Vec<String> = counts.unknown().map(|(kind, _)| visible(kind)).collect();
    let (all, kinds) = (counted(markers.len(), "marker"), kinds.join(", "));
    text.push_str(&format!("{STRONG}{all}{STRONG:#} {FAINT}{kinds}{FAINT:#}\n"));
    if !unknown.is_empty() {
        text.push_str(&format!("{DOUBTFUL}not in the taxonomy: {}{DOUBTFUL:#}\n", unknown.join(", ")));
    }
    text
}

fn read(path: &std::path::Path) -> Result<(Vec<Marker>, Counts), CommandError> {
    let mut input: Box<dyn std::io::Read> = if path.as_os_str() == "-" {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(fs_err::File::open(path)?)
    };
    let mut reader = Reader::new();
    let mut markers = Vec::new();
    let mut counts = Counts::default();
    let mut found = |marker: Marker| {
        counts.count(&marker);
        markers.push(marker);
    };
    let mut buffer = vec![0; 64 << 10];
    loop {
        let length = input.read(&mut buffer)?;
        if length == 0 {
            break;
        }
        reader.read(buffer.get(..length).unwrap_or_default(), &mut found);
    }
    reader.finish(&mut found);
    Ok((markers, counts))
}
