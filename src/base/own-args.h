/* SPDX-License-Identifier: MIT */
/*
 * own-args - the arguments of this process, as others see them in /proc.
 *
 * Who stays while others come and go shows them what it was started with: values of variables,
 * the words of somebody's command.
 */
#pragma once

/* At the very start. */
void own_args_keep(int argc, char **argv);
/* All that were kept are blank, also in processes that are made from here on. */
void own_args_forget(void);
