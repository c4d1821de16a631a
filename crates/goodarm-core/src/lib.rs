//! goodarm's core: which answer to check with which verifier next, what the scores prove, and what
//! money is left. It does no I/O, has no clock and no threads; the caller makes the calls.
//!
//! There are **arms** (candidate answers) and **attributes** (kinds of scores, each with a price ceiling and a
//! threshold). A call of a verifier gives a noisy score. An arm is **certified** once the evidence shows that its
//! mean score reaches the threshold of *every* attribute. Under the default guarantee, with probability 1 - δ no
//! certificate is wrong. Settled plus reserved money stays within the budget unless a bill exceeds its ceiling.
//! Both hold for any policy, any order of replies and any number of failed calls.
//!
//! ```
//! use goodarm_core::{
//!     Ask, AttributeSpec, Cost, Guarantee, Outcome, Problem, ProblemSpec, ScoreModel, Session, Target,
//! };
//! use goodarm_core::policy::rcb::Rcb;
//!
//! let judge = AttributeSpec {
//!     name: "judge".into(),
//!     price: 0.02,
//!     expected: None,
//!     threshold: 0.5,
//!     scores: ScoreModel::Binary,
//! };
//! let problem = Problem::new(ProblemSpec {
//!     arms: 3,
//!     attributes: vec![judge],
//!     budget: 5.0,
//!     delta: 0.05,
//!     guarantee: Guarantee::Lent,
//! })?;
//! let verify = |target| match target {
//!     // Your verifier goes here.
//!     Target::Arm(arm, _) => Outcome::Score(if arm.0 == 1 { 0.0 } else { 1.0 }),
//!     Target::Question(..) => unreachable!("there are no questions"),
//! };
//!
//! let mut session = Session::new(problem, Rcb::new());
//! let reason = loop {
//!     match session.ask()? {
//!         Ask::Call(call) => {
//!             session.settle(call.ticket, &verify(call.target), Cost::of_price(0.02)?)?;
//!         }
//!         Ask::Wait => unreachable!("no call is in flight"),
//!         Ask::Done(reason) => break reason,
//!     }
//! };
//! let mut certified: Vec<u32> = session.certified().iter().map(|arm| arm.0).collect();
//! certified.sort();
//! assert_eq!(certified, [0, 2], "stopped because {reason:?}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With many calls at once, keep asking until [`Ask::Wait`], and settle tickets in any order by
//! [`Session::settle`].
//!
//! Data flows one way: [`problem`] → [`policy`] → [`call`] → [`outcome`] → [`tally`] and evidence →
//! guarantee → [`books`], which [`session`] drives. Evidence, guarantees and [`ledger`] do not depend on policies.

#![no_std]

extern crate alloc;

mod bills;
pub mod books;
pub mod calibration;
pub mod call;
pub mod claim;
pub mod cost;
pub mod event;
mod evidence;
mod guarantee;
pub mod ledger;
mod min_tree;
mod num;
mod offer;
pub mod outcome;
pub mod outlook;
pub mod policy;
pub mod prior;
pub mod problem;
pub mod session;
pub mod tally;
pub mod units;

pub use crate::bills::BillTotals;
pub use crate::books::{ArmStatus, Books, Change, Lane, SettleError, Settlement};
pub use crate::call::{Call, Loan, Role, Source, Target, Ticket};
pub use crate::claim::Claim;
pub use crate::cost::Cost;
pub use crate::event::{Event, EventError};
pub use crate::guarantee::lending::Lending;
pub use crate::ledger::Bill;
pub use crate::outcome::{
    BlockingFailure, CountedFailure, Failure, Outcome, REPEATS_MAX, VoidFailure,
};
pub use crate::policy::{Choice, Policy};
pub use crate::problem::design::{Design, GeneratorSpec, Questions, QuestionsSpec, ScoredBy};
pub use crate::problem::{
    Attribute, AttributeSpec, Guarantee, Problem, ProblemSpec, ScoreModel, SpecError,
};
pub use crate::session::{Ask, AskError, DECISIONS, Options, Session, StopReason};
pub use crate::units::{ArmId, AttributeId, GeneratorId, Label, QuestionId, ServiceId, Share};
