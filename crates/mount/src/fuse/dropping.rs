//! Dropping pages that the kernel keeps of a mount's files.
//!
//! FUSE has a notification for it, which needs no descriptor, name or permission, so it never keeps the mount from
//! being unmounted; it also removes pages from mappings, however many processes have them. Its price: the kernel then
//! asks for the file's attributes again, and it waits for pages that are being read. The threads that answer requests
//! must never wait for that, and the decider need not, so a separate thread sends it.

use std::io;
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;

use fuser::{INodeNo, Notifier};

/// Ranges that may wait to be dropped.
const WAITING: usize = 4096;

/// Drops pages of files of a mount. Its thread ends with it.
#[derive(Clone, Debug)]
pub struct Dropper(SyncSender<(u64, Range<u64>)>);

impl Dropper {
    pub(crate) fn start(notifier: Notifier) -> Dropper {
        let (wanted, ranges) = sync_channel(WAITING);
        thread::spawn(move || drop_all(&notifier, &ranges));
        Dropper(wanted)
    }

    /// Has the kernel drop these bytes of the file with this inode number soon: whole pages, written first if a mapping
    /// has changed them.
    ///
    /// # Errors
    ///
    /// Too many wait already (`WouldBlock`): this one is not dropped.
    pub fn drop_bytes(&self, inode: u64, range: Range<u64>) -> io::Result<()> {
        self.0.try_send((inode, range)).map_err(|error| match error {
            TrySendError::Full(_) => io::ErrorKind::WouldBlock.into(),
            TrySendError::Disconnected(_) => io::ErrorKind::BrokenPipe.into(),
        })
    }
}

fn drop_all(notifier: &Notifier, ranges: &Receiver<(u64, Range<u64>)>) {
    for (inode, Range { start, end }) in ranges {
        let (Ok(offset), Ok(length)) = (i64::try_from(start), i64::try_from(end.saturating_sub(start))) else {
            continue;
        };
        // Of what the kernel does not know it has no pages; 0 bytes would be all of them.
        if length > 0 {
            let _ = notifier.inval_inode(INodeNo(inode), offset, length);
        }
    }
}
