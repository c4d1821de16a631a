//! Algorithm 1 as the paper prints it: every pair is looked at for every observation. It shares no
//! code with the crate, and is what the crate's pulls are compared with.

/// The whole algorithm: certificates, money and allocation.
#[derive(Clone, Debug)]
pub(crate) struct Transcription {
    pub(crate) arm_count: usize,
    pub(crate) thresholds: Vec<f64>,
    /// In whole units, so that sums are exact.
    pub(crate) costs: Vec<u64>,
    pub(crate) budget: u64,
    pub(crate) delta: f64,
    pub(crate) allocation_constant: f64,
    pub(crate) cost_blind: bool,
    pub(crate) unresolved_only: bool,
    pub(crate) state: State,
}

/// N, Σy, L, S, C and t.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    counts: Vec<u64>,
    sums: Vec<f64>,
    lower: Vec<f64>,
    is_certified: Vec<bool>,
    pub(crate) certified: Vec<usize>,
    spent: u64,
    time: u64,
}

pub(crate) type Step = (&'static str, usize, usize);

fn real(count: u64) -> f64 {
    f64::from(u32::try_from(count).expect("tests count below 2^32"))
}

impl Transcription {
    pub(crate) fn start(mut self) -> Self {
        let pairs = self.arm_count * self.costs.len();
        self.state = State {
            counts: vec![0; pairs],
            sums: vec![0.0; pairs],
            lower: vec![0.0; pairs],
            is_certified: vec![false; self.arm_count],
            ..State::default()
        };
        self
    }

    fn pair(&self, arm: usize, attribute: usize) -> usize {
        arm * self.costs.len() + attribute
    }

    fn pair_count(&self) -> f64 {
        real((self.arm_count * self.costs.len()) as u64)
    }

    fn affordable(&self, attribute: usize) -> bool {
        self.state.spent + self.costs[attribute] <= self.budget
    }

    fn unresolved(&self, arm: usize, attribute: usize) -> bool {
        self.state.lower[self.pair(arm, attribute)] < self.thresholds[attribute]
    }

    fn active(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.arm_count).filter(|&arm| !self.state.is_certified[arm])
    }

    /// Lines 3 to 14: the branch, the arm and the attribute, or none when the loop ends.
    pub(crate) fn next(&self) -> Option<Step> {
        let mut least: Option<(u64, usize, usize)> = None;
        for arm in self.active() {
            for attribute in (0..self.costs.len()).filter(|&m| self.affordable(m)) {
                if self.unresolved_only && !self.unresolved(arm, attribute) {
                    continue;
                }
                let count = self.state.counts[self.pair(arm, attribute)];
                if least.is_none_or(|(fewest, _, _)| count < fewest) {
                    least = Some((count, arm, attribute));
                }
            }
        }
        let (fewest, arm, attribute) = least?;
        let time = real(self.state.time);
        if real(fewest) < libm::sqrt(time + 1.0) / self.pair_count() {
            return Some(("explore", arm, attribute));
        }
        let indices: Vec<(usize, f64, f64)> =
            self.active().map(|arm| (arm, self.index(arm, 1.0), self.index(arm, -1.0))).collect();
        let smallest = indices.iter().map(|index| index.2).fold(f64::INFINITY, f64::min);
        if smallest == f64::INFINITY {
            return Some(("fallback", arm, attribute));
        }
        let (target, ..) = *indices.iter().find(|index| index.1 <= smallest)?;
        Some(("target", target, self.attribute(target)?))
    }

    /// l (side -1) or u (side +1) of the allocation interval.
    fn end(&self, arm: usize, attribute: usize, side: f64) -> f64 {
        let pair = self.pair(arm, attribute);
        let count = self.state.counts[pair];
        if count == 0 {
            return if side < 0.0 { 0.0 } else { 1.0 };
        }
        let scaled = self.allocation_constant * libm::log(real(self.state.time) + 1.0);
        let radius = libm::sqrt(scaled / real(count));
        let mean = self.state.sums[pair] / real(count);
        if side < 0.0 { mean - radius } else { mean + radius }
    }

    /// H⁻ (side +1) or H⁺ (side -1).
    fn index(&self, arm: usize, side: f64) -> f64 {
        let attributes = 0..self.costs.len();
        if !attributes.clone().any(|m| self.unresolved(arm, m) && self.affordable(m)) {
            return f64::INFINITY;
        }
        let mut sum = 0.0;
        for attribute in attributes {
            let gap = self.end(arm, attribute, side) - self.thresholds[attribute];
            if gap <= 0.0 {
                return f64::INFINITY;
            }
            let cost = if self.cost_blind { 1.0 } else { real(self.costs[attribute]) };
            sum += 2.0 * cost / (gap * gap);
        }
        sum
    }

    fn attribute(&self, arm: usize) -> Option<usize> {
        let mut best: Option<(f64, usize)> = None;
        for attribute in 0..self.costs.len() {
            if !self.unresolved(arm, attribute) || !self.affordable(attribute) {
                continue;
            }
            let gap = self.end(arm, attribute, 1.0) - self.thresholds[attribute];
            let ratio = real(self.state.counts[self.pair(arm, attribute)]) / (2.0 / (gap * gap));
            if best.is_none_or(|(least, _)| ratio < least) {
                best = Some((ratio, attribute));
            }
        }
        best.map(|(_, attribute)| attribute)
    }

    /// Lines 15 to 20.
    pub(crate) fn observe(&mut self, arm: usize, attribute: usize, score: f64) {
        let pair = self.pair(arm, attribute);
        self.state.spent += self.costs[attribute];
        self.state.time += 1;
        self.state.counts[pair] += 1;
        self.state.sums[pair] += score;
        let count = real(self.state.counts[pair]);
        let log_term = libm::log(4.0 * self.pair_count() * count * count) - libm::log(self.delta);
        let lower = self.state.sums[pair] / count - libm::sqrt(2.0 / count * log_term);
        self.state.lower[pair] = self.state.lower[pair].max(lower);
        if (0..self.costs.len()).all(|m| !self.unresolved(arm, m)) {
            self.state.is_certified[arm] = true;
            self.state.certified.push(arm);
        }
    }
}
