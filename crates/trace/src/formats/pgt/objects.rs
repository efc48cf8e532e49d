//! The object list beside a `pgt` trace: `refno,op,addr,size,caller`, a line an event.
//!
//! The operations: `m` allocated, `f` freed, `g` a variable of the program, `E` the end of the trace, whose `refno` is
//! the number of all references.

use std::path::{Path, PathBuf};

use crate::{
    TraceError,
    error::Place,
    input::Input,
    memory::{ObjectEvent, ObjectOp},
    runner::quote,
};

/// The columns, in order.
const HEADER: &str = "refno,op,addr,size,caller";

/// A list that was read.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Objects {
    /// By their reference number.
    pub(super) events: Vec<ObjectEvent>,
    /// References of the whole trace, if the list tells.
    pub(super) references: Option<u64>,
}

/// Where the list of the trace at `path` lies: `NAME.obj.csv` beside `NAME.pgt.zst`. `None` if there is none.
pub(super) fn beside(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let bare = [".zst", ".gz", ".xz"].iter().find_map(|packed| name.strip_suffix(packed)).unwrap_or(name);
    let stem = bare.strip_suffix(".pgt")?;
    ["", ".zst", ".gz", ".xz"]
        .iter()
        .map(|packed| path.with_file_name(format!("{stem}.obj.csv{packed}")))
        .find(|it| it.is_file())
}

/// Reads a list.
pub(super) fn read(path: &Path) -> Result<Objects, TraceError> {
    let mut input = Input::open(path)?;
    while input.more()? {}
    parse(input.data()).map_err(|(line, message)| TraceError::new(path, Place::Line(line), message))
}

/// Parses a list; an error is a line and a message.
fn parse(text: &[u8]) -> Result<Objects, (u64, String)> {
    let mut objects = Objects::default();
    for (number, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        if line.is_empty() || (number == 0 && line == HEADER.as_bytes()) {
            continue;
        }
        let refused = || (number as u64 + 1, format!("found {}; expected {HEADER}, op one of m f g E", quote(line)));
        let line = std::str::from_utf8(line).map_err(|_| refused())?;
        note(&mut objects, line).ok_or_else(refused)?;
    }
    objects.events.sort_by_key(|event| event.at);
    Ok(objects)
}

/// Takes a line in; `None` if it is malformed.
fn note(objects: &mut Objects, line: &str) -> Option<()> {
    let mut fields = line.splitn(5, ',');
    let mut field = || fields.next().map(str::trim);
    let at = field()?.parse().ok()?;
    let op = field()?;
    let address = u64::from_str_radix(field()?.strip_prefix("0x")?, 16).ok()?;
    let bytes = field()?.parse().ok()?;
    let caller = field().unwrap_or_default().to_owned();
    let op = match op {
        "m" => ObjectOp::Allocate,
        "f" => ObjectOp::Free,
        "g" => ObjectOp::Global,
        "E" => {
            objects.references = Some(at);
            return Some(());
        }
        _ => return None,
    };
    objects.events.push(ObjectEvent { at, op, address, bytes, caller });
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_and_put_in_order() {
        let text = b"refno,op,addr,size,caller\n10,m,0x1000,24,0x4\r\n\n12,f,0x1000,0,\n0,g,0x2000,8,name,of it\n99,E,0x0,5,0x0\n";
        let objects = parse(text).unwrap();
        let event =
            |at, op, address, bytes, caller: &str| ObjectEvent { at, op, address, bytes, caller: caller.into() };
        assert_eq!(
            objects.events,
            [
                event(0, ObjectOp::Global, 0x2000, 8, "name,of it"),
                event(10, ObjectOp::Allocate, 0x1000, 24, "0x4"),
                event(12, ObjectOp::Free, 0x1000, 0, ""),
            ]
        );
        assert_eq!(objects.references, Some(99));
    }

    #[test]
    fn a_malformed_line_is_named() {
        for line in
            ["x", "1,m,0x1", "1,q,0x1,1,", "1,m,1,1,", "-1,m,0x1,1,", "1,m,0x1,1x,", "1,m,0x1ffffffffffffffff,1,"]
        {
            let (number, message) = parse(format!("1,m,0x1,1,\n{line}\n").as_bytes()).unwrap_err();
            assert!(number == 2 && message.starts_with(&format!("found `{line}`; expected refno,op")), "{message}");
        }
    }

    #[test]
    fn a_list_is_looked_for_beside_the_trace_only() {
        assert_eq!(beside(Path::new("-")), None);
        assert_eq!(beside(Path::new("nowhere/a.pgt.zst")), None);
        let folder = std::env::temp_dir().join(format!("hotset-objects-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("a.obj.csv"), "").unwrap();
        assert_eq!(beside(&folder.join("a.pgt.zst")), Some(folder.join("a.obj.csv")));
        assert_eq!(beside(&folder.join("a.pgt")), Some(folder.join("a.obj.csv")));
        assert_eq!(beside(&folder.join("a.ids")), None);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
