/* SPDX-License-Identifier: MIT */
/*
 * files - the file tools, as they run inside of the boundary.
 *
 * Called in the command's process, confined as a program would be (plan->tool). They work
 * with what the kernel shows them there: nothing here decides what may be seen.
 *
 * Input, if any, is descriptor 0; the answer (reply.h) goes to descriptor 1.
 */
#pragma once

struct reply;
struct file_request;
struct place;

/* ARGV as file_request_pack() made it. 0 done, 1 not done and the answer says why, 125 no
 * request at all. */
int files_main(char *const *argv);
/* The same in the caller's process, with the input from INPUT. Returns 0 or 1. */
int files_do(const struct file_request *request, int input, struct reply *reply);

/* Each of them. */
int file_do_read(const struct file_request *request, const struct place *place,
		 struct reply *reply);
int file_do_write(const struct file_request *request, const struct place *place, int input,
		  struct reply *reply);
int file_do_edit(const struct file_request *request, const struct place *place, int input,
		 struct reply *reply);
int file_do_grep(const struct file_request *request, const struct place *place,
		 struct reply *reply);
int file_do_glob(const struct file_request *request, const struct place *place,
		 struct reply *reply);
