import t from 'tap';
import { dispatch, type Subcommands } from '#cmd/orch/dispatch.js';
import { SetupError } from '#cmd/orch/terminal/setup-error.js';
import { OptionsError } from '#daemon/options/option.js';

const none = async () => 0;

async function outcome(argv: readonly string[], commands: Partial<Subcommands> = {}) {
  const out = t.capture(process.stdout, 'write');
  const err = t.capture(process.stderr, 'write');
  const text = (calls: typeof out) =>
    calls()
      .map(({ args }) => String(args[0]))
      .join('');
  const names = [
    'up',
    'down',
    'join',
    'leave',
    'install',
    'uninstall',
    'certificates',
    'backup',
    'etcd',
    'certs',
    'upgrade',
    'serve',
  ] as const;
  const all = Object.fromEntries(names.map((name) => [name, none])) as unknown as Subcommands;
  const code = await dispatch({ ...all, ...commands }, argv);
  out.restore();
  err.restore();
  return { code, out: text(out), err: text(err) };
}

t.test('tells what it is and what it can', async (t) => {
  for (const word of ['version', '--version'])
    t.match(await outcome([word]), { code: 0, out: /^Orch v1\.24\.0\n$/, err: '' });
  for (const argv of [[], ['help'], ['-h'], ['--help']])
    t.match(await outcome(argv), { code: 0, out: /orch up/, err: '' });
});

t.test('passes on the arguments and the exit code', async (t) => {
  const seen: (readonly string[])[] = [];
  const up = async (argv: readonly string[]) => {
    seen.push(argv);
    return 7;
  };
  t.equal((await outcome(['up', '--nodes', '2'], { up })).code, 7);
  t.same(seen, [['--nodes', '2']]);
});

t.test('says what went wrong', async (t) => {
  const fail = (error: Error) => ({ up: () => Promise.reject(error) });
  t.match(await outcome(['fly']), { code: 2, err: /unknown command "fly"[\s\S]*orch up/ });
  t.match(await outcome(['up'], fail(new OptionsError(['--nodes: must be positive']))), { code: 2, err: /^orch up: / });
  t.match(await outcome(['up'], fail(new SetupError('install etcd'))), { code: 1, err: 'orch up: install etcd\n' });
  t.match(await outcome(['up'], fail(new Error('lost'))), { code: 1, err: /lost[\s\S]*at / });
});
