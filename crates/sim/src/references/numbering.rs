//! Numbering the blocks of a trace as it is cut, until all of it is held.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use hotset_core::view::View;

use crate::error::SimError;
use crate::expand::Expanded;
use crate::expand::requests::Requests;
use crate::expand::show::Shower;
use crate::intern::{Interner, TooManyBlocks};
use crate::references::{References, SideColumns};
use crate::window::{Event, What};

/// References being numbered.
#[derive(Default)]
pub(crate) struct Numbering {
    interner: Interner,
    ids: Vec<u32>,
    columns: SideColumns,
}

impl Numbering {
    /// Numbers the blocks of a piece.
    pub fn append(&mut self, expanded: &Expanded) -> Result<(), TooManyBlocks> {
        self.interner.intern(&expanded.keys, &mut self.ids)?;
        self.columns.append(expanded);
        Ok(())
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> u64 {
        self.interner.memory_bytes() + self.columns.memory_bytes() + self.ids.capacity() as u64 * 4
    }

    /// The references so far; the events between them still have addresses.
    pub fn begun(self) -> References {
        References::new(Arc::new(self.ids), self.columns, self.interner.keys())
    }

    /// The references of a whole trace.
    pub fn finish(mut self) -> References {
        self.ids.shrink_to_fit();
        if self.columns.events.is_empty() {
            return self.begun();
        }
        let addresses = self.interner.keys();
        let mut named = Named::new(&addresses, &self.columns);
        named.name(&self.interner, &self.ids, &self.columns);
        let Named { events, ids, .. } = named;
        self.begun().with_events(events, ids)
    }
}

/// What happens between references, by the numbers of the blocks that it is about.
struct Named<'a> {
    addresses: &'a [u64],
    /// Files of which something is invalidated at some time, by the high half of addresses.
    files: HashSet<u32>,
    /// By these: the blocks that are worth something, by their numbers in the file.
    blocks: HashMap<u32, BTreeMap<u32, u32>>,
    /// By block: it is among these, or need not be.
    is_noted: Vec<bool>,
    events: Vec<Event>,
    ids: Vec<u32>,
}

impl<'a> Named<'a> {
    fn new(addresses: &'a [u64], columns: &SideColumns) -> Named<'a> {
        let removals = columns.events.iter().filter(|event| event.what == What::RemoveFrom);
        let keys = removals.flat_map(|event| &columns.event_keys[event.keys.clone()]);
        Named {
            addresses,
            files: keys.map(|key| (key >> 32) as u32).collect(),
            blocks: HashMap::new(),
            is_noted: vec![false; addresses.len()],
            events: Vec::new(),
            ids: Vec::new(),
        }
    }

    fn name(&mut self, interner: &Interner, ids: &[u32], columns: &SideColumns) {
        let mut position = 0;
        for event in &columns.events {
            ids[position..event.at as usize].iter().for_each(|&id| self.note(id));
            position = event.at as usize;
            let begin = self.ids.len();
            let keys = &columns.event_keys[event.keys.clone()];
            match event.what {
                What::RemoveFrom => keys.iter().for_each(|&key| self.remove_from(key)),
                What::Remove => self.ids.extend(keys.iter().filter_map(|&key| interner.find(key))),
                // A block without a reference has no place.
                What::Elsewhere(_) => match keys.iter().map(|&key| interner.find(key)).collect::<Option<Vec<_>>>() {
                    Some(found) => self.ids.extend(found),
                    None => continue,
                },
            }
            if self.ids.len() > begin {
                let what = if event.what == What::RemoveFrom { What::Remove } else { event.what };
                self.events.push(Event { what, keys: begin..self.ids.len(), ..event.clone() });
            }
        }
    }

    /// The block is referenced.
    fn note(&mut self, id: u32) {
        if !std::mem::replace(&mut self.is_noted[id as usize], true) {
            let address = self.addresses[id as usize];
            let file = (address >> 32) as u32;
            if self.files.contains(&file) {
                self.blocks.entry(file).or_default().insert(address as u32, id);
            }
        }
    }

    /// The blocks of a file from `key` on are worth nothing any more.
    fn remove_from(&mut self, key: u64) {
        let Some(blocks) = self.blocks.get_mut(&((key >> 32) as u32)) else { return };
        for id in blocks.split_off(&(key as u32)).into_values() {
            self.is_noted[id as usize] = false;
            self.ids.push(id);
        }
    }
}

/// Shows `requests` in `view`, which classifies. Fails if that takes more memory than is allowed; the error names the
/// policy.
pub(crate) fn show(requests: &Requests, view: &View, policy: &str) -> Result<References, SimError> {
    let mut shower = Shower::new(view, requests);
    let mut numbering = Numbering::default();
    let mut expanded = Expanded::default();
    let mut at = 0;
    loop {
        expanded.clear();
        shower.show(requests.told(), &mut at, &mut expanded);
        if expanded.is_empty() {
            break;
        }
        numbering.append(&expanded)?;
        if numbering.memory_bytes() > requests.memory_allowed {
            let distinct = numbering.interner.len();
            let instead = "or leave the policy out";
            return Err(SimError::over_budget(policy, distinct, requests.memory_allowed, instead));
        }
    }
    let mut shown = numbering.finish();
    shown.classes = shower.classes();
    shown.groups = shower.groups().to_vec();
    shown.block_bytes = shower.into_block_bytes();
    shown.apps.clone_from(&requests.tables.apps);
    Ok(shown)
}
