/* Finding the processes of an account. kill_all_of() is declared in spawn.h. */
#ifndef STINT_SANDBOX_KILLALL_H
#define STINT_SANDBOX_KILLALL_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Counts live threads (zombies excluded) of processes whose real, effective, saved or file-system uid is uid. *ret_pid
 * is one of them, 0 when there is none. Source: /proc/PID/status. */
int uid_processes(uid_t uid, uint64_t *ret_threads, pid_t *ret_pid, struct err *e) MUST_CHECK;

#endif
