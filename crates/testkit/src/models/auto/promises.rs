//! What applications were promised: their weights, and which promises fit together.

use super::{AGES, Auto, first_age};

/// Facts of an application.
pub(super) struct Account {
    goal: f64,
    /// By what the worth of a block of the application is multiplied.
    pub(super) weight: f32,
    references: u64,
    hits: u64,
    is_given_up: bool,
    /// Recent references, hits, and misses of known blocks.
    lately: [u64; 3],
}

impl Auto {
    /// An application refers to a block; now and then weights follow the rates.
    pub(super) fn account(&mut self, key: u32, app: u32, is_known: bool) {
        if self.goals.is_empty() {
            return;
        }
        self.of.insert(key, app);
        let hit = self.resident.contains(&key);
        let goal = self.goals.get(&crate::world::app_name(app)).copied().unwrap_or(0.0);
        let new = || Account { goal, weight: 1.0, references: 0, hits: 0, is_given_up: false, lately: [0; 3] };
        if !self.accounts.contains_key(&app) {
            self.came.push(app);
        }
        let account = self.accounts.entry(app).or_insert_with(new);
        account.references += 1;
        account.hits += u64::from(hit);
        let also = [true, hit, !hit && is_known];
        account.lately.iter_mut().zip(also).for_each(|(count, also)| *count += u64::from(also));
        if u64::from(self.now) % self.look > 0 {
            return;
        }
        let window = (4 * self.look).max(self.capacity as u64 / 4);
        for account in self.accounts.values_mut().filter(|account| account.goal > 0.0) {
            let percent = |part: u64, all: u64| 100.0 * part as f64 / (all as f64).max(1.0);
            let [references, hits, avoidable] = account.lately;
            let owed = (account.goal - percent(account.hits, account.references)).clamp(-5.0, 5.0);
            let gap = account.goal + owed - percent(hits, references);
            let weight = f64::from(account.weight);
            let weight = if account.is_given_up {
                1.0 + (weight - 1.0) * 0.5
            } else if gap > 0.0 {
                weight * (1.0 + 0.01 * gap.min(percent(avoidable, references)).min(20.0))
            } else {
                1.0 + (weight - 1.0) * (1.0 - 0.1 * (-gap).min(5.0))
            };
            account.weight = (weight as f32).min(256.0);
            if references >= window {
                account.lately = account.lately.map(|count| count / 2);
            }
        }
    }

    /// With other curves there are other candidates, and promises need something else.
    pub(super) fn renewed(&mut self) {
        self.worst.clear();
        let mut left = self.capacity as f64;
        let promised = self.came.iter().filter(|app| self.accounts[app].goal > 0.0);
        let mut needs: Vec<(f64, u32)> = promised.map(|&app| (self.need(app), app)).collect();
        needs.sort_by(|one, other| one.0.total_cmp(&other.0));
        for (place, (need, app)) in needs.into_iter().enumerate() {
            self.accounts.get_mut(&app).expect("it has come").is_given_up = place > 0 && need > left;
            left = (left - need).max(0.0);
        }
    }

    /// Blocks that an application needs for its promise if those that are worth most are kept.
    fn need(&self, app: u32) -> f64 {
        let all: f64 = self.nodes.iter().map(|node| f64::from(node.evidence)).sum();
        let mut kept: Vec<(usize, f32, f64, f64)> = Vec::new();
        let mut references = 0.0;
        for (place, node) in self.nodes.iter().enumerate() {
            if node.evidence == 0.0 || self.app_of(place) != Some(app) {
                continue;
            }
            let share = f64::from(node.evidence) / all;
            references += share;
            let (mut unused, mut worth, mut room, mut used) = (1.0, f32::MAX, 0.0, 0.0);
            for bucket in 0..AGES {
                let after = unused * (1.0 - f64::from(node.hazard[bucket]));
                let ages = (first_age(bucket + 1) - first_age(bucket)) as f64;
                let (room_after, used_after) = (room + ages * (unused + after) / 2.0, 1.0 - after);
                worth = worth.min(node.index[bucket]);
                kept.push((place, worth, share * (room_after - room), share * (used_after - used)));
                (unused, room, used) = (after, room_after, used_after);
            }
        }
        kept.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        let goal = self.accounts[&app].goal / 100.0 * references;
        let (mut blocks, mut hits, mut from) = (0.0, 0.0, 0);
        while from < kept.len() {
            let same = |one: &(usize, f32, f64, f64)| (one.0, one.1) == (kept[from].0, kept[from].1);
            let end = from + kept[from..].iter().take_while(|one| same(one)).count();
            let room: f64 = kept[from..end].iter().map(|one| one.2).sum();
            let used: f64 = kept[from..end].iter().map(|one| one.3).sum();
            if used > 0.0 && hits + used >= goal {
                return (blocks + (goal - hits) / used * room).ceil();
            }
            (blocks, hits, from) = (blocks + room, hits + used, end);
        }
        f64::INFINITY
    }

    /// The application of a flow, if it is of one.
    fn app_of(&self, place: usize) -> Option<u32> {
        let node = &self.nodes[place];
        match node.key? {
            (0, part, ..) => Some((part >> 32) as u32),
            _ => self.app_of(node.parent?),
        }
    }
}
