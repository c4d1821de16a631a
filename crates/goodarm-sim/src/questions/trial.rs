//! Drives one session about questions to its end.

use std::collections::BTreeMap;

use goodarm_core::{
    ArmId, Ask, Call, Cost, Design, Label, Outcome, Policy, QuestionId, Session, StopReason, Target,
};

use crate::num::real;
use crate::questions::oracle::QuestionOracle;
use crate::questions::world::QuestionWorld;
use crate::random::Random;
use crate::trial::{Certified, Method, Trial, TrialError, TrialSettings, Watcher};

/// A method that is not a policy: as many answers to each question as the budget allows, of which the most frequent
/// is taken. It has no guarantee.
const SELF_CONSISTENCY: &str = "self-consistency";
const LATENCY: u64 = 0x1A7E;

/// Runs one trial. Certified answers are listed under the number of their question.
pub(crate) fn run(
    world: &QuestionWorld,
    method: &Method,
    setting: TrialSettings,
) -> Result<Trial, TrialError> {
    let refused = |what| method.wrong(format!("worlds of questions have no {what}"));
    if method.budget_raised_at.is_some() {
        return Err(refused("budget_raised_at"));
    }
    if setting.until_all_good {
        return Err(refused("until_all_good"));
    }
    if method.policy == SELF_CONSISTENCY {
        return Ok(self_consistency(world, setting));
    }
    let mut session = session(world, method, setting)?;
    let mut watcher = Watcher::default();
    let reason = drive(&mut watcher, &mut session, world, setting);
    let books = session.books();
    let certified = watcher.costs.iter().zip(session.certified()).map(|(&cost, &arm)| {
        let answer = answer_of(&session, arm);
        Certified { arm: ArmId(answer.0.0), good: world.is_good(answer), right: None, cost }
    });
    let problem = books.problem();
    // A call is paid by the first attribute that it scores.
    let spent_on = |attribute| {
        let is_paid = problem.lead(attribute) == attribute;
        if is_paid { books.lane_of(attribute).bills.spent.units() } else { 0.0 }
    };
    Ok(Trial {
        good_count: world.answerable_count(),
        certified: certified.collect(),
        budget: setting.budget,
        spent: books.ledger().settled().units(),
        pull_count: watcher.call_count,
        reason,
        spent_on: vec![problem.attributes().map(spent_on).collect()],
        branches: watcher.branches,
        ..Trial::default()
    })
}

fn session(
    world: &QuestionWorld,
    method: &Method,
    setting: TrialSettings,
) -> Result<Session, TrialError> {
    let questions = Some(world.questions.clone());
    let design = Design { scored_by: world.scored_by.clone(), questions };
    let arms = world.questions.answers.len();
    let problem = method.problem(setting, &world.attributes, arms, design)?;
    let policy: Box<dyn Policy + Send> = match method.policy.as_str() {
        "oracle" => Box::new(QuestionOracle::new(world.clone())),
        _ => method.policy(setting.seed, None)?,
    };
    method.session(problem, policy)
}

/// Drives a session to its end, or to the limit of calls.
fn drive(
    watcher: &mut Watcher,
    session: &mut Session,
    world: &QuestionWorld,
    setting: TrialSettings,
) -> Option<StopReason> {
    let mut counts: BTreeMap<Target, u64> = BTreeMap::new();
    let mut clock = Random::at(setting.seed, &[LATENCY]);
    // Calls in flight by the time of their return, as bits, which are ordered like the numbers.
    let (mut time, mut in_flight) = (0.0, BTreeMap::new());
    while watcher.call_count < setting.calls_max {
        if in_flight.len() < setting.concurrency {
            match session.ask().expect("policies name calls that may be made") {
                Ask::Call(call) => {
                    let count = counts.entry(call.target).or_default();
                    let (outcome, bill) = reply(session, world, setting.seed, &call, *count);
                    *count += 1;
                    let returns_at: f64 = time + clock.exponential();
                    in_flight.insert((returns_at.to_bits(), call.ticket), (call, outcome, bill));
                    continue;
                }
                Ask::Wait => {}
                Ask::Done(reason) => return Some(reason),
            }
        }
        let first = in_flight.pop_first().expect("sessions wait only for calls");
        let ((returned_at, _), (call, outcome, bill)) = first;
        time = f64::from_bits(returned_at);
        session.settle(call.ticket, &outcome, bill).expect("a sound outcome");
        watcher.watch(session, &call);
    }
    None
}

/// The outcome and the bill of the `count`-th call of its target.
fn reply(
    session: &Session,
    world: &QuestionWorld,
    seed: u64,
    call: &Call,
    count: u64,
) -> (Outcome, Cost) {
    let problem = session.books().problem();
    let (subject, outcome) = match call.target {
        Target::Arm(arm, lead) => {
            let answer = answer_of(session, arm);
            let members = problem.members(lead).iter();
            let scores = members.map(|&it| Some(world.score(seed, answer, it, count)));
            let outcome = match scores.collect::<Vec<_>>()[..] {
                [Some(score)] => Outcome::Score(score),
                ref scores => Outcome::Scores(scores.into()),
            };
            (arm.0, outcome)
        }
        Target::Question(question, source) => {
            (question.0, Outcome::Answer(world.answer(seed, question, source, count)))
        }
    };
    let bill = world.bill(seed, subject, problem.service(call.target), count);
    (outcome, bill.unwrap_or(call.ceiling))
}

fn answer_of(session: &Session, arm: ArmId) -> (QuestionId, Label) {
    let questions = session.books().problem().questions().expect("there are questions");
    (questions.of(arm), questions.label(arm))
}

fn self_consistency(world: &QuestionWorld, setting: TrialSettings) -> Trial {
    let price = world.price_of_draw();
    let round = price * f64::from(u32::try_from(world.questions.count).unwrap_or(u32::MAX));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    let draws = (setting.budget / round).floor() as u64;
    let answers = world.self_consistency(setting.seed, draws).into_iter().flatten();
    let spent = round * real(draws);
    let certified = answers.map(|answer| Certified {
        arm: ArmId(answer.0.0),
        good: world.is_good(answer),
        right: None,
        cost: spent,
    });
    Trial {
        good_count: world.answerable_count(),
        certified: certified.collect(),
        budget: setting.budget,
        spent,
        pull_count: draws * world.questions.count as u64,
        spent_on: vec![vec![0.0; world.attributes.len()]],
        ..Trial::default()
    }
}

#[cfg(test)]
mod tests {
    use goodarm_core::policy::NAMES;
    use goodarm_core::{GeneratorId, GeneratorSpec, ScoreModel, ScoredBy, Source};
    use goodarm_files::GuaranteeName;

    use super::*;
    use crate::questions::described::QuestionDescription;
    use crate::questions::world::{InventedSpec, RecordedSpec};
    use crate::trial::AnswersKey;
    use crate::world::{ScoreLaw, attribute};

    fn method(policy: &str, guarantee: GuaranteeName, answers: AnswersKey) -> Method {
        Method { answers, ..Method::new(policy, Some(guarantee)) }
    }

    fn setting(budget: f64, seed: u64) -> TrialSettings {
        TrialSettings {
            budget,
            delta: 0.05,
            concurrency: 1,
            seed,
            shuffled: true,
            until_all_good: false,
            calls_max: u64::MAX,
        }
    }

    fn invented() -> QuestionWorld {
        let spec = InventedSpec {
            questions: 12,
            difficulty: [0.7, 0.7],
            generation: 20.0,
            candidates_max: 6,
        };
        QuestionWorld::invented(&spec, 3)
    }

    fn recorded(votes: bool, given: bool) -> QuestionWorld {
        let line = r#"{"id":"ID","gold":"7","candidate":{"answer":"8","tokens":9},"solutions":[
            {"answer":"7","tokens":10},{"answer":"7","tokens":10},{"answer":"7","tokens":10},{"answer":"8","tokens":10},
            {"answer":"7","tokens":10},{"answer":"7","tokens":10},{"answer":"7","tokens":10},{"answer":"","tokens":10}]}"#
            .replace('\n', " ");
        let text = [line.replace("ID", "a"), line.replace("ID", "b")].join("\n");
        let spec = RecordedSpec {
            first: 0,
            questions: 2,
            majority: true,
            votes,
            given,
            candidates_max: 6,
        };
        QuestionWorld::recorded(&text, &spec).unwrap()
    }

    /// Questions that two generators answer, with these shares of good answers.
    fn described(generators: [f64; 2]) -> QuestionWorld {
        let description = QuestionDescription {
            questions: 6,
            given: Vec::new(),
            good: 0.5,
            generators: generators.to_vec(),
            difficulty: 0.0,
            means: vec![[0.9, 0.1]],
            spread: 0.0,
            laws: vec![ScoreLaw::Binary],
            scored_by: vec![ScoredBy::OwnCalls],
        };
        let generator =
            |name: &str| GeneratorSpec { name: name.into(), price: 1.0, expected: None };
        QuestionWorld::described(
            vec![attribute("judge", 1.0, ScoreModel::Binary)],
            vec![generator("first"), generator("second")],
            6,
            description,
            4,
        )
    }

    /// What is true of one generator is not true of another.
    #[test]
    fn the_oracle_asks_the_generator_that_makes_good_answers() {
        for generators in [[0.9, 0.0], [0.0, 0.9]] {
            let world = described(generators);
            assert_eq!(world.answerable_count(), 6, "{generators:?}");
            let method = method("oracle", GuaranteeName::Lent, AnswersKey::Joint);
            let trial = run(&world, &method, setting(3000.0, 1)).unwrap();
            assert_eq!(trial.certified.len(), 6, "{generators:?}: {trial:?}");
            assert!(trial.branches["fresh"] < 12, "{generators:?}: {trial:?}");
        }
        assert_eq!(described([0.0, 0.0]).answerable_count(), 0);
    }

    #[test]
    fn every_policy_keeps_its_budget_and_one_certificate_per_question() {
        let worlds =
            [invented(), recorded(false, true), recorded(true, true), recorded(true, false)];
        for (index, world) in worlds.iter().enumerate() {
            for name in NAMES {
                for guarantee in [GuaranteeName::Lent, GuaranteeName::Union] {
                    let method = method(name, guarantee, AnswersKey::Joint);
                    let trial = run(world, &method, setting(4000.0, 5)).unwrap();
                    assert!(trial.spent <= 4000.0, "{name} in world {index}");
                    let mut questions: Vec<ArmId> =
                        trial.certified.iter().map(|certified| certified.arm).collect();
                    questions.sort_unstable();
                    questions.dedup();
                    assert_eq!(questions.len(), trial.certified.len(), "{name} in world {index}");
                    assert_eq!(run(world, &method, setting(4000.0, 5)).unwrap(), trial);
                }
            }
        }
    }

    #[test]
    fn a_wrong_candidate_is_replaced_and_the_right_answer_certified() {
        for fresh in [AnswersKey::Joint, AnswersKey::OneByOne(0.15)] {
            let method = method("rcb", GuaranteeName::Lent, fresh);
            let trial = run(&recorded(false, true), &method, setting(200_000.0, 1)).unwrap();
            assert_eq!(trial.certified.len(), 2, "{fresh:?}");
            assert!(trial.certified.iter().all(|certified| certified.good), "{fresh:?}");
        }
        let fixed = method("rcb", GuaranteeName::Lent, AnswersKey::Fixed(1));
        let trial = run(&recorded(false, true), &fixed, setting(200_000.0, 1)).unwrap();
        assert!(trial.certified.is_empty(), "there is only the wrong candidate");
    }

    #[test]
    fn votes_propose_the_right_answer_and_certify_it() {
        for guarantee in [GuaranteeName::Lent, GuaranteeName::Union] {
            let method = method("rcb", guarantee, AnswersKey::Joint);
            let trial = run(&recorded(true, false), &method, setting(200_000.0, 1)).unwrap();
            assert_eq!(trial.certified.len(), 2, "{guarantee:?}");
            assert!(trial.certified.iter().all(|certified| certified.good), "{guarantee:?}");
        }
    }

    /// With many calls in flight, the next call is chosen with less information.
    #[test]
    fn calls_in_flight_cost_certificates_and_the_budget_holds() {
        let method = method("rcb", GuaranteeName::Lent, AnswersKey::Joint);
        let certified = |concurrency: usize| -> usize {
            let trial = |seed| {
                let setting = TrialSettings { concurrency, ..setting(4000.0, seed) };
                let trial = run(&invented(), &method, setting).unwrap();
                assert!(trial.spent <= 4000.0 && trial.reason.is_some(), "{trial:?}");
                assert_eq!(run(&invented(), &method, setting).unwrap(), trial);
                trial.certified.len()
            };
            (0..12).map(trial).sum()
        };
        let (one, four) = (certified(1), certified(4));
        assert!(four > one / 2 && four < one, "{one} {four}");
    }

    #[test]
    fn best_of_n_makes_n_answers_before_anything_is_checked() {
        let method = method("rcb", GuaranteeName::Lent, AnswersKey::Fixed(3));
        let trial = run(&invented(), &method, setting(12.0 * 3.0 * 20.0, 1)).unwrap();
        assert_eq!((trial.pull_count, trial.branches["fresh"]), (36, 36));
    }

    #[test]
    fn hard_questions_do_not_take_the_money_of_easy_ones() {
        let mut world = invented();
        let source = Source::Generator(GeneratorId(0));
        let theta = |question| world.theta(QuestionId(question), source);
        let thetas: Vec<f64> = (0_u32..12).map(theta).collect();
        world.questions.candidates_max = 16;
        let method = method("rcb", GuaranteeName::Lent, AnswersKey::Joint);
        let trial = run(&world, &method, setting(40_000.0, 2)).unwrap();
        // The money is enough for these, if it is not wasted on the others.
        let easy = thetas.iter().filter(|&&theta| theta > 0.3).count();
        assert!(trial.certified.len() + 1 >= easy, "{} of {easy}", trial.certified.len());
    }
}
