//! The command `completions`: completions for shells.

use std::io::Write;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::{CommandError, own_text};

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// For which shell.
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Prints the completions of a program.
pub fn run(mut command: Command, arguments: &CompletionsArguments) -> Result<(), CommandError> {
    let mut bytes = Vec::new();
    let name = command.get_name().to_owned();
    clap_complete::generate(arguments.shell, &mut command, name, &mut bytes);
    let _ = own_text().write_all(&bytes);
    Ok(())
}
