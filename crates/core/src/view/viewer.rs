//! Shows requests in a view, one after the other: which bytes of what they touch, in which class, and what is
//! invalidated.
//!
//! The simulator shows a whole trace at once and numbers its blocks densely; the live cache shows each request as it
//! comes.

use hashbrown::HashMap;

use super::{Cutting, Metadata, Names, Object, Parts, Touch, View};
use crate::classify::{Class, Classifier, FileFacts, Rules};
use crate::request::{FLAG_CONTINUED, FLAG_EXECUTABLE, FLAG_EXPIRED, Kind, Op, Request};

/// What a block is a block of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Space {
    /// The file or directory.
    pub object: Object,
    /// The inode, not the data.
    pub inode: bool,
    /// The part of the cache that the block belongs to.
    pub part: u8,
}

impl Space {
    /// The kind of metadata that is here, if it is none of a file's data.
    pub fn metadata(&self) -> Option<Kind> {
        match self.object {
            _ if self.inode => Some(Kind::Inode),
            Object::Directory(_) => Some(Kind::Directory),
            Object::File(_) => None,
        }
    }
}

/// Bytes that a request touches, to be cut into blocks. The first block begins a request unless `continues`; the others
/// go on with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Whose bytes.
    pub space: Space,
    /// Their class.
    pub class: Class,
    /// Bytes of a block.
    pub block: u64,
    /// The first byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// They are written.
    pub write: bool,
    /// The piece goes on with the request before it.
    pub continues: bool,
    /// Where the same bytes may still be: the file was of another class before, whose blocks are in another part.
    pub former: Option<Former>,
}

/// The class of a file before its present one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Former {
    /// The class.
    pub class: Class,
    /// Where its blocks are.
    pub space: Space,
    /// Bytes of each.
    pub block: u64,
}

/// One thing that a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Bytes are referenced.
    Touch(Piece),
    /// Blocks of the file that begin at this byte or behind it are worth nothing any more; with `None` all blocks and
    /// the inode.
    Invalidate {
        /// The file.
        file: u32,
        /// The first byte.
        from: Option<u64>,
    },
}

/// A view of one stream of requests.
#[derive(Debug)]
pub struct Viewer {
    cutting: Cutting,
    classifier: Option<Classifier>,
    parts: Option<Parts>,
    names: Option<Names>,
    objects: HashMap<u64, u32>,
    files: HashMap<u32, File>,
    touches: Vec<Touch>,
}

/// What is known of a file so far.
#[derive(Debug, Default)]
struct File {
    size: Option<u64>,
    /// The class of its last data, and the one before that was cut otherwise.
    class: Option<Class>,
    former: Option<Class>,
}

impl Viewer {
    /// Nothing has been shown yet.
    pub fn new(view: &View, cutting: Cutting) -> Viewer {
        Viewer {
            cutting,
            classifier: view.rules.clone().map(Classifier::new),
            parts: view.parts.clone(),
            names: view.metadata.map(Names::new),
            objects: HashMap::new(),
            files: HashMap::new(),
            touches: Vec::new(),
        }
    }

    /// The rules that classes go by; `None` in the plain view.
    pub fn rules(&self) -> Option<&Rules> {
        self.classifier.as_ref().map(Classifier::rules)
    }

    /// What naming a file touches, if that is shown.
    pub fn metadata(&self) -> Option<Metadata> {
        self.names.as_ref().map(Names::metadata)
    }

    /// True if each request is for an object of its own, which is no place in a file.
    pub fn are_objects(&self) -> bool {
        self.cutting.objects
    }

    /// True if files that are deleted or cut lose their blocks.
    pub fn deletes(&self) -> bool {
        self.cutting.deletes || self.names.is_some()
    }

    /// Bytes of the blocks of `class`.
    pub fn block_bytes(&self, class: Class) -> u64 {
        match &self.parts {
            Some(parts) => parts.block_bytes_of(class),
            // An object that is a block, whatever its size, is its own first byte.
            None => self.cutting.block().bytes().unwrap_or(1),
        }
    }

    /// The number of a file, of which the caller keeps no block, may be another file's from now on.
    pub fn forget_file(&mut self, file: u32) {
        self.files.remove(&file);
        self.names.iter_mut().for_each(|names| names.forget(file));
        self.classifier.iter_mut().for_each(|classifier| classifier.forget_file(file));
    }

    /// The number of an application may be another one's from now on.
    pub fn forget_app(&mut self, app: u32) {
        self.classifier.iter_mut().for_each(|classifier| classifier.forget_app(app));
    }

    /// Appends to `steps` what `request` does. `facts` are those of its file and application, the size one that was
    /// known at some time; `size` is that at this request, if it is told.
    pub fn show(&mut self, request: &Request, size: Option<u64>, facts: &FileFacts, steps: &mut Vec<Step>) {
        let (request, size) = match self.cutting.objects {
            true => (&self.as_file(request), Some(u64::from(request.length)).filter(|&size| size > 0)),
            false => (request, size),
        };
        self.note_size(request, size, facts);
        if self.names.is_some() {
            self.touch_names(request, facts, steps);
        }
        if self.cutting.is_data(request) {
            self.data(request, facts, steps);
        } else if request.op() == Op::Exec && !request.failed() && self.names.is_some() {
            // A program that is run is read as a whole.
            self.whole_file(request, facts, steps);
        } else if let Some(from) =
            self.cutting.lost(request).filter(|_| self.deletes() || request.flags & FLAG_EXPIRED != 0)
        {
            let from = (request.op() != Op::Unlink).then_some(from);
            steps.push(Step::Invalidate { file: request.file, from });
        }
    }

    /// A request for an object is one for a file of its own, from its first byte on.
    fn as_file(&mut self, request: &Request) -> Request {
        let next = self.objects.len() as u32;
        let file = *self.objects.entry(request.offset).or_insert(next);
        Request { file, offset: 0, length: request.length.max(1), ..*request }
    }

    /// The size of the file at this request: what is told, or what writes and cuts have made of it.
    fn note_size(&mut self, request: &Request, size: Option<u64>, facts: &FileFacts) {
        let file = self.files.entry(request.file).or_insert_with(|| File { size: facts.size, ..File::default() });
        if size.is_some() {
            file.size = size;
        }
        let end = request.offset.saturating_add(u64::from(request.length));
        match request.op() {
            Op::Write if !request.failed() && size.is_none() => file.size = Some(file.size.unwrap_or(0).max(end)),
            Op::Truncate if !request.failed() => file.size = Some(request.offset),
            _ => {}
        }
    }

    fn touch_names(&mut self, request: &Request, facts: &FileFacts, steps: &mut Vec<Step>) {
        let Some(names) = &mut self.names else { return };
        let mut touches = std::mem::take(&mut self.touches);
        names.touch(request, facts.path, &mut touches);
        for touch in touches.drain(..) {
            let op = if touch.write { Op::Write } else { Op::Read };
            let request = Request { op: op as u8, kind: touch.kind as u8, flags: 0, ..*request };
            let class = self.class(&request, facts);
            let space = Space { object: touch.object, inode: touch.kind == Kind::Inode, part: self.part(class) };
            steps.push(self.piece(&request, class, space, touch.offset, touch.length.into(), None));
        }
        self.touches = touches;
    }

    fn whole_file(&mut self, request: &Request, facts: &FileFacts, steps: &mut Vec<Step>) {
        let size = self.files.get(&request.file).and_then(|file| file.size).unwrap_or(0);
        let length = u32::try_from(size).unwrap_or(u32::MAX);
        let whole =
            Request { op: Op::Read as u8, kind: Kind::Executable as u8, offset: 0, length, flags: 0, ..*request };
        self.data(&whole, facts, steps);
    }

    fn data(&mut self, request: &Request, facts: &FileFacts, steps: &mut Vec<Step>) {
        let mut request = *request;
        if request.flags & FLAG_EXECUTABLE != 0 {
            request.kind = Kind::Executable as u8;
        }
        let class = self.class(&request, facts);
        let space = Space { object: Object::File(request.file), inode: false, part: self.part(class) };
        let former = self.former_class(request.file, class).map(|class| Former {
            class,
            space: Space { part: self.part(class), ..space },
            block: self.block_bytes(class),
        });
        let length = self.cutting.block().bytes().map_or(1, |_| u64::from(request.length));
        steps.push(self.piece(&request, class, space, request.offset, length, former));
    }

    fn piece(
        &self,
        request: &Request,
        class: Class,
        space: Space,
        offset: u64,
        length: u64,
        former: Option<Former>,
    ) -> Step {
        Step::Touch(Piece {
            space,
            class,
            block: self.block_bytes(class),
            offset,
            length,
            write: request.op() == Op::Write,
            continues: request.flags & FLAG_CONTINUED != 0,
            former,
        })
    }

    fn class(&mut self, request: &Request, facts: &FileFacts) -> Class {
        let size = self.files.get(&request.file).and_then(|file| file.size);
        self.classifier.as_mut().map_or(0, |classifier| classifier.class(request, &FileFacts { size, ..*facts }))
    }

    fn part(&self, class: Class) -> u8 {
        self.parts.as_ref().map_or(0, |parts| parts.of_class[usize::from(class)])
    }

    /// The class whose part may still hold data of a file that is of `class` now.
    fn former_class(&mut self, number: u32, class: Class) -> Option<Class> {
        let parts = self.parts.as_ref()?;
        let file = self.files.get_mut(&number)?;
        let part = |class: Class| parts.of_class[usize::from(class)];
        if let Some(before) = file.class.replace(class)
            && part(before) != part(class)
        {
            file.former = Some(before);
        }
        file.former.filter(|&former| part(former) != part(class))
    }
}
