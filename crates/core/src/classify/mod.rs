//! Which class of data a request belongs to.
//!
//! A cache that treats kinds of data apart asks for [`Rules`]: a list of classes, each with what a request must be to
//! belong to it. The first class that fits wins; what fits none is in the class `other`, the last one. The rules of the
//! published systems are in [`builtin`]; a user's own are read from a file of TOML ([`Rules::from_toml`]).

pub mod builtin;
mod classifier;
mod file;
mod rules;

pub use classifier::{Classifier, FileFacts};
pub use rules::{OTHER, Rule, Rules, patterns};

/// Number of a class: its place among the classes of the rules.
pub type Class = u8;
