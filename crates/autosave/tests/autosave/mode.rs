//! What the switches make of the settings.

use autosave::Switches;
use gate::policy::{Autosave, AutosaveMode};

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
