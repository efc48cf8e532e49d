//! The kernel's table of mounts (proc(5), mountinfo), and devices of paths.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxFlags};

/// Major and minor number of the device that a mount is to the kernel.
pub type Device = (u32, u32);

/// The device at a path, which may be a mount that does not answer yet, or not any more.
pub fn device_at(path: &Path) -> io::Result<Device> {
    let about = rustix::fs::statx(CWD, path, AtFlags::STATX_DONT_SYNC, StatxFlags::empty())?;
    Ok((about.stx_dev_major, about.stx_dev_minor))
}

/// The line of this device in the table of mounts, if it is mounted.
pub fn mount_line((major, minor): Device) -> io::Result<Option<String>> {
    let device = format!("{major}:{minor}");
    let table = fs::read_to_string("/proc/self/mountinfo")?;
    Ok(table.lines().find(|line| line.split(' ').nth(2) == Some(&device)).map(str::to_owned))
}

/// Where this device is mounted, if it is.
pub fn mountpoint(device: Device) -> io::Result<Option<PathBuf>> {
    let line = mount_line(device)?;
    let written = line.as_deref().and_then(|line| line.split(' ').nth(4));
    Ok(written.map(|written| PathBuf::from(OsString::from_vec(unescaped(written)))))
}

/// A path as the table of mounts writes it: some bytes are a backslash and three octal digits.
fn unescaped(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((&first, after)) = rest.split_first() {
        let digits =
            after.get(..3).filter(|digits| first == b'\\' && digits.iter().all(|digit| (b'0'..b'8').contains(digit)));
        match digits {
            Some(digits) => {
                bytes.push(digits.iter().fold(0, |sum: u8, digit| sum.wrapping_mul(8).wrapping_add(digit - b'0')));
                rest = &after[3..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_back_as_they_were() {
        let shown = [r"/mnt/a\040b", r"/mnt/\134\012", "/mnt/\u{e9}", r"/mnt/\9x\04", r"\777"];
        let read: Vec<Vec<u8>> = shown.iter().map(|text| unescaped(text)).collect();
        let expected: [&[u8]; 5] = [b"/mnt/a b", b"/mnt/\\\n", "/mnt/\u{e9}".as_bytes(), br"/mnt/\9x\04", &[0xff]];
        assert_eq!(read, expected);
    }
}
