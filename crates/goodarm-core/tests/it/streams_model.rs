//! Which call counts for which pair, written down once more: from the events alone, for random problems
//! with shared calls and questions, in random order and with everything that can go wrong.

use std::collections::{BTreeMap, BTreeSet};

use goodarm_core::{
    ArmId, AttributeId, Books, Event, Failure, Outcome, Problem, Share, Source, Target, Ticket,
    VoidFailure,
};

use crate::designed::{drive, random_problem, session};

#[derive(Default)]
struct Model {
    /// The calls of each stream in dispatch order, without void ones.
    streams: BTreeMap<Target, Vec<Ticket>>,
    of: BTreeMap<Ticket, Target>,
    back: BTreeSet<Ticket>,
    /// Streams of which something cannot be known from events alone: blocked, or short of money.
    unclear: BTreeSet<Target>,
    /// The first call after the present loan of each arm.
    lent_at: BTreeMap<ArmId, Ticket>,
}

impl Model {
    fn stream(problem: &Problem, arm: ArmId, attribute: AttributeId) -> Target {
        match problem.questions() {
            Some(questions) if problem.are_votes(attribute) => {
                Target::Question(questions.of(arm), Source::Votes(attribute))
            }
            _ => Target::Arm(arm, problem.lead(attribute)),
        }
    }

    fn take(&mut self, books: &Books, event: &Event) {
        match *event {
            Event::Asked { ticket, target, loan } => {
                self.ask(ticket, target, loan.map(|(arm, _)| arm));
            }
            Event::Settled { ticket, outcome: Outcome::Failed(failure), .. } => {
                self.fail(books, ticket, failure);
            }
            Event::Settled { ticket, ref outcome, .. } => {
                self.back.insert(ticket);
                if let Outcome::Scores(scores) = outcome
                    && scores.iter().any(|score| score.is_none_or(|score| score < 0.0))
                {
                    self.unclear.insert(self.of[&ticket]);
                }
            }
            Event::Released { arm } => {
                self.lent_at.remove(&arm);
            }
            Event::BudgetRaised { .. } | Event::ArmsAdded { .. } => unreachable!("not done here"),
        }
    }

    fn ask(&mut self, ticket: Ticket, target: Target, borrower: Option<ArmId>) {
        self.streams.entry(target).or_default().push(ticket);
        self.of.insert(ticket, target);
        if let Some(arm) = borrower {
            self.lent_at.insert(arm, ticket);
        }
    }

    fn fail(&mut self, books: &Books, ticket: Ticket, failure: Failure) {
        let target = self.of[&ticket];
        let is_exact = |attribute| books.problem().attribute(attribute).is_exact();
        let is_void = match (failure, target) {
            (Failure::Void(VoidFailure::NoVerdict), Target::Arm(_, lead)) => is_exact(lead),
            (Failure::Void(VoidFailure::NoVerdict), Target::Question(..)) => false,
            (Failure::Void(_), _) => true,
            (Failure::Blocking(_) | Failure::Counted(_), _) => false,
        };
        // Without money for the retry a void call counts; some scores have no lowest.
        let is_short = books.ledger().left().units() < 20.0;
        let may_block = !is_void && matches!(target, Target::Arm(..));
        if matches!(failure, Failure::Blocking(_)) || is_short || may_block {
            self.unclear.insert(target);
        }
        if is_void {
            let calls = self.streams.get_mut(&target).expect("it was asked");
            calls.retain(|&call| call != ticket);
        } else {
            self.back.insert(ticket);
        }
    }

    /// Compares what the books say of all arms that still take calls; gives how many pairs that were.
    fn check(&self, books: &Books, what: u64) -> u32 {
        let problem = books.problem();
        let mut checked = 0;
        for arm in problem.arms().filter(|&arm| books.is_active(arm)) {
            for attribute in problem.attributes() {
                let stream = Self::stream(problem, arm, attribute);
                if self.unclear.contains(&stream) || problem.attribute(attribute).is_exact() {
                    continue;
                }
                let calls = self.streams.get(&stream).map_or(&[][..], Vec::as_slice);
                let returned = calls.iter().filter(|call| self.back.contains(call)).count() as u64;
                let prefix =
                    calls.iter().take_while(|call| self.back.contains(call)).count() as u64;
                let pair = format!("{what}: {arm} {attribute}");
                assert_eq!(books.tally(arm, attribute).returned_count, returned, "{pair}");
                assert_eq!(books.evidence_count(arm, attribute), prefix, "{pair}");
                if books.pool().is_some() {
                    let share = books.share(arm).unwrap_or(Share::NONE);
                    let lent_at = self.lent_at.get(&arm).copied();
                    assert_eq!(share > Share::NONE, lent_at.is_some(), "{pair}");
                    let before = |lent_at| calls.iter().filter(|&&call| call < lent_at).count();
                    let begins_at = lent_at.map_or(u64::MAX, |lent_at| before(lent_at) as u64);
                    let looks = begins_at.min(returned);
                    assert_eq!(books.look_count(arm, attribute), looks, "{pair}: before the loan");
                }
                checked += 1;
            }
        }
        checked
    }
}

#[test]
fn every_pair_counts_the_calls_that_the_events_say_it_should() {
    let mut checked = 0;
    for seed in 0..400 {
        let problem = random_problem(seed);
        let mut model = Model::default();
        drive(&mut session(&problem, seed), seed, |session, event| {
            model.take(session.books(), &event);
            checked += model.check(session.books(), seed);
        });
    }
    assert!(checked > 20_000, "{checked}");
}
