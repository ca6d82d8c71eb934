import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import t from 'tap';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { findProgram } from '#nodeagent/node/prerequisites.js';
import { BusctlLogind, shutdownSignal } from '#nodeagent/shutdown/busctl-logind.js';
import { shutdownStateFile } from '#nodeagent/shutdown/state-file.js';

const hasBus = (await findProgram('dbus-daemon')) !== undefined && (await findProgram('busctl')) !== undefined;
const skip = !hasBus && 'dbus-daemon and busctl are not installed';

const directory = await mkdtemp(join(tmpdir(), 'logind-'));
t.teardown(() => rm(directory, { recursive: true }));
const onInvalid = (): void => undefined;

/** A bus of its own, on which everything is allowed. */
async function bus(): Promise<{ readonly address: string; readonly daemon: ChildProcess }> {
  const config = join(directory, 'bus.conf');
  const policy =
    '<allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/><allow user="*"/>';
  await writeFile(
    config,
    `<busconfig><type>system</type><listen>unix:tmpdir=${directory}</listen><auth>EXTERNAL</auth><policy context="default">${policy}</policy></busconfig>`,
  );
  const daemon = spawn('dbus-daemon', [`--config-file=${config}`, '--nofork', '--print-address'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [address] = (await once(createInterface({ input: daemon.stdout }), 'line')) as [string];
  return { address, daemon };
}

t.test('signals of a real bus', { skip }, async (t) => {
  const { address, daemon } = await bus();
  const emit = (name: string, ...value: string[]) =>
    promisify(execFile)('busctl', [
      ...[`--address=${address}`, 'emit', '/org/freedesktop/login1', 'org.freedesktop.login1.Manager', name, ...value],
    ]);
  const logind = new BusctlLogind({ dialect: orchDialect, onInvalid, busAddress: address });
  const seen: boolean[] = [];
  let wake: () => void = () => undefined;
  const watch = await logind.watch((isActive) => {
    seen.push(isActive);
    wake();
  });
  await emit('PrepareForSleep', 'b', 'true');
  for (const value of ['true', 'false']) {
    const next = new Promise<void>((resolve) => {
      wake = resolve;
    });
    await emit('PrepareForShutdown', 'b', value);
    await next;
  }
  t.same(seen, [true, false], 'only those of shutdowns');
  await t.rejects(logind.inhibitDelayMs(), /login1/, 'nothing of that name is on the bus');
  await t.rejects(logind.reload(), /systemd1/, 'nothing of that name is on the bus');
  daemon.kill();
  await watch.ended;
  await t.rejects(
    logind.watch(() => undefined),
    /^failed to monitor shutdown: /,
    'a bus that is away',
  );
});

t.test('a lock is held by a program until it is released', async (t) => {
  const calls = join(directory, 'calls');
  const inhibitProgram = join(directory, 'inhibit');
  // Runs the rest of its arguments, as systemd-inhibit does.
  const script = `#!/bin/sh\nprintf '%s\\n' "$1" "$2" "$3" "$4" > ${calls}\nshift 4\n"$@"\necho over >> ${calls}\n`;
  await writeFile(inhibitProgram, script, { mode: 0o755 });
  for (const [dialect, agent, title] of [
    [orchDialect, 'nodeagent', 'Nodeagent'],
    [kubernetesDialect, 'kubelet', 'Kubelet'],
  ] as const) {
    const lock = await new BusctlLogind({ dialect, onInvalid, inhibitProgram }).inhibit();
    const options = `--what=shutdown\n--who=${agent}\n--why=${title} needs time to handle node shutdown\n--mode=delay\n`;
    t.equal(await readFile(calls, 'utf8'), options, `${agent}: held`);
    await lock.release();
    await lock.release();
    t.equal(await readFile(calls, 'utf8'), `${options}over\n`, `${agent}: released`);
  }
  await writeFile(inhibitProgram, '#!/bin/sh\necho "Failed to inhibit: Access denied" >&2\nexit 1\n', { mode: 0o755 });
  await t.rejects(
    new BusctlLogind({ dialect: orchDialect, onInvalid, inhibitProgram }).inhibit(),
    { message: 'failed creating systemd inhibitor: Failed to inhibit: Access denied' },
    'a refused lock',
  );
  await t.rejects(
    new BusctlLogind({ dialect: orchDialect, onInvalid, inhibitProgram: join(directory, 'none') }).inhibit(),
    /^failed creating systemd inhibitor: .*ENOENT/,
    'a program that is missing',
  );
});

t.test('the delay is set in a file beside the settings of logind', async (t) => {
  for (const [dialect, name, title] of [
    [orchDialect, '99-nodeagent.conf', 'Nodeagent'],
    [kubernetesDialect, '99-kubelet.conf', 'Kubelet'],
  ] as const) {
    const configDirectory = join(directory, 'logind.conf.d');
    await new BusctlLogind({ dialect, onInvalid, configDirectory }).overrideInhibitDelay(30_000);
    const text = `# ${title} logind override\n[Login]\nInhibitDelayMaxSec=30\n`;
    t.equal(await readFile(join(configDirectory, name), 'utf8'), text, name);
  }
});

t.test('the delay goes with the cluster', async (t) => {
  const configDirectory = join(directory, 'forgotten', 'logind.conf.d');
  const logind = new BusctlLogind({ dialect: orchDialect, onInvalid, configDirectory });
  await logind.forgetInhibitDelay();
  t.notOk(existsSync(configDirectory), 'nothing happens without one');
  await logind.overrideInhibitDelay(30_000);
  const other = join(configDirectory, 'other.conf');
  await writeFile(other, '');
  await logind.forgetInhibitDelay();
  t.same(await readdir(configDirectory), ['other.conf'], 'files of others stay');
  await rm(other);
  await logind.overrideInhibitDelay(30_000);
  await logind.forgetInhibitDelay();
  t.notOk(existsSync(configDirectory), 'an empty folder goes, too');
});

t.test('lines that are no signals of shutdowns are rejected', async (t) => {
  const signal = (fields: object) => JSON.stringify({ type: 'signal', member: 'PrepareForShutdown', ...fields });
  t.equal(shutdownSignal(signal({ payload: { type: 'b', data: [true] } })), true, 'begins');
  t.equal(shutdownSignal(signal({ payload: { type: 'b', data: [false] } })), false, 'was cancelled');
  const others = [
    ...['', '{', 'null', '[]', '1', signal({}), signal({ payload: null }), signal({ payload: { data: [] } })],
    ...[signal({ payload: { data: ['true'] } }), signal({ payload: { data: 'x' } })],
    signal({ member: 'PrepareForSleep', payload: { data: [true] } }),
  ];
  for (const line of others) t.equal(shutdownSignal(line), undefined, JSON.stringify(line));
});

t.test('times are kept in the file of 1.24', async (t) => {
  const state = shutdownStateFile(directory);
  t.same(await state.load(), {}, 'no file');
  const file = join(directory, 'graceful_node_shutdown_state');
  await state.store({ startMs: 1_651_536_000_123 });
  t.same(
    JSON.parse(await readFile(file, 'utf8')),
    { startTime: '2022-05-03T00:00:00.123000Z', endTime: '0001-01-01T00:00:00Z' },
    'as written',
  );
  t.same(await state.load(), { startMs: 1_651_536_000_123 }, 'as read');
  // As 1.24 writes it.
  await writeFile(file, '{"startTime":"2022-05-03T02:00:00.123456789+02:00","endTime":"2022-05-03T00:00:07Z"}');
  t.same(await state.load(), { startMs: 1_651_536_000_123, endMs: 1_651_536_007_000 }, 'of another agent');
  await writeFile(file, '{"startTime":5}');
  await t.rejects(state.load(), /startTime is not a time/, 'an invalid file');
});
