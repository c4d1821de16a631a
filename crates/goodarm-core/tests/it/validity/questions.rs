//! Questions on the boundary: no answer is good enough, or a good one has siblings that are not. Votes
//! propose, answers are made on demand, and strategies lend, release and send as they like, with the
//! outcomes of calls in flight before their eyes: at most δ for the books, and more for each wrong twin.

use goodarm_core::{
    ArmId, AttributeId, AttributeSpec, Books, Cost, CountedFailure, Design, Failure, GeneratorId,
    GeneratorSpec, Guarantee, Label, Problem, ProblemSpec, QuestionId, QuestionsSpec, ScoreModel,
    ScoredBy, Share, Source, Target, Ticket, VoidFailure,
};
use goodarm_sim::random::Random;

use super::limit::{check_broken, check_valid};

use crate::doors::Doors;

const VOTES: Source = Source::Votes(AttributeId(0));
const MAKER: Source = Source::Generator(GeneratorId(0));

/// Questions without given answers, which votes propose and a generator makes.
fn questions(guarantee: Guarantee, count: usize, threshold: f64, delta: f64) -> Books {
    let votes = AttributeSpec {
        name: "votes".into(),
        price: 1.0,
        expected: None,
        threshold,
        scores: ScoreModel::Binary,
    };
    let spec = ProblemSpec { arms: 0, attributes: vec![votes], budget: 1e6, delta, guarantee };
    let questions = QuestionsSpec {
        count,
        answers: Vec::new(),
        generators: vec![GeneratorSpec { name: "maker".into(), price: 1.0, expected: None }],
        candidates_max: 4,
    };
    let scored_by = vec![ScoredBy::Votes { proposes: true }];
    let design = Design { scored_by, questions: Some(questions) };
    Books::new(Problem::designed(spec, design).expect("a sound problem"))
}

/// A strategy's hands and eyes: it knows what every call will bring.
struct Player {
    books: Books,
    coins: Random,
    calls_left: u32,
    /// Every question has this many answers with equal chances.
    answers: u64,
    /// One in four questions has a good first answer and a bad second one, and calls fail now and then.
    is_mixed: bool,
}

/// A vote on its way: for which answer it is.
type Vote = (Ticket, u32);

impl Player {
    fn question_count(&self) -> u32 {
        u32::try_from(self.books.problem().questions().expect("there are some").count())
            .expect("few")
    }

    fn is_good(&self, question: u32, label: u32) -> bool {
        self.is_mixed && question % 4 == 3 && label == 0
    }

    fn draw(&mut self, question: u32) -> u32 {
        self.calls_left = self.calls_left.saturating_sub(1);
        if self.is_good(question, 0) {
            return u32::from(self.coins.uniform() < 0.3);
        }
        u32::try_from(self.coins.below(self.answers)).expect("few")
    }

    fn is_wrong(&self) -> bool {
        let questions = self.books.problem().questions().expect("there are some");
        let is_bad = |&arm: &ArmId| !self.is_good(questions.of(arm).0, questions.label(arm).0);
        self.books.certified().iter().any(is_bad)
    }

    fn may_play(&self) -> bool {
        self.calls_left > 0 && !self.is_wrong()
    }

    fn send(&mut self, question: u32) -> Option<Vote> {
        let pull = self.books.dispatch(Target::Question(QuestionId(question), VOTES)).ok()?;
        Some((pull.ticket, self.draw(question)))
    }

    /// Of mixed ones, one in thirty never began and is made again at once; one in thirty is lost.
    fn back(&mut self, question: u32, (ticket, label): Vote) {
        let cost = Cost::from_units(1);
        match self.coins.below(30) {
            0 if self.is_mixed => {
                let void = Failure::Void(VoidFailure::RateLimited);
                self.books.fail(ticket, void, Cost::ZERO).expect("it is out");
                if self.books.dispatch_retry().is_some() {
                    let retry = self.books.outstanding().last().expect("the retry");
                    let label = self.draw(question);
                    self.books.answer(retry, Some(Label(label)), cost).expect("it is out");
                }
            }
            1 if self.is_mixed => {
                let lost = Failure::Counted(CountedFailure::Lost);
                self.books.fail(ticket, lost, cost).expect("it is out");
            }
            _ => {
                self.books.answer(ticket, Some(Label(label)), cost).expect("it is out");
            }
        }
    }

    fn vote(&mut self, question: u32) -> Option<u32> {
        let vote = self.send(question)?;
        self.back(question, vote);
        Some(vote.1)
    }

    fn arm(&self, question: u32, label: u32) -> Option<ArmId> {
        self.books.problem().questions()?.find(QuestionId(question), Label(label))
    }

    fn lend(&mut self, question: u32, label: u32, part: f64) {
        if let (Some(arm), Some(pool)) = (self.arm(question, label), self.books.pool()) {
            // What is refused is not lent.
            let _ = self.books.lend(arm, Share::of(part * pool.fraction()));
        }
    }

    fn release(&mut self, question: u32, label: u32) {
        if let Some(arm) = self.arm(question, label) {
            let _ = self.books.release(arm);
        }
    }

    /// Makes answers until each is there.
    fn make(&mut self, question: u32) {
        for label in 0..2 {
            if let Ok(pull) = self.books.dispatch(Target::Question(QuestionId(question), MAKER)) {
                let made = self.books.answer(pull.ticket, Some(Label(label)), Cost::from_units(1));
                made.expect("it is out");
            }
        }
    }

    /// Lends half of the pool to the answer that the last vote was for, and gives up when luck turns.
    fn follow_the_leader(&mut self) {
        let mut question = 0;
        let mut leader = 0;
        while self.may_play() {
            leader = self.vote(question).unwrap_or(leader);
            self.lend(question, leader, 0.5);
            let mut wealth = 1.0;
            while self.may_play() && (0.6..1e6).contains(&wealth) {
                let Some(label) = self.vote(question) else { break };
                wealth *= if label == leader { 1.5 } else { 0.5 };
            }
            self.release(question, leader);
            question = (question + 1) % self.question_count();
        }
    }

    /// Makes both answers and lends to both: when one is lucky the other is not, and is released.
    fn play_both(&mut self) {
        let mut question = 0;
        while self.may_play() {
            self.make(question);
            self.lend(question, 0, 0.4);
            self.lend(question, 1, 0.6);
            let mut wealths = [1.0_f64; 2];
            while self.may_play() && wealths[0].max(wealths[1]) > 0.5 {
                let Some(label) = self.vote(question) else { break };
                for (answer, wealth) in (0..).zip(&mut wealths) {
                    *wealth *= if label == answer { 1.5 } else { 0.5 };
                }
                for (answer, wealth) in (0..).zip(wealths) {
                    if wealth < 0.6 {
                        self.release(question, answer);
                        self.lend(question, answer, 0.1);
                    }
                }
            }
            self.release(question, 0);
            self.release(question, 1);
            question = (question + 1) % self.question_count();
        }
    }

    /// Sends sixteen votes at once, of which those for the leader come back first, and takes the share
    /// back before the others do.
    fn outrun_the_others(&mut self) {
        let mut question = 0;
        while self.may_play() {
            let leader = self.vote(question).unwrap_or(0);
            self.lend(question, leader, 0.5);
            let mut is_lucky = true;
            while is_lucky && self.may_play() {
                let sent: Vec<Vote> = (0..16).filter_map(|_| self.send(question)).collect();
                let for_leader = sent.iter().filter(|vote| vote.1 == leader).count();
                is_lucky = for_leader > 8;
                let (first, last): (Vec<Vote>, Vec<Vote>) =
                    sent.into_iter().partition(|vote| vote.1 == leader);
                for vote in first {
                    self.back(question, vote);
                }
                if !is_lucky {
                    self.release(question, leader);
                }
                for vote in last {
                    self.back(question, vote);
                }
            }
            question = (question + 1) % self.question_count();
        }
    }

    /// Has sixteen votes out before it lends to the answer that they will be for.
    fn lend_to_the_lucky(&mut self) {
        let mut question = 0;
        while self.may_play() {
            self.make(question);
            let sent: Vec<Vote> = (0..16).filter_map(|_| self.send(question)).collect();
            let ones = sent.iter().filter(|vote| vote.1 == 1).count();
            if ones >= 12 || ones <= 4 {
                self.lend(question, u32::from(ones > 8), 0.9);
            }
            let more: Vec<Vote> = (0..8).filter_map(|_| self.send(question)).collect();
            for vote in sent.into_iter().rev().chain(more) {
                self.back(question, vote);
            }
            question = (question + 1) % self.question_count();
        }
    }

    /// Votes on the question whose leader has been the luckiest.
    fn chase(&mut self) {
        let count = self.question_count();
        let mut votes = vec![[0.0_f64; 8]; count as usize];
        while self.may_play() {
            let promise = |question: u32| {
                let counts = votes[question as usize];
                let total: f64 = counts.iter().sum();
                counts.iter().fold(0.0_f64, |most, &it| most.max(it)) / (total + 10.0)
                    + 1.0 / (total + 10.0).sqrt()
            };
            let open = |question: &u32| !self.books.question(QuestionId(*question)).is_answered();
            let best = (0..count).filter(open).max_by(|&a, &b| promise(a).total_cmp(&promise(b)));
            let Some(question) = best else { return };
            let sent: Vec<Vote> = (0..4).filter_map(|_| self.send(question)).collect();
            for vote in sent.into_iter().rev() {
                votes[question as usize][vote.1 as usize] += 1.0;
                self.back(question, vote);
            }
        }
    }
}

type Strategy = fn(&mut Player);

const LENDERS: [(&str, Strategy); 4] = [
    ("follow the leader", Player::follow_the_leader),
    ("play both", Player::play_both),
    ("outrun the others", Player::outrun_the_others),
    ("lend to the lucky", Player::lend_to_the_lucky),
];

/// In how many of `trials` sessions an answer is certified that is not good enough.
fn errors(what: &str, trials: u32, strategy: Strategy, player: impl Fn(Random) -> Player) -> u32 {
    let wrong = |trial: u32| {
        let path: Vec<u64> = what.bytes().map(u64::from).chain([u64::from(trial)]).collect();
        let mut player = player(Random::at(92, &path));
        strategy(&mut player);
        player.is_wrong()
    };
    (0..trials).map(|trial| u32::from(wrong(trial))).sum()
}

const DELTA: f64 = 0.2;
const TRIALS: u32 = 250;

#[test]
fn answers_that_borrow_are_wrong_with_probability_delta_at_most() {
    let (mut all, mut trials) = (0, 0);
    for (name, strategy) in LENDERS {
        for is_mixed in [false, true] {
            let what = format!("{name}, {}", if is_mixed { "mixed" } else { "all bad" });
            let found = errors(&what, TRIALS, strategy, |coins| Player {
                books: questions(Guarantee::Lent, 8, 0.5, DELTA),
                coins,
                calls_left: 2000,
                answers: 2,
                is_mixed,
            });
            check_valid(&what, found, TRIALS, DELTA);
            all += found;
            trials += TRIALS;
        }
    }
    check_valid("lenders", all, trials, DELTA);
    assert!(all > trials / 50, "{all} errors in {trials} sessions: they test nothing");
}

/// n answers with equal chances of 1/n at a threshold of 1/n, all votes counting: the factor is n.
fn label_errors(answers: u64, count: usize, delta: f64, trials: u32) -> u32 {
    let threshold = 1.0 / f64::from(u32::try_from(answers).expect("few"));
    let what = format!("{answers} {count} {delta}");
    errors(&what, trials, Player::chase, |coins| Player {
        books: questions(Guarantee::Union, count, threshold, delta),
        coins,
        calls_left: 1500,
        answers,
        is_mixed: false,
    })
}

/// The label theorem: with the level of 1/ξ answers, for any number of them and any source.
#[test]
fn votes_on_all_answers_are_wrong_with_probability_delta_at_most() {
    for (answers, count, delta) in [(2, 1, 0.2), (5, 1, 0.2), (2, 5, 0.2), (5, 5, 0.2)] {
        let trials = 2 * TRIALS;
        let found = label_errors(answers, count, delta, trials);
        check_valid(&format!("{answers} answers, {count} questions"), found, trials, delta);
        // It is tight: no smaller factor would do for one question.
        assert!(count > 1 || found > trials / 12, "{answers} answers: {found} of {trials}");
    }
}

/// ln(1/δ') = ln(1/δ) - ln(1/ξ): as if the answers that votes could name were one.
#[test]
fn votes_on_all_answers_without_the_factor_break_it() {
    for (answers, delta, factor) in [(2, 0.2, 2.0), (5, 0.05, 5.0)] {
        let trials = 4 * TRIALS;
        let found = label_errors(answers, 1, delta * factor, trials);
        check_broken(&format!("{answers} answers"), found, trials, delta);
    }
}

/// One bet, which is a fair game at the threshold: what a hit and what a miss make of the wealth.
#[derive(Clone, Copy)]
struct Bet {
    hit: f64,
    miss: f64,
}

impl Bet {
    const fn at(threshold: f64, stake: f64) -> Self {
        Self { hit: 1.0 + stake * (1.0 - threshold), miss: 1.0 - stake * threshold }
    }

    const fn of(self, hit: bool) -> f64 {
        if hit { self.hit } else { self.miss }
    }
}

const FAIR: Bet = Bet::at(0.5, 1.0);

/// How often in `TRIALS` sessions.
fn count(seed: u64, wrong: impl Fn(&mut Random) -> bool) -> u32 {
    (0..TRIALS).map(|trial| u32::from(wrong(&mut Random::at(seed, &[u64::from(trial)])))).sum()
}

/// Every question has a good answer and a bad one at its threshold, judged one by one. Stepping down over
/// questions: where the bad answer is low the good one is certified, and the level falls for the luckiest bad
/// answer.
#[test]
fn stepping_down_over_questions_breaks_it() {
    let (questions, delta) = (20_usize, 0.1);
    let wrong = |steps_down: bool| {
        count(101, |coins| {
            let play = |_| {
                let (mut wealth, mut most) = (1.0_f64, 1.0_f64);
                for _ in 0..40 {
                    wealth *= FAIR.of(coins.uniform() < 0.5);
                    most = most.max(wealth);
                }
                most
            };
            let luckiest = (0..questions).map(play).fold(1.0, f64::max);
            // All others have their certificate.
            let left = if steps_down { 1 } else { questions };
            luckiest * delta >= f64::from(u32::try_from(left).expect("few"))
        })
    };
    check_valid("union over questions", wrong(false), TRIALS, delta);
    check_broken("stepping down", wrong(true), TRIALS, delta);
}

/// All of δ is lent to a question: to its answers together, of which the good one is certified mostly. If
/// the loan then comes back in full, what its bad sibling has used of it is lent again and again.
#[test]
fn lending_to_a_whole_question_and_taking_all_of_it_back_breaks_it() {
    const THRESHOLD: f64 = 0.3;
    let bet = Bet::at(THRESHOLD, 1.5);
    let wrong = |takes_all_back: bool| {
        count(102, |coins| {
            let mut pool = DELTA;
            for _ in 0..100 {
                let share = pool;
                pool -= share;
                let (mut good, mut bad) = (1.0_f64, 1.0_f64);
                for _ in 0..200 {
                    let draw = coins.uniform();
                    good *= bet.of(draw < 0.6);
                    bad *= bet.of(draw > 1.0 - THRESHOLD);
                    // The loan is to both, or to each its half.
                    let part = if takes_all_back { share } else { 0.5 * share };
                    if bad * part >= 1.0 {
                        return true;
                    }
                    if good * part >= 1.0 {
                        pool += if takes_all_back { share } else { part + part * bad.min(1.0) };
                        break;
                    }
                }
            }
            false
        })
    };
    check_valid("a share for each answer", wrong(false), TRIALS, DELTA);
    check_broken("a share for the question", wrong(true), TRIALS, DELTA);
}

/// The luckiest answer of many questions is lent all of δ, and the votes that made it so count.
#[test]
fn votes_dispatched_before_the_loan_break_it() {
    let wrong = |counts_early: bool| {
        count(103, |coins| {
            let mut luckiest = 0.0_f64;
            for _ in 0..12 {
                // Two answers: a vote for one is a vote against the other.
                let (mut one, mut other) = (1.0_f64, 1.0_f64);
                for _ in 0..10 {
                    let hit = coins.uniform() < 0.5;
                    one *= FAIR.of(hit);
                    other *= FAIR.of(!hit);
                }
                luckiest = luckiest.max(one).max(other);
            }
            let mut wealth = if counts_early { luckiest } else { 1.0 };
            for _ in 0..200 {
                if wealth * DELTA >= 1.0 {
                    return true;
                }
                wealth *= FAIR.of(coins.uniform() < 0.5);
            }
            false
        })
    };
    check_valid("votes after the loan", wrong(false), TRIALS, DELTA);
    check_broken("votes before the loan", wrong(true), TRIALS, DELTA);
}

/// A candidate that looks bad is given up, and the next one is made and lent what is there.
#[test]
fn refunding_abandoned_candidates_in_full_breaks_it() {
    let wrong = |refunds_all: bool| {
        count(104, |coins| {
            let mut pool = DELTA;
            for _ in 0..60 {
                let share = 0.5 * pool;
                pool -= share;
                let mut wealth = 1.0_f64;
                while wealth > 0.6 {
                    wealth *= FAIR.of(coins.uniform() < 0.5);
                    if wealth * share >= 1.0 {
                        return true;
                    }
                }
                pool += if refunds_all { share } else { share * wealth };
            }
            false
        })
    };
    check_valid("what the evidence is worth", wrong(false), TRIALS, DELTA);
    check_broken("a full refund", wrong(true), TRIALS, DELTA);
}

/// Each vote is told for two calls.
#[test]
fn a_vote_that_counts_twice_breaks_it() {
    let trials = 100;
    let wrong = |copies: u32| {
        let found = (0..trials).filter(|&trial| {
            let mut coins = Random::at(105, &[u64::from(trial)]);
            let mut books = questions(Guarantee::Union, 1, 0.5, DELTA);
            for _ in 0..400 {
                let label = Label(u32::from(coins.uniform() < 0.5));
                for _ in 0..copies {
                    if let Ok(pull) = books.dispatch(Target::Question(QuestionId(0), VOTES)) {
                        let told = books.answer(pull.ticket, Some(label), Cost::from_units(1));
                        told.expect("it is out");
                    }
                }
            }
            !books.certified().is_empty()
        });
        u32::try_from(found.count()).expect("few")
    };
    check_valid("once", wrong(1), trials, DELTA);
    check_broken("twice", wrong(2), trials, DELTA);
}

/// A judge scores one answer a call, every answer at the threshold; answers are made until no more may be.
fn judged(guarantee: Guarantee, delta: f64) -> Books {
    let judge = AttributeSpec {
        name: "judge".into(),
        price: 1.0,
        expected: None,
        threshold: 0.5,
        scores: ScoreModel::Binary,
    };
    let spec = ProblemSpec { arms: 0, attributes: vec![judge], budget: 1e6, delta, guarantee };
    let questions = QuestionsSpec {
        count: 2,
        answers: Vec::new(),
        generators: vec![GeneratorSpec { name: "maker".into(), price: 1.0, expected: None }],
        candidates_max: CANDIDATES,
    };
    let design = Design { scored_by: Vec::new(), questions: Some(questions) };
    Books::new(Problem::designed(spec, design).expect("a sound problem"))
}

const CANDIDATES: usize = 8;

/// Makes an answer, judges it until there is no hope, and makes the next.
fn is_a_candidate_certified(mut books: Books, coins: &mut Random) -> bool {
    let cost = Cost::from_units(1);
    let judge = AttributeId(0);
    for label in 0..u32::try_from(2 * CANDIDATES).expect("few") {
        let Ok(pull) = books.dispatch(Target::Question(QuestionId(label % 2), MAKER)) else {
            continue;
        };
        let born = books.answer(pull.ticket, Some(Label(label)), cost).expect("it is out");
        let arm = born.expect("a new answer");
        if let Some(pool) = books.pool() {
            books.lend(arm, Share::of(0.5 * pool.fraction())).expect("it is in the pool");
        }
        let mut wealth = 1.0;
        while books.is_active(arm)
            && wealth > 0.05
            && books.tally(arm, judge).dispatched_count < 300
        {
            let pull = books.dispatch(Target::Arm(arm, judge)).expect("it is open");
            let hit = coins.uniform() < 0.5;
            books.tell(pull.ticket, f64::from(u8::from(hit)), cost).expect("it is out");
            wealth *= FAIR.of(hit);
        }
        if books.is_active(arm) && books.pool().is_some() {
            books.release(arm).expect("it has a share");
        }
    }
    !books.certified().is_empty()
}

#[test]
fn candidates_made_on_demand_are_wrong_with_probability_delta_at_most() {
    for guarantee in [Guarantee::Lent, Guarantee::Union] {
        let found = count(106, |coins| is_a_candidate_certified(judged(guarantee, DELTA), coins));
        check_valid(&format!("{guarantee:?}"), found, TRIALS, DELTA);
    }
}

/// A union over questions alone, as if each had one candidate.
#[test]
fn candidates_that_do_not_share_the_level_break_it() {
    let delta = 0.05;
    let of_one = delta * f64::from(u32::try_from(CANDIDATES).expect("few"));
    let wrong =
        |coins: &mut Random| is_a_candidate_certified(judged(Guarantee::Union, of_one), coins);
    let found = count(107, wrong);
    check_broken("one level for all candidates", found, TRIALS, delta);
}
