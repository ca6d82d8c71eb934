import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Chain } from '#proxy/iptables/chain.js';
import { ownSets, type PolicyChainContext, podChains } from '#proxy/iptables/policies/policy-chains.js';
import type { Direction } from '#proxy/policies/model.js';
import { type PolicyContext, planPod } from '#proxy/policies/policy-rules.js';
import { contextOf, samplePod, samplePolicy } from '#proxy/policies/testing/samples.js';
import type { Family } from '#proxy/services/proxy-settings.js';

/** Only equal policies have equal hashes. */
const plain = (text: string) => text.replaceAll(/-[0-9a-f]{12}/g, '').replaceAll(/([BIE])[0-9a-f]{12}/g, '$1');

function planned(subject: Pod, where: PolicyContext, more: Partial<PolicyChainContext> = {}) {
  const plan = planPod(subject, where);
  if (plan === undefined) return { chains: [], entries: [] };
  return podChains(plan, { family: 'IPv4', prefix: 't', members: undefined, ...more });
}

function rules(subject: Pod, where: PolicyContext, direction: Direction, more: Partial<PolicyChainContext> = {}) {
  const letter = direction === 'ingress' ? 'I' : 'E';
  const { chains } = planned(subject, where, more);
  return chains.find(({ name }: Chain) => name.startsWith(`t-${letter}`))?.rules.map(plain);
}

t.test('an isolated pod', (t) => {
  const where = contextOf(samplePolicy({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] }));
  const subject = samplePod({}, { ips: ['10.0.0.21', 'fd00::21'] });
  const entries = (family: Family) =>
    planned(subject, where, { family }).entries.map(({ list, match, rule }) => plain(`${list} ${match}: ${rule}`));
  t.same(entries('IPv4'), [
    't-taken -d 10.0.0.16/28: -d 10.0.0.21 -s 10.0.0.21 -j RETURN',
    't-taken -d 10.0.0.16/28: -d 10.0.0.21 -g t-I',
    't-sent -s 10.0.0.16/28: -s 10.0.0.21 -d 10.0.0.21 -j RETURN',
    't-sent -s 10.0.0.16/28: -s 10.0.0.21 -g t-E',
  ]);
  t.equal(entries('IPv6')[1], 't-taken -d fd00::20/124: -d fd00::21 -g t-I');
  t.same(rules(subject, where, 'ingress'), ['-j DROP']);
  t.same(rules(subject, where, 'egress'), ['-j DROP']);
  t.same(planned(samplePod({}, { nodeName: 'there' }), where), { chains: [], entries: [] }, 'a pod of another node');
  t.same(planned(samplePod({}), where, { family: 'IPv6' }), { chains: [], entries: [] }, 'no address of the family');
  const ingressOnly = contextOf(samplePolicy({ podSelector: {} }));
  t.equal(rules(subject, ingressOnly, 'egress'), undefined, 'a direction without policies is unrestricted');
  t.end();
});

const ingress = contextOf(
  samplePolicy({
    podSelector: {},
    ingress: [
      { from: [{ podSelector: { matchLabels: { app: 'web' } } }], ports: [{ port: 'http' }, { port: 'none' }] },
      {
        from: [{ ipBlock: { cidr: '192.0.2.0/24', except: ['192.0.2.128/26'] } }, { ipBlock: { cidr: 'fd00::/64' } }],
        ports: [{ port: 53, protocol: 'UDP' }, { port: 8000, endPort: 8100 }, { protocol: 'SCTP' }],
      },
      { ports: [{ port: 132, protocol: 'SCTP' }] },
    ],
  }),
);

t.test('ingress', (t) => {
  t.same(rules(samplePod({}), ingress, 'ingress'), [
    '-m iprange --src-range 192.0.2.0-192.0.2.127 -p sctp -j RETURN',
    '-m iprange --src-range 192.0.2.0-192.0.2.127 -p tcp -m tcp --dport 8000:8100 -j RETURN',
    '-m iprange --src-range 192.0.2.0-192.0.2.127 -p udp -m udp --dport 53 -j RETURN',
    '-m iprange --src-range 192.0.2.192-192.0.2.255 -p sctp -j RETURN',
    '-m iprange --src-range 192.0.2.192-192.0.2.255 -p tcp -m tcp --dport 8000:8100 -j RETURN',
    '-m iprange --src-range 192.0.2.192-192.0.2.255 -p udp -m udp --dport 53 -j RETURN',
    '-m set --match-set t-p4 src -p tcp -m tcp --dport 8080 -j RETURN',
    '-p sctp -m sctp --dport 132 -j RETURN',
    '-j DROP',
  ]);
  t.same(rules(samplePod({}, { ips: ['fd00::1'] }), ingress, 'ingress', { family: 'IPv6' }), [
    '-m set --match-set t-p6 src -p tcp -m tcp --dport 8080 -j RETURN',
    '-p sctp -m sctp --dport 132 -j RETURN',
    '-s fd00::/64 -p sctp -j RETURN',
    '-s fd00::/64 -p tcp -m tcp --dport 8000:8100 -j RETURN',
    '-s fd00::/64 -p udp -m udp --dport 53 -j RETURN',
    '-j DROP',
  ]);
  t.end();
});

t.test('egress to named ports', (t) => {
  const where = contextOf(
    samplePolicy({
      podSelector: {},
      policyTypes: ['Egress'],
      egress: [
        { to: [{ podSelector: {} }], ports: [{ port: 'http' }, { port: 443 }] },
        { to: [{ namespaceSelector: {} }] },
      ],
    }),
  );
  t.same(rules(samplePod({}), where, 'egress'), [
    '-m set --match-set t-n4 dst,dst -j RETURN',
    '-m set --match-set t-p4 dst -j RETURN',
    '-m set --match-set t-p4 dst -p tcp -m tcp --dport 443 -j RETURN',
    '-j DROP',
  ]);
  const members = (set: string) => (set.startsWith('t-n') ? ['10.0.0.9,tcp:8080'] : ['10.0.0.9', '10.0.0.8']);
  t.same(
    rules(samplePod({}), where, 'egress', { members }),
    [
      '-d 10.0.0.8 -j RETURN',
      '-d 10.0.0.8 -p tcp -m tcp --dport 443 -j RETURN',
      '-d 10.0.0.9 -j RETURN',
      '-d 10.0.0.9 -p tcp -m tcp --dport 443 -j RETURN',
      '-d 10.0.0.9 -p tcp -m tcp --dport 8080 -j RETURN',
      '-j DROP',
    ],
    'where the kernel has no sets',
  );
  t.end();
});

t.test('equal policies share chains, whatever they select', (t) => {
  const name = (more: Partial<PolicyChainContext>) => planned(samplePod({}), ingress, more).chains[0]?.name;
  t.equal(name({}), name({ members: () => ['10.0.0.9'] }));
  t.match(name({}), /^t-I[0-9a-f]{12}$/);
  t.not(name({}), planned(samplePod({}), contextOf(samplePolicy({ podSelector: {} }))).chains[0]?.name);
  t.end();
});

t.test('names of sets', (t) => {
  const isOwn = ownSets('orch-0123abcd');
  t.ok(isOwn('orch-0123abcd-p4-0123456789ab'));
  for (const other of ['orch-0123abcd-p4', 'orch-0123abcd-x-p4-0123456789ab', 'p4-0123456789ab']) t.notOk(isOwn(other));
  t.end();
});
