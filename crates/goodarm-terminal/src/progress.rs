//! The progress of a long command: a bar on a terminal, plain lines elsewhere, or nothing.

use std::sync::atomic::{AtomicUsize, Ordering};

use goodarm_files::visible;
use indicatif::{ProgressBar, ProgressStyle};

use crate::{is_seen, say};

/// Shows the progress of one piece of work.
#[derive(Debug)]
pub struct ProgressDisplay {
    label: String,
    total: usize,
    bar: Option<ProgressBar>,
    /// The last tenth that was announced in a plain line.
    announced: AtomicUsize,
    quiet: bool,
}

impl ProgressDisplay {
    /// `label` names the work, `total` is its amount.
    pub fn new(label: &str, total: usize, quiet: bool) -> Self {
        let bar = (!quiet && is_seen()).then(|| {
            let bar = ProgressBar::new(total as u64);
            let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_message(visible(label).into_owned());
            bar
        });
        Self { label: label.to_owned(), total, bar, announced: AtomicUsize::new(0), quiet }
    }

    /// Sets the amount that is done. May be called from any thread, in any order.
    pub fn set(&self, done: usize) {
        if let Some(bar) = &self.bar {
            bar.set_position(done as u64);
            return;
        }
        let tenth = done * 10 / self.total.max(1);
        if !self.quiet && self.announced.fetch_max(tenth, Ordering::Relaxed) < tenth {
            say(&format!("{}: {done}/{}", self.label, self.total));
        }
    }

    /// Removes the bar, because the work is done.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
