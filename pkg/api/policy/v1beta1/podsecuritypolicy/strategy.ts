/** What is particular to pod security policies. */

import { validatePolicyAnnotations } from '#api/policy/v1beta1/podsecuritypolicy/annotations.js';
import { validatePolicySpec } from '#api/policy/v1beta1/podsecuritypolicy/validation.js';
import { podsecuritypolicies } from '#api/policy/v1beta1/resources.gen.js';
import type { PodSecurityPolicy } from '#api/policy/v1beta1/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';

export const podSecurityPolicyStrategy: Strategy<PodSecurityPolicy> = kindStrategy<PodSecurityPolicy>(
  podsecuritypolicies,
  {
    deletionAnswer: 'object',
    validate: ({ metadata, spec }, { dialect }) => [
      ...validatePolicyAnnotations(metadata.annotations, dialect),
      ...validatePolicySpec(spec),
    ],
    cells: ({ metadata, spec }) => [
      metadata.name ?? '',
      String(spec.privileged ?? false),
      (spec.allowedCapabilities ?? []).join(','),
      spec.seLinux?.rule ?? '',
      spec.runAsUser?.rule ?? '',
      spec.fsGroup?.rule ?? '',
      spec.supplementalGroups?.rule ?? '',
      spec.readOnlyRootFilesystem ?? false,
      (spec.volumes ?? []).join(','),
    ],
  },
);
