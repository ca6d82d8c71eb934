import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { ServerBalancer } from '#cluster/clients/api-balancer.js';
import { betterServer } from '#cluster/clients/server-health.js';
import { freePort } from '#cluster/process/ports.js';
import { silentLogger } from '#daemon/log/logger.js';

/** A server that answers each chunk with its name until it is cut off. */
async function startServer(t: Test, name: string) {
  const sockets = new Set<Socket>();
  const state = { isCutOff: false };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', () => !state.isCutOff && socket.write(name));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const kill = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  t.teardown(kill);
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, state, kill };
}

/** The answer to a word; empty when the connection ends instead. */
async function say(socket: Socket): Promise<string> {
  socket.write('hello');
  const ended = once(socket, 'close').then(() => '');
  return Promise.race([once(socket, 'data').then(String), ended]);
}

t.test('connections go to a server that works', async (t) => {
  const a = await startServer(t, 'a');
  const b = await startServer(t, 'b');
  const addresses = [a.address, b.address];
  const ready = new Set(addresses);
  const checks: string[] = [];
  const balancer = new ServerBalancer({
    servers: () => addresses,
    check: async (server) => {
      checks.push(server);
      return ready.has(server) ? 'ready' : 'silent';
    },
    clock: realClock,
    random: () => 0,
    log: silentLogger,
  });
  const port = await freePort();
  await balancer.listen(port);
  t.teardown(() => balancer.close());
  const open = () => connect({ port, host: '127.0.0.1' }).on('error', () => undefined);

  const first = open();
  t.equal(await say(first), 'a');
  a.state.isCutOff = true;
  let isOpen = true;
  void once(first, 'close').then(() => {
    isOpen = false;
  });
  first.write('hello');
  while (checks.length === 0) await realClock.sleep(20);
  t.ok(isOpen, 'a slow server keeps its connections');
  t.same(checks, [a.address], 'the others are not checked');
  ready.delete(a.address);
  t.equal(await say(first), '', 'connections of a silent server are closed');
  const second = open();
  t.equal(await say(second), 'b', 'and reopened to another server');
  ready.add(a.address);
  a.state.isCutOff = false;
  b.kill();
  await once(second, 'close');
  const third = open();
  t.equal(await say(third), 'a', 'connections of a killed server are reopened to another one');
  const ended = once(third, 'close');
  a.kill();
  await ended;
  const fourth = open();
  await once(fourth, 'close');
  t.pass('without a working server connections are closed');
});

t.test('a server is replaced only by a better one', async (t) => {
  const others = [['a', 'silent'] as const, ['b', 'unready'] as const, ['c', 'ready'] as const];
  t.equal(betterServer('silent', others), 'c');
  t.equal(betterServer('silent', others.slice(0, 2)), 'b', 'an unready server is better than a silent one');
  t.equal(betterServer('unready', others.slice(0, 2)), undefined, 'another unready server is not better');
  t.equal(betterServer('ready', others), undefined);
});
