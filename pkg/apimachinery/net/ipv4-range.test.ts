import t from 'tap';
import { formatIPv4, ipv4Number, parseIPv4Range } from '#apimachinery/net/ipv4-range.js';

t.test('ranges', (t) => {
  t.strictSame(parseIPv4Range('10.244.3.7/24'), { base: 0x0af40300, bits: 24, size: 256 });
  t.strictSame(parseIPv4Range('255.255.255.255/32'), { base: 2 ** 32 - 1, bits: 32, size: 1 });
  t.strictSame(parseIPv4Range('010.0.0.0/08'), parseIPv4Range('10.0.0.0/8'), 'leading zeros are decimals');
  for (const bad of ['', '10.0.0.0', '10.0.0.0/33', '10.0.0/8', '10.0.0.256/8', '10.0.0.0/8/8', '10.0.0.0/', '::/8']) {
    t.throws(() => parseIPv4Range(bad), new RangeError(`"${bad}" is no IPv4 range`));
  }
  t.end();
});

t.test('addresses to numbers and back', (t) => {
  for (const ip of ['0.0.0.0', '10.96.0.1', '255.255.255.255']) t.equal(formatIPv4(ipv4Number(ip) ?? -1), ip);
  t.equal(ipv4Number('x'), undefined);
  t.end();
});
