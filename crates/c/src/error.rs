//! The last error of each thread, and the border that no panic crosses.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use hotset::SetupError;

/// The result of a call. Negative numbers are errors.
#[expect(non_camel_case_types, reason = "the name in C")]
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum hotset_status {
    /// The call did what it says.
    HOTSET_OK = 0,
    /// The key has no value.
    HOTSET_ABSENT = 1,
    /// An argument is not possible: a null pointer, or bytes that are not UTF-8.
    HOTSET_INVALID = -1,
    /// There is no memory for a key or a value.
    HOTSET_MEMORY = -2,
    /// The cache refuses the settings: no such policy, or a capacity that is not possible.
    HOTSET_REFUSED = -3,
    /// An error in hotset. The cache stays usable.
    HOTSET_BUG = -4,
}

/// Why a call failed.
pub(crate) struct Failure {
    pub status: hotset_status,
    pub message: String,
}

impl Failure {
    /// An argument is null.
    pub fn null(argument: &str) -> Failure {
        Failure::invalid(format!("{argument}: the pointer is null; expected an object"))
    }

    pub fn invalid(message: String) -> Failure {
        Failure { status: hotset_status::HOTSET_INVALID, message }
    }

    pub fn memory() -> Failure {
        let message = "there is no memory for a key or a value; free some, or make the cache smaller".to_owned();
        Failure { status: hotset_status::HOTSET_MEMORY, message }
    }

    fn panic(payload: &(dyn Any + Send)) -> Failure {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
        Failure { status: hotset_status::HOTSET_BUG, message: format!("an error in hotset: {text}; please report it") }
    }
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Failure {
        Failure { status: hotset_status::HOTSET_REFUSED, message: error.to_string() }
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Runs a call, and keeps its error for [`hotset_error`]. A panic is an error of the call.
pub(crate) fn guarded(call: impl FnOnce() -> Result<hotset_status, Failure>) -> hotset_status {
    let done = catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|payload| Err(Failure::panic(&*payload)));
    done.unwrap_or_else(|Failure { status, mut message }| {
        message.retain(|character| character != '\0');
        // A thread that is ending has no place for it.
        let _ = LAST.try_with(|last| {
            if let Ok(mut last) = last.try_borrow_mut() {
                *last = CString::new(message).unwrap_or_default();
            }
        });
        status
    })
}

/// Returns the last error of this thread as a sentence; an empty text if no call of it has failed. The text is valid
/// until the next call of this thread that fails.
#[unsafe(no_mangle)]
pub extern "C" fn hotset_error() -> *const c_char {
    const NONE: &CStr = c"";
    LAST.try_with(|last| last.try_borrow().map_or(NONE.as_ptr(), |last| last.as_ptr())).unwrap_or(NONE.as_ptr())
}
