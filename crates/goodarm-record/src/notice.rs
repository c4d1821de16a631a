//! What observers hear of a run while it goes on.

use std::time::Duration;

use goodarm_core::Cost;
use serde::Serialize;

use crate::history::SettledCall;
use crate::view::questions::AnsweredQuestion;
use crate::view::{AnswerView, Overview};

/// Takes notice of what happens in a run.
pub trait Observer: Send {
    /// Something happened.
    fn notice(&mut self, notice: Notice<'_>);

    /// Whether it wants to hear of every single call.
    fn wants_calls(&self) -> bool {
        false
    }
}

/// Takes no notice of anything.
impl Observer for () {
    fn notice(&mut self, _: Notice<'_>) {}
}

/// What happened.
#[derive(Clone, Copy, Debug)]
pub enum Notice<'a> {
    /// A call came back; only for observers that want calls.
    Called {
        /// The candidate's name, or the question's.
        id: &'a str,
        /// The name of the verifier, or of the generator.
        verifier: &'a str,
        /// The call.
        call: &'a SettledCall<'a>,
    },
    /// An answer is certified.
    Certified {
        /// The answer with its evidence; its rank is how many are certified now.
        answer: &'a AnswerView,
        /// Its id.
        id: &'a str,
        /// Its object, if it was made during the run: the job does not have it.
        made: Option<&'a str>,
        /// What was spent by then.
        spent: Cost,
        /// The question that it answers, if there are questions.
        answers: Option<AnsweredQuestion>,
    },
    /// A verifier backs off, is down, or is back.
    Verifier {
        /// Its name.
        verifier: &'a str,
        /// How it is doing.
        condition: &'a Condition,
    },
    /// Something a person should know.
    Warning(&'a str),
    /// How far the run has come; several times a second.
    Progress(&'a Progress),
}

/// How far a run has come.
#[derive(Clone, Debug)]
pub struct Progress {
    /// The run as it stands.
    pub overview: Overview,
    /// Calls without a score.
    pub failure_count: u64,
    /// Requests that had to be sent again.
    pub retry_count: u64,
    /// The last call that was asked for: who was called, and about which answer or question.
    pub working_on: Option<[String; 2]>,
    /// How many will be certified in the end, as it looks now.
    pub forecast: f64,
    /// Seconds until the budget is spent at the pace of late; none before there is one. A run may end
    /// earlier, when nothing is worth a call any more.
    pub seconds_left: Option<f64>,
    /// How the verifiers are doing.
    pub conditions: Vec<Condition>,
    /// What keeps more calls from being in flight.
    pub held_by: Option<HeldBy>,
    /// Whether someone holds new calls back.
    pub is_paused: bool,
    /// Since this process took up the run.
    pub elapsed: Duration,
}

/// How a verifier is doing.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// Requests are answered.
    Open,
    /// Some of its addresses are busy or down; the others go on.
    Partly {
        /// How many.
        troubled: usize,
        /// Of how many.
        of: usize,
        /// What went wrong with them last.
        reason: String,
    },
    /// The verifier asked for a pause, by 429.
    BackingOff {
        /// Until requests are sent again.
        wait: Duration,
    },
    /// The verifier cannot be reached, or broke several times in a row; it is tried now and then.
    Down {
        /// Since when.
        since: Duration,
        /// What went wrong last.
        reason: String,
    },
    /// It was down for longer than the job's patience, or will never be up.
    GivenUp {
        /// What went wrong last.
        reason: String,
    },
    /// It has never given a score, and has failed often enough.
    NeverScored {
        /// What went wrong last.
        reason: String,
    },
    /// What it says cannot be told from what it was asked: its earlier scores are in doubt, too.
    Mistrusted {
        /// What it did.
        reason: String,
    },
}

/// What keeps more calls from being in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeldBy {
    /// The job allows no more.
    Concurrency,
    /// What those in flight are expected to cost is 2 % of the money that is not spent.
    Money,
}
