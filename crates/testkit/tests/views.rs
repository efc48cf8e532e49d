//! What caches in parts are shown of a request, worked out by hand.

use hotset_core::classify::FileFacts;
use hotset_core::policy::{Args, Capabilities, NoEffects, Policy, PolicySpec, Setup};
use hotset_core::registry::{self, Visitor};
use hotset_core::request::{Kind, Op, Request};
use hotset_core::view::{BlockSize, Cutting, Step, Viewer};
use hotset_testkit::harness::Case;
use hotset_testkit::selection::{is_selected, keys_of_the_view, selected};

/// Blocks of the runs here. A cache of four has 256 KB: 64K in blocks of 128 bytes for inodes and directories, 128K in
/// blocks of 4K, and one block of 64K for large files.
const BLOCK: u64 = 64 << 10;
const CAPACITY: u32 = 4;

const K: u64 = 1 << 10;

/// A spec, requests (operation, file, size of the file), and what they touch.
type Shown = (&'static str, &'static [(Op, &'static str, u64)], &'static [&'static str]);

const SHOWN: &[Shown] = &[
    // Half a megabyte makes a file large, unless something else is said.
    (
        "attribute",
        &[(Op::Read, "/f", 512 * K - 1), (Op::Read, "/g", 512 * K)],
        &["read datafile by 4096", "read large by 65536"],
    ),
    (
        "attribute(cutoff=6K)",
        &[(Op::Read, "/f", 6 * K - 1), (Op::Read, "/g", 6 * K), (Op::Read, "/h", 512 * K)],
        &["read datafile by 4096", "read large by 65536", "read large by 65536"],
    ),
    (
        "attribute(cutoff=1M)",
        &[(Op::Read, "/f", 512 * K), (Op::Read, "/g", 1024 * K)],
        &["read datafile by 4096", "read large by 65536"],
    ),
    // A name is looked up in its directory, which leads to the inode; or so is every component of the path.
    ("attribute", &[(Op::Stat, "/d/f", 1)], &["read directory by 128", "read inode by 128"]),
    ("unix", &[(Op::Stat, "/d/f", 1)], &["read directory by 4096", "read inode by 128"]),
    ("unix(block=8K)", &[(Op::Stat, "/d/f", 1)], &["read directory by 8192", "read inode by 128"]),
    (
        "attribute(lookup=full)",
        &[(Op::Stat, "/d/f", 1)],
        &["read directory by 128", "read inode by 128", "read directory by 128", "read inode by 128"],
    ),
    (
        "unix(lookup=full)",
        &[(Op::Stat, "/d/f", 1)],
        &["read directory by 4096", "read inode by 128", "read directory by 4096", "read inode by 128"],
    ),
    // The first read since the open notes the time in the inode, and so does the first write.
    (
        "attribute",
        &[(Op::Open, "/f", 1), (Op::Read, "/f", 1), (Op::Read, "/f", 1), (Op::Write, "/f", 1)],
        &[
            "read directory by 128",
            "read inode by 128",
            "write inode by 128",
            "read datafile by 4096",
            "read datafile by 4096",
            "write inode by 128",
            "write datafile by 4096",
        ],
    ),
    (
        "attribute(atime=off)",
        &[(Op::Open, "/f", 1), (Op::Read, "/f", 1), (Op::Write, "/f", 1)],
        &["read directory by 128", "read inode by 128", "read datafile by 4096", "write datafile by 4096"],
    ),
    (
        "attribute(atime=relatime)",
        &[(Op::Open, "/f", 1), (Op::Read, "/f", 1), (Op::Open, "/f", 1), (Op::Read, "/f", 1)],
        &[
            "read directory by 128",
            "read inode by 128",
            "write inode by 128",
            "read datafile by 4096",
            "read directory by 128",
            "read inode by 128",
            "read datafile by 4096",
        ],
    ),
    (
        "unix(atime=off)",
        &[(Op::Open, "/f", 1), (Op::Read, "/f", 1)],
        &["read directory by 4096", "read inode by 128", "read datafile by 4096"],
    ),
    (
        "undivided(id=256B, block=8K)",
        &[(Op::Open, "/f", 1), (Op::Read, "/f", 1)],
        &["read directory by 256", "read inode by 256", "write inode by 256", "read datafile by 8192"],
    ),
    (
        "undivided(lookup=full, atime=off)",
        &[(Op::Stat, "/d/f", 1), (Op::Read, "/d/f", 512 * K)],
        &[
            "read directory by 128",
            "read inode by 128",
            "read directory by 128",
            "read inode by 128",
            "read large by 4096",
        ],
    ),
];

/// A spec, a class, and the blocks of the longest request for it: at first, and when the cache has been made twice as
/// large. Parts do not change the size of the pieces when they grow.
const PIECES: &[(&str, &str, [u32; 2])] = &[
    ("attribute", "large", [4, 8]),
    ("attribute", "datafile", [64, 128]),
    ("attribute", "inode", [2048, 4096]),
    ("attribute(pieces=part)", "large", [1, 1]),
    ("attribute(pieces=part)", "datafile", [32, 32]),
    ("attribute(pieces=part)", "inode", [512, 512]),
    ("unix", "datafile", [64, 128]),
    ("unix(pieces=part)", "datafile", [56, 56]),
    ("unix(pieces=part)", "inode", [256, 256]),
    ("undivided", "datafile", [64, 128]),
    ("undivided", "inode", [2048, 4096]),
];

fn args(spec: &str) -> (PolicySpec, Args) {
    let spec = PolicySpec::parse(spec).unwrap_or_else(|error| panic!("{error}"));
    let args = spec.args(Some(BLOCK));
    (spec, args)
}

#[test]
fn requests_touch_what_they_should() {
    for (spec, requests, expected) in SHOWN.iter().filter(|(spec, ..)| is_wanted(spec)) {
        let (policy, args) = args(spec);
        let view = policy.entry().requirements(&args, CAPACITY).unwrap_or_else(|error| panic!("{error}")).view;
        let mut cutting = Cutting::new(BlockSize::Bytes(BLOCK), false);
        cutting.deletes = false;
        let mut viewer = Viewer::new(&view, cutting);
        let (mut steps, mut paths) = (Vec::new(), Vec::new());
        for &(op, path, size) in *requests {
            if !paths.contains(&path) {
                paths.push(path);
            }
            let file = paths.iter().position(|&other| other == path).expect("just named") as u32;
            let request = Request { op: op as u8, kind: Kind::Datafile as u8, file, length: 1, ..Request::default() };
            let facts = FileFacts { path, kind: Kind::Datafile, size: Some(size), app: "" };
            viewer.show(&request, Some(size), &facts, &mut steps);
        }
        let rules = viewer.rules().expect("caches in parts have classes");
        let told = |step: &Step| match step {
            Step::Touch(piece) => {
                let how = if piece.write { "write" } else { "read" };
                format!("{how} {} by {}", rules.classes()[usize::from(piece.class)], piece.block)
            }
            Step::Invalidate { .. } => "invalidate".to_owned(),
        };
        assert_eq!(steps.iter().map(told).collect::<Vec<_>>(), *expected, "{spec}: {requests:?}");
    }
}

#[test]
fn long_requests_are_cut_into_pieces() {
    for &(spec, class, expected) in PIECES.iter().filter(|(spec, ..)| is_wanted(spec)) {
        let (policy, args) = args(spec);
        let pieces = registry::visit(policy.info().name, Pieces { args, class });
        assert_eq!(pieces, Some(expected), "{spec}: {class}");
    }
}

struct Pieces<'a> {
    args: Args,
    class: &'a str,
}

impl Visitor for Pieces<'_> {
    type Output = [u32; 2];

    fn visit<P: Policy + Capabilities + 'static>(self) -> [u32; 2] {
        let view = P::requirements(&self.args, CAPACITY).expect("checked arguments").view;
        let class = view.rules.and_then(|rules| rules.class(self.class)).expect("a class of theirs");
        let setup = Setup::new(&self.args, CAPACITY, 1, 1);
        let mut policy = P::new(&setup).unwrap_or_else(|error| panic!("{error}"));
        let piece = |policy: &P| policy.partitioned().expect("a cache in parts").piece(class);
        let at_first = piece(&policy);
        policy.resize(2 * CAPACITY, &mut NoEffects);
        [at_first, piece(&policy)]
    }
}

/// A parameter of which no case here gives another value than the default could be ignored unseen.
#[test]
fn every_parameter_of_the_view_has_a_case() {
    let specs: Vec<&str> = SHOWN.iter().map(|row| row.0).chain(PIECES.iter().map(|row| row.0)).collect();
    for entry in selected() {
        for key in keys_of_the_view(entry.info) {
            let has_case = specs.iter().any(|spec| {
                let case = Case::of(spec, CAPACITY);
                case.policy == entry.info.name && case.args.is_given(key)
            });
            assert!(has_case, "no case shows what {}({key}=…) does", entry.info.name);
        }
    }
}

fn is_wanted(spec: &str) -> bool {
    is_selected(args(spec).0.info().name)
}
