//! Threads for what may take long, so that those that answer the kernel are always free for hits.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Threads, at most. The kernel keeps no more requests of a process waiting than it has threads.
const MOST: usize = 64;

type Job = Box<dyn FnOnce() + Send>;

/// The threads. They end when it is dropped and all jobs are done.
#[derive(Debug)]
pub(super) struct Workers {
    jobs: Mutex<Sender<Job>>,
    queue: Arc<Mutex<Receiver<Job>>>,
    /// Jobs that are waiting or being done.
    busy: Arc<AtomicUsize>,
    threads: AtomicUsize,
}

impl Workers {
    pub fn new() -> Workers {
        let (jobs, queue) = channel();
        Workers {
            jobs: Mutex::new(jobs),
            queue: Arc::new(Mutex::new(queue)),
            busy: Arc::default(),
            threads: AtomicUsize::new(0),
        }
    }

    /// Has `job` done soon, by another thread.
    pub fn run(&self, job: impl FnOnce() + Send + 'static) {
        let busy = self.busy.fetch_add(1, Ordering::Relaxed) + 1;
        let threads = self.threads.load(Ordering::Relaxed);
        if busy > threads && threads < MOST {
            self.threads.fetch_add(1, Ordering::Relaxed);
            let (queue, busy) = (self.queue.clone(), self.busy.clone());
            thread::spawn(move || {
                loop {
                    let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok(job) = job else { return };
                    job();
                    busy.fetch_sub(1, Ordering::Relaxed);
                }
            });
        }
        // The receiver is ours.
        let _ = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).send(Box::new(job));
    }
}
