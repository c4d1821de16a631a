//! The command-line tool as a program.

use std::process::ExitCode;

fn main() -> ExitCode {
    goodarm_data::panics::silence_caught();
    goodarm::main(std::env::args_os().collect()).into()
}
