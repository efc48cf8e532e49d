/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The kernel's side of the feed: what happens to watched files in the page cache, told to user space.
 *
 * Built by `make bpf` into feed.bpf.o, which is committed. Needs no header of a kernel or a library: the layouts of the
 * tracepoints are written down here, and src/layout.rs compares them with the running kernel before anything is loaded.
 * src/kernel.rs is the other side of every struct below.
 */

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;

#define SECTION(name) __attribute__((section(name), used))

/* Helpers of the kernel by their numbers, which never change. */
static void *(*const lookup)(void *map, const void *key) = (void *)1;
static u64 (*const now)(void) = (void *)5;
static u64 (*const current_thread)(void) = (void *)14;
static s64 (*const read_kernel)(void *to, u32 size, u64 from) = (void *)113;
static void *(*const reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*const submit)(void *record, u64 flags) = (void *)132;
static void (*const discard)(void *record, u64 flags) = (void *)133;

enum { NO_WAKEUP = 1, FORCE_WAKEUP = 2 };

/* Maps. */
struct map {
	u32 type, key_size, value_size, max_entries, flags;
};
enum { HASH = 1, ARRAY = 2, RING = 27 };
enum { NO_PREALLOC = 1, MMAPABLE = 1 << 10 };

struct file {
	u64 device, inode;
};

/* Touches behind `pages` are not told. Without room among the stamps `first_stamp` is NO_STAMPS. `past` is 1 if this
 * kernel gives the page behind the last one of a read (Linux before 6.18), else 0. */
struct watched {
	u64 pages, first_stamp, shift, past;
};
#define NO_STAMPS (~0ULL)

/* The entries of the last three are chosen when the object is loaded. */
struct map SECTION("maps") files = {HASH, sizeof(struct file), sizeof(struct watched), 1, NO_PREALLOC};
struct map SECTION("maps") ring = {RING, 0, 0, 4096, 0};
struct map SECTION("maps") stamps = {ARRAY, 4, 8, 1, MMAPABLE};
struct map SECTION("maps") summary = {ARRAY, 4, 8, 1, MMAPABLE};

/* Where fields lie in the kernel's structures, by its own description (BTF): for kernels without the events of touches. */
struct places {
	u32 page_shift, call_file, call_position, buffer_length, file_mapping, mapping_inode, inode_number, inode_block, block_device;
	u32 fault_page, fault_area, area_file;
};
struct map SECTION("maps") places = {ARRAY, 4, sizeof(struct places), 1, 0};

/* What both sides write: `waiting` says what wakes the reader, 0 while it is awake; `lost` counts records that found no
 * room; `devices` is how many devices are watched as a whole: each has an entry among the files with inode 0. */
struct control {
	u64 waiting, lost, devices;
};
enum waking { RECORDS = 1, STAMPS = 2 };
struct map SECTION("maps") control = {ARRAY, 4, sizeof(struct control), 1, MMAPABLE};

/* The last read of a thread. The kernel reports a long read once for each batch of folios, always up to its last page:
 * all but the first report say nothing new. Threads that share an entry cost a repeated report. */
struct progress {
	u64 thread, device, inode, first, last;
};
enum { THREADS = 4096 };
struct map SECTION("maps") reads = {ARRAY, 4, sizeof(struct progress), THREADS, 0};

/* Records of the ring. */
enum what { READ, FAULT, AROUND, ADDED, REMOVED };
struct record {
	u64 time, inode, first;
	u32 device, pages, process, what;
};

/* A bit of the summary for 512 stamps. A longer touch goes to the ring. */
enum { STAMPS_PER_SUMMARY_SHIFT = 9, STAMPS_AT_ONCE = 512 };

/* True if the reader sleeps and is to be woken by this; it is woken once. */
static inline int wakes(enum waking by)
{
	u32 zero = 0;
	struct control *shared = lookup(&control, &zero);
	u64 waiting = shared ? *(volatile u64 *)&shared->waiting : 0;

	if (!(waiting & by))
		return 0;
	return __sync_lock_test_and_set(&shared->waiting, 0) != 0;
}

static inline int tell(enum what what, const struct file *file, u64 first, u64 pages)
{
	struct record *record = reserve(&ring, sizeof(*record), 0);

	if (!record) {
		u32 zero = 0;
		struct control *shared = lookup(&control, &zero);

		if (shared)
			__sync_fetch_and_add(&shared->lost, 1);
		return 0;
	}
	record->time = now();
	record->inode = file->inode;
	record->first = first;
	record->device = file->device;
	record->pages = pages;
	record->process = current_thread() >> 32;
	record->what = what;
	submit(record, wakes(RECORDS) ? FORCE_WAKEUP : NO_WAKEUP);
	return 0;
}

static inline int is_continued(const struct file *file, u64 first, u64 last)
{
	u64 thread = current_thread();
	u32 entry = thread % THREADS;
	struct progress *read = lookup(&reads, &entry);
	int continued;

	if (!read)
		return 0;
	continued = read->thread == thread && read->inode == file->inode && read->device == file->device &&
		    read->last == last && read->first < first;
	read->thread = thread;
	read->device = file->device;
	read->inode = file->inode;
	read->first = first;
	read->last = last;
	return continued;
}

/* The last store is fully ordered before the look at the summary, and the summary before the look at who waits: the
 * reader, which takes them in the other order, misses nothing. */
static inline int stamp(u64 first, u64 last)
{
	u64 time = now(), slot = first;
	u32 chunk = first >> STAMPS_PER_SUMMARY_SHIFT, end = last >> STAMPS_PER_SUMMARY_SHIFT, key;
	u64 *value;
	int i;

	for (i = 0; i < STAMPS_AT_ONCE && slot < last; i++, slot++) {
		key = slot;
		value = lookup(&stamps, &key);
		if (value)
			*(volatile u64 *)value = time;
	}
	key = last;
	value = lookup(&stamps, &key);
	if (value)
		__sync_lock_test_and_set(value, time);
	for (i = 0; i < 2 && chunk <= end; i++, chunk++) {
		key = chunk;
		value = lookup(&summary, &key);
		if (value && !*(volatile u64 *)value)
			__sync_lock_test_and_set(value, 1);
	}
	if (wakes(STAMPS)) {
		void *nothing = reserve(&ring, sizeof(struct record), 0);

		if (nothing)
			discard(nothing, FORCE_WAKEUP);
	}
	return 0;
}

/* The tracepoints, as the kernel lays them out; `dev_t` is 32 bits wide. */
struct range {
	u64 common, inode;
	u32 device, padding;
	u64 first, last;
};
struct fault {
	u64 common, inode;
	u32 device, padding;
	u64 page;
};
struct folio {
	u64 common, frame, inode, first;
	u32 device;
	u8 order;
};

/* What is known of a file: its own entry, else that of its device. */
static inline struct watched *find(const struct file *file)
{
	struct watched *known = lookup(&files, file);
	struct file all = {file->device, 0};
	struct control *shared;
	u32 zero = 0;

	if (known)
		return known;
	shared = lookup(&control, &zero);
	return shared && shared->devices ? lookup(&files, &all) : 0;
}

static inline u64 up_to(const struct watched *watched, u64 last)
{
	return last < watched->pages ? last : watched->pages - 1;
}

/* A thread reads these pages. */
static inline int read_pages(const struct file *file, u64 first, u64 last)
{
	struct watched *known = find(file);

	if (!known || first >= known->pages)
		return 0;
	last = up_to(known, last - known->past);
	if (is_continued(file, first, last))
		return 0;
	if (known->first_stamp != NO_STAMPS) {
		u64 from = known->first_stamp + (first >> (known->shift & 63));
		u64 to = known->first_stamp + (last >> (known->shift & 63));

		if (to - from < STAMPS_AT_ONCE)
			return stamp(from, to);
	}
	return tell(READ, file, first, last - first + 1);
}

static inline int map_pages(const struct file *file, u64 first, u64 last)
{
	struct watched *known = find(file);

	if (!known || first >= known->pages)
		return 0;
	return tell(AROUND, file, first, up_to(known, last) - first + 1);
}

static inline int fault_on(const struct file *file, u64 page)
{
	struct watched *known = find(file);

	return known && page < known->pages ? tell(FAULT, file, page, 1) : 0;
}

SECTION("tracepoint") int on_read(struct range *event)
{
	struct file file = {event->device, event->inode};

	return read_pages(&file, event->first, event->last);
}

SECTION("tracepoint") int on_map(struct range *event)
{
	struct file file = {event->device, event->inode};

	return map_pages(&file, event->first, event->last);
}

SECTION("tracepoint") int on_fault(struct fault *event)
{
	struct file file = {event->device, event->inode};

	return fault_on(&file, event->page);
}

static inline int on_folio(enum what what, struct folio *event)
{
	struct file file = {event->device, event->inode};

	return find(&file) ? tell(what, &file, event->first, 1ULL << (event->order & 31)) : 0;
}

SECTION("tracepoint") int on_add(struct folio *event) { return on_folio(ADDED, event); }

SECTION("tracepoint") int on_remove(struct folio *event) { return on_folio(REMOVED, event); }

/* The same by the functions that do it, for kernels without those events. */

static inline u64 load(u64 from)
{
	u64 value = 0;

	read_kernel(&value, sizeof(value), from);
	return value;
}

/* An argument of the function as a number: as the pointer that it is it could not be counted with. */
static inline u64 argument(const u64 *arguments, u32 number) { return load((u64)&arguments[number]); }

static inline struct file identity_of(const struct places *at, u64 file)
{
	u64 inode = load(load(file + at->file_mapping) + at->mapping_inode);
	struct file is = {(u32)load(load(inode + at->inode_block) + at->block_device), load(inode + at->inode_number)};

	return is;
}

/* filemap_read(struct kiocb *, struct iov_iter *, ssize_t) */
SECTION("fentry") int on_read_function(u64 *arguments)
{
	u32 zero = 0;
	const struct places *at = lookup(&places, &zero);
	u64 call = argument(arguments, 0), length, position;
	struct file file;

	if (!at)
		return 0;
	length = load(argument(arguments, 1) + at->buffer_length);
	if (!length)
		return 0;
	position = load(call + at->call_position);
	file = identity_of(at, load(call + at->call_file));
	return read_pages(&file, position >> (at->page_shift & 63), (position + length - 1) >> (at->page_shift & 63));
}

/* filemap_map_pages(struct vm_fault *, pgoff_t, pgoff_t) */
SECTION("fentry") int on_map_function(u64 *arguments)
{
	u32 zero = 0;
	const struct places *at = lookup(&places, &zero);
	struct file file;

	if (!at)
		return 0;
	file = identity_of(at, load(load(argument(arguments, 0) + at->fault_area) + at->area_file));
	return map_pages(&file, argument(arguments, 1), argument(arguments, 2));
}

/* filemap_fault(struct vm_fault *) */
SECTION("fentry") int on_fault_function(u64 *arguments)
{
	u32 zero = 0;
	const struct places *at = lookup(&places, &zero);
	u64 fault = argument(arguments, 0);
	struct file file;

	if (!at)
		return 0;
	file = identity_of(at, load(load(fault + at->fault_area) + at->area_file));
	return fault_on(&file, load(fault + at->fault_page));
}

/* The words by which the kernel knows terms that go with its own. */
char SECTION("license") licence[] = "Dual MIT/GPL";
