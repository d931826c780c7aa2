//! Starts the page, prints its address, and opens it where that is wanted.

use std::process::{Command, ExitCode, Stdio};

use live::{PageSettings, ServeError, Served, Server, TeamPlace, TokenError};

use crate::arguments::VERSION;
use crate::environment;
use crate::error::{CommandError, ErrorKind, Warning};
use crate::journal_access;
use crate::printer::Printer;
use crate::waiting_notification;

/// The programs that open an address on a desktop.
const OPENERS: [&str; 2] = ["xdg-open", "open"];

pub(crate) fn serve(
    port: u16,
    open: bool,
    database: Option<&str>,
    printer: &Printer,
) -> Result<ExitCode, CommandError> {
    let state = journal_access::state_directory()?;
    // What cannot be read is told now, and not in the browser.
    drop(journal_access::open_or_create(&state)?);
    let settings = PageSettings {
        state,
        user_file: environment::configuration_file(),
        home: environment::home(),
        git: environment::git(),
        time_zone: environment::time_zone(),
        version: VERSION,
        team: team(database)?,
        waiting: waiting_notification::listener(printer),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(async {
        let server = Server::listen(port, settings).await?;
        let address = server.address()?;
        printer.text(&format!("{address}\n"));
        printer.progress("anyone with this address can see what your agents do; Ctrl-C stops this");
        if open {
            open_in_browser(&address, printer);
        }
        server.serve().await
    });
    // What a page is being made from must not keep the process.
    runtime.shutdown_background();
    match served? {
        Served::Interrupted => Ok(ErrorKind::Interrupted.exit_code()),
        Served::Terminated => Ok(ExitCode::SUCCESS),
    }
}

/// The team that was named, else the one of the user's configuration.
#[cfg(feature = "postgres")]
fn team(database: Option<&str>) -> Result<Option<TeamPlace>, CommandError> {
    let settings = crate::team_sending::settings()?;
    let key = settings.as_ref().map(|settings| settings.key.clone()).unwrap_or_default();
    let address = match database {
        Some(database) => Some(
            database
                .parse()
                .map_err(|error: database::AddressError| CommandError::of(ErrorKind::Usage, &error))?,
        ),
        None => settings.map(|settings| settings.address),
    };
    Ok(address.map(|address| TeamPlace { address, key }))
}

#[cfg(not(feature = "postgres"))]
fn team(database: Option<&str>) -> Result<Option<TeamPlace>, CommandError> {
    match database {
        None => Ok(None),
        Some(_) => Err(CommandError::environment("this build of checkstone cannot use PostgreSQL")
            .hint("install one that can: `cargo install --locked --path crates/checkstone --features full`")),
    }
}

fn open_in_browser(address: &str, printer: &Printer) {
    let program = OPENERS.into_iter().find_map(environment::program);
    let started = program.map(|program| {
        let mut command = Command::new(program);
        command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    });
    match started {
        Some(Ok(_)) => {}
        Some(Err(error)) => printer.warning(Warning::new(format!("no browser was started: {error}"))),
        None => printer
            .warning(Warning::new("no browser was started: neither `xdg-open` nor `open` is installed")),
    }
}

impl From<ServeError> for CommandError {
    fn from(error: ServeError) -> Self {
        match &error {
            ServeError::PortInUse { .. } => Self::of(ErrorKind::Refused, &error)
                .hint("another `checkstone serve` may be running; `--port 0` takes any port that is free"),
            ServeError::Token(TokenError::Readable { path, .. }) => Self::of(ErrorKind::Refused, &error)
                .hint(format!(
                    "remove it, and a new token is made: `rm {}`",
                    text::shell_word(&path.to_string_lossy())
                )),
            ServeError::Token(_) => {
                Self::of(ErrorKind::Environment, &error).hint(journal_access::MAKE_WRITABLE)
            }
            ServeError::Listen { .. } => {
                Self::of(ErrorKind::Environment, &error).hint("choose another port with `--port`")
            }
            _ => Self::of(ErrorKind::Failed, &error),
        }
    }
}
