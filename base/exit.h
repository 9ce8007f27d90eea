/* Exit statuses: the contract with scripts that call stint. */
#ifndef STINT_BASE_EXIT_H
#define STINT_BASE_EXIT_H

/* Every command but `guard` and `turn`. */
enum stop {
	STOP_DONE = 0,          /* all tasks done, or the command did what it was asked */
	STOP_UNFINISHED = 1,    /* iterations used up, stuck, or declined */
	STOP_USAGE = 2,         /* command line, configuration, input */
	STOP_CONFINE = 3,       /* confinement cannot be had or proved, agent user in use */
	STOP_AGENT = 4,         /* an agent cannot be run: crash, deadline, quota */
	STOP_RECORD = 5,        /* a record, tick or commit could not be written */
	STOP_INTERRUPTED = 130,
};

/* `guard` and `turn`: the command's own status, or one of these; 128+N for signal N. */
enum run_exit {
	RUN_DEADLINE = 124,
	RUN_UNCONFINED = 125,
	RUN_NOT_EXECUTABLE = 126,
	RUN_NOT_FOUND = 127,
};

#endif
