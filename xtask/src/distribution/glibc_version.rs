//! Which glibc a program needs, read from the program itself.

use std::fmt;

/// `2.17`: always of the second major version.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct GlibcVersion {
    minor: u32,
}

impl GlibcVersion {
    /// The oldest that the usual names of wheels promise.
    pub(crate) const OF_MANYLINUX_2014: Self = Self { minor: 17 };

    pub(crate) fn minor(self) -> u32 {
        self.minor
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Some(Self { minor: text.strip_prefix("2.")?.parse().ok()? })
    }

    /// The newest version that a program for the loader asks for; `None` where no loader is asked for, as with static programs.
    pub(crate) fn needed_by(program: &[u8]) -> Option<Self> {
        if !has_loader(program) {
            return None;
        }
        const NAME: &[u8] = b"GLIBC_2.";
        let places = program.windows(NAME.len()).enumerate().filter(|(_, window)| *window == NAME);
        let minors = places.filter_map(|(place, _)| {
            let rest = program.get(place + NAME.len()..)?;
            let digits: String =
                rest.iter().take_while(|byte| byte.is_ascii_digit()).map(|byte| char::from(*byte)).collect();
            digits.parse().ok()
        });
        minors.max().map(|minor| Self { minor })
    }
}

impl fmt::Display for GlibcVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "2.{}", self.minor)
    }
}

/// Whether an ELF file of 64 bits names a loader (`PT_INTERP`).
fn has_loader(program: &[u8]) -> bool {
    const INTERPRETER: u64 = 3;
    let number = |place: usize, width: usize| {
        let bytes = program.get(place..place + width)?;
        Some(bytes.iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)))
    };
    let header = |place: usize, width: usize| usize::try_from(number(place, width)?).ok();
    let (Some(table), Some(size), Some(count)) = (header(0x20, 8), header(0x36, 2), header(0x38, 2)) else {
        return false;
    };
    program.starts_with(b"\x7fELF")
        && (0..count).any(|entry| number(table + entry * size, 4) == Some(INTERPRETER))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    /// This very test is linked with the loader; what is no program needs nothing.
    #[test]
    fn the_program_itself_says_what_it_needs() {
        let own = fs_err::read(std::env::current_exe().unwrap()).unwrap();
        assert!(GlibcVersion::needed_by(&own) >= Some(GlibcVersion { minor: 2 }));
        assert_eq!(GlibcVersion::needed_by(b"#!/bin/sh GLIBC_2.99"), None);
        assert_eq!(GlibcVersion::parse("2.17"), Some(GlibcVersion::OF_MANYLINUX_2014));
        assert_eq!(GlibcVersion::parse("3.1"), None);
    }
}
