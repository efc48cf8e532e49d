/*
 * Reads and writes through io_uring or Linux's asynchronous I/O, by their system calls alone. The arguments are a file of at least 16 KiB and
 * a way: ring, registered (file and a buffer) or list. Ends with 77 if the kernel does not offer it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define NEED(condition) do { if (!(condition)) { perror(#condition); exit(1); } } while (0)

enum { LENGTH = 8192 };
/* Memory of no file: of others Linux 6.1 lets none be registered. */
static char *data;
static struct iovec parts[2];

/* The file is the second of a table, and nothing else has it open. */
static void register_all(int ring, int file)
{
	int files[2] = {-1, file};
	struct iovec buffer = {data, LENGTH};

	NEED(syscall(SYS_io_uring_register, ring, IORING_REGISTER_FILES, files, 2) == 0);
	NEED(syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &buffer, 1) == 0);
	NEED(close(file) == 0);
}

static void by_ring(int file, int is_registered)
{
	struct io_uring_params params = {0};
	int ring = syscall(SYS_io_uring_setup, 8, &params);
	/* Each is awaited: results stay in the queue. The last read stands at the descriptor's own position. */
	const struct { uint8_t operation; void *address; uint32_t length; uint64_t offset; } requests[] = {
		{is_registered ? IORING_OP_READ_FIXED : IORING_OP_READ, data, 4096, 8192},
		{IORING_OP_READV, parts, 2, 100},
		{is_registered ? IORING_OP_WRITE_FIXED : IORING_OP_WRITE, data, 10, 20000},
		{IORING_OP_READ, data, 8192, 16384},
		{IORING_OP_READ, data, 7, UINT64_MAX},
	};
	char *submissions;
	struct io_uring_sqe *entries;

	if (ring < 0) {
		perror("io_uring_setup");
		exit(77);
	}
	if (is_registered)
		register_all(ring, file);
	submissions = mmap(NULL, params.sq_off.array + params.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	entries = mmap(NULL, params.sq_entries * sizeof(*entries), PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
	NEED(submissions != MAP_FAILED && entries != MAP_FAILED);
	for (unsigned i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
		uint32_t *tail = (uint32_t *)(submissions + params.sq_off.tail);
		uint32_t place = *tail & *(uint32_t *)(submissions + params.sq_off.ring_mask);
		struct io_uring_sqe *entry = &entries[place];

		memset(entry, 0, sizeof(*entry));
		entry->opcode = requests[i].operation;
		entry->fd = is_registered ? 1 : file;
		entry->flags = is_registered ? IOSQE_FIXED_FILE : 0;
		entry->addr = (uintptr_t)requests[i].address;
		entry->len = requests[i].length;
		entry->off = requests[i].offset;
		((uint32_t *)(submissions + params.sq_off.array))[place] = place;
		__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
		NEED(syscall(SYS_io_uring_enter, ring, 1, i + 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1);
	}
}

/* All in one list; the last of it the kernel does not take. */
static void by_list(int file)
{
	struct iocb requests[] = {
		{.aio_lio_opcode = IOCB_CMD_PREAD, .aio_buf = (uintptr_t)data, .aio_nbytes = 4096, .aio_offset = 8192},
		{.aio_lio_opcode = IOCB_CMD_PREADV, .aio_buf = (uintptr_t)parts, .aio_nbytes = 2, .aio_offset = 100},
		{.aio_lio_opcode = IOCB_CMD_FSYNC},
		{.aio_lio_opcode = IOCB_CMD_PWRITE, .aio_buf = (uintptr_t)data, .aio_nbytes = 10, .aio_offset = 20000},
		{.aio_lio_opcode = IOCB_CMD_PREAD, .aio_buf = (uintptr_t)data, .aio_nbytes = 8192, .aio_offset = 16384},
		{.aio_lio_opcode = IOCB_CMD_PREAD, .aio_buf = (uintptr_t)data, .aio_nbytes = 1, .aio_offset = 0, .aio_reserved2 = 1},
	};
	enum { COUNT = sizeof(requests) / sizeof(*requests) };
	struct iocb *list[COUNT];
	struct io_event answers[COUNT];
	aio_context_t context = 0;

	if (syscall(SYS_io_setup, COUNT, &context) < 0) {
		perror("io_setup");
		exit(77);
	}
	for (int i = 0; i < COUNT; i++) {
		requests[i].aio_fildes = file;
		list[i] = &requests[i];
	}
	NEED(syscall(SYS_io_submit, context, COUNT, list) == COUNT - 1);
	NEED(syscall(SYS_io_getevents, context, COUNT - 1, COUNT, answers, NULL) == COUNT - 1);
}

int main(int count, char **arguments)
{
	int file;

	data = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(data != MAP_FAILED);
	parts[0] = (struct iovec){data, 1000};
	parts[1] = (struct iovec){data + 1000, 500};
	NEED(count == 3);
	file = open(arguments[1], O_RDWR);
	NEED(file >= 0);
	if (strcmp(arguments[2], "list"))
		by_ring(file, !strcmp(arguments[2], "registered"));
	else
		by_list(file);
	return 0;
}
