/** Kinds that are posted and answered without being stored. */
import type { Sample } from '#test/integration/apiserver/peer/samples/sample.js';

const resourceAttributes = { verb: 'list', resource: 'pods', namespace: 'default' };
const own = [
  () => ({ spec: { nonResourceAttributes: { path: '/x', verb: 'get' } } }),
  () => ({ spec: { resourceAttributes } }),
];
const full = [
  () => ({ spec: { user: 'jane', resourceAttributes } }),
  () => ({ spec: { user: 'jane', groups: ['dev'], uid: 'u', extra: { a: ['b'] }, resourceAttributes } }),
];

export const reviewSamples: readonly Sample[] = [
  {
    file: 'authentication.v1.tokenreviews',
    sizes: [() => ({ spec: { token: 'x.y.z' } }), () => ({ spec: { token: 'x', audiences: ['a'] } })],
  },
  { file: 'authorization.v1.selfsubjectaccessreviews', sizes: own },
  { file: 'authorization.v1.subjectaccessreviews', sizes: full },
  {
    file: 'authorization.v1.localsubjectaccessreviews',
    sizes: [0, 1].map((size) => (_: unknown, __: unknown, namespace: string | undefined) => ({
      metadata: { name: '' },
      spec: {
        user: 'jane',
        ...(size === 1 && { groups: ['dev'] }),
        resourceAttributes: { ...resourceAttributes, namespace },
      },
    })),
  },
  { file: 'authorization.v1.selfsubjectrulesreviews', sizes: [() => ({ spec: { namespace: 'default' } })] },
  {
    file: 'core.v1.bindings',
    sizes: [() => ({ target: { kind: 'Node', name: 'n1' } })],
  },
];
