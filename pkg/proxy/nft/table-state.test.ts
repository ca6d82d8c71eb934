import t from 'tap';
import { parseListing } from '#proxy/nft/listing.js';
import { type BaseTable, type Contribution, versionChain } from '#proxy/nft/table.js';
import { TableState } from '#proxy/nft/table-state.js';

const frame: BaseTable = {
  name: 't',
  version: '1',
  sets: [{ name: 'services', kind: 'map', declaration: 'type ipv4_addr : verdict;' }],
  chains: [{ name: 'start', rules: ['ip daddr vmap @services'] }],
};

const leadsTo = (key: string, chain: string): Contribution => ({
  elements: [{ set: 'services', key, data: `goto ${chain}` }],
  chains: [{ name: chain, rules: ['drop'] }],
});

const begun = () => {
  const state = new TableState(frame);
  state.contribute('a', leadsTo('10.0.0.1', 'one'));
  state.contribute('b', leadsTo('10.0.0.2', 'one'));
  state.takeChange();
  return state;
};

t.test('the cost of a change is its own size', (t) => {
  const state = begun();
  t.equal(state.takeChange(), undefined, 'nothing');
  state.contribute('b', leadsTo('10.0.0.2', 'one'));
  t.equal(state.takeChange(), undefined, 'the same again');
  state.contribute('b', leadsTo('10.0.0.2', 'two'));
  t.equal(
    state.takeChange(),
    `add chain inet t two
flush chain inet t two
add rule inet t two drop
delete element inet t services { 10.0.0.2 }
add element inet t services { 10.0.0.2 : goto two }
`,
  );
  state.contribute('b', undefined);
  t.equal(
    state.takeChange(),
    `delete element inet t services { 10.0.0.2 }
flush chain inet t two
delete chain inet t two
`,
    'what a still has stays',
  );
  t.end();
});

t.test('a reverted change gives no commands', (t) => {
  const state = begun();
  state.contribute('b', leadsTo('10.0.0.9', 'nine'));
  state.contribute('b', leadsTo('10.0.0.2', 'one'));
  t.equal(state.takeChange(), undefined);
  t.end();
});

t.test('the first owner by name wins a conflict', (t) => {
  const state = begun();
  state.contribute('c', leadsTo('10.0.0.1', 'three'));
  t.notMatch(state.takeChange(), 'element');
  state.contribute('a', undefined);
  t.match(state.takeChange(), 'add element inet t services { 10.0.0.1 : goto three }');
  state.contribute('a', leadsTo('10.0.0.1', 'one'));
  t.match(state.takeChange(), 'add element inet t services { 10.0.0.1 : goto one }');
  t.end();
});

t.test('differences from the kernel', (t) => {
  const state = begun();
  const listing = (more: readonly object[], elements: readonly unknown[]) =>
    parseListing(
      JSON.stringify({
        nftables: [
          { map: { name: 'services', elem: elements } },
          { chain: { name: versionChain(frame) } },
          { chain: { name: 'start' } },
          { rule: { chain: 'start' } },
          ...more,
        ],
      }),
    );
  const one = [{ chain: { name: 'one' } }, { rule: { chain: 'one' } }];
  const goto = (target: string) => ({ goto: { target } });
  const both = [
    ['10.0.0.1', goto('one')],
    ['10.0.0.2', goto('one')],
  ];
  t.equal(state.differences(listing(one, both)), undefined, 'it is the same');
  t.equal(
    state.differences(
      listing(
        [...one, { chain: { name: 'old' } }],
        [
          ['10.0.0.1', goto('old')],
          ['10.0.0.3', goto('old')],
        ],
      ),
    ),
    `delete element inet t services { 10.0.0.1, 10.0.0.3 }
add element inet t services { 10.0.0.1 : goto one, 10.0.0.2 : goto one }
flush chain inet t old
delete chain inet t old
`,
  );
  t.match(state.differences(undefined), /^add table inet t\n/);
  t.match(
    state.differences(parseListing('{"nftables":[]}')),
    /^delete table inet t\nadd table inet t\n/,
    'another version',
  );
  t.end();
});
