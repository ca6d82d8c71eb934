/** What the program of the node agent does with its options and its file before it runs anything. */

import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { nodeAgentProgram } from '#cluster/node-agent/program.js';
import { run } from '#daemon/run.js';
import { configApiVersion, configKind } from '#nodeagent/options/config/value-formats.js';

const directory = await mkdtemp(join(tmpdir(), 'agent-program-'));
t.teardown(() => rm(directory, { recursive: true }));

/** What the program writes to its streams until it refuses to start, because it has no runtime. */
async function written(fields: object, args: readonly string[] = [], dialect: Dialect = orchDialect) {
  const file = join(directory, 'config.json');
  const head = { apiVersion: configApiVersion(dialect), kind: configKind(dialect) };
  await writeFile(file, JSON.stringify({ ...head, ...fields }));
  const texts = { stdout: '', stderr: '' };
  const sink = (name: 'stdout' | 'stderr') => ({
    write(text: string) {
      texts[name] += text;
    },
  });
  const code = await run(nodeAgentProgram(process), {
    argv: ['node', 'agent', `--dialect=${dialect.name}`, `--config=${file}`, ...args],
    env: {},
    pid: 7,
    stdout: sink('stdout'),
    stderr: sink('stderr'),
    on: () => undefined,
    off: () => undefined,
    exit: () => undefined,
  });
  const lines = (text: string) => text.split('\n').filter((line) => line !== '');
  return { code, stdout: lines(texts.stdout), stderr: lines(texts.stderr) };
}

// A field that causes a line of the log.
const hairpinMode = 'none';
const refusal = 'Error: --container-runtime-endpoint is required';

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(`logging of the file acts on the first line, ${dialect.name} dialect`, async (t) => {
    const { code, stdout, stderr } = await written({ hairpinMode, logging: { format: 'json' } }, [], dialect);
    t.equal(code, 1, 'the start is refused');
    t.match(JSON.parse(stderr[0] ?? ''), { level: 'warn', msg: /field hairpinMode has no effect/ }, 'the first line');
    t.equal(stderr[1], refusal, 'the refusal');
    t.same(stdout, [], 'standard output');
  });
}

t.test('the command line wins over the file', async (t) => {
  const { stderr } = await written({ hairpinMode, logging: { format: 'json' } }, ['--logging-format=text']);
  t.match(stderr[0], /^W\d{4} .*--logging-format has been deprecated/, 'text');
});

t.test('split streams of the file', async (t) => {
  const logging = { format: 'json', options: { json: { splitStream: true, infoBufferSize: '64Ki' } } };
  const { stdout, stderr } = await written({ hairpinMode, logging });
  t.match(JSON.parse(stdout[0] ?? ''), { level: 'warn' }, 'lines that are no errors, flushed at the end');
  t.equal(stderr[0], refusal, 'standard error');
});

t.test('invalid logging of the file is refused before the first line', async (t) => {
  const { stderr } = await written({ hairpinMode, logging: { format: 'xml' } });
  t.match(stderr, [/^Error: .*format: Invalid value: "xml": Unsupported log format$/, /^Run with --help/]);
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.9');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** Runs a simulated node without an API while `look` looks. */
async function whileRunning(fields: object, args: readonly string[], look: () => Promise<void>): Promise<number> {
  const file = join(directory, 'running.json');
  const head = { apiVersion: configApiVersion(orchDialect), kind: configKind(orchDialect) };
  await writeFile(file, JSON.stringify({ ...head, readOnlyPort: 0, enableServer: false, ...fields }));
  const silent = { write: () => undefined };
  let stop: () => void = () => undefined;
  const standard = [`--config=${file}`, '--container-runtime-endpoint=simulated', '--fail-swap-on=false'];
  const running = run(nodeAgentProgram(process), {
    argv: ['node', 'agent', ...standard, ...args],
    env: {},
    pid: 7,
    stdout: silent,
    stderr: silent,
    on: (_event: string, listener: () => void) => {
      stop = listener;
    },
    off: () => undefined,
    exit: () => undefined,
  });
  try {
    await look();
  } finally {
    stop();
  }
  return running;
}

t.test('the health endpoint is where the options and fields put it', async (t) => {
  for (const way of ['options', 'fields']) {
    const port = await freePort();
    const args = way === 'options' ? ['--healthz-bind-address=127.0.0.9', `--healthz-port=${port}`] : [];
    const fields = way === 'fields' ? { healthzBindAddress: '127.0.0.9', healthzPort: port } : {};
    const answered = async () => {
      for (;;) {
        const answer = await fetch(`http://127.0.0.9:${port}/healthz`).catch(() => undefined);
        if (answer !== undefined) return answer.text();
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const code = await whileRunning(fields, args, async () => {
      t.equal(await answered(), 'ok', way);
    });
    t.equal(code, 0, `${way}: the end`);
  }
});

t.test('the process is set up as the options and fields say', async (t) => {
  const score = async () => (await readFile('/proc/self/oom_score_adj', 'utf8')).trim();
  const before = await score();
  t.teardown(() => writeFile('/proc/self/oom_score_adj', before).catch(() => undefined));
  for (const [fields, args, expected] of [
    [{}, ['--oom-score-adj=701'], '701'],
    [{ oomScoreAdj: 702 }, [], '702'],
  ] as const) {
    await whileRunning({ ...fields, healthzPort: 0 }, args, async () => {
      while ((await score()) !== expected) await new Promise((resolve) => setImmediate(resolve));
    });
    t.equal(await score(), expected, `oom_score_adj ${expected}`);
  }
});

t.test('the limit of open files is that of the options and fields', async (t) => {
  const limit = async () => /^Max open files +(\d+)/m.exec(await readFile('/proc/self/limits', 'utf8'))?.[1];
  // A runtime that is away ends the start, after the limits are set.
  const away = ['--container-runtime-endpoint=unix:///nowhere', `--root-dir=${directory}`];
  for (const [fields, args, expected] of [
    [{}, ['--max-open-files=7778'], '7778'],
    [{ maxOpenFiles: 7777 }, [], '7777'],
  ] as const) {
    const code = await whileRunning({ ...fields, healthzPort: 0 }, [...away, ...args], async () => undefined);
    t.equal(code, 1, 'no runtime');
    t.equal(await limit(), expected, `open files ${expected}`);
  }
});
