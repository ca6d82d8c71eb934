/** What questions have in common. */
import type { Event } from '#api/core/v1/types.gen.js';
import type { ConditionShape } from '#api/meta/v1/condition/conditions.js';
import type { Time } from '#api/meta/v1/types.gen.js';
import { type Evidence, type Finding, quote, type Remedy, type Subject } from '#insight/inquiry/finding.js';
import type { StoredObject } from '#insight/inquiry/observations.js';

interface FindingParts extends Pick<Finding, 'subject' | 'reason' | 'summary'> {
  readonly evidence?: readonly (Evidence | undefined)[];
  readonly remedies?: readonly Remedy[];
  readonly causes?: readonly Finding[];
}

export function finding({ evidence = [], remedies = [], causes = [], ...rest }: FindingParts): Finding {
  return { ...rest, evidence: evidence.filter((each) => each !== undefined), remedies, causes };
}

export function subjectOf(kind: string, { metadata: { name = '', namespace } }: StoredObject): Subject {
  return { kind, ...(namespace === undefined || namespace === '' ? {} : { namespace }), name };
}

/** Undefined without a text. */
export function statusEvidence(at: string, text: string | undefined, of?: Subject): Evidence | undefined {
  if (text === undefined || text === '') return undefined;
  return { source: 'status', at, text: quote(text), ...(of && { of }) };
}

export function specEvidence(at: string, text: string, of?: Subject): Evidence {
  return { source: 'spec', at, text: quote(text), ...(of && { of }) };
}

export function eventEvidence({ reason = '', message = '', count = 1 }: Event): Evidence {
  return { source: 'event', at: reason, text: quote(count > 1 ? `${message} (${count} times)` : message) };
}

export function conditionText({ reason = '', message = '' }: Pick<ConditionShape, 'reason' | 'message'>): string {
  if (message === '' || reason === '') return message + reason;
  return `${reason}: ${message}`;
}

/** Milliseconds since that time; infinite for a missing one. */
export function ageMs(time: Time | undefined, nowMs: number): number {
  return time === undefined ? Number.POSITIVE_INFINITY : nowMs - Date.parse(time);
}

/** `1 pod`, `2 pods`. */
export function counted(count: number, singular: string): string {
  return `${count} ${singular}${count === 1 ? '' : 's'}`;
}

/** The options of a command that name the object's namespace. */
export function namespaceFlag({ namespace }: Subject): string {
  return namespace === undefined ? '' : ` -n ${namespace}`;
}

export function isDeleted({ metadata }: StoredObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}
