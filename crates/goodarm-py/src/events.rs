//! Events of a session, as plain tuples that can be stored as JSON.

use goodarm_core::{
    ArmId, AttributeId, Cost, Event, Failure, Loan, Outcome, Share, Target, Ticket,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::{raised, unknown};

/// An event as a plain tuple: its name, then its values.
pub(crate) fn event_tuple<'py>(py: Python<'py>, event: &Event) -> PyResult<Bound<'py, PyTuple>> {
    match *event {
        Event::Asked { ticket, target: Target::Arm(arm, attribute), loan } => {
            let loan = loan.map(|(_, loan)| (loan.share.parts(), loan.weights));
            ("asked", ticket.0, arm.0, attribute.0, loan).into_pyobject(py)
        }
        Event::Settled { ticket, outcome: Outcome::Score(score), bill } => {
            ("told", ticket.0, score, bill.settled().to_string()).into_pyobject(py)
        }
        Event::Settled { ticket, outcome: Outcome::Failed(failure), bill } => {
            ("failed", ticket.0, failure.name(), bill.settled().to_string()).into_pyobject(py)
        }
        Event::BudgetRaised { budget } => ("budget-raised", budget.to_string()).into_pyobject(py),
        Event::Released { arm } => ("released", arm.0).into_pyobject(py),
        Event::ArmsAdded { count } => ("arms-added", count).into_pyobject(py),
        Event::Asked { .. } | Event::Settled { .. } => {
            unreachable!("a session in Python has no questions, and one score a call")
        }
    }
}

pub(crate) fn event_of(event: &Bound<'_, PyAny>) -> PyResult<Event> {
    let cost = |index: usize| -> PyResult<Cost> {
        let text: String = event.get_item(index)?.extract()?;
        text.parse().map_err(|error: goodarm_core::cost::CostError| raised("CostError", &error))
    };
    let settled = |outcome: Outcome| -> PyResult<Event> {
        let ticket = Ticket(event.get_item(1)?.extract()?);
        Ok(Event::Settled { ticket, outcome, bill: cost(3)?.into() })
    };
    let name: String = event.get_item(0)?.extract()?;
    Ok(match name.as_str() {
        "asked" => {
            let ticket = Ticket(event.get_item(1)?.extract()?);
            let arm = ArmId(event.get_item(2)?.extract()?);
            let attribute = AttributeId(event.get_item(3)?.extract()?);
            let loan = event.get_item(4)?;
            let loan = if loan.is_none() { None } else { Some((arm, loan_of(&loan)?)) };
            Event::Asked { ticket, target: Target::Arm(arm, attribute), loan }
        }
        "told" => settled(Outcome::Score(event.get_item(2)?.extract()?))?,
        "failed" => {
            settled(Outcome::Failed(named_failure(&event.get_item(2)?.extract::<String>()?)?))?
        }
        "budget-raised" => Event::BudgetRaised { budget: cost(1)? },
        "released" => Event::Released { arm: ArmId(event.get_item(1)?.extract()?) },
        "arms-added" => Event::ArmsAdded { count: event.get_item(1)?.extract()? },
        name => {
            let known = ["asked", "told", "failed", "budget-raised", "released", "arms-added"];
            return Err(PyValueError::new_err(unknown("event", name, &known)));
        }
    })
}

fn loan_of(loan: &Bound<'_, PyAny>) -> PyResult<Loan> {
    let share = Share::from_parts(loan.get_item(0)?.extract()?)
        .ok_or_else(|| PyValueError::new_err("a share is more than all of delta"))?;
    Ok(Loan { share, weights: loan.get_item(1)?.extract()? })
}

/// The failure with a name; an exception if it is unknown.
pub(crate) fn named_failure(name: &str) -> PyResult<Failure> {
    Failure::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Failure::ALL.into_iter().map(Failure::name).collect();
        PyValueError::new_err(unknown("failure", name, &names))
    })
}
