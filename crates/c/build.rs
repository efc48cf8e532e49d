//! Names the shared library as programs look for it at run time.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-link-arg-cdylib=-Wl,-soname,libhotset.so.0");
    }
}
