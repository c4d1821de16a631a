//! Whoever answers questions: a kind's own reply, and the final answer that is found in it.

use goodarm_files::Draws;
use std::collections::BTreeSet;

use goodarm_core::CountedFailure;
use goodarm_data::answer::Extractor;
use goodarm_data::candidates::{Candidate, Candidates};
use goodarm_record::charter::PeopleTerms;
use goodarm_record::deck::Said;
use goodarm_record::fingerprint::Fingerprint;
use goodarm_record::job_file::{Scores, Unit};

use super::{
    Called, FinalAnswers, MeanOver, Place, Remark, Reply, Usage, Verdict, Verifier, elsewhere,
};
use crate::pricing::{Extent, Pricing};
use crate::secrets::Secrets;
use crate::throttle::Throttle;

/// Someone who answers questions, with where the final answer is.
pub(crate) struct Generator {
    answerer: Box<dyn Verifier>,
    extractor: Extractor,
    /// The field that gets the answer.
    field: String,
    /// A longer answer is none: prices of those who verify it depend on its length.
    bytes_max: usize,
}

impl Generator {
    pub(crate) fn new(
        answerer: Box<dyn Verifier>,
        extractor: Extractor,
        field: String,
        bytes_max: usize,
    ) -> Self {
        Self { answerer, extractor, field, bytes_max }
    }

    /// The reply with its final answer, or why there is none.
    fn read(extractor: &Extractor, bytes_max: usize, reply: Reply) -> Reply {
        let Verdict::Answer(answer) = reply.verdict else { return reply };
        let text = answer.text;
        let failed = |reason| Verdict::Failed(CountedFailure::Unreadable, reason);
        let verdict = if text.len() > bytes_max {
            let length = text.len();
            failed(format!("an answer of {length} bytes, and answer_bytes_max is {bytes_max}"))
        } else {
            match extractor.find(&text) {
                Ok(last) => Verdict::answer(text, last),
                Err(reason) => failed(format!("{reason} in the answer")),
            }
        };
        Reply { verdict, ..reply }
    }

    async fn answer(&self, question: &Candidate, throttle: &Throttle) -> Reply {
        let reply = self.answerer.call(question, throttle).await;
        let (extractor, bytes_max) = (self.extractor.clone(), self.bytes_max);
        match &reply.verdict {
            Verdict::Answer(answer)
                if answer.text.len() <= bytes_max && !extractor.is_quick_for(&answer.text) =>
            {
                elsewhere(move || Self::read(&extractor, bytes_max, reply))
                    .await
                    .unwrap_or_else(|died| died)
            }
            _ => Self::read(&extractor, bytes_max, reply),
        }
    }
}

impl Verifier for Generator {
    fn preview(&self, question: &Candidate) -> String {
        self.answerer.preview(question)
    }

    fn request(&self, question: &Candidate) -> String {
        self.answerer.request(question)
    }

    fn call<'a>(&'a self, question: &'a Candidate, throttle: &'a Throttle) -> Called<'a> {
        Box::pin(self.answer(question, throttle))
    }

    fn fields(&self) -> BTreeSet<String> {
        self.answerer.fields()
    }

    fn default_scores(&self) -> Scores {
        Scores::Binary
    }

    fn default_pricing(&self, unit: Unit) -> Option<Pricing> {
        self.answerer.default_pricing(unit)
    }

    fn extent(&self, questions: &Candidates) -> Extent {
        self.answerer.extent(questions)
    }

    fn address_count(&self) -> usize {
        self.answerer.address_count()
    }

    fn files_per_request(&self) -> usize {
        self.answerer.files_per_request()
    }

    fn is_reproducible(&self) -> bool {
        self.answerer.is_reproducible()
    }

    fn answer_here(&self, place: Place<'_>) -> Option<Reply> {
        let reply = self.answerer.answer_here(place)?;
        Some(Self::read(&self.extractor, self.bytes_max, reply))
    }

    fn answers_questions(&self) -> bool {
        true
    }

    fn people(&self) -> Option<PeopleTerms> {
        let terms = self.answerer.people()?;
        Some(PeopleTerms { answer_bytes_max: Some(self.bytes_max), ..terms })
    }

    fn heard(&self, said: &Said) -> Verdict {
        let (verdict, text) = (self.answerer.heard(said), String::new());
        let reply = Reply { verdict, usage: Usage::default(), text };
        Self::read(&self.extractor, self.bytes_max, reply).verdict
    }

    fn mean_over(&self) -> MeanOver {
        self.answerer.mean_over()
    }

    fn draws_from(&self) -> Option<(&str, Draws)> {
        self.answerer.draws_from()
    }

    fn files(&self) -> Vec<Fingerprint> {
        self.answerer.files()
    }

    fn remark(&self) -> Option<Remark> {
        self.answerer.remark()
    }

    fn secrets(&self) -> Option<&Secrets> {
        self.answerer.secrets()
    }

    fn suspicion(&self) -> Option<String> {
        self.answerer.suspicion()
    }

    fn final_answers(&self) -> Option<FinalAnswers<'_>> {
        Some(FinalAnswers { field: &self.field, extractor: &self.extractor })
    }
}
