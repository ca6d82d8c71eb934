import t from 'tap';
import type { ClusterSettings } from '#cmd/orch/context/settings.js';
import { parseInvitation } from '#cmd/orch/members/invitation.js';
import { initialCluster, leavesBeforeItStops, membershipStep } from '#cmd/orch/members/plan.js';
import { formatServerToken, newServerKey, parseServerToken, seal, unseal } from '#cmd/orch/members/server-token.js';
import { etcdArguments } from '#cmd/orch/process/etcd.js';
import type { EtcdMember } from '#etcd-admin/admin.js';

function member(name: string, place: number, more: Partial<EtcdMember> = {}): EtcdMember {
  const at = (port: number) => [`https://192.0.2.${place}:${port}`];
  return { id: String(place), name, clientURLs: at(2379), peerURLs: at(2380), isLearner: false, ...more };
}

t.test('a machine becomes a member', async (t) => {
  const [a, b] = [member('a', 1), member('b', 2)];
  const self = { name: 'c', peerURL: 'https://192.0.2.3:2380' };
  t.same(membershipStep({ members: [a, b], ...self }), { type: 'add' });
  const dead = member('c', 9);
  t.same(
    membershipStep({ members: [a, b, dead], ...self }),
    { type: 'remove', id: '9' },
    'one of its name is replaced',
  );
  const unborn = member('', 3, { isLearner: true, clientURLs: [] });
  const seen = { members: [a, unborn], ...self };
  t.same(membershipStep(seen), { type: 'remove', id: '3' }, 'what an interrupted try has left');
  t.same(initialCluster(seen.members, seen), ['a=https://192.0.2.1:2380', 'c=https://192.0.2.3:2380']);
  t.ok(leavesBeforeItStops([a, b]), 'two are both needed to agree on it');
  t.ok(leavesBeforeItStops([a, b, unborn]), 'a learner has no vote');
  t.notOk(leavesBeforeItStops([a, b, dead]));
});

t.test('etcd is told who it is', async (t) => {
  const tls = { caFile: 'ca', certFile: 'cert', keyFile: 'key' };
  const settings: Pick<ClusterSettings, 'etcdClientPort' | 'etcdPeerPort'> = { etcdClientPort: 1, etcdPeerPort: 2 };
  const given = { dataDir: 'd', tls, metricsPort: 3, initialCluster: undefined };
  const alone = etcdArguments({ ...given, settings });
  t.ok(alone.includes('--listen-peer-urls=https://127.0.0.1:2'), 'one that is alone can be reached from here only');
  t.ok(alone.includes('--initial-cluster=default=https://127.0.0.1:2'));
  const server = { name: 'b', address: '2001:db8::2', clientPort: 2379, peerPort: 2380 };
  const cluster = ['a=https://[2001:db8::1]:2380', 'b=https://[2001:db8::2]:2380'];
  const one = etcdArguments({ ...given, settings: { ...settings, server }, initialCluster: cluster });
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

t.test('what only a server may read', async (t) => {
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
  t.not(seal('the keys', token), sealed, 'each time otherwise');
  t.throws(() => unseal(sealed, { ...token, key: newServerKey() }), 'another key');
  t.throws(() => unseal(sealed, { ...token, id: 'fedcba' }), 'for another token');
  const changed = Buffer.from(sealed, 'base64');
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
  t.throws(() => unseal(changed.toString('base64'), token), 'changed on its way');
  t.throws(() => unseal('', token), /cut off/);
});

t.test('invitations that say too little', async (t) => {
  for (const text of ['null', '{}', '{"settings":{},"files":{},"etcd":[]}'])
    t.throws(() => parseInvitation(text), /lacks dialect, apiPort, .*ca\.key.*etcd/, text);
});
