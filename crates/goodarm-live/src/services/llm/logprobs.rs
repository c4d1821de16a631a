//! Scores from the log-probabilities of yes and no.
//!
//! A verdict in the first token does not depend on sampling: the probability of yes is the mean that many samples
//! would estimate, and one call is enough. Calls differ only by rounding in the server. So a declared margin is
//! subtracted from the score, and the first calls make two requests to test whether the margin is wide enough.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use goodarm_core::CountedFailure;
use goodarm_data::problem::KeyProblem;
use goodarm_record::job_file::Scores;
use goodarm_record::reply::{Contact, Delivery, Reply, Usage, Verdict, shorten};
use serde::Deserialize;

use super::chat::ChatReply;
use super::keys::VerdictPosition;
use super::solver::add;
use super::temperature::Temperature;
use super::{CUT_OFF_MESSAGE, LlmKeys};
use crate::services::ServiceContext;

/// Reads scores out of log-probabilities.
#[derive(Debug)]
pub(super) struct Logprobs {
    place: VerdictPosition,
    margin: f64,
    noise: Mutex<Noise>,
}

/// What the calls with two requests have shown: how many in a row agreed, and the widest difference.
#[derive(Debug, Default)]
struct Noise {
    agreements_in_a_row: u32,
    widest: f64,
}

/// The probabilities of yes and no at one position. A token that the server does not list counts as neither.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Weights {
    yes: f64,
    no: f64,
}

impl Logprobs {
    pub(super) fn new(
        keys: &LlmKeys,
        context: &ServiceContext<'_>,
        problems: &mut Vec<KeyProblem>,
    ) -> Option<Self> {
        let place = keys.verdict.unwrap_or_default();
        let margin = match place {
            VerdictPosition::First => keys.margin.unwrap_or(MARGIN),
            VerdictPosition::Last => 0.0,
        };
        let before = problems.len();
        let mut wrong = |key: &str, message: String| problems.push(KeyProblem::new(key, message));
        if keys.range.is_some() {
            wrong("range", "needs parse = \"number\" or \"json\"".into());
        }
        if keys.pointer.is_some() {
            wrong("pointer", "needs parse = \"json\"".into());
        }
        if let Some(count) = keys.top_logprobs.filter(|count| !(1..=TOP_MAX).contains(count)) {
            wrong("top_logprobs", format!("{count} is not between 1 and {TOP_MAX}"));
        }
        if !(0.0..=MARGIN_MAX).contains(&margin) {
            wrong("margin", format!("{margin} is not between 0 and {MARGIN_MAX}"));
        } else if let Some(threshold) = context.keys.threshold.filter(|least| *least > 1.0 - margin)
        {
            let message =
                format!("{threshold} is out of reach: margin = {margin} is taken off scores");
            wrong("threshold", message);
        }
        if let Some(Temperature::Degrees(degrees)) = keys.temperature
            && place == VerdictPosition::First
            && (degrees - 1.0).abs() > 0.0
        {
            let message = "the probability of a first token is that at temperature 1: use 1, or \
                           \"default\"";
            wrong("temperature", message.into());
        }
        if context.keys.scores == Some(Scores::Binary) {
            wrong("scores", "a probability is not 0 or 1: leave it out".into());
        }
        let noise = Mutex::default();
        (problems.len() == before).then_some(Self { place, margin, noise })
    }

    /// The number of requests of the next call.
    pub(super) fn request_count(&self) -> u32 {
        let is_known = self.noise().agreements_in_a_row >= AGREEMENTS;
        if self.is_exact() && !is_known { self.request_count_max() } else { 1 }
    }

    /// The most requests that a call makes.
    pub(super) const fn request_count_max(&self) -> u32 {
        if self.is_exact() { 2 } else { 1 }
    }

    /// Whether the verdict is the first token, so that one call is enough.
    pub(super) const fn is_exact(&self) -> bool {
        matches!(self.place, VerdictPosition::First)
    }

    /// A warning if two requests of a call differed by more than the margin.
    pub(super) fn warning(&self) -> Option<String> {
        let widest = self.noise().widest;
        (widest > self.margin).then(|| {
            format!(
                "two requests about one answer gave probabilities of yes that are {widest:.4} apart, \
                 more than margin = {}: declare a larger one, or ask for samples (parse = \"yes-no\")",
                self.margin
            )
        })
    }

    /// The reply of a call, given the replies to its requests.
    pub(super) fn count(&self, replies: Vec<Result<ChatReply, Reply>>) -> Reply {
        let (mut usage, mut delivery): (Option<Usage>, _) = (None, Delivery::default());
        let (mut weights, mut texts) = (Vec::new(), Vec::new());
        let (mut failure, mut void, mut contacts) = (None, None, Vec::new());
        for reply in replies {
            let (took, verdict, text) = match reply {
                Err(reply) if matches!(reply.verdict, Verdict::Void(_)) => {
                    void = Some(reply);
                    continue;
                }
                Err(Reply { verdict, usage, text, delivery: came, contact }) => {
                    delivery.status = delivery.status.or(came.status);
                    contacts.push(contact);
                    (usage, Err(verdict), text)
                }
                Ok(said) => {
                    contacts.push(Contact::Read);
                    (said.usage, self.weights(&said), said.text)
                }
            };
            usage = Some(usage.map_or(took, |sum| add(sum, took)));
            texts.push(text);
            match verdict {
                Ok(found) => weights.push(found),
                Err(verdict) => failure = Some(verdict),
            }
        }
        let Some(usage) = usage else {
            return void.unwrap_or_else(|| Reply::failed(CountedFailure::Unreadable, "no reply"));
        };
        let verdict = failure.unwrap_or_else(|| self.verdict(&weights));
        let shown = weights.iter().map(ToString::to_string).chain(texts);
        let text = shorten(shown.collect::<Vec<_>>().join("\n"));
        let contact = Contact::of_all(contacts.into_iter());
        Reply { verdict, usage, text, delivery, contact }
    }

    fn verdict(&self, weights: &[Weights]) -> Verdict {
        let all = || weights.iter().map(|weights| weights.yes);
        let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
        if weights.len() > 1 {
            let mut noise = self.noise();
            noise.widest = noise.widest.max(most - least);
            if most - least > self.margin {
                noise.agreements_in_a_row = 0;
                let reason = format!(
                    "asked twice, yes had the probabilities {least:.4} and {most:.4}, which differ \
                     by more than margin = {}",
                    self.margin
                );
                return Verdict::Failed(CountedFailure::Unreadable, reason);
            }
            noise.agreements_in_a_row += 1;
        }
        Verdict::Score((least - self.margin).max(0.0))
    }

    /// The probabilities of yes and no at the token of the verdict, or why there are none.
    fn weights(&self, said: &ChatReply) -> Result<Weights, Verdict> {
        let unreadable = |reason: String| Verdict::Failed(CountedFailure::Unreadable, reason);
        let places = Listing::deserialize(&said.logprobs).ok().and_then(|listing| listing.content);
        let places = places.filter(|places| !places.is_empty());
        if self.place == VerdictPosition::Last && said.is_cut {
            return Err(Verdict::Failed(CountedFailure::Truncated, CUT_OFF_MESSAGE.into()));
        }
        let places = places.ok_or_else(|| unreadable(ABSENT.into()))?;
        let place = match self.place {
            VerdictPosition::First => places.first(),
            VerdictPosition::Last => {
                places.iter().rfind(|place| verdict_of(&place.token).is_some())
            }
        };
        let place = place.ok_or_else(|| unreadable("no token of the reply is yes or no".into()))?;
        let weights = place.weights().map_err(unreadable)?;
        if self.is_exact() && weights.yes + weights.no < DECIDED_MIN {
            let token = &place.token;
            let reason = format!(
                "the first token, here {token:?}, is hardly ever yes or no: ask for one word, or use \
                 verdict = \"last\""
            );
            return Err(unreadable(reason));
        }
        Ok(weights)
    }

    fn noise(&self) -> MutexGuard<'_, Noise> {
        self.noise.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Display for Weights {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "P(yes) = {:.4}, P(no) = {:.4}", self.yes, self.no)
    }
}

/// The log-probabilities of a reply.
#[derive(Deserialize)]
struct Listing {
    content: Option<Vec<TokenPosition>>,
}

/// One token of the reply, and its alternatives.
#[derive(Deserialize)]
struct TokenPosition {
    token: String,
    /// `None` is minus infinity, which JSON cannot express.
    logprob: Option<f64>,
    /// Absent in an alternative.
    top_logprobs: Option<Vec<Self>>,
}

impl TokenPosition {
    /// The probabilities of yes and no. Equal tokens count once, because a score that is too low is on the safe side.
    fn weights(&self) -> Result<Weights, String> {
        let mut listed = BTreeMap::from([(self.token.as_str(), self.logprob)]);
        listed.extend(
            self.top_logprobs.iter().flatten().map(|token| (token.token.as_str(), token.logprob)),
        );
        let mut weights = Weights { yes: 0.0, no: 0.0 };
        let mut sum = 0.0;
        for (token, logprob) in listed {
            let probability = logprob.map_or(0.0, f64::exp);
            sum += probability;
            match verdict_of(token) {
                Some(true) => weights.yes += probability,
                Some(false) => weights.no += probability,
                None => {}
            }
        }
        if sum <= 1.0 + SUM_SLACK {
            Ok(Weights { yes: weights.yes.min(1.0), ..weights })
        } else {
            Err(format!("the probabilities of one token sum to {sum:.4}, more than 1"))
        }
    }
}

/// `true` for yes and `false` for no, without white space and a tokenizer's marks for it; `None` for other tokens.
fn verdict_of(token: &str) -> Option<bool> {
    let word = token.trim_matches(|sign: char| sign.is_whitespace() || matches!(sign, '▁' | 'Ġ'));
    if word.eq_ignore_ascii_case("yes") {
        Some(true)
    } else if word.eq_ignore_ascii_case("no") {
        Some(false)
    } else {
        None
    }
}

const ABSENT: &str = "the endpoint gives no log-probabilities (choices[0].logprobs.content): use \
                      another one, or parse = \"yes-no\"";
/// The default of `margin`: about the difference between equal requests that a server batches differently.
const MARGIN: f64 = 0.02;
const MARGIN_MAX: f64 = 0.5;
const TOP_MAX: u32 = 100;
/// The calls with two agreeing requests in a row after which one request is enough.
const AGREEMENTS: u32 = 3;
/// If yes and no together are less probable than this, the model gave another kind of reply.
const DECIDED_MIN: f64 = 0.1;
/// How far the sum of the probabilities may exceed 1, because log-probabilities are rounded.
const SUM_SLACK: f64 = 0.001;

#[cfg(test)]
mod tests;
