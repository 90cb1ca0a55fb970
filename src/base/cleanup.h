/* SPDX-License-Identifier: MIT */
/*
 * cleanup - scope-bound ownership.
 *
 *     _cleanup_(fd_closep) int fd = -1;
 *     _cleanup_(strv_release) struct strv names = {0};
 *
 * take_fd() and take_ptr() hand ownership out of the scope.
 */
#pragma once
#include <stdlib.h>

#define _cleanup_(fn) __attribute__((cleanup(fn)))

/* From `T *thing_free(T *)` make `thing_freep(T **)` for _cleanup_. */
#define DEFINE_CLEANUP(type, fn)                                                                   \
	static inline void fn##p(type *p)                                                          \
	{                                                                                          \
		fn(*p);                                                                            \
	}                                                                                          \
	struct cleanup_semicolon_

#define take_ptr(p)                                                                                \
	({                                                                                         \
		__typeof__(p) taken_ = (p);                                                        \
		(p) = NULL;                                                                        \
		taken_;                                                                            \
	})

#define take_fd(fd)                                                                                \
	({                                                                                         \
		int taken_ = (fd);                                                                 \
		(fd) = -1;                                                                         \
		taken_;                                                                            \
	})

#define array_len(a) (sizeof(a) / sizeof((a)[0]))

static inline void freep(void *p)
{
	free(*(void **)p);
}
