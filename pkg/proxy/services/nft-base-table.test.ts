import t from 'tap';
import { servicesBaseTable } from '#proxy/services/nft-base-table.js';
import type { ProxySettings } from '#proxy/services/proxy-settings.js';

const settings: ProxySettings = {
  table: 'own',
  clusterCIDRs: { IPv4: '10.244.0.0/16' },
  masqueradeBit: 14,
  masqueradeAll: false,
  nodePortAddresses: [],
  isClusterIPInternal: false,
  isBridgeUnfiltered: false,
};

const rulesOf = (nodePortAddresses: readonly string[]) =>
  servicesBaseTable({ ...settings, nodePortAddresses }).chains.flatMap(({ rules }) => rules);
const closes = (rules: readonly string[]) =>
  rules.filter((rule) => rule.endsWith(' return') && !/^(ct|fib)/.test(rule));

t.test('the table has the name of the option', async (t) => {
  t.equal(servicesBaseTable(settings).name, 'own');
});

t.test('node ports are open at the given addresses only', async (t) => {
  const all = closes(rulesOf([]));
  const added = (ranges: readonly string[]) => closes(rulesOf(ranges)).filter((rule) => !all.includes(rule));
  t.same(added([]), [], 'without ranges at all addresses');
  t.same(
    [...new Set(added(['10.0.0.0/8', '192.0.2.0/24']))],
    ['ip daddr != { 10.0.0.0/8, 192.0.2.0/24 } return', 'meta nfproto ipv6 return'],
    'one family',
  );
  t.same(
    [...new Set(added(['10.0.0.0/8', 'fd00::/8']))],
    ['ip daddr != { 10.0.0.0/8 } return', 'ip6 daddr != { fd00::/8 } return'],
    'both families',
  );
});
