/* SPDX-License-Identifier: MIT */
#pragma once

struct run_ear;

/* Whoever listens for a run, which is EAR's data, asks the user from here on. */
void run_asks(struct run_ear *ear);
