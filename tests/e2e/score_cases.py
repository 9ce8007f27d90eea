"""Cases for the scorers, with the answers of others: Python for exact_match, contains and json, Perl for regex. For tests/e2e/score.sh.

    score_cases.py write    prints the cases as JSON lines: {"id", "scorer", "target", "output", "status"}
    score_cases.py check CASES RECORD    compares what a record says of them; prints what differs, and a last line with the count

The cases are the same in every run: some by hand, the rest from a generator with a fixed seed."""
import json
import random
import subprocess
import sys

EACH = 100
rng = random.Random(5)

# ---- by hand: (target, output)

TEXT = [
    ("", ""), ("", "\n"), ("", " "), ("a", "a"), ("a", "a\n"), ("a\n", "a"), ("a\r\n", "a\n\n"), ("a", "a\r"), ("a", " a"), ("a", "a "),
    ("a", "A"), ("a", "\na"), ("a\nb", "a\nb"), ("a\nb", "a\r\nb"), ("a\n\nb", "a\nb"), ("\u00e9", "\u00e9"), ("\u00e9", "e\u0301"),
    ("\ufeffa", "a"), ("a\tb", "a b"), ("0", "0.0"), ("ab", "a\u0000b"), ("a\\x00b", "a\u0000b"), ("a\\x00b", "a\\x00b"), ("\u2028", "\u2028\n"),
    ("a\x0b", "a"), ("a\u0085", "a"), ("42", "The answer is 42.\n"), ("42", "4 2"), ("line one\nline two", "x\nline one\nline two\ny"),
    ("\U0001f600", "smile \U0001f600!"), ("\n\na", "b\n\na"), ("aab", "aaab"), ("abab", "abaabab"),
]
JSON = [
    ("1", "1.0"), ("1", "1e0"), ("10", "1E1"), ("1", "1.5"), ("1", "true"), ("1", '"1"'), ("0", "-0"), ("0", "-0.0"), ("0.0", "0"),
    ("1", "01"), ("1", "+1"), ("1", "1."), ("1", ".1"), ("0.1", "1e-1"), ("0.1", "0.10000000000000001"), ("0.1", "0.11"),
    ("9007199254740993", "9007199254740992.0"), ("9007199254740992", "9007199254740992.0"), ("9007199254740993", "9007199254740993"),
    ("9223372036854775807", "9223372036854775807"), ("9223372036854775807", "9223372036854775808"),
    ("9223372036854775807", "9.223372036854775808e18"), ("-9223372036854775808", "-9223372036854775808.0"),
    ("1e30", "1000000000000000000000000000000"), ("1", "1e400"), ("null", "null"), ("null", ""), ("null", "None"), ("null", "NaN"),
    ("0", "Infinity"), ("true", "True"), ("true", " true\r\n\t"), ("true", "true\x0c"), ("true", "true true"), ("true", "true,"),
    ("{}", "[]"), ("{}", "{}"), ("[]", "[ ]"), ("[1,2]", "[2,1]"), ("[1,2]", "[1,2,]"), ("[1,2]", "[1,2,3]"), ("[[],{}]", "[[], {}]"),
    ('{"a":1,"b":2}', '{"b":2,"a":1}'), ('{"a":1}', '{"a":1,"b":2}'), ('{"a":1,"b":2}', '{"a":1}'), ('{"a":null}', "{}"),
    ('{"a":1}', '{"a":1,"a":1}'), ('{"a":1}', "{'a':1}"), ('{"a":1}', "{a:1}"), ('{"a":{"b":[1]}}', '{"a":{"b":[1.0]}}'),
    ('"\\u00e9"', '"\u00e9"'), ('"\\u00e9"', '"e\\u0301"'), ('"\\ud83d\\ude00"', '"\U0001f600"'), ('"a"', '"\\ud83d"'),
    ('"\\/"', '"/"'), ('"a\\u0000b"', '"a\\u0000b"'), ('"a\\u0000b"', '"a\\u0000c"'), ('"a\\tb"', '"a\tb"'), ('"a"', '"\\x61"'),
    ('"a"', "\ufeff\"a\""), ('{"":1}', '{"":1}'), ('{"a":1}', '{"a":1} // yes'), ('{"a":1}', '```json\n{"a":1}\n```'), ("1", "1\x00"),
]
REGEX = [
    ("a", "bab"), ("^a$", "a\n\n"), ("^a$", "a\nb"), ("(?m)^b$", "a\nb\nc"), ("\\Aa\\z", "a\n"), ("a.b", "a\nb"), ("(?s)a.b", "a\nb"),
    ("(?i)STRASSE", "strasse"), ("(?i)\u00c9", "\u00e9"), ("^.$", "\u00e9"), ("^.$", "e\u0301"), ("^\\X$", "e\u0301"), ("\\w", "\u00e9"),
    ("\\d", "\u0665"), ("\\p{L}", "\u00e9"), ("\\p{Nd}", "\u0665"), ("\\p{Lu}", "\u00e9"), ("\\bcat\\b", "concatenate"), ("\\bcat\\b", "a cat!"),
    ("(a+)b\\1", "aabaa"), ("^(a+)b\\1$", "aaba"), ("(?<n>x)\\k<n>", "xx"), ("(?=a)ab", "ab"), ("a(?!b)", "ab"), ("(?<=a)b", "ab"),
    ("(?<!a)b", "ab"), ("^(?:a|ab)(?:c|bcd)$", "abcd"), ("^(?>a|ab)c$", "abc"), ("^a++a", "aaa"), ("a{2,3}?b", "aaaab"), ("^a{0,2}$", "aa"),
    ("x*", ""), ("", ""), ("^$", "\n"), ("[[:alpha:]]", "1a"), ("[^[:space:]]", " \t"), ("[a-c-]+$", "ab-c"), ("[]a]", "]"), ("a\\.\\*b", "a.*b"),
    ("^\\d{4}-\\d\\d-\\d\\d$", "2026-01-31\n"), ("(?x) a b # c", "ab"), ("\\R", "a\r\nb"), ("^\\h+$", " \t\u00a0"), ("\\N{U+e9}", "\u00e9"),
    ("^((a)|b)+$", "abab"), ("(?|(a)|(b))\\1", "bb"), ("^(\\((?:[^()]|(?1))*\\))$", "(a(b)c)"), ("^(\\((?:[^()]|(?1))*\\))$", "(a(b c)"),
    ("\\x{1f600}", "\U0001f600"), ("a\\Kb", "ab"), ("^(?!.*secret)", "no secret"), ("42\\.?$", "The answer is 42.\n"),
]

# ---- generated

PIECES = ["a", "b", "ab", " ", "\n", "\r\n", "\u00e9", "B", "", "a\n"]


def text():
    target = "".join(rng.choice(PIECES) for _ in range(rng.randrange(6)))
    how = rng.randrange(5)
    if how == 0:
        return target, "".join(rng.choice(PIECES) for _ in range(rng.randrange(8)))
    if how == 1:
        return target, target + rng.choice(["\n", "\r\n", "\n\n", "\r", " \n", "x"])
    if how == 2:
        return target, rng.choice(PIECES) + target + rng.choice(PIECES)
    if how == 3 and target:
        at = rng.randrange(len(target))
        return target, target[:at] + rng.choice(PIECES) + target[at + 1:]
    return target, target


def value(depth=0):
    kind = rng.randrange(7 if depth < 3 else 4)
    if kind == 0:
        return rng.choice([None, True, False])
    if kind == 1:
        return rng.choice([0, 1, -1, 7, 100, 2**53, 2**53 + 1, -2**63, 2**63 - 1])
    if kind == 2:
        return rng.choice([0.0, 0.5, 1.0, -2.0, 1e10, 2.0**53, 0.1])
    if kind == 3:
        return rng.choice(["", "a", "\u00e9", 'q"', "\\", "\n", "a\u0000", "\U0001f600"])
    if kind < 6:
        return {rng.choice(["a", "b", "c", "\u00e9", ""]): value(depth + 1) for _ in range(rng.randrange(4))}
    return [value(depth + 1) for _ in range(rng.randrange(4))]


def changed(v):
    """The same, but for one place."""
    if isinstance(v, list) and v and rng.random() < 0.8:
        v = list(v)
        at = rng.randrange(len(v))
        v[at] = changed(v[at])
        return v
    if isinstance(v, dict) and v and rng.random() < 0.8:
        v = dict(v)
        key = rng.choice(sorted(v))
        v[key] = changed(v[key])
        return v
    return value(2)


def written(v):
    """One of the ways to write it."""
    space = rng.choice(["", " ", "\n\t"])
    if isinstance(v, dict):
        items = list(v.items())
        rng.shuffle(items)
        return "{" + space + ("," + space).join(written(k) + space + ":" + written(i) for k, i in items) + "}"
    if isinstance(v, list):
        return "[" + ("," + space).join(written(i) for i in v) + space + "]"
    if isinstance(v, int) and not isinstance(v, bool) and abs(v) < 1000 and rng.random() < 0.5:
        return rng.choice([f"{v}.0", f"{v}e0", f"{v}.00E+0"])
    return json.dumps(v, ensure_ascii=rng.random() < 0.5)


def json_pair():
    v = value()
    return json.dumps(v), written(changed(v) if rng.random() < 0.5 else v)


def pattern(depth=0):
    kind = rng.randrange(10 if depth < 3 else 5)
    if kind < 4:
        return rng.choice(["a", "b", ".", "[ab]", "[^a]", "\\w", "\\n", "\u00e9", "(?i:A)"])
    if kind == 4:
        return rng.choice(["^", "$", "\\b", "\\B", "\\z", "\\A", "(?m:^)", "(?m:$)"])
    if kind == 5:
        return "(?:" + pattern(depth + 1) + ")" + rng.choice(["*", "+", "?", "{2}", "{1,2}", "*?", "+?", "?+"])
    if kind == 6:
        return "(?:" + pattern(depth + 1) + "|" + pattern(depth + 1) + ")"
    if kind == 7:
        return rng.choice(["(?=", "(?!", "("]) + pattern(depth + 1) + ")"
    return pattern(depth + 1) + pattern(depth + 1)


def regex_pair():
    return pattern() + pattern(), "".join(rng.choice(["a", "b", "A", "\n", "\u00e9", " "]) for _ in range(rng.randrange(6)))


# ---- what others say

def trimmed(s):
    return s.rstrip("\r\n")


def no_twice(pairs):
    if len({k for k, _ in pairs}) != len(pairs) or any("\0" in k for k, _ in pairs):
        raise ValueError
    return dict(pairs)


def integer(s):
    if not -2**63 <= int(s) < 2**63:
        raise ValueError
    return int(s)


def real(s):
    if float(s) in (float("inf"), float("-inf")):
        raise ValueError
    return float(s)


def constant(s):
    raise ValueError


def load(s):
    v = json.loads(s, object_pairs_hook=no_twice, parse_int=integer, parse_float=real, parse_constant=constant)
    json.dumps(v, ensure_ascii=False).encode()  # half a surrogate pair is no character
    return v


def same(a, b):
    """As Python has it, but that True is not 1."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def same_json(target, output):
    try:
        return same(load(target), load(output))
    except (ValueError, RecursionError):
        return False


PERL = r"""use Encode; use re '/a'; binmode STDOUT;
while (<STDIN>) {
    my ($pattern, $text) = map { decode('UTF-8', pack('H*', $_)) } /^([0-9a-f]*) ([0-9a-f]*)$/ or die;
    my $yes = eval { $text =~ /(?:)$pattern/ };
    print $@ ? "error $@" : $yes ? "pass\n" : "fail\n";
}"""


def perl(pairs):
    lines = "".join(f"{trimmed(t).encode().hex()} {trimmed(o).encode().hex()}\n" for t, o in pairs)
    said = subprocess.run(["perl", "-e", PERL], input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(said) == len(pairs) and set(said) == {"pass", "fail"}, said
    return said


def many(by_hand, make, refuse=lambda target: False):
    pairs = [p for p in by_hand if not refuse(p[0])]
    while len(pairs) < EACH:
        pair = make()
        if pair not in pairs and not refuse(pair[0]):
            pairs.append(pair)
    return pairs


def cases():
    word = {True: "pass", False: "fail"}
    for target, output in many(TEXT, text):
        yield "exact_match", target, output, word[trimmed(target) == trimmed(output)]
    for target, output in many(TEXT, text, lambda target: not trimmed(target)):
        yield "contains", target, output, word[trimmed(target) in output]
    for target, output in many(JSON, json_pair):
        yield "json", target, output, word[same_json(target, output)]
    pairs = many(REGEX, regex_pair)
    for (target, output), said in zip(pairs, perl(pairs)):
        yield "regex", target, output, said


def check(cases_file, record_file):
    with open(cases_file, encoding="utf-8") as f:
        want = [json.loads(line) for line in f]
    with open(record_file, encoding="utf-8") as f:
        have = {t["id"]: t for t in json.load(f)["tasks"]}
    wrong = 0
    for case in want:
        task = have.get(case["id"], {})
        if task.get("status") != case["status"]:
            wrong += 1
            print(f"{case['id']}: target {case['target']!r}, output {case['output']!r}: {case['status']}, stint says {task.get('status')}")
    kinds = {k: [c["status"] for c in want if c["scorer"] == k] for k in ("exact_match", "contains", "json", "regex")}
    print(", ".join(f"{k} {len(v)} ({v.count('pass')} pass)" for k, v in kinds.items()) + f": {wrong} differ")


if sys.argv[1] == "write":
    for n, (scorer, target, output, status) in enumerate(cases()):
        print(json.dumps({"id": f"{scorer}-{n}", "scorer": scorer, "target": target, "output": output, "status": status}))
else:
    check(sys.argv[2], sys.argv[3])
