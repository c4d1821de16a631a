//! Questions in the laboratory: answers are made on demand, checked, and certified, one a question.
//!
//! [`world`]: who answers, and which answers are good. [`described`]: the same as a plan describes it.
//! [`trial`]: one session driven to its end. [`oracle`]: a policy that is told both.

pub mod described;
pub mod oracle;
pub mod trial;
pub mod world;
