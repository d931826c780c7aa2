//! Random edits, reverts, runs, commits, branch switches, stashes and interrupts of several sessions in several worktrees,
//! compared step by step with a simple model of what is proven. The model is the definition in docs/gate.md.

mod model;
mod story;

#[test]
fn what_is_proven_is_what_the_model_says() {
    story::play(None, 80);
}
