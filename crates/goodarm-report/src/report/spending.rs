//! The spending per service, by the status of the answers or questions.

use goodarm_core::{ArmStatus, Cost};
use goodarm_record::view::Overview;

use crate::words::{is_free, printable};

/// The spending of all services.
pub(super) struct SpendingTable {
    /// The possible statuses of an answer, or of a question.
    pub(super) statuses: Vec<&'static str>,
    /// Verifiers, then generators. A verifier with several criteria is listed once.
    pub(super) services: Vec<ServiceSpending>,
    /// The sum over all services, for each status.
    pub(super) sums: Vec<Cost>,
}

/// The spending of one service.
pub(super) struct ServiceSpending {
    pub(super) name: String,
    pub(super) is_free: bool,
    /// The spending for each status.
    pub(super) parts: Vec<Cost>,
    pub(super) all: Cost,
}

impl SpendingTable {
    pub(super) fn new(overview: &Overview) -> Self {
        let statuses = match &overview.questions {
            Some(_) => vec!["answered", "open"],
            None => ArmStatus::ALL.map(ArmStatus::name).to_vec(),
        };
        let paid = |name: &str, ceiling: Cost, parts: Vec<Cost>, all: Cost| ServiceSpending {
            name: printable(name),
            is_free: is_free(ceiling),
            parts,
            all,
        };
        let by_question = |parts: Option<[Cost; 2]>| parts.unwrap_or_default().to_vec();
        let verifiers = overview.verifiers.iter().filter(|it| it.paid_with.is_none()).map(|it| {
            let parts = match &overview.questions {
                Some(_) => by_question(it.spent_by_question),
                None => it.spent_by_status.to_vec(),
            };
            paid(it.criterion_of.as_ref().unwrap_or(&it.name), it.ceiling, parts, it.spent)
        });
        let generators = overview.questions.iter().flat_map(|questions| &questions.generators);
        let generators = generators
            .map(|it| paid(&it.name, it.ceiling, by_question(it.spent_by_question), it.spent));
        let services: Vec<ServiceSpending> = verifiers.chain(generators).collect();
        let sum = |status: usize| {
            let parts = services.iter().map(|service| service.parts[status]);
            parts.fold(Cost::ZERO, Cost::saturating_add)
        };
        let sums = (0..statuses.len()).map(sum).collect();
        Self { statuses, services, sums }
    }
}
