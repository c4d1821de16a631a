//! What a run writes when it has ended.

use goodarm_record::folder::Folder;
use goodarm_record::labels;
use goodarm_record::outputs::{self, OutputError, Standing};
use goodarm_record::view::Overview;

use crate::run::Run;

impl Run {
    /// Writes all files of the folder but the journal and the candidates. The run has ended: after an error
    /// nobody knows how much of its journal is durable, and a summary must not have seen more.
    pub fn write_outputs(&self, ending: &str) -> Result<Overview, OutputError> {
        let (job, books, candidates) = (self.job(), self.session().books(), self.candidates());
        let folder = Folder::new(&job.settings.output);
        let standing = Standing {
            folder: &folder,
            charter: &job.charter,
            books,
            account: self.account(),
            candidates,
            questions: job.questions.as_deref(),
        };
        let mut overview = outputs::write(&standing, ending)?;
        let certified: Vec<&str> =
            books.certified().iter().map(|&arm| candidates.id(arm)).collect();
        let claim = labels::claim(&folder, &job.charter, &certified);
        let claim = claim.map(|claim| overview.claim = claim);
        outputs::write_summary(&folder, &overview)?;
        // No run fails for what people have said about it.
        overview.notes.extend(claim.err().map(|error| error.to_string()));
        Ok(overview)
    }
}
