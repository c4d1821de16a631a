//! A record may say anything: what cannot have happened is refused, without a panic and without a change.

use goodarm_core::outlook::certified_count_forecast;
use goodarm_core::{
    ArmId, AttributeId, Bill, BlockingFailure, Books, Cost, CountedFailure, Event, EventError,
    Failure, GeneratorId, Label, Loan, Outcome, QuestionId, Share, Source, Target, Ticket,
    VoidFailure,
};
use goodarm_sim::random::Random;

use crate::designed::{drive, open_targets, pick, picture, random_problem, session};
use crate::doors::{failed, told};

/// A small number, mostly one that means something.
fn small(random: &mut Random) -> u32 {
    u32::try_from(random.below(6)).expect("small")
}

fn source(random: &mut Random) -> Source {
    match random.below(2) {
        0 => Source::Votes(AttributeId(small(random))),
        _ => Source::Generator(GeneratorId(small(random))),
    }
}

/// A call that may be made, perhaps with a loan that may be made.
fn allowed_ask(books: &Books, ticket: Ticket, target: Target, random: &mut Random) -> Event {
    let wants_loan = random.below(2) == 0;
    let lend = |arm| {
        let pool = books.pool().unwrap_or(Share::NONE);
        let share = Share::of(0.3 * pool.fraction());
        books.clone().lend(arm, share).ok().filter(|_| wants_loan)
    };
    match target {
        Target::Arm(arm, attribute) if books.problem().are_votes(attribute) => {
            let questions = books.problem().questions().expect("votes are about questions");
            let (question, source) = (questions.of(arm), Source::Votes(attribute));
            let loan = lend(arm).map(|loan| (arm, loan));
            Event::Asked { ticket, target: Target::Question(question, source), loan }
        }
        Target::Arm(arm, _) => {
            let loan = lend(arm).map(|loan| (arm, loan));
            Event::Asked { ticket, target, loan }
        }
        Target::Question(question, source) => {
            let arm = books.active_answers(question).first().copied();
            let loan = arm.and_then(|arm| Some((arm, lend(arm)?)));
            Event::Asked { ticket, target: Target::Question(question, source), loan }
        }
    }
}

/// Anything at all, mostly about calls that are there.
fn random_event(books: &Books, asked_count: u64, random: &mut Random) -> Event {
    let out: Vec<Ticket> = books.outstanding().collect();
    let ticket = match out.len() {
        0 => Ticket(random.below(9)),
        _ if random.below(20) == 0 => Ticket(random.below(40)),
        _ => pick(random, &out),
    };
    let units = pick(random, &[0, 1, 2, 50]);
    let cost = if random.below(200) == 0 {
        Cost::from_units(9_000_000_000)
    } else {
        Cost::from_units(units)
    };
    let next = if random.below(30) == 0 { ticket } else { Ticket(asked_count) };
    let score = pick(random, &[0.0, 1.0, 0.5, -1.0, 2.0, f64::NAN, f64::INFINITY, 1e300]);
    let share = Share::of(pick(random, &[0.0, 0.1, 0.5, 1.0]));
    let loan = Loan { share, weights: random.below(3) };
    let targets = open_targets(books);
    match random.below(20) {
        0..=4 if !targets.is_empty() => allowed_ask(books, next, pick(random, &targets), random),
        0..=4 => {
            let is_lent = random.below(5) == 0;
            let (arm, attribute) = (ArmId(small(random)), AttributeId(small(random)));
            let loan = is_lent.then_some((arm, loan));
            Event::Asked { ticket: next, target: Target::Arm(arm, attribute), loan }
        }
        5..=9 => {
            let loan = (random.below(5) == 0).then(|| (ArmId(small(random)), loan));
            let question = QuestionId(small(random));
            Event::Asked { ticket: next, target: Target::Question(question, source(random)), loan }
        }
        10 | 11 => told(ticket, score, cost),
        12 | 13 => {
            let scores = (0..random.below(4)).map(|_| (random.below(4) > 0).then_some(score));
            Event::Settled { ticket, outcome: Outcome::Scores(scores.collect()), bill: cost.into() }
        }
        14 | 15 => {
            let label = (random.below(4) > 0).then(|| Label(small(random)));
            Event::Settled {
                ticket,
                outcome: Outcome::Answer(label),
                bill: Bill::unknown(cost, Cost::from_units(2)),
            }
        }
        16 | 17 => {
            let failure = pick(
                random,
                &[
                    Failure::Void(VoidFailure::RateLimited),
                    Failure::Void(VoidFailure::NoVerdict),
                    Failure::Counted(CountedFailure::Lost),
                    Failure::Blocking(BlockingFailure::BelowLowest),
                ],
            );
            failed(ticket, failure, cost)
        }
        18 => Event::Released { arm: ArmId(small(random)) },
        _ => match random.below(3) {
            0 => Event::ArmsAdded { count: small(random) / 3 },
            1 => Event::ArmsAdded { count: u32::MAX },
            _ => Event::BudgetRaised { budget: Cost::from_units(u64::from(small(random)) * 300) },
        },
    }
}

#[test]
fn no_sequence_of_events_makes_the_books_panic_and_what_they_refuse_changes_nothing() {
    let (mut taken, mut refused) = (0_u32, 0_u32);
    for seed in 0..1500 {
        let mut random = Random::at(seed, &[21]);
        let mut books = Books::new(random_problem(seed));
        let mut asked_count = 0;
        for _ in 0..150 {
            let event = random_event(&books, asked_count, &mut random);
            let before = (seed < 150).then(|| format!("{books:?}"));
            match books.apply(&event) {
                Ok(_) => {
                    taken += 1;
                    asked_count += u64::from(matches!(event, Event::Asked { .. }));
                }
                // The loan has been made by then; the record is another program's.
                Err(EventError::Weights(_)) => refused += 1,
                Err(error) => {
                    refused += 1;
                    if let Some(before) = before {
                        assert_eq!(before, format!("{books:?}"), "{seed}: {event:?}: {error}");
                    }
                }
            }
            let _ = (picture(&books), open_targets(&books), certified_count_forecast(&books));
        }
    }
    assert!(taken > 20_000 && refused > 20_000, "{taken} {refused}");
}

/// A session with a record in which one event is changed reports it or continues, but does not panic.
#[test]
fn a_record_with_one_event_changed_does_not_make_a_session_panic() {
    let mut noticed = 0;
    for seed in 0..150 {
        let problem = random_problem(seed);
        let mut events = Vec::new();
        drive(&mut session(&problem, seed), seed, |_, event| events.push(event));
        for change in 0..6 {
            let mut random = Random::at(seed, &[22, change]);
            let mut changed = events.clone();
            let at = usize::try_from(random.below(events.len().max(1) as u64)).expect("an index");
            let forged = random_event(&Books::new(problem.clone()), at as u64, &mut random);
            if let Some(event) = changed.get_mut(at) {
                *event = forged;
            }
            noticed += u32::from(session(&problem, seed).replay(changed).is_err());
        }
    }
    assert!(noticed > 500, "{noticed}");
}
