//! Answers compared with known right ones: by their final answers, as the job finds them.

use goodarm_data::answer::{ExtractName, Extractor, same};
use goodarm_files::toml_text;
use goodarm_files::words::counted;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::job_file::JobFile;

/// An answer and its reference, as they were compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComparedAnswer {
    /// The answer's id.
    pub id: String,
    /// The final answer of the reference.
    pub reference: String,
    /// The final answer of the answer.
    pub given: String,
    /// Whether they are the same.
    pub is_same: bool,
}

/// How the fields of an answer are compared.
#[derive(Clone, Copy, Debug)]
pub struct Comparison<'a> {
    /// The field with the reference, and the field with the answer.
    pub fields: [&'a str; 2],
    /// Finds final answers. A text without one is compared whole, and so are all texts without an extractor.
    pub extractor: Option<&'a Extractor>,
}

impl Comparison<'_> {
    /// Compares the texts of the two fields of an answer.
    pub fn compare(&self, id: &str, texts: [&str; 2]) -> ComparedAnswer {
        let found = |text: &str| self.extractor.and_then(|extractor| extractor.extract(text));
        let [reference, given] =
            texts.map(|text| found(text).unwrap_or_else(|| text.trim().into()));
        let is_same = same(&reference, &given);
        ComparedAnswer { id: id.to_owned(), reference, given, is_same }
    }

    /// Three of the pairs, a line for each: different ones and the same. They do not depend on the order of the pairs.
    pub fn examples(&self, all: &[ComparedAnswer]) -> String {
        let mut sorted: Vec<&ComparedAnswer> = all.iter().collect();
        sorted.sort_by_key(|pair| &pair.id);
        let (same, different): (Vec<&ComparedAnswer>, Vec<_>) =
            sorted.into_iter().partition(|pair| pair.is_same);
        let more = different.iter().skip(2);
        let chosen = different.iter().take(2).chain(&same).chain(more).take(EXAMPLES);
        chosen.map(|pair| self.line(pair)).collect()
    }

    /// Refuses pairs of which none is the same: then the comparison is probably wrong, and not every answer. The error
    /// has examples.
    pub fn check(&self, all: &[ComparedAnswer]) -> Result<(), String> {
        if all.is_empty() || all.iter().any(|pair| pair.is_same) {
            return Ok(());
        }
        Err(format!(
            "none of {} is the same as its {}, so nothing was labelled: are the final answers found where they are?\n{}",
            counted(all.len(), "answer"),
            self.fields[0],
            self.examples(all).trim_end()
        ))
    }

    fn line(&self, pair: &ComparedAnswer) -> String {
        let [reference, given] = [&pair.reference, &pair.given].map(|text| shortened(text));
        let [field, equals] = self.fields;
        let result = if pair.is_same { "the same" } else { "different" };
        format!("{}: {field} {reference}, {equals} {given}: {result}\n", pair.id.escape_debug())
    }
}

/// The end of a text, where its answer probably is, in quotes.
fn shortened(text: &str) -> String {
    let skipped = text.chars().count().saturating_sub(TEXT_CHARS_MAX);
    let end: String = text.chars().skip(skipped).collect();
    format!("\"{}{}\"", if skipped > 0 { "…" } else { "" }, end.escape_debug())
}

/// Finds final answers in this field as a job does: like its generator, its first solver, or its first check of a final
/// answer. `None` if none of them says where they are.
pub fn extractor_of_job(job: &str, field: &str) -> Option<Extractor> {
    let file: JobFile = toml_text::parse(job).ok()?;
    let answer_field = file.answer_field.as_deref().unwrap_or(ANSWER);
    let generators = file.generator.iter().chain(file.generators.iter().flatten());
    let of_generator = generators
        .filter(|table| answer_field == field && table.contains_key(EXTRACT))
        .find_map(|table| extractor(table, ""));
    let reading = |table: &&Map<String, Value>| key(table, "field").unwrap_or(ANSWER) == field;
    let verifiers = || file.verifiers.iter().filter(reading);
    let of_solver = || {
        verifiers().find_map(|table| match (key(table, "kind")?, key(table, "role")) {
            ("llm", Some("solver")) => extractor(table, "last-number"),
            ("pool", _) => extractor(table, "whole"),
            _ => None,
        })
    };
    let of_check = || {
        verifiers().find_map(|table| match key(table, "check")? {
            "final-answer" | "number-equals" => extractor(table, "last-number"),
            _ => None,
        })
    };
    of_generator.or_else(of_solver).or_else(of_check)
}

fn extractor(table: &Map<String, Value>, default: &str) -> Option<Extractor> {
    let name: ExtractName =
        serde_json::from_value(key(table, EXTRACT).unwrap_or(default).into()).ok()?;
    Extractor::new(name, key(table, "pattern"), key(table, "pointer")).ok()
}

fn key<'a>(table: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    table.get(name).and_then(Value::as_str)
}

const ANSWER: &str = "answer";
const EXTRACT: &str = "extract";
const EXAMPLES: usize = 3;
const TEXT_CHARS_MAX: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    fn found(services: &str, field: &str, text: &str) -> Option<String> {
        let job = format!(
            "candidates = \"a.jsonl\"\nbudget = 1\nunit = \"dollars\"\ndelta = 0.05\n{services}"
        );
        extractor_of_job(&job, field)?.extract(text)
    }

    #[test]
    fn final_answers_are_found_as_by_the_job() {
        let text = "7 or 8\n#### 8 apples, of 9";
        let check =
            "[[verifiers]]\nkind = \"check\"\ncheck = \"final-answer\"\nextract = \"gsm8k\"\n";
        let regex = "[[verifiers]]\nkind = \"check\"\ncheck = \"regex\"\npattern = \"(7)\"\n";
        let solver = "[[verifiers]]\nkind = \"llm\"\nrole = \"solver\"\n";
        let generator = "[generator]\nkind = \"llm\"\nextract = \"regex\"\npattern = \"^(.)\"\n";
        let of = |services: &str| found(services, "answer", text);
        assert_eq!(of(regex), None);
        assert_eq!(of(&format!("{regex}{check}")).as_deref(), Some("8"));
        assert_eq!(
            of(&format!("{check}{solver}")).as_deref(),
            Some("9"),
            "the default of a solver"
        );
        assert_eq!(of(&format!("{generator}{check}{solver}")).as_deref(), Some("7"));
        assert_eq!(found(check, "final_answer", text), None, "another field");
    }

    #[test]
    fn three_pairs_are_shown_whatever_their_order() {
        let comparison = Comparison { fields: ["gold", "answer"], extractor: None };
        let pair = |id: &str, given: &str| comparison.compare(id, ["1.0", given]);
        let mut all =
            vec![pair("d", "1"), pair("c", "2"), pair("b", "3\n"), pair("a", "4"), pair("e", "1")];
        let shown = "a: gold \"1.0\", answer \"4\": different\nb: gold \"1.0\", answer \"3\": different\nd: gold \"1.0\", answer \"1\": the same\n";
        assert_eq!(comparison.examples(&all), shown);
        all.reverse();
        assert_eq!(comparison.examples(&all), shown);
        assert_eq!(comparison.check(&all), Ok(()));
        all.retain(|pair| !pair.is_same);
        assert!(comparison.check(&all).unwrap_err().ends_with("answer \"2\": different"));
        assert_eq!(comparison.check(&[]), Ok(()));
    }
}
