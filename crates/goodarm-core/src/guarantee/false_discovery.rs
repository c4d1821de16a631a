//! E(share of certificates that are wrong) ≤ δ, by e-BH on present e-values.
//!
//! The set is the k arms with the largest e-values, for the largest k such that all of them are at
//! least Q/(kδ). Certified arms are frozen (no more calls), so that the set only grows. The values
//! must be those of one moment with every call in flight counted as its lowest score: a running
//! maximum, or "the calls that happen to be back", would break the guarantee.

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

use crate::guarantee::Certificate;
use crate::num::real_size;
use crate::problem::Problem;
use crate::units::ArmId;

#[derive(Clone, Debug)]
pub(crate) struct FalseDiscovery {
    log_arms_over_delta: f64,
    /// The size of set that each arm's evidence is enough for; `arm_count + 1` if for none.
    ranks: Vec<u32>,
    frozen: Vec<bool>,
    /// (rank, arm) of the arms that are not frozen and whose evidence is enough for some set.
    waiting: BTreeSet<(u32, u32)>,
    counts: RankCounts,
    certified_count: usize,
}

impl FalseDiscovery {
    pub(crate) fn new(problem: &Problem) -> Self {
        let arm_count = problem.arm_count();
        let none = u32::try_from(arm_count + 1).expect("a problem has at most ARMS_MAX arms");
        Self {
            log_arms_over_delta: libm::log(real_size(arm_count)) + problem.delta().ln_inverse(),
            ranks: vec![none; arm_count],
            frozen: vec![false; arm_count],
            waiting: BTreeSet::new(),
            counts: RankCounts::new(arm_count),
            certified_count: 0,
        }
    }

    /// What one more arm needs: ln(Q/(kδ)) for the next k. An arm that reaches it is certified, so
    /// that allocation never leaves one behind to wait for company that may not come.
    pub(crate) fn level(&self) -> f64 {
        self.log_level(self.certified_count + 1)
    }

    fn log_level(&self, set_size: usize) -> f64 {
        self.log_arms_over_delta - libm::log(real_size(set_size))
    }

    pub(crate) fn update(&mut self, arm: ArmId, evidence: f64) -> Vec<Certificate> {
        let index = arm.index();
        if self.frozen[index] {
            return Vec::new();
        }
        let rank = self.rank(evidence);
        if rank == self.ranks[index] {
            return Vec::new();
        }
        self.waiting.remove(&(self.ranks[index], arm.0));
        self.counts.change(self.ranks[index], -1);
        self.ranks[index] = rank;
        self.counts.change(rank, 1);
        if self.has_place(rank) {
            self.waiting.insert((rank, arm.0));
        }
        self.freeze(self.counts.largest_set())
    }

    // The smallest k with ln E ≥ ln(Q/(kδ)).
    fn rank(&self, evidence: f64) -> u32 {
        let none = self.ranks.len() + 1;
        let size = libm::ceil(libm::exp(self.log_arms_over_delta - evidence) * ROUND_UP).max(1.0);
        let rank = if size < real_size(none) { size } else { real_size(none) };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to Q + 1")]
        let rank = rank as u32;
        rank
    }

    fn has_place(&self, rank: u32) -> bool {
        (rank as usize) <= self.ranks.len()
    }

    fn freeze(&mut self, set_size: usize) -> Vec<Certificate> {
        let level = self.log_level(set_size);
        let mut certified = Vec::new();
        while let Some(&(rank, arm)) = self.waiting.first() {
            if rank as usize > set_size {
                break;
            }
            self.waiting.pop_first();
            self.frozen[arm as usize] = true;
            self.certified_count += 1;
            certified.push(Certificate { arm: ArmId(arm), level });
        }
        certified
    }
}

/// How many arms have evidence for a set of size at most k, less k, for every k: the largest set is
/// the largest k where that is not negative. A tree of sums and of largest prefix sums.
#[derive(Clone, Debug)]
struct RankCounts {
    arm_count: usize,
    width: usize,
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    sum: i64,
    largest_prefix: i64,
}

impl RankCounts {
    fn new(arm_count: usize) -> Self {
        let width = arm_count.next_power_of_two();
        let leaf = Node { sum: -1, largest_prefix: -1 };
        let mut counts = Self { arm_count, width, nodes: vec![leaf; 2 * width] };
        for node in (1..width).rev() {
            counts.nodes[node] = counts.joined(node);
        }
        counts
    }

    /// Adds `change` arms at `rank`, counted from 1; ranks beyond the number of arms are dropped.
    fn change(&mut self, rank: u32, change: i64) {
        let leaf = rank as usize - 1;
        if leaf >= self.arm_count {
            return;
        }
        let mut node = self.width + leaf;
        self.nodes[node].sum += change;
        self.nodes[node].largest_prefix += change;
        while node > 1 {
            node /= 2;
            self.nodes[node] = self.joined(node);
        }
    }

    fn joined(&self, node: usize) -> Node {
        let (left, right) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
        Node {
            sum: left.sum + right.sum,
            largest_prefix: left.largest_prefix.max(left.sum + right.largest_prefix),
        }
    }

    fn largest_set(&self) -> usize {
        if self.nodes[1].largest_prefix < 0 {
            return 0;
        }
        let (mut node, mut before) = (1, 0);
        while node < self.width {
            let (left, right) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
            if before + left.sum + right.largest_prefix >= 0 {
                before += left.sum;
                node = 2 * node + 1;
            } else {
                node *= 2;
            }
        }
        node - self.width + 1
    }
}

const ROUND_UP: f64 = 1.0 + 1e-12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_set_is_the_one_a_scan_finds() {
        let mut state = 7_u64;
        for arm_count in [1_usize, 2, 5, 8, 13] {
            let mut counts = RankCounts::new(arm_count);
            let mut ranks = vec![u32::try_from(arm_count).unwrap() + 1; arm_count];
            for rank in &ranks {
                counts.change(*rank, 1);
            }
            for _ in 0..500 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(11);
                let arm = (state >> 40) as usize % arm_count;
                let rank = u32::try_from((state >> 20) % (arm_count as u64 + 1)).unwrap() + 1;
                counts.change(ranks[arm], -1);
                counts.change(rank, 1);
                ranks[arm] = rank;
                let enough = |size: &usize| {
                    ranks.iter().filter(|&&rank| rank as usize <= *size).count() >= *size
                };
                let largest = (1..=arm_count).rev().find(enough).unwrap_or(0);
                assert_eq!(counts.largest_set(), largest, "{ranks:?}");
            }
        }
    }
}
