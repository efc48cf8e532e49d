//! The cache of the crate `hotset` for programs in C.
//!
//! `include/hotset.h` is generated from this crate. No panic leaves a function: it is an error of the call. Memory for
//! keys and values is asked for in a way that may fail; the tables of the cache end the process if they cannot grow.
#![expect(non_camel_case_types, reason = "the names in C")]

mod error;
mod value;

use std::ffi::{CStr, c_char, c_void};
use std::mem::size_of;
use std::slice;

use hotset::Cache;

pub use error::{hotset_error, hotset_status};

use error::{Failure, guarded};
use hotset_status::{HOTSET_ABSENT, HOTSET_OK};
use value::{Destructor, Handle, Value};

/// A cache.
pub struct hotset_cache {
    values: Cache<Box<[u8]>, Handle>,
    destructor: Destructor,
}

// SAFETY: the program states that any thread may call its destructor; the context is only passed on.
unsafe impl Sync for hotset_cache {}

/// One use of a value. The value lives until all of its uses are released, also after it has left the cache.
pub struct hotset_value;

/// The settings of a cache. Set `bytes` to `sizeof(hotset_options)` and everything unused to zero.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hotset_options {
    /// Size of this struct, by which the library knows which settings the program has.
    pub bytes: usize,
    /// The policy, as `hotset policies` lists them, perhaps with arguments: "s3-fifo", "lirs(hir=2%)".
    pub policy: *const c_char,
    /// The capacity: values, or their total weight.
    pub capacity: u64,
    /// Not 0 if the capacity is a sum of weights, such as bytes.
    pub is_weighed: u32,
    /// Not 0 to keep the sample of references that hotset_what_if needs, one MiB.
    pub is_sampled: u32,
    /// Parts of the cache with a lock each, a power of two; 0 for a number that suits the machine. With 1, one thread
    /// has the hits of `hotset simulate`.
    pub shards: u32,
    /// Called once for each value after its last use, by any thread and outside of locks; may be null. It must return,
    /// and may call the cache.
    pub destroy: Option<unsafe extern "C" fn(data: *mut c_void, context: *mut c_void)>,
    /// Passed to `destroy`.
    pub context: *mut c_void,
}

/// The counts of a cache since it was created.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct hotset_stats {
    /// Calls of hotset_get that found a value.
    pub hits: u64,
    /// Calls of hotset_get that found none.
    pub misses: u64,
    /// Values that were inserted, rejected ones included.
    pub inserts: u64,
    /// Values that the policy has evicted.
    pub evictions: u64,
    /// Values that did not stay: the policy has bypassed them, or they weigh more than a part of the cache.
    pub rejected: u64,
    /// Hits that the policy has not seen, because many came at once.
    pub dropped_events: u64,
    /// Values in the cache.
    pub values: u64,
    /// Their total weight; without weights their number.
    pub weight: u64,
    /// The capacity.
    pub capacity: u64,
}

/// Returns the options of a program: those that its version of the struct lacks are zero.
fn options_of(given: *const hotset_options) -> Result<hotset_options, Failure> {
    if given.is_null() {
        return Err(Failure::null("options"));
    }
    // SAFETY: the struct of every version begins with its size.
    let bytes = unsafe { given.cast::<usize>().read() };
    if bytes < size_of::<usize>() || bytes > size_of::<hotset_options>() {
        let most = size_of::<hotset_options>();
        return Err(Failure::invalid(format!("options: bytes is {bytes}; expected sizeof(hotset_options), {most}")));
    }
    // SAFETY: zeros are a value of every field.
    let mut options: hotset_options = unsafe { std::mem::zeroed() };
    // SAFETY: the program's struct has this many bytes, which is not more than this one has.
    unsafe { (&raw mut options).cast::<u8>().copy_from_nonoverlapping(given.cast(), bytes) };
    Ok(options)
}

/// Returns a text of the program.
///
/// # Safety
/// A pointer that is not null points to bytes that end with zero, and live as long as the result.
unsafe fn text<'a>(at: *const c_char, argument: &str) -> Result<&'a str, Failure> {
    if at.is_null() {
        return Err(Failure::null(argument));
    }
    // SAFETY: as the caller states.
    let text = unsafe { CStr::from_ptr(at) };
    text.to_str().map_err(|_| Failure::invalid(format!("{argument}: the text is not UTF-8; expected a policy")))
}

/// Returns a cache and a key of the program.
///
/// # Safety
/// The cache is null or live, and the key is null or this long, for as long as the results are used.
unsafe fn keyed<'a>(
    cache: *const hotset_cache,
    key: *const c_void,
    bytes: usize,
) -> Result<(&'a hotset_cache, &'a [u8]), Failure> {
    // SAFETY: as the caller states.
    let cache = unsafe { cache.as_ref() }.ok_or_else(|| Failure::null("cache"))?;
    if key.is_null() {
        return Err(Failure::null("key"));
    }
    if bytes > isize::MAX as usize {
        return Err(Failure::invalid(format!("key: {bytes} bytes are not possible; expected the length of the key")));
    }
    // SAFETY: as the caller states.
    Ok((cache, unsafe { slice::from_raw_parts(key.cast(), bytes) }))
}

/// Creates a cache and stores it in `cache`; on an error stores null.
///
/// # Safety
/// `options` and `cache` are null or valid. Any thread may use the program's values and its destructor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hotset_create(options: *const hotset_options, cache: *mut *mut hotset_cache) -> hotset_status {
    guarded(|| {
        if cache.is_null() {
            return Err(Failure::null("cache"));
        }
        // SAFETY: the pointer is valid.
        unsafe { cache.write(std::ptr::null_mut()) };
        let options = options_of(options)?;
        // SAFETY: as the caller states.
        let policy = unsafe { text(options.policy, "policy") }?;
        let mut builder = Cache::<Box<[u8]>, Handle>::builder(policy).capacity(options.capacity);
        if options.is_weighed != 0 {
            builder = builder.weigher(|_, value| value.weight());
        }
        if options.is_sampled != 0 {
            builder = builder.sampled();
        }
        if options.shards != 0 {
            builder = builder.shards(options.shards as usize);
        }
        let destructor = Destructor { function: options.destroy, context: options.context };
        let built = Box::new(hotset_cache { values: builder.build()?, destructor });
        // SAFETY: as above.
        unsafe { cache.write(Box::into_raw(built)) };
        Ok(HOTSET_OK)
    })
}

/// Ends a cache. Values live on until their uses are released. Does nothing with a null pointer.
///
/// # Safety
/// The cache came from `hotset_create`. No other thread uses it, and it is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hotset_destroy(cache: *mut hotset_cache) {
    guarded(|| {
        if !cache.is_null() {
            // SAFETY: as the caller states.
            drop(unsafe { Box::from_raw(cache) });
        }
        Ok(HOTSET_OK)
    });
}

/// Looks a key up, which is a reference. Stores a use of its value in `value`, to be released by hotset_release; null
/// if the key has none (HOTSET_ABSENT) or the call fails.
///
/// # Safety
/// The pointers are null or valid, and the key has `key_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hotset_get(
    cache: *const hotset_cache,
    key: *const c_void,
    key_bytes: usize,
    value: *mut *mut hotset_value,
) -> hotset_status {
    guarded(|| {
        if value.is_null() {
            return Err(Failure::null("value"));
        }
        // SAFETY: the pointer is valid.
        unsafe { value.write(std::ptr::null_mut()) };
        // SAFETY: as the caller states.
        let (cache, key) = unsafe { keyed(cache, key, key_bytes) }?;
        let Some(found) = cache.values.get(key) else { return Ok(HOTSET_ABSENT) };
        // SAFETY: as above.
        unsafe { value.write(found.into_raw().cast()) };
        Ok(HOTSET_OK)
    })
}

/// Returns the pointer that was inserted with a value; null for a null pointer.
///
/// # Safety
/// The use is null, or not released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hotset_data(value: *const hotset_value) -> *mut c_void {
    // SAFETY: as the caller states. The use stays the program's.
    let used = unsafe { Handle::from_raw(value.cast_mut().cast::<Value>()) }.map(std::mem::ManuallyDrop::new);
    used.map_or(std::ptr::null_mut(), |used| used.data())
}

/// Ends a use of a value. Does nothing with a null pointer.
///
/// # Safety
/// The use is null, or not released before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hotset_release(value: *mut hotset_value) {
    guarded(|| {
        // SAFETY: as the caller states.
        drop(unsafe { Handle::from_raw(value.cast::<Value>()) });
        Ok(HOTSET_OK)
    });
}

/// Puts a value in, instead of one that the key may have. From then on `data` is the cache's, which calls `destroy`
/// for it, also if the policy does not keep the value; on an error except HOTSET_BUG `data` stays the program's. The
/// key is copied. `weight` counts only in a cache with weights. Stores a use of the value in `value` unless that is
/// null: without a use, the program must not touch `data` again.
///
/// # Safety
/// The pointers are null or valid, and the key has `key_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hotset_insert(
    cache: *const hotset_cache,
    key: *const c_void,
    key_bytes: usize,
    data: *mut c_void,
    weight: u64,
    value: *mut *mut hotset_value,
) -> hotset_status {
    guarded(|| {
        if !value.is_null() {
            // SAFETY: the pointer is valid.
            unsafe { value.write(std::ptr::null_mut()) };
        }
        // SAFETY: as the caller states.
        let (cache, key) = unsafe { keyed(cache, key, key_bytes) }?;
        let mut copy = Vec::new();
        copy.try_reserve_exact(key.len()).map_err(|_| Failure::memory())?;
        copy.extend_from_slice(key);
        let new = Value::allocate(data, weight, cache.destructor).ok_or_else(Failure::memory)?;
        if !value.is_null() {
            // SAFETY: as above.
            unsafe { value.write(new.clone().into_raw().cast()) };
        }
        cache.values.insert(copy.into_boxed_slice(), new);
        Ok(HOTSET_OK)
    })
}

/// Takes the value of a key out. HOTSET_ABSENT if it has none.
///
/// # Safety
/// The pointers are null or valid, and the key has `key_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hotset_remove(
    cache: *const hotset_cache,
    key: *const c_void,
    key_bytes: usize,
) -> hotset_status {
    guarded(|| {
        // SAFETY: as the caller states.
        let (cache, key) = unsafe { keyed(cache, key, key_bytes) }?;
        Ok(if cache.values.remove(key).is_some() { HOTSET_OK } else { HOTSET_ABSENT })
    })
}

/// Changes the capacity. Values that no longer fit are evicted in the policy's order.
///
/// # Safety
/// The cache is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hotset_resize(cache: *const hotset_cache, capacity: u64) -> hotset_status {
    guarded(|| {
        // SAFETY: as the caller states.
        unsafe { cache.as_ref() }.ok_or_else(|| Failure::null("cache"))?.values.resize(capacity)?;
        Ok(HOTSET_OK)
    })
}

/// Stores the counts in `stats`. `stats_bytes` is `sizeof(hotset_stats)`, by which the library knows which counts the
/// program has.
///
/// # Safety
/// The cache is null or live, and `stats` is null or has `stats_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hotset_get_stats(
    cache: *const hotset_cache,
    stats: *mut hotset_stats,
    stats_bytes: usize,
) -> hotset_status {
    guarded(|| {
        // SAFETY: as the caller states.
        let values = &unsafe { cache.as_ref() }.ok_or_else(|| Failure::null("cache"))?.values;
        if stats.is_null() {
            return Err(Failure::null("stats"));
        }
        let counts = values.stats();
        let all = hotset_stats {
            hits: counts.hits,
            misses: counts.misses,
            inserts: counts.inserts,
            evictions: counts.evictions,
            rejected: counts.rejected,
            dropped_events: counts.dropped_events,
            values: values.len() as u64,
            weight: values.weight(),
            capacity: values.capacity(),
        };
        let bytes = stats_bytes.min(size_of::<hotset_stats>());
        // SAFETY: both structs have this many bytes.
        unsafe { stats.cast::<u8>().copy_from_nonoverlapping((&raw const all).cast(), bytes) };
        Ok(HOTSET_OK)
    })
}

/// Stores in `hit_ratio` an estimate of the hit ratio under another policy or capacity, from a sample of the references
/// so far. Takes some milliseconds. Fails if the cache keeps no sample, or has few references.
///
/// # Safety
/// The pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hotset_what_if(
    cache: *const hotset_cache,
    policy: *const c_char,
    capacity: u64,
    hit_ratio: *mut f64,
) -> hotset_status {
    guarded(|| {
        // SAFETY: as the caller states.
        let cache = unsafe { cache.as_ref() }.ok_or_else(|| Failure::null("cache"))?;
        if hit_ratio.is_null() {
            return Err(Failure::null("hit_ratio"));
        }
        // SAFETY: as the caller states.
        let estimate = cache.values.what_if(unsafe { text(policy, "policy") }?, capacity)?;
        // SAFETY: the pointer is valid.
        unsafe { hit_ratio.write(estimate.hit_ratio) };
        Ok(HOTSET_OK)
    })
}

/// Returns the version of the library, as in "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn hotset_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
