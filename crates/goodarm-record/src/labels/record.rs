//! A run's folder, as far as labels are about it.

use goodarm_core::{ArmId, Books};
use goodarm_data::candidates::KEY;
use goodarm_data::candidates::fields;
use goodarm_data::candidates::text_of;

use super::{Card, LabelError};
use crate::account::Account;
use crate::charter::Charter;
use crate::claims::labelled::{Labelled, Labels};
use crate::claims::line::Line;
use crate::claims::order::{self, CertifiedAt};
use crate::deck::{Field, Wanted};
use crate::folder::Folder;
use crate::history::History;
use crate::journal::Mark;
use crate::roster::Roster;
use crate::sealed_lines::{SealedError, SealedReader};
use crate::view::{ClaimView, Overview, PairView};

/// The books of a run as its journal gives them.
pub(super) struct Record {
    folder: Folder,
    pub(super) charter: Charter,
    books: Books,
    account: Account,
    roster: Roster,
    pub(super) mark: Mark,
    span_millis: [u64; 2],
    certified_at: CertifiedAt,
}

impl Record {
    /// Reads a folder, for these labels.
    pub(super) fn read(folder: &Folder, labels: &Labels) -> Result<Self, LabelError> {
        let path = folder.journal();
        let told = |error| LabelError::History { path: path.clone(), error };
        let mut history = History::open(&path).map_err(told)?;
        let mut books = Books::new(history.problem().map_err(told)?);
        let mut account = Account::new(&books);
        let mut certified_at = CertifiedAt::new(labels.claims.iter().map(|claim| &claim.begun));
        while let Some(entry) = history.next_entry().map_err(told)? {
            let applied = books.apply(&entry.event);
            applied.map_err(|error| LabelError::Mismatch { path: path.clone(), error })?;
            account.take(&books, &entry);
            certified_at.note(history.len_read(), books.certified().len());
        }
        let mark = history.mark(&path);
        let mark = mark.map_err(|error| LabelError::Read { path: path.clone(), error })?;
        let roster = Roster::read(folder, &history.charter, None)?;
        let fits = history.header().candidates;
        if !roster.candidates.begin_with(history.charter.candidate_count, &fits)
            || roster.candidates.len() < books.problem().arm_count()
        {
            return Err(LabelError::OtherCandidates(folder.candidates()));
        }
        let span_millis = history.span_millis();
        let (folder, charter) = (folder.clone(), history.charter);
        Ok(Self { folder, charter, books, account, roster, mark, span_millis, certified_at })
    }

    pub(super) const fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The certified answers, in the order of their certificates.
    pub(super) fn certified(&self) -> Vec<&str> {
        self.books.certified().iter().map(|&arm| self.roster.candidates.id(arm)).collect()
    }

    /// Makes sure that all claims are about this run.
    pub(super) fn check(&self, labels: &Labels) -> Result<(), LabelError> {
        let (journal, seed, certified) =
            (self.folder.journal(), self.charter.seed(), self.certified());
        for Labelled { begun, .. } in &labels.claims {
            let then = self.certified_at.get(begun);
            order::check(begun, &journal, seed, &certified, then)
                .map_err(|reason| LabelError::OtherRun { path: self.folder.labels(), reason })?;
        }
        Ok(())
    }

    /// The run as its summary has it, but for how it ended.
    pub(super) fn overview(&self, claim: Option<ClaimView>) -> Overview {
        let charter = self.folder.present(&self.charter);
        let mut overview = Overview::in_full(&charter, &self.books, &self.account);
        overview.set_span(self.span_millis, &self.account);
        overview.journal = Some(self.mark.clone());
        overview.claim = claim;
        overview
    }

    /// What a person is asked about an answer.
    pub(super) fn card(&self, id: &str) -> Option<Card> {
        let arm = self.roster.candidates.arm_of(id)?;
        let problem = self.books.problem();
        let evidence = problem.attributes().map(|attribute| {
            let view = PairView::new(&self.books, &self.account, arm, attribute);
            let attribute = problem.attribute(attribute);
            Field { name: attribute.name().to_owned(), text: said(&view, attribute.threshold()) }
        });
        Some(Card {
            key: id.to_owned(),
            id: id.to_owned(),
            asks: "Is this answer right?".to_owned(),
            wanted: Wanted::Verdict,
            fields: self.fields(arm),
            evidence: evidence.collect(),
        })
    }

    /// The fields of an answer in their order, behind those of its question.
    fn fields(&self, arm: ArmId) -> Vec<Field> {
        let mut fields = fields::in_order(self.roster.candidates.json(arm));
        if let (Some(questions), Some(all)) =
            (&self.roster.questions, self.books.problem().questions())
        {
            let question = fields::in_order(questions.list.json(ArmId(all.of(arm).0)));
            let (of_question, own) = fields
                .into_iter()
                .partition(|(name, _)| question.iter().any(|(other, _)| other == name));
            let mut of_question: Vec<_> = of_question;
            let is_there = |name: &String| of_question.iter().any(|(other, _)| other == name);
            let lacking: Vec<_> =
                question.into_iter().filter(|(name, _)| !is_there(name)).collect();
            of_question.extend(lacking);
            of_question.extend::<Vec<_>>(own);
            fields = of_question;
        }
        let id_field = self.charter.id_field();
        let shown = fields.into_iter().filter(|(name, _)| *name != id_field && name != KEY);
        shown.map(|(name, value)| Field { name, text: text_of(&value).into_owned() }).collect()
    }
}

/// What a verifier says about an answer.
fn said(view: &PairView, threshold: f64) -> String {
    let calls = goodarm_files::words::counted(view.calls, "call");
    match view.mean {
        Some(mean) => format!("mean {mean:.3} of {calls}, threshold {threshold}"),
        None => format!("no score in {calls}, threshold {threshold}"),
    }
}

/// The lines of a folder's labels, and what they come to; none if nobody has begun to label.
pub(crate) fn read(folder: &Folder) -> Result<(Vec<Line>, Labels), SealedError> {
    let path = folder.labels();
    let lines = SealedReader::<Line>::new(&path).read_on()?;
    let labels = Labels::new(&lines).map_err(|(line, error)| SealedError::Damaged {
        path,
        line,
        reason: error.to_string(),
    })?;
    Ok((lines, labels))
}
