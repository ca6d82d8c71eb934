/** Which finalizers keep a deleted object, and whose they are. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { Finding, Subject } from '#insight/inquiry/finding.js';
import type { Inquiry, Question } from '#insight/inquiry/inquiry.js';
import type { StoredObject } from '#insight/inquiry/observations.js';
import { finding, isDeleted, namespaceFlag, subjectOf } from '#insight/questions/parts.js';

/** A controller may take this long for its finalizer. */
const cleanUpMs = 10_000;

interface Owner {
  /** Whose finalizer it is. */
  readonly owner: string;
  readonly waitsFor: string;
}

function ownerOf(finalizer: string, dialect: Dialect): Owner {
  const manager = dialect.components.controllerManager;
  switch (finalizer.split('/').at(-1)) {
    case 'foregroundDeletion':
      return { owner: manager, waitsFor: 'the objects that it owns to go first' };
    case 'orphan':
      return { owner: manager, waitsFor: 'the objects that it owns to lose their owner' };
    case 'pvc-protection':
      return { owner: manager, waitsFor: 'the pods that use the claim to go' };
    case 'pv-protection':
      return { owner: manager, waitsFor: 'the claim that is bound to the volume to go' };
    case 'job-tracking':
      return { owner: manager, waitsFor: 'the job to count the pod' };
    case 'service-load-balancer-cleanup':
    case 'load-balancer-cleanup':
      return { owner: 'the provider of load balancers', waitsFor: 'the load balancer to be removed' };
    case 'customresourcecleanup.apiextensions.k8s.io':
      return { owner: manager, waitsFor: 'the objects of the definition to go' };
  }
  const domain = finalizer.includes('/') ? finalizer.split('/')[0] : finalizer;
  return { owner: `the controller of ${domain}`, waitsFor: 'that controller to clean up and remove it' };
}

export function finalizerFindings(dialect: Dialect, subject: Subject, finalizers: readonly string[]): Finding[] {
  return finalizers.map((name) => {
    const { owner, waitsFor } = ownerOf(name, dialect);
    return finding({
      subject,
      reason: 'FinalizerPending',
      summary: `Finalizer ${name} of ${owner} keeps the object: it waits for ${waitsFor}.`,
      evidence: [{ source: 'metadata', at: 'metadata.finalizers', text: name }],
      remedies: [
        { action: `Check that ${owner} runs; its log names what it cannot do.` },
        {
          action:
            'Only if that controller is gone for good, remove the finalizer; what it would have cleaned up stays behind.',
          command: `patch ${subject.kind.toLowerCase()} ${subject.name}${namespaceFlag(subject)} --type=merge -p '{"metadata":{"finalizers":null}}'`,
        },
      ],
    });
  });
}

/** Why an object of any kind is still there after its deletion. */
export function whyTerminating(inquiry: Inquiry, object: StoredObject, kind: string): readonly Finding[] {
  const { deletionTimestamp, finalizers = [] } = object.metadata;
  if (deletionTimestamp === undefined || inquiry.nowMs - Date.parse(deletionTimestamp) < cleanUpMs) return [];
  return finalizerFindings(inquiry.dialect, subjectOf(kind, object), finalizers);
}

/** A question about objects of that kind. One that was deleted is only asked what keeps it. */
export function question<T extends StoredObject>(
  kind: string,
  ask: (inquiry: Inquiry, object: T, subject: Subject) => Promise<readonly Finding[]>,
): Question<T> {
  return async (inquiry, object) =>
    isDeleted(object) ? whyTerminating(inquiry, object, kind) : ask(inquiry, object, subjectOf(kind, object));
}
