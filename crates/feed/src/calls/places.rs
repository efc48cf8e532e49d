//! The kernel side's configuration: `struct config` of `bpf/calls.bpf.c`.

use super::CgroupPath;
use crate::bpf::btf::{self, Btf, lacks};

/// The position in `struct config` of the switch for lists of requests.
pub const SEES_LISTS: std::ops::Range<usize> = 8..12;

/// Bytes of the path of a control group.
const GROUP_BYTES: usize = 256;

/// Where arguments of a system call lie among the saved registers, in their order.
#[cfg(target_arch = "x86_64")]
const ARGUMENTS: Option<[u32; 6]> = Some([112, 104, 96, 56, 72, 64]);
#[cfg(target_arch = "aarch64")]
const ARGUMENTS: Option<[u32; 6]> = Some([0, 8, 16, 24, 32, 40]);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARGUMENTS: Option<[u32; 6]> = None;

/// Fields in the order of `struct config`.
const FIELDS: [(&str, &str); 35] = [
    ("task_struct", "files"),
    ("task_struct", "fs"),
    ("task_struct", "pid"),
    ("task_struct", "tgid"),
    ("task_struct", "signal"),
    ("task_struct", STATUS),
    ("task_struct", "nsproxy"),
    ("signal_struct", "live"),
    ("nsproxy", "mnt_ns"),
    ("mnt_namespace", "ns.inum"),
    ("files_struct", "fdt"),
    ("fdtable", "max_fds"),
    ("fdtable", "fd"),
    ("file", "f_inode"),
    ("file", "f_flags"),
    ("file", "f_pos"),
    ("file", "f_path"),
    ("path", "dentry"),
    ("inode", "i_mode"),
    ("inode", "i_sb"),
    ("inode", "i_size"),
    ("inode", "i_ino"),
    ("inode", "i_generation"),
    ("super_block", "s_magic"),
    ("super_block", "s_dev"),
    ("dentry", "d_parent"),
    ("dentry", "d_name.name"),
    ("dentry", "d_hash.pprev"),
    ("vfsmount", "mnt_root"),
    ("mount", "mnt"),
    ("mount", "mnt_parent"),
    ("mount", "mnt_mountpoint"),
    ("fs_struct", "pwd"),
    ("cgroup", "root"),
    ("cgroup_root", "hierarchy_id"),
];

/// Fields behind those, for requests to io_uring; all zero where the kernel has no event for them.
const FIELDS_OF_RINGS: [(&str, &str); 6] = [
    ("io_kiocb", "opcode"),
    ("io_kiocb", "flags"),
    ("io_kiocb", "cqe.fd"),
    ("io_rw", "kiocb.ki_pos"),
    ("io_rw", "addr"),
    ("io_rw", "len"),
];

/// Fields behind those, for files that are registered with a ring: which ring, how many it has and where, and where in
/// what lies there the file is ([`DIRECTLY`] if that is the file). Linux 6.13 and newer have the first; all zero where
/// neither is.
const FIELDS_OF_REGISTERED: [[(&str, &str); 4]; 2] = [
    [
        ("io_kiocb", "ctx"),
        ("io_ring_ctx", "file_table.data.nr"),
        ("io_ring_ctx", "file_table.data.nodes"),
        ("io_rsrc_node", "file_ptr"),
    ],
    [
        ("io_kiocb", "ctx"),
        ("io_ring_ctx", "nr_user_files"),
        ("io_ring_ctx", "file_table.files"),
        ("io_fixed_file", "file_ptr"),
    ],
];

/// The table holds the files themselves.
const DIRECTLY: u32 = u32::MAX;

/// Fields behind those, for what the page cache had; the last one is [`ORDER`] on newer kernels.
const FIELDS_OF_PAGE_CACHE: [(&str, &str); 7] = [
    ("folio", "mapping"),
    ("folio", "index"),
    ("folio", "flags"),
    ("address_space", "host"),
    ("file", "private_data"),
    ("linux_binprm", "file"),
    ("folio", "_folio_order"),
];

/// Where Linux 6.6 and newer keep the binary logarithm of a folio's pages.
const ORDER: (&str, &str) = ("folio", "_flags_1");

/// The number of the bit that tells a folio of several pages from one.
const LARGE: &str = "PG_head";

/// Tells a program for 32 bits from others; only x86-64 has its numbers of system calls beside the own ones.
const STATUS: &str = "thread_info.status";

/// The words of `struct config`, as bytes, and whether the kernel describes requests to io_uring.
///
/// # Errors
///
/// A sentence that names what this kernel lacks.
pub fn config(everybody: bool, group: Option<&CgroupPath>, page_cache: bool) -> Result<(Vec<u8>, bool), String> {
    let arguments = ARGUMENTS.ok_or("it knows the registers of x86-64 and arm64 only")?;
    let bytes = btf::bytes()?;
    let btf = Btf::parse(&bytes).ok_or_else(btf::unreadable)?;
    let mut words = vec![u32::from(everybody), std::process::id(), 0];
    words.extend(arguments);
    for (structure, field) in FIELDS {
        words.push(match btf.offset(structure, field) {
            None if field == STATUS && cfg!(not(target_arch = "x86_64")) => 0,
            found => found.ok_or_else(|| lacks(structure, field))?,
        });
    }
    let of_rings = FIELDS_OF_RINGS.map(|(structure, field)| btf.offset(structure, field));
    let sees_rings = of_rings.iter().all(Option::is_some);
    words.extend(of_rings.map(|offset| offset.filter(|_| sees_rings).unwrap_or(0)));
    words.extend(of_registered(&btf));
    words.extend(if page_cache { of_page_cache(&btf)? } else { [0; FIELDS_OF_PAGE_CACHE.len() + 1] });
    if btf.offset("path", "mnt") != Some(0) {
        return Err("this kernel's struct path does not begin with mnt".to_owned());
    }
    let path = group.map_or(&b""[..], |group| &group.path);
    if path.len() >= GROUP_BYTES {
        return Err(format!("the path of a control group has {} bytes; expected less than {GROUP_BYTES}", path.len()));
    }
    words.push(group.map_or(0, |group| group.hierarchy));
    words.extend([libc::SYS_pread64, libc::SYS_pwrite64].map(|number| number as u32));
    words.push(path.len() as u32);
    let mut config: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    config.extend(path);
    config.resize(words.len() * 4 + GROUP_BYTES, 0);
    Ok((config, sees_rings))
}

/// The words for files that are registered with a ring.
fn of_registered(btf: &Btf) -> [u32; 4] {
    let found = |fields: [(&str, &str); 4]| {
        let offsets = fields.map(|(structure, field)| btf.offset(structure, field));
        offsets.iter().all(Option::is_some).then(|| offsets.map(Option::unwrap_or_default))
    };
    let [newer, older] = FIELDS_OF_REGISTERED;
    let in_table = || found(older).map(|[ring, count, files, _]| [ring, count, files, DIRECTLY]);
    found(newer).or_else(in_table).unwrap_or_default()
}

/// The words that only what looks at the page cache needs.
fn of_page_cache(btf: &Btf) -> Result<[u32; FIELDS_OF_PAGE_CACHE.len() + 1], String> {
    let mut words = [0; FIELDS_OF_PAGE_CACHE.len() + 1];
    for (word, (structure, field)) in words.iter_mut().zip(FIELDS_OF_PAGE_CACHE) {
        let found = btf.offset(structure, field);
        let newer = || btf.offset(ORDER.0, ORDER.1).filter(|_| field == "_folio_order");
        *word = found.or_else(newer).ok_or_else(|| lacks(structure, field))?;
    }
    words[FIELDS_OF_PAGE_CACHE.len()] =
        btf.constant(LARGE).ok_or("this kernel does not describe its flags of pages")?;
    Ok(words)
}
