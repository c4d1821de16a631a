//! What a run writes when it has ended.

use goodarm_record::ending::Ending;
use goodarm_record::finish::{self, Recovery};
use goodarm_record::folder::Folder;
use goodarm_record::outputs::{OutputError, Standing};
use goodarm_record::view::Overview;

use crate::run::Run;

impl Run {
    /// Writes all files of the folder but the journal and the candidates. The run has ended: after an error
    /// nobody knows how much of its journal is durable, and a summary must not have seen more.
    pub fn write_outputs(&self, ending: &Ending) -> Result<Overview, OutputError> {
        let folder = Folder::new(&self.job().settings.output);
        finish::write(&self.standing(&folder), ending)
    }

    /// What its files are made from; `folder` is its own.
    pub fn standing<'a>(&'a self, folder: &'a Folder) -> Standing<'a> {
        let job = self.job();
        Standing {
            folder,
            charter: &job.charter,
            books: self.session().books(),
            account: self.account(),
            candidates: self.candidates(),
            questions: job.questions.as_deref(),
        }
    }

    /// What it found of the last process when it was resumed.
    pub fn recovery(&self) -> Recovery {
        Recovery { bytes_cut: self.bytes_cut(), added: self.added_count(), lost: self.lost_count() }
    }
}
