//! `goodarm generate`: one fixed answer for each question.

use std::sync::Arc;
use std::time::Duration;

use goodarm_live::generate::{GenerateError, Request, generate};
use goodarm_live::open_files;
use goodarm_live::services::llm::{LlmKeys, Model};
use goodarm_record::control::Control;
use goodarm_report::words::{counted, printable};

use crate::cli::GenerateArguments;
use crate::commands::run::listen_for_ctrl_c;
use crate::commands::{Failure, make_room};
use crate::terminal::Progress;
use crate::terminal::{self, Exit};

pub(crate) fn run(arguments: &GenerateArguments) -> Result<(), Failure> {
    let (url, urls) = match arguments.url.as_slice() {
        [url] => (Some(url.clone()), None),
        urls => (None, Some(urls.to_vec())),
    };
    let model = LlmKeys {
        url,
        urls,
        model: arguments.model.clone(),
        api_key_env: arguments.api_key_env.clone(),
        prompt: Some(arguments.prompt.clone()),
        temperature: Some(arguments.temperature),
        max_tokens: arguments.max_completion_tokens.is_none().then_some(arguments.max_tokens),
        max_completion_tokens: arguments.max_completion_tokens,
        api: Some(arguments.api),
        ..LlmKeys::default()
    };
    let timeout = Duration::try_from_secs_f64(arguments.timeout)
        .ok()
        .filter(|timeout| !timeout.is_zero())
        .ok_or_else(|| {
            let value = arguments.timeout;
            Failure::wrong_input(format!("--timeout: {value} is not a number of seconds above 0"))
        })?;
    let request = Request {
        questions: &arguments.questions,
        id_field: &arguments.id_field,
        model: &model,
        timeout,
        answer_field: &arguments.answer_field,
        out: &arguments.out,
        concurrency: arguments.concurrency,
    };
    // What is wrong with the model is said below.
    let suspicion = Model::new(&model, timeout).ok().and_then(|model| model.warning());
    if let Some(text) = suspicion.filter(|_| !arguments.quiet) {
        terminal::say(&format!("warning: it {text}"));
    }
    make_room(arguments.concurrency.saturating_add(open_files::OTHERS), arguments.quiet);
    let control = Arc::<Control>::default();
    listen_for_ctrl_c(&control, arguments.quiet)?;
    let mut bar = None;
    let mut last_reason = None;
    let generated = generate(&request, &control, |generated, reason| {
        let total = generated.question_count;
        let bar = bar.get_or_insert_with(|| Progress::new("answers", total, arguments.quiet));
        bar.set(generated.answer_count);
        last_reason = reason.map(printable).or(last_reason.take());
    })
    .map_err(|error| match error {
        GenerateError::Down(_) => Failure::with_exit(Exit::VerifierDown, error.to_string()),
        error => Failure::wrong_input(error),
    })?;
    if let Some(bar) = bar {
        bar.finish();
    }
    let (done, total) = (generated.answer_count, generated.question_count);
    let out = arguments.out.display();
    terminal::print_line(&format!("{done} of {} answered, in {out}", counted(total, "question")));
    if done == total {
        return Ok(());
    }
    let reason = last_reason.unwrap_or_else(|| "stopped".into());
    let exit = if control.is_stopping() { Exit::Interrupted } else { Exit::WrongInput };
    let none = total - done;
    let none = counted(none, "question");
    let message = format!("{none} without an answer ({reason}); the same command tries again");
    Err(Failure::with_exit(exit, message))
}
