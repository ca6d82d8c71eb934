/** Versions that 1.24 no longer serves but still recognizes: it reports another version of the kind for them. */
import type { Dialect, GroupKey } from '#apimachinery/dialect.js';
import { parseGroupVersion } from '#apimachinery/group-version.js';

const roles = ['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'];
const accessReviews = [
  'LocalSubjectAccessReview',
  'SelfSubjectAccessReview',
  'SelfSubjectRulesReview',
  'SubjectAccessReview',
];

/** Kinds by version, for groups that still exist. */
const formerKinds: Readonly<Partial<Record<GroupKey, Readonly<Record<string, readonly string[]>>>>> = {
  admissionregistration: { v1beta1: ['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration'] },
  apps: {
    v1beta1: ['ControllerRevision', 'Deployment', 'DeploymentRollback', 'Scale', 'StatefulSet'],
    v1beta2: ['ControllerRevision', 'DaemonSet', 'Deployment', 'ReplicaSet', 'Scale', 'StatefulSet'],
  },
  authentication: { v1beta1: ['TokenReview'] },
  authorization: { v1beta1: accessReviews },
  certificates: { v1beta1: ['CertificateSigningRequest'] },
  coordination: { v1beta1: ['Lease'] },
  flowcontrol: { v1alpha1: ['FlowSchema', 'PriorityLevelConfiguration'] },
  networking: { v1beta1: ['Ingress', 'IngressClass'] },
  node: { v1alpha1: ['RuntimeClass'] },
  rbac: { v1alpha1: roles, v1beta1: roles },
  scheduling: { v1alpha1: ['PriorityClass'], v1beta1: ['PriorityClass'] },
  storage: {
    v1alpha1: ['CSIStorageCapacity', 'VolumeAttachment'],
    v1beta1: ['CSIDriver', 'CSINode', 'StorageClass', 'VolumeAttachment'],
  },
};

/** The group whose kinds moved to other groups, the same in all dialects. */
const formerGroup = 'extensions/v1beta1';
const formerGroupKinds: ReadonlySet<string> = new Set([
  'DaemonSet',
  'Deployment',
  'DeploymentRollback',
  'Ingress',
  'NetworkPolicy',
  'PodSecurityPolicy',
  'ReplicaSet',
  'Scale',
]);

/** Whether the kind existed in that version. */
export function isFormerKind(dialect: Dialect, apiVersion: string, kind: string): boolean {
  if (apiVersion === formerGroup) return formerGroupKinds.has(kind);
  const { version } = parseGroupVersion(apiVersion);
  return Object.entries(formerKinds).some(
    ([group, versions]) =>
      versions[version]?.includes(kind) === true && dialect.apiVersion(group as GroupKey, version) === apiVersion,
  );
}
