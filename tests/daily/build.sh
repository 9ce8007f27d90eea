#!/bin/bash
# Compilers and what drives them.
# shellcheck source=tests/daily/lib.sh
. "$(dirname "$0")/lib.sh"

c_project='cat >main.c <<"C"
#include <stdio.h>
int answer(void);
int main(void) { return printf("%d\n", answer()) == 3 ? 0 : 1; }
C
echo "int answer(void) { return 42; }" >answer.c
'
works make 'test "$(./hello)" = 42' <<END
$c_project
printf 'hello: main.o answer.o\n\tcc -o hello main.o answer.o\n%%.o: %%.c\n\tcc -c -o \$@ \$<\n' >Makefile
END
works cmake 'test "$(build/hello)" = 42' <<END
$c_project
cat >CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.20)
project(hello C)
enable_testing()
add_library(answer STATIC answer.c)
add_executable(hello main.c)
target_link_libraries(hello answer)
add_test(NAME hello COMMAND hello)
CMAKE
END
works ccache 'cmp a.o b.o && CCACHE_DIR=$PWD/.ccache ccache --print-stats | grep -q "^direct_cache_hit.1$"' <<END
$c_project
END
works go 'test "$(./hello)" = 42' <<'END'
printf 'module example.org/hello\n\ngo 1.18\n' >go.mod
mkdir answer
printf 'package answer\n\nfunc Answer() int { return 42 }\n' >answer/answer.go
printf 'package answer\n\nimport "testing"\n\nfunc TestAnswer(t *testing.T) {\n\tif Answer() != 42 {\n\t\tt.Fatal()\n\t}\n}\n' >answer/answer_test.go
printf 'package main\n\nimport (\n\t"fmt"\n\n\t"example.org/hello/answer"\n)\n\nfunc main() { fmt.Println(answer.Answer()) }\n' >main.go
END
works cargo 'test "$(target/debug/hello)" = 42' <<'END'
mkdir -p src dep/src
printf '[package]\nname = "hello"\nversion = "1.0.0"\nedition = "2021"\n[dependencies]\ndep = { path = "dep" }\n' >Cargo.toml
printf '[package]\nname = "dep"\nversion = "1.0.0"\nedition = "2021"\n' >dep/Cargo.toml
echo 'pub fn answer() -> i32 { 42 }' >dep/src/lib.rs
printf 'fn main() { println!("{}", dep::answer()); }\n#[test]\nfn right() { assert_eq!(dep::answer(), 42); }\n' >src/main.rs
END
works java 'test "$(cat result)" = "42 Europe/Vienna"' <<'END'
cat >Hello.java <<'JAVA'
import java.nio.file.*;
import java.time.*;
import java.util.concurrent.*;

public class Hello {
	public static void main(String[] args) throws Exception {
		ExecutorService threads = Executors.newFixedThreadPool(2);
		int answer = threads.submit(() -> 6 * 7).get();
		threads.shutdown();
		new ProcessBuilder("true").start().waitFor();
		Files.writeString(Path.of("result"), answer + " " + ZonedDateTime.now(ZoneId.of("Europe/Vienna")).getZone() + "\n");
	}
}
JAVA
END
refused gdb 'Breakpoint 1, main' 'ptrace: Operation not permitted' <<END
$c_project
gcc -g -o hello main.c answer.c
END
works gdb-static 'grep -q "<+0>:" out && grep -q "answer" out' <<END
$c_project
gcc -g -o hello main.c answer.c
END
refused strace 'exit_group\(0\)' 'ptrace.*Operation not permitted' <<'END'
:
END
done_testing
