import t from 'tap';
import { nodes } from '#api/core/v1/resources.gen.js';
import { csinodes } from '#api/storage/v1/resources.gen.js';
import type { CSINode } from '#api/storage/v1/types.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { serviceUnavailable } from '#apimachinery/errors/status.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import { Drivers } from '#nodeagent/csi/driver/drivers.js';
import type { NodeService } from '#nodeagent/csi/driver/node-service.js';
import { highestSupportedVersion } from '#nodeagent/csi/driver/versions.js';
import { DriverHandler } from '#nodeagent/csi/registration/handler.js';
import { NodeObjects } from '#nodeagent/csi/registration/node-objects.js';
import { withDriver, withoutDriver } from '#nodeagent/csi/registration/node-plan.js';

t.test('the highest version 1.x counts', (t) => {
  const rows: [versions: string[], expected: string | RegExp][] = [
    [['1.0.0', '1.2.0', '1.1.0'], '1.2.0'],
    [['0.3.0', 'v1.5', '2.0.0'], '1.5'],
    [['0.3.0'], 'highest supported version reported by driver is 0.3.0, must be v1.x'],
    [
      ['2.0.0', '3.1.0'],
      'could not find a highest supported version from versions ([2.0.0 3.1.0]) reported by this driver: <nil>',
    ],
    [['nonsense'], /reported by this driver: could not parse "nonsense" as version$/],
  ];
  for (const [versions, expected] of rows) {
    let result: string;
    try {
      result = highestSupportedVersion(versions).join('.');
    } catch (error) {
      result = (error as Error).message;
    }
    if (typeof expected === 'string') t.equal(result, expected, versions.join());
    else t.match(result, expected, versions.join());
  }
  t.end();
});

/** Drivers that answer NodeGetInfo without a socket. */
class AnsweringDrivers extends Drivers {
  info = { nodeID: 'id', maxVolumes: 5, topology: { 'topology.test/zone': 'a' } as Record<string, string> };
  override operate<T>(_name: string, operation: (service: NodeService) => Promise<T>): Promise<T> {
    return operation({ info: async () => this.info } as unknown as NodeService);
  }
}

function setUp(dialect = orchDialect) {
  const clock = new VirtualClock();
  const api = new FakeApi({ dialect, clock, resources: [nodes, csinodes] });
  api.seed(nodes, { metadata: { name: 'n', uid: 'u' }, spec: {} });
  const nodeObjects = new NodeObjects({
    ...{ client: api.client, clock, random: () => 0, nodeName: 'n', log: silentLogger },
  });
  const drivers = new AnsweringDrivers({ clock });
  const pluginName = `${dialect.labelDomain}/csi`;
  const handler = new DriverHandler({
    drivers,
    nodeObjects,
    log: silentLogger,
    pluginName,
    onRegistered: () => undefined,
  });
  const plugin = (name: string, ...versions: string[]) => ({ name, endpoint: '/sock', versions });
  return { api, clock, drivers, handler, nodeObjects, plugin };
}

t.test('drivers appear in the node and in its CSINode', async (t) => {
  for (const dialect of [orchDialect, kubernetesDialect]) {
    const { api, drivers, handler, plugin } = setUp(dialect);
    await handler.register(plugin('b', '1.0.0'));
    await handler.register(plugin('a', '1.0.0'));
    const annotation = `csi.volume.${dialect.labelDomain}/nodeid`;
    t.equal(api.get(nodes, 'n')?.metadata.annotations?.[annotation], '{"a":"id","b":"id"}');
    t.equal(api.get(nodes, 'n')?.metadata.labels?.['topology.test/zone'], 'a');
    const object = api.get(csinodes, 'n');
    t.match(object?.metadata.ownerReferences, [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u' }]);
    const driver = { nodeID: 'id', topologyKeys: ['topology.test/zone'], allocatable: { count: 5 } };
    t.same(object?.spec.drivers, [
      { name: 'b', ...driver },
      { name: 'a', ...driver },
    ]);
    await handler.deregister('b');
    t.equal(api.get(nodes, 'n')?.metadata.annotations?.[annotation], '{"a":"id"}');
    await handler.deregister('a');
    t.equal(api.get(nodes, 'n')?.metadata.annotations?.[annotation], undefined);
    t.same(api.get(csinodes, 'n')?.spec.drivers, []);
    t.equal(drivers.get('a'), undefined);
  }
});

t.test('plugins that cannot be registered are refused with the texts of 1.24', async (t) => {
  const { api, drivers, handler, plugin } = setUp();
  await t.rejects(handler.validate(plugin('d')), {
    message:
      'validation failed for CSI Driver d at endpoint /sock: orch.io/csi: ValidatePlugin for CSI driver "d" failed. Plugin returned an empty list for supported versions',
  });
  await t.rejects(handler.validate(plugin('d', '0.1.0')), {
    message:
      'validation failed for CSI Driver d at endpoint /sock: orch.io/csi: ValidatePlugin for CSI driver "d" failed. None of the versions specified ["0.1.0"] are supported. err=highest supported version reported by driver is 0.1.0, must be v1.x',
  });
  await handler.register(plugin('d', '1.2.0'));
  const again =
    'orch.io/csi: RegisterPlugin for CSI driver "d" failed. Another driver with the same name is already registered with a higher supported version: "1.2.0"';
  for (const version of ['1.2.0', '1.1.0'])
    await t.rejects(handler.register(plugin('d', version)), { message: again }, version);
  await handler.register(plugin('d', '1.3.0'));
  drivers.info = { ...drivers.info, nodeID: '' };
  await t.rejects(handler.register(plugin('e', '1.0.0')), {
    message: 'error adding CSI driver node info: driverNodeID must not be empty',
  });
  t.equal(drivers.get('e'), undefined, 'the driver is not registered');
  t.same(
    api.get(csinodes, 'n')?.spec.drivers.map(({ name }) => name),
    ['d'],
  );
});

t.test('writes are tried again, and a collision of labels is told', async (t) => {
  const { api, clock, handler, drivers, plugin } = setUp();
  let failures = 2;
  api.intercept((call) => (call.verb === 'update' && failures-- > 0 ? serviceUnavailable('not now') : undefined));
  const registered = handler.register(plugin('d', '1.0.0'));
  await clock.advance(1000);
  await registered;
  t.equal(failures, -1);
  drivers.info = { nodeID: 'id', maxVolumes: 0, topology: { 'topology.test/zone': 'b' } };
  const problem =
    'detected topology value collision: driver reported "topology.test/zone":"b" but existing label is "topology.test/zone":"a"';
  const refused = t.rejects(handler.register(plugin('e', '1.0.0')), {
    message: `error updating Node object with CSI driver node info: error updating node: timed out waiting for the condition; caused by: ${problem}`,
  });
  await clock.advance(1000);
  await refused;
});

t.test('a limit of zero or less is no limit, and a huge one is cut', (t) => {
  const object = { metadata: {}, spec: { drivers: [] } };
  for (const [maxVolumes, allocatable] of [
    [0, undefined],
    [-1, undefined],
    [7, { count: 7 }],
    [2 ** 40, { count: 2 ** 31 - 1 }],
  ] as const)
    t.same(
      withDriver(object, 'd', { nodeID: 'i', maxVolumes, topology: {} })?.spec.drivers[0]?.allocatable,
      allocatable,
    );
  t.end();
});

t.test('a CSINode without drivers may have no list', (t) => {
  const info = { nodeID: 'i', maxVolumes: 0, topology: {} };
  for (const drivers of [undefined, null, []]) {
    const object = { metadata: { name: 'n' }, spec: { drivers } } as unknown as CSINode;
    t.same(withDriver(object, 'd', info)?.spec.drivers, [{ name: 'd', nodeID: 'i', topologyKeys: [] }], `${drivers}`);
    t.equal(withoutDriver(object, 'd'), undefined, `${drivers} lacks it already`);
  }
  t.end();
});
