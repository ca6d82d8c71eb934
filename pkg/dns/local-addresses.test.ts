/** Addresses of DNS servers on the loopback interface. */
import t from 'tap';
import { LocalAddresses } from '#dns/local-addresses.js';

/** A fake of ip(8): interfaces and their addresses. */
function fakeIp(links: Map<string, string[]>) {
  return async (_: string, args: readonly string[]): Promise<string> => {
    const [object, verb, address = ''] = args;
    const link = args[args.indexOf('dev') + 1] ?? '';
    if (object === '-oneline') {
      const shown = [...links].filter(([name]) => !args.includes('dev') || name === link);
      return shown.flatMap(([name, all], i) => all.map((one) => `${i}: ${name}    inet ${one} scope host`)).join('\n');
    }
    const addresses = links.get(link) ?? [];
    if (verb === 'add' && addresses.includes(address))
      throw Object.assign(new Error('ip'), { stderr: 'RTNETLINK answers: File exists' });
    links.set(link, verb === 'add' ? [...addresses, address] : addresses.filter((one) => one !== address));
    return '';
  };
}

t.test('addresses are added and removed', async (t) => {
  const links = new Map([
    ['lo', ['127.0.0.1/8']],
    ['eth0', ['192.0.2.7/24', '169.254.20.10/32']],
  ]);
  const addresses = new LocalAddresses(fakeIp(links));
  await addresses.ensure('192.0.2.7');
  t.equal(links.get('lo')?.length, 1, 'an existing address is not added');
  t.equal(
    await addresses.claim(['169.254.20.10', '169.254.20.11']),
    '169.254.20.11',
    'addresses in use are not claimed',
  );
  t.equal(await addresses.claim(['169.254.20.10', '169.254.20.11']), undefined);
  await addresses.ensure('fd00::12');
  t.same(links.get('lo'), ['127.0.0.1/8', '169.254.20.11/32', 'fd00::12/128']);
  for (const address of ['192.0.2.7', '169.254.20.11', '169.254.20.11']) await addresses.release(address);
  t.ok(await addresses.has('192.0.2.7'), 'other interfaces keep their addresses');
  t.notOk(await addresses.has('169.254.20.11'));
});

t.test('only one of two concurrent claims gets an address', async (t) => {
  const ip = fakeIp(new Map([['lo', []]]));
  const first = new LocalAddresses(ip);
  const second = new LocalAddresses(async (program, args) => (args[0] === '-oneline' ? '' : ip(program, args)));
  t.same(
    [await first.claim(['169.254.20.10']), await second.claim(['169.254.20.10', '169.254.20.11'])],
    ['169.254.20.10', '169.254.20.11'],
  );
});
