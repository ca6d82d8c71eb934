import t from 'tap';
import type { ClusterSettings } from '#cluster/config/settings.js';
import { etcdArguments } from '#cluster/etcd/etcd-child.js';
import { initialCluster, leavesBeforeItStops, membershipStep } from '#cluster/members/etcd-membership.js';
import { parseInvitation } from '#cluster/members/invitation.js';
import { formatServerToken, newServerKey, parseServerToken, seal, unseal } from '#cluster/members/server-token.js';
import type { EtcdMember } from '#etcd-admin/admin.js';

function member(name: string, place: number, more: Partial<EtcdMember> = {}): EtcdMember {
  const at = (port: number) => [`https://192.0.2.${place}:${port}`];
  return { id: String(place), name, clientURLs: at(2379), peerURLs: at(2380), isLearner: false, ...more };
}

t.test('a machine becomes a member after a former one with its name or address is removed', async (t) => {
  const [a, b] = [member('a', 1), member('b', 2)];
  const self = { name: 'c', peerURL: 'https://192.0.2.3:2380' };
  t.same(membershipStep({ members: [a, b], ...self }), { type: 'add' });
  const dead = member('c', 9);
  t.same(
    membershipStep({ members: [a, b, dead], ...self }),
    { type: 'remove', id: '9' },
    'a member with its name is removed',
  );
  const unborn = member('', 3, { isLearner: true, clientURLs: [] });
  const observed = { members: [a, unborn], ...self };
  t.same(membershipStep(observed), { type: 'remove', id: '3' }, 'a member of an interrupted attempt is removed');
  t.same(initialCluster(observed.members, observed), ['a=https://192.0.2.1:2380', 'c=https://192.0.2.3:2380']);
  t.ok(leavesBeforeItStops([a, b]), 'two members are both needed for a majority');
  t.ok(leavesBeforeItStops([a, b, unborn]), 'a learner has no vote');
  t.notOk(leavesBeforeItStops([a, b, dead]));
});

t.test('etcd gets its name, addresses and members', async (t) => {
  const tls = { caFile: 'ca', certFile: 'cert', keyFile: 'key' };
  const settings: Pick<ClusterSettings, 'etcdClientPort' | 'etcdPeerPort'> = { etcdClientPort: 1, etcdPeerPort: 2 };
  const common = { dataDir: 'd', tls, metricsPort: 3, initialCluster: undefined };
  const single = etcdArguments({ ...common, settings });
  t.ok(single.includes('--listen-peer-urls=https://127.0.0.1:2'), 'a single member listens on loopback');
  t.ok(single.includes('--initial-cluster=default=https://127.0.0.1:2'));
  const server = { name: 'b', address: '2001:db8::2', clientPort: 2379, peerPort: 2380 };
  const cluster = ['a=https://[2001:db8::1]:2380', 'b=https://[2001:db8::2]:2380'];
  const one = etcdArguments({ ...common, settings: { ...settings, server }, initialCluster: cluster });
  for (const option of [
    'name=b',
    'listen-client-urls=https://127.0.0.1:1,https://[2001:db8::2]:2379',
    'listen-peer-urls=https://[2001:db8::2]:2380',
    'peer-client-cert-auth=true',
    `initial-cluster=${cluster.join(',')}`,
    'initial-cluster-state=existing',
  ])
    t.ok(one.includes(`--${option}`), option);
});

t.test('only the key of a server token opens sealed authorities', async (t) => {
  const token = { id: 'abcdef', secret: '0123456789abcdef', key: newServerKey() };
  t.same(parseServerToken(formatServerToken(token)), token);
  for (const text of [
    '',
    'abcdef.0123456789abcdef',
    'abcdef.0123456789abcdef.',
    'abcdef.0123456789abcdef.c2hvcnQ',
    '...',
  ])
    t.equal(parseServerToken(text), undefined, text);
  const sealed = seal('the keys', token);
  t.equal(unseal(sealed, token), 'the keys');
  t.not(seal('the keys', token), sealed, 'the nonce is random');
  t.throws(() => unseal(sealed, { ...token, key: newServerKey() }), 'another key');
  t.throws(() => unseal(sealed, { ...token, id: 'fedcba' }), 'another token');
  const changed = Buffer.from(sealed, 'base64');
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
  t.throws(() => unseal(changed.toString('base64'), token), 'changed ciphertext');
  t.throws(() => unseal('', token), /truncated/);
});

t.test('incomplete invitations are refused', async (t) => {
  for (const text of ['null', '{}', '{"settings":{},"files":{},"etcd":[]}'])
    t.throws(() => parseInvitation(text), /lacks dialect, apiPort, .*ca\.key.*etcd/, text);
});
