//! What a checkpoint held, back in a fresh kernel.
