//! `.claude/current-build.local.md`: the feature that is being built, its phase and its iteration, as other tools write
//! them: `feature: …`, `phase: …`, `iteration: …`, each in a line of its own.

/// Where it lies in a project.
pub const PATH: &str = ".claude/current-build.local.md";

/// No value is longer.
const LONGEST: usize = 200;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuildState {
    pub feature: Option<String>,
    pub phase: Option<String>,
    pub iteration: Option<String>,
}

impl BuildState {
    /// `None` if the text says nothing of a build.
    pub fn read(text: &str) -> Option<Self> {
        let mut state = Self::default();
        for line in text.lines() {
            let line = line.trim().trim_start_matches(['-', '*']).trim_start();
            let Some((name, value)) = line.split_once(':') else { continue };
            let value = value.trim().trim_matches(['*', '"', '\'']).trim();
            let slot = match name.trim().trim_matches('*').to_ascii_lowercase().as_str() {
                "feature" => &mut state.feature,
                "phase" => &mut state.phase,
                "iteration" => &mut state.iteration,
                _ => continue,
            };
            // The first one counts: what follows is prose.
            if slot.is_none() && !value.is_empty() {
                *slot = Some(text::head(value, LONGEST).to_owned());
            }
        }
        (state != Self::default()).then_some(state)
    }

    /// In a few words.
    pub fn sentence(&self) -> String {
        let parts = [("feature", &self.feature), ("phase", &self.phase), ("iteration", &self.iteration)];
        let parts = parts.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value.as_ref()?)));
        parts.collect::<Vec<_>>().join(", ")
    }
}
