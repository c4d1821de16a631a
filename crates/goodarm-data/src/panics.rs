//! Panics of other people's code that are caught here and reported as errors.
//!
//! A panic is printed before anyone can catch it, by the hook of the process. That hook belongs to the
//! program, so nothing here replaces it unasked: [`hush`] does, once, for a program that wants it.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};

thread_local! {
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// What `work` gives, or what it said when it panicked. Everything that it may have left half done must
/// be dropped with it.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let before = IS_CAUGHT.replace(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    IS_CAUGHT.set(before);
    outcome.map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
    })
}

/// From now on panics that are caught here are not printed: the present hook gets all others, those of
/// other threads at the same moment, too. For programs, before they start threads.
pub fn hush() {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        // A thread that is ending has nothing that could be caught any more.
        if !IS_CAUGHT.try_with(Cell::get).unwrap_or(false) {
            hook(panic);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_is_kept_and_the_mark_is_taken_back() {
        assert_eq!(caught(|| 1), Ok(1));
        assert_eq!(caught(|| panic!("no page {}", 7)), Err::<(), _>("no page 7".into()));
        assert_eq!(caught(|| caught(|| panic!("inside"))), Ok(Err::<(), _>("inside".into())));
        assert!(!IS_CAUGHT.get());
    }
}
