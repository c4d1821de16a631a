//! The simulated bills of a plan: around the expected ones, and at most the price, which is what is reserved.

use std::fmt::Display;

use goodarm_core::Cost;

use super::{PlanError, PlanSpec};
use crate::random::Random;
use crate::world::{Between, BillLaw};

impl PlanSpec {
    /// The bills of each verifier in this repetition.
    pub(super) fn verifier_bills(&self, repetition: u64) -> Result<Vec<BillLaw>, PlanError> {
        let verifiers = self.verifiers.iter().enumerate();
        let law = |(index, it): (usize, &super::PlanVerifier)| {
            let key = format_args!("verifiers[{index}].price").to_string();
            self.bills(key, it.price, it.expected, it.doubt, [repetition, index as u64])
        };
        verifiers.map(law).collect()
    }

    /// The bills of each generator in this repetition.
    pub(super) fn generator_bills(&self, repetition: u64) -> Result<Vec<BillLaw>, PlanError> {
        let makers = self.makers().enumerate();
        let law = |(index, it): (usize, &super::PlanGenerator)| {
            let place = GENERATORS + index as u64;
            self.bills("generator.price", it.price, it.expected, it.doubt, [repetition, place])
        };
        makers.map(law).collect()
    }

    /// Bills of one service. If their mean is in doubt, it is drawn again in every repetition.
    fn bills(
        &self,
        key: impl Display,
        price: f64,
        expected: Option<f64>,
        doubt: f64,
        [repetition, place]: [u64; 2],
    ) -> Result<BillLaw, PlanError> {
        let ceiling = Cost::of_price(price).map_err(|error| PlanError::key(key, error))?;
        let Some(expected) = expected else { return Ok(BillLaw::Fixed(ceiling)) };
        let luck = Random::at(self.seed, &[BILLS, repetition, place]).normal();
        let mean = expected * libm::exp(doubt * luck);
        Ok(BillLaw::LogNormal { mean, variation: VARIATION, between: BETWEEN, ceiling })
    }
}

/// The standard deviation of bills, divided by their mean. Prompts differ in length, and replies do as well.
const VARIATION: f64 = 0.3;
/// Most of it is the length of the answer.
const BETWEEN: Between = Between { answers: 0.6, pairs: 0.0 };
const BILLS: u64 = 0xB111;
/// Where the draws of generators begin; there are fewer verifiers.
const GENERATORS: u64 = 1 << 32;
