//! What the user allows: which services are switched on, where they are, and with which token or secret. It comes from
//! the `[integrations]` table of the user's own configuration, and from the environment, which counts more.

use settings::{
    Boolean, Choice, Entry, Kind, List, Names, Nested, Problems, Quoting, Reader, TableOfKeys as _,
    TableReference, Text, choices, read_table, table,
};

use super::http::{Endpoint, EndpointError, Secret};

/// How the user's own configuration is called in messages.
const FILE_NAME: &str = "config.toml";

const VERCEL: &str = "https://api.vercel.com";
const LINEAR: &str = "https://api.linear.app/graphql";

#[derive(Clone, Debug, Default, PartialEq)]
pub struct UserSettings {
    pub vercel: Access,
    pub linear: Access,
    pub webhooks: Vec<Webhook>,
    pub run_end: NotificationWays,
    pub session_waits: NotificationWays,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub enum Access {
    /// The user did not switch it on.
    #[default]
    Off,
    /// It is switched on, and there is no token.
    NoToken,
    On(Service),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    pub endpoint: Endpoint,
    pub token: Secret,
    /// Vercel's project, by id or name.
    pub project: Option<String>,
    /// Vercel's team, by id or slug.
    pub team: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Webhook {
    pub endpoint: Endpoint,
    pub format: WebhookFormat,
    /// Without one, what is sent is not signed.
    pub secret: Option<Secret>,
}

choices! {
    pub enum WebhookFormat {
        /// One `text`, as Slack's incoming webhooks and those of many others take it.
        Slack = "slack",
        /// The event with all its fields.
        Generic = "generic",
    }
}

#[derive(Clone, Debug, Default)]
pub struct FromEnvironment {
    /// The names of the services that are switched on, with commas between them.
    pub services: Option<String>,
    pub vercel_url: Option<String>,
    pub vercel_token: Option<String>,
    pub linear_url: Option<String>,
    pub linear_token: Option<String>,
    pub webhook_url: Option<String>,
    pub webhook_secret: Option<String>,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SettingsError {
    /// Keys are named and values are not: those are tokens.
    #[error("`[integrations]` has mistakes: {0}")]
    NotUnderstood(Problems),
    #[error("the URL for {what} cannot be used: {source}")]
    Url { what: String, source: EndpointError },
    #[error("`{name}` is not a service; `vercel` and `linear` are")]
    UnknownService { name: String },
}

table! {
    #[derive(Debug)]
    pub(crate) struct IntegrationsTable, layer IntegrationsLayer {
        /// Preview deployments that `checkstone workflow gate` waits for.
        vercel: Nested<ServiceTable> = ServiceTable::default();
        /// Issues that are updated by phases.
        linear: Nested<ServiceTable> = ServiceTable::default();
        /// Where phases that end are sent, and runs with `run_end.webhooks`.
        webhook: List<WebhookTable> = Vec::new();
        /// How you are notified when a run of `checkstone run` or `resume` is over.
        run_end: Nested<NotificationWays> = NotificationWays::default();
        /// How you are notified, while `checkstone serve` runs, when a session waits for you or is lost.
        session_waits: Nested<NotificationWays> = NotificationWays::default();
    }
}

table! {
    /// How the user hears of something.
    #[derive(Clone, Debug, PartialEq)]
    pub struct NotificationWays, layer NotificationWaysLayer {
        /// Whether the webhooks are notified.
        webhooks: Boolean = false;
        /// Whether the desktop shows a notification.
        desktop: Boolean = false;
        /// A program and its arguments. One line about it is its last argument, the event its stdin.
        command: Names = Vec::new();
    }
}

table! {
    #[derive(Debug)]
    pub(crate) struct ServiceTable, layer ServiceLayer {
        /// Whether it is queried and updated at all.
        enabled: Boolean = false;
        /// Where it is.
        url: SecretText, or "the service's own";
        /// The token; one in the environment takes precedence.
        token: SecretText, or "none";
        /// Vercel's project, by id or name.
        project: Text, or "none";
        /// Vercel's team, by id or slug.
        team: Text, or "none";
    }
}

table! {
    #[derive(Debug)]
    pub(crate) struct WebhookTable, layer WebhookLayer {
        /// Where it is; the path may be a secret too.
        url: SecretText;
        /// One `text`, as Slack expects it, or the event with all its fields.
        format: Choice<WebhookFormat> = WebhookFormat::Generic;
        /// What the events are signed with.
        secret: SecretText, or "none";
    }
}

/// A text that is never shown.
pub(crate) struct SecretText;

impl Kind for SecretText {
    settings::used_as_written!(Secret);

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<Secret> {
        reader.string(entry).map(Secret::new)
    }
}

/// Every key of `[integrations]`, for whoever writes them down.
pub fn reference() -> TableReference {
    IntegrationsTable::reference()
}

impl NotificationWays {
    /// Whether there is any.
    pub fn is_any(&self) -> bool {
        self.webhooks || self.desktop || !self.command.is_empty()
    }
}

impl UserSettings {
    /// `configuration` is the text of the user's own file, empty if there is none.
    pub fn read(configuration: &str, environment: &FromEnvironment) -> Result<Self, SettingsError> {
        let table =
            read_table::<IntegrationsTable>(FILE_NAME, configuration, "integrations", Quoting::KeysOnly);
        let table = table.map_err(SettingsError::NotUnderstood)?;
        let mut settings =
            Self { run_end: table.run_end, session_waits: table.session_waits, ..Self::default() };
        let named = services(environment.services.as_deref())?;
        settings.vercel = access(
            "Vercel",
            table.vercel,
            named.contains(&"vercel"),
            [&environment.vercel_url, &environment.vercel_token],
            VERCEL,
        )?;
        settings.linear = access(
            "Linear",
            table.linear,
            named.contains(&"linear"),
            [&environment.linear_url, &environment.linear_token],
            LINEAR,
        )?;
        for (number, webhook) in table.webhook.into_iter().enumerate() {
            let what = format!("webhook {}", number + 1);
            settings.webhooks.push(Webhook {
                endpoint: endpoint(&what, webhook.url.reveal())?,
                format: webhook.format,
                secret: webhook.secret.filter(|secret| !secret.reveal().is_empty()),
            });
        }
        if let Some(url) = &environment.webhook_url {
            let endpoint = endpoint("the webhook of the environment", url)?;
            // Slack's own are known by their host; anyone else gets everything.
            let is_slack = endpoint.to_string() == "https://hooks.slack.com";
            settings.webhooks.push(Webhook {
                endpoint,
                format: if is_slack { WebhookFormat::Slack } else { WebhookFormat::Generic },
                secret: environment.webhook_secret.clone().map(Secret::new),
            });
        }
        Ok(settings)
    }
}

fn services(named: Option<&str>) -> Result<Vec<&str>, SettingsError> {
    let names = named.unwrap_or_default().split(',').map(str::trim).filter(|name| !name.is_empty());
    names
        .map(|name| match name {
            "vercel" | "linear" => Ok(name),
            _ => Err(SettingsError::UnknownService { name: name.to_owned() }),
        })
        .collect()
}

fn access(
    what: &str,
    table: ServiceTable,
    named: bool,
    [url, token]: [&Option<String>; 2],
    usual_url: &str,
) -> Result<Access, SettingsError> {
    if !table.enabled && !named {
        return Ok(Access::Off);
    }
    let token = token.as_deref().or(table.token.as_ref().map(Secret::reveal)).unwrap_or_default().trim();
    if token.is_empty() {
        return Ok(Access::NoToken);
    }
    let url = url.as_deref().or(table.url.as_ref().map(Secret::reveal)).unwrap_or(usual_url);
    Ok(Access::On(Service {
        endpoint: endpoint(what, url)?,
        token: Secret::new(token),
        project: table.project,
        team: table.team,
    }))
}

fn endpoint(what: &str, url: &str) -> Result<Endpoint, SettingsError> {
    Endpoint::parse(url).map_err(|source| SettingsError::Url { what: what.to_owned(), source })
}
