/* SPDX-License-Identifier: MIT */
/* verb-rows - the rows of verbs[], each in the file of its group. */
#pragma once
#include "api/verbs.h"

extern const struct verb verb_run;
extern const struct verb verb_shell;
extern const struct verb verb_exec;
extern const struct verb verb_check;
extern const struct verb verb_commands_list;
extern const struct verb verb_commands_show;
extern const struct verb verb_commands_register;
extern const struct verb verb_commands_unregister;
extern const struct verb verb_diff;
extern const struct verb verb_review;
extern const struct verb verb_apply;
extern const struct verb verb_discard;
extern const struct verb verb_undo;
extern const struct verb verb_stages_list;
extern const struct verb verb_stages_rm;
extern const struct verb verb_sandbox_list;
extern const struct verb verb_sandbox_inspect;
extern const struct verb verb_sandbox_profile;
extern const struct verb verb_sandbox_suggest;
extern const struct verb verb_sandbox_tighten;
extern const struct verb verb_config_show;
extern const struct verb verb_config_check;
extern const struct verb verb_config_keys;
extern const struct verb verb_trust;
extern const struct verb verb_allow;
extern const struct verb verb_session_list;
extern const struct verb verb_session_start;
extern const struct verb verb_session_stop;
extern const struct verb verb_session_rm;
extern const struct verb verb_session_prune;
extern const struct verb verb_session_network;
extern const struct verb verb_output;
extern const struct verb verb_signal;
extern const struct verb verb_wait;
extern const struct verb verb_why;
extern const struct verb verb_file_read;
extern const struct verb verb_file_write;
extern const struct verb verb_file_edit;
extern const struct verb verb_file_grep;
extern const struct verb verb_file_glob;
extern const struct verb verb_runs_list;
extern const struct verb verb_runs_prune;
extern const struct verb verb_show;
extern const struct verb verb_events_list;
extern const struct verb verb_events_annotate;
extern const struct verb verb_status;
extern const struct verb verb_doctor;
extern const struct verb verb_init;
extern const struct verb verb_mcp_serve;
extern const struct verb verb_mcp_install;
extern const struct verb verb_completions;
extern const struct verb verb_version;
extern const struct verb verb_help;
