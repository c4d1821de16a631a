//! Questions: several answers of which at most one is certified, votes on all of them at once, and answers
//! that are born.

use goodarm_core::books::{AddArmsError, DispatchError, LendError};
use goodarm_core::problem::design::{DesignError, PROPOSED_ANSWERS_MAX};
use goodarm_core::{
    ArmId, ArmStatus, Ask, AttributeId, BlockingFailure, Books, Call, Choice, Cost, CountedFailure,
    Design, Event, Failure, GeneratorId, GeneratorSpec, Guarantee, Label, Options, Policy, Problem,
    ProblemSpec, QuestionId, QuestionsSpec, ScoreModel, ScoredBy, Session, SettleError, Share,
    Source, SpecError, Target, VoidFailure,
};

use super::{FIRST, GUARANTEES, SECOND, UNIT, picture, spec};

use crate::doors::{Doors, OnArm};

const QUESTION: QuestionId = QuestionId(0);
const VOTES: Source = Source::Votes(FIRST);
const MAKER: Source = Source::Generator(GeneratorId(0));
const RATE_LIMITED: Failure = Failure::Void(VoidFailure::RateLimited);
const EXHAUSTED: Failure = Failure::Blocking(BlockingFailure::Exhausted);
const PROPOSING: ScoredBy = ScoredBy::Votes { proposes: true };
const PLAIN: ScoredBy = ScoredBy::Votes { proposes: false };

fn maker(price: f64) -> GeneratorSpec {
    GeneratorSpec { name: format!("maker at {price}"), price, expected: None }
}

/// Votes as the first attribute, a judge of single answers as the second if there is one.
#[derive(Clone)]
struct Set {
    guarantee: Guarantee,
    votes: ScoredBy,
    judge: Option<ScoreModel>,
    /// The answers to each question.
    labels: Vec<Vec<u32>>,
    generators: usize,
    candidates_max: usize,
    budget: f64,
}

impl Set {
    fn new(guarantee: Guarantee, votes: ScoredBy, labels: &[&[u32]]) -> Self {
        Self {
            guarantee,
            votes,
            judge: None,
            labels: labels.iter().map(|labels| labels.to_vec()).collect(),
            generators: 0,
            candidates_max: 3,
            budget: 1e6,
        }
    }

    fn stated(&self) -> (ProblemSpec, Design) {
        let mut models = vec![ScoreModel::Binary];
        models.extend(self.judge);
        let mut answers = Vec::new();
        for (question, labels) in (0..).zip(&self.labels) {
            answers.extend(labels.iter().map(|&label| (QuestionId(question), Label(label))));
        }
        let mut spec = spec(answers.len(), self.guarantee, &models);
        spec.budget = self.budget;
        let mut scored_by = vec![ScoredBy::OwnCalls; models.len()];
        scored_by[0] = self.votes;
        let questions = QuestionsSpec {
            count: self.labels.len(),
            answers,
            generators: (0..self.generators).map(|index| maker([2.0, 3.0][index])).collect(),
            candidates_max: self.candidates_max,
        };
        (spec, Design { scored_by, questions: Some(questions) })
    }

    fn books(&self) -> Books {
        let (spec, design) = self.stated();
        Books::new(Problem::designed(spec, design).expect("a sound problem"))
    }

    fn refusal(&self) -> DesignError {
        let (spec, design) = self.stated();
        match Problem::designed(spec, design) {
            Err(SpecError::Design(error)) => error,
            other => panic!("{other:?}"),
        }
    }
}

fn ask(books: &mut Books, source: Source) -> Call {
    books.dispatch(Target::Question(QUESTION, source)).expect("the question is open")
}

fn answer(books: &mut Books, pull: &Call, label: u32) -> Option<ArmId> {
    books.answer(pull.ticket, Some(Label(label)), UNIT).expect("the call is out")
}

fn vote(books: &mut Books, label: u32) -> Option<ArmId> {
    let pull = ask(books, VOTES);
    answer(books, &pull, label)
}

fn sums(books: &Books) -> Vec<(u64, f64)> {
    let tally = |arm| books.tally(arm, FIRST);
    books.problem().arms().map(|arm| (tally(arm).returned_count, tally(arm).sum)).collect()
}

#[test]
fn a_vote_scores_every_answer_for_one_price() {
    let mut books = Set::new(Guarantee::Union, PLAIN, &[&[7, 8, 9], &[7]]).books();
    let pull = ask(&mut books, VOTES);
    assert_eq!((books.in_flight_count(), books.lane_of(FIRST).in_flight_count()), (1, 1));
    assert_eq!(books.ledger().reserved(), UNIT);
    assert_eq!(answer(&mut books, &pull, 8), None);
    assert_eq!(sums(&books), [(1, 0.0), (1, 1.0), (1, 0.0), (0, 0.0)]);
    assert_eq!((books.ledger().settled(), books.observation_count()), (UNIT, 1));
    assert_eq!(books.question(QUESTION).spent_on_votes, UNIT);
    // An unreadable final answer, one that no arm has, and a failed call are votes for no arm.
    let pull = ask(&mut books, VOTES);
    books.answer(pull.ticket, None, UNIT).unwrap();
    vote(&mut books, 1);
    let pull = ask(&mut books, VOTES);
    books.fail(pull.ticket, Failure::Counted(CountedFailure::TimedOut), UNIT).unwrap();
    assert_eq!(sums(&books), [(4, 0.0), (4, 1.0), (4, 0.0), (0, 0.0)]);
    assert_eq!(books.question(QUESTION).votes_returned_count(FIRST), 4);
}

/// Votes enter the evidence of all answers in dispatch order, also of one that is born in between.
#[test]
fn votes_count_in_dispatch_order_for_all_answers() {
    for guarantee in [Guarantee::Union, Guarantee::Lent] {
        let set = Set::new(guarantee, PROPOSING, &[&[0, 1]]);
        let replies = [1, 0, 2, 2, 1, 2, 2, 0, 2, 2, 2, 2];
        let evidence = |order: &[usize]| {
            let mut books = set.books();
            let sent = replies.map(|_| ask(&mut books, VOTES));
            for &call in order {
                answer(&mut books, &sent[call], replies[call]);
            }
            let questions = books.problem().questions().unwrap();
            let found = [0, 1, 2].map(|label| questions.find(QUESTION, Label(label)).unwrap());
            found.map(|arm| (books.evidence(arm, FIRST).to_bits(), *books.tally(arm, FIRST)))
        };
        let straight = evidence(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
        assert_eq!(evidence(&[11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]), straight);
        assert_eq!(evidence(&[3, 1, 8, 0, 2, 11, 7, 4, 10, 9, 6, 5]), straight);
    }
}

/// With the factor 1/ξ all votes count, also those before the birth; after a loan only votes dispatched since
/// then count, with any calls in flight.
#[test]
fn the_votes_before_a_birth_count_in_a_union_and_not_before_a_loan() {
    let mut books = Set::new(Guarantee::Union, PROPOSING, &[&[0], &[0]]).books();
    let born = vote(&mut books, 5).expect("a new answer");
    vote(&mut books, 5);
    assert!(books.evidence(born, FIRST) > 0.0 && books.evidence_count(born, FIRST) == 2);
    // ln(2 questions / (ξ δ)).
    assert!((books.level(born, FIRST) - (2.0_f64 / (0.5 * 0.05)).ln()).abs() < 1e-9);

    let mut books = Set::new(Guarantee::Lent, PROPOSING, &[&[0]]).books();
    let born = vote(&mut books, 5).expect("a new answer");
    let early = [0; 20].map(|_| ask(&mut books, VOTES));
    books.lend(born, Share::WHOLE).unwrap();
    let late = ask(&mut books, VOTES);
    answer(&mut books, &late, 5);
    for pull in &early {
        assert_eq!(books.evidence(born, FIRST).to_bits(), 0);
        answer(&mut books, pull, 5);
    }
    assert!(books.certified().is_empty(), "twenty votes from before the loan prove nothing");
    let evidence = books.evidence(born, FIRST);
    assert!(evidence > 0.0 && evidence <= 2.0_f64.ln(), "one vote: {evidence}");
}

/// A void vote that was dispatched before the loan does not count as one before it; its retry counts.
#[test]
fn a_void_vote_leaves_no_trace_and_its_retry_is_the_last() {
    let mut books = Set::new(Guarantee::Lent, PROPOSING, &[&[0]]).books();
    let void = ask(&mut books, VOTES);
    let early = ask(&mut books, VOTES);
    let arm = ArmId(0);
    books.lend(arm, Share::WHOLE).unwrap();
    let late = ask(&mut books, VOTES);
    answer(&mut books, &late, 0);
    books.fail(void.ticket, RATE_LIMITED, Cost::ZERO).unwrap();
    assert_eq!(books.evidence(arm, FIRST).to_bits(), 0, "an earlier vote is out");
    answer(&mut books, &early, 0);
    let one = books.evidence(arm, FIRST);
    assert!(one > 0.0 && one <= 2.0_f64.ln(), "the late one: {one}");
    // Nothing else may be recorded of the question's votes before it.
    let next = goodarm_core::Ticket(3);
    let loan = None;
    let asked = Event::Asked { ticket: next, target: Target::Question(QUESTION, VOTES), loan };
    assert_eq!(books.ledger().reserved(), UNIT, "the money is kept");
    books.apply(&asked).unwrap();
    assert_eq!(books.ledger().reserved(), UNIT);
    books.answer(next, Some(Label(0)), UNIT).unwrap();
    let two = books.evidence(arm, FIRST);
    assert!(two > one && two <= 4.0_f64.ln(), "and its retry: {two}");
    assert_eq!(books.tally(arm, FIRST).dispatched_count, 3);
}

/// A certificate closes the question: siblings leave, their shares come back as far as evidence allows,
/// and what is owed or late changes nothing.
#[test]
fn siblings_leave_at_a_certificate_and_what_was_kept_for_them_comes_back() {
    let mut set = Set::new(Guarantee::Lent, PLAIN, &[&[0, 1], &[0]]);
    set.judge = Some(ScoreModel::Binary);
    set.generators = 1;
    let mut books = set.books();
    let (good, sibling, other) = (ArmId(0), ArmId(1), ArmId(2));
    books.lend(good, Share::of(0.5)).unwrap();
    books.lend(sibling, Share::of(0.25)).unwrap();
    books.lend(other, Share::of(0.125)).unwrap();
    for _ in 0..30 {
        let pull = books.dispatch(Target::Arm(good, SECOND)).unwrap();
        books.tell(pull.ticket, 1.0, UNIT).unwrap();
    }
    let late = [ask(&mut books, VOTES), ask(&mut books, MAKER)];
    let judged = [0; 2].map(|_| books.dispatch(Target::Arm(sibling, SECOND)).unwrap());
    books.fail(judged[0].ticket, RATE_LIMITED, Cost::ZERO).unwrap();
    books.fail(late[0].ticket, RATE_LIMITED, Cost::ZERO).unwrap();
    // The judge's retry, the vote's retry, the judge's other call and the fresh answer.
    assert_eq!(books.ledger().reserved(), Cost::from_units(5));
    for _ in 0..60 {
        if books.certified().is_empty() {
            vote(&mut books, 0);
        }
    }
    assert_eq!((books.certified(), books.question(QUESTION).is_answered()), (&[good][..], true));
    assert!(
        books.is_superseded(sibling) && !books.is_superseded(good) && !books.is_active(sibling)
    );
    assert_ne!(books.status(sibling), ArmStatus::Certified);
    assert!(books.is_active(other));
    assert_eq!(books.ledger().reserved(), Cost::from_units(3), "what is still out");
    assert!(books.dispatch_retry().is_none());
    // All of the certified answer's share, and of its sibling's what its evidence is worth.
    let pool = books.pool().unwrap().fraction();
    assert!((0.625..0.875).contains(&pool), "{pool}");
    assert_eq!(books.share(sibling), None);
    for refused in [books.lend(sibling, Share::of(0.1)).map(|_| ()), books.release(sibling)] {
        assert_eq!(refused, Err(LendError::ArmLeft(sibling)));
    }
    for source in [VOTES, MAKER] {
        let refused = books.dispatch(Target::Question(QUESTION, source));
        assert_eq!(refused, Err(DispatchError::QuestionClosed(QUESTION)));
    }
    // What comes late is paid, and nothing is born or tried again.
    assert_eq!(answer(&mut books, &late[1], 9), None);
    books.fail(judged[1].ticket, RATE_LIMITED, Cost::ZERO).unwrap();
    assert_eq!((books.ledger().reserved(), books.problem().arm_count()), (Cost::ZERO, 3));
    assert_eq!(books.pool().unwrap().fraction().to_bits(), pool.to_bits());
}

#[test]
fn equal_answers_are_one() {
    let mut set = Set::new(Guarantee::Lent, PROPOSING, &[&[0]]);
    set.generators = 1;
    let mut books = set.books();
    let fresh = |books: &mut Books, label| {
        let pull = ask(books, MAKER);
        answer(books, &pull, label)
    };
    assert_eq!(fresh(&mut books, 0), None, "a given one");
    assert_eq!(fresh(&mut books, 1), Some(ArmId(1)));
    assert_eq!(vote(&mut books, 1), None, "a made one");
    assert_eq!(vote(&mut books, 2), Some(ArmId(2)));
    assert_eq!(fresh(&mut books, 2), None, "a proposed one");
    let state = books.question(QUESTION);
    assert_eq!((state.asked_count(), state.back_count(), state.new_count), (3, 3, 1));
    set.labels = vec![vec![4, 4]];
    assert_eq!(set.refusal(), DesignError::SameAnswer { arm: 1, question: QUESTION });
}

/// Duplicates, failures and unreadable ones count; void calls do not, but their retries.
#[test]
fn no_more_fresh_answers_are_made_than_stated() {
    let mut set = Set::new(Guarantee::Lent, PLAIN, &[&[], &[]]);
    (set.generators, set.candidates_max) = (2, 3);
    let mut books = set.books();
    assert!(!books.takes_votes(QUESTION, FIRST), "there is nothing to vote on");
    let dear = Source::Generator(GeneratorId(1));
    let calls = [ask(&mut books, MAKER), ask(&mut books, dear), ask(&mut books, MAKER)];
    assert_eq!(calls.map(|call| call.ceiling.units().to_bits()), [2.0, 3.0, 2.0].map(f64::to_bits));
    let full = Err(DispatchError::QuestionClosed(QUESTION));
    assert_eq!(books.dispatch(Target::Question(QUESTION, MAKER)), full);
    books.answer(calls[0].ticket, None, UNIT).unwrap();
    books.fail(calls[1].ticket, Failure::Counted(CountedFailure::Refused), UNIT).unwrap();
    books.fail(calls[2].ticket, RATE_LIMITED, Cost::ZERO).unwrap();
    assert_eq!(books.dispatch(Target::Question(QUESTION, MAKER)), full);
    books.dispatch_retry().expect("the retry");
    let retry = books.outstanding().next().unwrap();
    assert_eq!(books.answer(retry, Some(Label(3)), UNIT), Ok(Some(ArmId(0))));
    assert_eq!(books.dispatch(Target::Question(QUESTION, MAKER)), full);
    assert_eq!(books.question(QUESTION).asked_count(), 3);
    assert!(books.takes_votes(QUESTION, FIRST));
    // The other question has its own.
    books.dispatch(Target::Question(QuestionId(1), dear)).unwrap();
}

#[test]
fn an_exhausted_generator_is_not_asked_again_about_that_question() {
    let mut set = Set::new(Guarantee::Union, PLAIN, &[&[], &[]]);
    set.generators = 2;
    let mut books = set.books();
    let pull = ask(&mut books, MAKER);
    books.fail(pull.ticket, EXHAUSTED, Cost::ZERO).unwrap();
    assert!(!books.takes_fresh(QUESTION, GeneratorId(0)));
    assert!(books.takes_fresh(QUESTION, GeneratorId(1)));
    assert!(books.takes_fresh(QuestionId(1), GeneratorId(0)));
}

/// Votes after one that no number can stand for prove nothing, about any answer, born later or not.
#[test]
fn votes_that_have_ended_prove_nothing_more() {
    for guarantee in [Guarantee::Union, Guarantee::Lent] {
        let mut set = Set::new(guarantee, PROPOSING, &[&[0]]);
        set.generators = 1;
        let mut books = set.books();
        if guarantee == Guarantee::Lent {
            books.lend(ArmId(0), Share::of(0.5)).unwrap();
        }
        vote(&mut books, 0);
        let before = books.evidence(ArmId(0), FIRST);
        let sent = [0; 3].map(|_| ask(&mut books, VOTES));
        books.fail(sent[0].ticket, RATE_LIMITED, Cost::ZERO).unwrap();
        assert_eq!(books.ledger().reserved(), Cost::from_units(3));
        books.fail(sent[1].ticket, EXHAUSTED, UNIT).unwrap();
        assert_eq!(books.ledger().reserved(), UNIT, "a retry would be of no use");
        answer(&mut books, &sent[2], 0);
        assert_eq!(books.evidence(ArmId(0), FIRST).to_bits(), before.to_bits());
        let closed = Err(DispatchError::QuestionClosed(QUESTION));
        assert_eq!(books.dispatch(Target::Question(QUESTION, VOTES)), closed);
        let pull = ask(&mut books, MAKER);
        let born = answer(&mut books, &pull, 6).expect("a new answer");
        assert!(!books.is_open(born, FIRST));
        if guarantee == Guarantee::Lent {
            books.release(ArmId(0)).unwrap();
            assert!((books.pool().unwrap().fraction() - 0.5).abs() < 1e-12);
        }
    }
}

#[test]
fn a_question_without_an_answer_that_could_be_certified_gives_back_its_retries() {
    let mut set = Set::new(Guarantee::Lent, PLAIN, &[&[0]]);
    set.judge = Some(ScoreModel::Exact);
    let mut books = set.books();
    let pull = ask(&mut books, VOTES);
    books.fail(pull.ticket, RATE_LIMITED, Cost::ZERO).unwrap();
    assert_eq!(books.ledger().reserved(), UNIT);
    let pull = books.dispatch(Target::Arm(ArmId(0), SECOND)).unwrap();
    books.tell(pull.ticket, 0.0, UNIT).unwrap();
    assert_eq!(books.ledger().reserved(), Cost::ZERO);
    assert!(books.dispatch_retry().is_none());
}

#[test]
fn votes_propose_a_limited_number_of_answers() {
    let mut books = Set::new(Guarantee::Lent, PROPOSING, &[&[]]).books();
    for label in 0..80 {
        let born = vote(&mut books, label);
        assert_eq!(born.is_some(), (label as usize) < PROPOSED_ANSWERS_MAX);
    }
    assert_eq!(books.problem().arm_count(), PROPOSED_ANSWERS_MAX);
}

#[test]
fn a_reply_of_the_wrong_kind_changes_nothing() {
    let mut set = Set::new(Guarantee::Lent, PLAIN, &[&[0]]);
    set.judge = Some(ScoreModel::Binary);
    let mut books = set.books();
    let asked = ask(&mut books, VOTES);
    let judged = books.dispatch(Target::Arm(ArmId(0), SECOND)).unwrap();
    let before = picture(&books);
    let ticket = asked.ticket;
    let wrong = Err(SettleError::OtherReply(ticket));
    assert_eq!(books.tell(ticket, 1.0, UNIT), wrong);
    assert_eq!(books.tell_all(ticket, &[Some(1.0)], UNIT), wrong);
    let ticket = judged.ticket;
    let wrong = SettleError::OtherReply(ticket);
    assert_eq!(books.answer(ticket, Some(Label(0)), UNIT), Err(wrong));
    // A vote is asked of the question, by any of the ways in.
    let votes = DispatchError::AskedOfQuestions(FIRST);
    assert_eq!(books.dispatch(Target::Arm(ArmId(0), FIRST)), Err(votes));
    let next = goodarm_core::Ticket(2);
    let asked = Event::Asked { ticket: next, target: Target::Arm(ArmId(0), FIRST), loan: None };
    assert!(books.apply(&asked).is_err());
    for source in [Source::Votes(SECOND), Source::Votes(AttributeId(9)), MAKER] {
        let refused = books.dispatch(Target::Question(QUESTION, source));
        assert_eq!(refused, Err(DispatchError::NoSuchQuestion(QUESTION)));
    }
    assert_eq!(books.add_arms(1), Err(AddArmsError::Questions));
    assert_eq!(picture(&books), before);
}

/// Stepping down, false discovery and the paper's radius share δ over a set of arms that is fixed.
#[test]
fn other_guarantees_are_refused() {
    for guarantee in GUARANTEES {
        let set = Set::new(guarantee, PLAIN, &[&[0, 1]]);
        if matches!(guarantee, Guarantee::Lent | Guarantee::Union) {
            set.books();
        } else {
            assert_eq!(set.refusal(), DesignError::Guarantee(guarantee));
        }
    }
    let set = Set::new(Guarantee::Lent, PLAIN, &[&[]]);
    assert_eq!(set.refusal(), DesignError::NothingToCertify);
    let set = Set { generators: 1, candidates_max: 0, ..Set::new(Guarantee::Lent, PLAIN, &[&[0]]) };
    assert_eq!(set.refusal(), DesignError::CandidatesMax(0));
}

/// 1/ξ for each kind of votes, and one for each answer there can be if anything else is noisy.
#[test]
fn the_level_of_a_question_counts_every_way_to_be_wrong() {
    let level = |set: &Set| {
        let books = set.books();
        books.level(ArmId(0), FIRST).exp() * 0.05
    };
    let near = |found: f64, ways: f64| assert!((found / ways - 1.0).abs() < 1e-9, "{found} {ways}");
    let mut set = Set::new(Guarantee::Union, PLAIN, &[&[0, 1], &[0]]);
    near(level(&set), 2.0 * 2.0);
    set.judge = Some(ScoreModel::Exact);
    near(level(&set), 2.0 * 2.0);
    set.judge = Some(ScoreModel::Binary);
    near(level(&set), 2.0 * (2.0 + 2.0));
    set.generators = 1;
    near(level(&set), 2.0 * (2.0 + 2.0 + 3.0));
    set.votes = PROPOSING;
    near(level(&set), 2.0 * (2.0 + 2.0 + 3.0 + 64.0));
    set.votes = ScoredBy::OwnCalls;
    near(level(&set), 2.0 * 5.0);
}

/// Always the same question, also while it waits for a call.
struct Stubborn(Source);

impl Policy for Stubborn {
    fn name(&self) -> &'static str {
        "stubborn"
    }

    fn choose(&mut self, books: &Books) -> Option<Choice> {
        let takes = match self.0 {
            Source::Votes(attribute) => books.takes_votes(QUESTION, attribute),
            Source::Generator(generator) => books.takes_fresh(QUESTION, generator),
        };
        takes.then_some(Choice { target: Target::Question(QUESTION, self.0), branch: "stubborn" })
    }
}

/// Where all calls about one question hang, one about another finds out whether every call would.
#[test]
fn a_call_in_place_of_one_that_hangs_is_about_another_question() {
    for source in [VOTES, MAKER] {
        let set = Set { generators: 1, ..Set::new(Guarantee::Lent, PLAIN, &[&[0], &[0], &[0]]) };
        let session = || {
            let (spec, design) = set.stated();
            let problem = Problem::designed(spec, design).expect("a sound problem");
            let options = Options { in_flight_share: 1.0, ..Options::default() };
            Session::with_options(problem, Stubborn(source), options).expect("sound options")
        };
        let mut run = session();
        let ask = |run: &mut Session| {
            let service = run.books().problem().service(Target::Question(QUESTION, source));
            run.ask_probe(service)
        };
        let mut events = Vec::new();
        for expected in [0, 1, 2] {
            let Ok(Ask::Call(pull)) = ask(&mut run) else { panic!("a call about a question") };
            assert_eq!(pull.target, Target::Question(QuestionId(expected), source));
            events.push(Event::from(pull));
        }
        // All of them wait: then it is what the policy wants.
        let Ok(Ask::Call(pull)) = ask(&mut run) else { panic!("a call about a question") };
        let wanted = Target::Question(QUESTION, source);
        assert_eq!((pull.target, pull.branch), (wanted, "stubborn"));
        session().replay(events).expect("the same again");
    }
}

/// The most frequent answer fails its judge: votes continue until another is proposed.
#[test]
fn votes_propose_again_where_a_judge_rejects_what_they_proposed() {
    let set =
        Set { judge: Some(ScoreModel::Binary), ..Set::new(Guarantee::Lent, PROPOSING, &[&[]]) };
    let (mut spec, design) = set.stated();
    spec.attributes[0].threshold = 0.25;
    let problem = Problem::designed(spec, design).expect("a sound problem");
    let mut session = Session::new(problem, goodarm_core::policy::rcb::Rcb::new());
    let mut vote_count = 0;
    let reason = loop {
        match session.ask().expect("a policy of ours") {
            Ask::Call(pull) if pull.pair().is_none() => {
                // Two of three are for the one that the judge rejects.
                let label = Label(u32::from(vote_count % 3 == 2));
                vote_count += 1;
                session.answer(pull.ticket, Some(label), UNIT).expect("a vote");
            }
            Ask::Call(pull) => {
                let questions = session.books().problem().questions().expect("there is one");
                let is_good = questions.label(pull.arm()) == Label(1);
                session.tell(pull.ticket, f64::from(u8::from(is_good)), UNIT).expect("a score");
            }
            Ask::Wait => unreachable!("nothing is in flight"),
            Ask::Done(reason) => break reason,
        }
        assert!(vote_count < 10_000, "it never ends");
    };
    assert_eq!(session.certified(), [ArmId(1)], "{reason:?} after {vote_count} votes");
}
