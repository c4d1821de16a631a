//! Errors as exceptions: each enum is a class of `goodarm.errors`, each variant a subclass.

use std::fmt::{Debug, Display};

use goodarm_files::visible;
use pyo3::prelude::*;

/// The exception of an error: the class `class`, or its subclass with the name of the variant.
pub(crate) fn raised(class: &str, error: &(impl Debug + Display)) -> PyErr {
    exception(class, &variant_of(error), error.to_string())
}

/// An exception with this message: the class `class`, or its subclass `variant` if there is one.
pub(crate) fn exception(class: &str, variant: &str, message: String) -> PyErr {
    let make = |py: Python<'_>| -> PyResult<PyErr> {
        let base = py.import("goodarm.errors")?.getattr(class)?;
        let kind = base.getattr_opt(variant)?.unwrap_or(base);
        // Parts of the message are foreign text, and a traceback goes to a terminal.
        Ok(PyErr::from_value(kind.call1((visible(&message),))?))
    };
    Python::attach(|py| make(py).unwrap_or_else(|error| error))
}

/// The name of an enum's variant, which its `Debug` begins with. For a variant `Replay`, the name of the error in it.
pub(crate) fn variant_of(error: &impl Debug) -> String {
    let text = format!("{error:?}");
    let text = text.strip_prefix("Replay(").unwrap_or(&text);
    text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned()
}

/// The message about an unknown word, with the nearest known word.
pub(crate) fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    format!("{what} {}", goodarm_files::none_of(name, known))
}
