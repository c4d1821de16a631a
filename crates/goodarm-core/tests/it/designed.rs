//! Random problems whose calls score several attributes and whose arms share questions, a policy that
//! does anything that is allowed, and a caller that answers in random order.

use std::collections::BTreeMap;

use goodarm_core::{
    ArmId, Ask, AttributeId, AttributeSpec, BlockingFailure, Books, Choice, Cost, CountedFailure,
    Design, Event, Failure, GeneratorSpec, Guarantee, Label, Options, Outcome, Policy, Problem,
    ProblemSpec, QuestionId, QuestionsSpec, ScoreModel, ScoredBy, Session, Share, Source,
    StopReason, Target, Ticket, VoidFailure,
};
use goodarm_sim::random::Random;

use crate::doors::{failed, told};

pub(crate) fn pick<T: Copy>(random: &mut Random, options: &[T]) -> T {
    let index = random.below(options.len() as u64);
    options[usize::try_from(index).expect("an index")]
}

const FLOORLESS: ScoreModel = ScoreModel::SubGaussian { sigma: 0.5, lowest: None };
const FLOORED: ScoreModel = ScoreModel::SubGaussian { sigma: 0.5, lowest: Some(0.0) };
const GUARANTEES: [Guarantee; 5] = [
    Guarantee::Paper,
    Guarantee::Union,
    Guarantee::Holm,
    Guarantee::Lent,
    Guarantee::FalseDiscovery,
];

/// A rubric, perhaps a check, and for every other seed questions with votes and generators.
pub(crate) fn random_problem(seed: u64) -> Problem {
    let mut random = Random::at(seed, &[11]);
    let has_questions = seed.is_multiple_of(2);
    let mut scored_by = Vec::new();
    let mut models = Vec::new();
    let checks = random.below(3);
    for check in 0..checks {
        models.push(ScoreModel::Exact);
        scored_by.push(if check == 0 { ScoredBy::OwnCalls } else { ScoredBy::CallsOf(0) });
    }
    let lead = models.len();
    for criterion in 0..random.below(4) {
        models.push(pick(&mut random, &[ScoreModel::Binary, ScoreModel::UNIT, FLOORED, FLOORLESS]));
        let by = if criterion == 0 { ScoredBy::OwnCalls } else { ScoredBy::CallsOf(lead) };
        scored_by.push(by);
    }
    let voters = if has_questions { random.below(3) } else { 0 };
    for _ in 0..voters {
        models.push(ScoreModel::Binary);
        scored_by.push(ScoredBy::Votes { proposes: random.below(2) == 0 });
    }
    if models.iter().all(|model| *model == ScoreModel::Exact) {
        models.push(ScoreModel::Binary);
        scored_by.push(ScoredBy::OwnCalls);
    }
    let attribute = |(index, &scores): (usize, &ScoreModel)| AttributeSpec {
        name: index.to_string(),
        price: 1.0 + f64::from(u8::try_from(index).expect("few")) / 2.0,
        expected: None,
        threshold: 0.3 + 0.3 * random.uniform(),
        scores,
    };
    let attributes = models.iter().enumerate().map(attribute).collect();
    let count = 1 + usize::try_from(random.below(4)).expect("few");
    let mut answers = Vec::new();
    for question in 0..count {
        for label in 0..random.below(4) {
            let question = QuestionId(u32::try_from(question).expect("few"));
            answers.push((question, Label(u32::try_from(label).expect("few"))));
        }
    }
    let makes_one = |by: &ScoredBy| *by == ScoredBy::Votes { proposes: true };
    let generator_min = u64::from(answers.is_empty() && !scored_by.iter().any(makes_one));
    let generator =
        |index: u64| GeneratorSpec { name: index.to_string(), price: 3.0, expected: None };
    let generators = (0..generator_min.max(random.below(3))).map(generator).collect();
    let arms = if has_questions { answers.len() } else { pick(&mut random, &[1, 3, 8]) };
    let questions =
        has_questions.then_some(QuestionsSpec { count, answers, generators, candidates_max: 3 });
    let guarantees =
        if has_questions { &[Guarantee::Lent, Guarantee::Union][..] } else { &GUARANTEES };
    let spec = ProblemSpec {
        arms,
        attributes,
        budget: pick(&mut random, &[20.0, 200.0, 1000.0]),
        delta: pick(&mut random, &[0.3, 0.02]),
        guarantee: pick(&mut random, guarantees),
    };
    Problem::designed(spec, Design { scored_by, questions }).expect("a sound problem")
}

/// Chooses and lends at random, but the same in the same books.
struct Whim {
    seed: u64,
}

impl Whim {
    fn random(&self, books: &Books, what: u64) -> Random {
        let settled = books.ledger().settled().units().to_bits();
        let reserved = books.ledger().reserved().units().to_bits();
        let out = books.in_flight_count() as u64;
        let path = [12, what, books.observation_count(), out, settled, reserved];
        Random::at(self.seed, &path)
    }
}

/// Everything that may be dispatched.
pub(crate) fn open_targets(books: &Books) -> Vec<Target> {
    let problem = books.problem();
    let mut targets = Vec::new();
    for arm in problem.arms().filter(|&arm| books.is_active(arm)) {
        for attribute in problem.attributes() {
            if books.is_open(arm, attribute) && books.is_affordable(attribute) {
                targets.push(Target::Arm(arm, attribute));
            }
        }
    }
    let Some(questions) = problem.questions() else { return targets };
    for question in questions.ids() {
        for attribute in problem.attributes().filter(|&it| problem.are_votes(it)) {
            if books.takes_votes(question, attribute) && books.is_affordable(attribute) {
                targets.push(Target::Question(question, Source::Votes(attribute)));
            }
        }
        for generator in questions.generator_ids() {
            if books.takes_fresh(question, generator)
                && books.lane(problem.generator_service(generator)).is_affordable
            {
                targets.push(Target::Question(question, Source::Generator(generator)));
            }
        }
    }
    targets
}

impl Policy for Whim {
    fn name(&self) -> &'static str {
        "whim"
    }

    fn choose(&mut self, books: &Books) -> Option<Choice> {
        let targets = open_targets(books);
        let mut random = self.random(books, 0);
        if targets.is_empty() || (books.in_flight_count() > 0 && random.below(8) == 0) {
            return None;
        }
        Some(Choice { target: pick(&mut random, &targets), branch: "whim" })
    }

    fn lend(&mut self, books: &Books, _: Choice) -> Option<Share> {
        let mut random = self.random(books, 1);
        let part = pick(&mut random, &[0.0, 0.1, 0.5, 1.0]);
        let pool = books.pool()?;
        let share = Share::of(part * pool.fraction()).min(pool);
        (share > Share::NONE).then_some(share)
    }
}

pub(crate) fn session(problem: &Problem, seed: u64) -> Session {
    let options = Options { in_flight_share: 1.0, ..Options::default() };
    Session::with_options(problem.clone(), Whim { seed }, options).expect("sound options")
}

/// What a call in flight may cost.
struct Out {
    ticket: Ticket,
    ceiling: Cost,
    asked: Asked,
}

#[derive(Clone, Copy)]
enum Asked {
    Arm(AttributeId),
    Question,
}

/// Runs a session to its end; everything that happens goes to `watch`.
pub(crate) fn drive(
    session: &mut Session,
    seed: u64,
    mut watch: impl FnMut(&Session, Event),
) -> StopReason {
    let mut random = Random::at(seed, &[13]);
    let concurrency = pick(&mut random, &[1, 3, 16]);
    let trouble = pick(&mut random, &[0, 2, 6]);
    let mut out: Vec<Out> = Vec::new();
    for _ in 0..100_000 {
        let may_ask = out.len() < concurrency && random.below(3) > 0;
        let ask = if may_ask || out.is_empty() {
            session.ask().expect("a legal call")
        } else {
            Ask::Wait
        };
        match ask {
            Ask::Call(pull) => {
                let (ticket, ceiling) = (pull.ticket, pull.ceiling);
                let asked = match pull.target {
                    Target::Arm(_, attribute) => Asked::Arm(attribute),
                    Target::Question(..) => Asked::Question,
                };
                out.push(Out { ticket, ceiling, asked });
                watch(session, pull.into());
            }
            Ask::Wait => {
                let index = usize::try_from(random.below(out.len() as u64)).expect("an index");
                let back = out.swap_remove(index);
                let event = reply(session.books().problem(), &back, trouble, &mut random);
                session.replay([event.clone()]).expect("a sound answer");
                check(session.books(), &out);
                watch(session, event);
                for event in whims(session.books(), &mut random) {
                    session.replay([event.clone()]).expect("it is allowed");
                    watch(session, event);
                }
            }
            Ask::Done(reason) => {
                assert!(out.is_empty() && session.books().ledger().reserved() == Cost::ZERO);
                return reason;
            }
        }
    }
    panic!("the session does not end");
}

/// A share that is taken back now and then.
fn whims(books: &Books, random: &mut Random) -> Vec<Event> {
    if random.below(10) > 0 {
        return Vec::new();
    }
    let lent = |arm: &ArmId| books.is_active(*arm) && books.share(*arm).is_some();
    books.problem().arms().find(lent).map(|arm| Event::Released { arm }).into_iter().collect()
}

/// What must hold at any time.
fn check(books: &Books, out: &[Out]) {
    let ledger = books.ledger();
    assert!(ledger.settled() + ledger.reserved() <= ledger.budget(), "money");
    assert_eq!(books.in_flight_count(), out.len());
    let ceilings = out.iter().fold(Cost::ZERO, |sum, call| sum + call.ceiling);
    assert!(ledger.reserved() >= ceilings, "what is out is reserved, and retries that are owed");
    let problem = books.problem();
    for attribute in problem.attributes() {
        let calls =
            |call: &&Out| matches!(call.asked, Asked::Arm(of) if of == problem.lead(attribute));
        if !problem.are_votes(attribute) {
            assert_eq!(
                books.lane_of(attribute).in_flight_count(),
                out.iter().filter(calls).count()
            );
        }
    }
    if let Some(pool) = books.pool() {
        let lent = |arm: &ArmId| books.is_active(*arm);
        let shares = problem.arms().filter(lent).filter_map(|arm| books.share(arm));
        let total = shares.map(Share::parts).sum::<u64>() + pool.parts();
        assert!(total <= Share::WHOLE.parts(), "shares");
    }
    if let Some(questions) = problem.questions() {
        let mut answered = BTreeMap::new();
        for &arm in books.certified() {
            assert_eq!(answered.insert(questions.of(arm), arm), None, "one certificate a question");
        }
        for (question, arm) in answered {
            assert!(books.active_answers(question).is_empty());
            assert_eq!(books.question(question).certified, Some(arm));
        }
    }
}

/// What may come back from a call; `trouble` times in twenty a failure.
fn reply(problem: &Problem, back: &Out, trouble: u64, random: &mut Random) -> Event {
    let ticket = back.ticket;
    let cost = if random.below(2) == 0 { back.ceiling } else { Cost::from_units(1) };
    let cost = cost.min(back.ceiling);
    if random.below(20) < trouble {
        let failure = pick(
            random,
            &[
                Failure::Void(VoidFailure::RateLimited),
                Failure::Void(VoidFailure::NotConnected),
                Failure::Void(VoidFailure::NoVerdict),
                Failure::Counted(CountedFailure::TimedOut),
                Failure::Counted(CountedFailure::Unreadable),
                Failure::Blocking(BlockingFailure::Exhausted),
            ],
        );
        return failed(ticket, failure, cost);
    }
    let lead = match back.asked {
        Asked::Arm(lead) => lead,
        Asked::Question => {
            let label = random.below(6);
            let label =
                (label < 5).then(|| Label(u32::try_from(label * label / 4).expect("small")));
            return Event::Settled { ticket, outcome: Outcome::Answer(label), bill: cost.into() };
        }
    };
    let score = |&attribute: &AttributeId, random: &mut Random| -> f64 {
        match problem.attribute(attribute).scores {
            ScoreModel::Binary | ScoreModel::Exact => f64::from(u8::from(random.below(5) > 0)),
            ScoreModel::Bounded { .. } | ScoreModel::SubGaussian { .. } => random.uniform().sqrt(),
        }
    };
    let members = problem.members(lead);
    if members.len() == 1 {
        return told(ticket, score(&lead, random), cost);
    }
    let mut scores = Vec::new();
    for member in members {
        let is_missing = random.below(40) < trouble;
        let below = random.below(60) < trouble && *member != lead;
        let is_plain = matches!(problem.attribute(*member).scores, ScoreModel::Bounded { .. });
        scores.push(match score(member, random) {
            _ if is_missing => None,
            _ if below && is_plain => Some(-1.0),
            score => Some(score),
        });
    }
    Event::Settled { ticket, outcome: Outcome::Scores(scores.into()), bill: cost.into() }
}

/// Everything that two books must agree on, bit for bit.
pub(crate) fn picture(books: &Books) -> String {
    let mut picture = format!("{:?}\n{:?} {:?}\n", books.ledger(), books.certified(), books.pool());
    let problem = books.problem();
    for arm in problem.arms() {
        picture += &format!("{arm} {:?} {} ", books.status(arm), books.is_active(arm));
        picture +=
            &format!("{:?} {:?}\n", books.share(arm), problem.questions().map(|it| it.label(arm)));
        for attribute in problem.attributes() {
            let evidence = books.evidence(arm, attribute).to_bits();
            let level = books.level(arm, attribute).to_bits();
            let tally = books.tally(arm, attribute);
            let count = books.evidence_count(arm, attribute);
            picture += &format!("  {attribute} {evidence:x} {level:x} {count} {tally:?}\n");
        }
    }
    if let Some(questions) = problem.questions() {
        for question in questions.ids() {
            picture += &format!("{question} {:?}\n", books.question(question));
        }
    }
    picture
}
