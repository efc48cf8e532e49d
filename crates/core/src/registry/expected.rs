//! The values that parameters accept, in words. The examples name policies of the table.

use std::fmt;

use crate::policy::ParamKind;

impl fmt::Display for ParamKind {
    /// Formats the accepted values, for use after "expected".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamKind::Share => {
                f.write_str("a share of the capacity such as 25% (at most 100%), 64M or a whole number of blocks")
            }
            ParamKind::Real { min, max } => write!(f, "a number from {min} to {max}"),
            ParamKind::Count { min, max } => write!(f, "a whole number from {min} to {max}"),
            ParamKind::Quantum => f.write_str(
                "a whole number of references of all applications such as 2000, or of each such as 2000/app, a time such as \
                 1s, above 0, or auto",
            ),
            ParamKind::Bytes => f.write_str("bytes such as 512K"),
            ParamKind::Multiple => f.write_str("a multiple of the capacity such as 2, or unlimited"),
            ParamKind::Switch => f.write_str("on or off"),
            ParamKind::Word(words) => write!(f, "one of {}", words.join(", ")),
            ParamKind::Policy => f.write_str("a policy such as lru or 2q(kin=30%)"),
            ParamKind::Class => f.write_str("the name of a class of blocks such as output"),
            ParamKind::Parts => f.write_str("partitions written as size/block class, such as 64K/128 id"),
            ParamKind::Time => f.write_str("a time such as 10ms, above 0"),
            ParamKind::Interval => f.write_str(
                "a time such as 2s, a whole number of references, or a share of the run such as 10% (at most 100%), above 0",
            ),
            ParamKind::WordOrFile(words) => {
                write!(f, "one of {}, or a file, such as \"curves/lu.json\"", words.join(", "))
            }
            ParamKind::Goals => f.write_str(
                "the target of an application: a hit rate such as lu=70% (at most 100%) or a mean time such as lu=5ms",
            ),
            ParamKind::AppPolicies => f.write_str("the policy of an application, such as lu=lfu"),
        }
    }
}
