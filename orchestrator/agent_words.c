/* What the words of an agent's error mean. The table is data; only texts that are known to be errors are looked up. */
#include "orchestrator/agent_impl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Order matters: "401 … quota" is about credentials, "overloaded … rate limit" about a limit. */
static const struct { const char *word; enum agent_outcome outcome; } words[] = {
	{"invalid api key", AGENT_AUTH}, {"invalid x-api-key", AGENT_AUTH}, {"api key not valid", AGENT_AUTH},
	{"incorrect api key", AGENT_AUTH}, {"missing api key", AGENT_AUTH}, {"api key is missing", AGENT_AUTH},
	{"authentication_error", AGENT_AUTH}, {"authentication failed", AGENT_AUTH}, {"failed to authenticate", AGENT_AUTH},
	{"unauthorized", AGENT_AUTH}, {"please run /login", AGENT_AUTH}, {"not logged in", AGENT_AUTH},
	{"auth method", AGENT_AUTH}, {"oauth token has expired", AGENT_AUTH}, {"401", AGENT_AUTH}, {"403", AGENT_AUTH},
	{"rate limit", AGENT_QUOTA}, {"rate_limit", AGENT_QUOTA}, {"ratelimit", AGENT_QUOTA}, {"usage limit", AGENT_QUOTA},
	{"usage_limit", AGENT_QUOTA}, {"hit your limit", AGENT_QUOTA}, {"quota", AGENT_QUOTA},
	{"too many requests", AGENT_QUOTA}, {"resource_exhausted", AGENT_QUOTA}, {"resource exhausted", AGENT_QUOTA},
	{"out of extra usage", AGENT_QUOTA}, {"credit balance is too low", AGENT_QUOTA}, {"429", AGENT_QUOTA},
	{"overloaded", AGENT_OVERLOADED}, {"service unavailable", AGENT_OVERLOADED},
	{"internal server error", AGENT_OVERLOADED}, {"bad gateway", AGENT_OVERLOADED},
	{"econnrefused", AGENT_OVERLOADED}, {"econnreset", AGENT_OVERLOADED}, {"etimedout", AGENT_OVERLOADED},
	{"enotfound", AGENT_OVERLOADED}, {"eai_again", AGENT_OVERLOADED}, {"fetch failed", AGENT_OVERLOADED},
	{"connection error", AGENT_OVERLOADED}, {"network error", AGENT_OVERLOADED},
	{"error sending request", AGENT_OVERLOADED}, {"stream disconnected", AGENT_OVERLOADED},
	{"500", AGENT_OVERLOADED}, {"502", AGENT_OVERLOADED}, {"503", AGENT_OVERLOADED}, {"504", AGENT_OVERLOADED},
	{"529", AGENT_OVERLOADED},
};

enum when { IN_DURATION, AT_TIME };
static const struct { const char *phrase; enum when when; } phrases[] = {
	{"\"resets_in_seconds\":", IN_DURATION}, {"\"resets_at\":", AT_TIME}, {"\"resetsat\":", AT_TIME},
	{"limit reached|", AT_TIME}, {"\"retrydelay\":", IN_DURATION}, {"retry-after:", IN_DURATION},
	{"retry-after\":", IN_DURATION}, {"retry after", IN_DURATION}, {"try again in", IN_DURATION},
	{"retry in", IN_DURATION}, {"reset after", IN_DURATION}, {"resets in", IN_DURATION},
	{"reset within", IN_DURATION},
};

static const struct { const char *name; double seconds; } units[] = {
	/* Longer names first where one begins with another. */
	{"ms", 0.001}, {"milliseconds", 0.001}, {"days", 86400}, {"day", 86400}, {"d", 86400}, {"hours", 3600},
	{"hour", 3600}, {"hrs", 3600}, {"hr", 3600}, {"h", 3600}, {"minutes", 60}, {"minute", 60}, {"mins", 60},
	{"min", 60}, {"m", 60}, {"seconds", 1}, {"second", 1}, {"secs", 1}, {"sec", 1}, {"s", 1},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Case-insensitive search in bytes that may hold NUL. A word of digits must stand alone: 429 is not in 14290. */
static const char *find(const char *text, size_t n, const char *word)
{
	size_t len = strlen(word);
	bool number = isdigit((unsigned char)word[0]) != 0;

	for (size_t i = 0; i + len <= n; i++) {
		if (strncasecmp(text + i, word, len) != 0)
			continue;
		if (number && ((i > 0 && isalnum((unsigned char)text[i - 1])) ||
		               (i + len < n && isalnum((unsigned char)text[i + len]))))
			continue;
		return text + i;
	}
	return NULL;
}

enum agent_outcome agent_words(const char *text, size_t n, long status)
{
	if (status == 401 || status == 403)
		return AGENT_AUTH;
	if (status == 429)
		return AGENT_QUOTA;
	if (status >= 500 && status < 600)
		return AGENT_OVERLOADED;
	for (size_t i = 0; i < COUNT(words); i++)
		if (find(text, n, words[i].word) != NULL)
			return words[i].outcome;
	return AGENT_FAILED;
}

uint64_t agent_until(int64_t when, int64_t now_s)
{
	/* Larger than any second until the year 5138: milliseconds. */
	if (when > 100000000000)
		when /= 1000;
	if (when <= now_s)
		return 0;
	return when - now_s > AGENT_RETRY_MAX_S ? AGENT_RETRY_MAX_S : (uint64_t)(when - now_s);
}

static const char *skip_filler(const char *p)
{
	return p + strspn(p, " \t\"':~");
}

/* "3 hours 12 minutes", "17.5s", "2h3m4s", "30". */
static uint64_t duration(const char *p)
{
	double total = 0;

	for (int parts = 0; parts < 4; parts++) {
		char *end;
		double value;
		size_t i;

		p = skip_filler(p);
		if (!isdigit((unsigned char)*p))
			break;
		value = strtod(p, &end);
		p = skip_filler(end);
		for (i = 0; i < COUNT(units); i++) {
			size_t len = strlen(units[i].name);

			if (strncasecmp(p, units[i].name, len) == 0 && !isalpha((unsigned char)p[len]))
				break;
		}
		if (i == COUNT(units)) {
			/* A bare number is seconds, if it is the whole. */
			total += parts == 0 ? value : 0;
			break;
		}
		total += value * units[i].seconds;
		p += strlen(units[i].name);
		p += strspn(p, " ,");
		if (strncmp(p, "and ", 4) == 0)
			p += 4;
	}
	if (total >= AGENT_RETRY_MAX_S)
		return AGENT_RETRY_MAX_S;
	return (uint64_t)total + (total > (double)(uint64_t)total);
}

uint64_t agent_words_retry(const char *text, size_t n, int64_t now_s)
{
	for (size_t i = 0; i < COUNT(phrases); i++) {
		const char *at = find(text, n, phrases[i].phrase);
		char value[64];
		size_t left;
		uint64_t s;

		if (at == NULL)
			continue;
		at += strlen(phrases[i].phrase);
		left = n - (size_t)(at - text);
		left = left < sizeof(value) - 1 ? left : sizeof(value) - 1;
		memcpy(value, at, left);
		value[left] = '\0';
		s = phrases[i].when == AT_TIME ? agent_until(strtoll(skip_filler(value), NULL, 10), now_s) : duration(value);
		if (s > 0)
			return s;
	}
	return 0;
}
