//! Where fields lie in the running kernel's structures, by its own description (BTF).

use std::collections::HashMap;
use std::fs;

/// The kernel's description of itself.
const DESCRIPTION: &str = "/sys/kernel/btf/vmlinux";

const MAGIC: u16 = 0xeb9f;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
/// Kinds that refer to another type: typedef, volatile, const, restrict, type tag.
const ALIASES: [u32; 5] = [8, 9, 10, 11, 18];
/// Structures within structures, at most.
const DEEPEST: u32 = 16;

/// One member of a structure.
struct Member {
    name: u32,
    kind: u32,
    bit: u32,
}

/// A type, as far as it is needed.
enum Type {
    /// A structure or union.
    Compound(Vec<Member>),
    /// Another name of a type.
    Alias(u32),
    /// Anything else.
    Other,
}

/// A description of a kernel.
pub struct Btf<'a> {
    strings: &'a [u8],
    types: Vec<Type>,
    structures: HashMap<&'a [u8], u32>,
    constants: HashMap<&'a [u8], u32>,
}

/// The running kernel's description, as bytes.
///
/// # Errors
///
/// A sentence: it has none.
pub fn bytes() -> Result<Vec<u8>, String> {
    fs::read(DESCRIPTION).map_err(|error| {
        format!("{DESCRIPTION}: {error}; it needs a kernel that describes itself (CONFIG_DEBUG_INFO_BTF)")
    })
}

/// A sentence: a description cannot be read.
pub fn unreadable() -> String {
    format!("{DESCRIPTION} cannot be read as a kernel's description")
}

/// A sentence: a structure has no such field.
pub fn lacks(structure: &str, field: &str) -> String {
    format!("this kernel's struct {structure} has no {field}, which it has to look at")
}

impl<'a> Btf<'a> {
    /// Takes a description apart. None if it is none, or cut.
    pub fn parse(bytes: &'a [u8]) -> Option<Btf<'a>> {
        if u16::from_le_bytes(bytes.get(..2)?.try_into().ok()?) != MAGIC {
            return None;
        }
        let body = bytes.get(word(bytes, 4)? as usize..)?;
        let section = |at| {
            let (start, length) = (word(bytes, at)? as usize, word(bytes, at + 4)? as usize);
            body.get(start..start.checked_add(length)?)
        };
        let (mut rest, strings) = (section(8)?, section(16)?);
        // Types are counted from 1.
        let mut btf = Btf { strings, types: vec![Type::Other], structures: HashMap::new(), constants: HashMap::new() };
        while !rest.is_empty() {
            let (name, info, target) = (word(rest, 0)?, word(rest, 4)?, word(rest, 8)?);
            let (kind, members) = (info >> 24 & 0x1f, info & 0xffff);
            let data = rest.get(12..)?;
            let length = length_of(kind, members as usize)?;
            let data_of_type = data.get(..length)?;
            if kind == STRUCT {
                btf.structures.entry(btf.text(name)).or_insert(btf.types.len() as u32);
            }
            if kind == ENUM {
                for constant in data_of_type.chunks_exact(8) {
                    btf.constants.insert(btf.text(word(constant, 0)?), word(constant, 4)?);
                }
            }
            btf.types.push(match kind {
                STRUCT | UNION => Type::Compound(members_of(data_of_type, info >> 31 == 1)?),
                kind if ALIASES.contains(&kind) => Type::Alias(target),
                _ => Type::Other,
            });
            rest = &data[length..];
        }
        Some(btf)
    }

    /// The value of a constant of an enumeration.
    pub fn constant(&self, name: &str) -> Option<u32> {
        self.constants.get(name.as_bytes()).copied()
    }

    /// Where in a structure a field begins, in bytes. `path` leads through structures inside it: `d_name.name`.
    pub fn offset(&self, structure: &str, path: &str) -> Option<u32> {
        let mut kind = *self.structures.get(structure.as_bytes())?;
        let mut bit = 0;
        for name in path.split('.') {
            let (at, inner) = self.member(kind, name.as_bytes(), DEEPEST)?;
            (bit, kind) = (bit + at, inner);
        }
        Some(bit / 8)
    }

    /// Where a member begins, in bits, and its type; members without a name are looked into.
    fn member(&self, kind: u32, name: &[u8], depth: u32) -> Option<(u32, u32)> {
        let Type::Compound(members) = self.resolved(kind)? else { return None };
        members.iter().find_map(|member| match self.text(member.name) {
            found if found == name => Some((member.bit, member.kind)),
            b"" if depth > 0 => self.member(member.kind, name, depth - 1).map(|(bit, inner)| (member.bit + bit, inner)),
            _ => None,
        })
    }

    /// The type that others may refer to.
    fn resolved(&self, mut kind: u32) -> Option<&Type> {
        for _ in 0..DEEPEST {
            match self.types.get(kind as usize)? {
                Type::Alias(target) => kind = *target,
                found => return Some(found),
            }
        }
        None
    }

    fn text(&self, at: u32) -> &'a [u8] {
        let rest = self.strings.get(at as usize..).unwrap_or_default();
        rest.split(|&byte| byte == 0).next().unwrap_or_default()
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Bytes behind the head of a type of this kind.
fn length_of(kind: u32, members: usize) -> Option<usize> {
    Some(match kind {
        2 | 7..=12 | 16 | 18 => 0,
        1 | 14 | 17 => 4,
        3 => 12,
        ENUM | 13 => 8 * members,
        STRUCT | UNION | 15 | 19 => 12 * members,
        _ => return None,
    })
}

fn members_of(data: &[u8], with_widths: bool) -> Option<Vec<Member>> {
    data.chunks_exact(12)
        .map(|member| {
            let offset = word(member, 8)?;
            let bit = if with_widths { offset & 0x00ff_ffff } else { offset };
            Some(Member { name: word(member, 0)?, kind: word(member, 4)?, bit })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `struct outer { int a; union { struct inner b; }; }`, `struct inner { int c; int d; }` and `enum { only = 7 }`.
    fn example() -> Vec<u8> {
        let strings = b"\0outer\0a\0inner\0b\0c\0d\0only\0";
        let at =
            |name: &[u8]| strings.windows(name.len() + 2).position(|w| w[1..].starts_with(name)).unwrap() as u32 + 1;
        let types: Vec<u32> = [
            vec![0, 1 << 24, 4, 32],
            vec![at(b"inner"), 4 << 24 | 2, 8, at(b"c"), 1, 0, at(b"d"), 1, 32],
            vec![0, 8 << 24, 2],
            vec![0, 5 << 24 | 1, 8, at(b"b"), 3, 0],
            vec![at(b"outer"), 1 << 31 | 4 << 24 | 2, 16, at(b"a"), 1, 3 << 24, 0, 4, 64],
            vec![0, 6 << 24 | 1, 4, at(b"only"), 7],
        ]
        .concat();
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        let length = types.len() as u32 * 4;
        [24, 0, length, length, strings.len() as u32].iter().for_each(|w: &u32| bytes.extend(w.to_le_bytes()));
        types.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes.extend(strings);
        bytes
    }

    #[test]
    fn fields_are_found_through_what_has_no_name_and_other_names() {
        let bytes = example();
        let btf = Btf::parse(&bytes).unwrap();
        assert_eq!(btf.offset("inner", "d"), Some(4));
        assert_eq!((btf.offset("outer", "a"), btf.offset("outer", "b")), (Some(0), Some(8)));
        assert_eq!(btf.offset("outer", "b.d"), Some(12));
        assert_eq!((btf.constant("only"), btf.constant("a")), (Some(7), None));
        assert_eq!((btf.offset("outer", "d"), btf.offset("b", "d"), btf.offset("inner", "c.d")), (None, None, None));
    }

    #[test]
    fn what_is_cut_is_none() {
        let bytes = example();
        assert!((0..bytes.len()).all(|length| Btf::parse(&bytes[..length]).is_none()));
        assert!(Btf::parse(b"\x9f\xeb").is_none() && Btf::parse(&[0; 64]).is_none());
    }
}
