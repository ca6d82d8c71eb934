import t from 'tap';
import { isProxyable, sameAddress, specialRange } from '#apimachinery/net/special-ip.js';

t.test('special addresses are recognized in any spelling', async (t) => {
  for (const [address, range] of [
    ['127.0.0.1', 'loopback'],
    ['127.255.1.2', 'loopback'],
    ['::1', 'loopback'],
    ['0::1', 'loopback'],
    ['0:0:0:0:0:0:0:1', 'loopback'],
    ['::0.0.0.1', 'loopback'],
    ['::ffff:7f00:1', 'loopback'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['0:0:0:0:0:FFFF:7F12:1', 'loopback'],
    ['0.0.0.0', 'unspecified'],
    ['::', 'unspecified'],
    ['::0', 'unspecified'],
    ['::ffff:0.0.0.0', 'unspecified'],
    ['169.254.169.254', 'linkLocal'],
    ['::ffff:a9fe:a9fe', 'linkLocal'],
    ['fe80::1', 'linkLocal'],
    ['FEBF::1', 'linkLocal'],
    ['224.0.0.251', 'linkLocalMulticast'],
    ['ff02::1', 'linkLocalMulticast'],
    ['239.1.2.3', 'otherMulticast'],
    ['ff05::2', 'otherMulticast'],
    ['255.255.255.255', 'broadcast'],
  ] as const) {
    t.equal(specialRange(address), range, address);
    t.notOk(isProxyable(address), address);
  }
});

t.test('addresses of single machines are not special', async (t) => {
  const plain = ['10.0.0.1', '192.168.1.1', '128.0.0.1', '170.254.0.1', '::ffff:10.0.0.1', '2001:db8::1', 'fd00::1'];
  for (const address of plain) {
    t.equal(specialRange(address), undefined, address);
    t.ok(isProxyable(address), address);
  }
});

t.test('IPv4 embedded in IPv6 is judged as IPv4', async (t) => {
  t.notOk(isProxyable('0.0.0.1'), 'this network');
  for (const address of ['::127.0.0.1', '::7f00:1', '64:ff9b::127.0.0.1', '64:ff9b::a9fe:a9fe']) {
    t.notOk(isProxyable(address), address);
  }
  t.ok(isProxyable('64:ff9b::10.0.0.1'));
});

t.test('invalid addresses have no range', async (t) => {
  for (const text of [
    '',
    'localhost',
    '127.1',
    '0x7f.0.0.1',
    '2130706433',
    'fe80::1%eth0',
    '::1%lo',
    '127.0.0.1:80',
    '[::1]',
  ]) {
    t.equal(specialRange(text), undefined, text);
    t.notOk(isProxyable(text), text);
  }
});

t.test('two spellings of an address are the same', async (t) => {
  t.ok(sameAddress('10.0.0.1', '::ffff:a00:1'));
  t.ok(sameAddress('2001:db8::1', '2001:DB8:0:0::1'));
  t.notOk(sameAddress('10.0.0.1', '10.0.0.2'));
  t.notOk(sameAddress('localhost', 'localhost'), 'a name is none');
});
