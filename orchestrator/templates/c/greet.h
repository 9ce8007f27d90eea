/* Greetings. */
#ifndef GREET_H
#define GREET_H

#include <stddef.h>

/* Writes "Hello, NAME!" and a NUL into out, which has room for size bytes. Returns the length without the NUL. */
int greet(char *out, size_t size, const char *name);

#endif
