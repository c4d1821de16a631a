//! What labels need from a run's folder.

use goodarm_core::{ArmId, Books, EventError};
use goodarm_data::candidates::KEY;
use goodarm_data::candidates::fields;
use goodarm_data::candidates::text_of;
use serde_json::Value;

use super::{Card, LabelError};
use crate::card_queue::hidden::HiddenFields;
use crate::card_queue::{Field, ReplyForm};
use crate::claims::labelled::{Claims, LabelledClaim};
use crate::claims::line::LabelLine;
use crate::claims::order::{self, CertifiedAt};
use crate::folder::Folder;
use crate::journal::Mark;
use crate::replay::{Balance, Follower, Replay};
use crate::sealed_lines::{SealedError, SealedReader};
use crate::subjects::Subjects;
use crate::terms::RunTerms;
use crate::view::{ClaimView, Overview, PairView};

/// A run, replayed from its journal.
pub(super) struct LabelledRun<F = Balance> {
    pub(super) folder: Folder,
    /// The replay, at the end of the journal.
    pub(super) replay: Replay<F>,
    pub(super) mark: Mark,
    certified_at: CertifiedAt,
}

impl<F: Follower<Refusal = EventError> + AsRef<Balance>> LabelledRun<F> {
    /// Reads a folder, for these labels. `follower` gets the opening balance, and returns what takes the entries.
    pub(super) fn read(
        folder: &Folder,
        labels: &Claims,
        follower: impl FnOnce(Balance) -> F,
    ) -> Result<Self, LabelError> {
        let replay = Replay::open(&folder.journal())?;
        let books = Books::new(replay.problem()?);
        // The journal was opened first, so it has no candidate that the file lacks.
        let kept = Subjects::kept(folder, &replay.history.terms);
        let (subjects, trouble) = kept.map_or_else(|it| (None, Some(it)), |it| (Some(it), None));
        let mut replay = replay.followed_by(follower(Balance::opening(books).with(subjects)));
        let mut certified_at = CertifiedAt::new(labels.claims.iter().map(|claim| &claim.begun));
        while replay.step()?.is_some() {
            let certified = replay.follower.as_ref().books.certified();
            certified_at.note(replay.history.len_read(), certified.len());
        }
        let mark = replay.mark()?;
        if let Some(trouble) = trouble {
            return Err(LabelError::Candidates(trouble));
        }
        let record = Self { folder: folder.clone(), replay, mark, certified_at };
        let (candidates, history) = (&record.subjects().candidates, &record.replay.history);
        if !candidates.begin_with(history.terms.candidate_count, &history.header().candidates)
            || candidates.len() < record.balance().books.problem().arm_count()
        {
            let path = folder.candidates();
            let text = format!("{}: not the candidates of the run", path.display());
            return Err(LabelError::Candidates(text));
        }
        Ok(record)
    }

    pub(super) const fn terms(&self) -> &RunTerms {
        &self.replay.history.terms
    }

    fn balance(&self) -> &Balance {
        self.replay.follower.as_ref()
    }

    fn subjects(&self) -> &Subjects {
        self.balance().subjects.as_ref().expect("a record is not made without answers")
    }

    /// The certified answers, in the order of their certificates.
    pub(super) fn certified(&self) -> Vec<&str> {
        let certified = self.balance().books.certified();
        certified.iter().map(|&arm| self.subjects().candidates.id(arm)).collect()
    }

    /// Checks that all claims belong to this run.
    pub(super) fn check(&self, labels: &Claims) -> Result<(), LabelError> {
        let (journal, seed, certified) =
            (self.folder.journal(), self.terms().seed(), self.certified());
        for LabelledClaim { begun, .. } in &labels.claims {
            let then = self.certified_at.get(begun);
            order::check(begun, &journal, seed, &certified, then)
                .map_err(|reason| LabelError::OtherRun { path: self.folder.labels(), reason })?;
        }
        Ok(())
    }

    /// The run as its summary has it, without its ending.
    pub(super) fn overview(&self, claim: Option<ClaimView>) -> Overview {
        let Balance { books, account, .. } = self.balance();
        let mut overview = Overview::in_full(self.terms(), books, account);
        overview.set_span(self.replay.history.span_millis());
        overview.journal = Some(self.mark.clone());
        overview.claim = claim;
        overview
    }

    /// Whether the run has an answer with this id.
    pub(super) fn has(&self, id: &str) -> bool {
        self.subjects().candidates.arm_of(id).is_some()
    }

    /// The card of an answer without hidden fields.
    pub(super) fn card(&self, id: &str, hidden: Option<&HiddenFields>) -> Option<Card> {
        let arm = self.subjects().candidates.arm_of(id)?;
        let Balance { books, account, .. } = self.balance();
        let problem = books.problem();
        let evidence = problem.attributes().map(|attribute| {
            let view = PairView::new(books, account, arm, attribute);
            let attribute = problem.attribute(attribute);
            Field { name: attribute.name.to_owned(), text: said(&view, attribute.threshold) }
        });
        Some(Card {
            key: id.to_owned(),
            id: id.to_owned(),
            asks: "Is this answer right?".to_owned(),
            wanted: ReplyForm::Verdict,
            fields: self.shown_fields(arm, hidden),
            evidence: evidence.collect(),
        })
    }

    /// The fields of an answer that are shown, as texts.
    fn shown_fields(&self, arm: ArmId, hidden: Option<&HiddenFields>) -> Vec<Field> {
        let mut fields = self.fields(arm);
        hidden.into_iter().for_each(|hidden| drop(hidden.take_out(&mut fields)));
        let field = |(name, value)| Field { name, text: text_of(&value).into_owned() };
        fields.into_iter().map(field).collect()
    }

    /// The fields of an answer that are hidden, and all of its fields.
    pub(super) fn hidden_fields(&self, id: &str, hidden: &HiddenFields) -> [Vec<String>; 2] {
        let arm = self.subjects().candidates.arm_of(id);
        let mut fields = arm.map_or_else(Vec::new, |arm| self.fields(arm));
        let names = fields.iter().map(|(name, _)| name.clone()).collect();
        [hidden.take_out(&mut fields), names]
    }

    /// The fields of the question, then those of the answer, in their order.
    fn fields(&self, arm: ArmId) -> Vec<(String, Value)> {
        let mut fields = fields::in_order(self.subjects().candidates.json(arm));
        if let (Some(questions), Some(all)) =
            (&self.subjects().questions, self.balance().books.problem().questions())
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
        let id_field = &self.terms().id_field;
        fields.retain(|(name, _)| name != id_field && name != KEY);
        fields
    }
}

/// A verifier's result on an answer.
fn said(view: &PairView, threshold: f64) -> String {
    let calls = goodarm_files::words::counted(view.calls, "call");
    match view.mean {
        Some(mean) => format!("mean {mean:.3} of {calls}, threshold {threshold}"),
        None => format!("no score in {calls}, threshold {threshold}"),
    }
}

/// The lines of a folder's labels, and the claims that follow from them; empty without labels.
pub(crate) fn read(folder: &Folder) -> Result<(Vec<LabelLine>, Claims), SealedError> {
    let path = folder.labels();
    let lines = SealedReader::<LabelLine>::new(&path).read_on()?;
    let labels = Claims::new(&lines).map_err(|(line, error)| SealedError::Damaged {
        path,
        line,
        reason: error.to_string(),
    })?;
    Ok((lines, labels))
}
