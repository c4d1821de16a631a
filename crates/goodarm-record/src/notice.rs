//! Notices of a running run to its observers.

use std::time::Duration;

use goodarm_core::Cost;
use serde::Serialize;

use crate::history::SettledCall;
use crate::view::questions::AnsweredQuestion;
use crate::view::{AnswerView, Overview};

/// Receives notices of a run.
pub trait Observer: Send {
    /// Takes a notice.
    fn notice(&mut self, notice: Notice<'_>);

    /// Whether the observer wants a [`Notice::Called`] for every call.
    fn wants_calls(&self) -> bool {
        false
    }
}

/// Ignores all notices.
impl Observer for () {
    fn notice(&mut self, _: Notice<'_>) {}
}

/// Something that happened in a run.
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
        /// The answer's JSON object, if the answer was made during the run: the job does not have it.
        made: Option<&'a str>,
        /// The run's spend at that moment.
        spent: Cost,
        /// The question that it answers, if there are questions.
        answers: Option<AnsweredQuestion>,
    },
    /// A verifier backs off, is down, or is back.
    Verifier {
        /// Its name.
        verifier: &'a str,
        /// Its condition.
        condition: &'a Condition,
    },
    /// A warning for people.
    Warning(&'a str),
    /// The progress of the run; several times a second.
    Progress(&'a Progress),
}

/// The progress of a run.
#[derive(Clone, Debug)]
pub struct Progress {
    /// The run so far.
    pub overview: Overview,
    /// Calls that failed.
    pub failure_count: u64,
    /// Requests that had to be sent again.
    pub retry_count: u64,
    /// The last call: the service, and the answer or question.
    pub working_on: Option<[String; 2]>,
    /// A forecast of how many answers will be certified.
    pub forecast: f64,
    /// Seconds until the run ends at the recent pace; `None` while the pace is unknown, and if the run will probably end
    /// before its budget is spent: that moment cannot be forecast.
    pub seconds_left: Option<f64>,
    /// The condition of each service.
    pub conditions: Vec<Condition>,
    /// What limits the number of calls in flight.
    pub held_by: Option<HeldBy>,
    /// Whether new calls are paused.
    pub is_paused: bool,
    /// The time since this process began or resumed the run.
    pub elapsed: Duration,
}

/// The condition of a service.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// Requests are answered.
    Open,
    /// Some of its addresses are busy or down; the others work.
    Partly {
        /// How many addresses are busy or down.
        troubled: usize,
        /// How many addresses the service has.
        of: usize,
        /// What went wrong with these addresses last.
        reason: String,
    },
    /// The service throttles calls, by 429 or 503.
    BackingOff {
        /// The time until requests are sent again.
        wait: Duration,
    },
    /// The service cannot be reached, or broke several times in a row; it is tried now and then.
    Down {
        /// How long it has been down.
        since: Duration,
        /// What went wrong last.
        reason: String,
    },
    /// The service was down for longer than the job's patience, or cannot work.
    GivenUp {
        /// What went wrong last.
        reason: String,
    },
    /// The service has failed several times, and has never given a score.
    NeverScored {
        /// What went wrong last.
        reason: String,
    },
    /// The service's output does not match its requests: its earlier scores are also in doubt.
    Mistrusted {
        /// What the service did.
        reason: String,
    },
}

/// What limits the number of calls in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeldBy {
    /// The job allows no more.
    Concurrency,
    /// The expected cost of the calls in flight is 2 % of the money that is not spent.
    Money,
}
