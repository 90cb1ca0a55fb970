/* SPDX-License-Identifier: MIT */
#include "files/files.h"

#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "files/reply.h"
#include "files/place.h"
#include "files/request.h"
#include "result/result.h"

static int dispatch(const struct file_request *request, const struct place *place, int input,
		    struct reply *reply)
{
	switch (request->tool) {
	case FILE_READ:
		return file_do_read(request, place, reply);
	case FILE_WRITE:
		return file_do_write(request, place, input, reply);
	case FILE_EDIT:
		return file_do_edit(request, place, input, reply);
	case FILE_GREP:
		return file_do_grep(request, place, reply);
	case FILE_GLOB:
		return file_do_glob(request, place, reply);
	case FILE_TOOL_COUNT_:
		break;
	}
	return reply_fail(reply, FILE_FAILED, "no such tool");
}

int files_do(const struct file_request *request, int input, struct reply *reply)
{
	_cleanup_(place_close) struct place place = {0};

	if (place_open(request, &place) < 0)
		return reply_fail(reply, FILE_FAILED, "too many roots");
	return dispatch(request, &place, input, reply);
}

int files_main(char *const *argv)
{
	_cleanup_(file_request_release) struct file_request request = {0};
	_cleanup_(reply_release) struct reply reply = {0};
	_cleanup_(str_release) struct str text = {0};
	int status;

	/* Others inside may be of the same user: none of them is to speak for us. */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (!file_request_parse(argv, &request))
		return EXIT_NOT_RUN;
	status = files_do(&request, STDIN_FILENO, &reply);
	if (reply_finish(&reply, &text) < 0 || fd_write_all(STDOUT_FILENO, text.data, text.len) < 0)
		return EXIT_NOT_RUN;
	return status;
}
