//! Maps requests to references in a view, one at a time: which bytes of which object, in which class, and which
//! blocks become invalid.
//!
//! The simulator maps a whole trace at once and numbers its blocks densely. The live cache maps each request as it
//! arrives.

use hashbrown::HashMap;

use super::{Cutting, Metadata, MetadataObject, Namespace, Parts, Touch, View};
use crate::classify::{Class, Classifier, FileFacts, Rules};
use crate::request::{FLAG_CONTINUED, FLAG_EXECUTABLE, FLAG_EXPIRED, Kind, Op, Request};

/// The object and partition that a block belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Space {
    /// The file or directory.
    pub object: MetadataObject,
    /// True for the inode, false for the data.
    pub inode: bool,
    /// The partition of the cache that the block belongs to.
    pub part: u8,
}

impl Space {
    /// Returns the kind of metadata; `None` for data of a file.
    pub fn metadata(&self) -> Option<Kind> {
        match self.object {
            _ if self.inode => Some(Kind::Inode),
            MetadataObject::Directory(_) => Some(Kind::Directory),
            MetadataObject::File(_) => None,
        }
    }
}

/// A byte range that a request touches, to be cut into blocks. The first block starts a request unless `continues` is
/// set; the others continue it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The object and partition.
    pub space: Space,
    /// The class of the bytes.
    pub class: Class,
    /// Bytes of a block.
    pub block: u64,
    /// The first byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// True for a write.
    pub write: bool,
    /// True if the extent continues the previous request.
    pub continues: bool,
    /// Where old copies of the same bytes may be: the file had another class before, with blocks in another
    /// partition.
    pub former: Option<Former>,
}

/// The class of a file before its present one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Former {
    /// The class.
    pub class: Class,
    /// Where its blocks are.
    pub space: Space,
    /// Bytes of a block.
    pub block: u64,
}

/// One effect of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Bytes are referenced.
    Touch(Piece),
    /// The blocks of the file that begin at this byte or after it become invalid; with `None`, all blocks and the
    /// inode.
    Invalidate {
        /// The file.
        file: u32,
        /// The first byte.
        from: Option<u64>,
    },
}

/// Maps one stream of requests in a view.
#[derive(Debug)]
pub struct Viewer {
    cutting: Cutting,
    classifier: Option<Classifier>,
    parts: Option<Parts>,
    names: Option<Namespace>,
    objects: HashMap<u64, u32>,
    files: HashMap<u32, File>,
    touches: Vec<Touch>,
}

/// The known facts of a file so far.
#[derive(Debug, Default)]
struct File {
    size: Option<u64>,
    /// The class of its last data, and the previous class that was cut differently.
    class: Option<Class>,
    former: Option<Class>,
}

impl Viewer {
    /// Starts without any request.
    pub fn new(view: &View, cutting: Cutting) -> Viewer {
        Viewer {
            cutting,
            classifier: view.rules.clone().map(Classifier::new),
            parts: view.parts.clone(),
            names: view.metadata.map(Namespace::new),
            objects: HashMap::new(),
            files: HashMap::new(),
            touches: Vec::new(),
        }
    }

    /// Returns the rules of classes; `None` in the plain view.
    pub fn rules(&self) -> Option<&Rules> {
        self.classifier.as_ref().map(Classifier::rules)
    }

    /// Returns which metadata naming a file touches, if it is mapped.
    pub fn metadata(&self) -> Option<Metadata> {
        self.names.as_ref().map(Namespace::metadata)
    }

    /// True if each request is for an object, not for a range of a file.
    pub fn are_objects(&self) -> bool {
        self.cutting.objects
    }

    /// True if deleted or truncated files lose their blocks.
    pub fn deletes(&self) -> bool {
        self.cutting.deletes || self.names.is_some()
    }

    /// Returns the bytes of a block of `class`.
    pub fn block_bytes(&self, class: Class) -> u64 {
        match &self.parts {
            Some(parts) => parts.block_bytes_of(class),
            // An object that is one block of any size has block number equal to its first byte.
            None => self.cutting.block().bytes().unwrap_or(1),
        }
    }

    /// Forgets a file of which the caller has no block left. Its number may be reused.
    pub fn forget_file(&mut self, file: u32) {
        self.files.remove(&file);
        self.names.iter_mut().for_each(|names| names.forget(file));
        self.classifier.iter_mut().for_each(|classifier| classifier.forget_file(file));
    }

    /// Forgets an application, whose number may be reused.
    pub fn forget_app(&mut self, app: u32) {
        self.classifier.iter_mut().for_each(|classifier| classifier.forget_app(app));
    }

    /// Appends to `steps` the effects of `request`. `facts` describe its file and application, with a size that was
    /// correct at some time. `size` is the size at this request, if known.
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
            // An executed program is read as a whole.
            self.whole_file(request, facts, steps);
        } else if let Some(from) =
            self.cutting.lost(request).filter(|_| self.deletes() || request.flags & FLAG_EXPIRED != 0)
        {
            let from = (request.op() != Op::Unlink).then_some(from);
            steps.push(Step::Invalidate { file: request.file, from });
        }
    }

    /// Turns a request for an object into one for a separate file, starting at the first byte.
    fn as_file(&mut self, request: &Request) -> Request {
        let next = self.objects.len() as u32;
        let file = *self.objects.entry(request.offset).or_insert(next);
        Request { file, offset: 0, length: request.length.max(1), ..*request }
    }

    /// Updates the size of the file: the given size, or the size that results from writes and truncations.
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
        let space = Space { object: MetadataObject::File(request.file), inode: false, part: self.part(class) };
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

    /// Returns the class whose partition may still hold data of a file that has `class` now.
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
