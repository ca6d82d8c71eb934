import t from 'tap';
import { configmaps, pods } from '#api/core/v1/resources.gen.js';
import type { AdmissionPlugin } from '#apiserver/admission/admission.js';
import { runAdmission } from '#apiserver/registry/admit.js';

t.test('plugins handle only their own resources', async (t) => {
  const called: string[] = [];
  const plugin = (name: string, resources?: AdmissionPlugin['resources']): AdmissionPlugin => ({
    name,
    ...(resources && { resources }),
    handles: ({ resource }) => {
      called.push(`${name} ${resource.resource}`);
      return false;
    },
  });
  const registry = {
    admission: {
      plugins: [plugin('all'), plugin('pods', [pods]), plugin('neither', [{ group: 'apps', resource: 'pods' }])],
      metrics: { plugin: () => undefined, step: () => undefined },
    },
    clock: { monotonic: () => 0 },
  };
  for (const declaration of [pods, configmaps, pods]) {
    const subject = { registry, context: { user: { name: 'a' } }, resource: { declaration } } as never;
    const call = { operation: 'CREATE', subresource: '', namespace: 'a', name: 'b', dryRun: false } as const;
    await runAdmission('admit', subject, call);
  }
  t.strictSame(called, ['all pods', 'pods pods', 'all configmaps', 'all pods', 'pods pods']);
});
