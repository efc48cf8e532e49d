//! The functions that come next in the order of libraries.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::ffi::{CStr, c_int, c_void};
use std::mem::transmute_copy;
use std::ptr::{self, null_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

/// A function of the next library, looked up before the program begins, or at its first use by the loader.
pub(crate) struct Symbol {
    name: &'static CStr,
    at: AtomicPtr<c_void>,
}

impl Symbol {
    const fn new(name: &'static CStr) -> Symbol {
        Symbol { name, at: AtomicPtr::new(null_mut()) }
    }

    fn address(&self) -> *mut c_void {
        let known = self.at.load(Ordering::Acquire);
        if !known.is_null() {
            return known;
        }
        LOOKING.store(true, Ordering::Release);
        // SAFETY: the name is a C string, and the function may be called from any library.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        LOOKING.store(false, Ordering::Release);
        self.at.store(found, Ordering::Release);
        found
    }

    /// Returns the function, or ends the program if the C library lacks it.
    ///
    /// # Safety
    /// `F` must be a pointer to a function with the C signature of this symbol.
    pub(crate) unsafe fn get<F: Copy>(&self) -> F {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        let address = self.address();
        if address.is_null() {
            // SAFETY: ending the process takes no argument.
            unsafe { libc::abort() };
        }
        // SAFETY: the address is not null, and the caller states its type.
        unsafe { transmute_copy(&address) }
    }
}

/// Declares the next functions of C functions, as functions of this module.
macro_rules! next {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
        struct Symbols {
            $($name: Symbol),*
        }

        static SYMBOLS: Symbols = Symbols {
            $($name: Symbol::new(match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => unreachable!(),
            })),*
        };

        /// Looks all functions up, while the process has one thread. Later lookups would disturb the allocations of
        /// other threads.
        pub(crate) fn resolve() {
            $(SYMBOLS.$name.address();)*
        }

        $(
            /// Calls the next function of this name.
            ///
            /// # Safety
            /// As the C function demands.
            pub(crate) unsafe fn $name($($argument: $kind),*) -> $result {
                // SAFETY: the signature is that of the C library.
                let next: unsafe extern "C" fn($($kind),*) -> $result = unsafe { SYMBOLS.$name.get() };
                // SAFETY: the caller keeps the demands of the function.
                unsafe { next($($argument),*) }
            }
        )*
    };
}

next! {
    malloc(bytes: usize) -> *mut c_void;
    calloc(count: usize, bytes: usize) -> *mut c_void;
    realloc(at: *mut c_void, bytes: usize) -> *mut c_void;
    free(at: *mut c_void) -> ();
    posix_memalign(out: *mut *mut c_void, alignment: usize, bytes: usize) -> c_int;
    aligned_alloc(alignment: usize, bytes: usize) -> *mut c_void;
    memalign(alignment: usize, bytes: usize) -> *mut c_void;
    valloc(bytes: usize) -> *mut c_void;
    pvalloc(bytes: usize) -> *mut c_void;
    malloc_usable_size(at: *mut c_void) -> usize;
    fork() -> libc::pid_t;
    madvise(at: *mut c_void, bytes: usize, advice: c_int) -> c_int;
    munmap(at: *mut c_void, bytes: usize) -> c_int;
    mprotect(at: *mut c_void, bytes: usize, protection: c_int) -> c_int;
    mmap(at: *mut c_void, bytes: usize, protection: c_int, flags: c_int, fd: c_int, offset: i64) -> *mut c_void;
    mremap(at: *mut c_void, old: usize, new: usize, flags: c_int, target: *mut c_void) -> *mut c_void;
    mlock(at: *const c_void, bytes: usize) -> c_int;
    mlock2(at: *const c_void, bytes: usize, flags: c_int) -> c_int;
    mlockall(flags: c_int) -> c_int;
}

/// True while a symbol is looked up. The lookup may allocate, before the next allocator is known.
static LOOKING: AtomicBool = AtomicBool::new(false);

/// Memory for allocations during lookups. It is never freed.
struct Early {
    bytes: UnsafeCell<[u128; 2048]>,
    used: AtomicUsize,
}

// SAFETY: `take` gives every byte at most once.
unsafe impl Sync for Early {}

static EARLY: Early = Early { bytes: UnsafeCell::new([0; 2048]), used: AtomicUsize::new(0) };

impl Early {
    /// Takes zeroed memory, aligned to 16; null if there is no more.
    fn take(&self, bytes: usize) -> *mut c_void {
        // The size stands in front, for `realloc`.
        let whole = bytes.saturating_add(16 + 15) & !15;
        let start = self.used.fetch_add(whole, Ordering::Relaxed);
        if start.checked_add(whole).is_none_or(|end| end > size_of_val(&self.bytes)) {
            return null_mut();
        }
        // SAFETY: the range lies in the array, and `used` gives it once.
        unsafe {
            let at = self.bytes.get().cast::<u8>().add(start);
            at.cast::<usize>().write(bytes);
            at.add(16).cast()
        }
    }

    /// Returns the size of an allocation here.
    fn size(&self, at: *const c_void) -> Option<usize> {
        let offset = (at as usize).wrapping_sub(self.bytes.get() as usize);
        // SAFETY: `take` wrote the size in front of each allocation.
        (offset < size_of_val(&self.bytes)).then(|| unsafe { at.cast::<u8>().sub(16).cast::<usize>().read() })
    }
}

/// True if memory must not be asked for from the next allocator, which is being looked up.
pub(crate) fn is_looking() -> bool {
    LOOKING.load(Ordering::Relaxed)
}

/// Allocates zeroed memory during a lookup.
pub(crate) fn early(bytes: usize) -> *mut c_void {
    EARLY.take(bytes)
}

/// The size of an allocation that was made during a lookup.
pub(crate) fn early_size(at: *const c_void) -> Option<usize> {
    EARLY.size(at)
}

/// Sets `errno`.
pub(crate) fn set_errno(error: c_int) {
    // SAFETY: the C library returns the place of this thread's number.
    unsafe { *libc::__errno_location() = error };
}

/// Allocates from the next allocator.
pub(crate) struct Next;

// SAFETY: the next allocator has the guarantees of `malloc` and its family. Layouts above their alignment go to
// `memalign`, whose memory `free` takes.
unsafe impl GlobalAlloc for Next {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: both take any size; alignments of layouts are powers of two.
        unsafe {
            match layout.align() <= 16 {
                true => malloc(layout.size()).cast(),
                false => memalign(layout.align(), layout.size()).cast(),
            }
        }
    }

    unsafe fn dealloc(&self, at: *mut u8, _layout: Layout) {
        // SAFETY: `at` comes from `alloc` or `realloc`.
        unsafe { free(at.cast()) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: `at` has `layout`; the new block is distinct from it.
        unsafe {
            if layout.align() <= 16 {
                return realloc(at.cast(), bytes).cast();
            }
            let new = self.alloc(Layout::from_size_align_unchecked(bytes, layout.align()));
            if !new.is_null() {
                ptr::copy_nonoverlapping(at, new, layout.size().min(bytes));
                self.dealloc(at, layout);
            }
            new
        }
    }
}
