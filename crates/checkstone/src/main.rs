use std::process::ExitCode;

fn main() -> ExitCode {
    checkstone::run(std::env::args_os())
}
