/* SPDX-License-Identifier: MIT */
/*
 * confine - what a process does to itself, for good.
 *
 * Each step is inherited by everything that the process starts, and none can
 * be taken back. Allocation-free: they run between clone and exec.
 */
#pragma once

struct err;

/* Empty the permitted, effective, inheritable, ambient and bounding sets, and
 * lock securebits so that uid 0 brings nothing back. */
int confine_drop_caps(struct err *err);
int confine_no_new_privs(struct err *err);
/* The caller's keys are out of reach from here on. */
int confine_fresh_keyring(struct err *err);
int confine_no_core(struct err *err);
/* The filter of refused system calls. VARIANT: the bits below. Needs
 * no_new_privs. */
enum { SECCOMP_VISIBLE = 1, SECCOMP_NESTED = 2 };
int confine_seccomp(unsigned variant, struct err *err);
