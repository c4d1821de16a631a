//! The contract, rule by rule: what a session must do for its certificates to be valid and its
//! budget to be kept. Where rates are the point, see `validity`; here every rule is a plain fact.
//!
//! - [`door`]: what is refused, and that a refusal changes nothing.
//! - [`streams`]: from scores to evidence: order, failures, retries, frozen bets, running maxima.
//! - [`levels`]: from evidence to certificates: stepping down, weights, exact verifiers, e-BH.
//! - [`money`]: the budget, to the last decimal.
//! - [`asking`]: what `ask` says, and when.

mod asking;
mod door;
mod levels;
mod money;
mod streams;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use goodarm_core::policy::{Choice, Policy};
use goodarm_core::{
    ArmId, Ask, AttributeId, AttributeSpec, Books, Cost, Guarantee, Options, Problem, ProblemSpec,
    Pull, ScoreModel, Session,
};

const FIRST: AttributeId = AttributeId(0);
const SECOND: AttributeId = AttributeId(1);
const SUB_GAUSSIAN: ScoreModel = ScoreModel::SubGaussian { sigma: 1.0, lowest: None };
const UNIT: Cost = Cost::from_units(1);

const GUARANTEES: [Guarantee; 4] =
    [Guarantee::Paper, Guarantee::Union, Guarantee::Holm, Guarantee::FalseDiscovery];

/// Verifiers that cost one unit a call, with thresholds of one half.
fn spec(arms: usize, guarantee: Guarantee, scores: &[ScoreModel]) -> ProblemSpec {
    let attribute = |(index, &scores): (usize, &ScoreModel)| AttributeSpec {
        name: format!("attribute {index}"),
        price: 1.0,
        threshold: 0.5,
        scores,
    };
    ProblemSpec {
        arms,
        attributes: scores.iter().enumerate().map(attribute).collect(),
        budget: 1e6,
        delta: 0.05,
        guarantee,
        prior_weights: None,
    }
}

fn problem(spec: ProblemSpec) -> Problem {
    Problem::new(spec).expect("a sound problem")
}

fn books(arms: usize, guarantee: Guarantee, scores: &[ScoreModel]) -> Books {
    Books::new(problem(spec(arms, guarantee, scores)))
}

/// Lets one call out.
fn send(books: &mut Books, arm: u32, attribute: AttributeId) -> Pull {
    books.dispatch(ArmId(arm), attribute).expect("the pair is open and affordable")
}

fn answer(books: &mut Books, pull: &Pull, score: f64) {
    books.tell(pull.ticket, score, UNIT).expect("the ticket is out and the score is sound");
}

/// Lets calls out and answers them, one after the other.
fn feed(books: &mut Books, arm: u32, attribute: AttributeId, scores: &[f64]) {
    for &score in scores {
        let pull = send(books, arm, attribute);
        answer(books, &pull, score);
    }
}

/// Feeds a score until the pair's evidence is at least `level`.
fn raise(books: &mut Books, arm: u32, score: f64, level: f64) {
    for _ in 0..10_000 {
        if books.evidence(ArmId(arm), FIRST) >= level {
            return;
        }
        feed(books, arm, FIRST, &[score]);
    }
    panic!("evidence {} stays below {level}", books.evidence(ArmId(arm), FIRST));
}

/// Feeds passes until the arm is certified.
fn pass(books: &mut Books, arm: u32, attribute: AttributeId) {
    for _ in 0..10_000 {
        if books.certified().contains(&ArmId(arm)) {
            return;
        }
        feed(books, arm, attribute, &[1.0]);
    }
    panic!("arm {arm} is not certified");
}

/// Everything there is to see of the books, so that two states can be compared.
fn picture(books: &Books) -> String {
    format!("{books:?}")
}

/// A policy that names what it is told to name, and otherwise nothing.
#[derive(Clone, Default)]
struct Puppet {
    wishes: Arc<Mutex<VecDeque<(ArmId, AttributeId)>>>,
}

impl Puppet {
    fn wish(&self, arm: u32, attribute: AttributeId) {
        let mut wishes = self.wishes.lock().expect("nobody panics with the lock");
        wishes.push_back((ArmId(arm), attribute));
    }

    fn session(&self, problem: Problem) -> Session {
        let options = Options { in_flight_share: 1.0, ..Options::default() };
        Session::with_options(problem, self.clone(), options).expect("the options make sense")
    }
}

impl Policy for Puppet {
    fn name(&self) -> &'static str {
        "puppet"
    }

    fn choose(&mut self, _: &Books) -> Option<Choice> {
        let mut wishes = self.wishes.lock().expect("nobody panics with the lock");
        let (arm, attribute) = wishes.pop_front()?;
        Some(Choice { arm, attribute, branch: "wish" })
    }
}

fn pulled(ask: Ask) -> Pull {
    match ask {
        Ask::Pull(pull) => pull,
        Ask::Wait | Ask::Done(_) => panic!("a call was expected, not {ask:?}"),
    }
}
