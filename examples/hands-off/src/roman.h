/* Roman numerals. The contract is SPEC.md. */
#ifndef ROMAN_H
#define ROMAN_H

#include <stddef.h>

#endif
