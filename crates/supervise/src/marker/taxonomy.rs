//! The types of markers that the field uses, in their categories.

const TAXONOMY: &[(&str, &str)] = &[
    ("research process", "OBJECTIVE HYPOTHESIS EXPERIMENT OBSERVATION ANALYSIS CONCLUSION"),
    ("data", "DATA SHAPE DTYPE RANGE MISSING MEMORY"),
    ("calculations", "CALC METRIC STAT CORR"),
    ("artifacts", "PLOT ARTIFACT TABLE FIGURE"),
    ("insights", "FINDING INSIGHT PATTERN"),
    ("workflow", "STEP STAGE CHECKPOINT CHECK INFO WARNING ERROR DEBUG REHYDRATED"),
    (
        "scientific",
        "CITATION LIMITATION NEXT_STEP DECISION SO_WHAT INDEPENDENT_CHECK CHALLENGE_RESPONSE VERIFICATION_CODE",
    ),
];

/// What a type of marker is about; `None` for an unknown one. `-` reads as `_`.
pub fn category(kind: &str) -> Option<&'static str> {
    let kind = kind.replace('-', "_");
    kinds().find(|(known, _)| *known == kind).map(|(_, category)| category)
}

/// Every known type with its category, in the order of the taxonomy.
pub fn kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    TAXONOMY.iter().flat_map(|(category, kinds)| kinds.split(' ').map(|kind| (kind, *category)))
}
