import t from 'tap';
import { SetupError } from '#cluster/terminal/setup-error.js';
import { type Command, commandsOf, dispatch } from '#cmd/orch/commands.js';
import { OptionsError } from '#daemon/options/option.js';
import type { GuardedProcess } from '#daemon/process/guarded-process.js';

const commands = commandsOf({} as GuardedProcess);

async function outcome(argv: readonly string[], up: Command['run'] = async () => 0) {
  const out = t.capture(process.stdout, 'write');
  const err = t.capture(process.stderr, 'write');
  const text = (calls: typeof out) =>
    calls()
      .map(({ args }) => String(args[0]))
      .join('');
  const code = await dispatch({ ...commands, up: { ...commands['up'], run: up } }, argv);
  out.restore();
  err.restore();
  return { code, out: text(out), err: text(err) };
}

t.test('prints its version and its commands', async (t) => {
  for (const word of ['version', '--version'])
    t.match(await outcome([word]), { code: 0, out: /^Orch v1\.24\.0\n$/, err: '' });
  for (const argv of [[], ['help'], ['-h'], ['--help']]) {
    const { code, out, err } = await outcome(argv);
    t.match({ code, err }, { code: 0, err: '' });
    t.match(out, /^ {2}orch up \[flags\] {6}start a cluster/m);
    for (const [name, { usage }] of Object.entries(commands))
      t.equal(new RegExp(`^  orch ${name}\\b`, 'm').test(out), usage !== undefined, name);
  }
});

t.test('passes on the arguments and the exit code', async (t) => {
  const calls: (readonly string[])[] = [];
  const up = async (argv: readonly string[]) => {
    calls.push(argv);
    return 7;
  };
  t.equal((await outcome(['up', '--nodes', '2'], up)).code, 7);
  t.same(calls, [['--nodes', '2']]);
});

t.test('prints why a command failed', async (t) => {
  const fail = (error: Error) => () => Promise.reject(error);
  t.match(await outcome(['fly']), { code: 2, err: /unknown command "fly"[\s\S]*orch up/ });
  t.match(await outcome(['up'], fail(new OptionsError(['--nodes: must be positive']))), { code: 2, err: /^orch up: / });
  t.match(await outcome(['up'], fail(new SetupError('install etcd'))), { code: 1, err: 'orch up: install etcd\n' });
  t.match(await outcome(['up'], fail(new Error('lost'))), { code: 1, err: /lost[\s\S]*at / });
});
