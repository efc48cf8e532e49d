//! Drives a paging policy, and beside it its model, one reference at a time.

use hotset_core::paging::{
    self, ACCESSED, Fault, Machine, Object, PRESENT, Page, PageTable, PagingPolicy, Setup, Visitor,
};
use hotset_core::policy::{Args, Catalog};
use hotset_core::spec::Value;

use super::models::{Given, Sight, model};

/// Something that happens to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A reference to a page.
    Touch(Page),
    /// The memory of a page was freed.
    Free(Page),
}

/// A policy and the memory it manages.
#[derive(Clone, Debug)]
pub struct Case {
    /// Name of the policy.
    pub policy: &'static str,
    /// Its arguments.
    pub args: Args,
    /// Pages that may be resident.
    pub frames: u32,
    /// Pages of an object; 0: there are no objects.
    pub object_pages: u32,
    /// Which pages are neighbours: 1 puts page n at address n, another step strews them.
    pub stride: u64,
}

/// What a run gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// References that found their page.
    pub hits: u64,
    /// What left at each fault.
    pub victims: Vec<Option<Page>>,
}

impl Case {
    /// A policy with its defaults; all pages lie in one object.
    pub fn new(policy: &str, frames: u32) -> Case {
        let info = paging::find(policy).unwrap_or_else(|| panic!("{policy} is not registered")).info;
        let args = Args::defaults(info.params, Catalog::EMPTY, Some(PAGE_BYTES));
        Case { policy: info.name, args, frames, object_pages: u32::MAX, stride: 1 }
    }

    /// Sets an argument, written as in a spec.
    pub fn with(mut self, key: &str, value: &str) -> Case {
        let value = Value::parse(value).expect("a literal of the grammar");
        self.args.set(key, value).expect("an argument that the policy takes");
        self
    }

    /// Runs the policy alone.
    pub fn run(&self, steps: &[Step]) -> Run {
        self.drive(steps, false).unwrap_or_else(|difference| panic!("{difference}"))
    }

    /// Runs it beside its model; the first difference is an error.
    pub fn check(&self, steps: &[Step]) -> Result<Run, String> {
        self.drive(steps, true)
    }

    fn drive(&self, steps: &[Step], beside: bool) -> Result<Run, String> {
        paging::visit(self.policy, Drive { case: self, steps, beside }).expect("a registered policy")
    }

    /// The case in an error message.
    fn name(&self) -> String {
        format!("{} in {} frames, objects of {} pages, {:?}", self.policy, self.frames, self.object_pages, self.args)
    }

    fn object(&self, page: Page) -> Option<Object> {
        let pages = u64::from(self.object_pages);
        let id = page.checked_div(self.object_pages)?;
        Some(Object { id, bytes: pages * PAGE_BYTES, is_global: id % 5 == 4 })
    }
}

const PAGE_BYTES: u64 = 4096;

struct Drive<'a> {
    case: &'a Case,
    steps: &'a [Step],
    beside: bool,
}

/// A page table and the future.
struct Simple<'a> {
    table: PageTable,
    steps: &'a [Step],
    now: usize,
}

impl Machine for Simple<'_> {
    fn test_and_clear(&mut self, page: Page) -> bool {
        assert!(self.table.is_present(page), "the bit of a page that is not resident");
        self.table.test_and_clear(page)
    }

    fn next_use(&mut self, page: Page) -> Option<u64> {
        let later = self.steps.iter().enumerate().skip(self.now + 1);
        later.filter(|(_, step)| **step == Step::Touch(page)).map(|(at, _)| at as u64).next()
    }
}

impl Visitor for Drive<'_> {
    type Output = Result<Run, String>;

    fn visit<P: PagingPolicy + 'static>(self) -> Self::Output {
        let Drive { case, steps, beside } = self;
        let pages = steps.iter().map(|step| page_of(*step) + 1).max().unwrap_or(0);
        let addresses: Vec<u64> = (0..u64::from(pages)).map(|page| page * case.stride % (1 << 20)).collect();
        let (frames, seed, args) = (case.frames, 7, &case.args);
        let mut policy = P::new(&Setup { frames, addresses: &addresses, seed, args }).map_err(|it| it.to_string())?;
        let given = Given { frames: frames as usize, args, seed, addresses: &addresses };
        let mut model = beside.then(|| model(case.policy, &given).ok_or("no model")).transpose()?;
        let mut bits = vec![false; pages as usize];
        let future: Vec<u32> = steps.iter().map(|&step| touched(step)).collect();
        let mut machine = Simple { table: PageTable::new(pages), steps, now: 0 };
        let mut run = Run::default();
        for (now, &step) in steps.iter().enumerate() {
            machine.now = now;
            let page = page_of(step);
            if let Step::Free(_) = step {
                policy.free(page);
                machine.table.drop_page(page);
                model.iter_mut().for_each(|model| model.free(page));
                continue;
            }
            bits[page as usize] = true;
            let was_resident = machine.table.is_present(page);
            machine.table.entries_mut()[page as usize] |= PRESENT | ACCESSED;
            if was_resident {
                run.hits += 1;
                continue;
            }
            let victim = policy.fault(Fault { page, time: now as u64, object: case.object(page) }, &mut machine);
            run.victims.push(victim);
            if let Some(model) = &mut model {
                let mut sight = Sight { bits: &mut bits, future: &future[now + 1..] };
                let expected = model.fault(page, case.object(page), &mut sight);
                if victim != expected {
                    return Err(format!(
                        "step {now}, page {page}: {victim:?} left, expected {expected:?}: {}",
                        case.name()
                    ));
                }
                policy.validate();
            }
            if let Some(victim) = victim {
                machine.table.drop_page(victim);
                bits[victim as usize] = false;
            }
            let resident = machine.table.entries().iter().filter(|&&entry| entry & PRESENT != 0).count();
            if policy.len() as usize != resident || resident > frames as usize || !policy.contains(page) {
                return Err(format!(
                    "step {now}: {} pages counted, {resident} resident: {}",
                    policy.len(),
                    case.name()
                ));
            }
        }
        Ok(run)
    }
}

fn page_of(step: Step) -> Page {
    match step {
        Step::Touch(page) | Step::Free(page) => page,
    }
}

/// What a step references; nobody's number for a step that frees.
fn touched(step: Step) -> Page {
    match step {
        Step::Touch(page) => page,
        Step::Free(_) => Page::MAX,
    }
}
