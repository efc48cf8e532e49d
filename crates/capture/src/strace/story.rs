//! From the events of a log to calls, each with its circumstances.

use hotset_trace::{
    Batch,
    runner::{Malformed, number::unexpected},
};

use super::{
    arguments::makes_process,
    line::{Clock, Event, Line},
};
use crate::{
    call::{Action, Call, Handle},
    model::{Model, Oddity, Pending},
};

const DAY: u64 = 24 * 3600 * 1_000_000_000;

/// The state after the lines so far.
pub(super) struct Story {
    /// The state of all processes and files.
    pub model: Model,
    clock: Epoch,
    /// The text of a call put together from its two halves.
    joined: Vec<u8>,
}

impl Story {
    /// A story that begins with `model`.
    pub(super) fn new(model: Model) -> Story {
        Story { model, clock: Epoch::default(), joined: Vec::new() }
    }

    /// Follows the event of a line.
    pub(super) fn follow(&mut self, line: &Line, batch: &mut Batch) -> Result<(), Malformed> {
        let time = line.time.map_or(Ok(0), |clock| self.clock.since_first(clock))?;
        match line.event {
            Event::Call { name, text } => self.model.call(&Call::parse(line.pid, time, name, text)?, batch)?,
            Event::Unfinished { name, text } => self.begin(line.pid, name, text),
            Event::Resumed { name, text } => match self.model.processes.end_call(line.pid) {
                Some(begun) => {
                    let done = self.finish((line.pid, time), name, text, &begun, batch);
                    self.model.processes.forget_call(Some(begun));
                    done?;
                }
                None => self.model.unattributed.odd(Oddity::HeadlessCall),
            },
            Event::Exited => self.model.processes.remove(line.pid),
            Event::Superseded { by } => self.model.processes.supersede(line.pid, by),
            Event::Aside => {}
        }
        Ok(())
    }

    /// A call has begun and another process is heard before it returns.
    fn begin(&mut self, pid: u32, name: &[u8], text: &[u8]) {
        let handle = Handle::at_head(text);
        let mut begun_on = None;
        match (name, &handle) {
            // The descriptor may be given to another thread before this call is heard to return.
            (b"close", Some(handle)) => self.model.close(pid, handle),
            (_, Some(handle @ Handle { number: Some(number), .. })) => {
                begun_on = self.model.description(pid, handle).map(|description| (*number, description));
            }
            _ if makes_process(name) => self.model.processes.expect_child(pid),
            _ => {}
        }
        self.model.processes.begin_call(pid, name, text, begun_on);
    }

    /// A call of thread `pid` returns that had begun on another line.
    fn finish(
        &mut self,
        (pid, time): (u32, u64),
        name: &[u8],
        text: &[u8],
        begun: &Pending,
        batch: &mut Batch,
    ) -> Result<(), Malformed> {
        if begun.name != name {
            let expected = format!("the rest of {} of the same process", begun.name.escape_ascii());
            return Err(unexpected(name, &expected));
        }
        self.joined.clear();
        self.joined.extend_from_slice(&begun.text);
        self.joined.extend_from_slice(text);
        let call = Call::parse(pid, time, name, &self.joined)?;
        match &call.action {
            Action::Close(_) => return Ok(()),
            Action::Fork(_) => {
                let expected = self.model.processes.met_child(pid);
                let known = call.returned().is_some_and(|child| self.model.processes.knows(child as u32));
                // A child that has appeared already is not created again.
                return if expected || !known { self.model.call(&call, batch) } else { Ok(()) };
            }
            _ => {}
        }
        self.model.begun_on = begun.begun_on;
        let done = self.model.call(&call, batch);
        self.model.begun_on = None;
        done
    }
}

/// Turns time stamps into nanoseconds since the first.
#[derive(Debug, Default)]
struct Epoch {
    first: Option<u64>,
    last: u64,
    days: u64,
}

impl Epoch {
    fn since_first(&mut self, clock: Clock) -> Result<u64, Malformed> {
        let now = match clock {
            Clock::Epoch(now) => now,
            Clock::Day(time) => {
                // Half a day back is midnight, less is a clock that was set.
                if time + self.days + DAY / 2 < self.last {
                    self.days += DAY;
                }
                time + self.days
            }
            Clock::Relative => {
                return Err("relative times (`strace -r`) do not say when a call began; record with -ttt".into());
            }
        };
        self.last = now;
        Ok(now.saturating_sub(*self.first.get_or_insert(now)))
    }
}
