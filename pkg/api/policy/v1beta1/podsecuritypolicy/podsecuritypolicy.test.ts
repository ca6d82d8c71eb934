import t from 'tap';
import { podSecurityPolicyStrategy as strategy } from '#api/policy/v1beta1/podsecuritypolicy/strategy.js';
import type { PodSecurityPolicy } from '#api/policy/v1beta1/types.gen.js';
import { createFailures, type Draft, testContext, withField } from '#api/testing/strategy-table.js';
import type { Draft as Mutable } from '#apimachinery/draft.js';

const base: Draft = {
  metadata: { name: 'restricted' },
  spec: {
    seLinux: { rule: 'RunAsAny' },
    runAsUser: { rule: 'MustRunAsNonRoot' },
    supplementalGroups: { rule: 'MayRunAs', ranges: [{ min: 1, max: 10 }] },
    fsGroup: { rule: 'RunAsAny' },
  },
};
const { labelDomain } = testContext.dialect;

t.test('defaults, gates and cells', async (t) => {
  const policy = withField(base, 'spec.allowedProcMountTypes', ['Unmasked']) as unknown as Mutable<PodSecurityPolicy>;
  strategy.defaults?.(policy, testContext);
  t.equal(policy.spec.allowPrivilegeEscalation, true);
  strategy.prepareForCreate?.(policy, { ...testContext, gate: () => false });
  t.notOk('allowedProcMountTypes' in policy.spec, 'the feature gate is off');
  t.same(strategy.cells?.(withField(base, 'spec.volumes', ['*']) as never, testContext), [
    'restricted',
    'false',
    '',
    'RunAsAny',
    'MustRunAsNonRoot',
    'RunAsAny',
    'MayRunAs',
    false,
    '*',
  ]);
});

t.test('pod security policies are validated as in 1.24', async (t) => {
  t.strictSame(createFailures(strategy, base), []);
  const rows: [string, unknown, (string | RegExp)[]][] = [
    [
      'spec.runAsUser',
      { rule: 'Any' },
      [
        /^spec.runAsUser.rule: Unsupported value: "Any": supported values: "MustRunAs", "MustRunAsNonRoot", "RunAsAny"$/,
      ],
    ],
    [
      'spec.runAsUser',
      { rule: 'MustRunAs', ranges: [{ min: -1, max: 1 }] },
      ['spec.runAsUser.ranges[0].min: Invalid value: -1: min cannot be negative'],
    ],
    [
      'spec.fsGroup.ranges',
      [{ min: 2, max: 1 }],
      ['spec.fsGroup.ranges[0].min: Invalid value: 2: min cannot be greater than max'],
    ],
    [
      'spec.runAsGroup',
      { rule: 'MustRunAs' },
      ['spec.runAsGroup.ranges: Invalid value: []policy.IDRange(nil): must provide at least one range'],
    ],
    [
      'spec.runAsGroup',
      { rule: 'RunAsAny', ranges: [{ min: 1, max: 1 }] },
      [/^spec.runAsGroup.ranges: Invalid value: .*: Ranges must be empty$/],
    ],
    [
      'spec.runAsGroup',
      { rule: 'X' },
      [/^spec.runAsGroup.rule: Unsupported value: "X": supported values: "MustRunAs", "RunAsAny", "MayRunAs"$/],
    ],
    ['spec.seLinux', {}, [/^spec.seLinux.rule: Unsupported value: "": supported values: "MustRunAs", "RunAsAny"$/]],
    ['spec.volumes', ['tape'], [/^spec.volumes: Unsupported value: "tape": supported values: "\*", /]],
    [
      'spec.allowedHostPaths',
      [{ pathPrefix: '/a/../b' }, {}, {}],
      [
        'spec.allowedHostPaths[0]: Invalid value: "/a/../b": must not contain \'..\'',
        'spec.allowedHostPaths[1]: Required value: is required',
      ],
    ],
    [
      'spec.allowedFlexVolumes',
      [{}],
      ['spec.allowedFlexVolumes.allowedFlexVolumes[0].driver: Required value: must specify a driver'],
    ],
    [
      'spec.allowedCSIDrivers',
      [{ name: 'a b' }],
      [/^spec.allowedCSIDrivers.allowedCSIDriver\[0\].name: Invalid value: "a b"/],
    ],
    [
      'spec.runtimeClass',
      { allowedRuntimeClassNames: ['*', 'a'] },
      [/^spec.runtimeClass.allowedRuntimeClassNames: Invalid value: .*: if '\*' is present/],
    ],
    [
      'spec.runtimeClass',
      { allowedRuntimeClassNames: ['a', 'a'], defaultRuntimeClassName: 'b' },
      [
        'spec.runtimeClass.allowedRuntimeClassNames[1]: Duplicate value: "a"',
        'spec.runtimeClass.allowedRuntimeClassNames: Required value: default "b" must be allowed',
      ],
    ],
    [
      'spec.allowedUnsafeSysctls',
      ['', 'kernel.*', 'Odd'],
      [
        /\[0\]: Invalid value: "": empty sysctl not allowed$/,
        /\[2\]: Invalid value: "Odd": must have at most 253 characters and match regex/,
      ],
    ],
    [
      'spec.allowedUnsafeSysctls',
      ['*', 'a.b'],
      ["spec.allowedUnsafeSysctls.items: Forbidden: if '*' is present, must not specify other sysctls"],
    ],
  ];
  for (const [field, value, expected] of rows)
    t.match(createFailures(strategy, withField(base, field, value)), expected, field);
});

t.test('a policy must not both allow and forbid a value', async (t) => {
  const both = withField(withField(base, 'spec.requiredDropCapabilities', ['KILL']), 'spec.allowedCapabilities', [
    'KILL',
    '*',
  ]);
  t.strictSame(createFailures(strategy, both), [
    'requiredDropCapabilities: Invalid value: []core.Capability{"KILL"}: must be empty when all capabilities are allowed by a wildcard',
    'allowedCapabilities: Invalid value: "KILL": capability is listed in allowedCapabilities and requiredDropCapabilities',
  ]);
  const escalation = withField(
    withField(base, 'spec.defaultAllowPrivilegeEscalation', true),
    'spec.allowPrivilegeEscalation',
    false,
  );
  t.match(createFailures(strategy, escalation), [
    /^spec.defaultAllowPrivilegeEscalation: Invalid value: true: Cannot set/,
  ]);
  const sysctls = (allowed: string[], forbidden: string[]) =>
    createFailures(
      strategy,
      withField(withField(base, 'spec.allowedUnsafeSysctls', allowed), 'spec.forbiddenSysctls', forbidden),
    );
  t.strictSame(sysctls(['kernel.a'], ['kernel.*']), [
    'spec.allowedUnsafeSysctls[0]: Invalid value: "kernel.a": sysctl overlaps with kernel.*',
  ]);
  t.strictSame(sysctls(['kernel.*'], ['kernel.a']), [
    'spec.forbiddenSysctls[0]: Invalid value: "kernel.a": sysctl overlaps with kernel.*',
  ]);
  t.strictSame(sysctls(['kernel.*'], ['kernel.*']), [
    'spec.allowedUnsafeSysctls[0]: Invalid value: "kernel.*": sysctl overlaps with kernel.*',
  ]);
  t.strictSame(sysctls(['a'], ['a']), ['spec.allowedUnsafeSysctls[0]: Invalid value: "a": sysctl overlaps with a']);
  t.strictSame(sysctls(['kernel.a'], ['net.*', 'kernel.ab']), []);
  const many = Array.from({ length: 50_000 }, (_, i) => `kernel.p${i}`);
  t.strictSame(
    sysctls(
      many,
      many.map((name) => `${name}x`),
    ),
    [],
    'however many there are',
  );
});

t.test('profiles in annotations', async (t) => {
  const annotated = (annotations: Record<string, string>) =>
    createFailures(strategy, withField(base, 'metadata.annotations', annotations));
  t.strictSame(
    annotated({
      [`apparmor.security.beta.${labelDomain}/allowedProfileNames`]: 'runtime/default,localhost/a',
      [`seccomp.security.alpha.${labelDomain}/allowedProfileNames`]: '*,runtime/default',
    }),
    [],
  );
  t.match(annotated({ [`apparmor.security.beta.${labelDomain}/defaultProfileName`]: 'odd' }), [
    /invalid AppArmor profile name: "odd"$/,
  ]);
  t.match(annotated({ [`seccomp.security.alpha.${labelDomain}/allowedProfileNames`]: '*,odd' }), [
    /must be a valid seccomp profile$/,
  ]);
});
