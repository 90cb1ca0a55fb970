/* SPDX-License-Identifier: MIT */
/*
 * tap - the Test Anything Protocol, for our C tests.
 *
 *     int main(void)
 *     {
 *             tap_ok(1 + 1 == 2, "addition works");
 *             return tap_done();
 *     }
 *
 * Every line is flushed, so that what ran before a crash is on record.
 * PALE_MUST_WORK=1 turns skips into failures.
 */
#pragma once
#include <stdbool.h>

#define TAP_PRINTF(n) __attribute__((format(printf, n, n + 1)))

bool tap_ok(bool cond, const char *fmt, ...) TAP_PRINTF(2); /* returns COND */
bool tap_eq_str(const char *got, const char *want, const char *fmt, ...) TAP_PRINTF(3);
bool tap_eq_int(long long got, long long want, const char *fmt, ...) TAP_PRINTF(3);
void tap_skip(const char *fmt, ...) TAP_PRINTF(1); /* counts as one test; FMT is the reason */
void tap_note(const char *fmt, ...) TAP_PRINTF(1); /* a comment line */
/* Valgrind 3.19 answers ENOSYS to openat2 and pidfd_open, and runs vfork as
 * fork: what needs these is left to the sanitizers. */
bool tap_on_valgrind(void);
int tap_done(void); /* prints the plan; 1 when a test failed or none ran, else 0 */
