//! `goodarm completions`: what shells and `man` want to know.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell as Target;

use crate::cli::{Cli, CompletionsArguments, Shell};
use crate::commands::Failure;
use crate::terminal;

pub(crate) fn run(arguments: &CompletionsArguments) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    let mut command = Cli::command();
    let target = match arguments.shell {
        Shell::Bash => Target::Bash,
        Shell::Elvish => Target::Elvish,
        Shell::Fish => Target::Fish,
        Shell::Power => Target::PowerShell,
        Shell::Zsh => Target::Zsh,
        Shell::Man => {
            clap_mangen::Man::new(command)
                .render(&mut bytes)
                .map_err(|error| Failure::wrong_input(format!("the man page: {error}")))?;
            let _ = terminal::own_text().write_all(&bytes);
            return Ok(());
        }
    };
    clap_complete::generate(target, &mut command, "goodarm", &mut bytes);
    let _ = terminal::own_text().write_all(&bytes);
    Ok(())
}
