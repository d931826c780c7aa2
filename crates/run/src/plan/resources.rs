//! What stages ask for besides their turn: processors, memory, cards, and whatever else a plan names.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use settings::{At, Entry, Reader, Shape, Whole};

const MEMORY: &str = "memory";

/// Amounts by name; memory in bytes. What is not named is none.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Resources {
    amounts: BTreeMap<String, u64>,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ResourceError {
    #[error("`{0}` is not NAME=NUMBER")]
    NoAmount(String),
    #[error("`{0}` is not a size such as `512M` or `4G`")]
    NoSize(String),
}

impl Resources {
    /// The processors, the memory and the NVIDIA cards of this machine.
    pub fn of_machine() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let is_card = |name: &str| {
            let number = name.strip_prefix("nvidia");
            number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
        };
        let devices = fs_err::read_dir("/dev").into_iter().flatten().flatten();
        let cards = devices.filter(|entry| entry.file_name().to_str().is_some_and(is_card)).count();
        let mut amounts = BTreeMap::from([
            ("cpus".to_owned(), u64::try_from(processors).unwrap_or(1)),
            ("gpus".to_owned(), u64::try_from(cards).unwrap_or(0)),
        ]);
        amounts.extend(machine::total_memory().map(|bytes| (MEMORY.to_owned(), bytes)));
        Self { amounts }
    }

    /// `NAME=NUMBER`, or `memory=SIZE`.
    pub fn set(&mut self, argument: &str) -> Result<(), ResourceError> {
        let wrong = || ResourceError::NoAmount(argument.to_owned());
        let (name, amount) =
            argument.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(wrong)?;
        let amount = match name {
            MEMORY => text::parse_size(amount).ok_or_else(|| ResourceError::NoSize(amount.to_owned()))?,
            _ => amount.parse().map_err(|_| wrong())?,
        };
        self.amounts.insert(name.to_owned(), amount);
        Ok(())
    }

    /// None is zero.
    pub(crate) fn amount(&self, name: &str) -> u64 {
        self.amounts.get(name).copied().unwrap_or(0)
    }

    /// A limit for the stage that asks for it.
    pub(crate) fn memory(&self) -> Option<u64> {
        self.amounts.get(MEMORY).copied()
    }

    pub(crate) fn has(&self, wanted: &Self) -> bool {
        wanted.amounts.iter().all(|(name, amount)| self.amount(name) >= *amount)
    }

    pub(crate) fn take(&mut self, wanted: &Self) {
        for (name, amount) in &wanted.amounts {
            self.amounts.entry(name.clone()).and_modify(|left| *left = left.saturating_sub(*amount));
        }
    }

    pub(crate) fn give_back(&mut self, taken: &Self) {
        for (name, amount) in &taken.amounts {
            self.amounts.entry(name.clone()).and_modify(|left| *left += amount);
        }
    }

    /// Why this is not enough, if it is not.
    pub(super) fn lack_of(&self, name: &str, wanted: u64) -> Option<String> {
        let there = self.amount(name);
        let shown = |amount: u64| match name {
            MEMORY => text::size_in_words(amount),
            _ => amount.to_string(),
        };
        (wanted > there)
            .then(|| format!("it asks for {} of `{name}`, but there is {}", shown(wanted), shown(there)))
    }
}

/// `resources`, as it is written.
pub(super) type ResourcesLayer = Vec<(At<String>, u64)>;

pub(super) fn finish(layer: &ResourcesLayer) -> Resources {
    Resources { amounts: layer.iter().map(|(name, amount)| (name.value.clone(), *amount)).collect() }
}

pub(super) struct ResourceTable;

impl settings::Kind for ResourceTable {
    settings::used_as_written!(ResourcesLayer);

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<ResourcesLayer> {
        let mut found = Vec::new();
        for (key, value) in reader.table(entry)? {
            let entry = Entry { key, value };
            let name = At { value: key.get_ref().to_string(), place: reader.place(key.span()) };
            let amount = match value.get_ref().as_str() {
                Some(size) if name.value == MEMORY => text::parse_size(size),
                _ if name.value == MEMORY => None,
                _ => Some(Whole::<u64>::read(entry, reader)?),
            };
            match amount {
                Some(amount) => found.push((name, amount)),
                None => reader.wrong(entry, "a size such as `\"512M\"` or `\"4G\"`"),
            }
        }
        Some(found)
    }

    fn shape() -> Shape {
        Shape::NamedTables(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_not_there_until_it_is_given_back() {
        let mut there = Resources::default();
        there.set("gpus=2").unwrap();
        there.set("memory=4G").unwrap();
        let mut wanted = Resources::default();
        wanted.set("gpus=1").unwrap();
        wanted.set("memory=3G").unwrap();
        assert!(there.has(&wanted));
        there.take(&wanted);
        assert!(!there.has(&wanted), "{there:?}");
        there.give_back(&wanted);
        assert!(there.has(&wanted));
        assert_eq!(there.lack_of("license", 1).unwrap(), "it asks for 1 of `license`, but there is 0");
        assert_eq!(there.set("gpus"), Err(ResourceError::NoAmount("gpus".to_owned())));
        assert_eq!(there.set("memory=much"), Err(ResourceError::NoSize("much".to_owned())));
    }
}
