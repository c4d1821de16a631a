//! The card of a call to a person.

use goodarm_data::candidates::text_of;
use goodarm_data::candidates::{Candidate, fields};
use goodarm_data::template::Template;
use serde_json::Value;

use crate::card_queue::{Card, Field, ReplyForm};
use crate::terms::PeopleTerms;

/// Makes the cards of one service.
#[derive(Debug)]
pub struct CardRenderer {
    terms: PeopleTerms,
    wanted: ReplyForm,
    /// `None` for an invalid template, which a job does not allow.
    template: Option<Template>,
    /// The field with the id. It is not shown among the fields: cards show the id separately.
    id_field: String,
}

impl CardRenderer {
    /// A renderer of cards on these terms.
    pub fn new(terms: &PeopleTerms, wanted: ReplyForm, id_field: &str) -> Self {
        let template = Template::new(&terms.asks).ok();
        Self { terms: terms.clone(), wanted, template, id_field: id_field.to_owned() }
    }

    /// The card of a call about an answer or a question.
    pub(crate) fn card(&self, key: String, subject: &Candidate) -> Card {
        let rendered = self.template.as_ref().and_then(|it| it.render(subject).ok());
        let field = |name: &str, value: &Value| Field {
            name: name.to_owned(),
            text: text_of(value).into_owned(),
        };
        let fields = match &self.terms.show {
            Some(names) => {
                let found = names.iter().filter_map(|it| Some((it, subject.field(it)?)));
                found.map(|(name, value)| field(name, value)).collect()
            }
            None => {
                let is_seen =
                    |name: &String| *name != self.id_field && !self.terms.hide.contains(name);
                // Fields keep their order, so that a question is read before its answer.
                let all = fields::in_order(&subject.json);
                let seen = all.iter().filter(|(name, _)| is_seen(name));
                seen.map(|(name, value)| field(name, value)).collect()
            }
        };
        Card {
            key,
            id: subject.id.clone(),
            asks: rendered.unwrap_or_else(|| self.terms.asks.clone()),
            wanted: self.wanted,
            fields,
            // Results of other verifiers would bias the person.
            evidence: Vec::new(),
        }
    }

    /// The card as text.
    pub fn text(&self, subject: &Candidate) -> String {
        let Card { asks, wanted, fields, .. } = self.card(String::new(), subject);
        let mut text = format!("asks a person: {asks}\n");
        for Field { name, text: own } in fields {
            text += &format!("{name}: {own}\n");
        }
        text + &match wanted {
            ReplyForm::Verdict => "(right, wrong, or cannot tell)".to_owned(),
            ReplyForm::Score { lowest, highest } => {
                format!("(a score from {lowest} to {highest}, or cannot tell)")
            }
            ReplyForm::Answer => "(an answer, or cannot tell)".to_owned(),
        }
    }
}
