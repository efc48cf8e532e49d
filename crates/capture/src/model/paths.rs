//! Path names: made absolute, and told apart from what only looks like a file.

use super::unattributed::Class;

/// Writes `path`, taken from the directory `base`, into `out`: without `.`, `..`, doubled and trailing slashes. `..`
/// goes one name up, as if no symbolic link were on the way. Without a base a relative path stays relative.
pub(super) fn join(base: Option<&[u8]>, path: &[u8], out: &mut Vec<u8>) {
    out.clear();
    if path.first() != Some(&b'/') {
        out.extend_from_slice(base.unwrap_or_default());
    }
    let absolute = path.first() == Some(&b'/') || base.is_some();
    if out.last() == Some(&b'/') {
        out.pop();
    }
    for name in path.split(|&byte| byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." if absolute || !out.is_empty() && !out.ends_with(b"..") => {
                let parent = memchr::memrchr(b'/', out).unwrap_or(0);
                out.truncate(parent);
            }
            _ => {
                if absolute || !out.is_empty() {
                    out.push(b'/');
                }
                out.extend_from_slice(name);
            }
        }
    }
    if out.is_empty() {
        out.push(if absolute { b'/' } else { b'.' });
    }
}

/// The directory that holds `path`; `None` for the root and for a name without a directory.
pub(super) fn parent(path: &[u8]) -> Option<&[u8]> {
    memchr::memrchr(b'/', path).filter(|slash| *slash > 0).map(|slash| &path[..slash])
}

/// The last name of a path.
pub(crate) fn last_name(path: &[u8]) -> &[u8] {
    memchr::memrchr(b'/', path).map_or(path, |slash| &path[slash + 1..])
}

/// The class of an object without blocks on storage; `None` for files and directories.
pub(super) fn class_of(path: &[u8]) -> Option<Class> {
    if path.first() != Some(&b'/') {
        return Some(class_of_object(path));
    }
    if let Some(name) = path.strip_prefix(b"/dev/") {
        return class_of_device(name);
    }
    if path == b"/dev" {
        return Some(Class::Device);
    }
    if is_under(path, b"/proc") || is_under(path, b"/sys") {
        return Some(Class::System);
    }
    const MEMORY: [&[u8]; 4] = [b"/memfd:", b"/anon_hugepage", b"/SYSV", b"/[aio]"];
    MEMORY.iter().any(|prefix| path.starts_with(prefix)).then_some(Class::Anonymous)
}

/// `pipe:[123]`, `socket:[123]`, `anon_inode:[eventpoll]`, `TCP:[…]`.
fn class_of_object(name: &[u8]) -> Class {
    const SOCKETS: [&[u8]; 5] = [b"socket:", b"TCP", b"UDP", b"UNIX", b"NETLINK"];
    if name.starts_with(b"pipe:") {
        return Class::Pipe;
    }
    match SOCKETS.iter().any(|prefix| name.starts_with(prefix)) {
        true => Class::Socket,
        false => Class::Anonymous,
    }
}

/// Block devices are files worth caching, all other devices are not.
fn class_of_device(name: &[u8]) -> Option<Class> {
    const BLOCK: [&[u8]; 11] =
        [b"sd", b"hd", b"vd", b"xvd", b"nvme", b"mmcblk", b"loop", b"dm-", b"md", b"mapper/", b"disk/"];
    if is_under(name, b"shm") {
        return Some(Class::SharedMemory);
    }
    (!BLOCK.iter().any(|prefix| name.starts_with(prefix))).then_some(Class::Device)
}

fn is_under(path: &[u8], directory: &[u8]) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_and_cleaned() {
        let cases = [
            (Some("/home"), "a/b", "/home/a/b"),
            (Some("/home"), "../x/./y//z/", "/home/../x/y/z".trim_start_matches("/home/..")),
            (Some("/home"), "/a//b/../c", "/a/c"),
            (Some("/home"), "../../../..", "/"),
            (Some("/home"), "", "/home"),
            (Some("/"), "a", "/a"),
            (None, "/", "/"),
            (None, "a/../../b", "../b"),
            (None, "../../b", "../../b"),
            (None, "./", "."),
            (None, "/..", "/"),
        ];
        for (base, path, expected) in cases {
            let mut out = b"left over".to_vec();
            join(base.map(str::as_bytes), path.as_bytes(), &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{base:?} {path}");
        }
    }

    #[test]
    fn parts_of_paths() {
        assert_eq!(parent(b"/a/b"), Some(&b"/a"[..]));
        assert_eq!((parent(b"/a"), parent(b"a")), (None, None));
        assert_eq!((last_name(b"/a/b"), last_name(b"b")), (&b"b"[..], &b"b"[..]));
    }

    #[test]
    fn classes_by_name() {
        let cases = [
            ("/etc/passwd", None),
            ("/dev", Some(Class::Device)),
            ("/devices/x", None),
            ("/process", None),
            ("/dev/sda1", None),
            ("/dev/mapper/root", None),
            ("/dev/null", Some(Class::Device)),
            ("/dev/pts/0", Some(Class::Device)),
            ("/dev/shm/x", Some(Class::SharedMemory)),
            ("/proc/self/maps", Some(Class::System)),
            ("/sys", Some(Class::System)),
            ("/memfd:pulseaudio", Some(Class::Anonymous)),
            ("pipe:[17]", Some(Class::Pipe)),
            ("socket:[17]", Some(Class::Socket)),
            ("UNIX-STREAM:[1->2]", Some(Class::Socket)),
            ("anon_inode:[eventfd]", Some(Class::Anonymous)),
        ];
        for (path, class) in cases {
            assert_eq!(class_of(path.as_bytes()), class, "{path}");
        }
    }
}
