import t from 'tap';
import { ClientConnections, networkOf } from '#http/server/client-connections.js';

function connecting(most: number) {
  const clients = new ClientConnections(most);
  const closed: string[] = [];
  const open = (name: string, address: string, user?: string) => {
    const held = clients.add(address, { destroy: () => closed.push(name) });
    if (user !== undefined) clients.claim(held, user);
    return held;
  };
  return { clients, closed, open };
}

t.test('an address with half of the connections closes its own', async (t) => {
  const { clients, closed, open } = connecting(10);
  for (let i = 0; i < 20; i++) open(`flood-${i}`, '192.0.2.1', 'attacker');
  t.equal(clients.count, 5);
  t.same(
    closed,
    Array.from({ length: 15 }, (_, i) => `flood-${i}`),
    'the oldest first',
  );
  open('other', '192.0.2.2', 'node');
  t.equal(closed.length, 15, 'another address closes nothing');
});

t.test('behind one address, the user with most connections loses one', async (t) => {
  const { closed, open } = connecting(20);
  open('node', '192.0.2.1', 'node');
  open('controller', '192.0.2.1', 'controller');
  for (let i = 0; i < 100; i++) open(`flood-${i}`, '192.0.2.1', 'attacker');
  open('administrator', '192.0.2.1', 'administrator');
  t.equal(closed.length, 93);
  t.ok(
    closed.every((name) => name.startsWith('flood')),
    'only the connections of the flood were closed',
  );
});

t.test('connections without a request count as those of one user', async (t) => {
  const { closed, open } = connecting(20);
  open('node', '192.0.2.1', 'node');
  for (let i = 0; i < 100; i++) open(`silent-${i}`, '192.0.2.1');
  t.ok(closed.length > 80 && closed.every((name) => name.startsWith('silent')));
});

t.test('many addresses leave room for another', async (t) => {
  const { clients, closed, open } = connecting(50);
  for (let i = 0; i < 1000; i++) open(`flood-${i}`, `2001:db8:0:${(i % 200).toString(16)}::1`, `user-${i}`);
  t.ok(clients.count <= 50, `${clients.count} connections`);
  open('node', '192.0.2.1', 'node');
  t.notOk(closed.includes('node'));
  const flood = closed.length;
  for (let i = 0; i < 100; i++) open(`more-${i}`, '2001:db8::1', 'attacker');
  t.ok(closed.length >= flood + 50 && !closed.includes('node'), 'the node stays');
});

t.test('closed connections no longer count', async (t) => {
  const { clients, closed, open } = connecting(10);
  for (let i = 0; i < 100; i++) {
    const held = open(`c-${i}`, '192.0.2.1', `user-${i}`);
    clients.remove(held);
    clients.remove(held);
    clients.claim(held, 'late');
  }
  t.equal(clients.count, 0);
  t.same(closed, []);
});

t.test('networks of addresses', async (t) => {
  const rows: [address: string, network: string][] = [
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8:1:2::6', '2001:db8:1:2'],
    ['2001:db8::6', '2001:db8:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['::1', '0:0:0:0'],
    ['2001:db8:1::', '2001:db8:1:0'],
  ];
  for (const [address, network] of rows) t.equal(networkOf(address), network, address);
});
