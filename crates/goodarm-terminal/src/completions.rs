//! The command `completions`: completions for shells, and the man page.

use std::io::Write;

use clap::{Args, Command, ValueEnum};
use clap_complete::Shell as Target;

use crate::{CommandError, own_text};

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// For which shell; `man` prints the man page.
    #[arg(value_enum)]
    pub shell: Shell,
}

/// The target of completions.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Shell {
    /// Bash.
    #[value(help = None)]
    Bash,
    /// Elvish.
    #[value(help = None)]
    Elvish,
    /// Fish.
    #[value(help = None)]
    Fish,
    /// PowerShell.
    #[value(name = "powershell", help = None)]
    Power,
    /// Z shell.
    #[value(help = None)]
    Zsh,
    /// The man page, as roff.
    Man,
}

/// Prints the completions of a program, or its man page.
pub fn run(mut command: Command, arguments: &CompletionsArguments) -> Result<(), CommandError> {
    let mut bytes = Vec::new();
    let target = match arguments.shell {
        Shell::Bash => Target::Bash,
        Shell::Elvish => Target::Elvish,
        Shell::Fish => Target::Fish,
        Shell::Power => Target::PowerShell,
        Shell::Zsh => Target::Zsh,
        Shell::Man => {
            clap_mangen::Man::new(command)
                .render(&mut bytes)
                .map_err(|error| CommandError::wrong_input(format!("the man page: {error}")))?;
            let _ = own_text().write_all(&bytes);
            return Ok(());
        }
    };
    let name = command.get_name().to_owned();
    clap_complete::generate(target, &mut command, name, &mut bytes);
    let _ = own_text().write_all(&bytes);
    Ok(())
}
