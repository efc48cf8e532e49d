//! Values of C programs: a pointer with a count of its users.

use std::alloc::{self, Layout};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

/// The function that ends a value, with the pointer that every call of it gets.
#[derive(Clone, Copy)]
pub(crate) struct Destructor {
    pub function: Option<unsafe extern "C" fn(data: *mut c_void, context: *mut c_void)>,
    pub context: *mut c_void,
}

/// A value. Its memory is taken by [`Value::allocate`], because a failure must be an error of the caller.
pub(crate) struct Value {
    users: AtomicUsize,
    data: *mut c_void,
    weight: u64,
    destructor: Destructor,
}

/// One use of a value. The last one that is dropped ends the value.
pub(crate) struct Handle(NonNull<Value>);

// SAFETY: the count is atomic, the other fields do not change. `hotset_create` requires of the program that its values
// and its destructor may be used by any thread.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Value {
    /// A value with one user; `None` without memory for it.
    pub fn allocate(data: *mut c_void, weight: u64, destructor: Destructor) -> Option<Handle> {
        // SAFETY: the type has a size.
        let memory = NonNull::new(unsafe { alloc::alloc(Layout::new::<Value>()) }.cast::<Value>())?;
        // SAFETY: the memory is of this layout, and is not shared yet.
        unsafe { memory.write(Value { users: AtomicUsize::new(1), data, weight, destructor }) };
        Some(Handle(memory))
    }
}

impl Handle {
    fn value(&self) -> &Value {
        // SAFETY: the value lives as long as it has a user, and this is one.
        unsafe { self.0.as_ref() }
    }

    pub fn data(&self) -> *mut c_void {
        self.value().data
    }

    pub fn weight(&self) -> u64 {
        self.value().weight
    }

    /// Returns this use as a pointer.
    pub fn into_raw(self) -> *mut Value {
        let at = self.0.as_ptr();
        std::mem::forget(self);
        at
    }

    /// Returns the use that a pointer is; `None` for null.
    ///
    /// # Safety
    /// The pointer came from [`Handle::into_raw`], and is not used again.
    pub unsafe fn from_raw(at: *mut Value) -> Option<Handle> {
        NonNull::new(at).map(Handle)
    }
}

impl Clone for Handle {
    fn clone(&self) -> Handle {
        self.value().users.fetch_add(1, Ordering::Relaxed);
        Handle(self.0)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.value().users.fetch_sub(1, Ordering::Release) != 1 {
            return;
        }
        // What other users did with the value comes before its end.
        fence(Ordering::Acquire);
        let Value { data, destructor, .. } = *self.value();
        // SAFETY: this was the last user, and the memory came from `allocate`.
        unsafe { alloc::dealloc(self.0.as_ptr().cast(), Layout::new::<Value>()) };
        if let Some(function) = destructor.function {
            // SAFETY: the program gave the function for its values.
            unsafe { function(data, destructor.context) };
        }
    }
}
