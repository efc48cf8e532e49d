//! Policies agree with their models also where parameters differ from the defaults.

use hotset_testkit::variants::{check, check_in};
use hotset_testkit::world::World;

#[test]
fn hyperbolic() {
    check("hyperbolic", &[&[("sample", "1")], &[("sample", "2")], &[("sample", "5")], &[("sample", "1000")]]);
}

#[test]
fn lecar() {
    check(
        "lecar",
        &[
            &[("ghosts", "0")],
            &[("ghosts", "50%"), ("rate", "2"), ("discount", "1")],
            &[("rate", "0")],
            &[("discount", "0"), ("ghosts", "3")],
        ],
    );
}

#[test]
fn lhd() {
    check(
        "lhd",
        &[
            &[("period", "7"), ("ages", "8"), ("explorers", "50%")],
            &[("period", "20"), ("ages", "300"), ("apps", "1"), ("sample", "3"), ("explorers", "2")],
            &[("period", "1"), ("ages", "2"), ("sample", "1")],
            &[("period", "50"), ("sample", "2"), ("explorers", "0")],
        ],
    );
}

#[test]
fn cacheus() {
    check(
        "cacheus",
        &[
            &[("scan", "50%")],
            &[("scan", "100%"), ("ghosts", "100%")],
            &[("ghosts", "0")],
            &[("scan", "2"), ("ghosts", "3")],
        ],
    );
}

#[test]
fn acme() {
    check(
        "acme",
        &[
            &[("refetch", "on")],
            &[("refetch", "on"), ("beta", "0.01"), ("share", "0")],
            &[("beta", "0.5"), ("share", "0.2")],
            &[("beta", "1"), ("share", "1")],
        ],
    );
}

#[test]
fn w_tinylfu() {
    check(
        "w-tinylfu",
        &[
            &[("climb", "on")],
            &[("climb", "on"), ("window", "40%"), ("protected", "100%")],
            &[("window", "60%"), ("protected", "0%")],
            &[("window", "100%")],
        ],
    );
}

#[test]
fn clock() {
    check(
        "clock",
        &[
            &[("clear", "1")],
            &[("clear", "9"), ("initial", "1")],
            &[("clear", "50"), ("bits", "2")],
            &[("clear", "5"), ("bits", "8"), ("initial", "255")],
        ],
    );
}

#[test]
fn lfu() {
    check(
        "lfu",
        &[
            &[("counts", "perfect")],
            &[("aging", "0")],
            &[("aging", "2.5")],
            &[("counts", "perfect"), ("aging", "1")],
            &[("counts", "perfect"), ("aging", "7")],
        ],
    );
}

#[test]
fn two_q() {
    check("2q", &[&[("a1in_hit", "promote")], &[("kin", "100%"), ("kout", "10%")], &[("kin", "1"), ("kout", "3")]]);
}

#[test]
fn lru_k() {
    check(
        "lru-k",
        &[
            &[("k", "1")],
            &[("k", "3"), ("rip", "0")],
            &[("crp", "2"), ("rip", "2")],
            &[("k", "3"), ("crp", "5"), ("rip", "3.5")],
            &[("k", "4"), ("crp", "1000")],
            &[("k", "16")],
        ],
    );
}

#[test]
fn lrfu() {
    check(
        "lrfu",
        &[
            &[("lambda", "0")],
            &[("lambda", "1"), ("history", "kept")],
            &[("lambda", "0.4"), ("correlated", "3")],
            &[("lambda", "0.1"), ("correlated", "2"), ("history", "kept")],
            &[("correlated", "1000")],
        ],
    );
}

#[test]
fn mq() {
    check(
        "mq",
        &[
            &[("estimate", "off")],
            &[("estimate", "off"), ("lifetime", "0"), ("queues", "3")],
            &[("estimate", "off"), ("lifetime", "0.5"), ("ghosts", "0.5")],
            &[("lifetime", "unlimited"), ("ghosts", "1")],
            &[("queues", "1"), ("ghosts", "0")],
            &[("queues", "32"), ("ghosts", "unlimited")],
        ],
    );
}

#[test]
fn lirs() {
    check(
        "lirs",
        &[&[("ghosts", "0")], &[("ghosts", "0.5")], &[("ghosts", "2"), ("hirs", "30%")], &[("hirs", "100%")]],
    );
}

#[test]
fn clock_pro() {
    check(
        "clock-pro",
        &[
            &[("fill", "cold")],
            &[("ghosts", "0"), ("cold", "50%")],
            &[("ghosts", "2"), ("max_cold", "50%"), ("fill", "cold")],
            &[("ghosts", "unlimited"), ("min_cold", "100%")],
            &[("min_cold", "4000000000"), ("cold", "0"), ("max_cold", "0")],
        ],
    );
}

#[test]
fn craw() {
    let variants: &[&[_]] =
        &[&[("write_cost", "1"), ("step", "1")], &[("step", "50%")], &[("read_cost", "0"), ("step", "100%")]];
    check("craw", variants);
    check_in(World { writes: 1, ..World::default() }, "craw", variants);
}

#[test]
fn dip() {
    check(
        "dip",
        &[
            &[("mode", "bip")],
            &[("mode", "bip"), ("epsilon", "0")],
            &[("epsilon", "0.5"), ("duel", "1")],
            &[("duel", "2")],
        ],
    );
}

#[test]
fn eelru() {
    check("eelru", &[&[("decay", "0")], &[("decay", "1")], &[("decay", "0.3")]]);
}

#[test]
fn seq() {
    let short: &[_] = &[("l", "1"), ("m", "1"), ("n", "1"), ("table", "3")];
    let variants: &[&[_]] = &[
        short,
        &[("l", "2"), ("m", "3"), ("n", "2"), ("table", "1")],
        &[("l", "3"), ("m", "2"), ("n", "4"), ("fallback", "clock")],
        &[("l", "4"), ("m", "1"), ("n", "5"), ("table", "2"), ("fallback", "clock")],
    ];
    check("seq", variants);
    let world = World { file_blocks: 60, ..World::default() };
    check_in(world, "seq", variants);
    check_in(world, "seq", &[&[], &[("fallback", "clock"), ("l", "8"), ("m", "5")]]);
}

#[test]
fn rrip() {
    check(
        "rrip",
        &[
            &[("mode", "srrip")],
            &[("mode", "srrip"), ("bits", "1")],
            &[("mode", "brrip"), ("epsilon", "0.5"), ("bits", "3")],
            &[("bits", "6"), ("duel", "3"), ("shadow", "1")],
            &[("bits", "1"), ("epsilon", "0"), ("shadow", "15")],
        ],
    );
}

#[test]
fn ubm() {
    let ignore = ("broken", "ignore");
    check("ubm", &[&[("files", "1"), ignore], &[("files", "2"), ("run", "3"), ignore], &[("run", "4294967295")]]);
}

#[test]
fn pcc() {
    check(
        "pcc",
        &[
            &[("contexts", "1"), ("seen_once", "1")],
            &[("context", "app"), ("seen_once", "3"), ("ghosts", "0")],
            &[("contexts", "3"), ("seen_once", "2"), ("ghosts", "unlimited")],
        ],
    );
}

#[test]
fn ulc() {
    check(
        "ulc",
        &[
            &[("client", "10%")],
            &[("client", "100%"), ("temp", "30%")],
            &[("client", "60%"), ("temp", "100%")],
            &[("client", "4000000000"), ("temp", "4000000000")],
            &[("client", "0"), ("temp", "0")],
        ],
    );
}

#[test]
fn sarc() {
    check(
        "sarc",
        &[
            &[("track", "1")],
            &[("track", "2"), ("run", "2"), ("foot", "20%")],
            &[("track", "4294967295"), ("run", "1"), ("tracks", "1"), ("foot", "100%")],
        ],
    );
}

#[test]
fn lru_sp() {
    check("lru-sp", &[&[("manager", "lru")], &[("pools", "1")], &[("manager", "lru"), ("pools", "1")]]);
}

#[test]
fn dulo() {
    check(
        "dulo",
        &[
            &[("bank", "30%")],
            &[("bank", "100%"), ("max_sequence", "3"), ("table", "0")],
            &[("bank", "2"), ("max_sequence", "1000"), ("table", "unlimited")],
            &[("bank", "4000000000"), ("max_sequence", "1")],
        ],
    );
}

#[test]
fn karma() {
    check("karma", &[&[("range", "1")], &[("range", "3")], &[("range", "4294967295")]]);
}
