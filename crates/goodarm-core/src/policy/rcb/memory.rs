//! A cache of prospects, which change with the scores of the pair and with the priors. It only saves time.

use alloc::vec::Vec;

use crate::books::Books;
use crate::outlook::Prospect;
use crate::policy::rcb::OPTIMISM;
use crate::problem::ScoreModel;
use crate::units::{ArmId, AttributeId};

#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    /// Raised before all arms are rated again, as with new priors: earlier entries are stale.
    epoch: u32,
    /// Prospects of arms that were rated lately: the policy often returns to the same arms.
    lately: Vec<CachedProspect>,
    /// Prospects of binary pairs by their numbers of scores and successes, since many arms are alike; each with its
    /// epoch.
    alike: Vec<(u32, Prospect)>,
}

#[derive(Clone, Copy, Debug)]
struct CachedProspect {
    arm: ArmId,
    epoch: u32,
    returned_count: u64,
    prospect: Prospect,
}

impl CachedProspect {
    const EMPTY: Self =
        Self { arm: ArmId(0), epoch: 0, returned_count: 0, prospect: Prospect::NONE };
}

impl Memory {
    pub(super) fn begin(&mut self, books: &Books) {
        self.epoch = self.epoch.wrapping_add(1).max(1);
        let attribute_count = books.problem().attribute_count();
        self.lately.resize(attribute_count * ARMS, CachedProspect::EMPTY);
        // Few arms are seldom alike.
        if books.problem().arm_count() > ARMS {
            self.alike.resize(attribute_count * ALIKE, (0, Prospect::NONE));
        }
    }

    pub(super) fn prospect(
        &mut self,
        books: &Books,
        (arm, attribute): (ArmId, AttributeId),
    ) -> &Prospect {
        let tally = books.tally(arm, attribute);
        let returned_count = tally.returned_count;
        let index = attribute.index() * ARMS + arm.index() % ARMS;
        let lately = &self.lately[index];
        let is_known = lately.returned_count == returned_count
            && lately.arm == arm
            && lately.epoch == self.epoch;
        if !is_known {
            let prospect = self.computed(books, (arm, attribute));
            self.lately[index] =
                CachedProspect { arm, epoch: self.epoch, returned_count, prospect };
        }
        &self.lately[index].prospect
    }

    fn computed(&mut self, books: &Books, (arm, attribute): (ArmId, AttributeId)) -> Prospect {
        let tally = books.tally(arm, attribute);
        let returned_count = tally.returned_count;
        let is_binary = books.problem().attribute(attribute).scores == ScoreModel::Binary;
        // Answers that a vote proposed are not like others with the same scores.
        let is_plain = is_binary && !books.problem().are_votes(attribute);
        if is_plain && returned_count < COUNTS && !self.alike.is_empty() {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
            let (count, successes) = (returned_count as usize, tally.sum as usize);
            let index = attribute.index() * ALIKE + count * (count + 1) / 2 + successes;
            if self.alike[index].0 != self.epoch {
                let prospect = Prospect::of(books, (arm, attribute), OPTIMISM);
                self.alike[index] = (self.epoch, prospect);
            }
            self.alike[index].1
        } else {
            Prospect::of(books, (arm, attribute), OPTIMISM)
        }
    }
}

/// The number of arms in `lately`.
const ARMS: usize = 64;
/// Pairs with fewer scores than this have an entry for each number of successes.
const COUNTS: u64 = 32;
const ALIKE: usize = 32 * 33 / 2;
