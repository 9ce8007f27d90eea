/* Tests of src/greet.h, as TAP. */
#include <stdio.h>
#include <string.h>

#include "greet.h"

int main(void)
{
	char out[64];
	int n = greet(out, sizeof(out), "Ada");
	int good = n == 11 && strcmp(out, "Hello, Ada!") == 0;

	printf("%s 1 - greets by name\n1..1\n", good ? "ok" : "not ok");
	return good ? 0 : 1;
}
