//! `goodarm schema`: the JSON Schema of a job file, for editors.

use std::io::{self, Write};

use goodarm_live::job_file;
use goodarm_live::verifier::Kinds;

use crate::commands::Failure;

pub(crate) fn run() -> Result<(), Failure> {
    let _ = io::stdout().lock().write_all(job_file::schema(&Kinds::default()).as_bytes());
    Ok(())
}
