//! Panics of foreign code, caught and reported as errors.
//!
//! The panic hook of the process prints a panic before it can be caught. The hook belongs to the program,
//! so only [`silence_caught`] replaces it, once, for a program that calls it.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};

thread_local! {
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// The result of `work`, or its panic message. The caller must drop everything that `work` may have left in
/// an inconsistent state.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let before = IS_CAUGHT.replace(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    IS_CAUGHT.set(before);
    outcome.map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
    })
}

/// From now on, panics that [`caught`] catches are not printed. The previous hook still gets all other panics,
/// including those of other threads at the same moment. Programs call this before they start threads.
pub fn silence_caught() {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        // A thread that is ending catches nothing any more.
        if !IS_CAUGHT.try_with(Cell::get).unwrap_or(false) {
            hook(panic);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_is_kept_and_the_flag_reset() {
        assert_eq!(caught(|| 1), Ok(1));
        assert_eq!(caught(|| panic!("no page {}", 7)), Err::<(), _>("no page 7".into()));
        assert_eq!(caught(|| caught(|| panic!("inside"))), Ok(Err::<(), _>("inside".into())));
        assert!(!IS_CAUGHT.get());
    }
}
