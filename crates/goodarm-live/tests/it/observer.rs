//! Observers made of functions.

use goodarm_record::control::Control;
use goodarm_record::notice::{Notice, Observer};

struct Function<F>(F);

impl<F: FnMut(Notice<'_>) + Send> Observer for Function<F> {
    fn notice(&mut self, notice: Notice<'_>) {
        (self.0)(notice);
    }

    fn wants_calls(&self) -> bool {
        true
    }
}

/// Calls a function for each notice.
pub(crate) fn on_notice(function: impl FnMut(Notice<'_>) + Send) -> impl Observer {
    Function(function)
}

/// Calls a function once, after a number of calls.
pub(crate) fn after_calls(count: u32, mut function: impl FnMut() + Send) -> impl Observer {
    let mut calls_left = count;
    on_notice(move |notice| {
        if let Notice::Called { .. } = notice
            && calls_left > 0
        {
            calls_left -= 1;
            if calls_left == 0 {
                function();
            }
        }
    })
}

/// Stops a run after a number of calls, and waits for those in flight.
pub(crate) fn stop_after(control: &Control, calls: u32) -> impl Observer {
    after_calls(calls, || control.stop())
}
