//! `cargo xtask simulate`: whole runs on virtual time, with everything failing around them, for as many
//! seeds as there is time for.

use std::process::ExitCode;

use crate::cargo;

const USAGE: &str = "usage: cargo xtask simulate [--seeds COUNT] [--seed FIRST]
  COUNT runs (1,000 if not given), from seed FIRST (0) on; --seed alone is that one run";

pub(crate) fn simulate(arguments: impl Iterator<Item = String>) -> ExitCode {
    let Some((first, count)) = seeds(arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    eprintln!("xtask: {count} seeds from {first} on");
    let test = "run::simulation::as_many_seeds_as_one_likes";
    let status =
        cargo(&["test", "--release", "-p", "goodarm-live", "--lib", "--", "--exact", test])
            .args(["--ignored", "--nocapture"])
            .env("GOODARM_SEED", first.to_string())
            .env("GOODARM_SEED_COUNT", count.to_string())
            .status();
    if status.is_ok_and(|status| status.success()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The first seed, and how many.
fn seeds(mut arguments: impl Iterator<Item = String>) -> Option<(u64, u64)> {
    let (mut first, mut count) = (None, None);
    while let Some(name) = arguments.next() {
        let number = arguments.next()?.replace(['_', ','], "").parse().ok()?;
        match name.as_str() {
            "--seed" => first = Some(number),
            "--seeds" => count = Some(number),
            _ => return None,
        }
    }
    let count = count.unwrap_or(if first.is_some() { 1 } else { 1_000 });
    Some((first.unwrap_or(0), count))
}
