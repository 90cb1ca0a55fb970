/* SPDX-License-Identifier: MIT */
#include "files/reply.h"
#include "files/files.h"
#include "files/place.h"
#include "files/request.h"

int file_do_grep(const struct file_request *request, const struct place *place, struct reply *reply)
{
	(void)request, (void)place;
	return reply_fail(reply, FILE_FAILED, "not yet");
}

int file_do_glob(const struct file_request *request, const struct place *place, struct reply *reply)
{
	(void)request, (void)place;
	return reply_fail(reply, FILE_FAILED, "not yet");
}
