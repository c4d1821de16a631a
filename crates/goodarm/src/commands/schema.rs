//! `goodarm schema`: the JSON Schema of a job file, for editors.

use goodarm_live::job;
use goodarm_live::services::ServiceKinds;

use crate::commands::CommandError;
use crate::terminal;

pub(crate) fn run() -> Result<(), CommandError> {
    terminal::print(&job::schema(&ServiceKinds::default()));
    Ok(())
}
