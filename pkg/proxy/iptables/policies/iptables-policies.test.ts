import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import { setText } from '#proxy/ipset/ipset.js';
import { parseListing } from '#proxy/iptables/listing.js';
import { IptablesPolicies, type PolicyCommands } from '#proxy/iptables/policies/iptables-policies.js';
import { planPod } from '#proxy/policies/policy-rules.js';
import { contextOf, samplePod, samplePolicy } from '#proxy/policies/testing/samples.js';

const where = contextOf(
  samplePolicy({
    podSelector: { matchLabels: { app: 'db' } },
    ingress: [{ from: [{ podSelector: { matchLabels: { app: 'web' } } }], ports: [{ port: 'http' }] }],
  }),
);
const database = samplePod({ app: 'db' }, { ips: ['10.0.0.1'] });
const web = (ip: string): Pod => samplePod({ app: 'web' }, { ips: [ip], nodeName: 'there' });

/** Commands without hashes and digests. */
const plain = (text = '') =>
  text
    .replaceAll(/-m comment --comment [0-9a-f]{12} /g, '')
    .replaceAll(/-[0-9a-f]{12}/g, '')
    .replaceAll(/([BIE])[0-9a-f]{12}/g, '$1')
    .split('\n')
    .slice(0, -1);

function begin(hasSets: boolean) {
  const policies = new IptablesPolicies({ families: ['IPv4', 'IPv6'], prefix: 't', hasSets });
  const contribute = (key: string, pod: Pod | undefined) =>
    policies.contribute(key, pod === undefined ? undefined : planPod(pod, where));
  policies.select(where.selections);
  contribute('shop/db', database);
  contribute('shop/web', web('10.0.1.1'));
  return { policies, contribute };
}

const chains = (commands: PolicyCommands | undefined) => plain(commands?.chains.get('IPv4'));
const sets = (commands: PolicyCommands | undefined) => commands?.sets && plain(setText(commands.sets));
const isReturned = '-m conntrack --ctstate RELATED,ESTABLISHED -j RETURN';

t.test('with sets', (t) => {
  const { contribute, policies } = begin(true);
  const first = policies.state.differences(undefined);
  t.same(sets(first), [
    'create t-p4 hash:ip family inet maxelem 1048576',
    'flush t-p4',
    'create t-p6 hash:ip family inet6 maxelem 1048576',
    'flush t-p6',
    'add t-p4 10.0.1.1',
  ]);
  t.same(chains(first), [
    '*mangle',
    ...[':t-taken - [0:0]', ':t-sent - [0:0]', ':t-I - [0:0]', ':t-B - [0:0]'],
    ...[`-A t-taken ${isReturned}`, '-A t-taken -d 10.0.0.0/28 -j t-B', `-A t-sent ${isReturned}`],
    '-A t-I -m set --match-set t-p4 src -p tcp -m tcp --dport 8080 -j RETURN',
    '-A t-I -j DROP',
    '-A t-B -d 10.0.0.1 -s 10.0.0.1 -j RETURN',
    '-A t-B -d 10.0.0.1 -g t-I',
    ...['-I FORWARD -j t-taken', '-I FORWARD -j t-sent', '-I INPUT -j t-sent', 'COMMIT'],
  ]);
  t.match(first?.chains.get('IPv6'), /--icmpv6-type 135 -j RETURN/);
  t.equal(policies.state.takeChange(), undefined);

  contribute('shop/web', web('10.0.1.1'));
  t.equal(policies.state.takeChange(), undefined, 'the same again');
  contribute('shop/web', web('10.0.1.2'));
  const moved = policies.state.takeChange();
  t.same(chains(moved), [], 'rules are unchanged');
  t.same(sets(moved), ['add t-p4 10.0.1.2', 'del t-p4 10.0.1.1']);
  contribute('shop/web-2', web('10.0.1.2'));
  t.equal(policies.state.takeChange(), undefined, 'an address of two pods');
  contribute('shop/web', undefined);
  t.equal(policies.state.takeChange(), undefined, 'and one still has');

  policies.select([]);
  for (const key of ['shop/db', 'shop/web-2']) contribute(key, undefined);
  const last = policies.state.takeChange();
  t.same(
    last?.sets?.destroyed.map((name) => name.slice(0, 4)),
    ['t-p4', 't-p6'],
  );
  t.same(
    chains(last).filter((line) => /^-[XD]/.test(line)),
    ['-X t-I', '-X t-B'],
    'what is there always stays',
  );
  t.end();
});

t.test('without sets, members are part of the rules', (t) => {
  const { contribute, policies } = begin(false);
  const of = (commands: PolicyCommands | undefined) => chains(commands).filter((line) => line.startsWith('-A t-I'));
  const rule = (ip: string) => `-A t-I -s ${ip} -p tcp -m tcp --dport 8080 -j RETURN`;
  const first = policies.state.differences(undefined);
  t.equal(first?.sets, undefined);
  t.same(of(first), [rule('10.0.1.1'), '-A t-I -j DROP']);
  contribute('shop/web-2', web('10.0.1.2'));
  const more = policies.state.takeChange();
  t.same(chains(more), ['*mangle', ':t-I - [0:0]', rule('10.0.1.1'), rule('10.0.1.2'), '-A t-I -j DROP', 'COMMIT']);
  for (const key of ['shop/web', 'shop/web-2']) contribute(key, undefined);
  t.same(of(policies.state.takeChange()), ['-A t-I -j DROP'], 'all traffic is blocked');
  t.equal(policies.state.takeChange(), undefined);
  t.end();
});

t.test('differences from the kernel', (t) => {
  const { policies } = begin(true);
  const first = policies.state.differences(undefined);
  const saved = (text = '') => parseListing(text.replaceAll(/^-I (\w+)/gm, '-A $1'), (name) => name.startsWith('t-'));
  const [pods4 = '', pods6 = ''] = first?.sets?.created.map(({ name }) => name) ?? [];
  const listed = (...members: string[]) => ({
    chains: new Map([...(first?.chains ?? [])].map(([family, text]) => [family, saved(text)] as const)),
    sets: new Map([
      [pods4, new Set(members)],
      [pods6, new Set<string>()],
    ]),
  });
  t.equal(policies.state.differences(listed('10.0.1.1')), undefined, 'a restart changes nothing');
  const sorted = policies.state.differences(listed('10.0.1.7'));
  t.same(sets(sorted), ['add t-p4 10.0.1.1', 'del t-p4 10.0.1.7'], 'addresses that changed during the restart');
  t.same(chains(sorted), []);
  t.end();
});
