/* SPDX-License-Identifier: MIT */
/*
 * throwaway - a stage that goes with the process that made it.
 *
 * Its name tells whose it is; what a killed process left is removed by the next one that
 * makes one of the same kind.
 */
#pragma once

#include "stage/stage.h"

struct err;

/* KIND.PID.CHANCE; KIND is a name as stages have. */
int throwaway_name(const char *kind, char ret_name[STAGE_NAME_MAX + 1], struct err *err);
/* Waits for what still holds its mounts and is about to end. No such stage: 0. */
int throwaway_drop(const char *state_dir, const char *name, struct err *err);
/* Those of KIND whose makers are gone. What fails is left to the next sweep. */
void throwaway_sweep(const char *state_dir, const char *kind);
