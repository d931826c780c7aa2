//! Whether anything is saved, and how far it goes: the settings, and the switches beside them.

use gate::policy::{Autosave, AutosaveMode};

/// The switches outside the settings, as they stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// `.claude/auto-continue-disabled` lies in the project.
    pub is_disabled: bool,
    /// `~/.claude/autonomous-mode.active` is there.
    pub has_flag: bool,
    /// `CLAUDE_LOOP_ACTIVE` is `1`.
    pub is_looping: bool,
    /// `CLAUDE_CONTEXT_THRESHOLD`, where it is a percentage.
    pub threshold: Option<u8>,
}

impl Switches {
    /// `CLAUDE_CONTEXT_THRESHOLD` as it is written; what is no percentage from 1 to 99 does not count.
    pub fn threshold_of(text: &str) -> Option<u8> {
        let text = text.trim();
        let number = text.strip_suffix('%').unwrap_or(text).trim_end();
        number.parse().ok().filter(|percent| (1..=99).contains(percent))
    }

    /// The settings with the switches applied. The project's switch beats all; flag and loop beat the settings, since
    /// whoever set them did so later than the settings were written.
    pub fn apply(&self, mut settings: Autosave) -> Autosave {
        if self.is_disabled {
            settings.mode = AutosaveMode::Off;
        } else if self.has_flag || self.is_looping {
            settings.mode = AutosaveMode::Autonomous;
        }
        settings.threshold = self.threshold.unwrap_or(settings.threshold);
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(settings: AutosaveMode, switches: Switches) -> AutosaveMode {
        switches.apply(Autosave { mode: settings, ..Autosave::default() }).mode
    }

    #[test]
    fn off_is_the_default() {
        assert_eq!(Autosave::default().mode, AutosaveMode::Off);
        assert_eq!(mode(AutosaveMode::Off, Switches::default()), AutosaveMode::Off);
    }

    #[test]
    fn flag_and_loop_make_it_autonomous_and_the_projects_switch_beats_them() {
        let flag = Switches { has_flag: true, ..Switches::default() };
        let looping = Switches { is_looping: true, ..Switches::default() };
        for switches in [flag, looping] {
            for settings in [AutosaveMode::Off, AutosaveMode::Normal, AutosaveMode::Autonomous] {
                assert_eq!(mode(settings, switches), AutosaveMode::Autonomous);
                let disabled = Switches { is_disabled: true, ..switches };
                assert_eq!(mode(settings, disabled), AutosaveMode::Off);
            }
        }
    }

    #[test]
    fn a_threshold_is_a_percentage_or_nothing() {
        for (text, percent) in [("40", Some(40)), (" 65% ", Some(65)), ("1", Some(1)), ("99", Some(99))] {
            assert_eq!(Switches::threshold_of(text), percent, "{text}");
        }
        for text in ["", "0", "100", "-3", "forty", "0.4", "256"] {
            assert_eq!(Switches::threshold_of(text), None, "{text}");
        }
        let switches = Switches { threshold: Some(60), ..Switches::default() };
        assert_eq!(switches.apply(Autosave::default()).threshold, 60);
        assert_eq!(Switches::default().apply(Autosave::default()).threshold, 40);
    }
}
