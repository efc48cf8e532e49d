//! The functions that SQLite calls, `sqlite3_pcache_methods2`.

use std::ffi::{c_int, c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{NonNull, null_mut};
use std::sync::OnceLock;

use hotset_core::policy::PolicySpec;

use crate::cache::{Create, PageCache};
use crate::frames::Page;

/// SQLite's table of functions of a page cache.
#[repr(C)]
pub(crate) struct Methods {
    version: c_int,
    argument: *mut c_void,
    init: unsafe extern "C" fn(*mut c_void) -> c_int,
    shutdown: unsafe extern "C" fn(*mut c_void),
    create: unsafe extern "C" fn(c_int, c_int, c_int) -> *mut PageCache,
    set_capacity: unsafe extern "C" fn(*mut PageCache, c_int),
    len: unsafe extern "C" fn(*mut PageCache) -> c_int,
    fetch: unsafe extern "C" fn(*mut PageCache, c_uint, c_int) -> *mut Page,
    unpin: unsafe extern "C" fn(*mut PageCache, *mut Page, c_int),
    rekey: unsafe extern "C" fn(*mut PageCache, *mut Page, c_uint, c_uint),
    truncate: unsafe extern "C" fn(*mut PageCache, c_uint),
    destroy: unsafe extern "C" fn(*mut PageCache),
    shrink: unsafe extern "C" fn(*mut PageCache),
}

// SAFETY: the table is only read, and its argument is null.
unsafe impl Sync for Methods {}

pub(crate) static METHODS: Methods = Methods {
    version: 1,
    argument: null_mut(),
    init,
    shutdown,
    create,
    set_capacity,
    len,
    fetch,
    unpin,
    rekey,
    truncate,
    destroy,
    shrink,
};

/// The policy of all caches. It is set before SQLite gets the table.
pub(crate) static POLICY: OnceLock<PolicySpec> = OnceLock::new();

const SQLITE_OK: c_int = 0;

/// Runs a call on a cache. A panic costs the cache its policy, and the call returns `otherwise`.
///
/// # Safety
/// The cache came from [`create`], and no other thread uses it.
unsafe fn on<T>(cache: *mut PageCache, otherwise: T, call: impl FnOnce(&mut PageCache) -> T) -> T {
    // SAFETY: as the caller states.
    let Some(cache) = (unsafe { cache.as_mut() }) else { return otherwise };
    match catch_unwind(AssertUnwindSafe(|| call(cache))) {
        Ok(done) => done,
        Err(_) => {
            // A second panic leaves the pages that are left, which is safe.
            let _ = catch_unwind(AssertUnwindSafe(|| cache.drop_policy()));
            otherwise
        }
    }
}

unsafe extern "C" fn init(_: *mut c_void) -> c_int {
    SQLITE_OK
}

unsafe extern "C" fn shutdown(_: *mut c_void) {}

unsafe extern "C" fn create(page_bytes: c_int, extra_bytes: c_int, may_evict: c_int) -> *mut PageCache {
    let made = catch_unwind(|| {
        let (page_bytes, extra_bytes) = (usize::try_from(page_bytes).ok()?, usize::try_from(extra_bytes).ok()?);
        PageCache::new(POLICY.get()?, page_bytes, extra_bytes, may_evict != 0)
    });
    made.ok().flatten().map_or(null_mut(), |cache| Box::into_raw(Box::new(cache)))
}

unsafe extern "C" fn set_capacity(cache: *mut PageCache, pages: c_int) {
    // SAFETY: SQLite passes its caches, each from one thread at a time; also below.
    unsafe { on(cache, (), |cache| cache.set_capacity(u32::try_from(pages).unwrap_or(0))) }
}

unsafe extern "C" fn len(cache: *mut PageCache) -> c_int {
    // SAFETY: as above.
    unsafe { on(cache, 0, |cache| c_int::try_from(cache.frames.len).unwrap_or(c_int::MAX)) }
}

unsafe extern "C" fn fetch(cache: *mut PageCache, number: c_uint, create: c_int) -> *mut Page {
    let create = match create {
        0 => Create::No,
        1 => Create::IfEasy,
        _ => Create::Always,
    };
    // SAFETY: as above.
    unsafe { on(cache, null_mut(), |cache| cache.fetch(number, create).map_or(null_mut(), NonNull::as_ptr)) }
}

unsafe extern "C" fn unpin(cache: *mut PageCache, page: *mut Page, discard: c_int) {
    let Some(page) = NonNull::new(page) else { return };
    // SAFETY: as above.
    unsafe { on(cache, (), |cache| cache.unpin(page, discard != 0)) }
}

unsafe extern "C" fn rekey(cache: *mut PageCache, page: *mut Page, _: c_uint, number: c_uint) {
    let Some(page) = NonNull::new(page) else { return };
    // SAFETY: as above.
    unsafe { on(cache, (), |cache| cache.rekey(page, number)) }
}

unsafe extern "C" fn truncate(cache: *mut PageCache, limit: c_uint) {
    // SAFETY: as above.
    unsafe { on(cache, (), |cache| cache.truncate(limit)) }
}

unsafe extern "C" fn destroy(cache: *mut PageCache) {
    if let Some(cache) = NonNull::new(cache) {
        // SAFETY: the cache came from `create`, and SQLite does not use it again.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(unsafe { Box::from_raw(cache.as_ptr()) })));
    }
}

unsafe extern "C" fn shrink(cache: *mut PageCache) {
    // SAFETY: as above.
    unsafe { on(cache, (), PageCache::shrink) }
}
