//! Calls that make processes and start programs.

use hotset_core::request::{Kind, Op};
use hotset_trace::runner::Malformed;

use crate::strace::{
    call::{Call, Handle},
    model::{Located, Model, Scene},
    paths::last_name,
};

impl Model {
    /// Handles the call if it makes a process or starts a program; false if it is another.
    pub(in crate::strace) fn process_call(
        &mut self,
        scene: &mut Scene,
        name: &[u8],
        call: &Call,
    ) -> Result<bool, Malformed> {
        match name {
            b"execve" => self.execute(scene, call, None, call.arg(0))?,
            b"execveat" => self.execute(scene, call, Some(call.handle(0)?), call.arg(1))?,
            b"unshare" if call.returned().is_some() => {
                let (files, directory) = (call.has(0, "CLONE_FILES"), call.has(0, "CLONE_FS"));
                self.processes.unshare(scene.pid, files, directory);
            }
            _ if makes_process(name) => {
                if let Some(child) = call.returned().and_then(|child| u32::try_from(child).ok()) {
                    // `clone` has its flags in the second argument, `clone3` in a structure, `fork` and `vfork` have
                    // none.
                    let flags = [call.arg(0), call.arg(1)].map(clone_flags);
                    let flags = flags.into_iter().find(|flags| !flags.is_empty()).unwrap_or_default();
                    self.fork(scene.pid, child, flags);
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn execute(&mut self, scene: &mut Scene, call: &Call, base: Option<Handle>, path: &[u8]) -> Result<(), Malformed> {
        let located = self.locate(scene.pid, base, path);
        let file = self.file_at(located, call.result);
        if call.returned().is_none() {
            return file.map_or(Ok(()), |file| self.refer(scene, Op::Exec, file, call.result));
        }
        let program: Box<[u8]> = match (located, file) {
            (Located::Own(_), Some(file)) => last_name(self.files.path(file)).into(),
            _ => last_name(&self.path).into(),
        };
        self.start_program(scene.pid, program);
        let Some(file) = file else {
            return Ok(());
        };
        self.files.set_kind(file, Kind::Executable);
        self.ask_size(file);
        let length = self.files.size(file).unwrap_or(0);
        self.refer_range(scene, Op::Exec, file, 0, length, 0)
    }

    /// The process runs another program from now on: its shared state becomes private, and marked descriptors are
    /// closed.
    fn start_program(&mut self, pid: u32, program: Box<[u8]>) {
        self.processes.unshare(pid, true, true);
        let process = self.processes.get(pid);
        (process.app, process.leader, process.program) = (None, pid, program);
        let table = process.table;
        self.processes.descriptors.close_on_exec(table);
    }
}

/// True if the call makes a process or thread.
pub(in crate::strace) fn makes_process(name: &[u8]) -> bool {
    matches!(name, b"clone" | b"clone3" | b"fork" | b"vfork" | b"clone2")
}

/// The `CLONE_` flags, joined by `|`: what follows `flags=` in the text of a call.
pub(in crate::strace) fn clone_flags(text: &[u8]) -> &[u8] {
    let Some(start) = memchr::memmem::find(text, b"flags=") else {
        return b"";
    };
    let flags = &text[start + b"flags=".len()..];
    let end = flags.iter().position(|byte| matches!(byte, b',' | b'}' | b' ' | b')')).unwrap_or(flags.len());
    &flags[..end]
}
