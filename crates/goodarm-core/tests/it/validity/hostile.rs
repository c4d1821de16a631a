//! Policies that want an error. They know the true means and the outcomes of calls still in flight,
//! the most that a certificate must withstand; they do not know the future.

use goodarm_core::policy::{Choice, Policy};
use goodarm_core::{ArmId, AttributeId, Books, Guarantee, ScoreModel, Share};

use super::lab::{Lab, Spy};

/// What both know.
struct Insider {
    lab: Lab,
    spy: Spy,
    sigma: f64,
}

impl Insider {
    fn new(lab: Lab, spy: Spy) -> Self {
        let sigma = match lab.scores.declared {
            ScoreModel::SubGaussian { sigma, .. } => sigma,
            ScoreModel::Bounded { .. } | ScoreModel::Binary | ScoreModel::Exact => 0.5,
        };
        Self { lab, spy, sigma }
    }

    /// About ln E of a pair once all its calls are back.
    fn strength(&self, arm: ArmId, attribute: AttributeId) -> f64 {
        self.spy.stream(arm, attribute).strength(self.sigma)
    }

    fn promise(&self, arm: ArmId) -> f64 {
        self.spy.stream(arm, self.null(arm)).promise(self.sigma)
    }

    fn null(&self, arm: ArmId) -> AttributeId {
        self.lab.null_of(arm).unwrap_or(AttributeId(0))
    }

    /// What an arm lacks: luck on the attribute that it fails first, since the other is easy.
    fn lack(&self, books: &Books, arm: ArmId) -> Option<AttributeId> {
        let null = self.null(arm);
        let lacks = |&attribute: &AttributeId| {
            let level = self.level(books, arm, attribute);
            let out = books.tally(arm, attribute).pending_count() > 0;
            let enough = books.evidence(arm, attribute) >= level
                || (out && self.strength(arm, attribute) >= level + 0.5);
            !enough && books.is_open(arm, attribute) && books.is_affordable(attribute)
        };
        [null, AttributeId(1 - null.0)].into_iter().find(lacks)
    }

    /// What certifies the arm without help from others.
    fn level(&self, books: &Books, arm: ArmId, attribute: AttributeId) -> f64 {
        match self.lab.guarantee {
            Guarantee::FalseDiscovery => (f64::from(self.lab.arms) / self.lab.delta).ln(),
            _ => books.level(arm, attribute),
        }
    }

    fn bad_arms(&self, books: &Books) -> Vec<ArmId> {
        let bad = |&arm: &ArmId| books.is_active(arm) && self.lab.null_of(arm).is_some();
        books.problem().arms().filter(bad).collect()
    }
}

/// Throws all money after the bad arm that is closest to a certificate.
pub(super) struct Chaser {
    insider: Insider,
}

impl Chaser {
    pub(super) fn new(lab: Lab, spy: Spy) -> Self {
        Self { insider: Insider::new(lab, spy) }
    }
}

impl Policy for Chaser {
    fn name(&self) -> &'static str {
        "chaser"
    }

    fn choose(&mut self, books: &Books) -> Option<Choice> {
        let mut best: Option<(f64, Choice)> = None;
        for arm in self.insider.bad_arms(books) {
            let Some(attribute) = self.insider.lack(books, arm) else { continue };
            let promise = self.insider.promise(arm);
            if best.is_none_or(|(most, _)| promise > most) {
                best = Some((promise, Choice::pair(arm, attribute, "chase")));
            }
        }
        best.map(|(_, choice)| choice)
    }
}

/// Chases likewise, and lends an arm most of the pool when calls in flight will make it lucky.
pub(super) struct Shark {
    chaser: Chaser,
}

impl Shark {
    pub(super) fn new(lab: Lab, spy: Spy) -> Self {
        Self { chaser: Chaser::new(lab, spy) }
    }
}

impl Policy for Shark {
    fn name(&self) -> &'static str {
        "shark"
    }

    fn choose(&mut self, books: &Books) -> Option<Choice> {
        self.chaser.choose(books)
    }

    fn lend(&mut self, books: &Books, choice: Choice) -> Option<Share> {
        let insider = &self.chaser.insider;
        let pool = books.pool()?.fraction();
        let arm = choice.arm().expect("there are no questions");
        let lucky = insider.strength(arm, insider.null(arm)) > 0.5;
        lucky.then(|| Share::of(0.7 * pool)).filter(|&share| share > Share::NONE)
    }
}

/// Times everything: begins each bad arm under bets learned from the calls it chose to make before,
/// plays an arm while it is lucky, leaves it when it is luckiest, and waits until those scores are
/// back.
pub(super) struct Gambler {
    insider: Insider,
    playing: Option<ArmId>,
    /// The strength of the arm that is played, and its calls, when its turn began.
    stake: (f64, u32),
}

/// Observations between the first calls of two bad arms: priors are learned again in between.
const STAGGER: u64 = 20;
/// An arm is left when it has lost this much of ln E.
const LOSS_MAX: f64 = 1.0;
/// An arm is left when it has won this much.
const GAIN: f64 = 2.0;
/// An arm is left after this many calls without success.
const TURN_MAX: u32 = 15;

impl Gambler {
    pub(super) fn new(lab: Lab, spy: Spy) -> Self {
        Self { insider: Insider::new(lab, spy), playing: None, stake: (0.0, 0) }
    }

    /// The most promising of the other arms.
    fn other(&self, arms: &[ArmId], left: ArmId) -> ArmId {
        let mut others = arms.iter().copied().filter(|&arm| arm != left);
        let first = others.next().unwrap_or(left);
        others.fold(first, |best, arm| {
            if self.insider.promise(arm) > self.insider.promise(best) { arm } else { best }
        })
    }

    /// Whether it is time for another arm.
    fn turn_is_over(&self, arm: ArmId) -> bool {
        let strength = self.insider.strength(arm, self.insider.null(arm));
        let count = self.insider.spy.stream(arm, self.insider.null(arm)).count;
        strength < self.stake.0 - LOSS_MAX
            || strength > self.stake.0 + GAIN
            || count > self.stake.1 + TURN_MAX
    }
}

impl Policy for Gambler {
    fn name(&self) -> &'static str {
        "gambler"
    }

    fn choose(&mut self, books: &Books) -> Option<Choice> {
        let mut arms = self.insider.bad_arms(books);
        let begun = books.observation_count() / STAGGER + 1;
        arms.truncate(usize::try_from(begun).unwrap_or(usize::MAX));
        let arm = self.playing.filter(|arm| arms.contains(arm)).or(arms.first().copied())?;
        let null = self.insider.null(arm);
        let won = self.insider.strength(arm, null) > self.stake.0 + GAIN;
        if won && books.tally(arm, null).pending_count() > 0 {
            return None;
        }
        let arm = if self.insider.lack(books, arm).is_none() || self.turn_is_over(arm) {
            let next = self.other(&arms, arm);
            let null = self.insider.null(next);
            let count = self.insider.spy.stream(next, null).count;
            self.stake = (self.insider.strength(next, null), count);
            next
        } else {
            arm
        };
        self.playing = Some(arm);
        let mut others = core::iter::once(arm).chain(arms.iter().copied());
        others.find_map(|arm| {
            let attribute = self.insider.lack(books, arm)?;
            Some(Choice::pair(arm, attribute, "gamble"))
        })
    }
}

/// Tries other bad arms until bets are learned from them, and then only the last arm.
pub(super) struct Pupil {
    insider: Insider,
}

/// Observations before the last arm's first call.
const LESSON: u64 = 80;

impl Pupil {
    pub(super) fn new(lab: Lab, spy: Spy) -> Self {
        Self { insider: Insider::new(lab, spy) }
    }
}

impl Policy for Pupil {
    fn name(&self) -> &'static str {
        "pupil"
    }

    fn choose(&mut self, books: &Books) -> Option<Choice> {
        let last = ArmId(self.insider.lab.arms - 1);
        let null = self.insider.null(last);
        if books.observation_count() >= LESSON {
            let attribute = self.insider.lack(books, last).filter(|_| books.is_active(last))?;
            return Some(Choice::pair(last, attribute, "last"));
        }
        let alike = |&arm: &ArmId| arm != last && self.insider.lab.null_of(arm) == Some(null);
        let calls = |arm: &ArmId| books.tally(*arm, null).dispatched_count;
        let arm = books.problem().arms().filter(alike).min_by_key(calls)?;
        Some(Choice::pair(arm, null, "lesson"))
    }
}
