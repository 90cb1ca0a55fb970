/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api/pale-impl.h"
#include "base/err.h"
#include "plan/plan.h"
#include "result/result.h"

_Static_assert((int)PALE_CODE_NOT_EXECUTABLE == (int)ERR_NOT_EXECUTABLE, "the codes are the same");
_Static_assert((int)PALE_CODE_TRUST == (int)ERR_TRUST, "the codes are the same");
_Static_assert((int)PALE_ERROR == (int)OUTCOME_ERROR, "the outcomes are the same");
_Static_assert((int)PALE_LIMIT == (int)OUTCOME_LIMIT, "the outcomes are the same");
_Static_assert((int)PALE_UNENFORCED == (int)UNENFORCED, "the states are the same");
_Static_assert(sizeof(struct pale_error) == 2040, "part of the binary interface");
_Static_assert(sizeof(struct pale_event) == 64, "part of the binary interface");
_Static_assert(sizeof(struct pale_annotation) == 512, "part of the binary interface");
_Static_assert((int)PALE_DIM_NETWORK == DIM_NETWORK + 1, "the dimensions are the same");
_Static_assert((int)PALE_DIM_FILESYSTEM == DIM_FILESYSTEM + 1, "the dimensions are the same");
_Static_assert((int)PALE_DIM_TIMEOUT == DIM_TIMEOUT + 1, "the dimensions are the same");
_Static_assert((int)PALE_DIM_NET_RECEIVED == DIM_COUNT_, "the dimensions are the same");

const char *pale_version(void)
{
	return PALE_VERSION;
}

/* Codes that tell pale's own parts what to try next are no business of a caller's. */
static enum pale_code code_of(enum err_code code)
{
	if (code == ERR_NO_IDMAP || code == ERR_NO_NAMESPACES)
		return PALE_CODE_UNSUPPORTED;
	return code == ERR_LOST ? PALE_CODE_SYSTEM : (enum pale_code)code;
}

int give_error(struct pale_error *error, const struct err *err, int r)
{
	if (!error)
		return r;
	memset(error, 0, sizeof(*error));
	error->code = (int)code_of(err->code);
	error->errnum = err->errnum;
	snprintf(error->message, sizeof(error->message), "%s", err->message);
	snprintf(error->hint, sizeof(error->hint), "%s", err->hint);
	return r;
}

/* An older caller's struct is shorter, a newer one's longer: what we do not know
 * has to be zero. */
int request_read(const struct pale_request *request, struct pale_request *ret, struct err *err)
{
	struct pale_request copy = PALE_REQUEST_INIT;
	const char *bytes = (const char *)request;
	size_t size = request->size;

	if (size < offsetof(struct pale_request, flags) + sizeof(copy.flags))
		return err_set(err, ERR_USAGE, -EINVAL,
			       "the request was not initialised: see PALE_REQUEST_INIT");
	for (size_t i = sizeof(copy); i < size; i++)
		if (bytes[i])
			return err_set(err, ERR_USAGE, -E2BIG,
				       "the request asks for what this version does not know");
	memcpy(&copy, request, size < sizeof(copy) ? size : sizeof(copy));
	if (copy.flags)
		return err_set(err, ERR_USAGE, -EINVAL, "unknown flags");
	if (!copy.argv || !copy.argv[0])
		return err_set(err, ERR_USAGE, -EINVAL, "there is nothing to run");
	*ret = copy;
	return 0;
}

const char *pale_outcome_name(enum pale_outcome outcome)
{
	if (outcome == PALE_RUNNING)
		return "running";
	return (unsigned)outcome > PALE_ERROR ? "unknown" : outcome_name((enum outcome)outcome);
}
