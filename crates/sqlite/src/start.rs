//! How SQLite gets the cache, before it is initialized.
//!
//! If the program is linked with SQLite, or contains and exports it, its functions are known when this library begins,
//! which then sets the cache. Otherwise, as in Python, a module brings SQLite later. The functions that initialize
//! SQLite are therefore replaced: each sets the cache and calls the function of the same name that its caller would
//! have called.
//!
//! A caller's own SQLite may differ from that of another library, so the function is looked up for the library that
//! the return address is in, in the order of the loader: the library itself, then the libraries that it needs.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::io::{Write, stderr};
use std::mem::{MaybeUninit, transmute};
use std::ptr::null_mut;
use std::sync::{LazyLock, Mutex, PoisonError, RwLock};

use crate::cache::policy_named;
use crate::counts;
use crate::methods::{METHODS, POLICY};

/// Names the policy.
const VARIABLE: &str = "HOTSET_SQLITE_POLICY";
const SQLITE_OK: c_int = 0;
const SQLITE_MISUSE: c_int = 21;
const SQLITE_CONFIG_PCACHE2: c_int = 18;

/// Called by the loader.
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = {
    extern "C" fn loaded() {
        // A program goes on with SQLite's own cache.
        let _ = std::panic::catch_unwind(prepare);
    }
    loaded
};

/// Reads the policy, and sets the cache if SQLite is in memory.
fn prepare() {
    let Ok(name) = std::env::var(VARIABLE) else { return };
    let spec = match policy_named(&name) {
        Ok(spec) => spec,
        Err(error) => return report(&format!("{VARIABLE}: {error}; SQLite keeps its own cache")),
    };
    counts::write_at_exit(&spec.to_string());
    if POLICY.set(spec).is_ok() {
        // SAFETY: the name is a C string.
        configure(unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"sqlite3_config".as_ptr()) });
    }
}

/// Reports to the user. The program has no other place for it.
fn report(message: &str) {
    // A program may have closed it.
    let _ = writeln!(stderr(), "hotset: {message}");
}

/// Sets the cache of the SQLite whose `sqlite3_config` this is, once.
fn configure(config: *mut c_void) {
    static DONE: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    if config.is_null() || POLICY.get().is_none() {
        return;
    }
    let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    if done.contains(&(config as usize)) {
        return;
    }
    done.push(config as usize);
    // SAFETY: SQLite's function has this signature, and copies the table.
    let status = unsafe {
        let config: unsafe extern "C" fn(c_int, ...) -> c_int = transmute(config);
        config(SQLITE_CONFIG_PCACHE2, &raw const METHODS)
    };
    if status != SQLITE_OK {
        report("SQLite was initialized before its cache could be set, and keeps its own cache");
    }
}

/// Functions by the address to which they return and their name.
type Found = HashMap<(usize, &'static CStr), usize>;

static FOUND: LazyLock<RwLock<Found>> = LazyLock::new(RwLock::default);

/// Returns SQLite's function for a caller, whose SQLite has the cache from then on. Null if it has none.
fn next(name: &'static CStr, caller: *const c_void) -> *mut c_void {
    let key = (caller as usize, name);
    if let Some(&found) = FOUND.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return found as *mut c_void;
    }
    configure(look_up(c"sqlite3_config", caller));
    let found = look_up(name, caller);
    FOUND.write().unwrap_or_else(PoisonError::into_inner).insert(key, found as usize);
    found
}

/// Looks a function up as the loader would for the library that contains `caller`, without this library.
fn look_up(name: &CStr, caller: *const c_void) -> *mut c_void {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the call takes any address, and fills the struct, for which zeros are a value. The name of a library
    // that is found is a C string. A library that is found is kept in memory, so that its functions stay valid.
    unsafe {
        let is_known = libc::dladdr(caller, info.as_mut_ptr()) != 0;
        let library = if is_known { info.assume_init().dli_fname } else { std::ptr::null() };
        let handle =
            if library.is_null() { null_mut() } else { libc::dlopen(library, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        let own = if handle.is_null() { null_mut() } else { libc::dlsym(handle, name.as_ptr()) };
        // The handle of the program itself finds this library first.
        if own.is_null() || is_here(own) { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } else { own }
    }
}

/// True if an address is in this library.
fn is_here(address: *const c_void) -> bool {
    let base = |address| {
        let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: as in `look_up`.
        let (found, info) = unsafe { (libc::dladdr(address, info.as_mut_ptr()), info.assume_init()) };
        (found != 0).then_some(info.dli_fbase)
    };
    base(address) == base((&raw const LOADED).cast())
}

/// Calls a function of SQLite with the arguments that it takes; those that it lacks are ignored.
///
/// # Safety
/// The arguments are those of a call of this function.
unsafe fn forward(
    name: &'static CStr,
    arguments: [*mut c_void; 4],
    handle: *mut *mut c_void,
    caller: *const c_void,
) -> c_int {
    let found = std::panic::catch_unwind(|| next(name, caller)).unwrap_or(null_mut());
    if found.is_null() {
        if !handle.is_null() {
            // SAFETY: the caller passes a place for the handle.
            unsafe { handle.write(null_mut()) };
        }
        return SQLITE_MISUSE;
    }
    let [one, two, three, four] = arguments;
    // SAFETY: all arguments are in registers, so a function ignores those that it does not take.
    unsafe {
        let function: unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void, *mut c_void) -> c_int =
            transmute(found);
        function(one, two, three, four)
    }
}

unsafe extern "C" fn initialize_from(
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    caller: *const c_void,
) -> c_int {
    // SAFETY: the function takes nothing.
    unsafe { forward(c"sqlite3_initialize", [null_mut(); 4], null_mut(), caller) }
}

/// Defines `sqlite3_open` and its variants with the arguments in the order of SQLite's.
macro_rules! opens {
    ($($from:ident $name:literal)*) => {
        $(unsafe extern "C" fn $from(
            file: *const c_char,
            handle: *mut *mut c_void,
            flags: *mut c_void,
            vfs: *mut c_void,
            caller: *const c_void,
        ) -> c_int {
            let arguments = [file.cast_mut().cast(), handle.cast(), flags, vfs];
            // SAFETY: the arguments are those of the program.
            unsafe { forward($name, arguments, handle, caller) }
        })*
    };
}

opens! {
    open_from c"sqlite3_open"
    open16_from c"sqlite3_open16"
    open_v2_from c"sqlite3_open_v2"
}

/// Defines a function of SQLite that passes its return address as the fifth argument.
macro_rules! replaced {
    ($($name:ident $with:ident)*) => {
        $(
            /// # Safety
            /// As SQLite's function of this name demands.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $name() {
                #[cfg(target_arch = "x86_64")]
                core::arch::naked_asm!("mov r8, [rsp]", "jmp {with}", with = sym $with);
                #[cfg(target_arch = "aarch64")]
                core::arch::naked_asm!("mov x4, x30", "b {with}", with = sym $with);
            }
        )*
    };
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
replaced! {
    sqlite3_initialize initialize_from
    sqlite3_open open_from
    sqlite3_open16 open16_from
    sqlite3_open_v2 open_v2_from
}
