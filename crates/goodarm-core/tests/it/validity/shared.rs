//! Calls that score several criteria at once, for any dependence between these scores, under a policy
//! that knows the outcomes of calls still in flight.

use goodarm_core::{
    ArmId, AttributeId, AttributeSpec, Books, Call, Cost, Design, Guarantee, Problem, ProblemSpec,
    ScoreModel, ScoredBy, Share, Target,
};
use goodarm_sim::random::Random;

use super::limit::{check_broken, check_valid};

use crate::doors::{Doors, OnArm};

const DELTA: f64 = 0.2;
const CRITERIA: usize = 3;
const LEAD: AttributeId = AttributeId(0);
const ARMS: u32 = 9;
/// The first arms are good; every criterion of the others is on the boundary, or one of them.
const GOOD: u32 = 2;
const CALLS: u32 = 1000;
const TRIALS: u32 = 120;

/// How the scores of one reply hang together.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Dependence {
    /// All criteria of a bad arm are on the boundary, and have the same score.
    Same,
    /// Criterion 0 is on the boundary; the others are high, and low just when it is not.
    Antithetic,
}

/// How a reply is told.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Habit {
    Honest,
    /// Wrong: a reply counts as two calls.
    CountedTwice,
}

#[derive(Clone, Copy, Debug)]
struct Rubric {
    guarantee: Guarantee,
    dependence: Dependence,
    concurrency: usize,
    habit: Habit,
}

/// What the hostile policy knows of an arm: Σ(x - ξ) of its worst criterion over all calls dispatched.
#[derive(Clone, Copy, Default)]
struct Latent {
    count: f64,
    excess: f64,
}

impl Latent {
    fn promise(self) -> f64 {
        2.0 * self.excess / (self.count + 10.0) + 1.0 / (self.count + 10.0).sqrt()
    }
}

type Scores = [Option<f64>; CRITERIA];

struct Run {
    rubric: Rubric,
    books: Books,
    coins: Random,
    latent: [Latent; ARMS as usize],
    /// Replies on their way, low ones last.
    out: Vec<(Call, Scores)>,
}

impl Rubric {
    fn books(self) -> Books {
        let criterion = |index: usize| AttributeSpec {
            name: index.to_string(),
            price: 1.0,
            expected: None,
            threshold: 0.5,
            scores: if index == 2 { ScoreModel::UNIT } else { ScoreModel::Binary },
        };
        let spec = ProblemSpec {
            arms: ARMS as usize,
            attributes: (0..CRITERIA).map(criterion).collect(),
            budget: f64::from(2 * CALLS),
            delta: DELTA,
            guarantee: self.guarantee,
        };
        let scored_by = vec![ScoredBy::OwnCalls, ScoredBy::CallsOf(0), ScoredBy::CallsOf(0)];
        let design = Design { scored_by, questions: None };
        Books::new(Problem::designed(spec, design).expect("a sound problem"))
    }

    fn is_wrong(self, trial: u32) -> bool {
        // Every setting has luck of its own.
        let setting = format!("{self:?}");
        let path: Vec<u64> = setting.bytes().map(u64::from).chain([u64::from(trial)]).collect();
        let coins = Random::at(91, &path);
        let latent = [Latent::default(); ARMS as usize];
        let mut run = Run { rubric: self, books: self.books(), coins, latent, out: Vec::new() };
        let is_wrong = |books: &Books| books.certified().iter().any(|arm| arm.0 >= GOOD);
        for _ in 0..CALLS {
            let Some(arm) = run.choose().filter(|_| !is_wrong(&run.books)) else { break };
            run.send(arm);
            while run.out.len() >= self.concurrency {
                run.receive();
            }
        }
        while !run.out.is_empty() {
            run.receive();
        }
        is_wrong(&run.books)
    }

    fn errors(self, trials: u32) -> u32 {
        (0..trials).map(|trial| u32::from(self.is_wrong(trial))).sum()
    }
}

impl Run {
    /// Good arms first, which makes it easier for the others; then the luckiest bad one.
    fn choose(&self) -> Option<ArmId> {
        let open = || self.books.problem().arms().filter(|&arm| self.books.is_active(arm));
        let calls = |arm: ArmId| self.books.tally(arm, LEAD).dispatched_count;
        let promise = |arm: &ArmId| self.latent[arm.index()].promise();
        open().find(|&arm| arm.0 < GOOD && calls(arm) < 60).or_else(|| {
            let bad = open().filter(|arm| arm.0 >= GOOD);
            bad.max_by(|one, other| promise(one).total_cmp(&promise(other)))
        })
    }

    fn draw(&mut self, arm: ArmId) -> Scores {
        let uniform = self.coins.uniform();
        let score = |pass: bool| Some(f64::from(u8::from(pass)));
        let other = match self.rubric.dependence {
            _ if arm.0 < GOOD => return [score(uniform < 0.95); CRITERIA],
            Dependence::Same => score(uniform < 0.5),
            Dependence::Antithetic => score(uniform > 0.05),
        };
        [score(uniform < 0.5), other, other]
    }

    fn send(&mut self, arm: ArmId) {
        if let Some(pool) = self.books.pool()
            && self.books.share(arm).is_none()
        {
            let share = Share::of(0.5 * pool.fraction());
            // Nothing is lent if nothing is left.
            let _ = self.books.lend(arm, share);
            self.latent[arm.index()] = Latent::default();
        }
        let scores = self.draw(arm);
        let counted = if self.rubric.habit == Habit::CountedTwice { 2 } else { 1 };
        for _ in 0..counted {
            let pull =
                self.books.dispatch(Target::Arm(arm, LEAD)).expect("it is open and affordable");
            self.out.push((pull, scores));
        }
        let latent = &mut self.latent[arm.index()];
        latent.count += 1.0;
        latent.excess += scores[0].unwrap_or(0.0) - 0.5;
    }

    /// What passes comes back first. A share is taken back when its arm is unlucky, calls still out.
    fn receive(&mut self) {
        let passes = |(_, scores): &(Call, Scores)| scores[0] == Some(1.0);
        let index = self.out.iter().position(passes).unwrap_or(0);
        let (pull, scores) = self.out.remove(index);
        self.books.tell_all(pull.ticket, &scores, Cost::from_units(1)).expect("it is out");
        let latent = self.latent[pull.arm().index()];
        if latent.excess < -1.0 && self.books.share(pull.arm()).is_some() {
            // An arm that has left keeps what it had.
            let _ = self.books.release(pull.arm());
        }
    }
}

#[test]
fn one_reply_for_several_criteria_is_wrong_with_probability_delta_at_most() {
    let (mut errors, mut trials) = (0, 0);
    for guarantee in [Guarantee::Lent, Guarantee::Union, Guarantee::Holm] {
        for dependence in [Dependence::Same, Dependence::Antithetic] {
            for concurrency in [1, 16] {
                let rubric = Rubric { guarantee, dependence, concurrency, habit: Habit::Honest };
                let found = rubric.errors(TRIALS);
                check_valid(&format!("{rubric:?}"), found, TRIALS, DELTA);
                errors += found;
                trials += TRIALS;
            }
        }
    }
    check_valid("rubrics", errors, trials, DELTA);
    assert!(errors > trials / 50, "{errors} errors in {trials} sessions: they test nothing");
}

#[test]
fn a_reply_that_counts_twice_breaks_it() {
    for guarantee in [Guarantee::Lent, Guarantee::Union, Guarantee::Holm] {
        let (dependence, concurrency) = (Dependence::Antithetic, 1);
        let wrong = Rubric { guarantee, dependence, concurrency, habit: Habit::CountedTwice };
        let found = wrong.errors(TRIALS);
        check_broken(&format!("{wrong:?}"), found, TRIALS, DELTA);
    }
}
