//! A recording of a solver as pools of solutions: what `goodarm-lab reproduce --data` takes, so that the
//! paper's experiment runs on one's own questions.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use goodarm_data::answer::same;
use goodarm_data::bounds;
use goodarm_record::recording::Outcomes;
use serde_json::json;

use crate::job::Job;
use crate::service::FinalAnswers;

/// Why there are no pools.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PoolsError {
    /// Nothing in the job solves questions one at a time.
    #[error("the job has no solver with one vote, so there are no solutions to pool")]
    NoSolver,
    /// The recording cannot be read, or the pools cannot be written.
    #[error(transparent)]
    File(#[from] io::Error),
}

/// Writes one line for each candidate: its own final answer, the reference answer in the field
/// `gold`, and the recorded solutions with their costs. Answers that are the same are written alike.
pub fn write(
    job: &Job,
    recording: &Path,
    gold: &str,
    out: &mut impl Write,
) -> Result<usize, PoolsError> {
    let mut solvers = job.verifiers.iter().filter_map(|verifier| {
        let answers = verifier.service.manifest.final_answers.as_ref()?;
        Some((&verifier.name, answers))
    });
    let (name, FinalAnswers { field, extractor, .. }) =
        solvers.next().ok_or(PoolsError::NoSolver)?;
    let solutions = solutions(recording, name)?;
    let mut count = 0;
    for arm in job.candidates.arms() {
        let candidate = job.candidates.get(arm);
        let Some(solutions) = solutions.get(&candidate.id) else { continue };
        let text = |field: &str| match candidate.field(field) {
            Some(serde_json::Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => String::new(),
        };
        let own = extractor.extract(&text(field)).unwrap_or_default();
        let gold = text(gold);
        let gold = extractor.extract(&gold).unwrap_or(gold);
        // The pools compare texts, so whatever is the same as the own answer is written like it.
        let alike = |answer: &str| if same(answer, &own) { own.clone() } else { answer.to_owned() };
        let solutions: Vec<_> = solutions
            .iter()
            .map(|(answer, cost)| json!({"answer": alike(answer), "tokens": cost}))
            .collect();
        let line = json!({
            "id": candidate.id,
            "question": text("question"),
            "gold": alike(&gold),
            "candidate": {"text": text(field), "answer": own, "tokens": 0},
            "solutions": solutions,
        });
        writeln!(out, "{line}")?;
        count += 1;
    }
    out.flush()?;
    Ok(count)
}

fn solutions(path: &Path, verifier: &str) -> io::Result<BTreeMap<String, Vec<(String, u32)>>> {
    let mut solutions: BTreeMap<String, Vec<(String, u32)>> = BTreeMap::new();
    let lines = bounds::unpacked(path, File::open(path)?);
    let lines = bounds::json_lines(lines, bounds::memory_max(bounds::length_of(path)));
    for (line, number) in lines.zip(1..).skip(1) {
        let at = |problem: &dyn std::fmt::Display| {
            io::Error::other(format!("{}: line {number}: {problem}", path.display()))
        };
        let line = line.map_err(|error| at(&error))?;
        let outcomes: Outcomes = serde_json::from_str(&line).map_err(|error| at(&error))?;
        if outcomes.verifier != verifier {
            continue;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let pairs =
            outcomes.answers.into_iter().zip(outcomes.costs.iter().map(|cost| cost.units() as u32));
        solutions.entry(outcomes.id).or_default().extend(pairs);
    }
    Ok(solutions)
}
