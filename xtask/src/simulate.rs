//! `cargo xtask simulate`: whole runs on virtual time with failures of all kinds, from many seeds.

use crate::cargo;
use crate::tools::runs;

/// Runs the simulation; `None` if the arguments are wrong.
pub(crate) fn simulate(arguments: &[String]) -> Option<bool> {
    let (first, count) = seeds(arguments)?;
    eprintln!("xtask: {count} seeds from {first} on");
    let test = "run::simulation::as_many_seeds_as_one_likes";
    let mut command = cargo(&["test", "--release", "-p", "goodarm-live", "--lib", "--", "--exact"]);
    command.args([test, "--ignored", "--nocapture"]);
    command.env("GOODARM_SEED", first.to_string()).env("GOODARM_SEED_COUNT", count.to_string());
    Some(runs(&mut command))
}

/// The first seed, and how many.
fn seeds(arguments: &[String]) -> Option<(u64, u64)> {
    let (mut first, mut count) = (None, None);
    for pair in arguments.chunks(2) {
        let number = pair.get(1)?.replace(['_', ','], "").parse().ok()?;
        match pair[0].as_str() {
            "--seed" => first = Some(number),
            "--seeds" => count = Some(number),
            _ => return None,
        }
    }
    let count = count.unwrap_or(if first.is_some() { 1 } else { 1_000 });
    Some((first.unwrap_or(0), count))
}
