//! What the user allows: which services are switched on, where they are, and with which token or secret. It comes from
//! the `[integrations]` table of the user's own configuration, and from the environment, which counts more.

use serde::Deserialize;

use super::http::{Endpoint, EndpointError, Secret};

const VERCEL: &str = "https://api.vercel.com";
const LINEAR: &str = "https://api.linear.app/graphql";

/// What may be sent, and where to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UserSettings {
    pub vercel: Access,
    pub linear: Access,
    pub webhooks: Vec<Webhook>,
}

/// How a service stands with the user.
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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WebhookFormat {
    /// One `text`, as Slack's incoming webhooks and those of many others take it.
    Slack,
    /// The event with all its fields.
    #[default]
    Generic,
}

/// What the environment says.
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
    /// The text of the line is left out: it may hold a token.
    #[error("`[integrations]` in `config.toml`{line} is not understood: {message}", line = at(*line))]
    NotUnderstood { line: Option<usize>, message: String },
    #[error("the URL for {what} cannot be used: {source}")]
    Url { what: String, source: EndpointError },
    #[error("`{name}` is no service; `vercel` and `linear` are")]
    UnknownService { name: String },
}

fn at(line: Option<usize>) -> String {
    line.map(|line| format!(", line {line},")).unwrap_or_default()
}

/// The user's whole configuration; only one table of it is looked at.
#[derive(Default, Deserialize)]
struct Configuration {
    #[serde(default)]
    integrations: Table,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Table {
    vercel: ServiceTable,
    linear: ServiceTable,
    webhook: Vec<WebhookTable>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ServiceTable {
    enabled: bool,
    url: Option<String>,
    token: Option<String>,
    project: Option<String>,
    team: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WebhookTable {
    url: String,
    #[serde(default)]
    format: WebhookFormat,
    secret: Option<String>,
}

impl UserSettings {
    /// `configuration` is the text of the user's own file, empty where there is none.
    pub fn read(configuration: &str, environment: &FromEnvironment) -> Result<Self, SettingsError> {
        let table = toml::from_str::<Configuration>(configuration)
            .map_err(|error| SettingsError::NotUnderstood {
                line: error
                    .span()
                    .and_then(|span| configuration.get(..span.start))
                    .map(|before| before.bytes().filter(|byte| *byte == b'\n').count() + 1),
                message: error.message().to_owned(),
            })?
            .integrations;
        let mut settings = Self::default();
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
                endpoint: endpoint(&what, &webhook.url)?,
                format: webhook.format,
                secret: webhook.secret.filter(|secret| !secret.is_empty()).map(Secret::new),
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
    let token = token.clone().or(table.token).map(|token| token.trim().to_owned());
    let Some(token) = token.filter(|token| !token.is_empty()) else { return Ok(Access::NoToken) };
    let url = url.clone().or(table.url).unwrap_or_else(|| usual_url.to_owned());
    Ok(Access::On(Service {
        endpoint: endpoint(what, &url)?,
        token: Secret::new(token),
        project: table.project,
        team: table.team,
    }))
}

fn endpoint(what: &str, url: &str) -> Result<Endpoint, SettingsError> {
    Endpoint::parse(url).map_err(|source| SettingsError::Url { what: what.to_owned(), source })
}
