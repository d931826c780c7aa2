//! `checkstone team`: what this machine tells its team's database, and the SQL that sets one up.

#[cfg(not(feature = "postgres"))]
use std::process::ExitCode;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
#[cfg(any(feature = "postgres", feature = "schema"))]
use serde::Serialize;

#[cfg(not(feature = "postgres"))]
use crate::error::CommandError;
#[cfg(not(feature = "postgres"))]
use crate::printer::Printer;

/// Your team's database: show what was sent, send now, or print the SQL that sets it up
///
/// With `database` in `[team]` of your own `config.toml`, a background process sends what was recorded to a PostgreSQL database,
/// where `checkstone serve --database` shows it to the team. Only facts are sent: times, agents, verdicts, rules, counts and durations; the
/// repository, the branch and paths are hashes. `texts = true` sends prompts, commands and paths as well, without what looks like a
/// secret. No hook waits for any of this.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone team status
  checkstone team send
  checkstone team schema --role web | psql postgres://admin@db.example/lab")]
pub(crate) struct TeamArguments {
    #[command(subcommand)]
    command: TeamCommand,
}

#[derive(Debug, clap::Subcommand)]
enum TeamCommand {
    /// Show what was sent, what is waiting, and why
    #[command(after_help = "Examples:
  checkstone team status
  checkstone team status --json | jq .waiting")]
    Status {
        /// Print JSON (schemas/team-status.schema.json)
        #[arg(long)]
        json: bool,
    },
    /// Send what is waiting now, and report the result
    #[command(after_help = "Examples:
  checkstone team send")]
    Send {
        /// Print the status afterwards as JSON (schemas/team-status.schema.json)
        #[arg(long)]
        json: bool,
    },
    /// Print the SQL that sets up the tables and the role of a team, for an administrator
    ///
    /// You can run the script again, and for other teams. A team is a role: row-level security lets its members see only their own team's
    /// rows.
    #[command(after_help = "Examples:
  checkstone team schema
  checkstone team schema --role web | psql postgres://admin@db.example/lab
  checkstone team schema --role web --partitions 12")]
    Schema {
        /// The role of the team
        #[arg(long, value_name = "ROLE", default_value = "checkstone_team")]
        role: String,
        /// Also create a table for each of the next WEEKS weeks; for many thousands of agents
        #[arg(long, value_name = "WEEKS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=520))]
        partitions: u32,
    },
}

/// What `checkstone team status --json` prints.
#[cfg(any(feature = "postgres", feature = "schema"))]
#[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "only its schema is asked for"))]
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema), schemars(rename = "TeamStatus"))]
pub(crate) struct TeamStatusOutput {
    /// Where it is sent, without the password; null if nothing is sent.
    database: Option<String>,
    /// Whether prompts, commands and paths are sent too.
    texts: bool,
    /// Events that were recorded and not sent yet.
    waiting: u64,
    /// Events that were sent from this machine.
    sent: u64,
    /// When something was last sent.
    last_sent: Option<String>,
    /// When the last try failed, and why; null if it did not.
    failed_at: Option<String>,
    error: Option<String>,
    /// Seconds that this machine's clock is ahead of the database's, as it was when something was last sent.
    clock_ahead: f64,
    /// Whether the process that sends is running now.
    running: bool,
}

#[cfg(not(feature = "postgres"))]
pub(crate) fn run(_: &TeamArguments, _: &Printer) -> Result<ExitCode, CommandError> {
    Err(CommandError::environment("this build of checkstone cannot use PostgreSQL")
        .hint("install one that can: `cargo install --locked --path crates/checkstone --features full`"))
}

#[cfg(feature = "postgres")]
pub(crate) use with_database::run;

#[cfg(feature = "postgres")]
mod with_database {
    use std::fmt::Write as _;
    use std::process::ExitCode;

    use database::DatabaseError;
    use jiff::{Timestamp, Unit};
    use team::{LastTry, Outbox};
    use text::{counted, duration_in_words};

    use super::{TeamArguments, TeamCommand, TeamStatusOutput};
    use crate::environment;
    use crate::error::{CommandError, ErrorKind, Warning};
    use crate::journal_access;
    use crate::printer::{BAD, Printer, STRONG};
    use crate::team_sending;

    /// Clocks of machines that ask a time server are closer.
    const CLOCKS_APART: f64 = 60.0;

    pub(crate) fn run(arguments: &TeamArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
        match &arguments.command {
            TeamCommand::Status { json } => {
                let status = status()?;
                printer.answer(*json, &status, || status.text())
            }
            TeamCommand::Send { json } => send(*json, printer),
            TeamCommand::Schema { role, partitions } => {
                let mut script = database::team_schema(role)
                    .map_err(|error| CommandError::of(ErrorKind::Usage, &error))?;
                if *partitions > 0 {
                    let today = Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date();
                    script.push_str(&database::partitions(today, *partitions));
                }
                printer.data(&script);
                Ok(ExitCode::SUCCESS)
            }
        }
    }

    fn status() -> Result<TeamStatusOutput, CommandError> {
        let state = journal_access::state_directory()?;
        let settings = team_sending::settings()?;
        let waiting = team::waiting(&state).map_err(|error| CommandError::of(ErrorKind::Failed, &error))?;
        let outbox = Outbox::open_existing(&state)
            .map_err(|error| CommandError::of(ErrorKind::Environment, &error))?;
        let LastTry { sent_at, sent, failed_at, error, clock_ahead } =
            outbox.map_or(Ok(LastTry::default()), |outbox| outbox.last_try()).unwrap_or_default();
        let written = |at: Option<Timestamp>| at.map(|at| format!("{at:.0}"));
        Ok(TeamStatusOutput {
            database: settings.as_ref().map(|settings| settings.address.to_string()),
            texts: settings.as_ref().is_some_and(|settings| settings.texts),
            waiting: if settings.is_some() { waiting } else { 0 },
            sent,
            last_sent: written(sent_at),
            failed_at: written(failed_at),
            error,
            clock_ahead,
            running: settings.is_some() && team::is_resident(&state),
        })
    }

    impl TeamStatusOutput {
        fn text(&self) -> String {
            let Some(database) = &self.database else {
                return "Nothing is sent: `[team]` in your own `config.toml` names no `database`.\n"
                    .to_owned();
            };
            let mut text = String::new();
            let mut line = |name: &str, value: &str| {
                let _ = writeln!(text, "{STRONG}{name:<9}{STRONG:#} {value}");
            };
            line("database", database);
            line("what", if self.texts { "facts and texts" } else { "facts only" });
            let when = self.last_sent.as_deref().and_then(ago).map(|ago| format!(", the last {ago}"));
            line("sent", &format!("{}{}", counted(number(self.sent), "event"), when.unwrap_or_default()));
            let waiting = match (self.waiting, self.running) {
                (0, _) => "nothing".to_owned(),
                (waiting, true) => format!("{}; a process is sending", counted(number(waiting), "event")),
                (waiting, false) => {
                    format!(
                        "{}; the next hook sends them, or `checkstone team send`",
                        counted(number(waiting), "event")
                    )
                }
            };
            line("waiting", &waiting);
            if let Some(error) = &self.error {
                let ago = self.failed_at.as_deref().and_then(ago).map(|ago| format!(" {ago}"));
                let error = transcript::visible(error);
                line(
                    "problem",
                    &format!("{BAD}the last try failed{}: {error}{BAD:#}", ago.unwrap_or_default()),
                );
            }
            if let Some(sentence) = clock_sentence(self.clock_ahead) {
                line("clock", &sentence);
            }
            text
        }
    }

    fn number(count: u64) -> usize {
        usize::try_from(count).unwrap_or(usize::MAX)
    }

    fn ago(at: &str) -> Option<String> {
        let at: Timestamp = at.parse().ok()?;
        let seconds = Timestamp::now().since((Unit::Second, at)).ok()?.get_seconds().max(0);
        Some(match seconds {
            0..2 => "just now".to_owned(),
            _ => format!("{} ago", duration_in_words(std::time::Duration::from_secs(seconds.unsigned_abs()))),
        })
    }

    /// A sentence where the clocks are far apart.
    pub(crate) fn clock_sentence(ahead: f64) -> Option<String> {
        let apart = std::time::Duration::from_secs_f64(ahead.abs().min(1e9).round());
        let word = if ahead > 0.0 { "ahead of" } else { "behind" };
        (ahead.abs() > CLOCKS_APART).then(|| {
            format!("this machine's clock is {} {word} the database's: set it", duration_in_words(apart))
        })
    }

    fn send(json: bool, printer: &Printer) -> Result<ExitCode, CommandError> {
        let state = journal_access::state_directory()?;
        let settings = team_sending::settings()?.ok_or_else(|| {
            CommandError::not_found("there is no database to send to").hint(format!(
                "set `database` under `[team]` in `{}`",
                environment::configuration_file().map(|file| file.display().to_string()).unwrap_or_default()
            ))
        })?;
        // The outbox lies beside the journal.
        drop(journal_access::open_or_create(&state)?);
        let failed = |error: &(dyn std::error::Error + 'static)| CommandError::of(ErrorKind::Failed, error);
        let mut outbox = Outbox::open(&state).map_err(|error| failed(&error))?;
        let (mut collector, mut sender) = team_sending::workers(&state, &settings);
        team::collect(&mut collector, &mut outbox, Timestamp::now()).map_err(|error| failed(&error))?;
        let sent = sender.send(&mut outbox).map_err(|error| {
            let waiting = outbox.waiting().unwrap_or_default();
            let told = failed(&error).hint(error.advice().unwrap_or_default());
            told.hint(format!("nothing is lost: {} waiting", counted(number(waiting), "event")))
        })?;
        if json {
            return printer.answer(true, &status()?, String::new);
        }
        let told = match sent {
            // Nothing was said to the database yet, and somebody wants to know whether it is there.
            0 => {
                let failed = |error: &DatabaseError| CommandError::of(ErrorKind::Failed, error);
                team::ask_database(&settings).map_err(|error| failed(&error))?;
                format!("nothing to send; {} answers\n", settings.address)
            }
            sent => format!("{} sent to {}\n", counted(number(sent), "event"), settings.address),
        };
        printer.text(&told);
        if let Some(sentence) =
            clock_sentence(outbox.last_try().map(|tried| tried.clock_ahead).unwrap_or_default())
        {
            printer.warning(Warning::new(sentence));
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[cfg(feature = "postgres")]
pub(crate) use with_database::clock_sentence;
