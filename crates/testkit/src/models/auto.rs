//! Auto: blocks, flows and the sample as sorted maps and vectors, all curves from the whole of what was counted.

mod curves;
mod promises;
mod runs;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hotset_core::policy::{Argument, Reference};
use hotset_core::random::Rng;
use hotset_core::spec::Value;

use crate::model::{Given, Model, ModelStep};
use curves::{AGES, bucket, first_age, index_of};
use promises::Account;

const FIXED: usize = 23;

/// Facts of a block.
#[derive(Clone, Copy)]
struct Block {
    last: u32,
    node: usize,
    /// How many flows had the node's place before that one, modulo 64.
    generation: u32,
    interval: usize,
    counted: usize,
    /// Written since it came in.
    is_dirty: bool,
    /// Uses since the block is known, except the first.
    returns: u32,
}

/// What flows are found by: the level, a number of the block's place, the reuse interval, how often it came back.
type Key = (usize, u64, usize, u64);

struct Node {
    key: Option<Key>,
    parent: Option<usize>,
    generation: u32,
    evidence: f32,
    uses: Vec<f32>,
    at_risk: Vec<f32>,
    news: Vec<f32>,
    hazard: Vec<f32>,
    index: Vec<f32>,
    /// What hits at the uses would have saved, and what one saves on average: as requests are read, and block by block.
    saved: [f32; 2],
    value: [f32; 2],
    /// How many times as much block by block.
    apart: f32,
    /// Results that are used only by the next computation.
    pending: Option<Pending>,
}

#[derive(Clone)]
struct Pending {
    saved: [f32; 2],
    value: [f32; 2],
    apart: f32,
    uses: Vec<f32>,
    at_risk: Vec<f32>,
    hazard: Vec<f32>,
    index: Vec<f32>,
}

pub(super) struct Auto {
    /// Hits count by the time that they save.
    is_by_time: bool,
    /// Blocks are compared by what they are worth for each of their bytes.
    is_by_size: bool,
    bytes: BTreeMap<u32, u32>,
    goals: BTreeMap<String, f64>,
    look: u64,
    accounts: BTreeMap<u32, Account>,
    /// Applications in the order in which they came.
    came: Vec<u32>,
    /// Who referred to a block last.
    of: BTreeMap<u32, u32>,
    /// Curves are used a computation late.
    is_late: bool,
    has_pending: bool,
    capacity: usize,
    most_sampled: usize,
    ghosts_by_capacity: f64,
    draws: usize,
    most_nodes: usize,
    asks: u32,
    prior: f32,
    decay: f32,
    least_period: u64,
    random: Rng,
    now: u32,
    computed_at: u32,
    wait: u64,
    blocks: BTreeMap<u32, Block>,
    /// In no order: one that leaves has its place taken by the last.
    resident: Vec<u32>,
    ghosts: BTreeSet<u32>,
    /// Blocks that have left, with their last use then.
    left: VecDeque<(u32, u32)>,
    /// By key, the block's hash.
    sample: BTreeMap<u32, u32>,
    bound: u32,
    nodes: Vec<Node>,
    wanted: BTreeMap<u64, (u64, u32)>,
    /// By the file's low bits: its number, the last block, the length of its run, the block's key.
    runs: BTreeMap<u32, (u32, u32, u32, u32)>,
    /// Resident blocks of which the second was referenced right after the first, and is the next of the file.
    pairs: Vec<(u32, u32)>,
    worst: Vec<u32>,
}

/// The statement's hash: the end of SplitMix64.
fn mix(mut number: u64) -> u64 {
    number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

fn hash_of_key((level, part, interval, often): Key) -> u64 {
    mix(mix(part) ^ (often << 16) ^ ((level as u64) << 8) ^ interval as u64).max(1)
}

impl Model for Auto {
    fn new(given: &Given<'_>) -> Auto {
        let args = given.args;
        let most_nodes = args.count("nodes") as usize;
        let node = |number: usize| Node {
            key: None,
            parent: (number > 0).then_some(0),
            generation: 0,
            evidence: 0.0,
            uses: vec![0.0; AGES],
            at_risk: vec![0.0; AGES],
            news: vec![0.0; AGES + 1],
            hazard: vec![0.0; AGES],
            index: vec![0.0; AGES + 1],
            saved: [0.0; 2],
            value: [1.0; 2],
            apart: 1.0,
            pending: None,
        };
        let has_costs = given.references.iter().any(|reference| reference.cost > 0);
        let has_sizes = given.references.iter().any(|reference| reference.bytes > 0);
        let [hit, miss] = ["hit_time", "miss_time"].map(|key| args.time(key) as f64);
        let rate = |goal: &Argument| match goal {
            Argument::Value(Value::Percent(rate)) => *rate,
            Argument::Value(Value::Time(time)) => ((miss - *time as f64) / (miss - hit) * 100.0).clamp(0.0, 100.0),
            other => panic!("{other} is not a goal"),
        };
        let mut auto = Auto {
            is_by_time: has_costs && ["known", "seconds"].contains(&args.word("value")),
            is_by_size: has_sizes && args.word("value") != "bytes",
            bytes: BTreeMap::new(),
            goals: args.apps("APP").iter().map(|(name, goal)| (name.clone(), rate(goal))).collect(),
            look: args.count("look"),
            accounts: BTreeMap::new(),
            came: Vec::new(),
            of: BTreeMap::new(),
            is_late: args.word("curves") == "background",
            has_pending: false,
            capacity: given.capacity,
            most_sampled: args.count("sample") as usize,
            ghosts_by_capacity: args.real("ghosts"),
            draws: args.count("candidates") as usize,
            most_nodes,
            asks: args.count("asks") as u32,
            prior: args.real("prior") as f32,
            decay: args.real("decay") as f32,
            least_period: args.count("period"),
            random: Rng::new(given.seed),
            now: 0,
            computed_at: 0,
            wait: 0,
            blocks: BTreeMap::new(),
            resident: Vec::new(),
            ghosts: BTreeSet::new(),
            left: VecDeque::new(),
            sample: BTreeMap::new(),
            bound: u32::MAX,
            nodes: (0..FIXED).map(node).collect(),
            wanted: BTreeMap::new(),
            runs: BTreeMap::new(),
            pairs: Vec::new(),
            worst: Vec::new(),
        };
        auto.wait = auto.period();
        auto
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        self.now += 1;
        if u64::from(self.now - self.computed_at) >= self.wait {
            self.sweep();
        }
        let is_known = self.blocks.contains_key(&key);
        let before = self.refer(key, reference);
        self.account(key, reference.app, is_known);
        if self.resident.contains(&key) {
            self.pair(before, key);
            return ModelStep::hit();
        }
        let mut evicted = None;
        if self.resident.len() == self.capacity {
            let victim = self.choose();
            let kept = before.iter().filter(|before| self.resident.contains(before)).count();
            if self.index_beside(key, kept) < self.index(victim) {
                self.ghost(key);
                return ModelStep::bypassed();
            }
            self.evict(victim);
            evicted = Some(victim);
        }
        self.ghosts.remove(&key);
        self.resident.push(key);
        self.pair(before, key);
        ModelStep::admitted(evicted)
    }

    fn remove(&mut self, key: u32) {
        if self.sample.contains_key(&key) {
            self.live_on(key);
            self.sample.remove(&key);
        }
        self.take_out(key);
        self.ghosts.remove(&key);
        self.blocks.remove(&key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.capacity = capacity;
        let due = u64::from(self.now - self.computed_at) + self.period();
        self.wait = self.wait.min(due);
        let mut evicted = Vec::new();
        while self.resident.len() > capacity {
            let victim = self.choose();
            self.evict(victim);
            evicted.push(victim);
        }
        self.trim();
        evicted
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.resident.iter().copied().collect()
    }
}

impl Auto {
    fn period(&self) -> u64 {
        self.least_period.max(self.capacity as u64 / 10).min((u64::from(self.now) / 4).max(256))
    }

    fn age(&self, key: u32) -> u32 {
        self.now - self.blocks[&key].last
    }

    /// All that a reference tells, and the block's new flow. Gives the block that it follows.
    fn refer(&mut self, key: u32, reference: Reference) -> Option<u32> {
        self.bytes.insert(key, reference.bytes.max(1));
        let (goes_on, before) = self.follow(key, &reference);
        let hash = (mix(u64::from(reference.file) << 32 | u64::from(reference.block)) >> 32) as u32;
        let known = self.blocks.get(&key).copied();
        match known {
            Some(known) if self.sample.contains_key(&key) => {
                let reached = bucket(self.now - known.last).max(known.counted);
                // Two writes of one block are written back as one.
                let saves = !reference.write || known.is_dirty;
                let costs = [reference.cost as f32, reference.cost_apart as f32];
                let saved = if self.is_by_time && saves { costs } else { [0.0; 2] };
                self.count(known, known.counted..reached + 1, Some((reached, saved)));
            }
            None if hash <= self.bound => {
                self.sample.insert(key, hash);
                self.thin();
            }
            _ => {}
        }
        let range = |age: u32| (f64::from(age).log2() / 2.0).floor().min(9.0) as usize;
        let interval = match known {
            None => 1 + usize::from(goes_on),
            Some(known) => 3 + range(self.now - known.last) + 10 * usize::from(goes_on),
        };
        let returns = known.map_or(0, |known| known.returns + 1);
        let node = self.descend(&reference, interval, returns, self.sample.contains_key(&key));
        let generation = self.nodes[node].generation;
        let was_dirty = self.resident.contains(&key) && known.is_some_and(|known| known.is_dirty);
        let is_dirty = reference.write || was_dirty;
        self.blocks.insert(key, Block { last: self.now, node, generation, interval, counted: 0, is_dirty, returns });
        before
    }

    /// The smallest flow of a reference that is there.
    fn descend(&mut self, reference: &Reference, interval: usize, returns: u32, is_sampled: bool) -> usize {
        let file = u64::from(reference.file);
        let often = [0, 1, 2, 4, 8, 16].iter().rposition(|&least| least <= returns).unwrap_or(0) as u64;
        let parts = [
            (u64::from(reference.app) << 32 | u64::from(reference.group), 0),
            (file, 0),
            (file, often),
            (file << 32 | u64::from(reference.block / 1024), often),
        ];
        let mut node = interval;
        for (level, (part, often)) in parts.into_iter().enumerate() {
            let key = (level, part, interval, often);
            let found = self.nodes.iter().position(|other| other.key == Some(key));
            let Some(child) = found.or_else(|| if is_sampled { self.ask(key, node) } else { None }) else { break };
            node = child;
        }
        if is_sampled {
            self.nodes[node].evidence += 1.0;
        }
        node
    }

    fn ask(&mut self, key: Key, parent: usize) -> Option<usize> {
        let hash = hash_of_key(key);
        let wanted = self.wanted.entry(hash % 4096).or_insert((hash, 0));
        if wanted.1 == 0 {
            *wanted = (hash, 1);
        } else if wanted.0 == hash {
            wanted.1 += 1;
        } else {
            wanted.1 -= 1;
            return None;
        }
        if wanted.1 < self.asks {
            return None;
        }
        let place = self.place(parent)?;
        self.wanted.remove(&(hash % 4096));
        let Node { hazard, index, value, apart, .. } = &self.nodes[parent];
        let (hazard, index, value, apart) = (hazard.clone(), index.clone(), *value, *apart);
        let generation = self.nodes.get(place).map_or(0, |before| (before.generation + 1) % 64);
        let node = Node {
            key: Some(key),
            parent: Some(parent),
            generation,
            evidence: self.asks as f32,
            uses: vec![0.0; AGES],
            at_risk: vec![0.0; AGES],
            news: vec![0.0; AGES + 1],
            hazard,
            index,
            saved: [0.0; 2],
            value,
            apart,
            pending: None,
        };
        if place == self.nodes.len() {
            self.nodes.push(node);
        } else {
            self.nodes[place] = node;
        }
        Some(place)
    }

    fn place(&self, asking: usize) -> Option<usize> {
        if self.nodes.len() < self.most_nodes {
            return Some(self.nodes.len());
        }
        let is_parent = |place: usize| self.nodes.iter().any(|node| node.parent == Some(place));
        let mut least: Option<usize> = None;
        for place in (FIXED..self.nodes.len()).filter(|&place| place != asking && !is_parent(place)) {
            if least.is_none_or(|least| self.nodes[place].evidence < self.nodes[least].evidence) {
                least = Some(place);
            }
        }
        least
    }

    /// The node of a block's flow: another flow may have taken its place.
    fn node(&self, block: Block) -> usize {
        if self.nodes[block.node].generation == block.generation { block.node } else { block.interval }
    }

    /// A block lived through these buckets, and was used in one of them or not, for its flow and all that contain it.
    fn count(&mut self, block: Block, lived: std::ops::Range<usize>, used: Option<(usize, [f32; 2])>) {
        let mut at = Some(self.node(block));
        while let Some(place) = at {
            let node = &mut self.nodes[place];
            if !lived.is_empty() {
                node.news[lived.start] += 1.0;
                node.news[lived.end] -= 1.0;
            }
            if let Some((bucket, saved)) = used {
                node.uses[bucket] += 1.0;
                node.saved = [node.saved[0] + saved[0], node.saved[1] + saved[1]];
            }
            at = node.parent;
        }
    }

    /// A sampled block has not been used until now.
    fn live_on(&mut self, key: u32) {
        let (block, reached) = (self.blocks[&key], bucket(self.age(key)));
        if reached > block.counted {
            self.count(block, block.counted..reached, None);
            self.blocks.get_mut(&key).expect("a known block").counted = reached;
        }
    }

    fn thin(&mut self) {
        while self.sample.len() > self.most_sampled {
            self.bound = self.bound / 4 * 3;
            let bound = self.bound;
            let out: Vec<u32> = self.sample.iter().filter(|&(_, &hash)| hash > bound).map(|(&key, _)| key).collect();
            for key in out {
                self.sample.remove(&key);
                self.forget_if_gone(key);
            }
        }
    }

    fn forget_if_gone(&mut self, key: u32) {
        if !self.resident.contains(&key) && !self.ghosts.contains(&key) && !self.sample.contains_key(&key) {
            self.blocks.remove(&key);
        }
    }

    fn sweep(&mut self) {
        self.computed_at = self.now;
        self.wait = self.period();
        for key in self.sample.keys().copied().collect::<Vec<u32>>() {
            self.live_on(key);
        }
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_by_key(|&place| self.depth(place));
        if self.has_pending {
            order.iter().for_each(|&place| self.use_pending(place));
            self.renewed();
        }
        let before: Vec<_> =
            self.nodes.iter().map(|node| (node.hazard.clone(), node.index.clone(), node.value, node.apart)).collect();
        order.iter().for_each(|&place| self.compute(place));
        if !self.is_late {
            return self.renewed();
        }
        self.has_pending = true;
        for (node, (hazard, index, value, apart)) in self.nodes.iter_mut().zip(before) {
            node.pending = Some(Pending {
                saved: std::mem::take(&mut node.saved),
                value: std::mem::replace(&mut node.value, value),
                apart: std::mem::replace(&mut node.apart, apart),
                uses: std::mem::replace(&mut node.uses, vec![0.0; AGES]),
                at_risk: std::mem::replace(&mut node.at_risk, vec![0.0; AGES]),
                hazard: std::mem::replace(&mut node.hazard, hazard),
                index: std::mem::replace(&mut node.index, index),
            });
        }
    }

    /// Goes on with what was computed the last time. A flow that was made since is like the one that contains it.
    fn use_pending(&mut self, place: usize) {
        let parent = self.nodes[place].parent.map(|parent| &self.nodes[parent]);
        let of_parent = parent.map(|parent| (parent.hazard.clone(), parent.index.clone(), parent.value, parent.apart));
        let node = &mut self.nodes[place];
        match node.pending.take() {
            Some(pending) => {
                node.uses = pending.uses.iter().zip(&node.uses).map(|(before, since)| before + since).collect();
                (node.at_risk, node.hazard, node.index) = (pending.at_risk, pending.hazard, pending.index);
                node.saved = [pending.saved[0] + node.saved[0], pending.saved[1] + node.saved[1]];
                (node.value, node.apart) = (pending.value, pending.apart);
            }
            None => {
                (node.hazard, node.index, node.value, node.apart) =
                    of_parent.expect("all blocks are a flow from the beginning");
            }
        }
    }

    fn depth(&self, place: usize) -> usize {
        self.nodes[place].parent.map_or(0, |parent| 1 + self.depth(parent))
    }

    fn compute(&mut self, place: usize) {
        let (prior, weight) = match self.nodes[place].parent {
            Some(parent) => (self.nodes[parent].hazard.clone(), self.prior),
            None => (vec![0.0; AGES], 2.0),
        };
        let (decay, own_prior) = (self.decay, self.prior);
        let value_around = self.nodes[place].parent.map(|parent| self.nodes[parent].value);
        let node = &mut self.nodes[place];
        let uses: f32 = node.uses.iter().sum();
        if self.is_by_time {
            node.value = std::array::from_fn(|way| match value_around {
                Some(around) => (node.saved[way] + own_prior * around[way]) / (uses + own_prior),
                None if uses == 0.0 => 1.0,
                None => node.saved[way] / uses,
            });
            node.saved = node.saved.map(|saved| saved * decay);
            node.apart = if node.value[0] == 0.0 { 1.0 } else { (node.value[1] / node.value[0]).max(1.0) };
        }
        let mut alive = 0.0;
        for (bucket, prior) in prior.into_iter().enumerate() {
            alive += node.news[bucket];
            node.at_risk[bucket] += alive;
            let chance = (node.uses[bucket] + weight * prior) / (node.at_risk[bucket] + weight);
            node.hazard[bucket] = chance.min(1.0);
            node.uses[bucket] *= decay;
            node.at_risk[bucket] *= decay;
        }
        node.news = vec![0.0; AGES + 1];
        node.evidence *= 0.98;
        node.index = index_of(&node.hazard).into_iter().map(|index| index * node.value[0]).collect();
    }

    fn index(&self, key: u32) -> f32 {
        self.index_beside(key, self.kept_around(key).len())
    }

    /// Of a block of whose neighbours so many are resident.
    fn index_beside(&self, key: u32, kept: usize) -> f32 {
        let node = &self.nodes[self.node(self.blocks[&key])];
        let (age, curve) = (self.age(key), &node.index);
        let bucket = bucket(age);
        let (first, next) = (first_age(bucket), first_age(bucket + 1));
        let share = ((u64::from(age) - first) as f32 / (next - first) as f32).min(1.0);
        let worth = curve[bucket] + share * (curve[bucket + 1] - curve[bucket]);
        let worth = if self.is_by_size { worth / self.bytes[&key] as f32 } else { worth };
        let worth = match kept {
            _ if !self.is_by_time => worth,
            0 => worth / node.apart,
            1 => worth,
            _ => worth * node.apart,
        };
        if self.goals.is_empty() { worth } else { worth * self.accounts[&self.of[&key]].weight }
    }

    fn choose(&mut self) -> u32 {
        let mut looked_at: BTreeSet<u32> = self.worst.iter().copied().collect();
        if self.resident.len() <= self.draws {
            looked_at.extend(&self.resident);
        } else {
            for _ in 0..self.draws {
                looked_at.insert(self.resident[self.random.below(self.resident.len() as u32) as usize]);
            }
        }
        let mut ranked: Vec<u32> = looked_at.into_iter().collect();
        // The least index first, and of equals the oldest.
        ranked.sort_by(|&one, &other| {
            self.index(one).total_cmp(&self.index(other)).then(self.blocks[&one].last.cmp(&self.blocks[&other].last))
        });
        ranked.truncate(17);
        self.worst = ranked;
        self.worst[0]
    }

    fn take_out(&mut self, key: u32) {
        if let Some(place) = self.resident.iter().position(|&other| other == key) {
            self.resident.swap_remove(place);
        }
        self.worst.retain(|&other| other != key);
        self.pairs.retain(|&(one, other)| one != key && other != key);
    }

    fn evict(&mut self, key: u32) {
        if self.is_by_time {
            let kept = self.kept_around(key);
            self.worst.extend(kept);
        }
        self.take_out(key);
        self.ghost(key);
    }

    fn ghost(&mut self, key: u32) {
        self.ghosts.insert(key);
        self.left.push_back((key, self.blocks[&key].last));
        self.trim();
    }

    fn trim(&mut self) {
        let most = (self.ghosts_by_capacity * self.capacity as f64) as usize;
        while self.left.len() > most {
            let (key, last) = self.left.pop_front().expect("one too many");
            if self.ghosts.contains(&key) && self.blocks[&key].last == last {
                self.ghosts.remove(&key);
                self.forget_if_gone(key);
            }
        }
    }
}
