/* SPDX-License-Identifier: MIT */
/* roots - the host's folders of a stage, by descriptor. */
#pragma once
#include <stdbool.h>

struct err;
struct stage;

/* O_PATH. No component of its name may have become a link. */
int root_open(const struct stage *stage, unsigned root, int *ret_fd, struct err *err);
int root_open_path(const char *path, int *ret_fd, struct err *err);
/* Nothing is staged there. */
bool root_holds_nothing(const struct stage *stage, unsigned root);
/* And its upper layer. 0: nothing was ever staged there, or nothing is and the folder is gone. */
int root_open_both(const struct stage *stage, unsigned root, int *ret_upper, int *ret_base,
		   struct err *err);
