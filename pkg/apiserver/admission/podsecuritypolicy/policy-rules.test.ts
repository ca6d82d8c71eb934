/** Parts that the recorded answers of 1.24 in test/integration/apiserver/pod-security-policy do not reach. */
import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { PodSecurityPolicySpec } from '#api/policy/v1beta1/types.gen.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { applyDefaults } from '#apiserver/admission/podsecuritypolicy/apply-defaults.js';
import { podFailures } from '#apiserver/admission/podsecuritypolicy/check-pod.js';
import { Profiles } from '#apiserver/admission/podsecuritypolicy/rules/profiles.js';

const any = { rule: 'RunAsAny' };
const policy = (spec: Partial<PodSecurityPolicySpec>): PodSecurityPolicySpec => ({
  seLinux: any,
  runAsUser: any,
  supplementalGroups: any,
  fsGroup: any,
  volumes: ['*'],
  ...spec,
});
const pod = (spec: Partial<Pod['spec']>): Pod => ({
  metadata: { name: 'p' },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});

function failuresOf(spec: PodSecurityPolicySpec, checked: Pod, more: { ephemeral?: boolean; inline?: boolean } = {}) {
  const profiles = new Profiles({}, kubernetesDialect);
  const context = {
    dialect: kubernetesDialect,
    ephemeralContainers: more.ephemeral ?? true,
    inlineDrivers: more.inline ?? true,
  };
  return podFailures(spec, profiles, checked, context).map(({ field, message }) => `${field}: ${message}`);
}

t.test('ephemeral containers get defaults and are checked while their gate is on', (t) => {
  const debugged = pod({
    ephemeralContainers: [{ name: 'd', image: 'i', securityContext: { privileged: true } }],
  });
  const expected =
    'spec.ephemeralContainers[0].securityContext.privileged: Invalid value: true: Privileged containers are not allowed';
  t.strictSame(failuresOf(policy({}), debugged), [expected]);
  t.strictSame(failuresOf(policy({}), debugged, { ephemeral: false }), []);
  const own = copyJson(debugged);
  const ranges = [{ min: 5, max: 6 }];
  applyDefaults(policy({ runAsUser: { rule: 'MustRunAs', ranges } }), new Profiles({}, kubernetesDialect), own);
  t.equal(own.spec.ephemeralContainers?.[0]?.securityContext?.runAsUser, 5);
  t.end();
});

t.test('drivers count while inline volumes are on', (t) => {
  const spec = policy({ allowedCSIDrivers: [{ name: 'a.b' }] });
  const inline = pod({ volumes: [{ name: 'v', csi: { driver: 'a.c' } }] });
  const expected = 'spec.volumes[0].csi.driver: Invalid value: "a.c": Inline CSI driver is not allowed to be used';
  t.strictSame(failuresOf(spec, inline), [expected]);
  t.strictSame(failuresOf(spec, inline, { inline: false }), []);
  t.end();
});

t.test('ids beyond what doubles represent are compared exactly', (t) => {
  const [min, max] = [9_007_199_254_740_993n, 9_007_199_254_740_995n];
  const spec = policy({ fsGroup: { rule: 'MustRunAs', ranges: [{ min, max }] } });
  t.strictSame(failuresOf(spec, pod({ securityContext: { fsGroup: max } })), []);
  t.strictSame(failuresOf(spec, pod({ securityContext: { fsGroup: max + 1n } })), [
    `spec.securityContext.fsGroup: Invalid value: []int64{${max + 1n}}: group ${max + 1n} must be in the ranges: [{${min} ${max}}]`,
  ]);
  t.end();
});

t.test('nothing changes where a policy has no defaults, and the policy is not shared with pods', (t) => {
  const plain = copyJson(pod({}));
  applyDefaults(policy({}), new Profiles({}, orchDialect), plain);
  t.strictSame(plain, pod({}));
  const seLinuxOptions = { level: 's0' };
  applyDefaults(policy({ seLinux: { rule: 'MustRunAs', seLinuxOptions } }), new Profiles({}, orchDialect), plain);
  t.strictSame(plain.spec.securityContext, { seLinuxOptions });
  t.not(plain.spec.securityContext?.seLinuxOptions, seLinuxOptions);
  t.end();
});
