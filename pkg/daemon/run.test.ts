import { EventEmitter } from 'node:events';
import t from 'tap';
import type { Daemon } from '#daemon/daemon.js';
import { genericOptions } from '#daemon/options/groups/generic.js';
import { loggingOptions } from '#daemon/options/groups/logging.js';
import { OptionsError, type OptionTable } from '#daemon/options/option.js';
import { positive } from '#daemon/options/validate.js';
import { type Program, type ProgramContext, type ProgramProcess, run } from '#daemon/run.js';

const options = {
  ...genericOptions,
  ...loggingOptions,
  size: { type: 'int', default: 1, section: 'Test', meaning: 'A size.' },
  old: { type: 'bool', section: 'Test', meaning: 'Old.', deprecated: 'do not.' },
} as const satisfies OptionTable;

class FakeProcess extends EventEmitter implements ProgramProcess {
  readonly argv: readonly string[];
  readonly env = {};
  readonly pid = 7;
  out = '';
  err = '';
  exited: number | undefined;
  readonly stdout = {
    write: (text: string) => {
      this.out += text;
    },
  };
  readonly stderr = {
    write: (text: string) => {
      this.err += text;
    },
  };

  constructor(...argv: string[]) {
    super();
    this.argv = ['node', 'main', ...argv];
  }

  exit(code: number): void {
    this.exited = code;
  }
}

function program(daemon: Partial<Daemon>, seen: ProgramContext<typeof options>[] = []): Program<typeof options> {
  return {
    name: (dialect) => dialect.components.scheduler,
    description: 'Tests things.',
    options: () => options,
    rules: [positive('size')],
    create(context) {
      seen.push(context);
      return {
        name: 'x',
        start: () => Promise.resolve(),
        ready: () => Promise.resolve(),
        close: () => Promise.resolve(),
        ...daemon,
      };
    },
  };
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

t.test('help, version and errors are printed', async (t) => {
  const help = new FakeProcess('--help');
  t.equal(await run(program({}), help), 0);
  t.match(help.out, /Tests things\.\n\nUsage:\n {2}orch-scheduler \[flags\]/);
  const version = new FakeProcess('--version', '--dialect=kubernetes');
  t.equal(await run(program({}), version), 0);
  t.equal(version.out, 'Kubernetes v1.24.0\n');
  const wrong = new FakeProcess('--sise=3', '--old=x');
  t.equal(await run(program({}), wrong), 1);
  t.match(wrong.err, /^Error: unknown flag: --sise \(did you mean --size\?\)\nError: invalid argument "x"/);
  const invalid = new FakeProcess('--size=0');
  t.equal(await run(program({}), invalid), 1);
  t.match(invalid.err, /^Error: --size must be greater than zero\n/);
  const dialect = new FakeProcess('--dialect=klingon');
  t.equal(await run(program({}), dialect), 1);
  t.match(dialect.err, /^Error: unknown dialect "klingon"/);
});

t.test('a daemon that cannot be built says why in one line', async (t) => {
  const process = new FakeProcess();
  const failing = { ...program({}), create: () => Promise.reject(new OptionsError(['--size is too small for 3'])) };
  t.equal(await run(failing, process), 1);
  t.equal(process.err, 'Error: --size is too small for 3\n');
});

t.test('a worker repeats no warnings of its parent', async (t) => {
  const process = new FakeProcess('--old');
  const running = run({ ...program({ start: untilAborted }), isWorker: true }, process);
  await new Promise(setImmediate);
  process.emit('SIGTERM');
  t.equal(await running, 0);
  t.match(process.err, /^[^\n]*"stopped" code=0\n$/, 'neither the deprecated flag nor the signal');
});

t.test('a signal ends the work, then closes', async (t) => {
  const order: string[] = [];
  const seen: ProgramContext<typeof options>[] = [];
  const process = new FakeProcess('--size=3', '--old');
  const running = run(
    program(
      {
        async start(signal) {
          order.push('start');
          await untilAborted(signal);
          order.push('ended');
        },
        close() {
          order.push('close');
          return Promise.resolve();
        },
      },
      seen,
    ),
    process,
  );
  await new Promise(setImmediate);
  process.emit('SIGTERM');
  t.equal(await running, 0);
  t.same(order, ['start', 'ended', 'close']);
  t.equal(seen[0]?.values.size, 3);
  t.match(process.err, /^W\d{4} .* orch-scheduler\] "Flag --old has been deprecated, do not\."\n/);
  t.equal(process.listenerCount('SIGTERM'), 0);
  t.equal(process.exited, undefined);
});

t.test('a second signal exits immediately', async (t) => {
  const process = new FakeProcess();
  let finish: () => void = () => undefined;
  const running = run(
    program({
      start: () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        }),
    }),
    process,
  );
  await new Promise(setImmediate);
  process.emit('SIGINT');
  t.equal(process.exited, undefined);
  process.emit('SIGINT');
  t.equal(process.exited, 1);
  finish();
  await running;
});

t.test('failures give exit code 1', async (t) => {
  const process = new FakeProcess();
  let closed = false;
  const code = await run(
    program({
      start: () => Promise.reject(new Error('the port is taken')),
      close() {
        closed = true;
        return Promise.resolve();
      },
    }),
    process,
  );
  t.equal(code, 1);
  t.equal(closed, true);
  t.match(process.err, /^F.*"cannot continue; exiting" err="the port is taken"\n/);
  t.equal(await run(program({ close: () => Promise.reject(new Error('stuck')) }), new FakeProcess()), 1);
});

t.test('a real process is accepted', async (t) => {
  const real: ProgramProcess = process;
  t.equal(real.pid, process.pid);
});
