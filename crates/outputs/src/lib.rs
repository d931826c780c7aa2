//! What the output of a command shows: the summaries of test runners, what build tools say about the whole, lines that
//! only something broken prints, and programs that could not be started. The output is read once, in pieces of any size
//! and in constant memory; it is never judged here: whether a red line counts depends on the command and on its status,
//! which only the caller knows.
//!
//! ```
//! let mut scan = outputs::Scan::new();
//! scan.feed("collected 5 items\n\ntests/test_a.py .....     [100%]\n\n==== 5 pas");
//! scan.feed("sed in 0.03s ====\n");
//! let shown = scan.finish();
//! assert_eq!(shown.summary(), Some(outputs::Summary::Passed { tests: Some(5) }));
//! assert_eq!(shown.summaries[0].line, 5);
//! ```

mod book;
mod error_line;
mod plain_line;
mod runner;
mod scan;
mod shown;
mod start_line;
mod tool_line;

pub use runner::Runner;
pub use scan::{Scan, read, shown};
pub use shown::{ErrorKind, ErrorLines, NotStarted, RunResult, RunSummary, Shown, Summary, Tool, ToolResult};
