/* SPDX-License-Identifier: MIT */
/* junit - outcomes as the XML that CI systems read. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct str;

enum junit_kind { JUNIT_PASSED, JUNIT_FAILURE, JUNIT_ERROR, JUNIT_SKIPPED };

struct junit_case {
	const char *name;
	enum junit_kind kind;
	const char *type;    /* of a failure: "timeout" */
	const char *message; /* in one line; NULL: none */
	uint64_t duration_ms;
	const char *output; /* any bytes; NULL: none */
	size_t output_len;
};

/* A whole document of one suite. BEGAN_MS: since 1970. 0 or -ENOMEM. */
int junit_print(const char *suite, uint64_t began_ms, uint64_t duration_ms,
		const struct junit_case *cases, size_t len, struct str *out);
