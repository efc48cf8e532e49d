//! The spec grammar: how policies, their arguments and cache sizes are written by a user and printed in results.
//!
//! ```text
//! list   = spec { "," spec }
//! spec   = name [ "(" [ arg { "," arg } ] ")" ]
//! arg    = [ name "=" ] term
//! term   = value | spec | clause
//! clause = value "/" value name              64K/128 id
//! value  = number | size | percent | time | name | quoted
//! name   = letters, digits, "-", "_", ".", "+", starting with a letter or digit
//! quoted = '"', anything but '"', '"'        "curves/lu.json"
//! ```
//!
//! Numbers, sizes, percentages and times are [`Value`]s. White space may stand between any two of these.
//! [`Spec`] is what was written, [`PolicySpec`](crate::policy::PolicySpec) what a table of policies
//! makes of it, [`SizeSpec`] the grammar of the setting `size`.

mod error;
mod parse;
mod size;
mod suggest;
mod syntax;
mod value;

pub use error::SpecError;
pub(crate) use error::quote;
pub use parse::DEPTH_LIMIT;
pub use size::{ObjectSize, SizeSpec};
pub use suggest::nearest;
pub(crate) use syntax::write_call;
pub use syntax::{Arg, At, Spec, Term};
pub use value::Value;
