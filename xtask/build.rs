//! Tells the program which machine it was built on: fuzzing needs the target spelled out.

#[expect(clippy::disallowed_methods, reason = "cargo tells build scripts through the environment")]
fn main() {
    println!("cargo::rustc-env=XTASK_HOST={}", std::env::var("HOST").unwrap_or_default());
}
