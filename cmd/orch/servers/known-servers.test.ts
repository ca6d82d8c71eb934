import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { Silence } from '#cmd/orch/servers/balancer.js';
import { addressesOf } from '#cmd/orch/servers/follow-servers.js';
import { KnownServers, learned, type ServerList } from '#cmd/orch/servers/known-servers.js';
import { pointAt } from '#cmd/orch/servers/open-way.js';

t.test('servers that the cluster names', async (t) => {
  const one: ServerList = { current: ['a:1'], former: [] };
  t.equal(learned(one, []), one, 'a cluster without servers could not say so');
  const two = learned(one, ['b:1', 'a:1']);
  t.same(two, { current: ['a:1', 'b:1'], former: [] });
  t.same(learned(two, ['b:1']), { current: ['b:1'], former: ['a:1'] }, 'one that is gone may come again');
  const many = Array.from({ length: 20 }, (_, i) => `s${i}:1`).reduce<ServerList>(
    (list, name) => learned(list, [name]),
    one,
  );
  t.same([many.current.length, many.former.length, many.former[0]], [1, 8, 's18:1'], 'not all that ever were');
});

t.test('what is known survives', async (t) => {
  const file = join(t.testdir(), 'servers.json');
  const servers = new KnownServers(file, ['a:1']);
  t.equal(servers.learn(['a:1']), false, 'no news');
  t.equal(servers.learn(['b:1', 'c:1']), true);
  t.same(new KnownServers(file, ['z:1']).all, ['b:1', 'c:1', 'a:1', 'z:1'], 'where it began comes last');
  for (const text of ['', '{}', '{"current":[],"former":[]}', '{"current":[1],"former":[]}', 'null']) {
    writeFileSync(file, text);
    t.same(new KnownServers(file, ['z:1']).all, ['z:1'], text);
  }
});

t.test('endpoints of the API', async (t) => {
  const slice = (addressType: string, addresses: string[][], port?: number): EndpointSlice => ({
    metadata: {},
    addressType,
    endpoints: addresses.map((each) => ({ addresses: each })),
    ports: port === undefined ? [] : [{ port }],
  });
  t.same(addressesOf(slice('IPv4', [['192.0.2.1'], ['192.0.2.2']], 6443)), ['192.0.2.1:6443', '192.0.2.2:6443']);
  t.same(addressesOf(slice('IPv6', [['2001:db8::1']], 6443)), ['[2001:db8::1]:6443']);
  t.same(addressesOf(slice('IPv4', [['192.0.2.1']])), []);
});

t.test('a server is asked when it owes an answer, or says nothing for long', async (t) => {
  const silence = new Silence(0);
  t.notOk(silence.isSuspicious(9_999));
  t.ok(silence.isSuspicious(10_000), 'silence of an idle one');
  silence.heard(10_000);
  silence.sent(10_000);
  t.notOk(silence.isSuspicious(10_999));
  silence.sent(10_900);
  t.ok(silence.isSuspicious(11_000), 'who goes on asking does not give it more time');
  silence.explained(11_000);
  t.notOk(silence.isSuspicious(12_999), 'one that is well is left alone for longer');
  t.ok(silence.isSuspicious(13_000));
  silence.heard(13_000);
  silence.sent(13_000);
  t.ok(silence.isSuspicious(14_000));
});

t.test('client configs lead to the way', async (t) => {
  const file = join(
    t.testdir({ config: 'clusters: [{ name: a, cluster: { server: https://old:6443 } }]\n' }),
    'config',
  );
  pointAt(file, 'https://127.0.0.1:6444');
  t.match(readFileSync(file, 'utf8'), /server: https:\/\/127\.0\.0\.1:6444\n +disable-compression: false/);
  pointAt(`${file}.none`, 'https://127.0.0.1:6444');
});
