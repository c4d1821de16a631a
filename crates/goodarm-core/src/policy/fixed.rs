//! `fixed`: the same number of calls for every pair, and no more: for recordings.

use alloc::vec::Vec;

use crate::books::{Books, Change};
use crate::call::{Source, Target};
use crate::min_tree::{MinTree, TreeKey};
use crate::num::real;
use crate::policy::least::{Least, Measure};
use crate::policy::{Choice, Policy};
use crate::units::{ArmId, AttributeId, QuestionId};

/// Asks for the kind of call that was made least often, among the affordable ones, until there are enough calls of
/// every kind: of every attribute on every arm, and of every solver and every generator on every question. Where
/// the money ends, the counts differ by at most one, except for answers that were added late.
#[derive(Clone, Debug)]
pub struct Fixed {
    /// `None` if there is no limit.
    calls_per_pair: Option<u64>,
    least: Least<OnArms>,
    /// The sources that are asked about questions, and for each the number of calls by question.
    sources: Vec<Source>,
    asked: Vec<MinTree<u64>>,
}

impl Fixed {
    /// This many calls of each kind; with `None` as many as there is money for.
    pub fn new(calls_per_pair: Option<u64>) -> Self {
        Self { calls_per_pair, least: Least::new(false), sources: Vec::new(), asked: Vec::new() }
    }

    /// The question with the fewest calls of a source, and that source; the first ones if there are several.
    fn find_question(&mut self, books: &Books) -> Option<(u64, Target)> {
        let mut best: Option<(u64, Target)> = None;
        for number in 0..self.sources.len() {
            let source = self.sources[number];
            if !may_ask(books, source) {
                continue;
            }
            while let Some(index) = self.asked[number].argmin() {
                let question = QuestionId::at(index);
                let (known, key) = (self.asked[number].min(), asked_count(books, question, source));
                // No change is reported for a retry.
                if known != key {
                    self.asked[number].set(index, key);
                    continue;
                }
                if best.is_none_or(|(least, _)| key < least) {
                    best = Some((key, Target::Question(question, source)));
                }
                break;
            }
        }
        best
    }

    fn update(&mut self, books: &Books, question: QuestionId) {
        for (source, asked) in self.sources.iter().zip(&mut self.asked) {
            asked.set(question.index(), asked_count(books, question, *source));
        }
    }
}

/// Calls on arms, those in flight included; calls about questions are counted by question.
#[derive(Clone, Debug)]
struct OnArms;

impl Measure for OnArms {
    type Key = f64;
    const NAME: &'static str = "fixed";
    const BRANCH: &'static str = "fewest-calls";
    const KEYED_BY_ANSWERS: bool = false;

    fn key(books: &Books, arm: ArmId, attribute: AttributeId) -> f64 {
        if books.problem().are_votes(attribute) {
            return f64::ABSENT;
        }
        real(books.tally(arm, attribute).dispatched_count)
    }
}

/// How often a source was asked about a question; [`TreeKey::ABSENT`] if it cannot be asked now.
fn asked_count(books: &Books, question: QuestionId, source: Source) -> u64 {
    let (takes, count) = match source {
        Source::Votes(attribute) => {
            (books.takes_votes(question, attribute), books.question(question).vote_count(attribute))
        }
        Source::Generator(generator) => (
            books.takes_fresh(question, generator),
            books.question(question).asked_count_of(generator),
        ),
    };
    if takes { count } else { u64::ABSENT }
}

fn may_ask(books: &Books, source: Source) -> bool {
    let lane = match source {
        Source::Votes(attribute) => books.lane_of(attribute),
        Source::Generator(generator) => books.lane(books.problem().generator_service(generator)),
    };
    lane.is_affordable && !lane.is_held()
}

impl Policy for Fixed {
    fn name(&self) -> &'static str {
        OnArms::NAME
    }

    fn begin(&mut self, books: &Books) {
        self.least.begin(books);
        let problem = books.problem();
        let Some(questions) = problem.questions() else { return };
        let votes = problem.attributes().filter(|&attribute| problem.are_votes(attribute));
        // Generators come first: there may be no answers to vote on yet.
        let generators = questions.generator_ids().map(Source::Generator);
        self.sources = generators.chain(votes.map(Source::Votes)).collect();
        let tree = |source: &Source| {
            let mut tree = MinTree::new(questions.count(), u64::ABSENT);
            tree.fill_with(|index| asked_count(books, QuestionId::at(index), *source));
            tree
        };
        self.asked = self.sources.iter().map(tree).collect();
    }

    fn choose(&mut self, books: &Books) -> Option<Choice> {
        let question = self.find_question(books).map(|(count, target)| (real(count), target));
        let pair = self.least.find(books).map(|(key, arm, attribute)| {
            let target = Target::Arm(arm, attribute);
            (key, target)
        });
        let (count, target) = match (question, pair) {
            (Some(question), Some(pair)) if pair.0 < question.0 => pair,
            (question, pair) => question.or(pair)?,
        };
        let is_wanted = self.calls_per_pair.is_none_or(|calls| count < real(calls));
        is_wanted.then_some(Choice { target, branch: OnArms::BRANCH })
    }

    fn on_change(&mut self, books: &Books, change: Change) {
        self.least.on_change(books, change);
        if let Change::Question(question) = change {
            self.update(books, question);
        }
    }

    fn on_birth(&mut self, books: &Books, arm: ArmId) {
        self.least.push(books, arm);
        if let Some(questions) = books.problem().questions() {
            self.update(books, questions.of(arm));
        }
    }
}
