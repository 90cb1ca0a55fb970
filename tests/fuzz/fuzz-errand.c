/* SPDX-License-Identifier: MIT */
/* Whatever comes through the channel of a standing warden: words are read only where they
 * are, each ends in it, and no descriptor is left over. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "warden/parcel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every other one with words apart. */
static int words_file(const uint8_t *data, size_t size)
{
	int fd = memfd_create("words", MFD_CLOEXEC);

	if (fd < 0 || (size > 0 && write(fd, data, size) != (ssize_t)size))
		abort();
	return fd;
}

static void send_parcel(int to, const uint8_t *data, size_t size, size_t n_fds, int file)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int) * 8)];
	} control = {0};
	struct iovec iov = {(void *)data, size};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	int fds[8] = {file, to, to, to, to, to, to, to};

	if (n_fds > 0) {
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(&control.head), fds, sizeof(int) * n_fds);
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
	}
	if (sendmsg(to, &msg, MSG_NOSIGNAL) < 0 && errno != EMSGSIZE)
		abort();
}

static void check_words(char *const *words, uint32_t count, const char *begin, const char *end)
{
	for (uint32_t i = 0; i < count; i++)
		if (words[i] < begin || words[i] + strlen(words[i]) >= end)
			abort();
	if (words[count])
		abort();
}

static void check(struct parcel *parcel)
{
	struct parcel_words words;
	struct err err = {0};
	const char *begin;

	if (parcel_open(parcel, &words, &err) < 0) {
		if (!err.message[0])
			abort();
		return;
	}
	begin = words.file ? words.file : parcel->text;
	if (!words.at.argv[0] || words.at.cwd != begin)
		abort();
	check_words(words.at.argv, parcel->order.argc, begin, begin + parcel->order.size);
	check_words(words.at.env, parcel->order.envc, begin, begin + parcel->order.size);
	parcel_words_release(&words);
}

/* The first byte: descriptors, and whether the sizes are made to fit. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct parcel parcel;
	int pair[2], file, after;
	size_t words;
	uint8_t *copy;

	if (size < 1 + sizeof(struct errand_order) || size > 1 << 16)
		return 0;
	words = size - 1 - sizeof(struct errand_order);
	copy = malloc(size - 1);
	if (!copy || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		abort();
	memcpy(copy, data + 1, size - 1);
	if (data[0] & 8) {
		struct errand_order *order = (struct errand_order *)copy;

		order->order.kind = WARDEN_ERRAND;
		order->size = (uint32_t)words;
		order->argc %= 64;
		order->envc %= 64;
	}
	file = words_file(copy + sizeof(struct errand_order), words);
	/* Any other order is no longer than its head. */
	send_parcel(pair[0], copy,
		    data[0] & 32   ? sizeof(struct warden_order)
		    : data[0] & 16 ? sizeof(struct errand_order)
				   : size - 1,
		    data[0] & 7, file);
	close(file);
	if (parcel_receive(pair[1], &parcel, MSG_DONTWAIT) == 0) {
		if (parcel.order.order.kind == WARDEN_ERRAND)
			check(&parcel);
		else if (parcel.fds_len > 0 && parcel.order.order.kind != WARDEN_SPARE)
			abort(); /* such as MORE_SOCKETS: they come with nothing */
	}
	while (parcel.fds_len > 0)
		close(parcel.fds[--parcel.fds_len]);
	free(copy);
	close(pair[0]);
	close(pair[1]);
	after = dup(0);
	if (after > 64) /* nothing is left open */
		abort();
	close(after);
	return 0;
}
