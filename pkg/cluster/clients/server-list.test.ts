import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { FailureDetector, setServer } from '#cluster/clients/api-balancer.js';
import { addressesOf, type ServerList, ServerRegister, withServers } from '#cluster/clients/server-list.js';

t.test('published servers become current, and former ones are kept for a while', async (t) => {
  const one: ServerList = { current: ['a:1'], former: [] };
  t.equal(withServers(one, []), one, 'an empty publication changes nothing');
  const two = withServers(one, ['b:1', 'a:1']);
  t.same(two, { current: ['a:1', 'b:1'], former: [] });
  t.same(
    withServers(two, ['b:1']),
    { current: ['b:1'], former: ['a:1'] },
    'a server that is no longer published becomes a former one',
  );
  const many = Array.from({ length: 20 }, (_, i) => `s${i}:1`).reduce<ServerList>(
    (list, name) => withServers(list, [name]),
    one,
  );
  t.same(
    [many.current.length, many.former.length, many.former[0]],
    [1, 8, 's18:1'],
    'the list of former servers is bounded',
  );
});

t.test('the list survives a restart', async (t) => {
  const file = join(t.testdir(), 'servers.json');
  const servers = new ServerRegister(file, ['a:1']);
  t.equal(servers.update(['a:1']), false, 'unchanged');
  t.equal(servers.update(['b:1', 'c:1']), true);
  t.same(new ServerRegister(file, ['z:1']).all, ['b:1', 'c:1', 'a:1', 'z:1'], 'initial servers come last');
  for (const text of ['', '{}', '{"current":[],"former":[]}', '{"current":[1],"former":[]}', 'null']) {
    writeFileSync(file, text);
    t.same(new ServerRegister(file, ['z:1']).all, ['z:1'], text);
  }
});

t.test('endpoints of the API become addresses', async (t) => {
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

t.test('a server is suspicious when it owes an answer, or is silent for long', async (t) => {
  const detector = new FailureDetector(0);
  t.notOk(detector.isSuspicious(9_999));
  t.ok(detector.isSuspicious(10_000), 'an idle server may be silent for longer');
  detector.received(10_000);
  detector.sent(10_000);
  t.notOk(detector.isSuspicious(10_999));
  detector.sent(10_900);
  t.ok(detector.isSuspicious(11_000), 'further data does not extend the timeout');
  detector.checked(11_000);
  t.notOk(detector.isSuspicious(12_999), 'a passed check doubles the timeout');
  t.ok(detector.isSuspicious(13_000));
  detector.received(13_000);
  detector.sent(13_000);
  t.ok(detector.isSuspicious(14_000));
});

t.test('client configs are pointed at the balancer', async (t) => {
  const file = join(
    t.testdir({ config: 'clusters: [{ name: a, cluster: { server: https://old:6443 } }]\n' }),
    'config',
  );
  setServer(file, 'https://127.0.0.1:6444');
  t.match(readFileSync(file, 'utf8'), /server: https:\/\/127\.0\.0\.1:6444\n +disable-compression: false/);
  setServer(`${file}.none`, 'https://127.0.0.1:6444');
});
