import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import t, { type Test } from 'tap';
import { deferred } from '#apimachinery/async/deferred.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { GrpcKeyService } from '#storage/encryption/grpc-key-service.js';
import { KmsPlugin } from '#storage/encryption/testing/kms-plugin.js';

async function folder(t: Test): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'kms-'));
  t.teardown(() => rm(path, { recursive: true }));
  return path;
}

async function setUp(t: Test, { socket = '', timeoutMs = 10_000, running = true } = {}) {
  const plugin = new KmsPlugin(socket === '' ? join(await folder(t), 'kms.sock') : socket);
  if (running) await plugin.start();
  const service = new GrpcKeyService({ socket: plugin.socket, timeoutMs, clock });
  t.teardown(() => {
    service.close();
    plugin.stop();
  });
  return { plugin, service };
}

const plain = Buffer.from('a key');

t.test('encrypts and decrypts; the version is checked once', async (t) => {
  const { plugin, service } = await setUp(t);
  const cipher = await service.encrypt(plain);
  t.notSame(cipher, plain);
  t.same(await service.decrypt(cipher), plain);
  t.same(await service.decrypt(await service.encrypt(Buffer.alloc(0))), Buffer.alloc(0), 'nothing, too');
  t.same(plugin.calls, { Version: 1, Encrypt: 2, Decrypt: 2 });
});

t.test('a socket in the abstract namespace', async (t) => {
  const { service } = await setUp(t, { socket: `@orch-kms-${process.pid}` });
  t.same(await service.decrypt(await service.encrypt(plain)), plain);
});

t.test('waits for a plugin that starts later, and reconnects to one that was restarted', async (t) => {
  const { plugin, service } = await setUp(t, { running: false });
  const early = service.encrypt(plain);
  await plugin.start();
  t.same(await service.decrypt(await early), plain);
  plugin.stop();
  const between = service.encrypt(plain);
  await plugin.start();
  t.same(await service.decrypt(await between.catch(() => service.encrypt(plain))), plain);
});

t.test('failures have the words of gRPC for Go', async (t) => {
  const { plugin, service } = await setUp(t);
  plugin.version = 'v2';
  await t.rejects(service.encrypt(plain), {
    name: 'KeyServiceError',
    code: 'Unknown',
    message: 'KMS provider api version v2 is not supported, only v1beta1 is supported now',
  });
  plugin.refuse = (method) => ({ code: status.PERMISSION_DENIED, details: `no ${method}` });
  await t.rejects(service.encrypt(plain), {
    code: 'PermissionDenied',
    message: 'failed get version from remote KMS provider: rpc error: code = PermissionDenied desc = no Version',
    isPassing: false,
  });
  plugin.version = 'v1beta1';
  plugin.refuse = undefined;
  await service.encrypt(plain);
  plugin.refuse = () => ({ code: status.UNAVAILABLE, details: 'later' });
  await t.rejects(service.decrypt(plain), {
    code: 'Unavailable',
    message: 'rpc error: code = Unavailable desc = later',
    isPassing: true,
  });
});

t.test('a plugin that is away or silent fails calls in time', async (t) => {
  const expired = (reason: string) => ({
    code: 'DeadlineExceeded',
    message: `failed get version from remote KMS provider: rpc error: code = DeadlineExceeded desc = ${reason}`,
    isPassing: true,
  });
  const away = await setUp(t, { running: false, timeoutMs: 50 });
  const dialing = `transport: Error while dialing dial unix ${away.plugin.socket}: connect: no such file or directory`;
  const noConnection = `latest balancer error: connection error: desc = "${dialing}"`;
  await t.rejects(away.service.encrypt(plain), expired(noConnection), 'away');

  const socket = join(await folder(t), 'silent.sock');
  const connections: Socket[] = [];
  const silent = createServer((connection) => connections.push(connection.resume())).listen(socket);
  await once(silent, 'listening');
  const service = new GrpcKeyService({ socket, timeoutMs: 50, clock });
  t.teardown(() => service.close());
  await t.rejects(service.encrypt(plain), expired('context deadline exceeded'), 'silent');
  service.close();
  silent.close();
  for (const connection of connections) connection.destroy();
});

t.test('a flood of calls waits its turn', async (t) => {
  const { plugin, service } = await setUp(t);
  const gate = deferred();
  plugin.before = () => gate.promise;
  const calls = Array.from({ length: 200 }, () => service.encrypt(plain));
  plugin.before = () => Promise.resolve();
  gate.resolve();
  t.equal((await Promise.all(calls)).length, 200);
  t.ok(plugin.mostAtOnce <= 32, `${plugin.mostAtOnce} at once`);
});
