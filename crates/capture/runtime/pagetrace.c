/* A recorder of page references for programs compiled with -fsanitize=thread.
 *
 * That option makes the compiler call a function before every load and store. Link this file in place of the sanitizer's own
 * library, and the program writes a trace of the memory it uses, at nearly a hundred million references a second:
 *
 *     gcc -O2 -g -fsanitize=thread -c program.c          (or g++, clang, clang++)
 *     gcc -O2 -c pagetrace.c
 *     gcc program.o pagetrace.o -o program -lm           (without -fsanitize=thread)
 *     HOTSET_PAGETRACE=program.pgt ./program
 *     hotset simulate program.pgt --policy apr,clock,opt --size 30%,50%     or: hotset import program.pgt -o program.hst
 *
 * The trace is HOTSET_PAGETRACE, by default hotset.pgt, and the list of objects next to it, NAME.obj.csv. Without a name that ends in .pgt, or if
 * a file cannot be written, it says so once and the program runs on unrecorded.
 *
 * Recorded: loads and stores of the code compiled so, atomic ones and copies too; allocations from LEAST bytes on, their frees, and mappings.
 * Not recorded: what libraries and system calls do to memory, and a child after fork. Instructions are not counted.
 * Threads: their references are put into one order as their runs of references to a page end, which is nearly the order of time.
 * Signal handlers must be compiled without the option: they may interrupt the recorder.
 * Needs Linux, 64 bits, and glibc, whose allocator is called by its inner names.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE_SHIFT = 12, LEAST = 4096, BUFFER = 1 << 20, LONGEST_RECORD = 30 };

#define CALLER ((uintptr_t)__builtin_return_address(0))

/* ---- The trace: records are LEB128 varints zigzag(page - page before), 2n + (w > 0), [w]; see docs/guide/fit-a-program.md ---- */

/* References of a thread to one page without another between them. */
struct run {
    uintptr_t page;
    uint64_t references, writes;
    struct run *next; /* of another thread */
    bool known;       /* it is in the list of runs */
};

static __thread struct run run __attribute__((tls_model("initial-exec")));

static struct {
    atomic_flag taken;
    int trace, objects; /* descriptors; 0: not recording */
    bool ended;
    struct run *runs; /* of all threads that have made references */
    uintptr_t page;   /* of the last record */
    uint64_t references;
    size_t used;
    unsigned char buffer[BUFFER];
} out = {ATOMIC_FLAG_INIT, 0, 0, false, NULL, 0, 0, 0, {0}};

/* With one thread there is no other to keep out. */
static bool lock(void) {
    if (__libc_single_threaded) return false;
    while (atomic_flag_test_and_set_explicit(&out.taken, memory_order_acquire)) {}
    return true;
}

static void unlock(bool taken) {
    if (taken) atomic_flag_clear_explicit(&out.taken, memory_order_release);
}

/* Says why nothing more is recorded. */
static void give_up(const char *what) {
    int error = errno;
    dprintf(2, "pagetrace: %s: %s; the program runs on unrecorded\n", what, strerror(error));
    out.trace = out.objects = 0;
    out.ended = true;
}

static void put_all(int file, const void *bytes, size_t left, const char *what) {
    while (left > 0) {
        ssize_t put = write(file, bytes, left);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) {
            give_up(what);
            return;
        }
        bytes = (const char *)bytes + put;
        left -= (size_t)put;
    }
}

static void flush(void) {
    if (out.trace) put_all(out.trace, out.buffer, out.used, "cannot write the trace");
    out.used = 0;
}

static void put(uint64_t number) {
    while (number >= 128) {
        out.buffer[out.used++] = (unsigned char)(number | 128);
        number >>= 7;
    }
    out.buffer[out.used++] = (unsigned char)number;
}

/* Writes a run that has ended. The lock is held. */
static void record(struct run *ended) {
    if (ended->references == 0) return;
    if (out.used > BUFFER - LONGEST_RECORD) flush();
    int64_t delta = (int64_t)(ended->page - out.page);
    put((uint64_t)delta << 1 ^ (uint64_t)(delta >> 63));
    put(ended->references << 1 | (ended->writes > 0));
    if (ended->writes > 0) put(ended->writes);
    out.page = ended->page;
    out.references += ended->references;
    ended->references = ended->writes = 0;
}

static pthread_key_t leaving;

/* A thread ends: its last run, whose memory goes with it. */
static void leave(void *gone) {
    bool taken = lock();
    record(gone);
    struct run **link = &out.runs;
    while (*link && *link != gone) link = &(*link)->next;
    if (*link) *link = (*link)->next;
    ((struct run *)gone)->known = false;
    unlock(taken);
}

/* The first reference of a thread. */
static void enter(void) {
    run.known = true;
    pthread_setspecific(leaving, &run);
    bool taken = lock();
    run.next = out.runs;
    out.runs = &run;
    unlock(taken);
}

/* The thread turns to another page. */
static __attribute__((noinline)) void turn(uintptr_t page, bool writes) {
    if (!out.trace) return;
    int error = errno;
    if (!run.known) enter();
    bool taken = lock();
    record(&run);
    run.page = page;
    run.references = 1;
    run.writes = writes;
    unlock(taken);
    errno = error;
}

static inline __attribute__((always_inline)) void touch(const void *address, bool writes) {
    uintptr_t page = (uintptr_t)address >> PAGE_SHIFT;
    if (__builtin_expect(page == run.page && run.references > 0, 1)) {
        run.references++;
        run.writes += writes;
    } else {
        turn(page, writes);
    }
}

/* An access that may cross into the next page. */
static inline __attribute__((always_inline)) void touch_span(const void *address, size_t bytes, bool writes) {
    if (bytes == 0) return;
    uintptr_t first = (uintptr_t)address, last = first + bytes - 1;
    touch(address, writes);
    for (uintptr_t page = (first >> PAGE_SHIFT) + 1; page <= last >> PAGE_SHIFT; page++) {
        touch((const void *)(page << PAGE_SHIFT), writes);
    }
}

/* ---- Objects: a line an event in NAME.obj.csv, refno,op,addr,size,caller ---- */

static void tell(char op, const void *address, size_t bytes, uintptr_t caller) {
    int error = errno;
    bool taken = lock();
    if (out.objects) {
        uint64_t at = out.references + run.references;
        char line[128];
        int length = snprintf(line, sizeof line, "%" PRIu64 ",%c,0x%" PRIxPTR ",%zu,0x%" PRIxPTR "\n", at, op,
                              (uintptr_t)address, bytes, caller);
        put_all(out.objects, line, (size_t)length, "cannot write the list of objects");
    }
    unlock(taken);
    errno = error;
}

static void came(const void *address, size_t bytes, uintptr_t caller) {
    if (out.objects && address && malloc_usable_size((void *)address) >= LEAST) tell('m', address, bytes, caller);
}

static void goes(const void *address, uintptr_t caller) {
    if (out.objects && address && malloc_usable_size((void *)address) >= LEAST) tell('f', address, 0, caller);
}

/* ---- Beginning and end ---- */

static void in_child(void) { out.trace = out.objects = 0; }

static void begin(void) {
    static const char suffix[] = ".pgt", list[] = ".obj.csv";
    if (out.trace || out.ended) return;
    const char *name = getenv("HOTSET_PAGETRACE");
    if (!name || !*name) name = "hotset.pgt";
    size_t length = strlen(name), stem = length - (sizeof suffix - 1);
    char objects[4096];
    if (length < sizeof suffix || strcmp(name + stem, suffix) || stem + sizeof list > sizeof objects) {
        errno = EINVAL;
        give_up("HOTSET_PAGETRACE must be the name of a file that ends in .pgt");
        return;
    }
    memcpy(objects, name, stem);
    memcpy(objects + stem, list, sizeof list);
    int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
    int trace = open(name, flags, 0666), second = trace < 0 ? -1 : open(objects, flags, 0666);
    if (second < 0) {
        give_up(trace < 0 ? name : objects);
        return;
    }
    static const char header[] = "refno,op,addr,size,caller\n";
    put_all(second, header, sizeof header - 1, objects);
    if (pthread_key_create(&leaving, leave) || pthread_atfork(NULL, NULL, in_child)) {
        errno = ENOMEM;
        give_up("cannot begin");
        return;
    }
    out.objects = second;
    out.trace = trace;
}

/* The runs that threads are in the middle of, then the end. */
static __attribute__((destructor)) void end(void) {
    bool taken = lock();
    for (struct run *each = out.runs; each; each = each->next) record(each);
    flush();
    unlock(taken);
    tell('E', NULL, 0, 0);
    out.trace = out.objects = 0;
    out.ended = true;
}

__attribute__((constructor)) void __tsan_init(void) { begin(); }

/* ---- What the compiler calls ---- */

#define EXPORT(NAME, ...) \
    void NAME(__VA_ARGS__); \
    void NAME(__VA_ARGS__)

#define PLAIN(BYTES) \
    EXPORT(__tsan_read##BYTES, void *address) { touch(address, false); } \
    EXPORT(__tsan_write##BYTES, void *address) { touch(address, true); } \
    EXPORT(__tsan_read_write##BYTES, void *address) { touch(address, true); } \
    EXPORT(__tsan_volatile_read##BYTES, void *address) { touch(address, false); } \
    EXPORT(__tsan_volatile_write##BYTES, void *address) { touch(address, true); }

#define UNALIGNED(BYTES) \
    EXPORT(__tsan_unaligned_read##BYTES, void *address) { touch_span(address, BYTES, false); } \
    EXPORT(__tsan_unaligned_write##BYTES, void *address) { touch_span(address, BYTES, true); } \
    EXPORT(__tsan_unaligned_read_write##BYTES, void *address) { touch_span(address, BYTES, true); } \
    EXPORT(__tsan_unaligned_volatile_read##BYTES, void *address) { touch_span(address, BYTES, false); } \
    EXPORT(__tsan_unaligned_volatile_write##BYTES, void *address) { touch_span(address, BYTES, true); }

PLAIN(1) PLAIN(2) PLAIN(4) PLAIN(8) PLAIN(16)
UNALIGNED(2) UNALIGNED(4) UNALIGNED(8) UNALIGNED(16)
EXPORT(__tsan_read_range, void *address, size_t bytes) { touch_span(address, bytes, false); }
EXPORT(__tsan_write_range, void *address, size_t bytes) { touch_span(address, bytes, true); }
EXPORT(__tsan_vptr_read, void **address) { touch(address, false); }
EXPORT(__tsan_vptr_update, void **address, void *value) { (void)value; touch(address, true); }
EXPORT(__tsan_func_entry, void *caller) { (void)caller; }
EXPORT(__tsan_func_exit, void) {}
EXPORT(__tsan_ignore_thread_begin, void) {}
EXPORT(__tsan_ignore_thread_end, void) {}
EXPORT(__tsan_atomic_thread_fence, int order) { (void)order; atomic_thread_fence(memory_order_seq_cst); }
EXPORT(__tsan_atomic_signal_fence, int order) { (void)order; atomic_signal_fence(memory_order_seq_cst); }

void *__tsan_memcpy(void *to, const void *from, size_t bytes);
void *__tsan_memcpy(void *to, const void *from, size_t bytes) {
    touch_span(from, bytes, false);
    touch_span(to, bytes, true);
    return memcpy(to, from, bytes);
}
void *__tsan_memmove(void *to, const void *from, size_t bytes);
void *__tsan_memmove(void *to, const void *from, size_t bytes) {
    touch_span(from, bytes, false);
    touch_span(to, bytes, true);
    return memmove(to, from, bytes);
}
void *__tsan_memset(void *to, int byte, size_t bytes);
void *__tsan_memset(void *to, int byte, size_t bytes) {
    touch_span(to, bytes, true);
    return memset(to, byte, bytes);
}

/* Atomic operations are done here, always in the strictest order. */
#define CHANGE(BITS, TYPE, NAME) \
    TYPE __tsan_atomic##BITS##_##NAME(volatile TYPE *address, TYPE value, int order); \
    TYPE __tsan_atomic##BITS##_##NAME(volatile TYPE *address, TYPE value, int order) { \
        (void)order; \
        touch((const void *)address, true); \
        return __atomic_##NAME(address, value, __ATOMIC_SEQ_CST); \
    }

#define EXCHANGE(BITS, TYPE) \
    TYPE __tsan_atomic##BITS##_exchange(volatile TYPE *address, TYPE value, int order); \
    TYPE __tsan_atomic##BITS##_exchange(volatile TYPE *address, TYPE value, int order) { \
        (void)order; \
        touch((const void *)address, true); \
        return __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST); \
    }

#define COMPARE(BITS, TYPE, NAME) \
    int __tsan_atomic##BITS##_compare_exchange_##NAME(volatile TYPE *address, TYPE *expected, TYPE value, int order, int failed); \
    int __tsan_atomic##BITS##_compare_exchange_##NAME(volatile TYPE *address, TYPE *expected, TYPE value, int order, int failed) { \
        (void)order, (void)failed; \
        touch((const void *)address, true); \
        return __atomic_compare_exchange_n(address, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    }

#define ATOMIC(BITS, TYPE) \
    TYPE __tsan_atomic##BITS##_load(const volatile TYPE *address, int order); \
    TYPE __tsan_atomic##BITS##_load(const volatile TYPE *address, int order) { \
        (void)order; \
        touch((const void *)address, false); \
        return __atomic_load_n(address, __ATOMIC_SEQ_CST); \
    } \
    EXPORT(__tsan_atomic##BITS##_store, volatile TYPE *address, TYPE value, int order) { \
        (void)order; \
        touch((const void *)address, true); \
        __atomic_store_n(address, value, __ATOMIC_SEQ_CST); \
    } \
    EXCHANGE(BITS, TYPE) \
    CHANGE(BITS, TYPE, fetch_add) CHANGE(BITS, TYPE, fetch_sub) CHANGE(BITS, TYPE, fetch_and) \
    CHANGE(BITS, TYPE, fetch_or) CHANGE(BITS, TYPE, fetch_xor) CHANGE(BITS, TYPE, fetch_nand) \
    COMPARE(BITS, TYPE, strong) COMPARE(BITS, TYPE, weak) \
    TYPE __tsan_atomic##BITS##_compare_exchange_val(volatile TYPE *address, TYPE expected, TYPE value, int order, int failed); \
    TYPE __tsan_atomic##BITS##_compare_exchange_val(volatile TYPE *address, TYPE expected, TYPE value, int order, int failed) { \
        __tsan_atomic##BITS##_compare_exchange_strong(address, &expected, value, order, failed); \
        return expected; \
    }

ATOMIC(8, uint8_t) ATOMIC(16, uint16_t) ATOMIC(32, uint32_t) ATOMIC(64, uint64_t)

/* ---- What the program allocates with ---- */

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

void *malloc(size_t bytes) {
    void *address = __libc_malloc(bytes);
    came(address, bytes, CALLER);
    return address;
}

void *calloc(size_t count, size_t bytes) {
    void *address = __libc_calloc(count, bytes);
    came(address, count * bytes, CALLER);
    return address;
}

/* A mapping that grows or shrinks in place keeps its content, so only the new one is written; of one that moves, the old one is written, too. */
void *realloc(void *old, size_t bytes) {
    bool large = out.objects && old && malloc_usable_size(old) >= LEAST;
    void *address = __libc_realloc(old, bytes);
    bool gone = address ? address != old : old && bytes == 0;
    if (large && gone) tell('f', old, 0, CALLER);
    if (large && !gone && address && malloc_usable_size(address) < LEAST) tell('m', address, bytes, CALLER);
    came(address, bytes, CALLER);
    return address;
}

void free(void *address) {
    goes(address, CALLER);
    __libc_free(address);
}

void *memalign(size_t alignment, size_t bytes) {
    void *address = __libc_memalign(alignment, bytes);
    came(address, bytes, CALLER);
    return address;
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    void *address = __libc_memalign(alignment, bytes);
    came(address, bytes, CALLER);
    return address;
}

int posix_memalign(void **result, size_t alignment, size_t bytes) {
    if (alignment % sizeof(void *) || alignment & (alignment - 1) || alignment == 0) return EINVAL;
    void *address = __libc_memalign(alignment, bytes);
    if (!address) return ENOMEM;
    came(address, bytes, CALLER);
    *result = address;
    return 0;
}

void *mmap(void *wanted, size_t bytes, int protection, int flags, int file, off_t offset) {
    void *address = (void *)syscall(SYS_mmap, wanted, bytes, protection, flags, file, offset);
    if (address != MAP_FAILED) tell('m', address, bytes, CALLER);
    return address;
}

int munmap(void *address, size_t bytes) {
    int done = (int)syscall(SYS_munmap, address, bytes);
    if (done == 0) tell('f', address, 0, CALLER);
    return done;
}
