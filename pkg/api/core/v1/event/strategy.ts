/** The strategy of core events, which are also the stored form of all events. */
import { events } from '#api/core/v1/resources.gen.js';
import type { Event, ObjectReference } from '#api/core/v1/types.gen.js';
import type { TableRowCells } from '#api/meta/object.js';
import { type KindRules, kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkQualifiedName, checkRequired } from '#apimachinery/validation/checks.js';
import { addAll, invalidValue } from '#apimachinery/validation/failure.js';
import { pathSegmentErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';

/** Rules that all versions of events share. */
export const commonEventRules: KindRules<Event> = {
  allowCreateOnUpdate: true,
  lifetime: 'events',
  withoutDependents: true,
  selectableFields: (event) => ({
    ...referenceFields(event.involvedObject),
    reason: event.reason ?? '',
    reportingComponent: event.reportingComponent ?? '',
    source: event.source?.component || event.reportingComponent || '',
    type: event.type ?? '',
  }),
  cells: (event, context) => eventCells(event, context.now),
};

export const eventStrategy: Strategy<Event> = oldEventStrategy();

/** The rules of core events, which also apply to version v1beta1 of events.k8s.io. */
export function oldEventStrategy(more: KindRules<Event> = {}): Strategy<Event> {
  return kindStrategy<Event>(events, {
    name: pathSegmentErrors,
    metadataLast: true,
    anyFinalizer: true,
    validate: (event, context) => [
      ...validateInvolvedNamespace(event, context.dialect),
      ...(event.eventTime === undefined ? [] : validateNewFields(event)),
    ],
    ...commonEventRules,
    ...more,
  });
}

/** Selectable fields of the involved object. */
export const referenceFieldNames = [
  'kind',
  'namespace',
  'name',
  'uid',
  'apiVersion',
  'resourceVersion',
  'fieldPath',
] as const satisfies readonly (keyof ObjectReference)[];

function referenceFields(reference: ObjectReference | undefined): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const field of referenceFieldNames) fields[`involvedObject.${field}`] = reference?.[field] ?? '';
  return fields;
}

/**
 * An event belongs to the namespace of its involved object, or the default namespace for a cluster-scoped object. Newer
 * events may be in any namespace, and those about cluster-scoped objects also in the system namespace.
 */
export function validateInvolvedNamespace(event: Event, dialect: Dialect): FieldFailure[] {
  const { default: usual, system } = dialect.namespaces;
  const namespace = event.metadata.namespace ?? '';
  const involved = event.involvedObject?.namespace ?? '';
  const newer = event.eventTime !== undefined;
  if (involved === '' ? [newer ? system : '', usual].includes(namespace) : newer || involved === namespace) return [];
  return [invalidValue(FieldPath.of('involvedObject', 'namespace'), involved, 'does not match event.namespace')];
}

const maxWordLength = 128;
const maxMessageLength = 1024;

/** Rules of events with `eventTime`, in either form: failures use the field names of the newer form. */
export function validateNewFields(event: Event): FieldFailure[] {
  const controllerPath = FieldPath.of('reportingController');
  const controller = event.reportingComponent ?? '';
  const failures = [...checkRequired(controllerPath, controller), ...checkQualifiedName(controllerPath, controller)];
  const tooLong = (field: string, max: number): FieldFailure =>
    invalidValue(FieldPath.of(field), '', `can have at most ${max} characters`);
  for (const field of ['reportingInstance', 'action', 'reason'] as const) {
    const word = event[field] ?? '';
    addAll(failures, checkRequired(FieldPath.of(field), word));
    if (Buffer.byteLength(word) > maxWordLength) failures.push(tooLong(field, maxWordLength));
  }
  if (Buffer.byteLength(event.message ?? '') > maxMessageLength) failures.push(tooLong('message', maxMessageLength));
  return failures;
}

/** Last seen, type, reason, object, subobject, source, message, first seen, count, name. `now` in ms. */
function eventCells(event: Event, now: number): TableRowCells {
  const first = age(event.firstTimestamp ?? event.eventTime, now);
  let last = event.lastTimestamp === undefined ? first : age(event.lastTimestamp, now);
  let count = event.count || 1;
  if (event.series !== undefined) {
    last = age(event.series.lastObservedTime, now);
    count = event.series.count ?? 0;
  }
  const { kind = '', name = '', fieldPath = '' } = event.involvedObject ?? {};
  return [
    last,
    event.type ?? '',
    event.reason ?? '',
    name === '' ? kind.toLowerCase() : `${kind.toLowerCase()}/${name}`,
    fieldPath,
    sourceText(event),
    (event.message ?? '').trim(),
    first,
    count,
    event.metadata.name ?? '',
  ];
}

function sourceText(event: Event): string {
  const component = event.source?.component || event.reportingComponent || '';
  const host = event.source?.host || event.reportingInstance || '';
  return [component, host].filter((part) => part !== '').join(', ');
}
