/** Pods with devices, CPUs and volumes. */
import type { Container, PodSpec } from '#api/core/v1/types.gen.js';
import { device } from '#test/e2e/chaos/holdings/devices.js';
import { holderVariable, pinnedVariable } from '#test/e2e/chaos/holdings/holders.js';
import { ownVolume, sharedVolume } from '#test/e2e/chaos/holdings/volumes.js';

export interface HoldingKind {
  readonly container: Partial<Container>;
  readonly spec?: Partial<PodSpec>;
}

const holder = { name: holderVariable, valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } };
const both = (amounts: Record<string, string>) => ({ requests: amounts, limits: amounts });
const pinned = { cpu: '1', memory: '32Mi' };
const devices = (count: number): HoldingKind => ({
  container: { env: [holder], resources: both({ [device]: String(count) }) },
});

export const holdingKinds: readonly HoldingKind[] = [
  devices(1),
  devices(2),
  { container: { env: [holder, { name: pinnedVariable, value: 'true' }], resources: both(pinned) } },
  {
    container: {
      env: [holder, { name: pinnedVariable, value: 'true' }],
      resources: both({ ...pinned, [device]: '1' }),
      volumeMounts: [{ name: 'own', mountPath: '/own' }],
    },
    spec: { volumes: [ownVolume] },
  },
  { container: { volumeMounts: [{ name: 'own', mountPath: '/own' }] }, spec: { volumes: [ownVolume] } },
  {
    container: {
      volumeMounts: [
        { name: 'own', mountPath: '/own' },
        { name: 'shared', mountPath: '/shared' },
      ],
    },
    spec: { volumes: [ownVolume, sharedVolume] },
  },
  { container: { volumeMounts: [{ name: 'shared', mountPath: '/shared' }] }, spec: { volumes: [sharedVolume] } },
];
