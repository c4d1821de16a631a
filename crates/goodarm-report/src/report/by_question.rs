//! Calls and money per question. A call about an answer belongs to the question of the answer.

use goodarm_core::{Books, Cost, Problem, QuestionId, Target};
use goodarm_record::history::SettledCall;
use goodarm_record::view::Overview;

use super::data::ReportQuestion;

/// The calls and the money of each question.
pub(super) struct ByQuestion {
    service_count: usize,
    /// The money of each question and service, question by question.
    spent: Vec<Cost>,
    /// The number of calls of each question.
    call_counts: Vec<u32>,
}

impl ByQuestion {
    pub(super) fn new(problem: &Problem) -> Self {
        let count = problem.questions().map_or(0, |questions| questions.count());
        let service_count = problem.service_count();
        Self {
            service_count,
            spent: vec![Cost::ZERO; count * service_count],
            call_counts: vec![0; count],
        }
    }

    /// Adds a call.
    pub(super) fn take(&mut self, problem: &Problem, call: &SettledCall<'_>) {
        let Some(questions) = problem.questions() else { return };
        let question = match call.target {
            Target::Arm(arm, _) => questions.of(arm),
            Target::Question(question, _) => question,
        };
        let service = problem.service(call.target);
        let sum = &mut self.spent[question.index() * self.service_count + service.index()];
        *sum = sum.saturating_add(call.bill.settled());
        self.call_counts[question.index()] += 1;
    }

    /// Sets what verifiers and generators cost for answered questions, and for open ones.
    pub(super) fn fill_in(&self, books: &Books, overview: &mut Overview) {
        let Some(questions) = &mut overview.questions else { return };
        let mut sums = vec![[Cost::ZERO; 2]; self.service_count];
        for (place, spent) in self.spent.chunks(self.service_count).enumerate() {
            let part = usize::from(!books.question(id(place)).is_answered());
            for (sum, spent) in sums.iter_mut().zip(spent) {
                sum[part] = sum[part].saturating_add(*spent);
            }
        }
        // The first criterion of a verifier has the cost of all its calls, the others have none.
        let mut sums = sums.into_iter();
        for verifier in &mut overview.verifiers {
            let sum = if verifier.paid_with.is_none() { sums.next() } else { None };
            verifier.spent_by_question = Some(sum.unwrap_or_default());
        }
        for (generator, sum) in questions.generators.iter_mut().zip(sums) {
            generator.spent_by_question = Some(sum);
        }
    }

    /// Every question with its calls and its money. The ids are filled in later.
    pub(super) fn sums(&self, books: &Books) -> Vec<ReportQuestion> {
        let Some(questions) = books.problem().questions() else { return Vec::new() };
        let of = |question: QuestionId| {
            let (state, place) = (books.question(question), question.index());
            let spent = &self.spent[place * self.service_count..][..self.service_count];
            ReportQuestion {
                id: String::new(),
                status: if state.certified.is_some() { "answered" } else { "open" },
                certified: state.certified.map(|arm| arm.0),
                tried: questions.answers(question).iter().map(|arm| arm.0).collect(),
                asked: state.asked_count(),
                calls: u64::from(self.call_counts[place]),
                spent: spent.iter().copied().fold(Cost::ZERO, Cost::saturating_add),
                spent_on_answers: state.spent_on_answers,
                spent_on_votes: state.spent_on_votes,
            }
        };
        questions.ids().map(of).collect()
    }
}

fn id(place: usize) -> QuestionId {
    QuestionId(u32::try_from(place).expect("there are fewer than 2^32 questions"))
}
