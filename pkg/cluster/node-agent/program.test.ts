/** What the program of the node agent does with its options and its file before it runs anything. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
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
