import t from 'tap';
import {
  addressBytes,
  blockAround,
  blockContains,
  formatAddress,
  ipBytes,
  ipFamily,
  parseCIDR,
} from '#apimachinery/net/ip.js';

t.test('addresses and blocks are parsed as in 1.24', (t) => {
  const families: [string, 0 | 4 | 6][] = [
    ['1.2.3.4', 4],
    ['::', 6],
    ['2001:db8::1', 6],
    ['::ffff:1.2.3.4', 4],
    ['::ffff:102:304', 4],
    ['010.001.0.0009', 4],
    ['2001:000db8::00010.1.1.1', 6],
    ['1.2.3.4 ', 0],
    ['1.2.3.0x4', 0],
    ['1..3.4', 0],
    ['1.2.3.256', 0],
    ['1.2.3.99999999999999999999', 0],
    ['1:2:3:4:5:6:7::', 6],
    ['1:2:3:4:5:6:7:8::', 0],
    ['1::2::3', 0],
    ['1:2:3:4:5:6:7:', 0],
    [':1:2:3:4:5:6:7', 0],
    ['1:2:3:4:5:6:7:1.2.3.4', 0],
    ['12345::', 0],
    ['fe80::1%eth0', 0],
    ['1.2.3', 0],
    ['', 0],
  ];
  for (const [address, family] of families) t.equal(ipFamily(address), family, address);
  t.strictSame([...(ipBytes('2001:db8::1') ?? [])], [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
  t.strictSame([...(ipBytes('::1.2.3.4') ?? [])].slice(12), [1, 2, 3, 4]);
  for (const bad of ['10.0.0.0', '10.0.0.0/33', '::/129', '10.0.0.0/-1', 'x/8', ' 10.0.0.0/8', '']) {
    t.equal(parseCIDR(bad), undefined, bad);
  }
  const inside: [string, string, boolean][] = [
    ['10.0.0.0/8', '10.255.0.1', true],
    ['10.0.0.0/8', '11.0.0.1', false],
    ['10.1.2.3/31', '10.1.2.2', true],
    ['010.0.0.0/08', '10.255.0.01', true],
    ['::ffff:10.0.0.0/104', '10.1.1.1', true],
    ['::ffff:10.0.0.0/64', '::1', true],
    ['10.0.0.0/8', '::ffff:10.0.0.1', true],
    ['0.0.0.0/0', '1.2.3.4', true],
    ['0.0.0.0/0', '::1', false],
    ['fe80::/10', 'febf::1', true],
    ['fe80::/10', 'fec0::1', false],
  ];
  for (const [cidr, address, want] of inside) {
    const block = parseCIDR(cidr);
    t.equal(block !== undefined && blockContains(block, address), want, `${address} in ${cidr}`);
  }
  t.end();
});

t.test('a block around an address with a numeric prefix length', (t) => {
  t.strictSame(blockAround('10.1.2.3', 8), parseCIDR('10.0.0.0/8'));
  t.strictSame(blockAround('2001:db8::1', 128)?.base, ipBytes('2001:db8::1'));
  for (const [address, prefix] of [
    ['10.0.0.0', 33],
    ['::', 129],
    ['::', Number.NaN],
    ['x', 8],
  ] as const) {
    t.equal(blockAround(address, prefix), undefined, `${address}/${prefix}`);
  }
  t.end();
});

t.test('addresses to bytes and back', (t) => {
  for (const [ip, hex, written] of [
    ['1.2.3.4', '01020304', '1.2.3.4'],
    ['::', '0'.repeat(32), '::'],
    ['::1', `${'0'.repeat(31)}1`, '::1'],
    ['fd00::a:1', 'fd0000000000000000000000000a0001', 'fd00::a:1'],
    ['::ffff:1.2.3.4', '01020304', '1.2.3.4'],
    ['010.001.0.1', '0a010001', '10.1.0.1'],
    ['1:2:3:4:5:6:7:8', '00010002000300040005000600070008', '1:2:3:4:5:6:7:8'],
    ['1:0:0:4:0:0:0:8', '00010000000000040000000000000008', '1:0:0:4::8'],
    ['1:0:3:4:5:6:7:8', '00010000000300040005000600070008', '1:0:3:4:5:6:7:8'],
  ] as const) {
    const bytes = addressBytes(ip) ?? new Uint8Array();
    t.equal(Buffer.from(bytes).toString('hex'), hex, ip);
    t.equal(formatAddress(bytes), written, ip);
  }
  t.equal(addressBytes('nonsense'), undefined);
  t.end();
});
