//! The help of the tool as a whole: its commands in groups.

use std::fmt::Write as _;

use clap::Command;

/// The commands that `goodarm --help` lists. [`with_all`] lists the others as well.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Start", &["example", "init", "docs"]),
    ("Run", &["try", "plan", "run"]),
    ("Look", &["report", "export"]),
    ("Prove", &["label", "calibrate", "audit"]),
];

const HINT: &str =
    "`goodarm COMMAND --help` describes a command, `goodarm help --all` lists the others.";

/// The command line with the usual commands in its help.
pub(crate) fn with_groups(command: Command) -> Command {
    let template = template(&command, &GROUPS);
    command.help_template(template).after_help(HINT)
}

/// The command line with all commands in its help.
pub(crate) fn with_all(command: Command) -> Command {
    let names = command.get_subcommands().map(Command::get_name);
    let is_grouped = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let others: Vec<&str> = names.filter(|name| !is_grouped(name)).collect();
    let mut groups = GROUPS.to_vec();
    groups.push(("Others", &others));
    let template = template(&command, &groups);
    command.help_template(template)
}

/// The template of a help that lists these groups.
fn template(command: &Command, groups: &[(&str, &[&str])]) -> String {
    let names = groups.iter().flat_map(|(_, names)| names.iter());
    let width = names.map(|name| name.len()).max().unwrap_or_default();
    let (header, literal) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let mut text = "{about}\n\n{usage-heading} {usage}\n\n".to_owned();
    for (title, names) in groups {
        let _ = writeln!(text, "{header}{title}:{header:#}");
        for name in *names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {literal}{name:width$}{literal:#}  {about}");
        }
        text.push('\n');
    }
    let _ = write!(text, "{header}Options:{header:#}\n{{options}}{{after-help}}");
    text
}
