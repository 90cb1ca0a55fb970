/* SPDX-License-Identifier: MIT */
/*
 * noise - attempts that say little about why a command failed.
 *
 * Pure. Programs probe for things that they can do without; to report those as the
 * cause of a failure would be wrong more often than right.
 */
#pragma once
#include "result/violation.h"

enum violation_weight noise_weigh(const char *op, const char *target); /* TARGET: or NULL */
