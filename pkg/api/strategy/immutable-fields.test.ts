import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { strategyFor } from '#api/strategies.js';
import { immutablePaths } from '#api/strategy/immutable-fields.js';
import { testContext } from '#api/testing/strategy-table.js';
import { orchDialect } from '#apimachinery/dialect.js';

const scheme = schemeFor(orchDialect);

/** Fields whose change release 1.24 refuses with just this message. */
const expected = [
  'apps/v1 controllerrevisions data',
  'apps/v1 daemonsets spec.selector',
  'apps/v1 deployments spec.selector',
  'apps/v1 replicasets spec.selector',
  'discovery/v1 endpointslices addressType',
  'networking/v1 ingressclasses spec.controller',
  'node/v1 runtimeclasses handler',
  'scheduling/v1 priorityclasses preemptionPolicy',
  'storage/v1 csistoragecapacities nodeTopology',
  'storage/v1 csistoragecapacities storageClassName',
  'storage/v1 storageclasses volumeBindingMode',
  'storage/v1 volumeattachments spec',
];

t.test('a change of any immutable field is refused', async (t) => {
  const declared: string[] = [];
  for (const { declaration, type } of scheme.resources.filter(
    ({ declaration: { storedAs } }) => storedAs === undefined,
  )) {
    for (const { names: path } of immutablePaths(type)) {
      const name = `${declaration.group}/${declaration.version} ${declaration.resource} ${path.join('.')}`;
      declared.push(name);
      const object = (value: string) => ({
        metadata: { name: 'a', resourceVersion: '1' },
        spec: {},
        ...path.reduceRight<object>((inner, step) => ({ [step]: inner }), value as unknown as object),
      });
      const failures = strategyFor(declaration).validateUpdate?.(object('b'), object('a'), testContext) ?? [];
      const text = /^Invalid value: .*: field is immutable$/;
      t.ok(
        failures.some(({ field, message }) => field === path.join('.') && text.test(message)),
        name,
      );
    }
  }
  t.strictSame(declared.sort(), expected);
});
