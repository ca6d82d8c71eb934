import { EventEmitter } from 'node:events';
import type { TLSSocket } from 'node:tls';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { Accounts } from '#http/server/accounts.js';
import { Connections } from '#http/server/connections.js';

t.test('networks of important users are preferred for a while', async (t) => {
  let nowMs = 0;
  const clock = { ...realClock, monotonic: () => nowMs };
  const connections = new Connections({
    clock,
    idleMs: 1000,
    stallMs: 1000,
    maxConnections: 100,
    accounts: new Accounts({ weightOf: (user) => (user === 'node' ? 10 : 1), nowMs: () => nowMs }),
    asksForCertificates: () => false,
  });
  const open = (remoteAddress: string, remotePort: number) => {
    const socket = Object.assign(new EventEmitter(), { remoteAddress, remotePort, destroy: () => undefined });
    connections.admit(socket as unknown as TLSSocket);
    return { socket, peer: connections.of(socket as unknown as TLSSocket).peer };
  };
  const node = open('192.0.2.1', 1000);
  node.peer.claim?.('node', []);
  open('192.0.2.2', 1000).peer.claim?.('stranger', []);
  t.same([node.peer.user, connections.count], ['node', 2]);
  t.ok(connections.isPreferred('192.0.2.1'), 'the network of the node');
  t.notOk(connections.isPreferred('192.0.2.2'), 'that of another user');
  node.socket.emit('close');
  t.equal(connections.count, 1);
  nowMs = 3_599_999;
  t.ok(connections.isPreferred('192.0.2.1'), 'also when its connections are closed');
  nowMs = 3_600_000;
  t.notOk(connections.isPreferred('192.0.2.1'), 'for an hour');
});
