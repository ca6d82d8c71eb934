/** On a machine without Node.js the scripts install one, and the programs run on it. */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import t from 'tap';
import { root, run } from '#test/e2e/harness.js';

t.setTimeout(240_000);

/** A folder of links to all programs of the PATH except Node.js, and an npm that brings its own, as Debian's does. */
function pathWithoutNode(folder: string): string {
  const bin = join(folder, 'path');
  mkdirSync(bin);
  const hidden = new Set(['node', 'nodejs', 'npm', 'npx', 'corepack']);
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const seen = new Set<string>();
  for (const from of folders) {
    let names: string[];
    try {
      names = readdirSync(from);
    } catch {
      // PATH may name missing folders.
      continue;
    }
    for (const name of names) {
      if (hidden.has(name) || seen.has(name)) continue;
      seen.add(name);
      symlinkSync(join(from, name), join(bin, name));
    }
  }
  return bin;
}

t.test('Node.js is brought where the PATH has none, or an old one', async (t) => {
  const npm = (await run('sh', ['-c', 'readlink -f "$(command -v npm)"'])).stdout.trim();
  if (npm === '') return t.comment('no npm here');
  const folder = mkdtempSync(join(tmpdir(), 'orch-node-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const bin = pathWithoutNode(folder);
  writeFileSync(join(bin, 'npm'), `#!/bin/sh\nexec "${process.execPath}" "${npm}" "$@"\n`, { mode: 0o755 });
  const project = join(folder, 'project');
  mkdirSync(project);
  for (const name of ['hack', 'bin', 'package.json'])
    cpSync(join(root, name), join(project, name), { recursive: true });
  for (const name of ['dist', 'node_modules']) symlinkSync(join(root, name), join(project, name));
  const env = { PATH: bin };
  const say = (command: string) => run('bash', ['-c', command], { cwd: project, env });
  t.not((await say('node --version')).code, 0, 'it is hidden');
  t.equal((await say('bin/orch version')).code, 127);

  const installed = await run(join(project, 'hack', 'install-node.sh'), [], { env, timeoutMs: 200_000 });
  if (/ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT/.test(installed.stderr)) return t.comment('no registry here');
  t.equal(installed.code, 0, installed.stderr);
  t.match(installed.stdout, /^Installing Node\.js 26\.12\.1$/m);
  t.match((await say('bin/orch version')).stdout, /^Orch v1\.24\.0$/m);
  t.match((await say('bin/orchctl --help')).code, 0);
  t.match((await say('source hack/node.sh; node --version; npm --version')).stdout, 'v26.12.1\n11.21.2\n');
  const again = await run(join(project, 'hack', 'install-node.sh'), [], { env });
  t.same([again.code, again.stdout], [0, ''], 'nothing is left to do');

  writeFileSync(join(bin, 'node'), '#!/bin/sh\necho v18.20.4\n', { mode: 0o755 });
  t.match((await say('bin/orch version')).stdout, /^Orch v1\.24\.0$/m, 'an old one in the PATH is passed over');
  rmSync(join(project, '.tools'), { recursive: true });
  writeFileSync(join(bin, 'node'), '#!/bin/sh\necho v24.1.0\n', { mode: 0o755 });
  writeFileSync(join(bin, 'npm'), '#!/bin/sh\n[ "$1" = --version ]\n', { mode: 0o755 });
  const offline = await run(join(project, 'hack', 'install-node.sh'), [], { env });
  t.equal(offline.code, 0, 'one that the programs run on will do');
  t.match(offline.stderr, /^Node\.js 26\.12\.1 cannot be had here; v24\.1\.0 is used$/m);
  writeFileSync(join(bin, 'node'), '#!/bin/sh\necho v20.20.2\n', { mode: 0o755 });
  rmSync(join(bin, 'npm'));
  rmSync(join(bin, 'apt-get'), { force: true });
  const hopeless = await run(join(project, 'hack', 'install-node.sh'), [], { env });
  t.equal(hopeless.code, 1);
  t.match(hopeless.stderr, /^Node\.js 22 or newer is needed: /);
});
