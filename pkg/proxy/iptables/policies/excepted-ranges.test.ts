import t from 'tap';
import { type IPBlock, parseCIDR } from '#apimachinery/net/ip.js';
import { rangesWithout } from '#proxy/iptables/policies/policy-chains.js';

const block = (text: string): IPBlock => {
  const parsed = parseCIDR(text);
  if (parsed === undefined) throw new Error(`${text} is no block`);
  return parsed;
};

t.test('ranges between exceptions', (t) => {
  const ranges = (whole: string, ...except: string[]) =>
    rangesWithout(block(whole), except.map(block)).map(({ first, last }) => `${first}-${last}`);
  t.same(ranges('10.0.0.0/8'), ['10.0.0.0-10.255.255.255']);
  t.same(ranges('10.0.0.0/8', '10.1.0.0/16', '10.0.0.5/32'), [
    '10.0.0.0-10.0.0.4',
    '10.0.0.6-10.0.255.255',
    '10.2.0.0-10.255.255.255',
  ]);
  t.same(ranges('0.0.0.0/0', '0.0.0.0/1', '255.255.255.255/32'), ['128.0.0.0-255.255.255.254'], 'at both ends');
  t.same(
    ranges('10.0.0.0/24', '10.0.0.0/25', '10.0.0.0/26', '10.0.0.64/26'),
    ['10.0.0.128-10.0.0.255'],
    'one in another',
  );
  t.same(ranges('10.0.0.0/24', '10.0.0.0/25', '10.0.0.128/25'), [], 'nothing');
  t.same(ranges('10.0.0.0/24', '10.0.0.0/8'), [], 'a wider one');
  t.same(ranges('10.0.0.0/24', '10.0.1.0/24', '9.0.0.0/8', 'fd00::/8'), ['10.0.0.0-10.0.0.255'], 'others');
  t.same(ranges('fd00::/126', 'fd00::1/128'), ['fd00::-fd00::', 'fd00::2-fd00::3']);
  t.end();
});
