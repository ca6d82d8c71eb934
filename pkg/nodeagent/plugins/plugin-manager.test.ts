/** Real sockets, real gRPC. */
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import type { ServerHttp2Stream } from 'node:http2';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import type { PluginHandler } from '#nodeagent/plugins/plugin-handler.js';
import { PluginManager } from '#nodeagent/plugins/plugin-manager.js';
import { observePlugins } from '#nodeagent/plugins/plugin-metrics.js';
import { type PluginDescription, RegisteringPlugin } from '#nodeagent/plugins/testing/registering-plugin.js';
import { startFaultyRuntime } from '#nodeagent/testing/faulty-runtime.js';

async function until(what: string, isTrue: () => boolean): Promise<void> {
  for (let i = 0; i < 1500; i++) {
    if (isTrue()) return;
    await realClock.sleep(10);
  }
  throw new Error(`timed out: ${what}`);
}

class Recorder implements PluginHandler {
  readonly calls: string[] = [];
  refuse: (step: string) => string | undefined = () => undefined;

  async validate({ name, endpoint, versions }: Parameters<PluginHandler['validate']>[0]): Promise<void> {
    this.#record('validate', `${name} ${endpoint} ${versions.join(',')}`);
  }

  async register({ name }: Parameters<PluginHandler['register']>[0]): Promise<void> {
    this.#record('register', name);
  }

  async deregister(name: string): Promise<void> {
    this.#record('deregister', name);
  }

  count(call: string): number {
    return this.calls.filter((each) => each === call).length;
  }

  #record(step: string, text: string): void {
    this.calls.push(`${step} ${text}`);
    const refusal = this.refuse(step);
    if (refusal !== undefined) throw new Error(refusal);
  }
}

async function setUp(t: Test) {
  const base = await mkdtemp(join(tmpdir(), 'pl-'));
  const directory = join(base, 'plugins_registry');
  const stop = new AbortController();
  const handler = new Recorder();
  /** The last failure of each socket. */
  const failures = new Map<string, string>();
  const log = pino(
    { base: null },
    {
      write: (line: string) => {
        const { err, socket } = JSON.parse(line) as { err?: Error; socket: string };
        if (err !== undefined) failures.set(socket, err.message);
      },
    },
  );
  const manager = new PluginManager({ directory, clock: realClock, log });
  manager.addHandler('CSIPlugin', handler);
  let running: Promise<void> | undefined;
  t.teardown(async () => {
    stop.abort();
    await running;
    await rm(base, { recursive: true });
  });
  const path = (name: string) => join(directory, name);
  const plugin = async (name: string, description: Partial<PluginDescription> = {}) => {
    const started = new RegisteringPlugin(path(name), () => ({
      ...{ type: 'CSIPlugin', name: 'csi.example.com', endpoint: '/run/csi.sock', supportedVersions: ['1.0.0'] },
      ...description,
    }));
    await started.start();
    t.teardown(() => started.stop());
    return started;
  };
  const run = () => {
    running = manager.run(stop.signal);
  };
  return { directory, path, handler, manager, plugin, run, stop, failures };
}

const validated = 'validate csi.example.com /run/csi.sock 1.0.0';
const registered = 'register csi.example.com';
const deregistered = 'deregister csi.example.com';

t.test('a plugin is validated, registered and expected so, and deregistered once its socket is gone', async (t) => {
  const { plugin, handler, manager, run, path, directory } = await setUp(t);
  run();
  await mkdir(directory, { recursive: true });
  await plugin('a.sock');
  await until('registered', () => handler.count(registered) === 1);
  t.same(handler.calls, [validated, registered]);
  t.same(manager.counts, { desired: [path('a.sock')], actual: [path('a.sock')] });
  await rm(path('a.sock'));
  await until('deregistered', () => handler.count(deregistered) === 1);
  t.same(manager.counts, { desired: [], actual: [] });
});

t.test('the plugin learns of its registration', async (t) => {
  const { plugin, run, directory } = await setUp(t);
  await mkdir(directory, { recursive: true });
  const started = await plugin('a.sock');
  run();
  await until('notified', () => started.statuses.length > 0);
  t.same(started.statuses, ['registered']);
  t.equal(started.infoCalls, 1);
});

t.test('sockets are found wherever and whenever they appear', async (t) => {
  const { plugin, handler, manager, run, path, directory } = await setUp(t);
  await mkdir(path('old/inner'), { recursive: true });
  await plugin('old/inner/before.sock', { name: 'before' });
  await writeFile(path('file'), '');
  await symlink('.', path('circle'));
  run();
  await until('a socket of before', () => handler.count('register before') === 1);
  await mkdir(path('new/inner'), { recursive: true });
  await plugin('new/inner/while.sock', { name: 'while' });
  await until('a socket in a new folder', () => handler.count('register while') === 1);
  await plugin('.hidden.sock', { name: 'hidden' });
  const outside = join(directory, '..', 'outside.sock');
  const target = new RegisteringPlugin(outside, () => ({ type: 'CSIPlugin', name: 'link' }));
  await target.start();
  t.teardown(() => target.stop());
  await symlink(outside, path('link.sock'));
  await until('a link to a socket', () => handler.count('register link') === 1);
  t.ok(handler.calls.includes(`validate link ${path('link.sock')} `), 'without an endpoint it is the socket itself');
  await rename(path('new'), path('moved'));
  await until('a moved folder', () => handler.count('deregister while') === 1);
  await until('a moved socket', () => handler.count('register while') === 2);
  t.equal(handler.count('register hidden'), 0, 'hidden files are ignored');
  t.same(manager.counts.actual.length, 3);
  await rm(directory, { recursive: true });
  await until('all are gone', () => manager.counts.actual.length === 0);
  await until('the directory is back', () => handler.count('deregister link') === 1);
  await mkdir(directory, { recursive: true });
  await plugin('again.sock', { name: 'again' });
  await until('a directory that was made again', () => handler.count('register again') === 1);
});

t.test('a plugin that makes its socket again is deregistered and registered', async (t) => {
  const { plugin, handler, run, directory } = await setUp(t);
  await mkdir(directory, { recursive: true });
  const first = await plugin('a.sock');
  run();
  await until('registered', () => handler.count(registered) === 1);
  await first.stop();
  await plugin('a.sock');
  await until('registered again', () => handler.count(registered) === 2);
  t.same(handler.calls, [validated, registered, deregistered, validated, registered]);
});

t.test('failures of a registration, with the words of 1.24', async (t) => {
  const { plugin, handler, manager, run, directory, path } = await setUp(t);
  await mkdir(directory, { recursive: true });
  const unknown = await plugin('unknown.sock', { type: 'Unknown' });
  run();
  const expected = `RegisterPlugin error -- no handler registered for plugin type: Unknown at socket ${path('unknown.sock')}`;
  await until('refused', () => unknown.statuses.length > 0);
  t.equal(unknown.statuses[0], expected, 'no handler');

  handler.refuse = (step) => (step === 'validate' ? 'no versions' : undefined);
  const invalid = await plugin('invalid.sock');
  await until('refused twice', () => invalid.statuses.length > 1);
  t.equal(invalid.statuses[0], 'RegisterPlugin error -- plugin validation failed with err: no versions');
  handler.refuse = (step) => (step === 'register' ? 'no node' : undefined);
  await until('validated', () => handler.calls.includes(registered));
  await until('notified', () => invalid.statuses.some((each) => each.includes('no node')));
  t.equal(invalid.statuses.at(-1), 'RegisterPlugin error -- plugin registration failed with err: no node');
  t.ok(manager.counts.actual.includes(path('invalid.sock')), 'it counts as registered, so that it is deregistered');
  const infoCalls = invalid.infoCalls;
  await until('others are tried again', () => unknown.statuses.length > 2);
  t.equal(invalid.infoCalls, infoCalls, 'and it is not asked again before it makes its socket again');
  handler.refuse = () => undefined;
  await invalid.stop();
  await until('deregistered', () => handler.count(deregistered) === 1);
});

t.test('a hostile plugin neither holds up others nor the end of the agent', async (t) => {
  const { plugin, handler, manager, run, directory, path, stop, failures } = await setUp(t);
  await mkdir(directory, { recursive: true });
  const frame = (length: number, bytes: Buffer) => {
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(length, 1);
    return Buffer.concat([prefix, bytes]);
  };
  const headers = { ':status': 200, 'content-type': 'application/grpc' };
  const deep = Buffer.alloc(60_000, 0x7b);
  const faults: Record<string, (stream: ServerHttp2Stream) => void> = {
    'silence.sock': () => undefined,
    'huge.sock': (stream) => {
      stream.respond(headers);
      stream.end(frame(2 ** 31, Buffer.alloc(1 << 20)));
    },
    'endless.sock': (stream) => {
      stream.respond(headers);
      stream.write(frame(2 ** 20, Buffer.alloc(1000)));
    },
    'groups.sock': (stream) => {
      stream.respond(headers, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(frame(deep.length, deep));
    },
    'text.sock': (stream) => {
      stream.respond(headers, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      const info = Buffer.concat([Buffer.from('\x0a\x09CSIPlugin\x12\x02', 'latin1'), Buffer.from([0xff, 0xfe])]);
      stream.end(frame(info.length, info));
    },
  };
  for (const [name, speak] of Object.entries(faults)) {
    const faulty = await startFaultyRuntime(t, { target: '/nonexistent/x.sock', socket: path(name) });
    faulty.fail(() => ({ type: 'raw', speak }));
  }
  let connections = 0;
  let ended = 0;
  const mute = createServer((socket) => {
    connections += 1;
    socket.on('close', () => {
      ended += 1;
    });
    socket.on('error', () => undefined);
    socket.resume();
  });
  mute.listen(path('mute.sock'));
  t.teardown(() => mute.close());
  await plugin('names.sock', { name: 'x'.repeat(300) });
  await plugin('versions.sock', { supportedVersions: Array.from({ length: 100 }, String) });
  run();
  await plugin('good.sock');
  await until('the good one', () => handler.count(registered) === 1);
  const hostile = [...Object.keys(faults), 'names.sock', 'versions.sock'];
  await until('each one failed', () => hostile.every((name) => failures.has(path(name))));
  const info = (name: string, problem: string) =>
    `RegisterPlugin error -- failed to get plugin info using RPC GetInfo at socket ${path(name)}, err: ${problem}`;
  const expected: Record<string, string> = {
    'silence.sock': info('silence.sock', 'rpc error: code = DeadlineExceeded desc = '),
    'huge.sock': info('huge.sock', 'rpc error: code = ResourceExhausted desc = '),
    'endless.sock': info('endless.sock', 'rpc error: code = ResourceExhausted desc = '),
    'groups.sock': info('groups.sock', 'rpc error: code = Internal desc = '),
    'text.sock': info('text.sock', 'rpc error: code = Internal desc = '),
    'names.sock': 'RegisterPlugin error -- plugin validation failed with err: the name is longer than 253 characters',
    'versions.sock': 'RegisterPlugin error -- plugin validation failed with err: there are more than 64 versions',
  };
  for (const [name, start] of Object.entries(expected))
    t.equal(failures.get(path(name))?.slice(0, start.length), start, name);
  t.same(handler.calls, [validated, registered], 'only the good one came');
  t.same(manager.counts.actual, [path('good.sock')]);
  t.equal(manager.counts.desired.length, 9);
  await until('a connection to the mute one', () => connections > 0);
  stop.abort();
  await until('no connection is left', () => connections === ended);
});

t.test('metrics count sockets and registered plugins', async (t) => {
  const registry = new Registry();
  observePlugins(registry, { counts: { desired: ['/p/a', '/p/b'], actual: ['/p/a'] } });
  const lines = (await registry.metrics()).split('\n').filter((line) => !line.startsWith('#') && line !== '');
  t.same(lines, [
    'plugin_manager_total_plugins{socket_path="/p/a",state="actual_state_of_world"} 1',
    'plugin_manager_total_plugins{socket_path="/p/a",state="desired_state_of_world"} 1',
    'plugin_manager_total_plugins{socket_path="/p/b",state="desired_state_of_world"} 1',
  ]);
});
