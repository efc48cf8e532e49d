//! Bodies of the fuzz targets in `fuzz/` and of the seeded tests: checks of the parsers of user text, for any text, and
//! of the formats of traces, for any bytes.

mod mixing;
mod traces;

use hotset_core::classify::{Classifier, FileFacts, Rules};
use hotset_core::policy::{NoEffects, Object, PolicySpec, Reference, Setup};
use hotset_core::random::Rng;
use hotset_core::request::{Kind, Request};
use hotset_core::spec::{SizeSpec, SpecError};

pub use mixing::mix;
pub use traces::{detect_and_parse, hst, parse, parse_any, parse_named};

/// Capacities of the caches that are built. The trace has `SLOTS` blocks.
const CAPACITIES: [u32; 3] = [1, 7, 40];
const SLOTS: u32 = 64;

/// Parses a list of policies, formats it, parses it again, and runs a few references through each policy that can
/// run.
///
/// # Panics
/// If an error has no message, or its position is outside of the text; if the formatted text parses differently; or
/// if a policy that was built breaks.
pub fn policies(text: &str) {
    match PolicySpec::parse_list(text) {
        Err(error) => check(text, &error),
        Ok(specs) => specs.iter().for_each(|spec| {
            let printed = spec.to_string();
            let read = PolicySpec::parse(&printed).unwrap_or_else(|error| panic!("{}", error.render(&printed)));
            assert_eq!(read.to_string(), printed);
            run(spec);
        }),
    }
    if let Err(error) = PolicySpec::parse_paging_list(text) {
        check(text, &error);
    }
}

/// Parses a list of sizes, formats it, parses it again, and converts it into blocks.
///
/// # Panics
/// If an error has no message, or its position is outside of the text; if the formatted text parses differently; or
/// if a size is 0 blocks.
pub fn sizes(text: &str) {
    let sizes = match SizeSpec::parse(text) {
        Err(error) => return check(text, &error),
        Ok(sizes) => sizes,
    };
    let printed = sizes.to_string();
    assert_eq!(SizeSpec::parse(&printed).as_ref(), Ok(&sizes), "{printed}");
    for (footprint, block) in [(0, None), (1000, Some(4096)), (u64::MAX, Some(1))] {
        match sizes.resolve(footprint, block) {
            Err(error) => check(text, &error),
            Ok(blocks) => assert!(blocks.iter().all(|&blocks| blocks > 0)),
        }
    }
}

/// Parses a file of classes and classifies a few requests.
///
/// # Panics
/// If an error has no message, or its position is outside of the text; or if a class does not exist.
pub fn classes(text: &str) {
    let rules = match Rules::from_toml(text) {
        Err(error) => return check(text, &error),
        Ok(rules) => rules,
    };
    let count = rules.classes().len();
    let mut classifier = Classifier::new(rules);
    for (file, path) in ["", "/a/b.png", "x", text.get(..20).unwrap_or(text)].into_iter().enumerate() {
        for size in [None, Some(0), Some(1 << 20), Some(u64::MAX)] {
            let request = Request { file: file as u32, ..Request::default() };
            let class = classifier.class(&request, &FileFacts { path, size, kind: Kind::Datafile, app: "app" });
            assert!(usize::from(class) < count);
        }
    }
}

/// Checks that an error has a message, and that its position, if any, can be shown.
fn check(text: &str, error: &SpecError) {
    assert!(!error.message.trim().is_empty());
    if let Some(place) = &error.at {
        assert!(text.get(place.clone()).is_some(), "{place:?} is outside of {text:?}");
    }
    assert!(error.render(text).starts_with(&error.message));
}

/// Runs references through a policy, if it can run. The policy may refuse a size with an error.
fn run(spec: &PolicySpec) {
    if spec.is_offline() {
        return;
    }
    for capacity in CAPACITIES {
        for block_bytes in [None, Some(4096)] {
            let args = spec.args(block_bytes);
            let (entry, setup) = (spec.entry(), Setup::new(&args, capacity, SLOTS, 1));
            let requirements = entry.requirements(&args, capacity);
            let (Ok(requirements), Ok(mut policy)) = (requirements, entry.build(&setup)) else { continue };
            let classes = requirements.view.rules.map_or(1, |rules| rules.classes().len() as u32);
            for time in 0..300 {
                let slot = time * 7 % SLOTS;
                let reference = Reference {
                    time: time.into(),
                    clock: u64::from(time) * 1_000_000,
                    file: slot / 8,
                    block: slot % 8,
                    group: slot / 8 % 2,
                    app: slot % 3,
                    write: time % 3 == 0,
                    class: (slot % classes) as u8,
                    object: Some(slot / 8).filter(|file| *file < 5).map(Object::of_file),
                    ..Reference::default()
                };
                policy.access(slot, reference, &mut NoEffects);
            }
            policy.validate();
        }
    }
}

/// Numbers, sizes and words at the limits of what texts can contain.
const WORDS: [&str; 34] = [
    "0",
    "1",
    "2",
    "0.5",
    "-1",
    "1e308",
    "1e-308",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "0%",
    "50%",
    "100%",
    "101%",
    "1B",
    "4K",
    "1T",
    "16777216T",
    "1ns",
    "1ms",
    "584y",
    "on",
    "off",
    "unlimited",
    "lru",
    "opt",
    "x",
    "all",
    "NaN",
    "inf",
    "id",
    "",
    "..",
    "é",
];

/// Replaces a few words of the text, and changes, deletes or doubles some characters.
pub fn vary(random: &mut Rng, text: &str) -> String {
    let mut signs: Vec<char> = text.chars().collect();
    for _ in 0..1 + random.below(4) {
        let at = random.below(signs.len() as u32 + 1) as usize;
        let is_word = |sign: &char| sign.is_alphanumeric() || "._%-".contains(*sign);
        match random.below(6) {
            0..=2 => {
                let begin = signs[..at].iter().rposition(|sign| !is_word(sign)).map_or(0, |before| before + 1);
                let end = signs[at..].iter().position(|sign| !is_word(sign)).map_or(signs.len(), |more| at + more);
                let word = WORDS[random.below(WORDS.len() as u32) as usize];
                signs.splice(begin..end, word.chars());
            }
            3 if at < signs.len() => drop(signs.remove(at)),
            4 => {
                let end = (at + random.below(12) as usize).min(signs.len());
                let run = signs[at..end].to_vec();
                signs.splice(at..at, run);
            }
            _ => {
                const TELLING: &[u8] = b"(),=*/ .%\"[]{}\n\t0:";
                signs.insert(at, char::from(TELLING[random.below(TELLING.len() as u32) as usize]));
            }
        }
    }
    signs.into_iter().collect()
}
