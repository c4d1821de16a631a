//! `goodarm label --terminal`: one card after the other, with a line of input for each. The input may be a
//! pipe.

use std::sync::mpsc::Receiver;

use goodarm_record::card_queue::{Card, CardQueue, CardQueueError, CardReply, ReplyForm};

use crate::terminal;

/// Asks until no card waits for `by`, or the input ends.
pub(super) fn talk(
    queue: &mut dyn CardQueue,
    by: &str,
    input: &Receiver<Option<String>>,
) -> Result<(), CardQueueError> {
    let mut talk = Talk { queue, by, input };
    if !talk.begins()? {
        return Ok(());
    }
    talk.show_standing()?;
    while let Some(card) = talk.queue.next(by)? {
        if !talk.ask(&card)? {
            return Ok(());
        }
    }
    terminal::print("nothing waits for you\n");
    Ok(())
}

struct Talk<'a> {
    queue: &'a mut dyn CardQueue,
    by: &'a str,
    input: &'a Receiver<Option<String>>,
}

impl Talk<'_> {
    /// Shows the terms of a claim that has not begun, and begins it if the person agrees.
    fn begins(&mut self) -> Result<bool, CardQueueError> {
        let Some(terms) = self.queue.terms_to_accept() else { return Ok(true) };
        terminal::print(&format!("{}\n\n", terms.join("\n")));
        loop {
            terminal::print("Enter begins, q quits > ");
            match self.line().map(|line| line.trim().to_lowercase()).as_deref() {
                Some("" | "b" | "begin") => break,
                Some("q" | "quit") | None => {
                    terminal::print("nothing has begun\n");
                    return Ok(false);
                }
                Some(_) => {}
            }
        }
        self.queue.begin()?;
        terminal::print("\n");
        Ok(true)
    }

    /// Asks about a card until it gets a reply; returns whether to continue.
    fn ask(&mut self, card: &Card) -> Result<bool, CardQueueError> {
        terminal::print(&shown(card, TEXT_CHARS_MAX));
        loop {
            terminal::print(&format!("{} > ", prompt(card.wanted, self.queue.can_undo(self.by))));
            let Some(line) = self.line() else {
                terminal::print("\n");
                return Ok(false);
            };
            match line.trim().strip_prefix(sign(card.wanted)).map(str::to_lowercase).as_deref() {
                Some("q" | "quit") => return Ok(false),
                Some("m" | "more") => terminal::print(&shown(card, usize::MAX)),
                Some("u" | "undo") => {
                    if self.undo()? {
                        return Ok(true);
                    }
                }
                _ => {
                    if self.say(card, line)? {
                        return Ok(true);
                    }
                }
            }
        }
    }

    /// Takes a line as a reply to a card; returns whether to show the next card.
    fn say(&mut self, card: &Card, line: String) -> Result<bool, CardQueueError> {
        let text = match card.wanted {
            ReplyForm::Answer => self.lines(line),
            _ => line,
        };
        let said = match CardReply::read(&text, card.wanted) {
            Ok(Some(said)) => said,
            Ok(None) => return Ok(false),
            Err(fault) => {
                terminal::print(&format!("{fault}\n"));
                return Ok(false);
            }
        };
        match self.queue.submit(self.by, &card.key, said) {
            Ok(()) => {}
            Err(error @ (CardQueueError::File(_) | CardQueueError::Folder(_))) => {
                return Err(error);
            }
            Err(refusal @ CardQueueError::Unfit(_)) => {
                terminal::print(&format!("{refusal}\n"));
                return Ok(false);
            }
            // Another person was faster.
            Err(refusal) => terminal::print(&format!("not kept: {refusal}\n")),
        }
        for field in &card.evidence {
            terminal::print(&format!("  {}: {}\n", field.name, one_line(&field.text)));
        }
        self.show_standing()?;
        Ok(true)
    }

    fn undo(&mut self) -> Result<bool, CardQueueError> {
        let card = self.queue.undo(self.by)?;
        match &card {
            Some(card) => terminal::print(&format!("taken back: {}\n", one_line(&card.id))),
            None => terminal::print("there is nothing that could be taken back\n"),
        }
        Ok(card.is_some())
    }

    fn show_standing(&mut self) -> Result<(), CardQueueError> {
        terminal::print(&super::told(&self.queue.progress()?));
        Ok(())
    }

    /// The next line; `None` at the end of the input.
    fn line(&self) -> Option<String> {
        self.input.recv().ok().flatten()
    }

    /// The text of an answer: all lines up to a line with only a dot. To skip takes a single line.
    fn lines(&self, first: String) -> String {
        if matches!(first.trim().to_lowercase().as_str(), "skip" | ":s" | ":skip") {
            return "skip".to_owned();
        }
        let mut text = String::new();
        let mut next = Some(first);
        while let Some(line) =
            next.filter(|line| line.trim() != "." && text.len() < ANSWER_BYTES_MAX)
        {
            text += &line;
            text.push('\n');
            next = self.line();
        }
        text
    }
}

/// The prefix of commands; empty if no line can be an answer.
const fn sign(wanted: ReplyForm) -> &'static str {
    match wanted {
        ReplyForm::Answer => ":",
        ReplyForm::Verdict | ReplyForm::Score { .. } => "",
    }
}

fn prompt(wanted: ReplyForm, can_undo: bool) -> String {
    let sign = sign(wanted);
    let reply = match wanted {
        ReplyForm::Verdict => "r right, w wrong, ".to_owned(),
        ReplyForm::Score { lowest, highest } => format!("a score from {lowest} to {highest}, "),
        ReplyForm::Answer => "an answer, then a line with a dot; ".to_owned(),
    };
    let undo = if can_undo { format!("{sign}u undo, ") } else { String::new() };
    format!("{reply}{sign}s skip, {undo}{sign}m more, {sign}q quit")
}

/// A card without its evidence, each text cut to a length.
fn shown(card: &Card, chars_max: usize) -> String {
    let mut text = format!("\n── {} ──\n{}\n", one_line(&card.id), card.asks);
    for field in &card.fields {
        let kept = field.text.char_indices().nth(chars_max).map_or(field.text.len(), |it| it.0);
        text += &format!("\n{}:\n", one_line(&field.name));
        for line in field.text[..kept].lines() {
            text += &format!("  {line}\n");
        }
        if kept < field.text.len() {
            text += &format!("  … {} more bytes: m shows all\n", field.text.len() - kept);
        }
    }
    text + "\n"
}

fn one_line(text: &str) -> String {
    let mut kept: String = text.chars().take(LINE_CHARS_MAX).collect();
    if kept.len() < text.len() {
        kept.push('…');
    }
    kept.replace(['\n', '\t'], " ")
}

const TEXT_CHARS_MAX: usize = 6000;
const LINE_CHARS_MAX: usize = 300;
const ANSWER_BYTES_MAX: usize = 1 << 20;
