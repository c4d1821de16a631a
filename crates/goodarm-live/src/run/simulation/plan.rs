//! What a seed stands for: answers and verifiers, what goes wrong with them, and how each process of the run
//! ends.

use std::time::Duration;

use goodarm_core::Cost;
use goodarm_record::job_file::{FailedCalls, GuaranteeName};

use super::chance::Chance;

/// Everything that is drawn before the first call.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) guarantee: GuaranteeName,
    pub(super) policy: &'static str,
    pub(super) verifiers: Vec<Nature>,
    /// `Some` if the run is about answers to questions, most of which are made during the run.
    pub(super) questions: Option<Asking>,
    pub(super) lives: Vec<Life>,
    /// Whether a process that stops in good order writes its outputs.
    pub(super) writes_outputs: bool,
}

/// Questions, and who answers them.
#[derive(Clone, Debug)]
pub(super) struct Asking {
    pub(super) count: usize,
    pub(super) candidates_max: usize,
    /// Whether some questions have an answer when the run begins.
    pub(super) has_given: bool,
    /// Whether the first verifier solves the question, and its replies are votes.
    pub(super) has_solver: bool,
    pub(super) generator: Nature,
}

/// The properties of a verifier or a generator.
#[derive(Clone, Debug)]
pub(super) struct Nature {
    /// Whether this process evaluates it.
    pub(super) is_ours: bool,
    /// Whether it is a person.
    pub(super) is_person: bool,
    /// Whether its scores are 0 or 1; otherwise they are between 0 and 1.
    pub(super) is_coin: bool,
    pub(super) threshold: f64,
    pub(super) ceiling: Cost,
    /// Whether a reply says what it cost.
    pub(super) is_metered: bool,
    /// What a failed call costs if its reply does not say.
    pub(super) failed: FailedCalls,
    pub(super) concurrency: Option<usize>,
    pub(super) rate: Option<f64>,
    pub(super) latency_seconds: [f64; 2],
    pub(super) faults: Faults,
}

/// What goes wrong with a verifier: probabilities for each call, and times.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    pub(super) slow: f64,
    pub(super) lost: f64,
    pub(super) broken: f64,
    /// Errors with a status.
    pub(super) error: f64,
    pub(super) refused: f64,
    pub(super) unreadable: f64,
    pub(super) off_scale: f64,
    pub(super) dies: f64,
    pub(super) dearer: f64,
    /// From when to when the verifier cannot be reached, in seconds since the first process began.
    pub(super) outage: Option<[f64; 2]>,
    /// The verifier refuses every call about these answers.
    pub(super) refused_arms: Vec<usize>,
}

impl Faults {
    /// Whether these faults may be the reason that the verifier is given up.
    pub(super) fn may_end_a_run(&self) -> bool {
        let Self { lost, broken, error, refused, unreadable, off_scale, dies, outage, .. } = self;
        let all = [lost, broken, error, refused, unreadable, off_scale, dies];
        all.into_iter().any(|chance| *chance > 0.0) || outage.is_some()
    }
}

/// One process, which begins or resumes the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Life {
    pub(super) arm_count: usize,
    pub(super) budget: Cost,
    pub(super) concurrency: usize,
    pub(super) fate: Fate,
    /// Whether the power is cut when the process is killed or its disk fails: what is not on the disk is lost.
    pub(super) power_cut: bool,
}

/// How a process ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fate {
    /// Nothing happens to the process: it ends by itself.
    Peace,
    /// It is killed at this time, while it waits.
    KilledAt(Duration),
    /// It is killed after this many calls of the verifiers.
    KilledAtCall(u64),
    /// It is killed inside of a write, of which this share is written.
    KilledInWrite { write: u64, share: f64 },
    /// This write fails, after this share of it is written.
    WriteFails { write: u64, share: f64 },
    /// The disk is full from this write on.
    DiskFull { write: u64, share: f64 },
    /// This sync fails.
    SyncFails { sync: u64 },
    /// Someone stops it at this time.
    Stopped(Duration),
    /// Someone stops it at this time and does not wait for calls in flight.
    Left(Duration),
    /// Someone pauses it for a while.
    Paused(Duration, Duration),
}

impl Plan {
    pub(super) fn of(seed: u64) -> Self {
        let mut chance = Chance::at(&[seed, 1]);
        let guarantee = chance.one_of(&[
            GuaranteeName::Lent,
            GuaranteeName::Lent,
            GuaranteeName::Holm,
            GuaranteeName::Union,
        ]);
        let policy = chance.one_of(&["rcb", "rcb", "bma-gai", "uniform", "lucb-g"]);
        let arm_count = 2 + usize::try_from(chance.below(10)).expect("few");
        let verifiers: Vec<Nature> = (0..=chance.below(3))
            .map(|index| Nature::of(&mut chance, index == 1, arm_count))
            .collect();
        let lives = lives(&mut chance, arm_count, guarantee == GuaranteeName::Lent);
        let writes_outputs = chance.is(0.5);
        let plan =
            Self { seed, guarantee, policy, verifiers, questions: None, lives, writes_outputs };
        let plan = if Chance::at(&[seed, 5]).is(0.3) { plan.asking() } else { plan };
        if Chance::at(&[seed, 8]).is(0.3) { plan.with_person() } else { plan }
    }

    /// The same plan with questions.
    fn asking(mut self) -> Self {
        let mut chance = Chance::at(&[self.seed, 6]);
        let count = 2 + usize::try_from(chance.below(6)).expect("few");
        self.questions = Some(Asking {
            count,
            candidates_max: 1 + usize::try_from(chance.below(6)).expect("few"),
            has_given: chance.is(0.5),
            has_solver: chance.is(0.6),
            generator: Nature::of(&mut chance, false, count),
        });
        if self.guarantee == GuaranteeName::Holm {
            self.guarantee = GuaranteeName::Lent;
        }
        self.policy = "rcb";
        let arm_count = self.lives[0].arm_count;
        self.lives.iter_mut().for_each(|life| life.arm_count = arm_count);
        self
    }

    /// The service with this index: the verifiers, then the generator.
    pub(super) fn nature(&self, index: usize) -> &Nature {
        self.verifiers.get(index).unwrap_or_else(|| {
            &self.questions.as_ref().expect("only they have generators").generator
        })
    }

    /// Whether the service with this index answers questions.
    pub(super) fn answers_questions(&self, index: usize) -> bool {
        self.questions
            .as_ref()
            .is_some_and(|it| index == self.verifiers.len() || index == 0 && it.has_solver)
    }

    /// The probability that the solver's answer to a question is answer 0, the only one that may be good. The
    /// other answers are equally likely.
    pub(super) fn first_answer(&self, question: usize) -> f64 {
        let mut chance = Chance::at(&[self.seed, 7, question as u64]);
        let threshold = self.verifiers[0].threshold;
        if chance.is(0.4) { threshold - 0.02 } else { chance.between(0.85, 0.98) }
    }

    /// The true mean score of an answer at a verifier. Many means are just below the threshold, where a wrong
    /// certificate is most likely.
    pub(super) fn mean(&self, arm: usize, verifier: usize) -> f64 {
        if self.answers_questions(verifier) {
            let (question, answer) = (arm / ANSWERS_MAX, arm % ANSWERS_MAX);
            let first = self.first_answer(question);
            return if answer == 0 { first } else { (1.0 - first) / (ANSWER_COUNT - 1.0) };
        }
        let mut chance = Chance::at(&[self.seed, 2, arm as u64, verifier as u64]);
        let Nature { is_ours, threshold, .. } = self.verifiers[verifier];
        if is_ours {
            return f64::from(u8::from(chance.is(0.8)));
        }
        match chance.below(4) {
            0 => threshold - 0.02,
            1 => chance.between(0.1, threshold - 0.1),
            _ => chance.between(0.85, 0.98),
        }
    }

    /// Whether a service takes the mean of its bills for a bill that is not known.
    pub(super) fn has_means(&self) -> bool {
        let generator = self.questions.iter().map(|asking| &asking.generator);
        generator.chain(&self.verifiers).any(|nature| nature.failed == FailedCalls::Mean)
    }

    pub(super) fn is_good(&self, arm: usize) -> bool {
        let good = |(index, nature): (usize, &Nature)| self.mean(arm, index) >= nature.threshold;
        self.verifiers.iter().enumerate().all(good)
    }
}

/// Answers to one question have numbers below this.
pub(super) const ANSWERS_MAX: usize = 100;
/// The number of different answers to a question that are ever given.
pub(super) const ANSWER_COUNT: f64 = 5.0;

impl Nature {
    fn of(chance: &mut Chance, may_be_ours: bool, arm_count: usize) -> Self {
        let low = chance.magnitude(0.0005, 1.0);
        Self {
            is_ours: may_be_ours && chance.is(0.5),
            is_person: false,
            is_coin: chance.is(0.5),
            threshold: chance.between(0.4, 0.6),
            ceiling: Cost::from_units(1 + u64::from(chance.is(0.5)) * chance.below(5)),
            is_metered: chance.is(0.5),
            failed: chance.one_of(&[
                FailedCalls::Free,
                FailedCalls::Free,
                FailedCalls::Free,
                FailedCalls::Mean,
                FailedCalls::Ceiling,
            ]),
            concurrency: chance.is(0.3).then(|| chance.one_of(&[1, 2, 5])),
            rate: chance.is(0.2).then(|| chance.magnitude(1.0, 200.0)),
            latency_seconds: [low, low * chance.magnitude(1.0, 20.0)],
            faults: Faults::of(chance, arm_count),
        }
    }
}

impl Faults {
    fn of(chance: &mut Chance, arm_count: usize) -> Self {
        let mut some = |share: f64, most: f64| {
            if chance.is(share) { chance.magnitude(0.002, most) } else { 0.0 }
        };
        let (slow, lost, broken) = (some(0.3, 0.1), some(0.2, 0.05), some(0.2, 0.2));
        let (refused, unreadable, off_scale) = (some(0.3, 0.5), some(0.2, 0.2), some(0.1, 0.05));
        let (dies, dearer, error) = (some(0.1, 0.02), some(0.1, 0.1), some(0.3, 0.2));
        let outage = chance.is(0.15).then(|| {
            let from = chance.magnitude(0.1, 30.0);
            [from, from + chance.magnitude(1.0, 100.0)]
        });
        let refused_count = if chance.is(0.1) { 1 + chance.below(3) } else { 0 };
        let one = |_| usize::try_from(chance.below(arm_count as u64)).expect("one of few");
        let refused_arms = (0..refused_count).map(one).collect();
        Self {
            slow,
            lost,
            broken,
            error,
            refused,
            unreadable,
            off_scale,
            dies,
            dearer,
            outage,
            refused_arms,
        }
    }
}

fn lives(chance: &mut Chance, mut arm_count: usize, may_grow: bool) -> Vec<Life> {
    let mut units = 20 + chance.below(600);
    let count = 1 + chance.below(6);
    let mut lives: Vec<Life> = Vec::new();
    for _ in 0..count {
        if !lives.is_empty() && chance.is(0.2) {
            units += chance.below(200);
        }
        if !lives.is_empty() && may_grow && chance.is(0.15) {
            arm_count += 1 + usize::from(chance.is(0.5));
        }
        lives.push(Life {
            arm_count,
            budget: Cost::from_units(units),
            concurrency: chance.one_of(&[1, 2, 4, 8, 32, 100]),
            fate: fate(chance),
            power_cut: chance.is(0.4),
        });
    }
    lives
}

fn fate(chance: &mut Chance) -> Fate {
    let at = Duration::from_secs_f64(chance.magnitude(0.001, 50.0));
    let write = if chance.is(0.3) { chance.below(3) } else { chance.below(60) };
    let share = if chance.is(0.3) { 0.0 } else { chance.unit() };
    match chance.below(10) {
        0 => Fate::Peace,
        1 => Fate::KilledAt(at),
        2 => Fate::KilledAtCall(chance.below(120)),
        3 | 4 => Fate::KilledInWrite { write, share },
        5 => Fate::WriteFails { write, share },
        6 => Fate::DiskFull { write, share },
        7 => Fate::SyncFails { sync: write },
        8 => chance.one_of(&[Fate::Stopped(at), Fate::Left(at)]),
        _ => Fate::Paused(at, Duration::from_secs_f64(chance.magnitude(0.1, 60.0))),
    }
}
