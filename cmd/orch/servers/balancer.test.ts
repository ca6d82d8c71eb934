import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { freePort } from '#cmd/orch/context/settings.js';
import { heirOf } from '#cmd/orch/servers/ask-server.js';
import { ServerBalancer } from '#cmd/orch/servers/balancer.js';
import { silentLogger } from '#daemon/log/logger.js';

/** Answers each piece with its name, unless it was cut off. */
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

/** What comes for one word; empty when the connection ends instead. */
async function say(socket: Socket): Promise<string> {
  socket.write('hello');
  const ended = once(socket, 'close').then(() => '');
  return Promise.race([once(socket, 'data').then(String), ended]);
}

t.test('connections go to a server that works', async (t) => {
  const a = await startServer(t, 'a');
  const b = await startServer(t, 'b');
  const known = [a.address, b.address];
  const ready = new Set(known);
  const asked: string[] = [];
  const balancer = new ServerBalancer({
    servers: () => known,
    ask: async (server) => {
      asked.push(server);
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
  while (asked.length === 0) await realClock.sleep(20);
  t.ok(isOpen, 'it is only slow');
  t.same(asked, [a.address], 'the others are left alone');
  ready.delete(a.address);
  t.equal(await say(first), '', 'a server that is gone without a word: its connections end');
  const second = open();
  t.equal(await say(second), 'b', 'and go elsewhere');
  ready.add(a.address);
  a.state.isCutOff = false;
  b.kill();
  await once(second, 'close');
  const third = open();
  t.equal(await say(third), 'a', 'a server that was killed');
  const ended = once(third, 'close');
  a.kill();
  await ended;
  const fourth = open();
  await once(fourth, 'close');
  t.pass('where there is none, connections end');
});

t.test('who is better than a server', async (t) => {
  const others = [['a', 'silent'] as const, ['b', 'there'] as const, ['c', 'ready'] as const];
  t.equal(heirOf('silent', others), 'c');
  t.equal(heirOf('silent', others.slice(0, 2)), 'b', 'one that answers, while etcd chooses a leader');
  t.equal(heirOf('there', others.slice(0, 2)), undefined, 'another one cannot do more');
  t.equal(heirOf('ready', others), undefined);
});
