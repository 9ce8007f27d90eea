#!/bin/sh
# The scripted developer: a stand-in for a model. It reads the task and the findings in its prompt, writes code, and has
# misread the specification of roman_parse: "a numeral is canonical" is what it forgets at first, as people do.
set -eu

function=${STINT_TASK##*: }
echo "developer: iteration $STINT_ITERATION, $function"

# An agent looks for the easy way; the sandbox says no.
echo "developer: what will be tested?"
ls tests || echo "developer: no matter, SPEC.md says what is wanted"

declare_function() {
    grep -q "int $function(" src/roman.h && return
    header=$(mktemp)
    sed "s/^#endif\$/$1\n\n#endif/" src/roman.h >"$header"
    cat "$header" >src/roman.h
}

write_format() {
    declare_function '\/* The numeral of number into out: its length, or -1. *\/\nint roman_format(int number, char *out, size_t size);'
    cat >src/format.c <<'END'
/* Numbers to numerals. */
#include "roman.h"

#include <string.h>

static const struct {
	int value;
	const char *letters;
} steps[] = {
	{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"},
	{40, "XL"}, {10, "X"}, {9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"},
};

int roman_format(int number, char *out, size_t size)
{
	char numeral[16] = "";
	size_t n = 0;

	if (number < 1 || number > 3999)
		return -1;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		for (; number >= steps[i].value; number -= steps[i].value) {
			memcpy(numeral + n, steps[i].letters, strlen(steps[i].letters));
			n += strlen(steps[i].letters);
		}
	if (n >= size)
		return -1;
	memcpy(out, numeral, n);
	out[n] = '\0';
	return (int)n;
}
END
}

write_parse() {
    declare_function '\/* The value of a numeral, or -1. *\/\nint roman_parse(const char *numeral);'
    cat >src/parse.c <<'END'
/* Numerals to numbers. */
#include "roman.h"

static int letter(char c)
{
	switch (c) {
	case 'I': return 1;
	case 'V': return 5;
	case 'X': return 10;
	case 'L': return 50;
	case 'C': return 100;
	case 'D': return 500;
	case 'M': return 1000;
	default: return 0;
	}
}

int roman_parse(const char *numeral)
{
	int sum = 0;

	for (const char *p = numeral; *p != '\0'; p++) {
		int value = letter(*p);

		if (value == 0)
			return -1;
		sum += value < letter(p[1]) ? -value : value;
		if (sum > 3999)
			return -1;
	}
	return sum > 0 ? sum : -1;
}
END
}

# The finding named strings that are read although no number is written so: format the sum and compare.
mend_parse() {
    code=$(mktemp)
    sed -e 's/^#include "roman.h"$/&\n\n#include <string.h>/' \
        -e 's/^int roman_parse/\/* Reads any sum of letters; a numeral only if it is what roman_format() writes for that sum. *\/\n&/' \
        -e 's/^\tint sum = 0;$/\tchar canonical[16];\n&/' \
        -e 's/^\treturn sum > 0 ? sum : -1;$/\tif (roman_format(sum, canonical, sizeof(canonical)) < 0 || strcmp(canonical, numeral) != 0)\n\t\treturn -1;\n\treturn sum;/' \
        src/parse.c >"$code"
    cat "$code" >src/parse.c
}

write_add() {
    declare_function '\/* The numeral of the sum of two numerals into out: its length, or -1. *\/\nint roman_add(const char *a, const char *b, char *out, size_t size);'
    cat >src/add.c <<'END'
/* Sums of numerals. */
#include "roman.h"

int roman_add(const char *a, const char *b, char *out, size_t size)
{
	int x = roman_parse(a);
	int y = roman_parse(b);

	return x < 0 || y < 0 ? -1 : roman_format(x + y, out, size);
}
END
}

if grep -q '^- \[ \].*is no numeral\|^- \[ \].*and nothing else' "$STINT_PROMPT_FILE" && [ "$function" = roman_parse ]; then
    echo "developer: the review is right: a string is a numeral only in its canonical form"
    mend_parse
    exit 0
fi
case $function in
roman_format) write_format ;;
roman_parse) write_parse ;;
roman_add) write_add ;;
*) echo "developer: I do not know how to do: $STINT_TASK" >&2; exit 1 ;;
esac
echo "developer: $function is written"
