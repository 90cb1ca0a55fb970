/* SPDX-License-Identifier: MIT */
/* text - names in the stage's own files: any bytes, as one word of one line. */
#pragma once
#include <stdbool.h>

struct str;

/* Blanks, control bytes, DEL and the backslash become \xNN. 0 or -ENOMEM. */
int stage_text_put(struct str *out, const char *text);
/* Undo it in place. False: it is not what stage_text_put() writes. */
bool stage_text_take(char *text);
