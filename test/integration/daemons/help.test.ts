/** `--help` of each daemon lists each option of the specification with its type and default. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { specifiedOptions as controllerManagerOptions } from '#controllers/options/testing/specified-options.js';
import { specifiedOptions as nodeAgentOptions } from '#nodeagent/options/testing/specified-options.js';
import { apiServerOptions, otherDefaults } from '#test/integration/daemons/specified/api-server.js';
import { nodeAgentTypes } from '#test/integration/daemons/specified/node-agent.js';
import { schedulerOptions } from '#test/integration/daemons/specified/scheduler.js';

t.setTimeout(120_000);

interface Shown {
  readonly type: string;
  readonly default: string;
}

const shownTypes: Readonly<Record<string, string>> = { bool: '', map: 'key=value,...', boolMap: 'key=true|false,...' };
const run = promisify(execFile);

/** The options that the program's help shows, by name. */
async function helpOf(program: string, args: readonly string[] = []): Promise<ReadonlyMap<string, Shown>> {
  const main = fileURLToPath(import.meta.resolve(`#cmd/${program}/main.js`));
  const { stdout } = await run(process.execPath, [main, ...args, '--help']);
  const options = new Map<string, Shown>();
  let name = '';
  for (const line of stdout.split('\n')) {
    const [, option, type = ''] = /^ {2}(?:-\w, | {4})--([\w-]+)(?:\[.*\]| (.+))?$/.exec(line) ?? [];
    if (option !== undefined) {
      name = option;
      options.set(name, { type, default: '' });
    }
    const shape = options.get(name);
    const [, value] = /\(default (.*?)\)(?: \(|$)/.exec(line.trim()) ?? [];
    if (shape !== undefined && value !== undefined) {
      options.set(name, { ...shape, default: value.replace(/^"(.*)"$/, '$1').replace(/^\[(.*)\]$/, '$1') });
    }
  }
  return options;
}

function compare(
  t: Test,
  help: ReadonlyMap<string, Shown>,
  lines: string,
  others: Readonly<Record<string, string>> = {},
) {
  for (const line of lines.trim().split('\n')) {
    const [name = '', type = '', defaultText = ''] = line.split(' ');
    const zero = ['none', 'false', '0', "''"].includes(defaultText);
    const shown = { type: shownTypes[type] ?? type, default: others[name] ?? (zero ? '' : defaultText) };
    t.same(help.get(name), shown, `--${name}`);
  }
  for (const always of ['help', 'version', 'dialect']) t.ok(help.has(always), always);
}

t.test('controller manager', async (t) =>
  compare(t, await helpOf('orch-controller-manager'), controllerManagerOptions),
);

t.test('scheduler', async (t) => compare(t, await helpOf('orch-scheduler'), schedulerOptions));

t.test('API server', async (t) => compare(t, await helpOf('orch-apiserver'), apiServerOptions, otherDefaults));

t.test('node agent', async (t) => {
  const help = await helpOf('nodeagent');
  const types = new Map(
    Object.entries(nodeAgentTypes).flatMap(([type, names]) => names.split(/\s+/).map((name) => [name, type] as const)),
  );
  for (const [name, shownDefault] of nodeAgentOptions) {
    const shown = help.get(name);
    t.equal(shown?.default, shownDefault, `--${name}`);
    const type = types.get(name);
    if (type !== undefined) t.equal(shown?.type, shownTypes[type] ?? type, `--${name}: type`);
  }
});

t.test('in the words of the other dialect', async (t) => {
  const help = await helpOf('orch-scheduler', ['--dialect=kubernetes']);
  t.equal(help.get('leader-elect-resource-namespace')?.default, 'kube-system');
  t.equal(help.get('leader-elect-resource-name')?.default, 'kube-scheduler');
});
