#!/bin/bash
# Python: environments, event loops, processes, databases.
# shellcheck source=tests/daily/lib.sh
. "$(dirname "$0")/lib.sh"

wheel='import zipfile
z = zipfile.ZipFile("pkg-1.0-py3-none-any.whl", "w")
z.writestr("pkg.py", "answer = 42\n")
z.writestr("pkg-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: pkg\nVersion: 1.0\n")
z.writestr("pkg-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
z.writestr("pkg-1.0.dist-info/RECORD", "pkg.py,,\npkg-1.0.dist-info/METADATA,,\npkg-1.0.dist-info/WHEEL,,\npkg-1.0.dist-info/RECORD,,\n")
z.close()'

works venv '.venv/bin/pip --version && .venv/bin/python -c "import pkg, sys; sys.exit(pkg.answer != 42 or sys.prefix == sys.base_prefix)"' <<END
python3 -c '$wheel'
END
works asyncio 'test "$(cat out)" = "3 hello x"' <<'END'
cat >loop.py <<'PY'
import asyncio

async def answer(reader, writer):
    writer.write(await reader.readline())
    await writer.drain()
    writer.close()

async def main():
    server = await asyncio.start_unix_server(answer, "sock")
    reader, writer = await asyncio.open_unix_connection("sock")
    writer.write(b"hello\n")
    said = (await reader.read()).decode().strip()
    writer.close()
    server.close()
    child = await asyncio.create_subprocess_exec("echo", "x", stdout=asyncio.subprocess.PIPE)
    printed = (await child.communicate())[0].decode().strip()
    sums = await asyncio.gather(asyncio.to_thread(sum, [1, 2]), asyncio.sleep(0.01))
    open("out", "w").write(f"{sums[0]} {said} {printed}\n")

asyncio.run(main())
PY
END
works asyncio-tcp 'test "$(cat out)" = hello' <<'END'
cat >tcp.py <<'PY'
import asyncio

async def answer(reader, writer):
    writer.write(await reader.readline())
    await writer.drain()
    writer.close()

async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", 48765)
    reader, writer = await asyncio.open_connection("127.0.0.1", 48765)
    writer.write(b"hello\n")
    open("out", "w").write((await reader.read()).decode())
    writer.close()
    server.close()

asyncio.run(main())
PY
END
works multiprocessing 'test "$(cat out)" = "[0, 1, 4] from a child 7 8"' <<'END'
cat >pool.py <<'PY'
import concurrent.futures, multiprocessing
from multiprocessing import shared_memory

def square(n):
    return n * n

def say(queue, name):
    memory = shared_memory.SharedMemory(name)
    memory.buf[0] = 7
    memory.close()
    queue.put("from a child")

if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        squares = pool.map(square, range(3))
    queue, memory = multiprocessing.Queue(), shared_memory.SharedMemory(create=True, size=16)
    child = multiprocessing.Process(target=say, args=(queue, memory.name))
    child.start()
    said = queue.get()
    child.join()
    with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        eight = pool.submit(sum, [3, 5]).result()
    open("out", "w").write(f"{squares} {said} {memory.buf[0]} {eight}\n")
    memory.close()
    memory.unlink()
PY
END
works sqlite-wal 'test "$(sqlite3 t.db "SELECT count(*), sum(n) FROM t; PRAGMA journal_mode")" = "400|400
wal"' <<'END'
sqlite3 t.db 'PRAGMA journal_mode=WAL; CREATE TABLE t(n)' >/dev/null
cat >writers.py <<'PY'
import os, sqlite3
children = []
for i in range(4):
    pid = os.fork()
    if pid == 0:
        db = sqlite3.connect("t.db", timeout=60)
        for _ in range(100):
            with db:
                db.execute("INSERT INTO t VALUES (1)")
        db.close()
        os._exit(0)
    children.append(pid)
raise SystemExit(any(os.waitpid(pid, 0)[1] for pid in children))
PY
END
works sqlite-cli 'test "$(cat out)" = 5050' <<'END'
cat >make.sql <<'SQL'
PRAGMA journal_mode=WAL;
PRAGMA temp_store=FILE;
CREATE TABLE n(i);
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 100) INSERT INTO n SELECT i FROM c;
CREATE TEMP TABLE sorted AS SELECT i FROM n ORDER BY -i;
.output out
SELECT sum(i) FROM sorted;
VACUUM;
SQL
END
done_testing
