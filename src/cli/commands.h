/* SPDX-License-Identifier: MIT */
/* commands - the verbs of pale-verbs, one function each; cmd-<verb>.c. */
#pragma once

int cmd_check(int argc, char **argv);
int cmd_commands_list(int argc, char **argv);
int cmd_commands_show(int argc, char **argv);
int cmd_commands_register(int argc, char **argv);
int cmd_commands_unregister(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_review(int argc, char **argv);
int cmd_apply(int argc, char **argv);
int cmd_discard(int argc, char **argv);
int cmd_undo(int argc, char **argv);
int cmd_stages_list(int argc, char **argv);
int cmd_stages_rm(int argc, char **argv);
int cmd_sandbox_list(int argc, char **argv);
int cmd_sandbox_inspect(int argc, char **argv);
int cmd_sandbox_profile(int argc, char **argv);
int cmd_sandbox_suggest(int argc, char **argv);
int cmd_sandbox_tighten(int argc, char **argv);
int cmd_config_show(int argc, char **argv);
int cmd_config_check(int argc, char **argv);
int cmd_config_keys(int argc, char **argv);
int cmd_trust(int argc, char **argv);
int cmd_allow(int argc, char **argv);
int cmd_why(int argc, char **argv);
int cmd_runs_list(int argc, char **argv);
int cmd_runs_prune(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_events_list(int argc, char **argv);
int cmd_events_annotate(int argc, char **argv);
int cmd_mcp_install(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_init(int argc, char **argv);
int cmd_completions(int argc, char **argv);
int cmd_version(int argc, char **argv);
int cmd_help(int argc, char **argv);
