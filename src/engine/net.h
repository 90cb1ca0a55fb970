/* SPDX-License-Identifier: MIT */
/* net - the private network namespace: its own loopback and nothing else. */
#pragma once

struct err;

int net_loopback_up(struct err *err);
