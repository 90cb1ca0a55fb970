/* SPDX-License-Identifier: MIT */
/* net - the private network namespace. */
#pragma once

struct err;

int net_loopback_up(struct err *err);
