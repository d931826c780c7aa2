//! The services outside that the user switched on, for the commands that tell them something or wait for them. Never
//! for a hook. What goes wrong here is told and stops nothing.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use workflow::integrations::branch::IssueId;
use workflow::integrations::http::{Client, Proxy};
use workflow::integrations::linear::{IssueNews, IssueStanding, Linear, LinearError};
use workflow::integrations::preview::{self, LinkedProject, Preview, Wait};
use workflow::integrations::repository_file::{PATH, RepositorySettings};
use workflow::integrations::retry::Retry;
use workflow::integrations::user_settings::{Access, FromEnvironment, Service, UserSettings, Webhook};
use workflow::integrations::webhook::{self, PhaseEvent, WebhookEvent};
use workflow::{IssueError, Name, StateDirectory, WantedIssue, Workflow};

use crate::environment;
use crate::error::{CommandError, Warning};
use crate::printer::Printer;

/// An agent waits for the command that tells others: it is told soon, or not at all.
const TELLING: Retry = Retry {
    attempts: 3,
    first_pause: Duration::from_millis(300),
    longest_pause: Duration::from_secs(3),
    total: Duration::from_secs(8),
    request: Duration::from_secs(4),
};

#[derive(Debug)]
pub(crate) struct Integrations {
    root: PathBuf,
    pub(crate) repository: RepositorySettings,
    user: UserSettings,
}

impl Integrations {
    /// What the repository asks for and the user allows. Mistakes, and what a repository may not say, are told.
    pub(crate) fn read(root: &Path, printer: &Printer) -> Self {
        let repository = RepositorySettings::read(root).unwrap_or_else(|error| {
            printer.warning(Warning::of(&error).hint(format!("`{PATH}` counts as empty until you fix it")));
            RepositorySettings::default()
        });
        for note in &repository.notes {
            printer.warning(Warning::new(note));
        }
        Self { root: root.to_owned(), repository, user: user_settings(printer) }
    }

    /// Waits for the preview of `commit` where the repository asks for it. `Some` where shipping depends on it.
    pub(crate) fn preview(&self, commit: &str, printer: &Printer) -> Option<Preview> {
        let settings = &self.repository.vercel;
        if !settings.enabled || !settings.wait_for_preview {
            return None;
        }
        let required = settings.require_preview_success;
        let service = match self.access("vercel", "wait for a preview deployment", &self.user.vercel) {
            Ok(service) => service,
            Err(error) if required => return Some(Preview::Unavailable { reason: error.to_string() }),
            Err(error) => {
                printer.warning(error);
                return None;
            }
        };
        let linked = LinkedProject::read(&self.root);
        let wait = Wait::until(settings.preview_timeout);
        let tell = |text: &str| printer.progress(text);
        let preview = preview::wait(&client(), service, &linked, commit, &wait, tell);
        if let Preview::Ready { urls } = &preview {
            for url in urls {
                printer.progress(&format!("the preview is ready: {url}"));
            }
            return Some(preview);
        }
        if required {
            return Some(preview);
        }
        if let Some(trouble) = preview.trouble() {
            printer.warning(
                Warning::new(trouble).hint(format!(
                    "this does not block: `vercel.require_preview_success` is off in `{PATH}`"
                )),
            );
        }
        None
    }

    /// Tells the webhooks of an event, and the issue the news, all at the same time. What went wrong with a webhook is
    /// told the person; what became of the issue is returned, `None` if nothing is sent to Linear.
    pub(crate) fn tell(
        &self,
        event: Option<&PhaseEvent>,
        issue: Option<(&IssueId, &[IssueNews])>,
        printer: &Printer,
    ) -> Option<Result<IssueStanding, LinearError>> {
        let wants = if event.is_some() { Wants::Told } else { Wants::Quiet };
        let issue = issue.filter(|(_, news)| !news.is_empty());
        let issue = issue.and_then(|issue| Some((self.linear("update its issues", wants, printer)?, issue)));
        let client = client();
        let (problems, told) = std::thread::scope(|scope| {
            let sending = event.map(|event| scope.spawn(|| send_to(&self.user.webhooks, &client, event)));
            let told = issue.map(|(service, (issue, news))| {
                let linear = Linear { client: &client, service, retry: &TELLING };
                linear.tell(issue, self.repository.linear.team.as_deref(), news)
            });
            (sending.and_then(|sending| sending.join().ok()).unwrap_or_default(), told)
        });
        for problem in problems {
            printer.warning(
                Warning::new(problem)
                    .hint("the workflow is saved; running the command again would notify all others twice"),
            );
        }
        told
    }

    /// Creates the issue of a workflow, once. `None` if nothing is sent to Linear.
    pub(crate) fn create_issue(
        &self,
        state: &StateDirectory,
        name: &Name,
        wanted: &WantedIssue<'_>,
        printer: &Printer,
    ) -> Option<Result<Workflow, IssueError>> {
        let service = self.linear("create its issue", Wants::Told, printer)?;
        let linear = Linear { client: &client(), service, retry: &TELLING };
        Some(state.create_issue(name, wanted, &linear, Timestamp::now()))
    }

    /// Whether the repository wants its issues created and moved from here, instead of by Linear's own automation.
    pub(crate) fn keeps_issues(&self) -> bool {
        self.repository.linear.enabled && !self.repository.linear.use_native_automation
    }

    /// Linear, if the repository asks for it and the user allows it.
    fn linear(&self, what: &str, wants: Wants, printer: &Printer) -> Option<&Service> {
        if !self.keeps_issues() {
            return None;
        }
        match self.access("linear", what, &self.user.linear) {
            Ok(service) => Some(service),
            Err(error) => {
                if wants == Wants::Told {
                    printer.warning(error);
                }
                None
            }
        }
    }

    /// The service, or what the user has to do for it.
    fn access<'a>(&self, name: &str, what: &str, access: &'a Access) -> Result<&'a Service, CommandError> {
        match access {
            Access::On(service) => Ok(service),
            Access::Off => Err(CommandError::refused(format!(
                "the repository asks to {what}, which you have not switched on: set `enabled = true` and `token` in \
                 `[integrations.{name}]` of your own `config.toml`"
            ))),
            Access::NoToken => Err(CommandError::environment(format!(
                "there is no token to {what}: set `token` in `[integrations.{name}]` of your own `config.toml`, or {}",
                if name == "linear" { environment::LINEAR_KEY } else { environment::VERCEL_TOKEN }
            ))),
        }
    }
}

fn client() -> Client {
    Client::new(Proxy::FromEnvironment, Timestamp::now)
}

/// What the user allows. Mistakes are told, and count as nothing allowed.
pub(crate) fn user_settings(printer: &Printer) -> UserSettings {
    UserSettings::read(&configuration(printer), &from_environment()).unwrap_or_else(|error| {
        printer.warning(Warning::of(&error).hint("nothing is sent until you fix it"));
        UserSettings::default()
    })
}

/// Sends the event to all webhooks at the same time. What went wrong is returned, one sentence each.
pub(crate) fn send_to_webhooks(webhooks: &[Webhook], event: &(impl WebhookEvent + Sync)) -> Vec<String> {
    send_to(webhooks, &client(), event)
}

fn send_to(webhooks: &[Webhook], client: &Client, event: &(impl WebhookEvent + Sync)) -> Vec<String> {
    std::thread::scope(|scope| {
        let sending = webhooks.iter().map(|webhook| {
            scope.spawn(move || {
                let sent = webhook::send(client, webhook, event, &TELLING, Timestamp::now);
                sent.err().map(|error| format!("`{}` was not notified: {error}", webhook.endpoint))
            })
        });
        let sending: Vec<_> = sending.collect();
        sending.into_iter().filter_map(|sent| sent.join().ok().flatten()).collect()
    })
}

/// Whether a person hears of what the user has not switched on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wants {
    Told,
    Quiet,
}

/// As Linear shows it: Markdown.
pub(crate) fn comment_on(event: &PhaseEvent) -> String {
    let mut text = format!("**{}**", event.line());
    for more in [&event.summary, &event.error].into_iter().flatten() {
        text.push_str(&format!("\n\n{more}"));
    }
    text
}

/// The user's own file; empty if there is none. A token that others can read is told.
pub(crate) fn configuration(printer: &Printer) -> String {
    let Some(path) = environment::configuration_file() else { return String::new() };
    let text = match stop::policy_files::read(&path) {
        Ok(text) => text.unwrap_or_default(),
        Err(problem) => {
            printer.warning(Warning::new(format!("`{}` was not read: {problem}", path.display())));
            return String::new();
        }
    };
    let holds_secrets = text.contains("integrations") && (text.contains("token") || text.contains("secret"));
    let open_to_others =
        fs_err::metadata(&path).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0);
    if holds_secrets && open_to_others {
        printer.warning(
            Warning::new(format!("other users can read the token in `{}`", path.display()))
                .hint(format!("run `chmod 600 {}`", path.display())),
        );
    }
    text
}

fn from_environment() -> FromEnvironment {
    let read = |name: &str| environment::read(name).and_then(|value| value.into_string().ok());
    FromEnvironment {
        services: read(environment::INTEGRATIONS),
        vercel_url: read(environment::VERCEL_URL),
        vercel_token: read(environment::VERCEL_TOKEN),
        linear_url: read(environment::LINEAR_URL),
        linear_token: read(environment::LINEAR_KEY),
        webhook_url: read(environment::WEBHOOK_URL),
        webhook_secret: read(environment::WEBHOOK_SECRET),
    }
}
