/* A program whose I/O is known exactly. It works in the directory argv[1] and tells on standard output, a pipe, every file reference it
 * makes, in order:
 *
 *     OP LABEL OFFSET LENGTH [failed] [executable]
 *
 * A label names one file, whatever its path; `P LABEL PATH` gives the path of a file in the end and `Z LABEL SIZE` how long
 * it is. argv[2] is the size of the program's own file. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static char buffer[1 << 16];

static void say(const char *format, ...) {
    char line[4096];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (write(1, line, length) != length) _exit(100);
}

static void need(int good, int line) {
    if (!good) {
        fprintf(stderr, "truth.c:%d: %s\n", line, strerror(errno));
        _exit(101);
    }
}
#define NEED(condition) need((condition), __LINE__)

/* One reference that has to succeed with `length` bytes. */
static void reads(const char *label, int fd, size_t asked, long offset, long length) {
    NEED(read(fd, buffer, asked) == length);
    say("R %s %ld %ld\n", label, offset, length);
}

static void writes(const char *label, int fd, long offset, long length) {
    NEED(write(fd, buffer, length) == length);
    say("W %s %ld %ld\n", label, offset, length);
}

static int opens(const char *label, int at, const char *path, int flags) {
    int fd = openat(at, path, flags, 0644);
    NEED(fd >= 0);
    say("O %s 0 0\n", label);
    if (flags & O_TRUNC) say("T %s 0 0\n", label);
    return fd;
}

static void offsets(void) {
    int a = opens("a", AT_FDCWD, "a", O_RDWR | O_CREAT | O_TRUNC);
    writes("a", a, 0, 1000);
    writes("a", a, 1000, 500);
    NEED(lseek(a, -200, SEEK_END) == 1300);
    reads("a", a, 100, 1300, 100);
    NEED(lseek(a, -50, SEEK_CUR) == 1350);
    reads("a", a, 100, 1350, 100);
    reads("a", a, 1000, 1450, 50);
    reads("a", a, 1000, 1500, 0);
    NEED(pread(a, buffer, 10, 5) == 10);
    say("R a 5 10\n");
    NEED(pwrite(a, buffer, 20, 2000) == 20);
    say("W a 2000 20\n");
    NEED(lseek(a, 0, SEEK_SET) == 0);
    struct iovec parts[3] = {{buffer, 10}, {buffer, 20}, {buffer, 30}};
    NEED(readv(a, parts, 3) == 60);
    say("R a 0 60\n");
    NEED(preadv(a, parts, 2, 7) == 30);
    say("R a 7 30\n");
    NEED(preadv2(a, parts, 1, -1, 0) == 10);
    say("R a 60 10\n");
    NEED(writev(a, parts, 2) == 30);
    say("W a 70 30\n");
    NEED(pwritev(a, parts, 3, 300) == 60);
    say("W a 300 60\n");
    NEED(pwritev2(a, parts, 1, 400, 0) == 10);
    say("W a 400 10\n");
    NEED(pwritev2(a, parts, 1, 0, RWF_APPEND) == 10);
    say("W a 2020 10\n");
    NEED(syscall(SYS_read, a, 1L, 10L) == -1);
    NEED(read(a, buffer, 10) == 10);
    say("R a 100 10\n");
    /* A second opening has its own position. */
    int again = opens("a", AT_FDCWD, "./sub/../a", O_RDONLY);
    reads("a", again, 16, 0, 16);
    close(again);
    close(a);
}

static void copies(void) {
    int a = opens("a", AT_FDCWD, "a", O_RDONLY);
    int copy = dup(a);
    reads("a", a, 10, 0, 10);
    reads("a", copy, 10, 10, 10);
    NEED(dup2(a, 30) == 30 && dup3(a, 31, O_CLOEXEC) == 31);
    int high = fcntl(a, F_DUPFD_CLOEXEC, 40);
    NEED(high >= 40);
    close(a);
    reads("a", 30, 10, 20, 10);
    reads("a", 31, 10, 30, 10);
    reads("a", high, 10, 40, 10);
    NEED(dup2(30, 30) == 30);
    NEED(lseek(copy, 500, SEEK_SET) == 500);
    reads("a", 30, 10, 500, 10);
    /* The place of another file is taken. */
    int b = opens("b", AT_FDCWD, "b", O_RDWR | O_CREAT | O_EXCL);
    writes("b", b, 0, 77);
    NEED(dup2(30, b) == b);
    reads("a", b, 10, 510, 10);
    close(copy), close(30), close(31), close(high), close(b);
}

static void appends(void) {
    int sub = opens("sub", AT_FDCWD, "sub", O_RDONLY | O_DIRECTORY);
    int b = opens("b", sub, "../b", O_RDWR | O_APPEND);
    writes("b", b, 77, 23);
    NEED(lseek(b, 0, SEEK_SET) == 0);
    writes("b", b, 100, 5);
    reads("b", b, 5, 105, 0);
    NEED(pwrite(b, buffer, 5, 3) == 5);
    say("W b 105 5\n");
    NEED(fcntl(b, F_SETFL, 0) == 0);
    NEED(lseek(b, 50, SEEK_SET) == 50);
    writes("b", b, 50, 5);
    close(b);
    int f = opens("f", sub, "f", O_WRONLY | O_CREAT);
    writes("f", f, 0, 40);
    close(f);
    long count = syscall(SYS_getdents64, sub, buffer, sizeof buffer);
    NEED(count > 0);
    say("D sub 0 %ld\n", count);
    NEED(syscall(SYS_getdents64, sub, buffer, sizeof buffer) == 0);
    say("D sub %ld 0\n", count);
    close(sub);
}

static void passes_on(void) {
    int a = opens("a", AT_FDCWD, "a", O_RDONLY);
    int c = opens("c", AT_FDCWD, "c", O_RDWR | O_CREAT | O_TRUNC);
    off_t from = 200;
    NEED(sendfile(c, a, &from, 100) == 100);
    say("R a 200 100\nW c 0 100\n");
    NEED(sendfile(c, a, NULL, 50) == 50);
    say("R a 0 50\nW c 100 50\n");
    loff_t in = 300, out = 1000;
    ssize_t count = copy_file_range(a, &in, c, &out, 64, 0);
    if (count >= 0) say("R a 300 %zd\nW c 1000 %zd\n", count, count);
    count = copy_file_range(a, NULL, c, NULL, 32, 0);
    if (count >= 0) say("R a 50 %zd\nW c 150 %zd\n", count, count);
    int ends[2];
    NEED(pipe(ends) == 0);
    in = 700, out = 3000;
    NEED(splice(a, &in, ends[1], NULL, 128, 0) == 128);
    say("R a 700 128\n");
    NEED(splice(ends[0], NULL, c, &out, 128, 0) == 128);
    say("W c 3000 128\n");
    close(ends[0]), close(ends[1]);
    /* 3128 bytes long by now; maps end where the file ends. */
    NEED(mmap(NULL, 65536, PROT_READ, MAP_PRIVATE, c, 0) != MAP_FAILED);
    say("M c 0 3128\n");
    NEED(mmap(NULL, 2048, PROT_READ, MAP_SHARED, a, 0) != MAP_FAILED);
    say("M a 0 2030\n");
    NEED(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, c, 0) != MAP_FAILED) say("M c 0 3128 executable\n");
    NEED(truncate("c", 100) == 0);
    say("T c 100 0\n");
    NEED(ftruncate(c, 5000) == 0);
    say("T c 5000 0\n");
    NEED(fsync(c) == 0 && fdatasync(c) == 0 && sync_file_range(c, 10, 20, 0) == 0);
    say("F c 0 0\nF c 0 0\nF c 10 20\n");
    close(a), close(c);
}

static void names(void) {
    int c = opens("c", AT_FDCWD, "c", O_RDONLY);
    NEED(rename("c", "sub/d") == 0);
    say("N c 0 0\n");
    reads("c", c, 10, 0, 10);
    close(opens("e", AT_FDCWD, "e", O_WRONLY | O_CREAT | O_EXCL));
    NEED(rename("sub/d", "e") == 0);
    say("U e 0 0\nN c 0 0\n");
    close(opens("c", AT_FDCWD, "e", O_RDONLY));
    reads("c", c, 10, 10, 10);
    close(c);
    NEED(rename("sub", "sub2") == 0);
    say("N sub 0 0\n");
    close(opens("f", AT_FDCWD, "sub2/f", O_RDONLY));
    /* A new file under an old name is another file; the old one lives on for those who have it open. */
    int old = opens("a", AT_FDCWD, "a", O_RDONLY);
    NEED(unlink("a") == 0);
    say("U a 0 0\n");
    int new = opens("new-a", AT_FDCWD, "a", O_RDWR | O_CREAT);
    writes("new-a", new, 0, 300);
    reads("a", old, 10, 0, 10);
    reads("new-a", new, 10, 300, 0);
    close(old), close(new);
    NEED(open("missing", O_RDONLY) == -1 && unlink("missing") == -1 && access("missing", F_OK) == -1);
    NEED(truncate("missing", 5) == -1 && rename("missing", "x") == -1);
    say("O missing 0 0 failed\nU missing 0 0 failed\nS missing 0 0 failed\nT missing 0 0 failed\nN missing 0 0 failed\n");
    int found = opens("missing", AT_FDCWD, "missing", O_WRONLY | O_CREAT);
    writes("missing", found, 0, 9);
    close(found);
    NEED(link("a", "hard") == 0 && unlink("a") == 0);
    say("N new-a 0 0\nN new-a 0 0\n");
    NEED(symlink("hard", "soft") == 0);
    close(opens("new-a", AT_FDCWD, "soft", O_RDONLY));
    NEED(readlink("soft", buffer, 100) == 4);
    say("S new-a 0 0\n");
    NEED(unlink("soft") == 0);
    say("U soft 0 0\n");
    struct stat about;
    struct statx more;
    NEED(stat("hard", &about) == 0 && about.st_size == 300 && lstat("e", &about) == 0);
    NEED(statx(AT_FDCWD, "b", 0, STATX_ALL, &more) == 0);
    say("S new-a 0 0\nS c 0 0\nS b 0 0\n");
    NEED(mkdir("empty", 0755) == 0 && rmdir("empty") == 0);
    say("U empty 0 0\n");
    int nameless = open(".", O_TMPFILE | O_RDWR, 0644);
    if (nameless >= 0) {
        say("O nameless 0 0\n");
        writes("nameless", nameless, 0, 6);
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", nameless);
        if (linkat(AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW) == 0) {
            say("N nameless 0 0\n");
            close(opens("nameless", AT_FDCWD, "named", O_RDONLY));
            say("P nameless named\n");
        }
        close(nameless);
    }
}

static void forks(void) {
    int b = opens("b", AT_FDCWD, "b", O_RDONLY);
    pid_t child = fork();
    NEED(child >= 0);
    if (child == 0) {
        reads("b", b, 10, 0, 10);
        NEED(chdir("sub2") == 0);
        close(opens("f", AT_FDCWD, "f", O_RDONLY));
        close(b);
        _exit(0);
    }
    int status;
    NEED(waitpid(child, &status, 0) == child && status == 0);
    reads("b", b, 10, 10, 10);
    close(opens("b", AT_FDCWD, "b", O_RDONLY));
    close(b);
}

static int from_thread;

static void *works_in_thread(void *unused) {
    (void)unused;
    NEED(chdir("sub2") == 0);
    from_thread = opens("f", AT_FDCWD, "f", O_RDONLY);
    reads("f", from_thread, 10, 0, 10);
    return NULL;
}

/* Threads share descriptors and the working directory. */
static void threads(void) {
    pthread_t thread;
    NEED(pthread_create(&thread, NULL, works_in_thread, NULL) == 0 && pthread_join(thread, NULL) == 0);
    reads("f", from_thread, 10, 10, 10);
    close(opens("b", AT_FDCWD, "../b", O_RDONLY));
    NEED(chdir("..") == 0);
    NEED(close_range(from_thread, from_thread, 0) == 0);
    int other = opens("b", AT_FDCWD, "b", O_RDONLY);
    NEED(other == from_thread);
    reads("b", other, 10, 0, 10);
    close(other);
}

static void executes(const char *self, const char *directory, const char *size) {
    int kept = opens("b", AT_FDCWD, "b", O_RDONLY);
    int closed = opens("new-a", AT_FDCWD, "hard", O_RDONLY | O_CLOEXEC);
    reads("b", kept, 10, 0, 10);
    char numbers[2][16];
    snprintf(numbers[0], 16, "%d", kept);
    snprintf(numbers[1], 16, "%d", closed);
    pid_t child = vfork();
    NEED(child >= 0);
    if (child == 0) {
        execl("/no/such/program", "program", NULL);
        execl(self, "truth", directory, size, numbers[0], numbers[1], NULL);
        _exit(102);
    }
    int status;
    NEED(waitpid(child, &status, 0) == child && status == 0);
    reads("b", kept, 10, 20, 10);
    reads("new-a", closed, 10, 0, 10);
    close(kept), close(closed);
}

static int executed(const char *size, int kept, int closed) {
    say("X program 0 %s\n", size);
    reads("b", kept, 10, 10, 10);
    NEED(read(closed, buffer, 10) == -1 && errno == EBADF);
    int other = opens("f", AT_FDCWD, "sub2/f", O_RDONLY);
    reads("f", other, 10, 0, 10);
    return 0;
}

static void no_files(void) {
    int null = open("/dev/null", O_RDWR);
    NEED(write(null, buffer, 10) == 10 && read(null, buffer, 10) == 0);
    close(null);
    int memory = memfd_create("memory", 0);
    NEED(write(memory, buffer, 10) == 10);
    close(memory);
    int state = open("/proc/self/stat", O_RDONLY);
    NEED(read(state, buffer, 100) > 0);
    close(state);
    NEED(mkfifo("fifo", 0600) == 0);
    int fifo = open("fifo", O_RDWR);
    struct stat about;
    NEED(fifo >= 0 && fstat(fifo, &about) == 0);
    say("O fifo 0 0\nS fifo 0 0\n");
    NEED(write(fifo, buffer, 10) == 10 && read(fifo, buffer, 10) == 10);
    close(fifo);
}

int main(int count, char **args) {
    if (count == 5) return executed(args[2], atoi(args[3]), atoi(args[4]));
    NEED(count == 3 && chdir(args[1]) == 0 && mkdir("sub", 0755) == 0);
    say("X program 0 %s\n", args[2]);
    offsets();
    copies();
    appends();
    passes_on();
    names();
    forks();
    threads();
    executes(args[0], args[1], args[2]);
    no_files();
    say("P a a\nP b b\nP c e\nP sub sub2\nP f sub2/f\nP new-a hard\nP missing missing\nP e e\n");
    say("Z a 2030\nZ b 110\nZ c 5000\nZ f 40\nZ new-a 300\nZ missing 9\nZ e 0\n");
    return 7;
}
