//! A feed from a list, for tests of receivers.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use crate::{Event, Feed, FileId, How, Result};

/// A feed that hands on prepared events; it never waits.
#[derive(Debug, Default)]
pub struct Scripted {
    /// The events with their times; a poll takes one group.
    groups: VecDeque<Vec<(u64, Event)>>,
    watched: HashSet<FileId>,
    devices: HashSet<u64>,
    reading: bool,
}

impl Scripted {
    /// Each poll hands on one of `groups`: events with their times.
    pub fn new(groups: impl IntoIterator<Item = Vec<(u64, Event)>>) -> Scripted {
        Scripted {
            groups: groups.into_iter().collect(),
            watched: HashSet::new(),
            devices: HashSet::new(),
            reading: true,
        }
    }

    /// One more group, behind the others.
    pub fn push(&mut self, group: Vec<(u64, Event)>) {
        self.groups.push_back(group);
    }

    /// True while reads are wanted.
    pub fn is_reading(&self) -> bool {
        self.reading
    }

    /// True if the file is watched.
    pub fn watches(&self, file: FileId) -> bool {
        self.watched.contains(&file)
    }

    fn is_told(&self, event: &Event) -> bool {
        let is_unwanted = matches!(event, Event::Touched { how: How::Read, .. }) && !self.reading;
        let is_watched = |file: FileId| self.watched.contains(&file) || self.devices.contains(&file.device);
        !is_unwanted && event.file().is_none_or(is_watched)
    }
}

impl Feed for Scripted {
    fn watch(&mut self, file: FileId, _size: u64) -> Result<()> {
        self.watched.insert(file);
        Ok(())
    }

    fn watch_device(&mut self, device: u64) -> Result<()> {
        self.devices.insert(device);
        Ok(())
    }

    fn unwatch(&mut self, file: FileId) {
        self.watched.remove(&file);
    }

    fn poll(&mut self, _timeout: Duration, each: &mut dyn FnMut(u64, Event)) -> Result<usize> {
        let group = self.groups.pop_front().unwrap_or_default();
        let told = group.into_iter().filter(|(_, event)| self.is_told(event)).map(|(at, event)| each(at, event));
        Ok(told.count())
    }

    fn reading(&mut self, wanted: bool) -> Result<()> {
        self.reading = wanted;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId { device: 1, inode: 2 };
    const OTHER: FileId = FileId { device: 1, inode: 3 };

    fn touched(file: FileId, how: How) -> Event {
        Event::Touched { file, first: 4, pages: 2, how, process: 7 }
    }

    fn polled(feed: &mut dyn Feed) -> Vec<(u64, Event)> {
        let mut events = Vec::new();
        let told = feed.poll(Duration::ZERO, &mut |at, event| events.push((at, event))).unwrap();
        assert_eq!(told, events.len());
        events
    }

    #[test]
    fn groups_come_in_order() {
        let first = vec![(1, Event::Added { file: FILE, first: 4, pages: 4 }), (2, touched(FILE, How::Read))];
        let mut feed = Scripted::new([first.clone()]);
        feed.push(vec![(3, Event::Lost(5))]);
        feed.watch(FILE, 1 << 20).unwrap();
        assert_eq!(polled(&mut feed), first);
        assert_eq!(polled(&mut feed), [(3, Event::Lost(5))]);
        assert_eq!(polled(&mut feed), []);
    }

    #[test]
    fn only_what_is_wanted_is_told() {
        let all = vec![(1, touched(FILE, How::Read)), (2, touched(OTHER, How::Read)), (3, touched(FILE, How::Fault))];
        let mut feed = Scripted::new([all.clone(), all.clone(), all.clone()]);
        assert_eq!(polled(&mut feed), []);
        feed.watch(FILE, 1 << 20).unwrap();
        feed.reading(false).unwrap();
        assert_eq!(polled(&mut feed), [all[2]]);
        feed.watch(OTHER, 1 << 20).unwrap();
        feed.unwatch(FILE);
        feed.reading(true).unwrap();
        assert_eq!(polled(&mut feed), [all[1]]);
        assert!(feed.is_reading() && feed.watches(OTHER) && !feed.watches(FILE));
        feed.push(all.clone());
        feed.watch_device(FILE.device).unwrap();
        assert_eq!(polled(&mut feed), all);
    }
}
