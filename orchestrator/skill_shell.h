/* Where a shell is in the text of a command: whether a word that is put in there stays one word, whatever is in it. What shells
 * read in different ways is given up on (lost): from there on nothing may be put in. Source: POSIX.1-2017, XCU 2; dash, bash. */
#ifndef STINT_ORCHESTRATOR_SKILL_SHELL_H
#define STINT_ORCHESTRATOR_SKILL_SHELL_H

#include <stdbool.h>
#include <stddef.h>

#define SHELL_DEPTH_MAX 64u

struct shell_place {                  /* zeroed: the beginning */
	char in[SHELL_DEPTH_MAX];     /* what is open, the innermost last: see skill_shell.c */
	size_t n;
	bool escaped;                 /* the next character is itself */
	bool dollar;                  /* the last one was a $ that means something */
	bool lost;
};

/* Goes on by the character at; start: where the text begins. */
void shell_step(struct shell_place *p, const char *start, const char *at);
/* True when a quoted word can be put in here. */
bool shell_takes_word(const struct shell_place *p);

#endif
