/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The kernel's side of recording: system calls of chosen processes with what they worked on, told to user space.
 *
 * Built by `make bpf` into calls.bpf.o, which is committed. Needs no header of a kernel or a library: where fields lie in
 * the kernel's structures comes from its own description (BTF), which src/calls/places.rs reads. src/calls/kernel.rs is the
 * other side of every struct below.
 *
 * Idea: the arguments of a call are read where no thread can change them: names and the file behind a
 * descriptor as the call begins, the position and the size as it ends. A file's path is reported when a process uses a
 * descriptor for the first time, and whenever another file is behind it.
 *
 * The content of the page cache before a read follows from what the thread adds to it, during a read or a fault: on_add, on_around and
 * on_fault are attached only where that is asked for.
 */

typedef unsigned char u8;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

#define SECTION(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))

/* Helpers of the kernel by their numbers, which never change. */
static void *(*const lookup)(void *map, const void *key) = (void *)1;
static s64 (*const update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static s64 (*const delete)(void *map, const void *key) = (void *)3;
static u64 (*const now)(void) = (void *)5;
static s64 (*const go_on_with)(void *context, void *programs, u32 index) = (void *)12;
static u64 (*const current_thread)(void) = (void *)14;
static u64 (*const current_task)(void) = (void *)35;
static s64 (*const read_user)(void *to, u32 size, u64 from) = (void *)112;
static s64 (*const read_kernel)(void *to, u32 size, u64 from) = (void *)113;
static s64 (*const read_user_text)(void *to, u32 size, u64 from) = (void *)114;
static s64 (*const read_kernel_text)(void *to, u32 size, u64 from) = (void *)115;
static s64 (*const output)(void *ring, void *data, u64 size, u64 flags) = (void *)130;

enum { NO_WAKEUP = 1 };

/* Maps. */
struct map {
	u32 type, key_size, value_size, max_entries, flags;
};
enum { HASH = 1, ARRAY = 2, PROGRAMS = 3, PER_CPU_ARRAY = 6, LRU_HASH = 9, RING = 27 };
enum { MMAPABLE = 1 << 10 };

/* Offsets of fields in the kernel's structures, and what is recorded. */
struct config {
	u32 everybody, self, sees_lists;
	u32 arguments[6];
	u32 task_files, task_fs, task_pid, task_tgid, task_signal, task_status, task_nsproxy;
	u32 signal_live, nsproxy_mnt, mnt_ns_number, files_table, table_size, table_files;
	u32 file_inode, file_flags, file_position, file_path, path_dentry;
	u32 inode_mode, inode_block, inode_size, inode_number, inode_generation, super_magic, super_device;
	u32 dentry_parent, dentry_name, dentry_hash, mount_root, mount_inner, mount_parent, mount_point, fs_directory;
	u32 group_root, root_hierarchy;
	u32 request_opcode, request_flags, request_descriptor, request_position, request_address, request_length;
	u32 request_ring, ring_count, ring_files, node_file;
	u32 folio_mapping, folio_index, folio_flags, mapping_host, file_private, program_file, folio_order, large_bit;
	u32 hierarchy, reads_at, writes_at, group_length;
	u8 group[256];
};

/* What to look at for a call: places of its arguments, or NONE. */
struct look {
	u8 wanted, at_begin, opens, submits;
	u8 file[2], name[2], base[2], value[2], answer, pad[3];
};
enum { NONE = 255, CALLS = 1024 };

/* Records of the ring. */
enum what { CALL, NAME, FORK, EXIT, EXEC, JOIN, TOUCH };
struct head {
	u32 what, thread, process, space;
	u64 time;
};
/* A file among all of the machine, also after another one took its number. */
struct identity {
	u64 number;
	u32 device, generation;
};
/* Pages of a mapped file that a fault has made visible, and which of them was touched. */
struct touch {
	struct head head;
	struct identity file;
	u64 first, pages, size;
	u32 waited, touched;
};
enum { UNKNOWN = ~0U };

/* A thread's call, from its begin to its end. */
struct call {
	u32 number, told, missing, busy;
	u64 arguments[6], file[2], position[2], value[2];
	/* Pages of the file that is read which the thread has added to the page cache: how many, and the first. */
	u64 added, lowest;
	/* A list of requests, and how many of them were reported. */
	u64 list, listed;
	struct touch touch;
};
enum { ADDED_NONE = -1 };

enum { ANSWER = 64, MOST_BUFFERS = 64 };
/* A bit next to those of the slots: the result is unknown. */
enum { SUBMITTED = 1 << 16 };
enum { KIND = 0170000, REGULAR = 0100000 };
#define OWN_POSITION (~0ULL)
struct ended {
	struct head head;
	u32 number, told;
	s64 result;
	u64 arguments[6], value[2], before[2], after[2], size[2];
	u32 flags[2], mode[2];
	u64 added, lowest;
	u8 answer[ANSWER];
};
enum { LONGEST = 4096, LONGEST_NAME = 256, DEEPEST = 64 };
/* Names of a path from its last to its first, each closed by a zero; or a text of the process, as it is. */
struct name {
	struct head head;
	u32 slot, length, mode, magic, is_deleted, is_whole;
	struct identity file;
	u8 text[LONGEST + LONGEST_NAME];
};
struct birth {
	struct head head;
	u32 thread, process, shares, pad;
};
enum { OVERLAY = 0x794c7630 };
enum { SHARES_FILES = 1, SHARES_DIRECTORY = 2 };
enum slot { TEXT, BASE = 2, FILE = 4, OPENED = 6, MAPPED, SLOTS };

/* Where on the way up a path is. */
struct walk {
	u64 mount, dentry;
};

struct descriptor {
	u32 process, number;
};
struct behind {
	u64 file, inode;
};
struct losses {
	u64 lost, foreign, unseen;
};
enum { FULLY = 1, ITS_CHILDREN = 2 };

/* The entries of some are chosen when the object is loaded. */
struct map SECTION("maps") config = {ARRAY, 4, sizeof(struct config), 1, 0};
struct map SECTION("maps") looks = {ARRAY, 4, sizeof(struct look), CALLS, 0};
struct map SECTION("maps") watched = {HASH, 4, 4, 65536, 0};
struct map SECTION("maps") calls = {HASH, 8, sizeof(struct call), 32768, 0};
struct map SECTION("maps") told = {LRU_HASH, sizeof(struct descriptor), sizeof(struct behind), 65536, 0};
struct map SECTION("maps") ring = {RING, 0, 0, 4096, 0};
struct map SECTION("maps") losses = {ARRAY, 4, sizeof(struct losses), 1, MMAPABLE};
/* Programs whose path was reported for touches of them. */
struct map SECTION("maps") mapped = {LRU_HASH, sizeof(struct identity), 4, 65536, 0};
/* on_submitted itself. */
struct map SECTION("maps") again = {PROGRAMS, 4, 4, 1, 0};
/* Too large for the stack. Writers are not preempted: the tracepoints below run with preemption off. */
struct map SECTION("maps") names = {PER_CPU_ARRAY, 4, sizeof(struct name), 1, 0};
struct map SECTION("maps") ends = {PER_CPU_ARRAY, 4, sizeof(struct ended), 1, 0};

INLINE u64 load(u64 from)
{
	u64 value = 0;

	read_kernel(&value, sizeof(value), from);
	return value;
}

INLINE u32 load_short(u64 from)
{
	u32 value = 0;

	read_kernel(&value, sizeof(value), from);
	return value;
}

INLINE const struct config *settings(void)
{
	u32 zero = 0;

	return lookup(&config, &zero);
}

enum loss { LOST, FOREIGN, UNSEEN };

INLINE void count_all(enum loss loss, u64 more)
{
	u32 zero = 0;
	struct losses *shared = lookup(&losses, &zero);

	if (shared)
		__sync_fetch_and_add(loss == LOST ? &shared->lost : loss == FOREIGN ? &shared->foreign : &shared->unseen, more);
}

INLINE void count(enum loss loss) { count_all(loss, 1); }

INLINE int send(void *record, u64 size)
{
	if (!output(&ring, record, size, NO_WAKEUP))
		return 1;
	count(LOST);
	return 0;
}

/* How a process is watched; 0 if it is not. */
INLINE u32 watch_of(const struct config *c, u32 process)
{
	u32 *how = lookup(&watched, &process);

	if (how)
		return *how;
	return c->everybody && process != c->self ? FULLY : 0;
}

INLINE u32 space_of(const struct config *c, u64 task)
{
	return load_short(load(load(task + c->task_nsproxy) + c->nsproxy_mnt) + c->mnt_ns_number);
}

INLINE void begin(const struct config *c, struct head *head, enum what what)
{
	u64 thread = current_thread();

	head->what = what;
	head->thread = thread;
	head->process = thread >> 32;
	head->space = space_of(c, current_task());
	head->time = now();
}

INLINE int send_name(struct name *name, enum slot slot, u32 length)
{
	if (length > LONGEST)
		length = LONGEST;
	name->slot = slot;
	name->length = length;
	return send(name, sizeof(*name) - sizeof(name->text) + length);
}

/* Tells a text that the process holds. The first byte of it, 0 if it cannot be read now, 1 if it found no room. */
INLINE u32 tell_text(const struct config *c, enum slot slot, u64 from)
{
	u32 zero = 0;
	struct name *name = lookup(&names, &zero);
	s64 length;

	if (!name)
		return 1;
	length = read_user_text(name->text, LONGEST, from);
	if (length <= 0 || length > LONGEST)
		return 0;
	begin(c, &name->head, NAME);
	name->is_whole = 1;
	if (!send_name(name, slot, length - 1))
		return 1;
	return length > 1 ? name->text[0] | 256 : 256;
}

/* Writes the last name of the path at hand behind those that are there already, and goes one up. False at its end. The
 * state lies in the record: the facts that the verifier has of it must be the same each time, or it counts every way here. */
INLINE int add_name(const struct config *c, struct walk *walk, volatile u32 *length, u8 *text, u32 *is_whole)
{
	u64 dentry = walk->dentry, outer = walk->mount - c->mount_inner;
	u64 parent = load(dentry + c->dentry_parent);
	int is_top = dentry == load(walk->mount + c->mount_root);
	u32 at = *length;
	s64 added;

	if (is_top && load(outer + c->mount_parent) != outer) {
		walk->dentry = load(outer + c->mount_point);
		walk->mount = load(outer + c->mount_parent) + c->mount_inner;
		return 1;
	}
	if (is_top || dentry == parent) {
		*is_whole = 1;
		/* The top has its own name only where nothing is below it. */
		if (at)
			return 0;
	}
	if (at >= LONGEST)
		return 0;
	added = read_kernel_text(&text[at], LONGEST_NAME, load(dentry + c->dentry_name));
	if (added <= 0)
		return 0;
	*length = at + added;
	walk->dentry = parent;
	return !*is_whole;
}

INLINE struct identity identity_of(const struct config *c, u64 inode)
{
	struct identity file = {
		load(inode + c->inode_number),
		load_short(load(inode + c->inode_block) + c->super_device),
		load_short(inode + c->inode_generation),
	};

	return file;
}

/* Tells the path of a directory entry below a mount. */
static __attribute__((noinline)) int tell_path(u64 path, u64 inode, u64 data, u32 slot)
{
	const struct config *c = settings();
	u32 zero = 0, i;
	struct name *name = lookup(&names, &zero);
	struct walk walk;
	u64 dentry;

	if (!c || !name)
		return 0;
	dentry = load(path + c->path_dentry);
	walk.mount = load(path);
	walk.dentry = dentry;
	begin(c, &name->head, NAME);
	name->mode = load_short(inode + c->inode_mode) & 0xffff;
	name->magic = load_short(load(inode + c->inode_block) + c->super_magic);
	name->is_deleted = !load(dentry + c->dentry_hash) && load(dentry + c->dentry_parent) != dentry;
	name->is_whole = 0;
	name->length = 0;
	name->file = identity_of(c, data);
	for (i = 0; i < DEEPEST; i++)
		if (!add_name(c, &walk, &name->length, name->text, &name->is_whole))
			break;
	return send_name(name, slot, name->length);
}

INLINE u64 file_of(const struct config *c, u32 number)
{
	u64 table = load(load(current_task() + c->task_files) + c->files_table);

	if (number >= load_short(table + c->table_size))
		return 0;
	return load(load(table + c->table_files) + 8ULL * number);
}

/* Whose pages the page cache has for a file: overlayfs has them for its own file below this one. */
INLINE u64 data_of(const struct config *c, u64 file)
{
	u64 inode = load(file + c->file_inode);

	if (!c->file_private || load_short(load(inode + c->inode_block) + c->super_magic) != OVERLAY)
		return inode;
	return load(load(load(file + c->file_private)) + c->file_inode);
}

INLINE int tell_file(const struct config *c, u64 file, u32 slot)
{
	return tell_path(file + c->file_path, load(file + c->file_inode), data_of(c, file), slot);
}

/* Tells what is behind a descriptor if the process has not used it yet, or it is another file now. */
INLINE u32 tell_descriptor(const struct config *c, u32 number, u64 file, u32 slot, int always)
{
	struct descriptor key = {current_thread() >> 32, number};
	struct behind is = {file, load(file + c->file_inode)}, *was = lookup(&told, &key);

	if (!always && was && was->file == is.file && was->inode == is.inode)
		return 0;
	if (!tell_file(c, file, slot))
		return 0;
	update(&told, &key, &is, 0);
	return 1U << slot;
}

/* Tells the directory that a name is taken from. */
INLINE u32 tell_base(const struct config *c, s32 number, u32 slot)
{
	u64 file;

	if (number == -100)
		return tell_path(load(current_task() + c->task_fs) + c->fs_directory, 0, 0, slot) ? 1U << slot : 0;
	file = file_of(c, number);
	return file && tell_file(c, file, slot) ? 1U << slot : 0;
}

INLINE u64 argument(const struct call *call, u32 place)
{
	return place < 6 ? call->arguments[place] : 0;
}

/* Tells a name and, if it is relative, where it is taken from; the rest is reported as the call ends. */
INLINE void tell_name(const struct config *c, const struct look *look, struct call *call, u32 which)
{
	u32 slot = TEXT + which, first, base;

	if (look->name[which] == NONE || !argument(call, look->name[which]))
		return;
	first = tell_text(c, slot, argument(call, look->name[which]));
	if (!first) {
		call->missing |= 1U << slot;
		return;
	}
	if (first > 1)
		call->told |= 1U << slot;
	if ((first & 255) == '/')
		return;
	base = look->base[which] == NONE ? (u32)-100 : argument(call, look->base[which]);
	call->told |= tell_base(c, base, BASE + which);
}

INLINE void end(const struct config *c, struct call *call, const struct look *look, s64 result)
{
	u32 zero = 0, i;
	struct ended *ended = lookup(&ends, &zero);
	u64 size = sizeof(*ended) - ANSWER;

	if (!ended)
		return;
	begin(c, &ended->head, CALL);
	ended->number = call->number;
	ended->told = call->told;
	ended->result = result;
	for (i = 0; i < 6; i++)
		ended->arguments[i] = call->arguments[i];
	for (i = 0; i < 2; i++) {
		u64 file = call->file[i], inode = file ? load(file + c->file_inode) : 0;

		ended->value[i] = call->value[i];
		ended->before[i] = call->position[i];
		ended->after[i] = file ? load(file + c->file_position) : 0;
		ended->flags[i] = file ? load_short(file + c->file_flags) : 0;
		ended->mode[i] = file ? load_short(inode + c->inode_mode) & 0xffff : 0;
		ended->size[i] = file ? load(inode + c->inode_size) : 0;
	}
	ended->added = call->added;
	ended->lowest = call->lowest;
	if (look->answer != NONE && result >= 0) {
		if (!read_user(ended->answer, ANSWER, argument(call, look->answer)))
			size = sizeof(*ended);
	}
	send(ended, size);
}

/* Bytes of the buffers in a list of them. */
INLINE u64 length_of(u64 list, u64 buffers)
{
	u64 sum = 0, length, i;

	for (i = 0; i < MOST_BUFFERS && i < buffers; i++) {
		length = 0;
		read_user(&length, sizeof(length), list + 16 * i + 8);
		sum += length;
	}
	return sum;
}

INLINE const struct look *look_of(u32 number)
{
	const struct look *look = number < CALLS ? lookup(&looks, &number) : 0;

	return look && look->wanted ? look : 0;
}

/* Memory for the call that the thread begins, taken the first time and kept until the thread ends. */
INLINE struct call *room(u64 task)
{
	struct call *call = lookup(&calls, &task), empty = {};

	if (call)
		return call;
	update(&calls, &task, &empty, 0);
	call = lookup(&calls, &task);
	if (!call)
		count(LOST);
	return call;
}

/* True if the inode is this file's. */
INLINE int is_of(const struct config *c, u64 inode, const struct identity *file)
{
	struct identity is = identity_of(c, inode);

	return is.number == file->number && is.device == file->device && is.generation == file->generation;
}

/* Tells the touch that waits, if one does. */
INLINE void tell_touch(struct call *call)
{
	if (call->touch.pages)
		send(&call->touch, sizeof(call->touch));
	call->touch.pages = 0;
}

SECTION("raw_tp/sys_enter") int on_enter(u64 *context)
{
	const struct config *c = settings();
	const struct look *look;
	u64 task = current_task(), registers = context[0];
	u32 process = current_thread() >> 32, i;
	struct call *call;

	if (!c || watch_of(c, process) != FULLY)
		return 0;
	/* A program for another kind of processor has other numbers. */
	if (c->task_status && load_short(task + c->task_status) & 2) {
		count(FOREIGN);
		return 0;
	}
	look = look_of(context[1]);
	if (!look)
		return 0;
	call = room(task);
	if (!call)
		return 0;
	tell_touch(call);
	call->number = context[1];
	call->told = 0;
	call->missing = 0;
	call->added = 0;
	call->lowest = ADDED_NONE;
	call->busy = 1;
	for (i = 0; i < 6; i++)
		call->arguments[i] = load(registers + c->arguments[i]);
	call->list = look->submits && c->sees_lists ? call->arguments[2] : 0;
	call->listed = 0;
	for (i = 0; i < 2; i++) {
		u32 number = argument(call, look->file[i]);

		call->file[i] = look->file[i] == NONE ? 0 : file_of(c, number);
		call->position[i] = 0;
		call->value[i] = 0;
		if (call->file[i]) {
			call->position[i] = load(call->file[i] + c->file_position);
			call->told |= tell_descriptor(c, number, call->file[i], FILE + i, 0);
		}
		if (look->value[i] != NONE && argument(call, look->value[i]))
			read_user(&call->value[i], 8, argument(call, look->value[i]));
		tell_name(c, look, call, i);
	}
	if (look->at_begin) {
		end(c, call, look, 0);
		call->busy = 0;
	}
	return 0;
}

/* Tells a request that was submitted, as the call that would do the same and succeeds. Its result is not known. */
INLINE void tell_request(const struct config *c, struct call *call, u32 number, u64 file, int is_write, u64 length, u64 position)
{
	u64 inode = load(file + c->file_inode), size = load(inode + c->inode_size), there;
	const struct look *look;

	call->number = is_write ? c->writes_at : c->reads_at;
	look = look_of(call->number);
	if (!look)
		return;
	call->told = tell_descriptor(c, number, file, FILE, 0) | SUBMITTED;
	call->file[0] = file;
	call->position[0] = load(file + c->file_position);
	call->lowest = ADDED_NONE;
	if (position == OWN_POSITION)
		position = call->position[0];
	call->arguments[0] = number;
	call->arguments[2] = length;
	call->arguments[3] = position;
	there = position < size ? size - position : 0;
	if (is_write || (load_short(inode + c->inode_mode) & KIND) != REGULAR || there > length)
		there = length;
	end(c, call, look, there);
}

/* A request to Linux's asynchronous I/O (libaio), and its operations that move data, as the interface has them. */
struct asynchronous {
	u64 data;
	u32 key, flags;
	unsigned short operation, priority;
	u32 descriptor;
	u64 buffer, length, position;
};
enum { READ_AT = 0, WRITE_AT = 1, READ_PARTS = 7, WRITE_PARTS = 8 };
/* So many are reported before the program continues with itself, which it may do 33 times; more the verifier would not follow. */
enum { REQUESTS_AT_ONCE = 4 };

/* Tells a request that the kernel has taken. It is looked at when it has: where another thread got its answer meanwhile and uses
 * its memory again, that is reported. */
INLINE void tell_listed(const struct config *c, struct call *call, u64 at)
{
	struct asynchronous request = {};
	u32 operation;
	u64 file;

	if (read_user(&request, sizeof(request), at)) {
		count(UNSEEN);
		return;
	}
	operation = request.operation;
	if (operation != READ_AT && operation != WRITE_AT && operation != READ_PARTS && operation != WRITE_PARTS)
		return;
	if (operation == READ_PARTS || operation == WRITE_PARTS)
		request.length = length_of(request.buffer, request.length);
	file = file_of(c, request.descriptor);
	if (file)
		tell_request(c, call, request.descriptor, file, operation == WRITE_AT || operation == WRITE_PARTS, request.length,
			     request.position);
	else
		count(UNSEEN);
}

/* A list of requests was submitted, and the kernel has taken the first ones. */
SECTION("raw_tp/sys_exit") int on_submitted(u64 *context)
{
	const struct config *c = settings();
	u64 task = current_task(), at;
	s64 taken = context[1];
	struct call *call = lookup(&calls, &task);
	u32 i;

	if (!c || !call || !call->list)
		return 0;
	for (i = 0; i < REQUESTS_AT_ONCE; i++) {
		if (taken <= (s64)call->listed) {
			call->list = 0;
			return 0;
		}
		at = 0;
		read_user(&at, sizeof(at), call->list + 8 * call->listed++);
		tell_listed(c, call, at);
	}
	go_on_with(context, &again, 0);
	count_all(UNSEEN, taken - call->listed);
	call->list = 0;
	return 0;
}

SECTION("raw_tp/sys_exit") int on_exit(u64 *context)
{
	const struct config *c = settings();
	const struct look *look;
	u64 task = current_task();
	s64 result = context[1];
	struct call *call;
	u32 i;

	if (!c || watch_of(c, current_thread() >> 32) != FULLY)
		return 0;
	call = lookup(&calls, &task);
	if (!call || !call->busy)
		return 0;
	call->busy = 0;
	look = look_of(call->number);
	if (!look || call->list)
		return 0;
	for (i = 0; i < 2; i++)
		if (call->missing & 1U << (TEXT + i))
			tell_name(c, look, call, i);
	if (look->opens && result >= 0) {
		u64 file = file_of(c, result);

		if (file)
			call->told |= tell_descriptor(c, result, file, OPENED, 1);
	}
	end(c, call, look, result);
	return 0;
}

/* Operations of io_uring that move data, by their numbers in its interface. */
enum { READV = 1, WRITEV = 2, READ_FIXED = 4, WRITE_FIXED = 5, READ = 22, WRITE = 23, READV_FIXED = 60, WRITEV_FIXED = 61 };
/* The file is one of those that were registered with the ring. */
enum { REGISTERED = 1 };
/* Registered files are reported under numbers that no descriptor has: the ring's, so that two rings of a process are apart, and
 * the file's in the ring's table. */
enum { REGISTERED_NUMBERS = 1 << 30, RINGS = 1023, RING_SHIFT = 20, MOST_REGISTERED = 1 << 20 };
enum { DIRECTLY = ~0U, POINTER_FLAGS = 7 };

INLINE u64 registered_file(const struct config *c, u64 ring, u32 index)
{
	u64 slot;

	if (!c->ring_files || index >= MOST_REGISTERED || index >= load_short(ring + c->ring_count))
		return 0;
	slot = load(load(ring + c->ring_files) + 8ULL * index);
	if (slot && c->node_file != DIRECTLY)
		slot = load(slot + c->node_file);
	return slot & ~(u64)POINTER_FLAGS;
}

/* A request is submitted to io_uring, by the thread or by one of the kernel's in its process. */
SECTION("raw_tp/io_uring_submit_req") int on_request(u64 *context)
{
	const struct config *c = settings();
	u64 request = context[0], length, file;
	struct call call = {};
	u32 opcode, number;
	int is_write, has_parts;

	if (!c || watch_of(c, current_thread() >> 32) != FULLY)
		return 0;
	opcode = load_short(request + c->request_opcode) & 255;
	is_write = opcode == WRITEV || opcode == WRITE_FIXED || opcode == WRITE || opcode == WRITEV_FIXED;
	if (!is_write && opcode != READV && opcode != READ_FIXED && opcode != READ && opcode != READV_FIXED)
		return 0;
	has_parts = opcode == READV || opcode == WRITEV || opcode == READV_FIXED || opcode == WRITEV_FIXED;
	length = load_short(request + c->request_length);
	if (has_parts)
		length = length_of(load(request + c->request_address), length);
	number = load_short(request + c->request_descriptor);
	if (load(request + c->request_flags) & REGISTERED) {
		u64 ring = load(request + c->request_ring);

		file = registered_file(c, ring, number);
		number |= REGISTERED_NUMBERS | (ring >> 6 & RINGS) << RING_SHIFT;
	} else {
		file = file_of(c, number);
	}
	if (file)
		tell_request(c, &call, number, file, is_write, length, load(request + c->request_position));
	else
		count(UNSEEN);
	return 0;
}

/* Reports the path of a program, which no call maps. */
INLINE void tell_program(const struct config *c, u64 file)
{
	struct identity identity = identity_of(c, data_of(c, file));
	u32 yes = 1;

	if (!lookup(&mapped, &identity) && tell_file(c, file, MAPPED))
		update(&mapped, &identity, &yes, 0);
}

SECTION("raw_tp/sched_process_fork") int on_fork(u64 *context)
{
	const struct config *c = settings();
	u64 parent = context[0], child = context[1];
	u32 process = current_thread() >> 32, how, fully = FULLY;
	struct birth birth = {};

	if (!c)
		return 0;
	how = watch_of(c, process);
	birth.thread = load_short(child + c->task_pid);
	birth.process = load_short(child + c->task_tgid);
	if (!how || (how == ITS_CHILDREN && birth.process == process))
		return 0;
	if (birth.process != process && !c->everybody && update(&watched, &birth.process, &fully, 0))
		count(LOST);
	if (load(parent + c->task_files) == load(child + c->task_files))
		birth.shares |= SHARES_FILES;
	if (load(parent + c->task_fs) == load(child + c->task_fs))
		birth.shares |= SHARES_DIRECTORY;
	begin(c, &birth.head, FORK);
	send(&birth, sizeof(birth));
	return 0;
}

SECTION("raw_tp/sched_process_exit") int on_end(void *context)
{
	const struct config *c = settings();
	u64 task = current_task();
	u32 process = current_thread() >> 32;
	struct head head = {};
	struct call *call;

	(void)context;
	if (!c || watch_of(c, process) != FULLY) {
		delete(&calls, &task);
		return 0;
	}
	call = lookup(&calls, &task);
	if (call)
		tell_touch(call);
	delete(&calls, &task);
	begin(c, &head, EXIT);
	send(&head, sizeof(head));
	if (!load_short(load(task + c->task_signal) + c->signal_live))
		delete(&watched, &process);
	return 0;
}

/* A thread executes a program and is the only one of its process from now on, under its process's number. */
SECTION("raw_tp/sched_process_exec") int on_exec(u64 *context)
{
	const struct config *c = settings();
	u32 process = current_thread() >> 32;
	struct birth birth = {};

	if (!c || watch_of(c, process) != FULLY)
		return 0;
	birth.thread = context[1];
	birth.process = process;
	begin(c, &birth.head, EXEC);
	send(&birth, sizeof(birth));
	if (c->program_file)
		tell_program(c, load(context[2] + c->program_file));
	return 0;
}

/* A process is moved to a control group: into the one that is recorded or below it, or out of it. */
SECTION("raw_tp/cgroup_attach_task") int on_join(u64 *context)
{
	const struct config *c = settings();
	u64 group = context[0], path = context[1], task = context[2];
	u32 process, fully = FULLY, length, i;
	struct birth birth = {};
	u8 text[256] = {};

	if (!c || !c->group_length)
		return 0;
	if (load_short(load(group + c->group_root) + c->root_hierarchy) != c->hierarchy)
		return 0;
	process = load_short(task + c->task_tgid);
	length = c->group_length;
	read_kernel_text(text, sizeof(text), path);
	for (i = 0; i < sizeof(text) - 1 && i < length; i++)
		if (text[i] != c->group[i])
			break;
	if (i < length || (i < sizeof(text) && text[i] && text[i] != '/')) {
		delete(&watched, &process);
		return 0;
	}
	if (process == c->self)
		return 0;
	update(&watched, &process, &fully, 0);
	begin(c, &birth.head, JOIN);
	birth.thread = load_short(task + c->task_pid);
	birth.process = process;
	send(&birth, sizeof(birth));
	return 0;
}

/* A thread adds pages to the page cache: the one that it touches, or what a file lacked that it reads. Pages of the file
 * that is written are not meant, nor blocks of the file system's own. */
SECTION("raw_tp/mm_filemap_add_to_page_cache") int on_add(u64 *context)
{
	const struct config *c = settings();
	u64 task = current_task(), folio = context[0], inode, first, pages = 1;
	struct call *call = lookup(&calls, &task);

	if (!c || !call)
		return 0;
	inode = load(load(folio + c->folio_mapping) + c->mapping_host);
	first = load(folio + c->folio_index);
	if (load(folio + c->folio_flags) >> (c->large_bit & 63) & 1)
		pages <<= load(folio + c->folio_order) & 31;
	if (call->touch.pages == 1 && is_of(c, inode, &call->touch.file)) {
		call->touch.waited |= call->touch.first - first < pages;
		return 0;
	}
	if (!call->busy || !call->file[0])
		return 0;
	if (call->file[1] && inode == load(call->file[1] + c->file_inode))
		return 0;
	if ((load_short(inode + c->inode_mode) ^ load_short(load(call->file[0] + c->file_inode) + c->inode_mode)) & KIND)
		return 0;
	call->added += pages;
	if (first < call->lowest)
		call->lowest = first;
	return 0;
}

/* A touch waits until the thread does something else: only then it is known how its fault went. */
INLINE void begin_touch(const struct config *c, struct call *call, u64 inode, u64 first, u64 pages)
{
	tell_touch(call);
	begin(c, &call->touch.head, TOUCH);
	call->touch.file = identity_of(c, inode);
	call->touch.size = load(inode + c->inode_size);
	call->touch.first = first;
	call->touch.pages = pages;
	call->touch.touched = pages == 1 ? 0 : UNKNOWN;
	call->touch.waited = 0;
}

/* The kernel has mapped what the page cache has of the pages around a fault, at most 16 as it comes. */
SECTION("raw_tp/mm_filemap_map_pages") int on_around(u64 *context)
{
	const struct config *c = settings();
	u64 first = context[1], pages = context[2] - first + 1, inode;
	struct touch *touch;
	struct call *call;

	if (!c || watch_of(c, current_thread() >> 32) != FULLY)
		return 0;
	call = room(current_task());
	if (!call)
		return 0;
	inode = load(context[0] + c->mapping_host);
	touch = &call->touch;
	if (touch->pages == 1 && touch->first - first < pages && is_of(c, inode, &touch->file)) {
		/* The fault before had to wait for the page, and comes again. */
		touch->touched = touch->first - first;
		touch->first = first;
		touch->pages = pages;
		return 0;
	}
	begin_touch(c, call, inode, first, pages);
	return 0;
}

/* The page of a fault was not among those, or is to be written. The fault comes again if it has to wait. */
SECTION("raw_tp/mm_filemap_fault") int on_fault(u64 *context)
{
	const struct config *c = settings();
	u64 page = context[1], inode;
	struct touch *touch;
	struct call *call;

	if (!c || watch_of(c, current_thread() >> 32) != FULLY)
		return 0;
	call = room(current_task());
	if (!call)
		return 0;
	inode = load(context[0] + c->mapping_host);
	touch = &call->touch;
	if (page - touch->first < touch->pages && is_of(c, inode, &touch->file)) {
		if (touch->pages == 1)
			return 0;
		if (touch->touched == UNKNOWN)
			touch->pages = 0;
	}
	begin_touch(c, call, inode, page, 1);
	return 0;
}

/* The words by which the kernel knows terms that go with its own. */
char SECTION("license") licence[] = "Dual MIT/GPL";
