/* SPDX-License-Identifier: MIT */
/* verb-options - the option tables of verbs[], one function each. */
#pragma once
#include "base/opt.h"

struct opt_table options_help(void);  /* --help alone */
struct opt_table options_json(void);  /* and --json */
struct opt_table options_plain(void); /* --help, --workspace */
struct opt_table options_data(void);  /* and --json */
struct opt_table options_run(void);
struct opt_table options_commands_list(void);
struct opt_table options_commands_register(void);
struct opt_table options_config_show(void);
struct opt_table options_trust(void);
struct opt_table options_status(void);
struct opt_table options_init(void);
/* verb-options-explain.c */
struct opt_table options_events_annotate(void);
struct opt_table options_allow(void);
/* verb-options-stage.c */
struct opt_table options_diff(void);
struct opt_table options_review(void);
struct opt_table options_apply(void);
struct opt_table options_discard(void);
struct opt_table options_undo(void);
struct opt_table options_stages_list(void);
struct opt_table options_stages_rm(void);
/* verb-options-history.c */
struct opt_table options_runs_list(void);
struct opt_table options_runs_prune(void);
struct opt_table options_show(void);
struct opt_table options_events_list(void);
/* verb-options-lanes.c */
struct opt_table options_check(void);
struct opt_table options_sandbox_inspect(void);
/* verb-options-files.c */
struct opt_table options_file_read(void);
struct opt_table options_file_write(void);
struct opt_table options_file_edit(void);
struct opt_table options_file_grep(void);
struct opt_table options_file_glob(void);
/* verb-options-clients.c */
struct opt_table options_mcp_install(void);
/* verb-options-mcp.c */
struct opt_table options_mcp_serve(void);
/* verb-options-learn.c */
struct opt_table options_sandbox_profile(void);
struct opt_table options_sandbox_suggest(void);
struct opt_table options_sandbox_tighten(void);
/* verb-options-sessions.c */
struct opt_table options_exec(void);
struct opt_table options_session_list(void);
struct opt_table options_session_start(void);
struct opt_table options_session_stop(void);
struct opt_table options_session_network(void);
struct opt_table options_output(void);
struct opt_table options_signal(void);
struct opt_table options_wait(void);
