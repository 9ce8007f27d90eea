/* How --print-policy reaches the coordinator, which makes JSON of it: the guard's own findings as a sealed memfd of
 * "KEY\0VALUE\0" pairs. Written by the guard (guard_policy.c), read by the coordinator (cmd_guard_policy.c).
 *
 * A key's first letter says what becomes of the value: "s" text, "n" a number, "b" a boolean (0 or 1), "z" null, "+" one more
 * text in a list, "#" one more number in a list. What follows is the member's name. "{NAME" begins one more object of the list
 * NAME, to which all that follows belongs until the next "{" or "}". */
#ifndef STINT_SANDBOX_POLICY_WORDS_H
#define STINT_SANDBOX_POLICY_WORDS_H

#define POLICY_WORDS_MAX (64u << 20)

#endif
