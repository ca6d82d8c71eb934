import t from 'tap';
import type { Pod, PodSpec, Volume } from '#api/core/v1/types.gen.js';
import type { ReferencedObjects } from '#nodeagent/objects/referenced-objects.js';
import { volumePayload } from '#nodeagent/volumes/payload.js';
import type { TokenManager } from '#nodeagent/volumes/tokens.js';

const volume: Volume = {
  name: 'v',
  projected: { sources: [{ serviceAccountToken: { path: 'token' } }], defaultMode: 0o644 },
};
const sources = {
  objects: {} as ReferencedObjects,
  tokens: { get: async () => ({ token: 't', renewAt: 1 }) } as unknown as TokenManager,
  facts: { nodeName: 'n', hostIP: '', allocatable: {}, podIPs: [] },
};

const as = (runAsUser?: number) => ({
  name: 'c',
  ...(runAsUser === undefined ? {} : { securityContext: { runAsUser } }),
});

const rows: { name: string; spec: PodSpec; mode: number; user?: number }[] = [
  { name: 'no user', spec: { containers: [as()] }, mode: 0o644 },
  { name: 'one user', spec: { containers: [as(7), as(7)], initContainers: [as(7)] }, mode: 0o600, user: 7 },
  { name: 'root', spec: { containers: [as(0)] }, mode: 0o600, user: 0 },
  { name: "the pod's user", spec: { containers: [as()], securityContext: { runAsUser: 8 } }, mode: 0o600, user: 8 },
  { name: 'two users', spec: { containers: [as(7), as(8)] }, mode: 0o644 },
  { name: 'one container without a user', spec: { containers: [as(7), as()] }, mode: 0o644 },
  { name: 'an init container with another user', spec: { containers: [as(7)], initContainers: [as(8)] }, mode: 0o644 },
  { name: 'a group', spec: { containers: [as(7), as(8)], securityContext: { fsGroup: 9 } }, mode: 0o600 },
];

for (const { name, spec, mode, user } of rows) {
  t.test(`token permissions for: ${name}`, async (t) => {
    const pod: Pod = { metadata: { name: 'p', namespace: 'default', uid: 'u' }, spec };
    const payload = await volumePayload(pod, volume, sources);
    t.same(payload?.files.get('token'), { data: Buffer.from('t'), mode, ...(user === undefined ? {} : { user }) });
  });
}

t.test('missing keys are skipped or reported', async (t) => {
  const pod: Pod = { metadata: { name: 'p', namespace: 'default', uid: 'u' }, spec: { containers: [as()] } };
  const items = [{ key: 'none', path: 'file' }];
  const objects = {
    get: async (_: unknown, { name }: { name: string }) => (name === 'none' ? undefined : { metadata: {} }),
  } as unknown as ReferencedObjects;
  const read = (source: Omit<Volume, 'name'>) => volumePayload(pod, { name: 'v', ...source }, { ...sources, objects });
  const rows: [source: Omit<Volume, 'name'>, message: string][] = [
    [{ configMap: { name: 'none' } }, 'configmap "none" not found'],
    [{ secret: { secretName: 'none' } }, 'secret "none" not found'],
    [{ configMap: { name: 'c', items } }, 'configmap references non-existent config key: none'],
    [{ secret: { secretName: 's', items } }, 'references non-existent secret key: none'],
    [{ projected: { sources: [{ secret: { name: 's', items } }] } }, 'references non-existent secret key: none'],
  ];
  for (const [source, message] of rows) await t.rejects(read(source), { name: 'VolumeError', message });
  for (const name of ['none', 'c']) {
    const payload = await read({ projected: { sources: [{ configMap: { name, items, optional: true } }] } });
    t.equal(payload?.files.size, 0);
  }
});
