/** The libraries below `clients/`, each by its own tests where the machine has its tools, and the first examples of docs/testing.md. */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type RunOptions, root, run } from '#test/e2e/harness.js';

t.setTimeout(240_000);

const env = { ORCH: join(root, 'bin', 'orch'), PATH: `${join(root, 'bin')}:${process.env['PATH']}` };
const inClient = (client: string): RunOptions => ({ cwd: join(root, 'clients', client), env, timeoutMs: 200_000 });

/** Whether the command works on this machine. */
async function works(command: string, ...args: readonly string[]): Promise<boolean> {
  return run(command, args).then(
    ({ code }) => code === 0,
    () => false,
  );
}

async function temporary(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'clients-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

t.test('npm', async (t) => {
  const { code, stdout, stderr } = await run(process.execPath, ['--test'], inClient('npm'));
  t.equal(code, 0, `${stdout}${stderr}`);
});

t.test('Python', { skip: (await works('python3', '-c', 'import pytest')) ? false : 'no pytest' }, async (t) => {
  const args = ['-B', '-m', 'pytest', '-q', '-p', 'no:cacheprovider'];
  const { code, stdout, stderr } = await run('python3', args, inClient('python'));
  t.equal(code, 0, `${stdout}${stderr}`);
});

t.test('Go', { skip: (await works('go', 'version')) ? false : 'no Go' }, async (t) => {
  const options = inClient('go');
  const { code, stdout, stderr } = await run('go', ['test', './...'], {
    ...options,
    env: { ...env, GOFLAGS: '-mod=mod', GOPROXY: 'off', GOTOOLCHAIN: 'local' },
  });
  t.equal(code, 0, `${stdout}${stderr}`);
});

t.test('Java', { skip: (await works('javac', '-version')) ? false : 'no JDK' }, async (t) => {
  const classes = await temporary(t);
  const sources = ['TestCluster', 'Json'].map((name) => `src/main/java/io/orch/testcluster/${name}.java`);
  const compiled = await run('javac', ['-d', classes, ...sources, 'examples/Namespaces.java'], inClient('java'));
  t.equal(compiled.code, 0, compiled.stderr);
  const { stdout, stderr } = await run('java', ['-cp', classes, 'Namespaces'], inClient('java'));
  t.equal(stdout, '200\nnothing is left\n', stderr);
});

t.test('the example of docs/testing.md prints what it says', async (t) => {
  const text = readFileSync(join(root, 'docs', 'testing.md'), 'utf8');
  const [, command = '', output] = /^```console\n\$ (orch test .*)\n([\s\S]*?)^```$/m.exec(text) ?? [];
  const { stdout, stderr } = await run('sh', ['-c', command], { env });
  t.equal(stdout, output, stderr);
});
