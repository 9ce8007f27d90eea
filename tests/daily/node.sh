#!/bin/bash
# npm and node.
# shellcheck source=tests/daily/lib.sh
. "$(dirname "$0")/lib.sh"

works npm 'node -e "process.exit(require(\"dep\") === 42 ? 0 : 1)" && test -e node_modules/dep/built' <<'END'
mkdir package
echo 'module.exports = 42' >package/index.js
echo '{"name": "dep", "version": "1.0.0", "scripts": {"postinstall": "touch built"}, "bin": "index.js"}' >package/package.json
tar czf dep-1.0.0.tgz package
rm -r package
echo '{"name": "app", "version": "1.0.0", "private": true}' >package.json
END
works npm-script 'test -e ran' <<'END'
echo '{"name": "app", "version": "1.0.0", "scripts": {"pretest": "node --version >ran", "test": "test -s ran"}}' >package.json
END
works node-test 'test -e ran' <<'END'
mkdir test
cat >test/some.test.js <<'JS'
const test = require('node:test'), assert = require('node:assert'), fs = require('node:fs'), http = require('node:http');
const {execFileSync} = require('node:child_process'), {Worker} = require('node:worker_threads');
test('a child', () => assert.strictEqual(execFileSync('echo', ['x']).toString(), 'x\n'));
test('a thread', (t, done) => { new Worker('require("worker_threads").parentPort.postMessage(1)', {eval: true}).on('message', () => done()); });
test('a watcher', (t, done) => { const w = fs.watch('.', () => { w.close(); done(); }); fs.writeFileSync('ran', ''); });
test('a server on a local socket', (t, done) => {
	const s = http.createServer((q, r) => r.end('hello')).listen('./sock', () =>
		http.get({socketPath: './sock', path: '/'}, (r) => r.on('data', (d) => { assert.strictEqual(d.toString(), 'hello'); s.close(); done(); })));
});
JS
END
done_testing
