//! A session for Python: `ask` returns the calls to make, `tell` and `fail` record what came of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use goodarm_core::policy::{self, Parameters};
use goodarm_core::{
    ArmId, Ask, AttributeSpec, Call, Cost, Event, Failure, Guarantee, Options, Outcome, Policy,
    Problem, ProblemSpec, ScoreModel, SettleError, Share, StopReason, Ticket,
};
use goodarm_files::GuaranteeName;
use pyo3::exceptions::{PyIndexError, PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::books::books_table;
use crate::errors::{exception, raised, unknown, variant_of};
use crate::events::{event_of, event_tuple, named_failure};
use crate::money::{Decimal, price};
use crate::policy::{PolicyException, PythonPolicy};
use crate::table::PyTable;
use crate::values::{PyLedger, PyPull, PySpec};

/// A session: chooses calls, and keeps scores, evidence and money.
#[pyclass(frozen, name = "Session", module = "goodarm")]
pub(crate) struct PySession {
    /// Its number in this process.
    number: u64,
    inner: Mutex<Inner>,
    /// The thread that uses `inner`; 0 for none.
    inside: AtomicU64,
    names: Vec<Py<PyString>>,
    raised: PolicyException,
    /// An exception that a policy raised after it had chosen some calls: the next `ask` raises it.
    late: PolicyException,
}

struct Inner {
    session: goodarm_core::Session,
    /// `None` if events are not kept.
    events: Option<Vec<Event>>,
    stop: Option<StopReason>,
}

#[pymethods]
impl PySession {
    #[new]
    #[pyo3(signature = (
        arms, budget, delta, verifiers, *, guarantee = None, policy = None, parameters = None,
        in_flight_share = None, stop_when_hopeless = false, keep_events = false
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        arms: usize,
        budget: &Bound<'_, PyAny>,
        delta: f64,
        verifiers: Vec<PyRef<'_, PySpec>>,
        guarantee: Option<&str>,
        policy: Option<&Bound<'_, PyAny>>,
        parameters: Option<&Bound<'_, PyDict>>,
        in_flight_share: Option<f64>,
        stop_when_hopeless: bool,
        keep_events: bool,
    ) -> PyResult<Self> {
        let py = budget.py();
        let raised_by_policy = PolicyException::default();
        let name = policy.and_then(|policy| policy.extract::<String>().ok());
        let (policy, natural) = match (policy, &name) {
            (Some(object), None) => {
                let policy = PythonPolicy::new(
                    object,
                    &verifiers_names(py, &verifiers),
                    raised_by_policy.clone(),
                )?;
                (Box::new(policy) as Box<dyn Policy + Send>, Guarantee::Holm)
            }
            _ => {
                let name = name.as_deref().unwrap_or(policy::NAMES[0]);
                (named_policy(name, parameters)?, policy::natural_guarantee(name))
            }
        };
        let guarantee = guarantee.map_or(Ok(natural), guarantee_of)?;
        let attribute = |spec: &PyRef<'_, PySpec>| AttributeSpec {
            name: spec.name.clone(),
            price: spec.price.0,
            expected: None,
            threshold: spec.threshold,
            scores: ScoreModel::from(spec.scores),
        };
        let problem = Problem::new(ProblemSpec {
            arms,
            attributes: verifiers.iter().map(attribute).collect(),
            budget: crate::money::budget(budget)?,
            delta,
            guarantee,
        })
        .map_err(|error| raised("SpecError", &error))?;
        let default = Options::default();
        let options = Options {
            in_flight_share: in_flight_share.unwrap_or(default.in_flight_share),
            stop_when_hopeless,
            ..default
        };
        let session = py
            .detach(|| goodarm_core::Session::with_options(problem, policy, options))
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        raised_by_policy.check()?;
        let events = keep_events.then(Vec::new);
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Ok(Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            inner: Mutex::new(Inner { session, events, stop: None }),
            inside: AtomicU64::new(0),
            names: verifiers_names(py, &verifiers),
            raised: raised_by_policy,
            late: PolicyException::default(),
        })
    }

    /// At most `most` calls to make now. An empty list means: wait for replies, or the session is done.
    #[pyo3(signature = (most = 1))]
    fn ask(&self, py: Python<'_>, most: usize) -> PyResult<Vec<PyPull>> {
        self.late.check()?;
        let (pulls, result) = self.with(py, |inner| {
            let asked = inner.ask(most);
            // A policy that raises has not ended the session.
            if self.raised.is_there() {
                inner.stop = None;
            }
            asked
        })?;
        let checked = self.raised.check();
        // Calls chosen before the error are reserved, and must be returned.
        if let (Err(error), false) = (&checked, pulls.is_empty()) {
            self.late.put(error.clone_ref(py));
        }
        if pulls.is_empty() {
            checked?;
            result.map_err(|error| exception("AskError", "", error.to_string()))?;
        }
        Ok(pulls.into_iter().map(|pull| self.pull(py, &pull)).collect())
    }

    /// Records the score of a call and its cost, by default the ceiling.
    #[pyo3(signature = (pull, score, cost = None))]
    fn tell(
        &self,
        pull: &Bound<'_, PyAny>,
        score: f64,
        cost: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let ticket = self.ticket_of(pull)?;
        self.take(pull.py(), &[(ticket, Outcome::Score(score), cost_of(pull, cost)?)])
    }

    /// Records several scores, in order, up to the first that is refused.
    #[pyo3(signature = (pulls, scores, costs = None))]
    fn tell_many(
        &self,
        py: Python<'_>,
        pulls: Vec<Bound<'_, PyAny>>,
        scores: Vec<f64>,
        costs: Option<Vec<Bound<'_, PyAny>>>,
    ) -> PyResult<()> {
        let count = pulls.len();
        if scores.len() != count || costs.as_ref().is_some_and(|costs| costs.len() != count) {
            return Err(PyValueError::new_err(format!(
                "{count} calls need {count} scores and costs, or no costs"
            )));
        }
        let told = pulls.iter().zip(scores).enumerate().map(|(index, (pull, score))| {
            let cost = cost_of(pull, costs.as_ref().map(|costs| &costs[index]))?;
            Ok((self.ticket_of(pull)?, Outcome::Score(score), cost))
        });
        self.take(py, &told.collect::<PyResult<Vec<_>>>()?)
    }

    /// Records the failure of a call: `timed-out`, `crashed`, `unreadable`, `truncated`, `refused`, `lost` and
    /// `given-up` count as the lowest score, `not-connected` and `rate-limited` are void, `below-lowest`
    /// and `exhausted` end the stream.
    #[pyo3(signature = (pull, failure, cost = None))]
    fn fail(
        &self,
        pull: &Bound<'_, PyAny>,
        failure: &str,
        cost: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let failure = named_failure(failure)?;
        // By default only counted failures are paid.
        let is_made = matches!(failure, Failure::Counted(_));
        let is_free = cost.is_none() && !is_made;
        let cost = if is_free { Cost::ZERO } else { cost_of(pull, cost)? };
        self.take(pull.py(), &[(self.ticket_of(pull)?, Outcome::Failed(failure), cost)])
    }

    /// Whether there is nothing more to do, and no call is in flight.
    #[getter]
    fn done(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |inner| inner.stop.is_some())
    }

    /// Why the session is done; None before that.
    #[getter]
    fn stop_reason(&self, py: Python<'_>) -> PyResult<Option<&'static str>> {
        self.with(py, |inner| inner.stop.map(stop_name))
    }

    /// The certified arms, in the order of their certificates.
    #[getter]
    fn certified(&self, py: Python<'_>) -> PyResult<Vec<u32>> {
        self.with(py, |inner| inner.session.certified().iter().map(|arm| arm.0).collect())
    }

    /// The status of every arm: `certified`, `undecided` or `rejected`.
    #[getter]
    fn statuses(&self, py: Python<'_>) -> PyResult<Vec<&'static str>> {
        self.with(py, |inner| {
            let books = inner.session.books();
            books.problem().arms().map(|arm| books.status(arm).name()).collect()
        })
    }

    /// The status of an arm: `certified`, `undecided` or `rejected`.
    fn status(&self, py: Python<'_>, arm: u32) -> PyResult<&'static str> {
        let status = self.with(py, |inner| {
            let books = inner.session.books();
            (ArmId(arm).index() < books.problem().arm_count())
                .then(|| books.status(ArmId(arm)).name())
        })?;
        status.ok_or_else(|| PyIndexError::new_err(format!("there is no arm {arm}")))
    }

    /// Budget, spend and reserves.
    #[getter]
    fn ledger(&self, py: Python<'_>) -> PyResult<PyLedger> {
        self.with(py, |inner| PyLedger::from(inner.session.books().ledger()))
    }

    /// The number of arms.
    #[getter]
    fn arms(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |inner| inner.session.books().problem().arm_count())
    }

    /// The verifiers' names.
    #[getter]
    fn verifiers<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyString>> {
        self.names.iter().map(|name| name.bind(py).clone()).collect()
    }

    /// The number of calls in flight.
    #[getter]
    fn in_flight(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |inner| inner.session.books().in_flight_count())
    }

    /// The share of delta that is not lent; None unless the guarantee is `lent`.
    #[getter]
    fn pool(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.with(py, |inner| inner.session.books().pool().map(Share::fraction))
    }

    /// Raises the budget; allowed at any time.
    fn raise_budget(&self, budget: &Bound<'_, PyAny>) -> PyResult<()> {
        let amount = crate::money::budget(budget)?;
        let raised = self.change(budget.py(), |session| {
            let event = Event::BudgetRaised { budget: amount };
            session.raise_budget(amount).then_some(event).ok_or(())
        })?;
        raised.map_err(|()| PyValueError::new_err("a budget may be raised, never lowered"))
    }

    /// Adds arms; only if the guarantee is `lent`.
    #[pyo3(signature = (count = 1))]
    fn add_arms(&self, py: Python<'_>, count: usize) -> PyResult<()> {
        let added = self.change(py, |session| {
            session.add_arms(count)?;
            let count = u32::try_from(count).expect("at most ARMS_MAX arms");
            Ok::<_, goodarm_core::books::AddArmsError>(Event::ArmsAdded { count })
        })?;
        added.map_err(|error| raised("AddArmsError", &error))
    }

    /// Revokes the arm's share of delta; its evidence is lost.
    fn release(&self, py: Python<'_>, arm: u32) -> PyResult<()> {
        let arm = ArmId(arm);
        let released =
            self.change(py, |session| session.release(arm).map(|()| Event::Released { arm }))?;
        released.map_err(|error| raised("LendError", &error))
    }

    /// All events, as plain tuples; only with `keep_events=True`.
    #[getter]
    fn events<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let events = self.with(py, |inner| inner.events.clone())?;
        let events = events.ok_or_else(|| {
            PyValueError::new_err("events are not kept: make the session with keep_events=True")
        })?;
        PyList::new(
            py,
            events.iter().map(|event| event_tuple(py, event)).collect::<PyResult<Vec<_>>>()?,
        )
    }

    /// Applies the recorded events of an earlier session to this new one.
    fn replay(&self, events: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = events.py();
        let events =
            events.try_iter()?.map(|event| event_of(&event?)).collect::<PyResult<Vec<Event>>>()?;
        let result = self.with(py, |inner| {
            inner.session.replay(events.iter().cloned())?;
            events.into_iter().for_each(|event| inner.note(event));
            inner.stop = None;
            Ok::<_, goodarm_core::session::ReplayError>(())
        });
        self.raised.check()?;
        result?.map_err(|error| raised("ReplayError", &error))
    }

    /// A row for each arm and verifier: calls, scores, evidence and the level it must reach.
    #[getter]
    fn books(&self, py: Python<'_>) -> PyResult<PyTable> {
        self.with(py, |inner| books_table(inner.session.books()))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |inner| {
            let books = inner.session.books();
            let (certified, arms) = (books.certified().len(), books.problem().arm_count());
            let (settled, budget) = (books.ledger().settled(), books.ledger().budget());
            format!("<Session: {certified} of {arms} arms certified, {settled} of {budget} spent>")
        })
    }
}

impl PySession {
    /// Uses the session without the interpreter's lock. A policy may not use the session that asks it.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Inner) -> T + Send,
    ) -> PyResult<T> {
        let me = thread_number();
        if self.inside.load(Ordering::SeqCst) == me {
            let message = "a policy may not use the session that asks it: it has its view";
            return Err(exception("AskError", "", message.into()));
        }
        Ok(py.detach(|| {
            let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            self.inside.store(me, Ordering::SeqCst);
            let result = work(&mut inner);
            self.inside.store(0, Ordering::SeqCst);
            result
        }))
    }

    /// Makes a change other than a call, after which there may be more to do.
    fn change<E: Send>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut goodarm_core::Session) -> Result<Event, E> + Send,
    ) -> PyResult<Result<(), E>> {
        let result = self.with(py, |inner| {
            let event = change(&mut inner.session)?;
            inner.stop = None;
            inner.note(event);
            Ok(())
        })?;
        self.raised.check()?;
        Ok(result)
    }

    fn take(&self, py: Python<'_>, calls: &[(Ticket, Outcome, Cost)]) -> PyResult<()> {
        let result = self.with(py, |inner| {
            calls.iter().try_for_each(|(ticket, outcome, cost)| {
                let (ticket, outcome, cost) = (*ticket, outcome.clone(), *cost);
                inner.session.settle(ticket, &outcome, cost)?;
                inner.note(Event::Settled { ticket, outcome, bill: cost.into() });
                Ok(())
            })
        })?;
        self.raised.check()?;
        result.map_err(|error| match error {
            SettleError::Score { reason, .. } => {
                exception("TellError", &variant_of(&reason), error.to_string())
            }
            error => raised("TellError", &error),
        })
    }

    /// The ticket of a call, which Python gives as a pull of this session or as its number.
    fn ticket_of(&self, pull: &Bound<'_, PyAny>) -> PyResult<Ticket> {
        let Ok(pull) = pull.cast::<PyPull>() else {
            return pull.extract().map(Ticket).map_err(|_| {
                PyTypeError::new_err("give a call that ask() returned, or its number `call`")
            });
        };
        let &PyPull { session, call, .. } = pull.get();
        if session != self.number {
            let message = format!("call {call} is of another session");
            return Err(exception("TellError", "OtherSession", message));
        }
        Ok(Ticket(call))
    }

    fn pull(&self, py: Python<'_>, call: &Call) -> PyPull {
        let (arm, attribute) = call.pair().expect("a session in Python has no questions");
        PyPull {
            session: self.number,
            call: call.ticket.0,
            arm: arm.0,
            verifier: self.names[attribute.index()].clone_ref(py),
            attempt: call.attempt,
            verifier_index: attribute.0,
            ceiling: Decimal(call.ceiling),
            lent: call.loan.map(|(_, loan)| loan.share.fraction()),
            branch: call.branch,
        }
    }
}

impl Inner {
    fn ask(&mut self, most: usize) -> (Vec<Call>, Result<(), goodarm_core::AskError>) {
        let mut calls = Vec::with_capacity(most.min(CALLS_AT_ONCE));
        while calls.len() < most {
            match self.session.ask() {
                Ok(Ask::Call(call)) => {
                    self.note(call.into());
                    calls.push(call);
                }
                Ok(Ask::Wait) => break,
                Ok(Ask::Done(reason)) => {
                    self.stop = Some(reason);
                    break;
                }
                Err(error) => return (calls, Err(error)),
            }
        }
        (calls, Ok(()))
    }

    fn note(&mut self, event: Event) {
        if let Some(events) = &mut self.events {
            events.push(event);
        }
    }
}

/// The most calls for which memory is reserved in advance.
const CALLS_AT_ONCE: usize = 1024;

/// The cost of a call, by default its ceiling.
fn cost_of(pull: &Bound<'_, PyAny>, cost: Option<&Bound<'_, PyAny>>) -> PyResult<Cost> {
    match (cost, pull.cast::<PyPull>()) {
        (Some(cost), _) => price(cost),
        (None, Ok(pull)) => Ok(pull.get().ceiling.0),
        (None, Err(_)) => Err(PyTypeError::new_err("a call given by its number needs a cost")),
    }
}

fn guarantee_of(name: &str) -> PyResult<Guarantee> {
    let known: Vec<&str> = GUARANTEES.into_iter().map(GuaranteeName::name).collect();
    let found = GUARANTEES.into_iter().find(|guarantee| guarantee.name() == name);
    found
        .map(Guarantee::from)
        .ok_or_else(|| PyValueError::new_err(unknown("guarantee", name, &known)))
}

const GUARANTEES: [GuaranteeName; 6] = [
    GuaranteeName::Lent,
    GuaranteeName::Holm,
    GuaranteeName::Union,
    GuaranteeName::Fdr,
    GuaranteeName::Paper,
    GuaranteeName::None,
];

fn named_policy(
    name: &str,
    parameters: Option<&Bound<'_, PyDict>>,
) -> PyResult<Box<dyn Policy + Send>> {
    if !policy::NAMES.contains(&name) {
        return Err(exception("PolicyError", "Unknown", unknown("policy", name, &policy::NAMES)));
    }
    let mut given = Parameters::default();
    for (key, value) in parameters.into_iter().flatten() {
        match key.extract::<String>()?.as_str() {
            "seed" => given.seed = value.extract()?,
            "allocation_constant" => given.allocation_constant = value.extract()?,
            "unresolved_only" => given.unresolved_only = value.extract()?,
            "means" => given.means = value.extract()?,
            "calls_per_pair" => given.calls_per_pair = value.extract()?,
            key => {
                let known =
                    ["seed", "allocation_constant", "unresolved_only", "means", "calls_per_pair"];
                return Err(PyKeyError::new_err(unknown("parameter", key, &known)));
            }
        }
    }
    policy::by_name(name, &given).map_err(|error| raised("PolicyError", &error))
}

fn verifiers_names(py: Python<'_>, verifiers: &[PyRef<'_, PySpec>]) -> Vec<Py<PyString>> {
    verifiers.iter().map(|spec| PyString::new(py, &spec.name).unbind()).collect()
}

const fn stop_name(reason: StopReason) -> &'static str {
    match reason {
        StopReason::AllCertified => "all-certified",
        StopReason::AllDecided => "all-decided",
        StopReason::BudgetSpent => "budget-spent",
        StopReason::NothingWorthwhile => "nothing-worthwhile",
        StopReason::AllCallsMade => "all-calls-made",
        StopReason::Hopeless => "hopeless",
    }
}

/// The number of this thread; never 0.
fn thread_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local!(static MINE: u64 = NEXT.fetch_add(1, Ordering::Relaxed));
    MINE.with(|mine| *mine)
}
