//! Algorithm 1's choice by looking at every pair, as a policy: for problems that the paper does not
//! have (exact verifiers, calls in flight, levels that fall), where the transcription does not apply.

use goodarm_core::policy::bma_gai::BmaGaiSettings;
use goodarm_core::{ArmId, AttributeId, Books, Choice, Policy};

pub(crate) struct Scanning {
    pub(crate) settings: BmaGaiSettings,
}

fn real(count: u64) -> f64 {
    f64::from(u32::try_from(count).expect("tests count below 2^32"))
}

fn is_candidate(books: &Books, arm: ArmId, attribute: AttributeId) -> bool {
    books.is_affordable(attribute)
        && books.is_open(arm, attribute)
        && !books.is_resolved(arm, attribute)
}

impl Scanning {
    fn end(&self, books: &Books, (arm, attribute): (ArmId, AttributeId), side: f64) -> f64 {
        let tally = books.tally(arm, attribute);
        if tally.returned_count == 0 {
            return if side < 0.0 { 0.0 } else { 1.0 };
        }
        let log = libm::log(real(books.observation_count()) + 1.0);
        let radius =
            libm::sqrt(self.settings.allocation_constant * log / real(tally.returned_count));
        if side < 0.0 { tally.mean() - radius } else { tally.mean() + radius }
    }

    fn index(&self, books: &Books, arm: ArmId, side: f64) -> f64 {
        let problem = books.problem();
        if !problem.attributes().any(|attribute| is_candidate(books, arm, attribute)) {
            return f64::INFINITY;
        }
        let mut sum = 0.0;
        for attribute in problem.attributes() {
            let declared = problem.attribute(attribute);
            let gap = self.end(books, (arm, attribute), side) - declared.threshold;
            if gap <= 0.0 {
                return f64::INFINITY;
            }
            sum += 2.0 * declared.price.units() / (gap * gap);
        }
        sum
    }

    fn least_pulled(&self, books: &Books) -> Option<(u64, ArmId, AttributeId)> {
        let problem = books.problem();
        let mut least: Option<(u64, ArmId, AttributeId)> = None;
        for arm in problem.arms() {
            for attribute in problem.attributes() {
                let resolved = self.settings.unresolved_only && books.is_resolved(arm, attribute);
                if resolved || !books.is_open(arm, attribute) || !books.is_affordable(attribute) {
                    continue;
                }
                let count = books.tally(arm, attribute).dispatched_count;
                if least.is_none_or(|(fewest, ..)| count < fewest) {
                    least = Some((count, arm, attribute));
                }
            }
        }
        least
    }

    fn target(&self, books: &Books) -> Option<Choice> {
        let arms = || books.problem().arms().filter(|&arm| books.is_active(arm));
        let smallest = arms().map(|arm| self.index(books, arm, -1.0)).fold(f64::INFINITY, f64::min);
        if smallest == f64::INFINITY {
            return None;
        }
        let arm = arms().find(|&arm| self.index(books, arm, 1.0) <= smallest)?;
        let mut best: Option<(f64, AttributeId)> = None;
        for attribute in books.problem().attributes() {
            if is_candidate(books, arm, attribute) {
                let threshold = books.problem().attribute(attribute).threshold;
                let gap = self.end(books, (arm, attribute), 1.0) - threshold;
                let count = real(books.tally(arm, attribute).dispatched_count);
                let ratio = count / (2.0 / (gap * gap));
                if best.is_none_or(|(least, _)| ratio < least) {
                    best = Some((ratio, attribute));
                }
            }
        }
        best.map(|(_, attribute)| Choice::pair(arm, attribute, "target"))
    }
}

impl Policy for Scanning {
    fn name(&self) -> &'static str {
        "scanning"
    }

    fn choose(&mut self, books: &Books) -> Option<Choice> {
        let (fewest, arm, attribute) = self.least_pulled(books)?;
        let pairs = real(books.problem().pair_count() as u64);
        if real(fewest) < libm::sqrt(real(books.observation_count()) + 1.0) / pairs {
            return Some(Choice::pair(arm, attribute, "explore"));
        }
        self.target(books).or(Some(Choice::pair(arm, attribute, "fallback")))
    }
}
