//! The tools of Gemini CLI and of the clients that were made from it: which command, file or edit a call is about, and how a shell
//! command ended.

use serde::Deserialize;

use super::content;
use crate::entry::{COMMAND, set_paths};
use crate::file_edit::FileEdit;
use crate::json_reader::{self, RawJson};
use crate::json_text::{self, Text};
use crate::model::{Call, Kind, Outcome};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResultPart<'a> {
    #[serde(borrow)]
    pub(crate) function_response: Option<FunctionResponse<'a>>,
}

#[derive(Deserialize)]
pub(crate) struct FunctionResponse<'a> {
    #[serde(borrow)]
    pub(crate) response: Option<Response<'a>>,
}

#[derive(Deserialize)]
pub(crate) struct Response<'a> {
    #[serde(borrow)]
    pub(crate) output: Option<RawJson<'a>>,
    #[serde(borrow)]
    pub(crate) error: Option<RawJson<'a>>,
}

/// A piece of a row of styled text.
#[derive(Deserialize)]
struct StyledPiece<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct FunctionArguments<'a> {
    #[serde(borrow)]
    command: Option<RawJson<'a>>,
    #[serde(borrow)]
    file_path: Option<RawJson<'a>>,
    #[serde(borrow)]
    absolute_path: Option<RawJson<'a>>,
    #[serde(borrow)]
    paths: Option<RawJson<'a>>,
    #[serde(borrow)]
    include: Option<RawJson<'a>>,
    #[serde(borrow)]
    old_string: Option<RawJson<'a>>,
    #[serde(borrow)]
    new_string: Option<RawJson<'a>>,
    #[serde(borrow)]
    content: Option<RawJson<'a>>,
}

/// What is shown to the person of a changed file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ShownFile<'a> {
    #[serde(borrow)]
    original_content: Option<RawJson<'a>>,
    #[serde(borrow)]
    new_content: Option<RawJson<'a>>,
}

/// A call, by its id, the name of its tool, its arguments and what the person was shown of its result.
pub(crate) fn call(
    id: String,
    tool: String,
    arguments: Option<RawJson<'_>>,
    shown: Option<RawJson<'_>>,
) -> Call {
    let kind = match tool.as_str() {
        "run_shell_command" => Kind::Shell,
        "read_file" | "read_many_files" => Kind::Read,
        "replace" | "edit" => Kind::Edit,
        "write_file" => Kind::Write,
        _ => Kind::Other,
    };
    let mut call = Call { id, tool, kind, ..Call::default() };
    let arguments =
        arguments.and_then(|args| json_reader::from_str::<FunctionArguments<'_>>(args.get()).ok());
    let Some(arguments) = arguments else { return call };
    match kind {
        Kind::Shell => {
            call.command =
                content::string(arguments.command).map(|text| text::shortened_to_bytes(text, COMMAND));
        }
        Kind::Other => {}
        Kind::Read | Kind::Edit | Kind::Write => {
            let mut paths: Vec<String> = [arguments.file_path, arguments.absolute_path]
                .into_iter()
                .filter_map(content::string)
                .collect();
            for list in [arguments.paths, arguments.include].into_iter().flatten() {
                paths.extend(json_reader::from_str::<Vec<String>>(list.get()).unwrap_or_default());
            }
            let texts = [arguments.old_string, arguments.new_string, arguments.content].map(content::literal);
            let path = paths.first().filter(|_| kind != Kind::Read);
            call.edits.extend(path.and_then(|path| edit(path, shown, texts)));
            set_paths(&mut call, paths);
        }
    }
    call
}

/// What the call did to the text of a file: by the whole text before and after, or by what the agent asked for.
pub(crate) fn edit(path: &str, display: Option<RawJson<'_>>, asked: [Option<&str>; 3]) -> Option<FileEdit> {
    let shown = display.and_then(|display| json_reader::from_str::<ShownFile<'_>>(display.get()).ok());
    let (original, new) = shown.map_or((None, None), |shown| {
        (content::literal(shown.original_content), content::literal(shown.new_content))
    });
    match ((original, new), asked) {
        ((None | Some("\"\""), Some(new)), _) => Some(FileEdit::made(path, new)),
        ((original, Some(new)), _) => Some(FileEdit::written(path, original, new)),
        (_, [Some(old), Some(new), _]) => Some(FileEdit::of_part(path, old, new)),
        (_, [_, _, Some(content)]) => Some(FileEdit::written(path, None, content)),
        _ => None,
    }
}

/// A failing command has status `success`; the truth stands in a footer that the client puts under the
/// output. A program may print the same words, but then they are also in the display, which has no footer.
pub(crate) fn shell_outcome(
    output: Option<RawJson<'_>>,
    display: Option<RawJson<'_>>,
) -> (Outcome, Option<i32>) {
    let Some(output) = output.and_then(|output| content::literals(output).first().copied()) else {
        return (Outcome::Unknown, None);
    };
    let head = json_text::decode(json_text::literal_head(output, 200));
    let head = head.strip_prefix("<untrusted_context>\n").unwrap_or(&head);
    if head.starts_with("Command moved to background") {
        return (Outcome::Unknown, None);
    }
    let tail = json_text::decode(json_text::literal_tail(output, 4096));
    let mut lines = tail.trim_end().lines().rev().peekable();
    while lines.next_if(|line| is_footer(line)).is_some() {}
    let signal = lines.next_if(|line| line.starts_with("Signal: "));
    let code = lines.next_if(|line| line.starts_with("Exit Code: "));
    // Printed and really so: then the line stands there twice.
    let topmost = code.or(signal);
    let shown = display.and_then(last_line);
    let above = lines.next().map(|line| line.strip_prefix("Output: ").unwrap_or(line));
    let printed = topmost.is_some() && shown.as_deref() == topmost && above != topmost;
    let (signal, code) = match (signal, code) {
        (signal, Some(_)) if printed => (signal, None),
        (Some(_), None) if printed => (None, None),
        both => both,
    };
    let killed = signal.is_some_and(|line| !matches!(line, "Signal: 0" | "Signal: (none)"));
    match code.and_then(|line| line.strip_prefix("Exit Code: ")?.trim().parse().ok()) {
        Some(0) | None if killed => (Outcome::Error, None),
        Some(0) | None => (Outcome::Ok, Some(0)),
        code => (Outcome::Error, code),
    }
}

fn is_footer(line: &str) -> bool {
    line == "</untrusted_context>"
        || line.starts_with("Process Group PGID: ")
        || line.starts_with("Background PIDs: ")
}

/// The last line of what was shown to the person: a string, or rows of styled pieces.
fn last_line(display: RawJson<'_>) -> Option<String> {
    let raw = display.get();
    if raw.starts_with('"') {
        let tail = json_text::decode(json_text::literal_tail(raw, 4096));
        return tail.trim_end().lines().next_back().map(str::to_owned);
    }
    let rows: Vec<Vec<StyledPiece<'_>>> = json_reader::from_str(raw).ok()?;
    let shown = rows
        .iter()
        .rev()
        .map(|row| row.iter().filter_map(|piece| piece.text.as_ref()).map(Text::as_str).collect::<String>());
    shown.map(|row| row.trim_end().to_owned()).find(|row| !row.is_empty())
}
