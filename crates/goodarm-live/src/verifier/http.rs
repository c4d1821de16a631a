//! A server that takes a POST and answers with a score.

use std::collections::BTreeSet;
use std::path::Path;

use goodarm_core::CountedFailure;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::score::{NOTHING, cost_of, in_short, score_of};
use super::wire::{Wire, url_of};
use super::wrong::{Wrong, sort_out};
use super::{Reply, Usage, Verdict};
use crate::answer::checked_pointer;
use crate::candidates::Candidate;
use crate::job_file::{ScoresFile, VerifierFile};
use crate::line::Line;
use crate::template::Template;

/// A server of one's own.
#[derive(Debug)]
pub struct Http {
    wire: Wire,
    body: Option<Template>,
    pointer: String,
}

impl Http {
    /// Keys of this kind, beyond those of every kind.
    pub const KEYS: &[&str] = &["url", "api_key_env", "headers", "body", "pointer"];

    /// A verifier; keys are read from the environment now.
    pub fn new(file: &VerifierFile, _folder: &Path) -> Result<Self, Vec<Wrong>> {
        let mut wrongs = Vec::new();
        let wire = Wire::new(file, url_of(file)).map_err(|more| wrongs.extend(more)).ok();
        let pointer = checked_pointer(Some(file.pointer.as_deref().unwrap_or("/score")));
        let pointer = sort_out(pointer, &mut wrongs);
        let body = file.body.as_deref().map(Template::new).transpose();
        let body =
            sort_out(body.map_err(|error| Wrong::new("body", error.to_string())), &mut wrongs);
        match (wire, pointer, body) {
            (Some(wire), Some(pointer), Some(body)) => Ok(Self { wire, body, pointer }),
            _ => Err(wrongs),
        }
    }

    /// What is known of the scores if the job file says nothing.
    pub const fn default_scores(&self) -> ScoresFile {
        ScoresFile::Bounded
    }

    /// The candidate's fields that the body needs.
    pub fn fields(&self) -> BTreeSet<String> {
        self.body.as_ref().map(Template::fields).unwrap_or_default()
    }

    /// Makes one call, void attempts and their retries included.
    pub async fn call(&self, candidate: &Candidate, line: &Line) -> Reply {
        let rendered = match self.body.as_ref().map(|body| rendered(body, candidate)).transpose() {
            Ok(rendered) => rendered,
            // Not sent, but it depends on the answer, so it counts.
            Err(reason) => {
                let failed = Reply::failed(CountedFailure::Unreadable, reason);
                return Reply { usage: NOTHING, ..failed };
            }
        };
        let body = rendered.as_deref().unwrap_or(&candidate.json);
        let received = match self.wire.post(line, body).await {
            Ok(received) => received,
            Err(reply) => return reply,
        };
        let (verdict, cost) = self.read(&received.body);
        let text = match String::from_utf8(received.body) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        let usage = Usage { cost, worked: received.worked, ..Usage::default() };
        Reply { verdict, usage, text: self.wire.clean(text) }
    }

    /// The score, and the cost if the reply says one.
    fn read(&self, body: &[u8]) -> (Verdict, Option<f64>) {
        let unreadable = |reason| Verdict::Failed(CountedFailure::Unreadable, reason);
        let value: Value = match serde_json::from_slice(body) {
            Ok(value) => value,
            Err(error) => return (unreadable(format!("the reply is not JSON: {error}")), None),
        };
        let verdict = match value.pointer(&self.pointer) {
            Some(found) => match score_of(found) {
                Some(score) => Verdict::Score(score),
                None => {
                    let found = in_short(&self.wire.clean(found.to_string()));
                    unreadable(format!("{} is no score: {found}", self.pointer))
                }
            },
            None => unreadable(format!("nothing at {} of the reply", self.pointer)),
        };
        (verdict, cost_of(value.get("cost")))
    }
}

/// The body for a candidate, which must be JSON: quotes in an answer break a template that forgets
/// `tojson`.
fn rendered(template: &Template, candidate: &Candidate) -> Result<String, String> {
    let body = template.render(candidate).map_err(|error| format!("body: {error}"))?;
    match serde_json::from_str::<IgnoredAny>(&body) {
        Ok(_) => Ok(body),
        Err(error) => Err(format!(
            "body: the template gives no JSON ({error}); {{{{ answer | tojson }}}} keeps quotes"
        )),
    }
}
