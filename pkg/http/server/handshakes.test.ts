import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { Handshakes } from '#http/server/handshakes.js';

function silent(): Socket {
  return new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() }) as unknown as Socket;
}

const turn = () => new Promise(setImmediate);

t.test('clients take turns', async (t) => {
  const turns: (() => void)[] = [];
  const handshakes = new Handshakes({
    clock: realClock,
    waitMs: 60_000,
    defer: (then) => turns.push(then),
    isPreferred: () => false,
  });
  const begun: string[] = [];
  const open = (client: string) => {
    const socket = silent();
    handshakes.await(socket, client, () => begun.push(client));
    return socket;
  };
  const quiet = open('quiet');
  const flood = Array.from({ length: 6 }, () => open('flood'));
  for (const socket of flood) socket.push('hello');
  open('node').push('hello');
  await turn();
  t.same(begun, [], 'nothing begins at once');
  for (let i = 0; i < 2; i++) turns.shift()?.();
  t.same(begun, ['flood', 'node'], 'the node does not wait for the flood');
  while (turns.length > 0) turns.shift()?.();
  t.same(begun.length, 7);
  flood.push(quiet);
  quiet.push('hello');
  await turn();
  const [last] = turns;
  quiet.destroy();
  await turn();
  last?.();
  t.same(begun.length, 7, 'a closed connection has no handshake');
});

t.test('preferred clients go first, but not alone', async (t) => {
  const turns: (() => void)[] = [];
  const handshakes = new Handshakes({
    clock: realClock,
    waitMs: 60_000,
    defer: (then) => turns.push(then),
    isPreferred: (client) => client === 'node',
  });
  const begun: string[] = [];
  for (const client of ['a', 'b', 'c', 'node', 'node', 'node', 'node']) {
    const socket = silent();
    handshakes.await(socket, client, () => begun.push(client));
    socket.push('hello');
  }
  await turn();
  while (turns.length > 0) turns.shift()?.();
  t.same(begun, ['node', 'node', 'node', 'a', 'node', 'b', 'c']);
});

t.test('a crowd is accepted before its handshakes, but not for ever', async (t) => {
  const turns: (() => void)[] = [];
  const handshakes = new Handshakes({
    clock: realClock,
    waitMs: 60_000,
    defer: (then) => turns.push(then),
    isPreferred: (client) => client === 'node',
  });
  const begun: string[] = [];
  const arrive = async (client: string) => {
    const socket = silent();
    handshakes.await(socket, client, () => begun.push(client));
    await turn();
    return socket;
  };
  const say = async (socket: Socket) => {
    socket.push('hello');
    await turn();
  };
  await say(await arrive('a'));
  await arrive('b');
  turns.shift()?.();
  t.same(begun, [], 'a connection has come since');
  turns.shift()?.();
  t.same(begun, ['a'], 'none has come since');
  await say(await arrive('a'));
  await say(await arrive('node'));
  await arrive('b');
  turns.shift()?.();
  t.same(begun, ['a', 'node'], 'a preferred client does not wait');
  let accepting = 0;
  for (; begun.length === 2; accepting += 1) {
    await arrive('b');
    turns.shift()?.();
  }
  t.same(begun, ['a', 'node', 'a']);
  t.equal(accepting, 17, 'sixteen turns without a handshake');
});

t.test('a client that sends nothing is disconnected', async (t) => {
  let expire = () => undefined as unknown;
  let cancelled = 0;
  const clock = {
    ...realClock,
    setTimer(fn: () => void) {
      expire = fn;
      return { cancel: () => (cancelled += 1) };
    },
  };
  const handshakes = new Handshakes({ clock, waitMs: 10, defer: setImmediate, isPreferred: () => false });
  const socket = silent();
  handshakes.await(socket, 'a', () => t.fail('no handshake'));
  expire();
  t.ok(socket.destroyed);
  await turn();
  t.equal(cancelled, 1);
});
