//! A run inside a program: a job made in code, a verifier of one's own, and what happens as it
//! happens. `cargo run -p goodarm-live --example embed_run`

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use goodarm_core::Cost;
use goodarm_data::candidates::{Candidate, Candidates};
use goodarm_live::job::{Job, JobSettings, JobSpec, ServiceSpec};
use goodarm_live::run::Run;
use goodarm_live::service::{CallFuture, Remote, Reply};
use goodarm_live::throttle::Throttle;
use goodarm_record::control::Control;
use goodarm_record::notice::{Notice, Observer};

/// Approves of right answers nine times of ten, and of wrong ones once.
struct Judge;

impl Remote for Judge {
    fn preview(&self, candidate: &Candidate) -> String {
        candidate.json.clone()
    }

    fn call<'a>(&'a self, candidate: &'a Candidate, _: &'a Throttle) -> CallFuture<'a> {
        Box::pin(async move {
            let approvals = if candidate.fields()["answer"] == "4" { 9 } else { 1 };
            let die = RandomState::new().hash_one(&candidate.id) % 10; // another one for each call
            Reply::score(f64::from(u8::from(die < approvals)))
        })
    }
}

/// Prints certificates.
struct Printer;

impl Observer for Printer {
    fn notice(&mut self, notice: Notice<'_>) {
        if let Notice::Certified { id, spent, .. } = notice {
            println!("{id} is certified after {spent} calls");
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let lines = [r#"{"id": "first", "answer": "4"}"#, r#"{"id": "second", "answer": "5"}"#];
    let candidates = Candidates::from_lines(lines, "id")?;
    let judge = ServiceSpec { threshold: Some(0.6), ..ServiceSpec::new("judge", Judge) };
    let output = std::env::temp_dir().join(format!("goodarm-{}", std::process::id()));
    let settings =
        JobSettings { output: output.clone(), ..JobSettings::new(Cost::from_units(400), 0.05) };
    let job = Job::new(JobSpec { settings, candidates, verifiers: vec![judge], questions: None })?;
    let mut run = Run::begin(Arc::new(job))?; // Run::resume after a crash
    let ending = run.drive_async(&Control::default(), &mut Printer).await?;
    println!("{ending}; the journal is in {}", output.display());
    Ok(())
}
