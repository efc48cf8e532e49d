//! Records of the kernel side: the structs of `bpf/calls.bpf.c`.

/// Who did something, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Who {
    /// The thread.
    pub thread: u32,
    /// Its process.
    pub process: u32,
    /// The number of its mount namespace.
    pub space: u32,
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    pub time: u64,
}

/// Something that a recorded process did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Who, and when.
    pub who: Who,
    /// What.
    pub what: What,
}

/// A call of a recorded process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A call has ended, or has begun if it is recorded then.
    Called(Box<Called>),
    /// A name, told before the call that it belongs to.
    Named(Named),
    /// It has made a thread or process.
    Made {
        /// The new thread.
        thread: u32,
        /// Its process, the maker's if it is a thread.
        process: u32,
        /// It has the maker's descriptors.
        shares_files: bool,
        /// It has the maker's working directory.
        shares_directory: bool,
    },
    /// The thread has ended.
    Ended,
    /// The thread executes a program; before, it had this number.
    Executes(u32),
    /// This process, of which the thread is one, was moved into the recorded control group.
    Joined {
        /// The process.
        process: u32,
    },
    /// A fault has made pages of a mapped file visible.
    Touched(Touched),
}

/// A file among all of the machine, also after another one took its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The number of its inode.
    pub number: u64,
    /// The device, as the kernel packs it.
    pub device: u32,
    /// Tells it from those that had the number before.
    pub generation: u32,
}

/// Pages of a mapped file that a thread sees from now on: the one it touched, and those around it that the page cache
/// had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touched {
    /// The file; its path was sent before under [`FILE`] or [`MAPPED`], if it was mapped since the recording began.
    pub file: Identity,
    /// The first page.
    pub first: u64,
    /// How many.
    pub pages: u64,
    /// The touched one's place among them, if it is known.
    pub touched: Option<u64>,
    /// The file's size in bytes.
    pub size: u64,
    /// The touched page was read from storage.
    pub waited: bool,
}

/// A system call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Called {
    /// Its number.
    pub number: u32,
    /// A bit for each [`Named::slot`] that was sent with it.
    pub told: u32,
    /// The returned value, negative if it failed.
    pub result: i64,
    /// Its arguments.
    pub arguments: [u64; 6],
    /// Numbers behind arguments, as the call began.
    pub value: [u64; 2],
    /// The files that it worked on, zero where there is none.
    pub files: [OnFile; 2],
    /// It is a request that was submitted asynchronously, not a call; its result is the requested length, as far as the
    /// file reaches.
    pub is_submitted: bool,
    /// Pages of the first file that it has added to the page cache.
    pub added: u64,
    /// The first of them; `u64::MAX` if there is none.
    pub lowest: u64,
    /// The head of what came back.
    pub answer: Option<[u8; 64]>,
}

/// A file that a call worked on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnFile {
    /// The descriptor's position as the call began.
    pub before: u64,
    /// The descriptor's position as it ended.
    pub after: u64,
    /// The file's size as it ended, in bytes.
    pub size: u64,
    /// The flags it was opened with.
    pub flags: u32,
    /// Kind and rights, as in `st_mode`; 0 without a file.
    pub mode: u32,
}

/// A name that a call was given, or the path of a file or directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The object that it names: [`TEXT`], [`BASE`], [`FILE`] (each for two), [`OPENED`] or [`MAPPED`].
    pub slot: u32,
    /// Kind and rights of the file, as in `st_mode`.
    pub mode: u32,
    /// The kind of its file system.
    pub magic: u32,
    /// It has been unlinked.
    pub is_deleted: bool,
    /// False if it lies too deep: it ends so.
    pub is_whole: bool,
    /// The file, where it is the path of one.
    pub file: Identity,
    /// The text as the call has it, or the path: absolute, or a bare name if it is outside of the tree (`memfd:x`).
    pub text: Vec<u8>,
}

/// The text of a name.
pub const TEXT: u32 = 0;
/// The directory that a name is taken from.
pub const BASE: u32 = 2;
/// The file behind a descriptor.
pub const FILE: u32 = 4;
/// The file that was opened.
pub const OPENED: u32 = 6;
/// A program that begins; belongs to no call.
pub const MAPPED: u32 = 7;

/// In addition to the slots of names that were sent.
const SUBMITTED: u32 = 1 << 16;

impl Record {
    /// Takes a record apart; none if it is of no kind that is known, or cut.
    pub fn parse(bytes: &[u8]) -> Option<Record> {
        let head = Bytes(bytes);
        let who = Who { thread: head.short(4)?, process: head.short(8)?, space: head.short(12)?, time: head.long(16)? };
        let rest = Bytes(&bytes[24..]);
        let what = match head.short(0)? {
            0 => What::Called(Box::new(rest.called()?)),
            1 => What::Named(rest.named()?),
            2 => {
                let shares = rest.short(8)?;
                What::Made {
                    thread: rest.short(0)?,
                    process: rest.short(4)?,
                    shares_files: shares & 1 != 0,
                    shares_directory: shares & 2 != 0,
                }
            }
            3 => What::Ended,
            4 => What::Executes(rest.short(0)?),
            5 => return rest.joined(who),
            6 => What::Touched(rest.touched()?),
            _ => return None,
        };
        Some(Record { who, what })
    }
}

/// Fields by their offsets.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn short(&self, at: usize) -> Option<u32> {
        Some(u32::from_ne_bytes(self.0.get(at..at + 4)?.try_into().ok()?))
    }

    fn long(&self, at: usize) -> Option<u64> {
        Some(u64::from_ne_bytes(self.0.get(at..at + 8)?.try_into().ok()?))
    }

    fn called(&self) -> Option<Called> {
        let mut called = Called {
            number: self.short(0)?,
            told: self.short(4)? & !SUBMITTED,
            is_submitted: self.short(4)? & SUBMITTED != 0,
            result: self.long(8)? as i64,
            added: self.long(144)?,
            lowest: self.long(152)?,
            answer: self.0.get(160..224).and_then(|bytes| bytes.try_into().ok()),
            ..Called::default()
        };
        for (place, argument) in called.arguments.iter_mut().enumerate() {
            *argument = self.long(16 + 8 * place)?;
        }
        for place in 0..2 {
            called.value[place] = self.long(64 + 8 * place)?;
            called.files[place] = OnFile {
                before: self.long(80 + 8 * place)?,
                after: self.long(96 + 8 * place)?,
                size: self.long(112 + 8 * place)?,
                flags: self.short(128 + 4 * place)?,
                mode: self.short(136 + 4 * place)?,
            };
        }
        Some(called)
    }

    fn named(&self) -> Option<Named> {
        let slot = self.short(0)?;
        let text = self.0.get(40..40 + self.short(4)? as usize)?;
        let is_whole = self.short(20)? != 0;
        let text = if slot < BASE { text.to_vec() } else { path(text, is_whole) };
        Some(Named {
            slot,
            mode: self.short(8)?,
            magic: self.short(12)?,
            is_deleted: self.short(16)? != 0,
            is_whole,
            file: self.identity(24)?,
            text,
        })
    }

    fn identity(&self, at: usize) -> Option<Identity> {
        Some(Identity { number: self.long(at)?, device: self.short(at + 8)?, generation: self.short(at + 12)? })
    }

    fn touched(&self) -> Option<Touched> {
        Some(Touched {
            file: self.identity(0)?,
            first: self.long(16)?,
            pages: self.long(24)?,
            size: self.long(32)?,
            touched: Some(self.short(44)?).filter(|&place| place != u32::MAX).map(u64::from),
            waited: self.short(40)? != 0,
        })
    }

    fn joined(&self, who: Who) -> Option<Record> {
        let process = self.short(4)?;
        Some(Record { who: Who { thread: self.short(0)?, ..who }, what: What::Joined { process } })
    }
}

/// A path of its names, which come from the last to the first.
fn path(names: &[u8], is_whole: bool) -> Vec<u8> {
    let names = names.strip_suffix(b"\0").unwrap_or(names);
    if names == b"/" || names.is_empty() {
        return names.to_vec();
    }
    let mut path = if is_whole { Vec::new() } else { b"/...".to_vec() };
    for name in names.rsplit(|&byte| byte == 0) {
        path.push(b'/');
        path.extend_from_slice(name);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(what: u32, rest: &[u32]) -> Vec<u8> {
        let words = [what, 7, 6, 5, 99, 0].into_iter().chain(rest.iter().copied());
        words.flat_map(u32::to_ne_bytes).collect()
    }

    const WHO: Who = Who { thread: 7, process: 6, space: 5, time: 99 };

    #[test]
    fn records_are_told_as_the_kernels_side_writes_them() {
        let made = What::Made { thread: 9, process: 8, shares_files: true, shares_directory: false };
        assert_eq!(Record::parse(&head(2, &[9, 8, 1, 0])), Some(Record { who: WHO, what: made }));
        assert_eq!(Record::parse(&head(3, &[])), Some(Record { who: WHO, what: What::Ended }));
        assert_eq!(Record::parse(&head(4, &[3, 6, 0, 0])), Some(Record { who: WHO, what: What::Executes(3) }));
        let joined = Record { who: Who { thread: 12, ..WHO }, what: What::Joined { process: 11 } };
        assert_eq!(Record::parse(&head(5, &[12, 11, 0, 0])), Some(joined));
        let file = Identity { number: 1, device: 2, generation: 3 };
        let touched = Touched { file, first: 4, pages: 16, touched: Some(6), size: 5, waited: true };
        let words = [1, 0, 2, 3, 4, 0, 16, 0, 5, 0, 1, 6];
        assert_eq!(Record::parse(&head(6, &words)), Some(Record { who: WHO, what: What::Touched(touched) }));
        assert_eq!((Record::parse(&head(7, &[0; 8])), Record::parse(&[0; 20])), (None, None));
    }

    #[test]
    fn a_call_has_its_arguments_positions_and_answer() {
        let mut words: Vec<u32> = vec![17, 1 << FILE, -2i32 as u32, u32::MAX];
        words.extend((1..=6).flat_map(|n| [n, 0]));
        words.extend([10, 0, 11, 0, 20, 0, 21, 0, 30, 0, 31, 0, 40, 0, 41, 0, 50, 51, 60, 61, 70, 0, 71, 0]);
        let mut bytes = head(0, &words);
        let Some(Record { what: What::Called(called), .. }) = Record::parse(&bytes) else { panic!() };
        assert_eq!((called.number, called.told, called.result), (17, 16, -2));
        assert_eq!((called.arguments, called.value, called.answer), ([1, 2, 3, 4, 5, 6], [10, 11], None));
        assert_eq!((called.added, called.lowest), (70, 71));
        assert_eq!(called.files[1], OnFile { before: 21, after: 31, size: 41, flags: 51, mode: 61 });
        bytes.extend([9; 64]);
        let Some(Record { what: What::Called(called), .. }) = Record::parse(&bytes) else { panic!() };
        assert_eq!(called.answer, Some([9; 64]));
    }

    #[test]
    fn paths_are_put_together_from_their_ends() {
        let cases: [(&[u8], bool, &[u8]); 5] = [
            (b"c\0b b\0a\0", true, b"/a/b b/c"),
            (b"/\0", true, b"/"),
            (b"memfd:x\0", true, b"/memfd:x"),
            (b"", true, b""),
            (b"c\0b\0", false, b"/.../b/c"),
        ];
        for (names, is_whole, expected) in cases {
            assert_eq!(path(names, is_whole), expected);
        }
    }
}
