//! The engine against a machine that goes reference by reference.

use std::sync::Arc;

use hotset_core::policy::{Object, PolicySpec, Reference, Setting};
use hotset_core::registry;
use hotset_testkit::harness::Case;
use hotset_testkit::pager::{Calls, paging, replay_told};
use hotset_testkit::traces;
use hotset_trace::TraceError;
use hotset_trace::memory::{BATCH_RUNS, MemoryBatch, MemoryMeta, MemoryReader, ObjectEvent, ObjectOp, PageRun};

use super::{Frees, HeldMemory, PagingPlan, PagingTally, hold, run};
use crate::progress::Silent;

/// A trace written out.
struct Made {
    runs: Vec<PageRun>,
    events: Vec<ObjectEvent>,
    given: usize,
}

impl MemoryReader for Made {
    fn memory_meta(&self) -> MemoryMeta {
        MemoryMeta { page_bytes: 4096, has_writes: true }
    }

    fn read_memory(&mut self, batch: &mut MemoryBatch) -> Result<(), TraceError> {
        batch.clear();
        let end = (self.given + BATCH_RUNS).min(self.runs.len());
        batch.runs.extend_from_slice(&self.runs[self.given..end]);
        self.given = end;
        let so_far: u64 = self.runs[..end].iter().map(|run| run.references).sum();
        let events = self.events.iter().take_while(|event| event.at <= so_far).count();
        batch.events.extend(self.events.drain(..events));
        Ok(())
    }
}

fn held(runs: Vec<PageRun>, events: Vec<ObjectEvent>) -> Arc<HeldMemory> {
    Arc::new(hold(&mut Made { runs, events, given: 0 }, u64::MAX, &Silent).unwrap())
}

fn tally(trace: &Arc<HeldMemory>, policy: &str, frames: u32, frees: Frees) -> PagingTally {
    let spec = PolicySpec::parse(policy).unwrap().set_in(Setting::Paging);
    let plan = PagingPlan { entry: spec.entry(), args: spec.args(Some(4096)), frames, seed: 7, frees };
    run(trace, &[plan], &Silent).unwrap().remove(0)
}

fn once(page: u64) -> PageRun {
    PageRun { page, references: 1, writes: 0 }
}

fn event(at: u64, op: ObjectOp, page: u64, pages: u64) -> ObjectEvent {
    ObjectEvent { at, op, address: page << 12, bytes: pages << 12, caller: String::new() }
}

/// Pages in phases: narrow loops, wide scans, skewed use; longer than a block in steps and in pages.
fn phases(length: usize) -> Vec<u32> {
    let mut state = 5u64;
    let mut draw = move |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((u128::from(state) * u128::from(below)) >> 64) as u32
    };
    let mut pages = Vec::new();
    while pages.len() < length {
        let (from, span) = (draw(900), draw(600) + 1);
        match draw(3) {
            0 => (0..6000).for_each(|step| pages.push((from + step % (span % 7 + 1)) % 1000)),
            1 => (0..900).for_each(|step| pages.push((from + step) % 1000)),
            _ => (0..2000).for_each(|_| pages.push((from + draw(u64::from(span)).min(draw(u64::from(span)))) % 1000)),
        }
    }
    pages
}

/// Events that put pages together into objects of so many, which [`object`] tells.
fn objects(object_pages: u32) -> Vec<ObjectEvent> {
    let op = |id: u32| if id % 5 == 4 { ObjectOp::Global } else { ObjectOp::Allocate };
    let count = if object_pages == 0 { 0 } else { 1000u32.div_ceil(object_pages) };
    (0..count).map(|id| event(0, op(id), u64::from(id * object_pages), object_pages.into())).collect()
}

fn object(page: u32, object_pages: u32) -> Option<Object> {
    let id = page.checked_div(object_pages)?;
    Some(Object { id, bytes: u64::from(object_pages) << 12, is_global: id % 5 == 4 })
}

#[test]
fn every_policy_faults_where_it_does_reference_by_reference() {
    let pages = phases(60_000);
    // The numbers of pages decide ties: the pager that goes step by step must number them in the same order.
    let mut order = vec![u32::MAX; 1000];
    let mut next = 0;
    let mut dense = |page: u32| {
        if order[page as usize] == u32::MAX {
            (order[page as usize], next) = (next, next + 1);
        }
        order[page as usize]
    };
    let renamed = traces::events(&pages.iter().map(|&page| dense(page)).collect::<Vec<_>>());
    for object_pages in [0, 50] {
        let trace = held(pages.iter().map(|&page| once(page.into())).collect(), objects(object_pages));
        let tell = |_: u32, time: u64| {
            let page = pages[time as usize];
            Reference { time, block: page, object: object(page, object_pages), ..Reference::default() }
        };
        for spec in registry::on_faults().map(|spec| spec.to_string()) {
            for frames in [1, 3, 60, 400, 990, 1000, 4000] {
                let case = Case { seed: 7, ..paging(&spec, frames) };
                let expected = replay_told(Calls::Faults, &case, &renamed, &tell);
                let found = tally(&trace, &spec, frames, Frees::Drop);
                assert_eq!(found.references - found.faults, expected.hits, "{spec} in {frames}");
                assert_eq!(found.faults_after_fill, expected.evicted.len() as u64, "{spec} in {frames}");
            }
        }
    }
}

#[test]
fn repeats_cost_nothing_and_count_all_the_same() {
    let runs = |repeats: u64| {
        let of = |page: u32| PageRun { page: page.into(), references: repeats, writes: 0 };
        phases(20_000).into_iter().map(of).collect::<Vec<_>>()
    };
    for policy in ["clock", "apr", "opt", "car", "clock-pro"] {
        let one = tally(&held(runs(1), Vec::new()), policy, 100, Frees::Drop);
        for repeats in [2, 126, 127, 128, 1 << 40] {
            let many = tally(&held(runs(repeats), Vec::new()), policy, 100, Frees::Drop);
            assert_eq!((many.references, many.faults), (one.references * repeats, one.faults));
            assert_eq!(many.refault_distance, one.refault_distance * u128::from(repeats));
        }
    }
}

/// Pages 0 to 2 fill memory; then page 1 is freed, and its object comes back at the same place.
#[test]
fn freed_pages_give_their_frames_back() {
    let touch = |pages: &[u64]| pages.iter().map(|&page| once(page)).collect::<Vec<_>>();
    let events = vec![
        event(0, ObjectOp::Allocate, 0, 3),
        event(3, ObjectOp::Free, 0, 0),
        event(3, ObjectOp::Free, 77, 0),
        event(3, ObjectOp::Allocate, 0, 3),
    ];
    let trace = held(touch(&[0, 1, 2, 0, 1, 2, 5]), events);
    assert_eq!((trace.objects(), trace.unknown_frees()), (2, 1));
    for spec in registry::on_faults().map(|spec| spec.to_string()) {
        let dropped = tally(&trace, &spec, 3, Frees::Drop);
        assert_eq!((dropped.faults, dropped.refaults), (7, 0), "{spec}");
        assert_eq!(tally(&trace, &spec, 3, Frees::Keep).faults, 4, "{spec}");
        assert_eq!(tally(&trace, &spec, 1000, Frees::Drop).faults, 7, "{spec}");
    }
}

#[test]
fn a_free_in_the_middle_of_a_run_of_references_cuts_it() {
    let runs = vec![PageRun { page: 9, references: 10, writes: 10 }, once(8)];
    let events = vec![event(0, ObjectOp::Allocate, 9, 1), event(4, ObjectOp::Free, 9, 0)];
    let found = tally(&held(runs, events), "clock", 1, Frees::Drop);
    assert_eq!((found.references, found.faults, found.write_backs), (11, 3, 1));
}

#[test]
fn objects_smaller_than_a_page_free_nothing_and_share_it() {
    let small = |at, op, address, bytes| ObjectEvent { at, op, address, bytes, caller: String::new() };
    let events = vec![
        small(0, ObjectOp::Allocate, 4096, 100),
        small(0, ObjectOp::Allocate, 4200, 0),
        small(1, ObjectOp::Allocate, 4200, 8000),
        small(2, ObjectOp::Free, 4096, 0),
        small(3, ObjectOp::Free, 4200, 0),
    ];
    let found = tally(&held(vec![once(1), once(1), once(1), once(1)], events), "apr(threshold=1B)", 1, Frees::Drop);
    assert_eq!(found.faults, 1, "no object covers the whole page");
}

#[test]
fn an_empty_trace_has_no_faults() {
    let trace = held(Vec::new(), vec![event(0, ObjectOp::Allocate, 0, 3)]);
    assert_eq!(tally(&trace, "opt", 1, Frees::Drop), PagingTally::default());
}

#[test]
fn writes_are_carried_to_the_eviction() {
    let written = PageRun { page: 1, references: 3, writes: 1 };
    let trace = held(vec![once(1), once(2), written, once(2), once(3), once(1), once(2)], Vec::new());
    assert_eq!(trace.writes(), 1);
    let found = tally(&trace, "fifo", 2, Frees::Drop);
    assert_eq!((found.faults, found.write_backs), (5, 1));
}

#[test]
fn a_trace_beyond_the_memory_allowed_is_refused() {
    let runs = phases(100_000).into_iter().map(|page| once(page.into())).collect();
    let error = hold(&mut Made { runs, events: Vec::new(), given: 0 }, 1000, &Silent).unwrap_err();
    assert!(error.to_string().contains("raise `memory`"), "{error}");
}
