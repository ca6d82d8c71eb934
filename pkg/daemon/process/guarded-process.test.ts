/** What ends a guarded process and what it survives, as its parent sees it. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { isStreamFailure } from '#daemon/process/guarded-process.js';

const url = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);

/** A daemon that runs commands from standard input, and answers each with a line. */
const source = `
  import { createInterface } from 'node:readline';
  import { connect, createServer } from 'node:net';
  import { orchDialect } from ${url('../../apimachinery/dialect.js')};
  import { createRegistry } from ${url('../metrics/registry.js')};
  import { genericOptions } from ${url('../options/groups/generic.js')};
  import { guard } from ${url('./guarded-process.js')};
  import { run } from ${url('../run.js')};
  const guarded = guard(process);
  const registry = createRegistry({ dialect: orchDialect, process: guarded });
  const commands = {
    rejection: () => void Promise.reject(new TypeError('unhandled')),
    nothing: () => void Promise.reject(undefined),
    stream: () => connect(1, '127.0.0.1'),
    exception: () => setImmediate(() => { throw new TypeError('half done'); }),
    log: (log) => log.info('a line of the log'),
    long: (log) => log.info({ x: 'x'.repeat(1000) }, 'a long line of the log'),
    quit: () => process.kill(process.pid, 'SIGTERM'),
  };
  process.exitCode = await run(
    {
      name: () => 'tester',
      description: 'Tests.',
      options: () => genericOptions,
      create: ({ log }) => ({
        name: 'tester',
        ready: () => Promise.resolve(),
        async start(signal) {
          const lines = createInterface({ input: process.stdin });
          lines.on('line', async (line) => {
            commands[line]?.(log);
            await new Promise((resolve) => setTimeout(resolve, 50));
            const text = await registry.metrics();
            process.stdout.write(JSON.stringify(Object.fromEntries(
              [...text.matchAll(/^process_(stray_failures_total\\{kind="(\\w+)"\\}|(log_lines_dropped)_total) (\\d+)/gm)].map((m) => [m[2] ?? m[3], Number(m[4])]),
            )) + '\\n');
          });
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
          lines.close();
          process.stdin.destroy();
        },
        close: async () => undefined,
      }),
    },
    guarded,
  );`;

interface Started {
  readonly child: ChildProcess;
  readonly exited: Promise<[number | null, NodeJS.Signals | null]>;
  readonly stderr: () => string;
  /** Its counters after that command. */
  tell(command: string): Promise<Record<string, number>>;
}

function start(t: Test, stderr: 'pipe' | number = 'pipe'): Started {
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], { stdio: ['pipe', 'pipe', stderr] });
  t.teardown(() => child.kill('SIGKILL'));
  let text = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  const exited = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  return {
    child,
    exited,
    stderr: () => text,
    async tell(command) {
      child.stdin?.write(`${command}\n`);
      const answer = await Promise.race([once(child.stdout as NonNullable<typeof child.stdout>, 'data'), exited]);
      if (!Buffer.isBuffer(answer[0])) throw new Error(`it ended with ${String(answer)}:\n${text}`);
      return JSON.parse(answer[0].toString()) as Record<string, number>;
    },
  };
}

t.test('unhandled rejections and stream errors are logged and counted', async (t) => {
  const { tell, exited, stderr, child } = start(t);
  t.same(await tell('log'), { rejection: 0, stream: 0, log_lines_dropped: 0 });
  t.match(await tell('rejection'), { rejection: 1, stream: 0 });
  t.match(await tell('nothing'), { rejection: 2, stream: 0 });
  t.match(await tell('stream'), { rejection: 2, stream: 1 });
  t.match(stderr(), /E.*"unhandled failure; continuing" err="unhandled" kind="rejection" stack=/);
  t.match(stderr(), /err="connect ECONNREFUSED 127.0.0.1:1" kind="stream"/);
  child.stdin?.write('quit\n');
  t.same(await exited, [0, null]);
});

t.test('an exception that may corrupt state ends the process', async (t) => {
  const { child, exited, stderr } = start(t);
  child.stdin?.write('exception\n');
  t.same(await exited, [1, null]);
  t.match(stderr(), /F.*"uncaught exception; exiting" err="half done" stack=/);
});

t.test('a log that cannot be written drops lines', async (t) => {
  const full = openSync('/dev/full', 'w');
  const { tell, child, exited } = start(t, full);
  closeSync(full);
  for (let i = 0; i < 3; i++) await tell('log');
  t.match(await tell('rejection'), { rejection: 1, log_lines_dropped: 4 });
  child.stdin?.write('quit\n');
  t.same(await exited, [0, null]);
});

t.test('a log without a reader drops lines', async (t) => {
  const { tell, child, exited } = start(t);
  await tell('');
  child.stderr?.destroy();
  for (let i = 0; i < 3; i++) await tell('log');
  const { log_lines_dropped: dropped = 0 } = await tell('log');
  t.ok(dropped >= 3, `${dropped} lines were dropped`);
  child.stdin?.write('quit\n');
  t.same(await exited, [0, null]);
});

/** A disk of 64 KiB; undefined without the right to mount one. */
function tinyDisk(t: Test): string | undefined {
  const dir = mkdtempSync(join(tmpdir(), 'full-'));
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', dir]);
  t.teardown(() => {
    if (status === 0) spawnSync('umount', [dir]);
    rmSync(dir, { recursive: true });
  });
  return status === 0 ? dir : undefined;
}

const dir = tinyDisk(t);

t.test(
  'a disk that fills up and has room again',
  { skip: dir === undefined && 'mounting is not permitted' },
  async (t) => {
    if (dir === undefined) return;
    const file = join(dir, 'log');
    const log = openSync(file, 'a');
    const { tell, child, exited } = start(t, log);
    closeSync(log);
    await tell('log');
    t.throws(() => writeFileSync(join(dir, 'ballast'), Buffer.alloc(128 * 1024)), { code: 'ENOSPC' });
    let dropped = 0;
    // The current page of the log has room for some lines.
    for (let i = 0; i < 10 && dropped === 0; i++) dropped = (await tell('long'))['log_lines_dropped'] ?? 0;
    t.equal(dropped, 1);
    t.equal((await tell('long'))['log_lines_dropped'], 2);
    rmSync(join(dir, 'ballast'));
    t.equal((await tell('log'))['log_lines_dropped'], 2);
    child.stdin?.write('quit\n');
    t.same(await exited, [0, null]);
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    const notice = lines.findIndex((line) => line.endsWith('"log lines were dropped" lines=2'));
    t.ok(notice > 0);
    t.match(lines[notice - 1], /^I.*"a line of the log"$/);
  },
);

t.test('errors of one stream are recognized', async (t) => {
  const error = (properties: object) => Object.assign(new Error('x'), properties);
  for (const stray of [
    { code: 'ECONNRESET', syscall: 'read' },
    { code: 'EPIPE', syscall: 'write' },
    { code: 'ENOSPC', syscall: 'write' },
    { code: 'EMFILE', syscall: 'accept' },
    { code: 'ERR_STREAM_PREMATURE_CLOSE' },
    { code: 'ERR_HTTP2_STREAM_ERROR' },
    { code: 'ERR_SSL_WRONG_VERSION_NUMBER' },
    { code: 'WS_ERR_INVALID_OPCODE' },
    { code: 'Z_DATA_ERROR' },
  ])
    t.ok(isStreamFailure(error(stray)), stray.code);
  for (const own of [{}, { code: 'ENOENT', syscall: 'open' }, { code: 'ERR_INVALID_ARG_TYPE' }, { code: 7 }])
    t.notOk(isStreamFailure(error(own)));
  t.notOk(isStreamFailure('ECONNRESET'));
});
