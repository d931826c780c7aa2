//! The words that the protocol allows in its fields, each with its spelling.

/// An enumeration whose variants are written in one way each.
macro_rules! word {
    ($(#[$about:meta])* $name:ident { $($(#[$meaning:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        text::named! {
            $(#[$about])*
            #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
            pub enum $name { $($(#[$meaning])* $variant = $text),+ }
        }

        impl $name {
            /// Every spelling, in the order of the protocol.
            pub const NAMES: &'static [&'static str] = &[$($text),+];
        }
    };
}

word! {
    /// The sub-agent's specialty.
    Mode {
        /// Research, design and documentation of what is to be built.
        Plan = "plan",
        /// Implementation: libraries, scripts, logic.
        Code = "code",
        /// Components that people see.
        Ui = "ui",
        /// Writing documentation.
        Docs = "docs",
        /// Tests and validation.
        Eval = "eval",
        /// The plan compared with what was built.
        Reconcile = "reconcile",
        /// Investigation and discovery.
        Research = "research",
    }
}

word! {
    /// The step of the work that is handed over.
    Phase {
        Research = "research",
        Write = "write",
        Validate = "validate",
        /// Several sub-agents at once; the results are put together.
        Parallel = "parallel",
    }
}

word! {
    /// What the response must contain.
    ExpectedOutput {
        StructuredFindings = "structured_findings",
        FilesChanged = "files_changed",
        ValidationResult = "validation_result",
        AggregatedResults = "aggregated_results",
    }
}

word! {
    /// How far the sub-agent got.
    Status {
        Complete = "complete",
        Partial = "partial",
        Blocked = "blocked",
    }
}

word! {
    /// What the sub-agent advises.
    Decision {
        Proceed = "PROCEED",
        Stop = "STOP",
        /// A question has to be answered first.
        Clarify = "CLARIFY",
    }
}

word! {
    /// How a command ended.
    CommandOutcome {
        Ok = "ok",
        Error = "error",
        /// Still running, interrupted, or not recorded.
        Unknown = "unknown",
    }
}

impl Mode {
    /// The phase that work of this kind usually is.
    pub fn usual_phase(self) -> Phase {
        match self {
            Self::Plan | Self::Research => Phase::Research,
            Self::Code | Self::Ui | Self::Docs => Phase::Write,
            Self::Eval | Self::Reconcile => Phase::Validate,
        }
    }
}

impl Phase {
    /// What a step of this kind usually brings.
    pub fn usual_output(self) -> ExpectedOutput {
        match self {
            Self::Research => ExpectedOutput::StructuredFindings,
            Self::Write => ExpectedOutput::FilesChanged,
            Self::Validate => ExpectedOutput::ValidationResult,
            Self::Parallel => ExpectedOutput::AggregatedResults,
        }
    }
}
