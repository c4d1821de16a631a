//! ServiceKinds of services: what a job file calls them, which keys they have, and how they are made.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use goodarm_data::candidates::Candidates;
use goodarm_data::problem::KeyProblem;
use goodarm_record::job_file::table::JobTable;
use goodarm_record::job_file::{ServiceKeys, Unit};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;

use super::KINDS;
use crate::service::Service;

/// Problems with keys: the name of each, whether it is wrong, and why.
pub(super) fn problems_of<const N: usize>(keys: [(&str, bool, &str); N]) -> Vec<KeyProblem> {
    let wrong = keys.into_iter().filter(|(_, is_wrong, _)| *is_wrong);
    wrong.map(|(key, _, message)| KeyProblem::new(key, message)).collect()
}

/// A kind of service.
#[derive(Clone, Copy)]
pub struct ServiceKind {
    /// What a job file calls it.
    pub name: &'static str,
    /// Whether it can answer questions, too.
    pub makes_answers: bool,
    schema: fn(&mut SchemaGenerator) -> Schema,
    read: ReadKeys,
}

/// Reads the keys of one kind, with everything that is wrong with them put aside.
type ReadKeys = fn(&JobTable<'_>, &mut Vec<KeyProblem>) -> Option<Box<dyn KindKeys>>;

/// The keys that one kind of service has beyond those of every service.
pub trait KindKeys {
    /// The service that the keys describe or everything that is wrong with them.
    /// A generator answers the questions of the context; the job finds the final answers in its replies.
    fn build(&self, context: &ServiceContext<'_>) -> Result<Service, Vec<KeyProblem>>;
}

/// What surrounds a service in its job.
#[derive(Clone, Copy, Debug)]
pub struct ServiceContext<'a> {
    /// Whether it is a generator: it answers the questions. If not, it is a verifier, which may solve them.
    pub makes_answers: bool,
    /// The keys that every service has.
    pub keys: &'a ServiceKeys,
    /// Until a call counts as failed.
    pub timeout: Duration,
    /// Where paths start from.
    pub folder: &'a Path,
    /// What is to be verified; where answers are made during the run, with one in the place of each.
    pub candidates: &'a Candidates,
    /// What is asked, if candidates are answers to questions.
    pub questions: Option<&'a Candidates>,
    /// What random draws depend on.
    pub seed: u64,
    /// What the job's budget and prices count.
    pub unit: Unit,
}

impl ServiceContext<'_> {
    /// Of a generator: whether its answers are votes, too, for which there is a threshold.
    pub(crate) const fn has_votes(&self) -> bool {
        self.keys.threshold.is_some()
    }
}

impl ServiceKind {
    /// A kind whose keys are the fields of `K`.
    pub const fn new<K>(name: &'static str) -> Self
    where
        K: KindKeys + DeserializeOwned + JsonSchema + 'static,
    {
        Self { name, makes_answers: false, schema: K::json_schema, read: read::<K> }
    }

    /// The same, if its keys describe a generator as well.
    #[must_use]
    pub const fn making_answers(self) -> Self {
        Self { makes_answers: true, ..self }
    }

    /// The schema of its own keys.
    pub(crate) fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        (self.schema)(generator)
    }

    /// The names of its own keys.
    pub(crate) fn key_names(&self) -> BTreeSet<String> {
        goodarm_record::job_file::key_names(&self.schema(&mut SchemaGenerator::default()))
    }

    /// Its own keys, with everything that cannot be read put aside.
    pub(crate) fn read(
        &self,
        table: &JobTable<'_>,
        problems: &mut Vec<KeyProblem>,
    ) -> Option<Box<dyn KindKeys>> {
        (self.read)(table, problems)
    }
}

fn read<K>(table: &JobTable<'_>, problems: &mut Vec<KeyProblem>) -> Option<Box<dyn KindKeys>>
where
    K: KindKeys + DeserializeOwned + JsonSchema + 'static,
{
    table.read::<K>(problems).map(|keys| Box::new(keys) as Box<dyn KindKeys>)
}

impl fmt::Debug for ServiceKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("ServiceKind").field(&self.name).finish()
    }
}

/// The kinds that a job file may name: ours, and those that a program adds.
#[derive(Clone, Debug)]
pub struct ServiceKinds(Vec<ServiceKind>);

impl Default for ServiceKinds {
    fn default() -> Self {
        Self(KINDS.to_vec())
    }
}

impl ServiceKinds {
    /// These and one more, which takes the place of an earlier one of its name.
    #[must_use]
    pub fn with(mut self, kind: ServiceKind) -> Self {
        self.0.retain(|earlier| earlier.name != kind.name);
        self.0.push(kind);
        self
    }

    /// The kind of a name.
    pub fn get(&self, name: &str) -> Option<&ServiceKind> {
        self.0.iter().find(|kind| kind.name == name)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &ServiceKind> {
        self.0.iter()
    }
}
