//! Kinds of services: their names and keys in a job file, and how they are built.

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

/// The problems among these keys: each has its name, whether it is wrong, and the message.
pub(super) fn problems_of<const N: usize>(keys: [(&str, bool, &str); N]) -> Vec<KeyProblem> {
    let wrong = keys.into_iter().filter(|(_, is_wrong, _)| *is_wrong);
    wrong.map(|(key, _, message)| KeyProblem::new(key, message)).collect()
}

/// A kind of service.
#[derive(Clone, Copy)]
pub struct ServiceKind {
    /// Its name in a job file.
    pub name: &'static str,
    /// Whether a service of this kind can be a generator.
    pub makes_answers: bool,
    /// The schema of its own keys.
    pub(crate) schema: fn(&mut SchemaGenerator) -> Schema,
    /// Reads its own keys, and collects the problems.
    pub(crate) read: ReadKeys,
}

/// Reads the keys of one kind, and collects the problems.
type ReadKeys = fn(&JobTable<'_>, &mut Vec<KeyProblem>) -> Option<Box<dyn KindKeys>>;

/// The keys that one kind of service has beyond those of every service.
pub trait KindKeys {
    /// The service that the keys describe, or all problems with the keys. A generator answers the questions of the
    /// context; the job finds the final answers in the generator's replies.
    fn build(&self, context: &ServiceContext<'_>) -> Result<Service, Vec<KeyProblem>>;
}

/// The part of a job that a service depends on.
#[derive(Clone, Copy, Debug)]
pub struct ServiceContext<'a> {
    /// Whether the service is a generator. Otherwise it is a verifier, which may be a solver.
    pub makes_answers: bool,
    /// The keys common to all services.
    pub keys: &'a ServiceKeys,
    /// The time after which a call counts as failed.
    pub timeout: Duration,
    /// The folder that paths are relative to.
    pub folder: &'a Path,
    /// The candidates, with placeholders for answers that are made during the run.
    pub candidates: &'a Candidates,
    /// The questions, if candidates are answers to questions.
    pub questions: Option<&'a Candidates>,
    /// The seed of random draws.
    pub seed: u64,
    /// The unit of the job's budget and prices.
    pub unit: Unit,
}

impl ServiceContext<'_> {
    /// Whether the answers of a generator are also votes. Only then it has a threshold.
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
        let read: ReadKeys = |table, problems| {
            table.read::<K>(problems).map(|keys| Box::new(keys) as Box<dyn KindKeys>)
        };
        Self { name, makes_answers: false, schema: K::json_schema, read }
    }

    /// A kind whose keys can also describe a generator.
    #[must_use]
    pub const fn making_answers(self) -> Self {
        Self { makes_answers: true, ..self }
    }

    /// The names of its own keys.
    pub(crate) fn key_names(&self) -> BTreeSet<String> {
        goodarm_record::job_file::key_names(&(self.schema)(&mut SchemaGenerator::default()))
    }
}

impl fmt::Debug for ServiceKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("ServiceKind").field(&self.name).finish()
    }
}

/// The kinds that a job file may name: the built-in ones, and those that a program adds.
#[derive(Clone, Debug)]
pub struct ServiceKinds(Vec<ServiceKind>);

impl Default for ServiceKinds {
    fn default() -> Self {
        Self(KINDS.to_vec())
    }
}

impl ServiceKinds {
    /// Adds a kind. It replaces an earlier one with the same name.
    #[must_use]
    pub fn with(mut self, kind: ServiceKind) -> Self {
        self.0.retain(|earlier| earlier.name != kind.name);
        self.0.push(kind);
        self
    }

    /// The kind with this name.
    pub fn get(&self, name: &str) -> Option<&ServiceKind> {
        self.0.iter().find(|kind| kind.name == name)
    }

    /// All kinds.
    pub fn iter(&self) -> impl Iterator<Item = &ServiceKind> {
        self.0.iter()
    }
}
