//! A limit of the bytes on their way to a store.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of a part that stores take.
pub const PART: usize = 8 << 20;

/// Parts of all objects that are on their way at a time, at most, and at first.
const ON_THEIR_WAY: usize = 16;
const AT_FIRST: usize = 2;

/// The bytes in flight to a store: more while parts arrive soon, fewer when they take so long that they might not
/// arrive in time.
pub(crate) struct Room {
    most: u64,
    /// The time that a part should take at most.
    slow: Duration,
    state: Mutex<RoomState>,
    freed: Condvar,
}

/// Bytes that are on their way, and that may be.
struct RoomState {
    used: u64,
    most: u64,
}

impl Room {
    /// A quarter of so many requests is left to readers; each has half of `timeout`.
    pub fn new(requests: usize, timeout: Duration) -> Arc<Room> {
        let most = ((requests * 3 / 4).clamp(1, ON_THEIR_WAY) * PART) as u64;
        let state = Mutex::new(RoomState { used: 0, most: most.min((AT_FIRST * PART) as u64) });
        Arc::new(Room { most, slow: timeout / 8, state, freed: Condvar::new() })
    }

    /// Waits until so many bytes may be in flight; a larger amount than ever allowed is sent alone.
    pub fn take(self: &Arc<Room>, bytes: u64) -> Taken {
        let state = self.lock();
        let is_full = |state: &mut RoomState| state.used > 0 && state.used + bytes > state.most;
        let mut state = self.freed.wait_while(state, is_full).unwrap_or_else(PoisonError::into_inner);
        state.used += bytes;
        Taken { room: self.clone(), bytes, since: Instant::now() }
    }

    fn lock(&self) -> MutexGuard<'_, RoomState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A share that is returned when this is dropped.
pub(crate) struct Taken {
    room: Arc<Room>,
    bytes: u64,
    since: Instant,
}

impl Drop for Taken {
    fn drop(&mut self) {
        let (mut state, took, part) = (self.room.lock(), self.since.elapsed(), PART as u64);
        state.used -= self.bytes;
        if took > self.room.slow {
            state.most = (state.most / 2).max(part);
        } else if took < self.room.slow / 2 && self.bytes >= part {
            state.most = (state.most + part).min(self.room.most);
        }
        self.room.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_more_room_while_parts_arrive_soon_and_less_when_they_do_not() {
        let room = Room::new(64, Duration::from_secs(60));
        let part = PART as u64;
        let most = |room: &Arc<Room>| room.lock().most / part;
        assert_eq!(most(&room), AT_FIRST as u64);
        (0..40).for_each(|_| drop(room.take(part)));
        assert_eq!(most(&room), ON_THEIR_WAY as u64);
        for left in [8, 4, 2, 1, 1] {
            let taken = room.take(part);
            drop(Taken { since: taken.since - Duration::from_secs(9), room: room.clone(), bytes: 0 });
            assert_eq!(most(&room), left);
            std::mem::forget(taken);
            room.lock().used = 0;
        }
        // A part larger than the whole limit is sent alone, and a short one says nothing about the rate.
        drop(room.take(8 * part));
        let before = most(&room);
        drop(room.take(10));
        assert_eq!(most(&room), before);
        assert_eq!(Room::new(1, Duration::from_secs(60)).lock().most, part);
    }
}
