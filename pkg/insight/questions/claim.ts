/** Why a volume claim is not bound. */
import { persistentvolumeclaims, persistentvolumes, pods } from '#api/core/v1/resources.gen.js';
import type { PersistentVolumeClaim, Pod } from '#api/core/v1/types.gen.js';
import { storageclasses } from '#api/storage/v1/resources.gen.js';
import type { StorageClass } from '#api/storage/v1/types.gen.js';
import type { Finding, Subject } from '#insight/inquiry/finding.js';
import type { Inquiry } from '#insight/inquiry/inquiry.js';
import {
  ageMs,
  counted,
  eventEvidence,
  finding,
  isDeleted,
  namespaceFlag,
  specEvidence,
  statusEvidence,
  subjectOf,
} from '#insight/questions/parts.js';
import { whyTerminating } from '#insight/questions/termination.js';

/** A provisioner may take this long. */
const provisioningMs = 30_000;

export async function whyClaim(inquiry: Inquiry, claim: PersistentVolumeClaim): Promise<readonly Finding[]> {
  const subject = subjectOf('PersistentVolumeClaim', claim);
  if (isDeleted(claim)) return claimTermination(inquiry, claim, subject);
  const phase = claim.status?.phase ?? 'Pending';
  if (phase === 'Lost') return [await lost(inquiry, claim, subject)];
  if (phase === 'Bound') return [];
  const volumeName = claim.spec.volumeName ?? '';
  if (volumeName !== '') return volumeFindings(inquiry, claim, subject, volumeName);
  const className = claim.spec.storageClassName;
  if (className === undefined) return withoutClass(inquiry, subject);
  if (className === '') return noVolume(inquiry, claim, subject);
  const storageClass = await inquiry.get(storageclasses, className);
  if (storageClass.state === 'absent')
    return [
      finding({
        subject,
        reason: 'StorageClassMissing',
        summary: `StorageClass ${className} does not exist.`,
        evidence: [specEvidence('spec.storageClassName', className)],
        remedies: [
          { action: 'Create the class, or create the claim anew with one that exists.', command: 'get storageclasses' },
        ],
      }),
    ];
  if (storageClass.state === 'unreadable') return [];
  return ofClass(inquiry, claim, subject, storageClass.object);
}

/** The provisioner's last word, if it failed. */
async function ofClass(
  inquiry: Inquiry,
  claim: PersistentVolumeClaim,
  subject: Subject,
  { metadata: { name: className = '' }, provisioner, volumeBindingMode }: StorageClass,
): Promise<readonly Finding[]> {
  const events = await inquiry.events(subject);
  const failure = events.find(({ reason }) => reason === 'ProvisioningFailed');
  if (failure !== undefined)
    return [
      finding({
        subject,
        reason: 'ProvisioningFailed',
        summary: `Provisioner ${provisioner} of StorageClass ${className} could not create the volume.`,
        evidence: [eventEvidence(failure)],
        remedies: [{ action: `The log of ${provisioner} says more.` }],
      }),
    ];
  if (provisioner.endsWith('/no-provisioner')) return noVolume(inquiry, claim, subject);
  const isSelected = Object.keys(claim.metadata.annotations ?? {}).some((key) => key.endsWith('/selected-node'));
  if (volumeBindingMode === 'WaitForFirstConsumer' && !isSelected) {
    const users = await usersOf(inquiry, claim);
    if (users === undefined || users.length > 0) return [];
    return [
      finding({
        subject,
        reason: 'WaitsForFirstPod',
        summary: `The claim is bound once a pod uses it, as StorageClass ${className} says.`,
        evidence: [specEvidence('volumeBindingMode', volumeBindingMode, { kind: 'StorageClass', name: className })],
        remedies: [{ action: 'Create a pod that uses the claim.' }],
      }),
    ];
  }
  if (ageMs(claim.metadata.creationTimestamp, inquiry.nowMs) < provisioningMs) return [];
  return [
    finding({
      subject,
      reason: 'ProvisionerSilent',
      summary: `Provisioner ${provisioner} of StorageClass ${className} has not answered.`,
      evidence: events.slice(0, 1).map(eventEvidence),
      remedies: [{ action: `Check that ${provisioner} runs in this cluster.` }],
    }),
  ];
}

async function withoutClass(inquiry: Inquiry, subject: Subject): Promise<readonly Finding[]> {
  const classes = await inquiry.list(storageclasses, {});
  if (classes === undefined) return [];
  const names = classes.map(({ metadata }) => metadata.name ?? '');
  return [
    finding({
      subject,
      reason: 'NoDefaultStorageClass',
      summary: 'The claim names no StorageClass, and no class was the default when it was created.',
      evidence: [specEvidence('spec.storageClassName', 'not set')],
      remedies: [
        names.length === 0
          ? { action: 'Create a StorageClass, and then the claim anew with its name.' }
          : { action: `Create the claim anew with one of the classes: ${names.join(', ')}.` },
      ],
    }),
  ];
}

async function noVolume(inquiry: Inquiry, claim: PersistentVolumeClaim, subject: Subject): Promise<readonly Finding[]> {
  const volumes = await inquiry.list(persistentvolumes, {});
  if (volumes === undefined) return [];
  const className = claim.spec.storageClassName ?? '';
  const same = volumes.filter(({ spec }) => (spec?.storageClassName ?? '') === className);
  const free = same.filter(({ status }) => status?.phase === 'Available');
  const released = same.filter(({ status }) => status?.phase === 'Released');
  const size = claim.spec.resources?.requests?.['storage'] ?? '';
  const modes = (claim.spec.accessModes ?? []).join(', ');
  return [
    finding({
      subject,
      reason: 'NoMatchingVolume',
      summary:
        free.length === 0
          ? 'No PersistentVolume of this class is free.'
          : 'No free PersistentVolume has the size, the access modes and the labels of the claim.',
      evidence: [
        specEvidence('spec.resources.requests.storage', size),
        specEvidence('spec.accessModes', modes),
        ...free.slice(0, 3).map((volume) => {
          const { capacity = {}, accessModes = [] } = volume.spec ?? {};
          return specEvidence(
            'spec',
            `${capacity['storage'] ?? ''} ${accessModes.join(', ')}`,
            subjectOf('PersistentVolume', volume),
          );
        }),
        ...(released.length === 0
          ? []
          : [
              statusEvidence(
                'status.phase',
                'Released',
                subjectOf('PersistentVolume', released[0] as (typeof released)[0]),
              ),
            ]),
      ],
      remedies: [
        { action: 'Create a PersistentVolume that matches, or change the claim.' },
        ...(released.length === 0
          ? []
          : [
              {
                action: `Free ${counted(released.length, 'released volume')} by removing spec.claimRef, if its data is not needed.`,
              },
            ]),
      ],
    }),
  ];
}

async function volumeFindings(
  inquiry: Inquiry,
  claim: PersistentVolumeClaim,
  subject: Subject,
  name: string,
): Promise<readonly Finding[]> {
  const volume = await inquiry.get(persistentvolumes, name);
  if (volume.state === 'unreadable') return [];
  const of = { kind: 'PersistentVolume', name };
  if (volume.state === 'absent')
    return [
      finding({
        subject,
        reason: 'VolumeMissing',
        summary: `PersistentVolume ${name} does not exist.`,
        evidence: [specEvidence('spec.volumeName', name)],
        remedies: [{ action: 'Create the volume, or create the claim anew without volumeName.' }],
      }),
    ];
  const { claimRef } = volume.object.spec ?? {};
  const isOther =
    claimRef !== undefined &&
    (claimRef.name !== claim.metadata.name ||
      claimRef.namespace !== claim.metadata.namespace ||
      ((claimRef.uid ?? '') !== '' && claimRef.uid !== claim.metadata.uid));
  if (!isOther) return [];
  return [
    finding({
      subject,
      reason: 'VolumeTaken',
      summary: `PersistentVolume ${name} belongs to another claim.`,
      evidence: [specEvidence('spec.claimRef', `${claimRef.namespace ?? ''}/${claimRef.name ?? ''}`, of)],
      remedies: [{ action: 'Choose another volume, or remove spec.claimRef of this one if the other claim is gone.' }],
    }),
  ];
}

async function lost(inquiry: Inquiry, claim: PersistentVolumeClaim, subject: Subject): Promise<Finding> {
  const name = claim.spec.volumeName ?? '';
  const volume = await inquiry.get(persistentvolumes, name);
  return finding({
    subject,
    reason: 'VolumeLost',
    summary:
      volume.state === 'absent'
        ? `PersistentVolume ${name} was deleted while the claim was bound to it.`
        : `The claim has lost PersistentVolume ${name}.`,
    evidence: [statusEvidence('status.phase', 'Lost')],
    remedies: [
      { action: 'Restore the volume object, or delete the claim and create it anew; the data is not reachable by it.' },
    ],
  });
}

async function claimTermination(
  inquiry: Inquiry,
  claim: PersistentVolumeClaim,
  subject: Subject,
): Promise<readonly Finding[]> {
  const users = (await usersOf(inquiry, claim)) ?? [];
  const isProtected = (claim.metadata.finalizers ?? []).some((each) => each.endsWith('/pvc-protection'));
  if (!isProtected || users.length === 0) return whyTerminating(inquiry, claim, 'PersistentVolumeClaim');
  const names = users.map(({ metadata }) => metadata.name ?? '');
  return [
    finding({
      subject,
      reason: 'ClaimInUse',
      summary: `The claim is deleted once ${counted(users.length, 'pod')} no longer ${users.length === 1 ? 'uses' : 'use'} it.`,
      evidence: names.slice(0, 5).map((name) => ({ source: 'spec', at: 'spec.volumes', text: name })),
      remedies: [
        { action: 'Delete these pods.', command: `delete pod ${names.slice(0, 5).join(' ')}${namespaceFlag(subject)}` },
      ],
    }),
  ];
}

/** Pods that have not ended and use the claim; undefined if they cannot be read. */
async function usersOf(inquiry: Inquiry, claim: PersistentVolumeClaim): Promise<readonly Pod[] | undefined> {
  const { name, namespace = '' } = claim.metadata;
  const all = await inquiry.list(pods, { namespace });
  return all?.filter(
    ({ spec, status }) =>
      status?.phase !== 'Succeeded' &&
      status?.phase !== 'Failed' &&
      spec.volumes?.some(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName === name),
  );
}

/** What is wrong with a claim that something uses. */
export async function claimCauses(inquiry: Inquiry, name: string, namespace: string): Promise<readonly Finding[]> {
  const subject = { kind: 'PersistentVolumeClaim', namespace, name };
  const claim = await inquiry.get(persistentvolumeclaims, name, namespace);
  if (claim.state === 'present') return inquiry.causes(subject, whyClaim, claim.object);
  if (claim.state === 'unreadable') return [];
  return [
    finding({
      subject,
      reason: 'ClaimMissing',
      summary: `PersistentVolumeClaim ${name} does not exist.`,
      remedies: [{ action: 'Create the claim, or name another one in the pod.' }],
    }),
  ];
}
