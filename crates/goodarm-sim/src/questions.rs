//! Questions in the laboratory: answers are made on demand, checked, and certified, one a question.
//!
//! [`world`]: who answers, and which answers are good. [`trial`]: one session driven to its end.
//! [`oracle`]: a policy that is told both.

pub mod oracle;
pub mod trial;
pub mod world;
