import t from 'tap';
import { endpoints, services } from '#api/core/v1/resources.gen.js';
import type { EndpointSubset, Endpoints, Service } from '#api/core/v1/types.gen.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import { EndpointSliceMirroringController, mirroredGroups } from '#controllers/endpointslicemirroring/controller.js';
import { Harness } from '#controllers/framework/testing/harness.js';

const namespace = 'default';
const ports = [{ port: 80 }];

t.test('addresses are mirrored by ports and family, up to a limit', (t) => {
  const shown = (subsets: EndpointSubset[], max = 10) =>
    [...mirroredGroups({ metadata: {}, subsets }, max).values()].map(
      ({ addressType, endpoints: all }) =>
        `${addressType} ${[...all.values()].map((e) => `${e.addresses[0]}${e.conditions?.ready === true ? '' : '!'}`).join(' ')}`,
    );
  t.same(shown([]), []);
  t.same(shown([{ addresses: [{ ip: '1.1.1.1' }], notReadyAddresses: [{ ip: '1.1.1.2' }], ports }]), [
    'IPv4 1.1.1.1 1.1.1.2!',
  ]);
  t.same(shown([{ addresses: [{ ip: '1.1.1.1' }, { ip: 'fd00::1' }], ports }]), ['IPv4 1.1.1.1', 'IPv6 fd00::1']);
  t.same(
    shown([
      { addresses: [{ ip: '1.1.1.1' }], ports },
      { addresses: [{ ip: '1.1.1.1' }], ports: [{ port: 81 }] },
    ]).length,
    2,
  );
  t.same(
    shown([
      { notReadyAddresses: [{ ip: '1.1.1.1' }], ports },
      { addresses: [{ ip: '1.1.1.1' }], ports },
    ]),
    ['IPv4 1.1.1.1'],
  );
  t.same(shown([{ addresses: [{ ip: '1.1.1.1' }, { ip: '1.1.1.2' }], ports }], 1), ['IPv4 1.1.1.1']);
  t.end();
});

t.test('Endpoints of services without a selector are mirrored while they exist', async (t) => {
  const harness = new Harness(t, [services, endpoints, endpointslices]);
  const { api, context } = harness;
  const seed = (name: string, service: Service['spec'] | undefined, labels: Record<string, string> = {}) => {
    if (service !== undefined) api.seed<Service>(services, { metadata: { name, namespace }, spec: service });
    const subsets = [{ addresses: [{ ip: '1.1.1.1' }], ports }];
    api.seed<Endpoints>(endpoints, { metadata: { name, namespace, labels }, subsets });
  };
  seed('manual', {}, { team: 'x' });
  seed('selecting', { selector: { a: 'b' } });
  seed('alone', undefined);
  seed('skipped', {}, { 'endpointslice.orch.io/skip-mirror': 'true' });
  await harness.start(
    new EndpointSliceMirroringController(context, { concurrency: 1, batchPeriodMs: 0, maxEndpointsPerSubset: 1000 }),
  );
  t.match(api.list(endpointslices), [
    {
      metadata: {
        labels: {
          team: 'x',
          'orch.io/service-name': 'manual',
          'endpointslice.orch.io/managed-by': 'endpointslicemirroring-controller.orch.io',
        },
        ownerReferences: [{ kind: 'Endpoints', name: 'manual' }],
      },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['1.1.1.1'], conditions: { ready: true } }],
    },
  ]);
  t.equal(api.list(endpointslices).length, 1);
  api.change<Endpoints>(endpoints, `${namespace}/manual`, (object) => {
    object.subsets = [{ notReadyAddresses: [{ ip: '1.1.1.1' }], ports }];
  });
  await harness.settled();
  t.same(
    api.list(endpointslices).map((slice) => slice.endpoints[0]?.conditions),
    [{ ready: false }],
  );
  api.takeWrites();
  await harness.advance(600_000);
  t.same(api.takeWrites(), []);
  api.remove(services, `${namespace}/manual`);
  await harness.settled();
  t.equal(api.list(endpointslices).length, 0);
});
