import t from 'tap';
import { LazyAbort } from '#apimachinery/cancellation.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { ServerRequest, type ServerShares, Shares } from '#http/server/server-request.js';

t.test('one client gets half, and there is always room for another', async (t) => {
  for (const clients of [1, 2, 10, 200]) {
    const shares = new Shares(10_000);
    const held = new Map<string, number>();
    for (let full = 0; full < clients; ) {
      full = 0;
      for (let i = 0; i < clients; i++) {
        if (shares.take(`user-${i}`, 1)) held.set(`user-${i}`, (held.get(`user-${i}`) ?? 0) + 1);
        else full++;
      }
    }
    t.ok(shares.used <= Math.ceil((10_000 * clients) / (clients + 1)), `${clients} clients hold ${shares.used}`);
    t.ok(Math.max(...held.values()) - Math.min(...held.values()) <= 1, 'equal shares');
    t.ok(shares.take('another', Math.floor(10_000 / (clients + 1) / 2)), 'another client gets its share');
  }
});

t.test('random amounts against a slow reference', async (t) => {
  const random = seededRandom(7);
  const shares = new Shares(1000);
  const held: { readonly client: string; readonly amount: number }[] = [];
  const sum = (all: typeof held) => all.reduce((total, { amount }) => total + amount, 0);
  for (let i = 0; i < 5000; i++) {
    const client = `c${Math.floor(random() * 5)}`;
    const amount = Math.floor(random() * 200);
    if (random() < 0.5) {
      const own = sum(held.filter((each) => each.client === client));
      const allowed = own + amount <= 1000 - sum(held);
      if (shares.take(client, amount) !== allowed) t.fail(`step ${i}: ${amount} for ${client} with ${own}`);
      if (allowed) held.push({ client, amount });
    } else {
      const [given] = held.splice(Math.floor(random() * held.length), 1);
      if (given !== undefined) shares.give(given.client, given.amount);
    }
    if (shares.used !== sum(held)) t.fail(`step ${i}: ${shares.used} in use`);
  }
});

function request(shares: ServerShares, users: string[] = []) {
  const peer = { address: '192.0.2.1', certificate: undefined, claim: (user: string) => users.push(user) };
  const more = { gone: new LazyAbort(), readBody: undefined, openBody: undefined };
  return new ServerRequest({ method: 'GET', url: '/', headers: {}, rawHeaders: [], peer, shares, ...more });
}

t.test('a request returns what it holds, once', async (t) => {
  const shares = { requests: new Shares(4), bodyBytes: new Shares(100) };
  const users: string[] = [];
  const all = [request(shares, users), request(shares, users)] as const;
  t.ok(all.every((each) => each.claim('a', []) && each.claim('a', [])));
  t.same(users.length, 4, 'the connection learns its user');
  t.notOk(request(shares).claim('a', []), 'half of all requests');
  t.ok(request(shares).claim('b', []));
  t.ok(all[0].hold(50));
  t.notOk(all[1].hold(1), 'half of all bytes');
  for (const each of all) {
    each.release();
    each.release();
  }
  t.same([shares.requests.used, shares.bodyBytes.used], [1, 0]);
  t.notOk(all[0].hold(1), 'a request that is over holds nothing more');
  t.ok(all[0].claim('a', []));
  t.equal(shares.requests.used, 1);
});
