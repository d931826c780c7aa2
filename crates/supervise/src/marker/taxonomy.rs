//! The types of markers that the field uses, in their categories.

/// What a type of marker is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    ResearchProcess,
    Data,
    Calculations,
    Artifacts,
    Insights,
    Workflow,
    Scientific,
}

impl Category {
    /// The name as it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::ResearchProcess => "research process",
            Self::Data => "data",
            Self::Calculations => "calculations",
            Self::Artifacts => "artifacts",
            Self::Insights => "insights",
            Self::Workflow => "workflow",
            Self::Scientific => "scientific",
        }
    }
}

const TAXONOMY: &[(Category, &[&str])] = &[
    (
        Category::ResearchProcess,
        &["OBJECTIVE", "HYPOTHESIS", "EXPERIMENT", "OBSERVATION", "ANALYSIS", "CONCLUSION"],
    ),
    (Category::Data, &["DATA", "SHAPE", "DTYPE", "RANGE", "MISSING", "MEMORY"]),
    (Category::Calculations, &["CALC", "METRIC", "STAT", "CORR"]),
    (Category::Artifacts, &["PLOT", "ARTIFACT", "TABLE", "FIGURE"]),
    (Category::Insights, &["FINDING", "INSIGHT", "PATTERN"]),
    (
        Category::Workflow,
        &["STEP", "STAGE", "CHECKPOINT", "CHECK", "INFO", "WARNING", "ERROR", "DEBUG", "REHYDRATED"],
    ),
    (
        Category::Scientific,
        &[
            "CITATION",
            "LIMITATION",
            "NEXT_STEP",
            "DECISION",
            "SO_WHAT",
            "INDEPENDENT_CHECK",
            "CHALLENGE_RESPONSE",
            "VERIFICATION_CODE",
        ],
    ),
];

/// The category of a type; `None` for an unknown one. `-` reads as `_`.
pub fn category(kind: &str) -> Option<Category> {
    let kind = kind.replace('-', "_");
    TAXONOMY.iter().find(|(_, kinds)| kinds.contains(&kind.as_str())).map(|(category, _)| *category)
}

/// Every known type with its category, in the order of the taxonomy.
pub fn kinds() -> impl Iterator<Item = (&'static str, Category)> {
    TAXONOMY.iter().flat_map(|(category, kinds)| kinds.iter().map(|kind| (*kind, *category)))
}
