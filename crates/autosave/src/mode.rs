//! Whether anything is saved, and how far it goes: the settings, and the switches beside them.

use gate::policy::{Autosave, AutosaveMode, PushRules, PushWhen};

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
    /// whoever set them did so later than the settings were written. What leaves the machine is another matter: they push
    /// always, unless the settings say otherwise.
    pub fn apply(&self, mut settings: Autosave) -> Autosave {
        if self.is_disabled {
            settings.mode = AutosaveMode::Off;
        } else if self.has_flag || self.is_looping {
            settings.mode = AutosaveMode::Autonomous;
            settings.push.get_or_insert(PushRules::all(PushWhen::Always));
        }
        settings.threshold = self.threshold.unwrap_or(settings.threshold);
        settings
    }
}
