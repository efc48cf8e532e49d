//! Loaders: one a key at a time, errors that are not cached, and loads that are overtaken by changes.

use std::convert::Infallible;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use hotset::{Cache, LoadError};

fn cache() -> Cache<u32, u32> {
    Cache::builder("s3-fifo").capacity(100).build().unwrap()
}

#[test]
fn one_of_several_callers_loads() {
    let cache = cache();
    let (loads, begin) = (AtomicU32::new(0), Barrier::new(8));
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                begin.wait();
                let load = || {
                    loads.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(Duration::from_millis(50));
                    7
                };
                assert_eq!(cache.get_or_insert_with(1, load), Ok(7));
            });
        }
    });
    assert_eq!((loads.into_inner(), cache.get(&1)), (1, Some(7)));
    let stats = cache.stats();
    assert_eq!((stats.loads, stats.failed_loads), (1, 0));
    assert!(stats.load_time >= Duration::from_millis(50));
    cache.validate();
}

#[test]
fn errors_are_not_cached_and_a_caller_that_waits_loads_next() {
    let cache = cache();
    assert_eq!(cache.try_get_or_insert_with(1, || Err("no")), Err(LoadError::Failed("no")));
    assert_eq!(cache.try_get_or_insert_with(1, || Ok::<_, Infallible>(2)), Ok(2));
    let (begun, ready) = mpsc::channel();
    thread::scope(|scope| {
        let first = scope.spawn(|| {
            cache.try_get_or_insert_with(3, || {
                begun.send(()).unwrap();
                thread::sleep(Duration::from_millis(50));
                Err("late")
            })
        });
        ready.recv().unwrap();
        assert_eq!(cache.try_get_or_insert_with(3, || Ok::<_, &str>(4)), Ok(4));
        assert_eq!(first.join().unwrap(), Err(LoadError::Failed("late")));
    });
    assert_eq!(cache.stats().failed_loads, 2);
}

#[test]
fn a_loader_that_panics_lets_the_others_load() {
    let cache = cache();
    let (begun, ready) = mpsc::channel();
    thread::scope(|scope| {
        let first = scope.spawn(|| {
            let load = || -> u32 {
                begun.send(()).unwrap();
                thread::sleep(Duration::from_millis(50));
                panic!("a loader's own panic");
            };
            catch_unwind(AssertUnwindSafe(|| cache.get_or_insert_with(1, load))).is_err()
        });
        ready.recv().unwrap();
        assert_eq!(cache.get_or_insert_with(1, || 5), Ok(5));
        assert!(first.join().unwrap());
    });
    cache.validate();
}

#[test]
fn a_loader_may_use_the_cache_but_not_wait_for_itself() {
    let cache = cache();
    assert_eq!(cache.get_or_insert_with(1, || cache.get_or_insert_with(2, || 3).unwrap() + 1), Ok(4));
    let load = || cache.get_or_insert_with(5, || 6).map_or(0, |_| 1);
    assert_eq!(cache.get_or_insert_with(5, load), Ok(0), "the inner call is refused");
    // Through another thread's loader.
    let (begun, ready) = mpsc::channel();
    let refused = thread::scope(|scope| {
        let other = scope.spawn(|| {
            cache.get_or_insert_with(10, || {
                begun.send(()).unwrap();
                // Until the other thread waits for 10.
                thread::sleep(Duration::from_millis(100));
                cache.get_or_insert_with(11, || 0).map_or(100, |_| 0)
            })
        });
        ready.recv().unwrap();
        let own = cache.get_or_insert_with(11, || cache.get_or_insert_with(10, || 0).unwrap());
        (own, other.join().unwrap())
    });
    assert_eq!(refused, (Ok(100), Ok(100)), "the one that closes the circle is refused");
}

#[test]
fn a_load_that_is_overtaken_does_not_enter_the_cache() {
    type Change = fn(&Cache<u32, u32>);
    let changes: [(Change, Option<u32>); 4] = [
        (|cache| _ = cache.remove(&1), None),
        (|cache| assert!(!cache.insert(1, 9)), Some(9)),
        (|cache| assert_eq!(cache.invalidate_if(|_, _| true).unwrap(), 0), None),
        (Cache::clear, None),
    ];
    for (change, expected) in changes {
        let cache = cache();
        let loaded = cache.get_or_insert_with(1, || {
            change(&cache);
            7
        });
        assert_eq!((loaded, cache.peek(&1)), (Ok(7), expected));
        cache.validate();
    }
}

/// Wakes a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let (mut context, mut future) = (Context::from_waker(&waker), pin!(future));
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(done) => return done,
            Poll::Pending => thread::park_timeout(Duration::from_secs(5)),
        }
    }
}

/// Pending a few times.
struct Later(u32);

impl Future for Later {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.0 == 0 {
            return Poll::Ready(());
        }
        self.0 -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

#[test]
fn futures_load_once_and_another_takes_over_from_a_dropped_one() {
    let cache = cache();
    let loads = AtomicU32::new(0);
    let load = || async {
        loads.fetch_add(1, Ordering::Relaxed);
        Later(3).await;
        Ok::<_, Infallible>(7)
    };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(block_on(cache.try_get_or_insert_async(1, load())), Ok(7)));
        }
    });
    assert_eq!(loads.load(Ordering::Relaxed), 1);

    let waker = Waker::noop();
    let mut context = Context::from_waker(waker);
    let mut first = Box::pin(cache.try_get_or_insert_async(2, load()));
    let mut second = Box::pin(cache.try_get_or_insert_async(2, load()));
    assert!(first.as_mut().poll(&mut context).is_pending());
    assert!(second.as_mut().poll(&mut context).is_pending());
    drop(first);
    assert_eq!(block_on(second), Ok(7));
    assert_eq!((cache.stats().failed_loads, cache.get(&2)), (1, Some(7)));
}

#[test]
fn a_future_that_waits_for_its_own_key_is_refused() {
    let cache = cache();
    let outer = cache.try_get_or_insert_async(1, async {
        match cache.try_get_or_insert_async(1, async { Ok::<_, Infallible>(2) }).await {
            Err(LoadError::Reentrant) => Ok::<_, Infallible>(3),
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(block_on(outer), Ok(3));
}
