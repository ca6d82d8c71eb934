import t from 'tap';
import { nodes } from '#api/core/v1/resources.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { parseBareMetalConfig } from '#cloud/baremetal/config.js';
import { freeAddress, parseRange, poolHolds } from '#cloud/baremetal/pools.js';
import { type CloudOptions, cloudProvider } from '#cloud/registry.js';
import { OptionsError } from '#daemon/options/option.js';

const head = 'apiVersion: baremetal.config.orch.io/v1alpha1\nkind: BareMetalConfiguration\n';

function messages(text: string): readonly string[] {
  try {
    parseBareMetalConfig(text, 'f');
    return [];
  } catch (error) {
    if (error instanceof OptionsError) return error.messages;
    throw error;
  }
}

t.test('configuration errors name the field', (t) => {
  const range = 'must be a block (192.0.2.0/28), a range (192.0.2.1-192.0.2.9) or an address';
  const rows: [string, string[]][] = [
    [`${head}pools: []`, []],
    [head.replace('orch.io', 'k8s.io'), []],
    ['[]', ['f: must be an object']],
    ['kind: X', [/^f: apiVersion and kind must be baremetal.config.orch.io.v1alpha1 or .*, not undefined X$/ as never]],
    [`${head}pool: []`, ['f: unknown field "pool"']],
    [`${head}pools: [{addresses: [1.2.3.4]}]`, ['f: pools[0].name: Required value']],
    [`${head}pools: [{name: a, addresses: []}]`, ['f: pools[0].addresses: Required value: list at least one address']],
    [
      `${head}pools: [{name: a, addresses: [1.2.3, 1.2.3.9-1.2.3.4, "1.2.3.4-::1"]}]`,
      [
        `f: pools[0].addresses[0]: Invalid value: "1.2.3": ${range}`,
        `f: pools[0].addresses[1]: Invalid value: "1.2.3.9-1.2.3.4": ${range}`,
        `f: pools[0].addresses[2]: Invalid value: "1.2.3.4-::1": ${range}`,
      ],
    ],
    [
      `${head}pools: [{name: a, addresses: [10.0.0.0/24]}, {name: a, addresses: [10.0.0.9], namespaces: []}]`,
      [
        'f: pools[1].namespaces: Required value: leave it out for all namespaces',
        'f: pools[1].name: Duplicate value: "a"',
        'f: pools[1].addresses: Invalid value: overlap with those of the pool "a"',
      ],
    ],
    [
      `${head}machines: [{name: m, addresses: [x]}, {name: m}]`,
      [
        'f: machines[0].addresses[0]: Invalid value: "x": must be an IP address',
        'f: machines[1].name: Duplicate value: "m"',
      ],
    ],
    [`${head}interface: a b`, ['f: interface: Invalid value: "a b": must be the name of a network interface']],
  ];
  for (const [text, want] of rows) t.match(messages(text), want, text.replace(head, ''));
  for (const [text, want] of rows) t.equal(messages(text).length, want.length, text.replace(head, ''));
  t.end();
});

t.test('ranges include their first and last address', (t) => {
  const rows: [string, string, string][] = [
    ['192.0.2.4/30', '192.0.2.4', '192.0.2.7'],
    ['192.0.2.255-192.0.3.0', '192.0.2.255', '192.0.3.0'],
    ['2001:db8::fffe-2001:db8::1:0', '2001:db8::fffe', '2001:db8::1:0'],
    ['2001:db8::/127', '2001:db8::', '2001:db8::1'],
    ['::1', '::1', '::1'],
  ];
  for (const [text, first, last] of rows) {
    const range = parseRange(text);
    if (range === undefined) throw new TypeError(text);
    const pool = { name: 'p', ranges: [range], autoAssign: true };
    t.ok(poolHolds(pool, first), text);
    t.ok(poolHolds(pool, last), text);
    t.equal(
      freeAddress(pool, range.family, () => false),
      first,
    );
    const free = freeAddress(pool, range.family, (address) => address === first);
    t.equal(free === undefined, first === last, `${text}: ${free}`);
  }
  t.end();
});

/** The error's message. */
const refused = (options: CloudOptions): Promise<string> => cloudProvider(options).then(() => '', messageOf);

t.test('the option selects the provider, which reads its file on each call', async (t) => {
  const text = `${head}machines: [{name: a, addresses: [10.0.0.1], zone: z}, {name: b, shutdown: true}]`;
  let file = text;
  const options = {
    provider: 'bare-metal',
    configFile: 'f',
    dialect: orchDialect,
    read: async () => file,
    disabled: false,
  };
  t.equal(await cloudProvider({ ...options, provider: '' }), undefined);
  t.equal(await cloudProvider({ ...options, provider: 'external' }), undefined);
  t.match(await refused({ ...options, provider: 'constructor' }), /unknown cloud provider "constructor"/);
  t.match(await refused({ ...options, configFile: '' }), /--cloud-provider=bare-metal requires --cloud-config/);
  t.match(await refused({ ...options, disabled: true }), /built-in cloud providers are disabled/);
  await t.rejects(cloudProvider({ ...options, read: async () => 'x: 1' }), OptionsError);
  const none = await cloudProvider({ ...options, dialect: kubernetesDialect, read: async () => head });
  t.same(
    [none?.instances, none?.routes],
    [undefined, undefined],
    'without a list of machines, none is treated as gone',
  );

  const instances = (await cloudProvider(options))?.instances;
  const node = (name: string): Node => ({ ...nodes, metadata: { name }, spec: {} }) as unknown as Node;
  t.same(await Promise.all(['a', 'b', 'c'].map((name) => instances?.exists(node(name)))), [true, true, false]);
  t.same(await Promise.all(['a', 'b', 'c'].map((name) => instances?.isShutdown(node(name)))), [false, true, false]);
  t.same(await instances?.metadata(node('a')), {
    providerID: 'bare-metal://a',
    addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
    zone: 'z',
  });
  file = `${head}machines: [{name: c}]`;
  t.same(
    await Promise.all(['a', 'c'].map((name) => instances?.exists(node(name)))),
    [false, true],
    'the file is read on each call',
  );
  file = 'broken';
  await t.rejects(
    async () => void (await instances?.exists(node('c'))),
    'a malformed file is an error, not a missing machine',
  );
  file = head;
  await t.rejects(async () => void (await instances?.exists(node('c'))), /must list machines/);
});
