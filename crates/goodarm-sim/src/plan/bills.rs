//! The simulated bills of a plan: around the expected ones, and at most the price, which is what is reserved.

use std::fmt::Display;

use goodarm_core::Cost;

use super::{PlanError, PlanGenerator, PlanSpec, PlanVerifier};
use crate::random::Random;
use crate::world::{Between, BillLaw};

impl PlanSpec {
    /// The bills of each verifier in this repetition.
    pub(super) fn verifier_bills(&self, repetition: u64) -> Result<Vec<BillLaw>, PlanError> {
        let verifiers = self.verifiers.iter().enumerate();
        let law = |(index, it): (usize, &PlanVerifier)| {
            let key = format!("verifiers[{index}].price");
            self.bills(key, (it.price, it.expected, it.doubt), [repetition, index as u64])
        };
        verifiers.map(law).collect()
    }

    /// The bills of each service in this repetition: of the verifiers with calls of their own, then of the generators.
    pub(super) fn service_bills(&self, repetition: u64) -> Result<Vec<BillLaw>, PlanError> {
        let verifiers = self.verifiers.iter().zip(self.verifier_bills(repetition)?);
        let called = verifiers.filter(|(verifier, _)| verifier.calls_of.is_none());
        let mut bills: Vec<BillLaw> = called.map(|(_, bills)| bills).collect();
        bills.extend(self.generator_bills(repetition)?);
        Ok(bills)
    }

    fn generator_bills(&self, repetition: u64) -> Result<Vec<BillLaw>, PlanError> {
        let makers = self.makers().enumerate();
        let law = |(index, it): (usize, &PlanGenerator)| {
            let place = GENERATORS + index as u64;
            let key = "generator.price";
            self.bills(key, (it.price, it.expected, it.doubt), [repetition, place])
        };
        makers.map(law).collect()
    }

    /// Bills of one service with this price, expected bill and doubt, which is why the mean is drawn again in every
    /// repetition.
    fn bills(
        &self,
        key: impl Display,
        (price, expected, doubt): (f64, Option<f64>, f64),
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
