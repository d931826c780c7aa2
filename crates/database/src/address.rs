//! Where a database is, shown without its password.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use postgres::Config;
use postgres::config::Host;

/// A server that does not answer within this time is asked again.
const LONGEST_CONNECT: Duration = Duration::from_secs(10);
/// A connection on which nothing is acknowledged for so long is given up.
const LONGEST_SILENCE: Duration = Duration::from_secs(30);

#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    #[error("the address of the database must begin with `postgres://`")]
    Scheme,
    #[error("the address of the database is not valid; write it like `postgres://user@host:5432/name`")]
    NotUnderstood,
}

#[derive(Clone)]
pub struct DatabaseAddress {
    config: Config,
}

impl FromStr for DatabaseAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            return Err(AddressError::Scheme);
        }
        // What the parser says of it may quote the password.
        let mut config: Config = text.parse().map_err(|_| AddressError::NotUnderstood)?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(AddressError::NotUnderstood);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(LONGEST_CONNECT);
        }
        config.tcp_user_timeout(LONGEST_SILENCE).keepalives_idle(LONGEST_SILENCE);
        config.application_name("checkstone");
        Ok(Self { config })
    }
}

impl DatabaseAddress {
    /// The same, as another role that the one of the address is a member of.
    pub fn with_role(mut self, role: &str) -> Self {
        let escaped: String = role.chars().flat_map(escaped).collect();
        self.config.options(&format!("-c role={escaped}"));
        self
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Whether nothing leaves this machine.
    pub(crate) fn is_local(&self) -> bool {
        self.config.get_hosts().iter().all(|host| match host {
            Host::Tcp(name) => {
                name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
            }
            Host::Unix(_) => true,
        })
    }
}

/// As options at the start of a connection are split into words.
fn escaped(letter: char) -> impl Iterator<Item = char> {
    let mark = (letter == '\\' || letter.is_whitespace()).then_some('\\');
    mark.into_iter().chain([letter])
}

impl fmt::Display for DatabaseAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("postgres://")?;
        if let Some(user) = self.config.get_user() {
            write!(formatter, "{user}@")?;
        }
        for (number, host) in self.config.get_hosts().iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            match host {
                Host::Tcp(name) => write!(formatter, "{comma}{name}")?,
                Host::Unix(path) => write!(formatter, "{comma}{}", path.display())?,
            }
            if let Some(port) = self.config.get_ports().get(number) {
                write!(formatter, ":{port}")?;
            }
        }
        write!(formatter, "/{}", self.config.get_dbname().unwrap_or_default())
    }
}

impl fmt::Debug for DatabaseAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_is_never_shown() {
        let address: DatabaseAddress =
            "postgres://ada:hunter2@db.example:6432/lab?password=again".parse().unwrap();
        assert_eq!(
            (address.to_string(), format!("{address:?}")),
            (
                "postgres://ada@db.example:6432/lab".to_owned(),
                "postgres://ada@db.example:6432/lab".to_owned()
            )
        );
        for wrong in ["mysql://ada:hunter2@host/x", "postgres://ada:hunter2@host:port/x", "postgres:///x"] {
            let told = wrong.parse::<DatabaseAddress>().unwrap_err().to_string();
            assert_eq!(told.find("hunter2"), None, "{told}");
        }
    }
}
