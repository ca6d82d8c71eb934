import t from 'tap';
import { podStrategy } from '#api/core/v1/pod/strategy.js';
import { podTemplateStrategy } from '#api/core/v1/podtemplate/strategy.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { checkRules, type RuleRow } from '#api/testing/rule-table.js';
import {
  created,
  createFailures,
  type Draft,
  statusFailures,
  updated,
  updateFailures,
  withField,
  withGates,
} from '#api/testing/strategy-table.js';

const base: Draft = { metadata: { name: 'p', namespace: 'ns' }, spec: { containers: [{ name: 'c', image: 'i' }] } };
const annotated = (key: string, value: string): Draft => withField(base, 'metadata.annotations', { [key]: value });
const mirror = 'orch.io/config.mirror';
const cost = 'controller.orch.io/pod-deletion-cost';
const seccomp = 'seccomp.security.alpha.orch.io/pod';
const ofContainer = 'container.seccomp.security.alpha.orch.io/c';
const armor = 'container.apparmor.security.beta.orch.io/c';
const tolerations = 'scheduler.alpha.orch.io/tolerations';
const a = (key: string, value: string, ...failures: string[]): RuleRow => [
  'metadata.annotations',
  { [key]: value },
  ...failures,
];

const rows: RuleRow[] = [
  a(
    mirror,
    'x',
    'metadata.annotations[orch.io/config.mirror]: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set',
  ),
  a(cost, '-100'),
  a(cost, '0'),
  a(
    cost,
    '+1',
    'metadata.annotations[controller.orch.io/pod-deletion-cost]: Invalid value: "+1": must be a 32bit integer',
  ),
  a(
    cost,
    '08',
    'metadata.annotations[controller.orch.io/pod-deletion-cost]: Invalid value: "08": must be a 32bit integer',
  ),
  a(
    cost,
    '2147483648',
    'metadata.annotations[controller.orch.io/pod-deletion-cost]: Invalid value: "2147483648": must be a 32bit integer',
  ),
  a(
    cost,
    'much',
    'metadata.annotations[controller.orch.io/pod-deletion-cost]: Invalid value: "much": must be a 32bit integer',
  ),
  a(tolerations, '[{"key":"k","operator":"Exists"}]'),
  a(
    tolerations,
    '[{"key":"k","operator":"Is"}]',
    'metadata.annotations.scheduler.alpha.orch.io/tolerations[0].operator: Unsupported value: "Is": supported values: "Equal", "Exists"',
  ),
  a(
    tolerations,
    'none',
    'metadata.annotations: Invalid value: "scheduler.alpha.orch.io/tolerations": must be a list in JSON',
  ),
  a(seccomp, 'runtime/default'),
  a(seccomp, 'docker/default'),
  a(seccomp, 'unconfined'),
  a(seccomp, 'localhost/a'),
  a(
    seccomp,
    'localhost//a',
    'metadata.annotations.seccomp.security.alpha.orch.io/pod: Invalid value: "/a": must be a relative path',
    'spec.securityContext.seccompProfile.localhostProfile: Invalid value: "/a": must be a relative path',
  ),
  a(
    seccomp,
    'other',
    'metadata.annotations.seccomp.security.alpha.orch.io/pod: Invalid value: "other": must be a valid seccomp profile',
  ),
  a(
    ofContainer,
    'localhost/../a',
    `metadata.annotations.container.seccomp.security.alpha.orch.io/c: Invalid value: "../a": must not contain '..'`,
    `spec.containers[0].securityContext.seccompProfile.localhostProfile: Invalid value: "../a": must not contain '..'`,
  ),
  a(armor, 'runtime/default'),
  a(armor, 'localhost/p'),
  a(armor, 'unconfined'),
  a(
    armor,
    'other',
    'metadata.annotations[container.apparmor.security.beta.orch.io/c]: Invalid value: "other": invalid AppArmor profile name: "other"',
  ),
  a(
    'container.apparmor.security.beta.orch.io/x',
    'unconfined',
    'metadata.annotations[container.apparmor.security.beta.orch.io/x]: Invalid value: "x": container not found',
  ),
];

t.test('annotations of a pod', (t) => {
  checkRules(t, podStrategy, base, rows);
  const placed = withField(annotated(mirror, 'x'), 'spec.nodeName', 'n');
  t.strictSame(createFailures(podStrategy, placed), []);
  const costly = annotated(cost, 'much');
  t.strictSame(createFailures(podStrategy, costly, withGates({ PodDeletionCost: false })), []);
  t.strictSame(updateFailures(podStrategy, costly, costly), [], 'a stored violation is tolerated');
  const template: Draft = { metadata: { name: 't', namespace: 'ns' }, template: { spec: base['spec'] } };
  const inTemplate = withField(template, 'template.metadata', { annotations: { [cost]: 'much', [armor]: 'other' } });
  t.strictSame(createFailures(podTemplateStrategy, inTemplate), [
    `template.annotations[${cost}]: Invalid value: "much": must be a 32bit integer`,
    `template.annotations[${armor}]: Invalid value: "other": invalid AppArmor profile name: "other"`,
  ]);
  t.end();
});

t.test('annotations for the node agent must not change', (t) => {
  const armored = annotated(armor, 'unconfined');
  const at = `metadata.annotations[${armor}]`;
  t.strictSame(updateFailures(podStrategy, armored, armored), []);
  t.strictSame(updateFailures(podStrategy, armored, base), [
    `${at}: Forbidden: may not remove or update AppArmor annotations`,
  ]);
  t.strictSame(updateFailures(podStrategy, armored, annotated(armor, 'runtime/default')), [
    `${at}: Forbidden: may not remove or update AppArmor annotations`,
  ]);
  t.strictSame(updateFailures(podStrategy, base, armored), [`${at}: Forbidden: may not add AppArmor annotations`]);
  const placed = withField(base, 'spec.nodeName', 'n');
  const mirrored = withField(placed, 'metadata.annotations', { [mirror]: 'x' });
  t.strictSame(updateFailures(podStrategy, placed, mirrored), [
    `metadata.annotations[${mirror}]: Forbidden: may not add mirror pod annotation`,
  ]);
  t.strictSame(updateFailures(podStrategy, mirrored, placed), [
    `metadata.annotations[${mirror}]: Forbidden: may not remove or update mirror pod annotation`,
  ]);
  t.end();
});

t.test('profiles are fields and annotations', (t) => {
  const profiles: [profile: object, annotation: string][] = [
    [{ type: 'RuntimeDefault' }, 'runtime/default'],
    [{ type: 'Unconfined' }, 'unconfined'],
    [{ type: 'Localhost', localhostProfile: 'a/b' }, 'localhost/a/b'],
  ];
  for (const [seccompProfile, annotation] of profiles) {
    const field = withField(base, 'spec.securityContext', { seccompProfile });
    t.match(created(podStrategy, field).metadata.annotations, { [seccomp]: annotation });
    const text = created(podStrategy, annotated(seccomp, annotation)) as Pod;
    t.strictSame(text.spec.securityContext?.seccompProfile, seccompProfile);
    const own = withField(base, 'spec.containers.0.securityContext', { seccompProfile });
    t.match(created(podStrategy, own).metadata.annotations, { [ofContainer]: annotation });
    const ownText = created(podStrategy, annotated(ofContainer, annotation)) as Pod;
    t.strictSame(ownText.spec.containers[0]?.securityContext?.seccompProfile, seccompProfile);
  }
  const old = created(podStrategy, annotated(seccomp, 'docker/default')) as Pod;
  t.match(old.spec.securityContext?.seccompProfile, { type: 'RuntimeDefault' });
  const both = withField(annotated(seccomp, 'unconfined'), 'spec.securityContext', {
    seccompProfile: { type: 'RuntimeDefault' },
  });
  t.strictSame(createFailures(podStrategy, both), [
    'spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match',
  ]);
  const other = withField(annotated(ofContainer, 'localhost/a'), 'spec.containers.0.securityContext', {
    seccompProfile: { type: 'Localhost', localhostProfile: 'b' },
  });
  t.strictSame(createFailures(podStrategy, other), [
    'spec.containers[0].securityContext.seccompProfile.localhostProfile: Forbidden: seccomp profile in annotation and field must match',
  ]);
  t.end();
});

t.test('AppArmor profiles are dropped while their gate is off', (t) => {
  const off = withGates({ AppArmor: false });
  const armored = annotated(armor, 'unconfined');
  t.strictSame(created(podStrategy, armored, off).metadata.annotations, {});
  const stored = created(podStrategy, armored);
  t.match(updated(podStrategy, armored, stored, off).metadata.annotations, { [armor]: 'unconfined' });
  t.end();
});

t.test('the status of a pod', (t) => {
  const never = withField(base, 'spec.restartPolicy', 'OnFailure');
  const list = (state: object) => ({ ephemeralContainerStatuses: [{ name: 'e', state }] });
  const ended = { terminated: { exitCode: 1 } };
  t.strictSame(statusFailures(podStrategy, never, { old: list(ended), new: list({ running: {} }) }), [
    'status.ephemeralContainerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state',
  ]);
  const init = (state: object) => ({ initContainerStatuses: [{ name: 'a', state }] });
  t.strictSame(statusFailures(podStrategy, never, { old: init(ended), new: init({ running: {} }) }), []);
  t.match(statusFailures(podStrategy, base, { new: { conditions: [{ type: 'Ready' }, { type: '-' }] } }), [
    /^metadata.conditions\[1\].Type: Invalid value: "-": name part/,
  ]);
  t.match(statusFailures(podStrategy, base, { new: { nominatedNodeName: 'N' } }), [
    /^status.nominatedNodeName: Invalid/,
  ]);
  t.strictSame(
    statusFailures(podStrategy, base, { old: { nominatedNodeName: 'N' }, new: { nominatedNodeName: 'N' } }),
    [],
  );
  t.strictSame(statusFailures(podStrategy, base, { new: { podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }] } }), []);
  t.strictSame(statusFailures(podStrategy, base, { new: { podIPs: [{ ip: '10.0.0.1' }, { ip: '10.0.0.1' }] } }), [
    'status.podIPs: Invalid value: []core.PodIP{core.PodIP{IP:"10.0.0.1"}, core.PodIP{IP:"10.0.0.1"}}: may specify no more than one IP for each IP family',
    'status.podIPs[1]: Duplicate value: core.PodIP{IP:"10.0.0.1"}',
  ]);
  t.end();
});
