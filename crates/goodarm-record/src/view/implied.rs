//! A verifier that took much of the money and was implied by another one: its cost, and an estimate of the savings
//! without it.

use goodarm_core::implied::{Implication, PairVerdict, implied};
use goodarm_core::{ArmId, AttributeId, Books, Cost};
use goodarm_files::words::counted;
use serde::Serialize;

use super::VerifierView;

/// A verifier that has added nothing so far.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ImpliedView {
    /// Which.
    pub verifier: String,
    /// The other one.
    pub by: String,
    /// Answers that passed both; no answer passed the other one and failed this one.
    pub answers: usize,
    /// Its cost.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub spent: Cost,
    /// The same as a share of the spend.
    pub share: f64,
    /// The estimated cost of the same certificates without it.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub cost_without: Cost,
    /// How the estimate is made.
    pub rule: &'static str,
    /// All of this in words.
    pub words: String,
}

/// How the estimate is made.
const RULE: &str = "An estimate: the spend of this run without what this verifier took, as if the other calls had been the same. It says what the same certificates might have cost, not how many more the rest would have bought: the answers that are left are the hard ones.";

impl ImpliedView {
    /// Looks at every answer.
    pub fn new(books: &Books, verifiers: &[VerifierView]) -> Option<Self> {
        let problem = books.problem();
        // To leave out one of several criteria would save nothing.
        let spent = |verifier: &VerifierView| match verifier.criterion_of {
            Some(_) => 0.0,
            None => verifier.spent.units(),
        };
        let spent: Vec<f64> = verifiers.iter().map(spent).collect();
        let price = |verifier: &VerifierView| {
            verifier.mean_price.unwrap_or_else(|| verifier.ceiling.units())
        };
        let prices: Vec<f64> = verifiers.iter().map(price).collect();
        let id = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        let found = implied(&spent, &prices, problem.arm_count(), |arm, attribute| {
            PairVerdict::of(books, ArmId(id(arm)), AttributeId(id(attribute)))
        })?;
        let verifier = &verifiers[found.attribute.index()];
        let by = &verifiers[found.by.index()].name;
        Some(Self {
            verifier: verifier.name.clone(),
            by: by.clone(),
            answers: found.arm_count,
            spent: verifier.spent,
            share: found.share,
            cost_without: books.ledger().settled().saturating_sub(verifier.spent),
            rule: RULE,
            words: words(&verifier.name, by, &found, books.certified().len()),
        })
    }
}

fn words(verifier: &str, by: &str, found: &Implication, certified: usize) -> String {
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let estimate = if certified > 0 {
        format!(
            " Without it the same {} would have cost about {} of this, and would not \
             cover it (an estimate: what was spent minus what it took).",
            counted(certified, "certificate"),
            percent(1.0 - found.share)
        )
    } else {
        String::new()
    };
    format!(
        "“{verifier}” took {} of the money. All {} so far that passed “{by}” passed it as \
         well.{estimate} This does not prove that it will never reject one.",
        percent(found.share),
        counted(found.arm_count, "answer")
    )
}
