import t from 'tap';
import { validateOS } from '#api/core/v1/pod/validation/operating-system.js';
import type { PodSpec } from '#api/core/v1/types.gen.js';
import { type Draft, withField } from '#api/testing/strategy-table.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const rows: [os: string, path: string, value: unknown, field?: string][] = [
  ['linux', 'securityContext', { runAsUser: 1 }],
  ['windows', 'securityContext', { windowsOptions: {} }],
  ['windows', 'hostPID', false],
  ['linux', 'securityContext', { windowsOptions: {} }, 'securityContext.windowsOptions'],
  ['linux', 'containers.0.securityContext', { windowsOptions: {} }, 'containers[0].securityContext.windowsOptions'],
  ['windows', 'hostPID', true, 'hostPID'],
  ['windows', 'hostIPC', true, 'hostIPC'],
  ['windows', 'shareProcessNamespace', false, 'shareProcessNamespace'],
  ...['seLinuxOptions', 'seccompProfile', 'fsGroup', 'fsGroupChangePolicy', 'sysctls', 'runAsUser', 'runAsGroup'].map(
    (field): [string, string, unknown, string] => [
      'windows',
      `securityContext.${field}`,
      {},
      `securityContext.${field}`,
    ],
  ),
  ...['capabilities', 'privileged', 'allowPrivilegeEscalation', 'procMount', 'readOnlyRootFilesystem'].map(
    (field): [string, string, unknown, string] => [
      'windows',
      `containers.0.securityContext.${field}`,
      true,
      `containers[0].securityContext.${field}`,
    ],
  ),
];

t.test('fields of each system', (t) => {
  for (const [name, path, value, field] of rows) {
    const base: Draft = { os: { name }, containers: [{ name: 'c' }] };
    const spec = withField(base, path, value) as unknown as PodSpec;
    const failures = validateOS(spec, FieldPath.of('spec')).map((failure) => failure.field);
    t.strictSame(failures, field === undefined ? [] : [`spec.${field}`], `${name}: ${path}`);
  }
  t.end();
});
