/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned tap_count;
static unsigned tap_failed;

/* A newline inside a description would end the TAP line early. */
static void put_text(const char *text)
{
	for (; *text; text++)
		putchar(*text == '\n' ? ' ' : *text);
}

static void put_result(bool ok, const char *fmt, va_list ap)
{
	char text[1024];

	tap_count++;
	if (!ok)
		tap_failed++;
	vsnprintf(text, sizeof(text), fmt, ap);
	printf("%s %u - ", ok ? "ok" : "not ok", tap_count);
	put_text(text);
	putchar('\n');
	fflush(stdout);
}

bool tap_ok(bool cond, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_result(cond, fmt, ap);
	va_end(ap);
	return cond;
}

bool tap_eq_str(const char *got, const char *want, const char *fmt, ...)
{
	bool ok = got && want ? strcmp(got, want) == 0 : got == want;
	va_list ap;

	va_start(ap, fmt);
	put_result(ok, fmt, ap);
	va_end(ap);
	if (!ok) {
		tap_note("     got: %s", got ? got : "(null)");
		tap_note("expected: %s", want ? want : "(null)");
	}
	return ok;
}

bool tap_eq_int(long long got, long long want, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_result(got == want, fmt, ap);
	va_end(ap);
	if (got != want)
		tap_note("got %lld, expected %lld", got, want);
	return got == want;
}

void tap_skip(const char *fmt, ...)
{
	const char *must = getenv("PALE_MUST_WORK");
	/* What valgrind cannot run is run without it. */
	bool fail = must && strcmp(must, "1") == 0 && !tap_on_valgrind();
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	tap_count++;
	if (fail)
		tap_failed++;
	printf(fail ? "not ok %u - skipped # must work: " : "ok %u # SKIP ", tap_count);
	put_text(text);
	putchar('\n');
	fflush(stdout);
}

void tap_note(const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fputs("# ", stdout);
	for (const char *p = text; *p; p++) {
		putchar(*p);
		if (*p == '\n')
			fputs("# ", stdout);
	}
	putchar('\n');
	fflush(stdout);
}

bool tap_on_valgrind(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return preload && strstr(preload, "vgpreload");
}

int tap_done(void)
{
	printf("1..%u\n", tap_count);
	fflush(stdout);
	if (tap_failed)
		tap_note("%u of %u failed", tap_failed, tap_count);
	return tap_failed > 0 || tap_count == 0;
}
