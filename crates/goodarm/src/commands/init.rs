//! `goodarm init`: a commented starter job for a file of candidates.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use goodarm_data::candidates::{Candidate, Candidates, CandidatesError, Format};
use goodarm_report::words::counted;

use crate::cli::InitArguments;
use crate::commands::{CommandError, notes};
use crate::fields::{FieldPath, Fields, sample};
use crate::terminal;

pub(crate) fn run(arguments: &InitArguments) -> Result<(), CommandError> {
    let (id_field, candidates) = read(arguments)?;
    let sample = sample(&candidates);
    let path = &arguments.out;
    let name = relative(&arguments.candidates, path);
    let source = Source { name: &name, id_field: &id_field, format: arguments.format };
    let fields = Fields::guess(&sample);
    let is_asked = arguments.questions || fields.answer.is_none() && fields.question.is_some();
    let text = if is_asked {
        asking_job(&source, &fields, candidates.len())
    } else {
        job(&source, &fields, &sample, candidates.len())
    };
    let mut file =
        OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| match error
            .kind()
        {
            io::ErrorKind::AlreadyExists => {
                let path = path.display();
                CommandError::wrong_input(format!(
                    "{path} is there already: name another with --out"
                ))
            }
            _ => CommandError::file(path, &error),
        })?;
    file.write_all(text.as_bytes()).map_err(|error| CommandError::file(path, &error))?;
    let shown = path.display();
    let note = match fields.answer {
        None if is_asked => {
            "note: no field looks like an answer: these are questions, and the job makes the answers\n"
        }
        None => "note: no field looks like the answer: name the field in the job\n",
        Some(_) => "",
    };
    let (count, advice) = if is_asked {
        let advice =
            "Put in the address and the name of your model, and where its final answer is.";
        (counted(candidates.len(), "question"), advice)
    } else {
        let advice =
            "It has only a format check: add a judge or a program of your own before you trust it.";
        (counted(candidates.len(), "answer"), advice)
    };
    let text = format!(
        "{}{note}wrote {shown} for {count}. {advice}\nNext:\n  goodarm try {shown}\n  goodarm run {shown} --dry-run\n  goodarm run {shown}\n",
        notes(candidates.notes()),
    );
    terminal::print(&text);
    Ok(())
}

/// Reads the candidates by the field that was named, or by the first one that works.
fn read(arguments: &InitArguments) -> Result<(String, Candidates), CommandError> {
    let read = |field: &str| {
        let read = Candidates::read_as(&arguments.candidates, field, arguments.format);
        read.map(|candidates| (field.to_owned(), candidates))
    };
    if let Some(field) = &arguments.id_field {
        return Ok(read(field)?);
    }
    let (mut without_ids, mut first_error) = (None, None);
    for field in ID_FIELDS {
        // After the file was read, only its fields need to be tried.
        if without_ids.as_ref().is_some_and(|(_, candidates)| !has_field(candidates, field)) {
            continue;
        }
        let found = read(field).or_else(|error| match meant(field, &error) {
            Some(meant) => read(&meant),
            None => Err(error),
        });
        match found {
            Ok(found) if found.1.are_ids_made() => without_ids = Some(found),
            Ok(found) => return Ok(found),
            Err(error) if error.is_about_ids() => {
                first_error.get_or_insert(error);
            }
            // Another field would not help.
            Err(error) => return Err(CommandError::wrong_input(error)),
        }
    }
    without_ids.ok_or_else(|| {
        let error = first_error.map_or_else(String::new, |error| error.to_string());
        let tried = ID_FIELDS.join(", ");
        CommandError::wrong_input(format!(
            "{error}\nNo field is a unique id: {tried} were tried. Give each line an id, or \
             name the field with --id-field."
        ))
    })
}

fn has_field(candidates: &Candidates, field: &str) -> bool {
    let first = candidates.arms().next().map(|arm| candidates.get(arm));
    first.is_some_and(|first| first.fields().keys().any(|name| name.eq_ignore_ascii_case(field)))
}

/// The field that the error suggests instead: any if `id` was wanted, otherwise only if just the case differs.
fn meant(field: &str, error: &CandidatesError) -> Option<String> {
    let is_meant = |nearest: &&str| field == ID_FIELDS[0] || nearest.eq_ignore_ascii_case(field);
    error.nearest_id_field().filter(is_meant).map(str::to_owned)
}

/// The keys of a job about its candidates.
struct Source<'a> {
    name: &'a str,
    id_field: &'a str,
    format: Option<Format>,
}

impl Source<'_> {
    /// The lines about how the file is read, if they are needed.
    fn lines(&self) -> String {
        let mut lines = String::new();
        if let Some(format) = self.format {
            lines += &format!("format = {}\n", quoted(format.name()));
        }
        if self.id_field != "id" {
            lines += &format!("id_field = {}\n", quoted(self.id_field));
        }
        lines
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn path_or(path: Option<&FieldPath>, name: &str) -> FieldPath {
    path.cloned().unwrap_or_else(|| FieldPath::field(name.to_owned()))
}

/// A job whose answers are made during the run.
fn asking_job(source: &Source<'_>, fields: &Fields, count: usize) -> String {
    // If the file has a field `answer`, made answers get another field.
    let (answer, answer_line) = match &fields.answer {
        Some(taken) if taken.path == "answer" => {
            let line = "answer_field = \"made_answer\"     # the file has a field `answer`\n";
            ("made_answer", line)
        }
        _ => ("answer", ""),
    };
    ASKING_STARTER
        .replace("@questions@", &quoted(source.name))
        .replace("@count@", &count.to_string())
        .replace("@id@", &(source.lines() + answer_line))
        .replace("@question@", &path_or(fields.question.as_ref(), "question").expression)
        .replace("@answer@", answer)
}

fn job(source: &Source<'_>, fields: &Fields, sample: &[Candidate], count: usize) -> String {
    let question = path_or(fields.question.as_ref(), "question");
    let answer = path_or(fields.answer.as_ref(), "answer");
    let id_line = source.lines();
    let unknown = if fields.answer.is_none() {
        "# Which field is the answer? None of the usual names is in the file: change `answer` below.\n"
    } else {
        ""
    };
    let reference = fields.reference.as_ref().map_or_else(String::new, |reference| {
        format!(
            "# The field {reference:?} looks like a reference answer. Comparing with it is exact, and needs no\n\
             # confidence level; goodarm is meant for answers without a reference.\n\n"
        )
    });
    STARTER
        .replace("@candidates@", &quoted(source.name))
        .replace("@count@", &count.to_string())
        .replace("@id@", &id_line)
        .replace("@unknown@", unknown)
        .replace("@reference@", &reference)
        .replace("@check@", &check(&answer.path, sample))
        .replace("@question@", &question.expression)
        .replace("@answer@", &answer.expression)
}

/// The check that most answers of the sample pass, the strictest first.
fn check(answer: &str, sample: &[Candidate]) -> String {
    let texts: Vec<&str> = sample
        .iter()
        .filter_map(|candidate| candidate.field(answer).and_then(|value| value.as_str()))
        .collect();
    let most = |test: &dyn Fn(&str) -> bool| {
        let passing = texts.iter().filter(|text| test(text)).count();
        !texts.is_empty() && passing * 10 >= texts.len() * 7
    };
    let is_json = |text: &str| {
        text.trim_start().starts_with(['{', '['])
            && serde_json::from_str::<serde_json::Value>(text).is_ok()
    };
    let final_answer = |extract: &str| format!("check = \"final-answer\"\nextract = \"{extract}\"");
    let rule = if most(&|text| text.contains("####")) {
        final_answer("gsm8k")
    } else if most(&|text| text.contains("\\boxed{")) {
        final_answer("boxed")
    } else if most(&is_json) {
        "check = \"json-schema\"\nschema = { type = \"object\" }   # or a path to a schema"
            .to_owned()
    } else if most(&|text| text.bytes().any(|byte| byte.is_ascii_digit())) {
        final_answer("last-number")
    } else {
        "check = \"regex\"\npattern = '\\S'                   # not empty".to_owned()
    };
    if answer == "answer" { rule } else { format!("{rule}\nfield = {answer:?}") }
}

/// The candidates' path relative to the job file's folder, if that is simple.
fn relative(candidates: &Path, job: &Path) -> String {
    let folder = job.parent().filter(|folder| !folder.as_os_str().is_empty());
    let path = folder.and_then(|folder| path_from(folder, candidates));
    path.unwrap_or_else(|| candidates.to_owned()).to_string_lossy().into_owned()
}

/// The relative path from a folder to a file.
fn path_from(folder: &Path, file: &Path) -> Option<PathBuf> {
    if file.is_absolute() {
        return None;
    }
    let (folder, file) = (std::path::absolute(folder).ok()?, std::path::absolute(file).ok()?);
    let shared = folder.components().zip(file.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(shared).map(|_| Component::ParentDir);
    Some(up.chain(file.components().skip(shared)).collect())
}

const ID_FIELDS: [&str; 12] = [
    "id",
    "question_id",
    "task_id",
    "custom_id",
    "sample_id",
    "example_id",
    "uid",
    "uuid",
    "_id",
    "key",
    "name",
    "index",
];

const ASKING_STARTER: &str = include_str!("init/asking-job.txt");

const STARTER: &str = include_str!("init/job.txt");
