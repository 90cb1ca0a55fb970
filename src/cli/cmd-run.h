/* SPDX-License-Identifier: MIT */
/* cmd-run - pale run. The only verb in `pale` itself. */
#pragma once

int cmd_run(int argc, char **argv);
