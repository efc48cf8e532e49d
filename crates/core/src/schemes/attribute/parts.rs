//! From parts as they are written to sizes in blocks.

use crate::classify::Rules;
use crate::policy::Part;
use crate::schemes::parted::{Layout, PartSize};
use crate::spec::{SpecError, Value};

/// Names for several classes at once.
const GROUPS: [(&str, &[&str]); 3] =
    [("id", &["inode", "directory"]), ("temporal", &["datafile", "executable"]), ("sequential", &["large"])];

/// The part that takes what no other does.
const GENERAL: &str = "general";

/// The parts of a cache of `bytes`. Fails where a class has no part or two, where a part names no class, or where they
/// do not fit.
pub(super) fn layout(rules: Rules, parts: &[Part], bytes: u64) -> Result<Layout, SpecError> {
    let of_class = classes(&rules, parts)?;
    let sizes = sizes(parts, bytes)?;
    Ok(Layout { rules, of_class, parts: sizes })
}

/// The part of each class.
fn classes(rules: &Rules, parts: &[Part]) -> Result<Vec<u8>, SpecError> {
    let mut of_class: Vec<Option<u8>> = vec![None; rules.classes().len()];
    for (number, part) in parts.iter().enumerate().filter(|(_, part)| part.class != GENERAL) {
        for name in members(&part.class) {
            let class = rules.class(name).ok_or_else(|| unknown(rules, &part.class))?;
            let taken = of_class[usize::from(class)].replace(number as u8);
            if let Some(other) = taken {
                let other = &parts[usize::from(other)];
                return Err(SpecError::new(format!(
                    "the parts \"{other}\" and \"{part}\" both take the class {name:?}"
                )));
            }
        }
    }
    let general = parts.iter().position(|part| part.class == GENERAL).map(|number| number as u8);
    // What fits no rule goes with the last part, where data is.
    let last = (parts.len() - 1) as u8;
    let part = |(class, part): (usize, Option<u8>)| match part.or(general) {
        Some(part) => Ok(part),
        None if class == usize::from(rules.other()) => Ok(last),
        None => Err(without_part(&rules.classes()[class])),
    };
    of_class.into_iter().enumerate().map(part).collect()
}

fn members(name: &str) -> Vec<&str> {
    let group = GROUPS.iter().find(|(group, _)| *group == name);
    group.map_or_else(|| vec![name], |(_, members)| members.to_vec())
}

fn unknown(rules: &Rules, name: &str) -> SpecError {
    let groups = GROUPS.map(|(group, _)| group).join(", ");
    let classes = rules.classes().join(", ");
    SpecError::new(format!("unknown class {name:?} of a part: known are {groups}, {GENERAL} and the classes {classes}"))
}

fn without_part(class: &str) -> SpecError {
    SpecError::new(format!("no part takes the class {class:?}: add one for it, or a part for {GENERAL}"))
}

fn sizes(parts: &[Part], bytes: u64) -> Result<Vec<PartSize>, SpecError> {
    let fixed: u64 = parts.iter().filter_map(|part| part.size).fold(0, u64::saturating_add);
    let rest = parts.iter().filter(|part| part.size.is_none()).count();
    if rest > 1 {
        return Err(SpecError::new("two parts have the size x: expected one, which takes what the others leave"));
    }
    let left = bytes.checked_sub(fixed).ok_or_else(|| {
        let (fixed, bytes) = (Value::Size(fixed), Value::Size(bytes));
        SpecError::new(format!(
            "the parts take {fixed}, but the cache has {bytes}: give a larger size or smaller parts"
        ))
    })?;
    parts.iter().map(|part| PartSize::fitting(part.size.unwrap_or(left), part.block, &part.class)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::builtin;
    use crate::policy::PolicySpec;

    fn of(text: &str, bytes: u64) -> Result<Layout, SpecError> {
        let spec = PolicySpec::parse(text)?;
        layout(builtin::attribute(512 << 10), spec.args(Some(4096)).parts(), bytes)
    }

    fn blocks(layout: &Layout) -> Vec<(u64, u32)> {
        layout.parts.iter().map(|part| (part.block, part.blocks)).collect()
    }

    #[test]
    fn the_notation_of_the_paper() {
        let layout = of("attribute(64K/128 id, x/4K temporal, 64K/64K sequential)", 256 << 10).unwrap();
        assert_eq!(blocks(&layout), [(128, 512), (4096, 32), (65536, 1)]);
        // inode, directory, large, executable, datafile, other.
        assert_eq!(layout.of_class, [0, 0, 2, 1, 1, 2]);
    }

    #[test]
    fn general_takes_what_no_other_part_does() {
        let layout = of("attribute(32K/128 inode, x/8K general)", 100 << 10).unwrap();
        assert_eq!((blocks(&layout), layout.of_class), (vec![(128, 256), (8192, 8)], vec![0, 1, 1, 1, 1, 1]));
    }

    #[test]
    fn parts_that_do_not_work_are_refused() {
        let cases = [
            ("attribute(64K/128 id, x/4K temporal)", "no part takes the class \"large\""),
            ("attribute(64K/128 id, x/4K general, 1K/1K inode)", "both take the class \"inode\""),
            ("attribute(64K/128 ids, x/4K general)", "unknown class \"ids\" of a part: known are id, temporal"),
            ("attribute(x/128 id, x/4K general)", "two parts have the size x"),
            ("attribute(2M/128 id, x/4K general)", "the parts take 2M, but the cache has 1M"),
            ("attribute(1M/128 id, x/4K general)", "0B are left for general, which does not hold one block of 4K"),
        ];
        for (text, message) in cases {
            let error = of(text, 1 << 20).unwrap_err();
            assert!(error.message.contains(message), "{text}: {error}");
        }
    }
}
