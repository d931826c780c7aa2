//! Plans to begin with, one for each kind of work. Each runs as it is where there is what it needs.

/// A plan to begin with.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    pub kind: &'static str,
    /// What it needs of the machine, as people read it.
    pub needs: &'static str,
    /// With `{title}` where the title goes.
    text: &'static str,
}

const PYTHON: &str = "Python with ipykernel and pandas";

pub const TEMPLATES: &[Template] = &[
    Template { kind: "pipeline", needs: "nothing but a shell", text: include_str!("template/pipeline.toml") },
    Template { kind: "research", needs: PYTHON, text: include_str!("template/research.toml") },
    Template { kind: "load", needs: PYTHON, text: include_str!("template/load.toml") },
    Template { kind: "explore", needs: PYTHON, text: include_str!("template/explore.toml") },
    Template { kind: "train", needs: PYTHON, text: include_str!("template/train.toml") },
    Template { kind: "evaluate", needs: PYTHON, text: include_str!("template/evaluate.toml") },
];

impl Template {
    pub fn of_kind(kind: &str) -> Option<&'static Self> {
        TEMPLATES.iter().find(|template| template.kind == kind)
    }

    /// The plan under a title.
    pub fn text(&self, title: &str) -> String {
        self.text.replace("{title}", title)
    }
}
