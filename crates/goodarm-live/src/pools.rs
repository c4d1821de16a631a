//! A recording of a solver as pools of solutions: what `goodarm reproduce --data` takes, so that the
//! paper's experiment runs on one's own questions.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use serde_json::json;

use crate::answer::{Extractor, same};
use crate::job::Job;
use crate::job_file::Role;
use crate::recording::Outcomes;

/// Writes one line for each candidate: its own final answer, the reference answer in the field
/// `gold`, and the recorded solutions with their costs. Answers that are the same are written alike.
pub fn write(
    job: &Job,
    recording: &Path,
    gold: &str,
    out: &mut impl Write,
) -> Result<usize, String> {
    let is_solver = |role| role == Some(Role::Solver);
    let solver = job
        .file
        .verifiers
        .iter()
        .find(|file| is_solver(file.role) && file.votes.unwrap_or(1) == 1)
        .ok_or("the job has no solver with one vote, so there are no solutions to pool")?;
    let extract = solver.extract.unwrap_or_default();
    let extractor = Extractor::new(extract, solver.pattern.as_deref(), solver.pointer.as_deref())
        .map_err(|wrong| wrong.to_string())?;
    let solutions = solutions(recording, &solver.name).map_err(|error| error.to_string())?;
    let field = solver.field.as_deref().unwrap_or("answer");
    let mut count = 0;
    for arm in job.candidates.arms() {
        let candidate = job.candidates.get(arm);
        let Some(solutions) = solutions.get(&candidate.id) else { continue };
        let text = |field: &str| match candidate.fields().get(field) {
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
        writeln!(out, "{line}").map_err(|error| error.to_string())?;
        count += 1;
    }
    Ok(count)
}

fn solutions(path: &Path, verifier: &str) -> io::Result<BTreeMap<String, Vec<(String, u32)>>> {
    let mut solutions: BTreeMap<String, Vec<(String, u32)>> = BTreeMap::new();
    for line in BufReader::new(File::open(path)?).lines().skip(1) {
        let outcomes: Outcomes = serde_json::from_str(&line?)?;
        if outcomes.verifier != verifier {
            continue;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let pairs =
            outcomes.answers.into_iter().zip(outcomes.costs.iter().map(|cost| *cost as u32));
        solutions.entry(outcomes.id).or_default().extend(pairs);
    }
    Ok(solutions)
}
