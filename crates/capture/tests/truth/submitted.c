/*
 * Reads and writes through io_uring, by its system calls alone. The argument is a file of at least 16 KiB. Ends with 77 if the kernel
 * does not offer it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
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

static char data[8192];
static struct iovec parts[2] = {{data, 1000}, {data + 1000, 500}};

static void by_ring(int file)
{
	struct io_uring_params params = {0};
	int ring = syscall(SYS_io_uring_setup, 8, &params);
	/* Each is awaited: results stay in the queue. The last read stands at the descriptor's own position. */
	const struct { uint8_t operation; void *address; uint32_t length; uint64_t offset; } requests[] = {
		{IORING_OP_READ, data, 4096, 8192},
		{IORING_OP_READV, parts, 2, 100},
		{IORING_OP_WRITE, data, 10, 20000},
		{IORING_OP_READ, data, 8192, 16384},
		{IORING_OP_READ, data, 7, UINT64_MAX},
	};
	char *submissions;
	struct io_uring_sqe *entries;

	if (ring < 0) {
		perror("io_uring_setup");
		exit(77);
	}
	submissions = mmap(NULL, params.sq_off.array + params.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	entries = mmap(NULL, params.sq_entries * sizeof(*entries), PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
	NEED(submissions != MAP_FAILED && entries != MAP_FAILED);
	for (unsigned i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
		uint32_t *tail = (uint32_t *)(submissions + params.sq_off.tail);
		uint32_t place = *tail & *(uint32_t *)(submissions + params.sq_off.ring_mask);
		struct io_uring_sqe *entry = &entries[place];

		memset(entry, 0, sizeof(*entry));
		entry->opcode = requests[i].operation;
		entry->fd = file;
		entry->addr = (uintptr_t)requests[i].address;
		entry->len = requests[i].length;
		entry->off = requests[i].offset;
		((uint32_t *)(submissions + params.sq_off.array))[place] = place;
		__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
		NEED(syscall(SYS_io_uring_enter, ring, 1, i + 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1);
	}
}

int main(int count, char **arguments)
{
	int file;

	NEED(count == 2);
	file = open(arguments[1], O_RDWR);
	NEED(file >= 0);
	by_ring(file);
	return 0;
}
