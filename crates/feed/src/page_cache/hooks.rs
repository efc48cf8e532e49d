//! The hooks of the programs in the kernel: its events, or, if it has no events for touches of pages (Linux before
//! 6.12), the functions that perform them.

use std::error;
use std::fmt;
use std::path::Path;

use aya::programs::fentry::FEntryLinkId;
use aya::programs::trace_point::TracePointLinkId;
use aya::programs::{FEntry, Program, ProgramError, TracePoint};
use aya::{Btf, Ebpf};

use super::layout::{self, Layout};
use crate::bpf::btf;

/// What calls a program.
#[derive(Clone, Copy, Debug)]
enum By {
    Event(&'static Layout),
    Function(&'static str),
}

/// A program and what it is called by.
#[derive(Clone, Copy, Debug)]
pub struct Hook {
    program: &'static str,
    by: By,
}

/// A program that is attached.
#[derive(Debug)]
pub enum Attached {
    /// To an event.
    Event(TracePointLinkId),
    /// To a function.
    Function(FEntryLinkId),
}

/// Words of the map `places`.
pub type FieldOffsets = [u32; FIELDS.len() + 1];

const fn event(program: &'static str, layout: &'static Layout) -> Hook {
    Hook { program, by: By::Event(layout) }
}

const fn function(program: &'static str, name: &'static str) -> Hook {
    Hook { program, by: By::Function(name) }
}

/// Events of added and removed pages, and of touched ones.
const OF_FOLIOS: [Layout; 2] = [layout::ADDED, layout::REMOVED];
const OF_TOUCHES: [Layout; 3] = [layout::READ, layout::AROUND, layout::FAULT];

/// Added and removed pages.
const FOLIOS: [Hook; 2] = [event("on_add", &layout::ADDED), event("on_remove", &layout::REMOVED)];
/// Touches by events, reads last.
const EVENTS: [Hook; 3] =
    [event("on_map", &layout::AROUND), event("on_fault", &layout::FAULT), event("on_read", &layout::READ)];
/// Touches by functions, reads last.
const FUNCTIONS: [Hook; 3] = [
    function("on_map_function", "filemap_map_pages"),
    function("on_fault_function", "filemap_fault"),
    function("on_read_function", "filemap_read"),
];

/// Fields in the order of `struct places`, behind the size of a page.
const FIELDS: [(&str, &str); 11] = [
    ("kiocb", "ki_filp"),
    ("kiocb", "ki_pos"),
    ("iov_iter", "count"),
    ("file", "f_mapping"),
    ("address_space", "host"),
    ("inode", "i_ino"),
    ("inode", "i_sb"),
    ("super_block", "s_dev"),
    ("vm_fault", "pgoff"),
    ("vm_fault", "vma"),
    ("vm_area_struct", "vm_file"),
];

/// All hooks of the feed.
#[derive(Debug)]
pub struct Hooks {
    touches: [Hook; 3],
    /// The functions to hook, if touches are seen through them.
    pub places: Option<FieldOffsets>,
}

impl Hooks {
    /// Chooses what the running kernel has.
    ///
    /// # Errors
    ///
    /// A sentence that names what it lacks.
    pub fn choose(tracing: &Path) -> Result<Hooks, String> {
        layout::check(tracing, &OF_FOLIOS)?;
        let Err(lacked) = layout::check(tracing, &OF_TOUCHES) else {
            return Ok(Hooks { touches: EVENTS, places: None });
        };
        let places =
            places().map_err(|why| format!("{lacked}; nor can its functions be listened to instead: {why}"))?;
        Ok(Hooks { touches: FUNCTIONS, places: Some(places) })
    }

    /// All of them, that of reads last.
    pub fn all(&self) -> impl Iterator<Item = Hook> {
        FOLIOS.into_iter().chain(self.touches)
    }

    /// The one of reads.
    pub fn reads(&self) -> Hook {
        self.touches[2]
    }
}

/// Where fields lie in the running kernel's structures.
fn places() -> Result<FieldOffsets, String> {
    let bytes = btf::bytes()?;
    let description = btf::Btf::parse(&bytes).ok_or_else(btf::unreadable)?;
    let mut words = [0; FIELDS.len() + 1];
    words[0] = rustix::param::page_size().ilog2();
    for (word, (structure, field)) in words[1..].iter_mut().zip(FIELDS) {
        *word = description.offset(structure, field).ok_or_else(|| btf::lacks(structure, field))?;
    }
    Ok(words)
}

/// The results of querying the kernel.
type Done<T> = std::result::Result<T, Box<dyn error::Error>>;

impl Hook {
    /// Has the kernel take its program.
    pub fn load(self, ebpf: &mut Ebpf) -> Done<()> {
        match self.by {
            By::Event(_) => program::<TracePoint>(ebpf, self.program)?.load()?,
            By::Function(name) => program::<FEntry>(ebpf, self.program)?.load(name, &Btf::from_sys_fs()?)?,
        }
        Ok(())
    }

    /// Has its program called.
    pub fn attach(self, ebpf: &mut Ebpf) -> Done<Attached> {
        Ok(match self.by {
            By::Event(layout) => {
                Attached::Event(program::<TracePoint>(ebpf, self.program)?.attach("filemap", layout.event)?)
            }
            By::Function(_) => Attached::Function(program::<FEntry>(ebpf, self.program)?.attach()?),
        })
    }

    /// Has its program called no more.
    pub fn detach(self, ebpf: &mut Ebpf, attached: Attached) -> Done<()> {
        match attached {
            Attached::Event(link) => program::<TracePoint>(ebpf, self.program)?.detach(link)?,
            Attached::Function(link) => program::<FEntry>(ebpf, self.program)?.detach(link)?,
        }
        Ok(())
    }
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.by {
            By::Event(layout) => write!(f, "the event filemap:{}", layout.event),
            By::Function(name) => write!(f, "the function {name}"),
        }
    }
}

fn program<'a, T>(ebpf: &'a mut Ebpf, name: &str) -> Done<&'a mut T>
where
    &'a mut T: TryFrom<&'a mut Program, Error = ProgramError>,
{
    let program = ebpf.program_mut(name).ok_or_else(|| format!("the object has no program {name}"))?;
    Ok(program.try_into()?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Describes events as the kernel's side expects them.
    fn offer(tracing: &Path, layouts: &[Layout]) {
        for layout in layouts {
            let folder = tracing.join("events/filemap").join(layout.event);
            let field = |&(name, offset, size): &(&str, usize, usize)| {
                format!("\tfield:unsigned long {name};\toffset:{offset};\tsize:{size};\tsigned:0;\n")
            };
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("format"), layout.fields.iter().map(field).collect::<String>()).unwrap();
        }
    }

    #[test]
    fn functions_are_listened_to_where_events_of_touches_are_missing() {
        let dir = tempfile::tempdir().unwrap();
        let refusal = Hooks::choose(dir.path()).unwrap_err();
        assert!(refusal.contains("does not have the event filemap:mm_filemap_add_to_page_cache"), "{refusal}");
        offer(dir.path(), &OF_FOLIOS);
        match Hooks::choose(dir.path()) {
            Ok(hooks) => {
                assert_eq!(hooks.reads().to_string(), "the function filemap_read");
                let places = hooks.places.unwrap();
                assert!(places[0] >= 12 && places[1..].iter().all(|&place| place < 1 << 16), "{places:?}");
            }
            Err(refusal) => assert!(refusal.contains("nor can its functions be listened to instead"), "{refusal}"),
        }
        offer(dir.path(), &OF_TOUCHES);
        let hooks = Hooks::choose(dir.path()).unwrap();
        assert_eq!(
            (hooks.reads().to_string().as_str(), hooks.places),
            ("the event filemap:mm_filemap_get_pages", None)
        );
        assert_eq!(hooks.all().count(), 5);
    }
}
