//! What happens when the library is loaded, and at the first large allocation.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::path::Path;
use std::sync::OnceLock;
use std::thread;

use hotset_pager::control::{Control, State, VARIABLE};
use hotset_pager::{OBJECT_BYTES, PagerSettings};

use crate::arena::{self, Mode};
use crate::{fork, next, worker};

/// The control file and the settings, from the moment at which the library is ready.
static CONTROL: OnceLock<(Control, PagerSettings)> = OnceLock::new();

/// Called by the loader, before the program's own code.
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = {
    extern "C" fn loaded() {
        prepare();
    }
    loaded
};

/// Reads the settings. Nothing is paged if there are none, or if they are for another process.
fn prepare() {
    next::resolve();
    let Some(path) = std::env::var_os(VARIABLE) else { return };
    let Ok((control, settings)) = Control::open(Path::new(&path)) else { return };
    if !control.is_admitted(std::process::id()) {
        return;
    }
    control.set_state(State::Loaded);
    let settings = match settings {
        Ok(settings) => settings,
        Err(error) => return stop(&control, &error.to_string()),
    };
    if !is_first() {
        return stop(&control, "the program has an allocator of its own, which hotset does not replace");
    }
    if !fork::register() {
        return stop(&control, "the C library takes no handler of fork");
    }
    if CONTROL.set((control, settings)).is_ok() {
        arena::set_mode(Mode::Ready);
    }
}

fn stop(control: &Control, why: &str) {
    control.set_message(why);
    control.set_state(State::Stopped);
}

/// True if the program's calls of `malloc` reach this library.
fn is_first() -> bool {
    // SAFETY: the name is a C string.
    let first = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"malloc".as_ptr()) };
    let own = library_of((&raw const LOADED).cast());
    own.is_some() && library_of(first) == own
}

/// Returns where the library that contains an address begins.
fn library_of(address: *const c_void) -> Option<*const c_void> {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the call takes any address, and fills the struct, for which zeros are a value.
    let (found, info) = unsafe { (libc::dladdr(address, info.as_mut_ptr()), info.assume_init()) };
    (found != 0).then_some(info.dli_fbase.cast_const())
}

/// Returns the control file; `None` before the library is ready.
pub(crate) fn control() -> Option<&'static Control> {
    CONTROL.get().map(|(control, _)| control)
}

/// Allocates paged memory for a large allocation. `None` if it must come from the next allocator.
pub(crate) fn allocate(bytes: usize, zeroed: bool) -> Option<*mut c_void> {
    if bytes < OBJECT_BYTES || bytes > isize::MAX as usize {
        return None;
    }
    let is_on = match arena::mode() {
        Mode::Off | Mode::Forked => return None,
        Mode::Ready => start(),
        Mode::Starting => arena::wait_for_start(),
        Mode::On => true,
    };
    let at = if is_on { arena::allocate(bytes, zeroed) } else { None };
    if let (None, Some(control)) = (at, control()) {
        control.count_ordinary();
    }
    at
}

/// Starts the worker, and waits for it.
#[cold]
fn start() -> bool {
    if !arena::change_mode(Mode::Ready, Mode::Starting) {
        return arena::wait_for_start();
    }
    let Some((control, settings)) = CONTROL.get() else { return false };
    let mut all = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    // SAFETY: the kernel and the C library fill both sets. The worker inherits the mask, so that signals to the
    // process reach the program's own threads.
    let spawned = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        let spawned = thread::Builder::new().name("hotset-pager".to_owned()).spawn(|| worker::run(control, settings));
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut());
        spawned
    };
    match spawned {
        Ok(_) => arena::wait_for_start(),
        Err(error) => {
            arena::set_mode(Mode::Off);
            stop(control, &format!("no thread can be started: {error}"));
            false
        }
    }
}
