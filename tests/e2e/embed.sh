#!/bin/bash
# libstint as programs meet it: installed below a prefix, found by pkg-config, used from C and Python by an ordinary account; what
# the documents show; many threads at once.
# shellcheck disable=SC2154 # OUT, ERR and RC are set by run()
. "$(dirname "$0")/../lib.sh"
cd "$TOP" || exit 2
folder_new
work=$FOLDER prefix=$FOLDER/usr
for package in cc clang pkg-config python3; do command -v $package >/dev/null || bail "$package is not installed"; done

# ---------------------------------------------------------------- installed
ok "make install below a prefix" make -s install prefix="$prefix" BUILD="${BUILD:-build}" LDCONFIG=true
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib PYTHONPATH=$prefix/share/stint/python PYTHONDONTWRITEBYTECODE=1
is "$(pkg-config --modversion stint)" "$("$prefix/bin/stint" --version | sed 's/.* //')" "pkg-config knows the version"
read -r -a flags < <(pkg-config --cflags --libs stint)
is "${flags[*]}" "-I$prefix/include -L$prefix/lib -lstint" "... and the flags"
is "$(readelf -d "$prefix/lib/libstint.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')" libstint.so.0 "the library's name"
is "$(nm -D --defined-only "$prefix/lib/libstint.so" | awk '$2 != "A" { print $3 }' | grep -vc '^stint_')" 0 "it exports nothing but stint_ names"
echo '#include <stint.h>' >"$work/h.c"
ok "the header is C99" cc -std=c99 -pedantic -Wall -Wextra -Werror -fsyntax-only "${flags[@]}" "$work/h.c"
ok "the header is C++" clang -x c++ -std=c++11 -pedantic -Wall -Wextra -Werror -fsyntax-only "-I$prefix/include" "$work/h.c"

own_user() { # CMD…: as nobody, in the work folder
    (cd "$work/nobody" && exec setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all -- "$@")
}
mkdir "$work/nobody"
chown 65534:65534 "$work/nobody"

# ---------------------------------------------------------------- the example
cp examples/embedding/* "$work/nobody/"
# shellcheck disable=SC2016 # the document's words
like "$(md_commands examples/embedding/README.md | tr '\0' '\n')" 'cc judge.c \$\(pkg-config --cflags --libs stint\) -o' "the example says how it is built"
ok "the example in C builds without a warning" cc -Wall -Wextra -Werror "$work/nobody/judge.c" "${flags[@]}" -o "$work/judge"
run own_user "$work/judge" judge.yaml
is "$OUT" "right    accepted
wrong    wrong answer
endless  too slow
copied   failed with status 1: cat: solution.txt: Permission denied
missing  not started: no-such-program: not found (or its interpreter): check PATH and the spelling
online   forbidden" "the example in C, by an ordinary account"
run own_user "$work/judge" nothing.yaml
is "$RC" 1 "... with a profile that is not there"; like "$ERR" 'nothing\.yaml: No such file' "... says so"
run own_user python3 judge.py judge.yaml
is "$OUT" "$(awk '/^```text/ { on = 1; next } /^```/ { on = 0 } on' examples/embedding/README.md)" "the example in Python prints what its document shows"

# ---------------------------------------------------------------- what docs/embedding.md shows
# blocks FILE: its code blocks as FOLDER/N.LANGUAGE, N from 01
blocks() {
    awk -v to="$2" '/^```[a-z]/ { n++; file = sprintf("%s/%02d.%s", to, n, substr($0, 4)); next } /^```/ { file = "" } file != "" { print > file }' "$1"
}
mkdir "$work/blocks"
blocks docs/embedding.md "$work/blocks"
shown=0
for code in "$work"/blocks/*.c "$work"/blocks/*.python; do
    name=$(basename "$code")
    expected=$(find "$work/blocks" -name '*.text' | sort | awk -F / -v n="${name%%.*}" '$NF > n { print; exit }')
    case $name in
    *.c)
        ok "docs/embedding.md, block $name builds" cc -Wall -Wextra -Werror "$code" "${flags[@]}" -o "$work/block"
        run own_user "$work/block"
        ;;
    *) run own_user python3 "$code" ;;
    esac
    is "$RC $OUT" "0 $(cat "$expected")" "docs/embedding.md, block $name prints what stands below it"
    shown=$((shown + 1))
done
is "$shown" "$(grep -cE '^```(c|python)$' docs/embedding.md)" "every block was tried"
command=$(md_commands docs/embedding.md | tr '\0' '\n' | grep print-profile | sed "s,/usr/local,$prefix,")
own_user bash -c "$command"
run own_user python3 -c 'import stint, sys
with stint.Sandbox(stint.load_profile("./strict.stp", programs="/nowhere")) as box: print(box.run_python("import socket; socket.socket()").violation is not None)'
is "$RC $OUT" "0 True" "a profile compiled by the document's command, without a coordinator"

# ---------------------------------------------------------------- Python
py() { run own_user python3 -c "import stint
$1"; }
cat >"$work/layout.c" <<'END'
#include <stdio.h>
#include <stddef.h>
#include <stint.h>
#define P(type, field) printf("%s.%s %zu\n", #type, #field, offsetof(struct type, field))
int main(void)
{
	P(stint_error, message); P(stint_command, folder); P(stint_command, supervised); P(stint_violation, name); P(stint_violation, message);
	P(stint_output, total); P(stint_result, left); P(stint_result, err); P(stint_result, violations); P(stint_result, n_violations);
	printf("%zu %zu %zu %zu %zu\n", sizeof(struct stint_error), sizeof(struct stint_command), sizeof(struct stint_violation),
	       sizeof(struct stint_output), sizeof(struct stint_result));
	printf("%d %d %d %d %d %d %d %d\n", STINT_LIST, STINT_READ, STINT_READ_OPTIONAL, STINT_WRITE, STINT_CONNECT, STINT_BIND,
	       STINT_NO_SYSTEM, STINT_NET_UNRESTRICTED);
	printf("%d %d %d %d %d %d %d\n", STINT_EXEC, STINT_UNIX, STINT_NO_SCOPE, STINT_NO_EXEC, STINT_BEST_EFFORT, STINT_ENV_ALL, STINT_NO_TMP);
	return 0;
}
END
cc "$work/layout.c" "${flags[@]}" -o "$work/layout" || bail "cannot compile layout.c"
py 'import ctypes
E, C, V, O, R = stint._Error, stint._Command, stint._Violation, stint._Output, stint._Result
for s, n, f in ((E, "error", "message"), (C, "command", "folder"), (C, "command", "supervised"), (V, "violation", "name"), (V, "violation", "message"),
                (O, "output", "total"), (R, "result", "left"), (R, "result", "err"), (R, "result", "violations"), (R, "result", "n_violations")):
    print(f"stint_{n}.{f} {getattr(s, f).offset}")
print(*map(ctypes.sizeof, (E, C, V, O, R)))
print(*(stint.GRANTS[g] for g in ("list", "read", "optional_read", "write")), *stint.PORTS.values(), stint.OPTIONS["no_system"], stint.OPTIONS["net_unrestricted"])
print(*(stint.GRANTS[g] for g in ("exec", "unix")), *(stint.OPTIONS[o] for o in ("no_scope", "no_exec", "best_effort", "env_all", "no_tmp")))'
is "$OUT" "$("$work/layout")" "Python's structures are C's"
py 'with stint.Sandbox() as box:
    r = box.run(["sh", "-c", "cat; echo problem >&2; exit 7"], input=b"a\0b")
    print(r.status, r.stdout_bytes, repr(r.stderr), r.timed_out, r.violation, r.left, r.wall > 0, repr(r))'
is "$OUT" "7 b'a\\x00b' 'problem\\n' False None 0 True <stint.Result: status 7, 3 bytes of stdout, 8 of stderr>" "a result"
py 'with stint.Sandbox("python-stdlib-read-only") as box:
    r = box.run_python("import sys; print(1); sys.exit(5)", timeout=5); print(r.status, r.stdout)
    r = box.run_python("import time; time.sleep(60)", timeout=0.3); print(r.status, r.timed_out, r)'
is "$OUT" "5 1

124 True <stint.Result: timed out, 0 bytes of stdout, 0 of stderr>" "run_python"
echo content >"$work/secret"
chmod 644 "$work/secret"
py "for more in ({}, {'read': '$work'}, {'read': ['$work/secret']}):
    with stint.Sandbox(**more) as box: print(box.run(['cat', '$work/secret']).stdout.strip())"
is "$OUT" "
content
content" "a grant"
py 'with stint.Sandbox(env={"A": "b c"}) as box: print(box.run(["sh", "-c", "echo $A ${LD_LIBRARY_PATH:-short}"]).stdout.strip())
with stint.Sandbox(env=["A=1", "PYTHONPATH"], env_all=False) as box: print(box.run(["sh", "-c", "echo $A ${PYTHONPATH:+passed}"]).stdout.strip())
with stint.Sandbox(no_exec=True, write=".") as box: print(box.run(["sh", "-c", "cp /bin/true t; ./t"]).status)'
is "$OUT" "b c short
1 passed
126" "environment, and grants without execute"
py 'import errno
def fails(what, f):
    try: f(); print("no error")
    except what as e: print(type(e).__name__, errno.errorcode.get(getattr(e, "code", 0), ""), e)
def run(*a, **k):
    with stint.Sandbox(**k) as box: box.run(a)
fails(stint.Error, lambda: stint.load_profile("agnet"))
fails(stint.Error, lambda: run("no-such-command"))
fails(stint.Error, lambda: run("true", read="/nowhere"))
fails(stint.Error, lambda: run("true", connect=[70000]))
fails(stint.Error, lambda: run("true", min_abi=99))
fails(stint.Error, lambda: run())
fails(stint.Error, lambda: stint.Sandbox().run(["true"]))
fails(TypeError, lambda: stint.Sandbox(raed=["/"]))'
is "$OUT" 'Error EINVAL agnet: there is no such profile: did you mean agent?
Error ENOENT no-such-command: not found (or its interpreter): check PATH and the spelling
Error EPERM cannot grant /nowhere: No such file or directory: name a path that exists
Error EINVAL port 70000: a number from 1 to 65535 is needed
Error EINVAL ABI 99: a number from 1 to 10 is needed
Error EINVAL a policy and a command are needed
Error EINVAL the sandbox is used outside its `with` block
TypeError  Sandbox() has no argument raed' "mistakes are errors with a sentence"
py "open('$work/secret').read()
with stint.Sandbox() as box: box.confine()
try: open('$work/secret'); print('open')
except PermissionError: print('closed')"
is "$RC $OUT" "0 closed" "a Python process confines itself"
py 'import threading
wrong = []
def work(n):
    for i in range(5):
        r = box.run_python(f"import time; time.sleep(0.05); print({n}, {i})", timeout=120)
        if r.stdout != f"{n} {i}\n": wrong.append(repr(r) + r.stderr)
with stint.Sandbox("python-stdlib-read-only") as box:
    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for t in threads: t.start()
    for t in threads: t.join()
print(wrong)'
is "$OUT" "[]" "eight threads of Python with one sandbox"

# ---------------------------------------------------------------- threads
ok "the threads' program builds" cc -Wall -Wextra -Werror -pthread tests/e2e/embed/threads.c "${flags[@]}" -o "$work/threads"
run own_user "$work/threads" 8 50
is "$RC $OUT" "0 400 runs" "eight threads, fifty runs each: no result lost, no descriptor and no child left"
[ "$RC" -eq 0 ] || diag "$ERR"
files=$(make --no-print-directory -s -f - print BUILD="${BUILD:-build}" <<<$'include Makefile\nprint: ; @echo $(LIB) $(BUILD)/gen/filter_data.c')
# shellcheck disable=SC2086 # a list of files
ok "the library builds for ThreadSanitizer" cc -fsanitize=thread -O1 -g -D_GNU_SOURCE -DSTINT_VERSION='""' -DSTINT_LIBEXECDIR='"/nowhere"' \
    -I. -I"$prefix/include" -pthread tests/e2e/embed/threads.c $files -o "$work/tsan"
# Its shadow memory wants addresses where a kernel with much randomness puts other things.
run own_user setarch -R "$work/tsan" 8 10 "$prefix/libexec/stint"
is "$RC $OUT" "0 80 runs" "no race"
[ "$RC" -eq 0 ] || diag "$ERR"

# ---------------------------------------------------------------- and away
ok "make uninstall" make -s uninstall prefix="$prefix" LDCONFIG=true
is "$(find "$prefix" ! -type d | wc -l)" 0 "... leaves no file"
done_testing
