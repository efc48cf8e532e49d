//! Generators of traces: the shapes that tell policies apart.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::harness::Event;

/// Traces of a few hundred references, the same ones every time: skewed, a loop, a loop in a skewed trace, a scan.
pub fn samples() -> Vec<Vec<u32>> {
    let mut state = 3u64;
    let mut draw = move |keys: u32| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let unit = (state >> 40) as f64 / (1u64 << 24) as f64;
        (f64::from(keys).powf(unit) as u32).min(keys - 1)
    };
    let skewed: Vec<u32> = (0..600).map(|_| draw(60)).collect();
    let looped: Vec<u32> = (0..600).map(|step| step % 37).collect();
    let mixed: Vec<u32> = (0..600).map(|step| if step % 3 == 0 { 60 + step / 3 % 25 } else { draw(40) }).collect();
    let scanned: Vec<u32> = (0..400).map(|step| if step % 2 == 0 { 100 + step } else { draw(20) }).collect();
    vec![skewed, looped, mixed, scanned]
}

/// Every trace of `length` references over `keys` keys, in lexical order.
pub fn all(keys: u32, length: u32) -> impl Iterator<Item = Vec<u32>> {
    (0..keys.pow(length)).map(move |number| {
        let digit = |place: u32| number / keys.pow(length - 1 - place) % keys;
        (0..length).map(digit).collect()
    })
}

/// Those of them that first use the keys in order: a policy that sees only a key's number cannot tell the others apart.
pub fn all_in_order(keys: u32, length: u32) -> impl Iterator<Item = Vec<u32>> {
    all(keys, length).filter(|trace| {
        let mut next = 0;
        trace.iter().all(|&key| {
            let comes_in_order = key <= next;
            next = next.max(key + 1);
            comes_in_order
        })
    })
}

/// Each trace with the number of its first reference that differs from the trace before.
pub fn with_first_news(traces: impl Iterator<Item = Vec<u32>>) -> Vec<(usize, Vec<u32>)> {
    let mut before = Vec::new();
    let news = |trace: Vec<u32>| {
        let first = trace.iter().zip(&before).take_while(|(key, other)| key == other).count();
        before.clone_from(&trace);
        (first, trace)
    };
    traces.map(news).collect()
}

/// Turns a trace into events.
pub fn events(trace: &[u32]) -> Vec<Event> {
    trace.iter().map(|&key| Event::Access(key)).collect()
}

/// Traces over keys below `keys`: uniform, loops, scans, zipf-like, and pieces of all of them one after the other.
pub fn any(keys: u32) -> impl Strategy<Value = Vec<u32>> {
    vec(piece(keys), 1..5).prop_map(|pieces| pieces.concat())
}

/// Events with removals and resizes strewn in.
pub fn eventful(keys: u32, most: u32) -> impl Strategy<Value = Vec<Event>> {
    let rare = prop_oneof![
        6 => Just(None),
        1 => (0..keys).prop_map(|key| Some(Event::Remove(key))),
        1 => (1..=most).prop_map(|capacity| Some(Event::Resize(capacity))),
    ];
    (any(keys), vec(rare, 64)).prop_map(|(trace, strewn)| {
        let besides = strewn.into_iter().cycle();
        trace.iter().zip(besides).flat_map(|(&key, rare)| rare.into_iter().chain([Event::Access(key)])).collect()
    })
}

fn piece(keys: u32) -> impl Strategy<Value = Vec<u32>> {
    prop_oneof![
        vec(0..keys, 1..100),
        vec((0.0..1.0f64).prop_map(move |u| skewed(u, keys)), 1..200),
        (0..keys, 1..=keys, 1..200usize).prop_map(move |(from, span, length)| around(from, span, length, keys)),
        (0..keys, 1..=keys).prop_map(move |(from, length)| around(from, length, length as usize, keys)),
        (0..keys, 1..8usize).prop_map(|(key, times)| vec![key; times]),
    ]
}

/// `length` references going round `span` keys from `from` on: a scan, or a loop when it is longer than the span.
fn around(from: u32, span: u32, length: usize, keys: u32) -> Vec<u32> {
    (0..span).cycle().take(length).map(|step| (from + step) % keys).collect()
}

/// Key k is met in proportion to 1/(k + 1), nearly: the inverse of the harmonic sum, taken as a logarithm.
fn skewed(u: f64, keys: u32) -> u32 {
    ((f64::from(keys) + 1.0).powf(u) as u32).saturating_sub(1).min(keys - 1)
}
