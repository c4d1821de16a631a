//! Prospects that were computed before and still hold: they change with the scores of the pair, and
//! with the priors. Nothing is decided here; it only saves time.

use alloc::vec::Vec;

use crate::books::Books;
use crate::outlook::Prospect;
use crate::problem::ScoreModel;
use crate::units::{ArmId, AttributeId};

#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    /// Raised when the priors change: what was computed before is stale.
    epoch: u32,
    /// Of arms that were rated lately, since a policy that goes deep comes back to the same arms.
    lately: Vec<Lately>,
    /// Of binary pairs by what has come back from them, since many arms are alike.
    alike: Vec<(u32, Prospect)>,
}

#[derive(Clone, Copy, Debug)]
struct Lately {
    arm: ArmId,
    epoch: u32,
    returned_count: u64,
    prospect: Prospect,
}

impl Lately {
    const NOTHING: Self =
        Self { arm: ArmId(0), epoch: 0, returned_count: 0, prospect: Prospect::NONE };
}

impl Memory {
    pub(super) fn begin(&mut self, books: &Books) {
        self.epoch = self.epoch.wrapping_add(1).max(1);
        let attribute_count = books.problem().attribute_count();
        self.lately.resize(attribute_count * PLACES, Lately::NOTHING);
        // Few arms are seldom alike.
        if books.problem().arm_count() > PLACES {
            self.alike.resize(attribute_count * ALIKE, (0, Prospect::NONE));
        }
    }

    pub(super) fn prospect(
        &mut self,
        books: &Books,
        (arm, attribute): (ArmId, AttributeId),
        optimism: f64,
    ) -> &Prospect {
        let tally = books.tally(arm, attribute);
        let returned_count = tally.returned_count;
        let place = attribute.index() * PLACES + arm.index() % PLACES;
        let lately = &self.lately[place];
        let is_known = lately.returned_count == returned_count
            && lately.arm == arm
            && lately.epoch == self.epoch;
        if !is_known {
            let prospect = self.anew(books, (arm, attribute), optimism);
            self.lately[place] = Lately { arm, epoch: self.epoch, returned_count, prospect };
        }
        &self.lately[place].prospect
    }

    fn anew(
        &mut self,
        books: &Books,
        (arm, attribute): (ArmId, AttributeId),
        optimism: f64,
    ) -> Prospect {
        let tally = books.tally(arm, attribute);
        let returned_count = tally.returned_count;
        let is_binary = books.problem().attribute(attribute).scores() == ScoreModel::Binary;
        // Answers that a vote proposed are not like others with the same scores.
        let is_plain = is_binary && !books.problem().are_votes(attribute);
        if is_plain && returned_count < COUNTS && !self.alike.is_empty() {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
            let (count, successes) = (returned_count as usize, tally.sum as usize);
            let place = attribute.index() * ALIKE + count * (count + 1) / 2 + successes;
            if self.alike[place].0 != self.epoch {
                let prospect = Prospect::of(books, (arm, attribute), optimism);
                self.alike[place] = (self.epoch, prospect);
            }
            self.alike[place].1
        } else {
            Prospect::of(books, (arm, attribute), optimism)
        }
    }
}

/// Arms that are remembered.
const PLACES: usize = 64;
/// Pairs with fewer scores than this have a place among those that are alike, for each number of
/// successes.
const COUNTS: u64 = 32;
const ALIKE: usize = 32 * 33 / 2;
