/* Greetings: see greet.h. */
#include "greet.h"

#include <stdio.h>

int greet(char *out, size_t size, const char *name)
{
	return snprintf(out, size, "Hello, %s!", name);
}
