//! Templates of prompts and bodies, filled with a candidate's fields. The template is the user's; fields
//! are only ever data, even if they look like a template.

mod limits;
mod undefined;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io;
use std::sync::LazyLock;

use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior, Value};
use regex::{Captures, Regex};
use thiserror::Error;

use crate::candidates::Candidate;
use crate::panics::caught;
use crate::problem::KeyProblem;

/// The most bytes of a text made from a template. A longer text is not sent.
pub const TEXT_BYTES_MAX: usize = 4 << 20;

/// A parsed template.
#[derive(Debug)]
pub struct Template {
    environment: Box<Environment<'static>>,
    /// Names that the template uses and does not set.
    names: BTreeSet<String>,
    /// Names of fields inside other fields, such as `doc.question`.
    paths: BTreeSet<String>,
    /// A name in single braces, as in other template languages.
    single_braces: Option<String>,
    /// Whether it may use a field inside another field.
    looks_inside: bool,
}

/// Why a template cannot be filled.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// It cannot be read, or does not fit this candidate: the line, counted from 1, and the reason.
    #[error("line {0}: {1}")]
    Wrong(usize, String),
    /// It uses a field that this candidate lacks, or an unknown filter or function: the line, counted from 1,
    /// and the reason.
    #[error("line {0}: {1}")]
    Unknown(usize, String),
    /// The text is longer than [`TEXT_BYTES_MAX`] bytes.
    #[error("the text is longer than {TEXT_BYTES_MAX} bytes")]
    TooLong,
}

impl Template {
    /// Parses a template.
    pub fn new(source: &str) -> Result<Self, TemplateError> {
        let mut environment = Box::new(Environment::new());
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_fuel(Some(limits::steps_max(0)));
        limits::apply(&mut environment);
        environment
            .add_template_owned(NAME, limits::with_limits(source))
            .map_err(|error| TemplateError::Wrong(error.line().unwrap_or(1), problem(&error)))?;
        let (mut names, mut paths) = (BTreeSet::new(), BTreeSet::new());
        // minijinja does not list what is sliced: `x[a:b]` needs what `x[a][b]` needs.
        let unsliced = SLICE.replace_all(source, |found: &Captures<'_>| {
            let ends = found[1].split(':').filter(|end| !end.trim().is_empty());
            ends.map(|end| format!("[{end}]")).collect::<String>()
        });
        for template in [environment.get_template(NAME), environment.template_from_str(&unsliced)] {
            let Ok(template) = template else { continue };
            names.extend(template.undeclared_variables(false));
            paths.extend(template.undeclared_variables(true));
        }
        for (global, _) in environment.globals() {
            names.remove(global);
        }
        paths.retain(|path| path.contains('.'));
        let looks_inside = !paths.is_empty() || source.contains('[') || source.contains("{%");
        let single_braces = SINGLE_BRACES.captures(source).map(|found| found[1].to_owned());
        Ok(Self { environment, names, paths, single_braces, looks_inside })
    }

    /// Parses the template of a job file's key.
    pub fn of_key(key: &str, source: &str) -> Result<Self, KeyProblem> {
        Self::new(source).map_err(|error| KeyProblem::new(key, error.to_string()))
    }

    /// The candidate's fields that the template needs.
    pub fn fields(&self) -> BTreeSet<String> {
        self.names.iter().filter(|name| *name != WHOLE).cloned().collect()
    }

    /// The reason that every candidate gets the same text; `None` if the template uses a field.
    pub fn constant_text_problem(&self) -> Option<String> {
        if !self.names.is_empty() {
            return None;
        }
        Some(match &self.single_braces {
            Some(name) => format!(
                "every candidate gets the same text, since {{{name}}} is plain text: a field is written {{{{ {name} }}}}"
            ),
            None => {
                "every candidate gets the same text: it uses no field, such as {{ answer }}".into()
            }
        })
    }

    /// The text for one candidate. Each field is a variable, and the whole object is `candidate`.
    pub fn render(&self, candidate: &Candidate) -> Result<String, TemplateError> {
        let known = self.names.iter().filter_map(|name| match candidate.fields().get(name) {
            Some(value) => Some((name.as_str(), Value::from(Serde(value)))),
            None if name == WHOLE => Some((WHOLE, Value::from(Serde(candidate.fields())))),
            None => None,
        });
        let context = Value::from_pairs(known);
        let mut text = Limited { bytes: Vec::new(), is_full: false };
        let mut environment = Cow::Borrowed(&*self.environment);
        let steps = Some(limits::steps_max(candidate.json.len()));
        if environment.fuel() != steps {
            environment.to_mut().set_fuel(steps);
        }
        // An overflow inside the engine may be a panic.
        let rendered = caught(|| {
            let template = environment.get_template(NAME)?;
            template.render_captured_to(context, &mut text).map(|_| ())
        });
        let rendered = rendered.map_err(|panic| TemplateError::Wrong(1, panic))?;
        match rendered {
            _ if text.is_full => Err(TemplateError::TooLong),
            Ok(()) => Ok(String::from_utf8(text.bytes)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())),
            Err(error) => {
                let (line, problem) = (error.line().unwrap_or(1), problem(&error));
                Err(match is_unknown(error.kind()) {
                    true => TemplateError::Unknown(line, problem),
                    false => TemplateError::Wrong(line, problem),
                })
            }
        }
    }
}

/// Collects bytes up to a limit.
struct Limited {
    bytes: Vec<u8>,
    is_full: bool,
}

impl io::Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > TEXT_BYTES_MAX {
            self.is_full = true;
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn problem(error: &minijinja::Error) -> String {
    match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    }
}

/// Whether the template uses something unknown.
const fn is_unknown(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::UndefinedError
            | ErrorKind::UnknownFilter
            | ErrorKind::UnknownFunction
            | ErrorKind::UnknownMethod
            | ErrorKind::UnknownTest
    )
}

static SINGLE_BRACES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:^|[^{])\{\s*([A-Za-z_]\w*)\s*\}(?:[^}]|$)").expect("a pattern of ours")
});

static SLICE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"\[([^\[\]{}"']*:[^\[\]{}"']*)\]"#).expect("a pattern of ours"));

const NAME: &str = "template";
/// The name of the whole candidate in a template.
const WHOLE: &str = "candidate";

#[cfg(test)]
mod tests;
