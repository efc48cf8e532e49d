//! The fuzz targets of `fuzz/` for policies, sizes and classes, seeded: sound texts and what becomes of them.

use hotset_core::random::Rng;
use hotset_core::registry;
use hotset_testkit::fuzz::{classes, policies, sizes, vary};

const SIZES: [&str; 4] = ["1,64K,10%", "1..1000*10", "16M..1G*2,5%", "0.1%..100%*1.5"];

const CLASSES: &str = "[[class]]\nname = \"texture\"\nfiles = [\"*.png\", \"**/textures/**\"]\nkinds = [\"datafile\"]\napps = [\"blender\"]\n\
    min_size = \"64K\"\nmax_size = 1000\nwrites = false\nsticks = true\n[[class]]\nname = \"b\"\n";

/// Every policy with each of its parameters, and some that are made of others.
fn specs() -> Vec<String> {
    let own = registry::all().flat_map(|entry| {
        let params = entry.info.params.iter().filter(|param| !param.kind.is_repeated());
        let with: Vec<String> =
            params.map(|param| format!("{}({}={})", entry.info.name, param.key, param.default)).collect();
        std::iter::once(entry.info.name.to_owned()).chain(with)
    });
    let nested = [
        "attribute(64K/128 id, x/4K temporal, 64K/64K sequential)",
        "bypass(demote(lru,arc,client=10%),texture),2q(kin=30%,kout=60%)",
        "qos(lru,a=70%,b=10ms,interval=100)",
        "virtual(arc,queue=1000,unit=2)",
        "apr(threshold=64K,decay=0.5),lifo+",
    ];
    own.chain(nested.map(str::to_owned)).collect()
}

#[test]
fn damaged_specs_never_break_a_policy() {
    let mut random = Rng::new(11);
    for spec in specs() {
        policies(&spec);
        (0..150).for_each(|_| policies(&vary(&mut random, &spec)));
    }
}

#[test]
fn damaged_sizes_are_sizes_or_refused() {
    let mut random = Rng::new(12);
    for text in SIZES {
        sizes(text);
        (0..5000).for_each(|_| sizes(&vary(&mut random, text)));
    }
}

#[test]
fn damaged_classes_are_classes_or_refused() {
    let mut random = Rng::new(13);
    classes(CLASSES);
    (0..5000).for_each(|_| classes(&vary(&mut random, CLASSES)));
}
