//! Benchmarks. Machines are shared and noisy, so every figure is a ratio of things measured in the same run,
//! taken in turns.

pub(crate) mod transcript;
