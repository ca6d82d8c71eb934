import t from 'tap';
import { type BaseChains, type Contribution, chainPrefix, digestOf, ownChains } from '#proxy/iptables/chain.js';
import { ChainState } from '#proxy/iptables/chain-state.js';
import { parseListing } from '#proxy/iptables/listing.js';

const frame: BaseChains = {
  prefix: 't',
  hooks: [{ table: 'nat', from: 'OUTPUT', to: 't-services' }],
  chains: [],
  lists: [{ table: 'nat', name: 't-services', before: [], after: ['-j RETURN'] }],
};

const hash = (n: number): string => String(n).padStart(12, '0');
const chain = (n: number, ...rules: string[]) => ({ table: 'nat', name: `t-c${hash(n)}`, rules }) as const;
const entry = (bucket: number, rule: string) => ({
  ...{ list: 't-services', bucket: `t-b${hash(bucket)}`, match: `-d 10.0.${bucket}.0/24`, rule },
});
const one: Contribution = { chains: [chain(1, '-j A')], entries: [entry(1, '-d 10.0.1.1 -j x')] };

/** The commands without digests. */
function plain(text: string | undefined): string[] {
  return (text ?? '')
    .replaceAll(/-m comment --comment [0-9a-f]{12} /g, '')
    .split('\n')
    .slice(0, -1);
}

const isOwn = ownChains('t', 'services');
const empty = parseListing('', isOwn);

t.test('the initial commands', (t) => {
  const state = new ChainState(frame);
  state.contribute('a', one);
  t.same(plain(state.differences(empty)), [
    '*nat',
    ':t-services - [0:0]',
    `:t-c${hash(1)} - [0:0]`,
    `:t-b${hash(1)} - [0:0]`,
    `-A t-services -d 10.0.1.0/24 -j t-b${hash(1)}`,
    '-A t-services -j RETURN',
    `-A t-c${hash(1)} -j A`,
    `-A t-b${hash(1)} -d 10.0.1.1 -j x`,
    '-I OUTPUT -j t-services',
    'COMMIT',
  ]);
  t.equal(state.takeChange(), undefined);
  t.end();
});

t.test('a change writes only changed chains', (t) => {
  const state = new ChainState(frame);
  state.contribute('a', one);
  state.differences(empty);
  state.contribute('a', { ...one, chains: [chain(1, '-j B', '-j C')] });
  t.same(plain(state.takeChange()), [
    '*nat',
    `:t-c${hash(1)} - [0:0]`,
    `-A t-c${hash(1)} -j B`,
    `-A t-c${hash(1)} -j C`,
    'COMMIT',
  ]);
  state.contribute('b', { chains: [], entries: [entry(1, '-d 10.0.1.2 -j y')] });
  t.same(
    plain(state.takeChange()),
    [
      '*nat',
      `:t-b${hash(1)} - [0:0]`,
      `-A t-b${hash(1)} -d 10.0.1.1 -j x`,
      `-A t-b${hash(1)} -d 10.0.1.2 -j y`,
      'COMMIT',
    ],
    'the list stays as it is',
  );
  state.contribute('b', { chains: [], entries: [entry(1, '-d 10.0.1.2 -j y')] });
  t.equal(state.takeChange(), undefined, 'the same again');
  state.contribute('b', undefined);
  state.contribute('a', undefined);
  t.same(plain(state.takeChange()), [
    '*nat',
    ':t-services - [0:0]',
    `:t-c${hash(1)} - [0:0]`,
    `:t-b${hash(1)} - [0:0]`,
    '-A t-services -j RETURN',
    `-X t-c${hash(1)}`,
    `-X t-b${hash(1)}`,
    'COMMIT',
  ]);
  t.end();
});

t.test('chains and packets of several owners', (t) => {
  const state = new ChainState(frame);
  state.contribute('b', { chains: [chain(1, '-j A')], entries: [entry(1, 'second')] });
  state.contribute('a', { chains: [chain(1, '-j A')], entries: [entry(1, 'first')] });
  const lines = plain(state.differences(empty)).filter((line) => line.startsWith(`-A t-b`));
  t.same(lines, [`-A t-b${hash(1)} first`, `-A t-b${hash(1)} second`], 'by the names of their owners');
  state.contribute('b', undefined);
  t.notMatch(state.takeChange(), /-X/, 'the chain is still wanted');
  t.end();
});

t.test('differences from the kernel', (t) => {
  const state = new ChainState(frame);
  state.contribute('a', one);
  const listed = (...more: string[]) =>
    parseListing(
      [
        ...['*nat', ':PREROUTING ACCEPT [0:0]', ':t-services - [0:0]', `:t-b${hash(1)} - [0:0]`, ':other - [0:0]'],
        ...more,
        '-A OUTPUT -j t-services',
        `-A t-services -d 10.0.1.0/24 -m comment --comment ${digestOf([`-d 10.0.1.0/24 -j t-b${hash(1)}`, '-j RETURN'])} -j x`,
        '-A t-services -j RETURN',
        `-A t-b${hash(1)} -d 10.0.1.1/32 -m comment --comment "${digestOf(['-d 10.0.1.1 -j x'])}" -j x`,
        'COMMIT',
        '*filter',
        'COMMIT',
      ].join('\n'),
      isOwn,
    );
  const mine = [`:t-c${hash(1)} - [0:0]`, `-A t-c${hash(1)} -m comment --comment ${digestOf(['-j A'])} -j A`];
  t.equal(state.differences(listed(...mine)), undefined, 'it is the same');
  t.same(
    plain(
      state.differences(listed(...mine, `-A t-c${hash(1)} -j B`, `:t-c${hash(2)} - [0:0]`, '-A INPUT -j t-services')),
    ),
    [
      ...['*nat', `:t-c${hash(1)} - [0:0]`, `:t-c${hash(2)} - [0:0]`],
      ...[`-A t-c${hash(1)} -j A`, '-D INPUT -j t-services', `-X t-c${hash(2)}`, 'COMMIT'],
    ],
    'one has more rules, and one is not ours any more',
  );
  t.end();
});

t.test('chain names', (t) => {
  t.equal(chainPrefix('orch-0123abcd'), 'orch-0123abcd');
  t.match(chainPrefix('a-name-that-is-too-long'), /^t[0-9a-f]{12}$/);
  t.ok(isOwn('t-services'));
  t.ok(isOwn(`t-c${hash(1)}`));
  t.notOk(isOwn('t-a-services'), 'a chain of a longer prefix');
  t.notOk(isOwn('services'));
  const isOfPolicies = ownChains('t', 'policies');
  for (const name of ['t-sent', `t-E${hash(1)}`]) {
    t.ok(isOfPolicies(name));
    t.notOk(isOwn(name), 'chains of policies do not belong to services');
  }
  for (const name of ['t-services', `t-c${hash(1)}`])
    t.notOk(isOfPolicies(name), 'chains of services do not belong to policies');
  t.end();
});
