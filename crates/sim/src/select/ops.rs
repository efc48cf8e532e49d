//! Sets of operations, by their names.

use std::fmt;

use hotset_core::request::Op;

/// A set of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ops(u16);

/// Names of several operations together.
const GROUPS: [(&str, &[Op]); 4] = [
    ("reads", &[Op::Read, Op::Map]),
    ("writes", &[Op::Write]),
    ("data", &[Op::Read, Op::Write, Op::Map]),
    ("metadata", &[Op::Open, Op::Exec, Op::Stat, Op::List, Op::Unlink, Op::Rename, Op::Truncate, Op::Sync]),
];

impl Ops {
    /// Those that read blocks, mapped ranges included.
    pub const READS: Ops = Ops(1 << Op::Read as u8 | 1 << Op::Map as u8);

    /// Reads names of operations (`read`, `unlink`) or groups of them (`reads` with mapped ranges, `writes`, `data`,
    /// `metadata`) with `,` or `+` between them.
    pub fn parse(text: &str) -> Result<Ops, String> {
        let mut all = Ops(0);
        for name in text.split([',', '+']).map(str::trim) {
            let group = GROUPS.iter().find(|(known, _)| *known == name).map(|&(_, ops)| ops);
            let one = Op::ALL.iter().find(|op| op.name() == name).map(std::slice::from_ref);
            let ops = group.or(one).ok_or_else(|| {
                let one = Op::ALL.map(Op::name).join(", ");
                format!("{name:?} is not an operation: expected reads, writes, data, metadata, or one of {one}")
            })?;
            ops.iter().for_each(|&op| all.0 |= 1 << op as u8);
        }
        Ok(all)
    }

    /// True if it is among them.
    pub fn has(self, op: Op) -> bool {
        self.0 & 1 << op as u8 != 0
    }
}

impl fmt::Display for Ops {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut left = self.0;
        let mut names = Vec::new();
        // The largest groups first.
        for (name, ops) in [GROUPS[3], GROUPS[2], GROUPS[0], GROUPS[1]] {
            let bits = ops.iter().fold(0, |bits, &op| bits | 1 << op as u8);
            if left & bits == bits {
                names.push(name);
                left &= !bits;
            }
        }
        names.extend(Op::ALL.into_iter().filter(|&op| Ops(left).has(op)).map(Op::name));
        f.write_str(&names.join("+"))
    }
}
