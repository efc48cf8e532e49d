//! Calls of the store: futures on a separate thread, for callers that wait.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::error::StoreError;

/// Threads that look up names of hosts; the other one does all the rest.
const LOOKING_UP: usize = 4;

/// What makes calls. The thread ends with it.
pub(crate) struct Calls {
    handle: Handle,
    at_once: Arc<Semaphore>,
    timeout: Duration,
    /// Ends the thread when it is dropped.
    _goes_on: oneshot::Sender<()>,
}

impl Calls {
    /// `at_once` calls are under way at a time, each for `timeout` at most.
    pub fn new(at_once: usize, timeout: Duration) -> io::Result<Calls> {
        let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(LOOKING_UP).build()?;
        let handle = runtime.handle().clone();
        let (_goes_on, ended) = oneshot::channel::<()>();
        thread::Builder::new().name("store".to_owned()).spawn(move || {
            let _ = runtime.block_on(ended);
            // A name that is being looked up may take long.
            runtime.shutdown_background();
        })?;
        Ok(Calls { handle, at_once: Arc::new(Semaphore::new(at_once.max(1))), timeout, _goes_on })
    }

    /// Permits of calls under way.
    pub fn at_once(&self) -> Arc<Semaphore> {
        self.at_once.clone()
    }

    /// Waits for what `call` gives. The time begins when it is its turn.
    pub fn wait<T: Send + 'static>(
        &self,
        call: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.begin(call).wait()
    }

    /// Begins a call, to be waited for later.
    pub fn begin<T: Send + 'static>(
        &self,
        call: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> UnderWay<T> {
        self.begin_after(async {}, call)
    }

    /// The same of a call whose turn is not before `before` has ended.
    pub fn begin_after<T: Send + 'static>(
        &self,
        before: impl Future<Output = ()> + Send + 'static,
        call: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> UnderWay<T> {
        let (tell, told) = sync_channel(1);
        let is_taken = Arc::new(AtomicBool::new(false));
        let taken = is_taken.clone();
        let (at_once, time) = (self.at_once.clone(), self.timeout);
        let task = self.handle.spawn(async move {
            before.await;
            if taken.swap(true, Ordering::Relaxed) {
                return;
            }
            let Ok(_turn) = at_once.acquire_owned().await else { return };
            let done = timeout(time, call).await.unwrap_or(Err(StoreError::Timeout));
            // The caller may have stopped waiting.
            let _ = tell.send(done);
        });
        UnderWay { told, is_taken, task: task.abort_handle() }
    }
}

/// A call that was begun. It ends when it is dropped.
pub(crate) struct UnderWay<T> {
    told: Receiver<Result<T, StoreError>>,
    /// Its turn has come, or is not to come any more.
    is_taken: Arc<AtomicBool>,
    task: AbortHandle,
}

impl<T> UnderWay<T> {
    /// Waits for what it gives.
    pub fn wait(&self) -> Result<T, StoreError> {
        self.told.recv().unwrap_or(Err(StoreError::Broken))
    }

    /// Its result, if it has ended.
    pub fn look(&self) -> Option<Result<T, StoreError>> {
        match self.told.try_recv() {
            Err(TryRecvError::Empty) => None,
            done => Some(done.unwrap_or(Err(StoreError::Broken))),
        }
    }

    /// Its turn is not to come any more; false if it has come.
    pub fn give_up(&self) -> bool {
        !self.is_taken.swap(true, Ordering::Relaxed)
    }
}

impl<T> Drop for UnderWay<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}
