/* SPDX-License-Identifier: MIT */
#include "warden/parcel.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/fd.h"

enum { POINTERS_OWN = 512 };

void parcel_words_release(struct parcel_words *words)
{
	if (words->file)
		munmap(words->file, words->file_size);
	if (words->pointers_size)
		munmap(words->pointers, words->pointers_size);
}

static int map_file(struct parcel_words *words, int fd, size_t size)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || (size_t)st.st_size != size)
		return -EBADMSG;
	words->file = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (words->file == MAP_FAILED) {
		words->file = NULL;
		return -ENOMEM;
	}
	words->file_size = size;
	return 0;
}

static int find_room(struct parcel_words *words, size_t count)
{
	static char *own[POINTERS_OWN];
	size_t size = count * sizeof(char *);

	words->pointers = own;
	if (count <= POINTERS_OWN)
		return 0;
	words->pointers = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);
	if (words->pointers == MAP_FAILED)
		return -ENOMEM;
	words->pointers_size = size;
	return 0;
}

int parcel_open(struct parcel *p, struct parcel_words *ret, struct err *err)
{
	struct parcel_words words = {0};
	bool apart = p->order.order.value & ERRAND_APART;
	/* No word is shorter than its NUL. */
	int r = p->order.size > ERRAND_SIZE_MAX ||
				errand_pointers(&p->order) > (size_t)p->order.size + 2
			? -EBADMSG
			: 0;

	if (r == 0 && p->fds_len != errand_fds(&p->order))
		r = -EBADMSG;
	if (r == 0 && apart)
		r = map_file(&words, p->fds[0], p->order.size);
	if (r == 0)
		r = find_room(&words, errand_pointers(&p->order));
	if (r == 0)
		r = errand_unpack(&p->order, apart ? words.file : p->text,
				  apart ? words.file_size : p->text_len, words.pointers, &words.at);
	if (r < 0) {
		parcel_words_release(&words);
		return err_set(err, ERR_SYSTEM, r, "the command did not arrive as it was sent");
	}
	*ret = words;
	return 0;
}

int parcel_receive(int channel, struct parcel *p, int how)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int) * ERRAND_FDS_MAX)];
	} control;
	struct iovec iov[2] = {{&p->order, sizeof(p->order)}, {p->text, sizeof(p->text)}};
	struct msghdr msg = {.msg_iov = iov,
			     .msg_iovlen = 2,
			     .msg_control = &control,
			     /* Not its whole size, which has room for one more. */
			     .msg_controllen = CMSG_LEN(sizeof(int) * ERRAND_FDS_MAX)};
	struct cmsghdr *cmsg;
	ssize_t n = recvmsg(channel, &msg, how | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? -EAGAIN : -EPIPE;
	if (n == 0)
		return -EPIPE;
	p->fds_len = 0;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (cmsg && cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS) {
		p->fds_len = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(p->fds, CMSG_DATA(cmsg), sizeof(int) * p->fds_len);
	}
	p->text_len = (size_t)n > sizeof(p->order) ? (size_t)n - sizeof(p->order) : 0;
	if ((size_t)n == sizeof(p->order.order) && p->order.order.kind != WARDEN_ERRAND) {
		while (p->fds_len > 0 && p->order.order.kind != WARDEN_SPARE)
			fd_close(p->fds[--p->fds_len]);
		return 0;
	}
	return (size_t)n >= sizeof(p->order) && p->order.order.kind == WARDEN_ERRAND ? 0 : -EPIPE;
}
