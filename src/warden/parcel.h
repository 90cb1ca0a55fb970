/* SPDX-License-Identifier: MIT */
/*
 * parcel - an order as it arrives at a standing warden, with all that came along.
 *
 * Words are read where they are, and nothing is allocated: what does not fit is mapped for
 * as long as it is needed.
 */
#pragma once
#include <stddef.h>

#include "warden/errand.h"

struct err;

struct parcel {
	struct errand_order order;
	char text[ERRAND_INLINE_MAX];
	size_t text_len;
	int fds[ERRAND_FDS_MAX]; /* the receiver's */
	size_t fds_len;
};

/* The words, and room for pointers to them, wherever they are. */
struct parcel_words {
	struct errand_words at;
	char *file;
	size_t file_size;
	char **pointers;
	size_t pointers_size; /* 0: our own */
};

/* 0; -EAGAIN: nothing is there; -EPIPE: nobody is there any more, or somebody who is not our
 * supervisor. Of an order that is no errand only `order.order` is set; what came along is
 * closed, but for the socket of a WARDEN_SPARE. HOW: of recvmsg(2). */
int parcel_receive(int channel, struct parcel *ret, int how);
/* The words of an errand; they are good as long as PARCEL is. -EBADMSG. */
int parcel_open(struct parcel *parcel, struct parcel_words *ret, struct err *err);
void parcel_words_release(struct parcel_words *words);
