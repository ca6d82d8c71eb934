/** What is particular to events in their newer form, whose rules are stricter. */
import { eventCells, referenceFields, validateInvolvedNamespace } from '#api/core/v1/event/strategy.js';
import { eventToCore } from '#api/events/v1/event/conversion.js';
import { events } from '#api/events/v1/resources.gen.js';
import type { Event } from '#api/events/v1/types.gen.js';
import { validateImmutable } from '#api/meta/v1/objectmeta/validation.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkQualifiedName } from '#apimachinery/validation/checks.js';
import { invalidValue, required } from '#apimachinery/validation/failure.js';
import { pathSegmentErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const maxWordLength = 128;
const maxNoteLength = 1024;

export const eventsV1Strategy: Strategy<Event> = kindStrategy<Event>(events, {
  name: pathSegmentErrors,
  allowCreateOnUpdate: true,
  validate: (event, context, old) => [
    ...validateInvolvedNamespace(eventToCore(event, context.dialect), context.dialect),
    ...(old === undefined ? validateNewEvent(event) : []),
    ...validateSeries(event),
  ],
  validateUpdate: (event, old, context) => validateEventUpdate(event, old, context.dialect),
  selectableFields: (event) => ({
    ...referenceFields('regarding', event.regarding),
    reason: event.reason ?? '',
    reportingController: event.reportingController ?? '',
    source: event.deprecatedSource?.component || event.reportingController || '',
    type: event.type ?? '',
  }),
  cells: (event, context) => eventCells(eventToCore(event, context.dialect), context.now),
});

/** Fields are named as in the stored form, as 1.24 does. */
function validateNewEvent(event: Event): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const at = (name: string): FieldPath => FieldPath.of(name);
  if (event.eventTime === undefined) failures.push(required(at('eventTime')));
  if (event.type !== 'Normal' && event.type !== 'Warning') {
    failures.push(invalidValue(at('type'), '', `has invalid value: ${event.type ?? ''}`));
  }
  const controller = event.reportingController ?? '';
  if (controller === '') failures.push(required(at('reportingController')));
  failures.push(...checkQualifiedName(at('reportingController'), controller));
  for (const field of ['reportingInstance', 'action', 'reason'] as const) {
    const value = event[field] ?? '';
    if (value === '') failures.push(required(at(field)));
    if (value.length > maxWordLength) failures.push(tooLongText(at(field), maxWordLength));
  }
  if ((event.note ?? '').length > maxNoteLength) failures.push(tooLongText(at('message'), maxNoteLength));
  const stale = [
    ['firstTimestamp', event.deprecatedFirstTimestamp],
    ['lastTimestamp', event.deprecatedLastTimestamp],
    ['count', event.deprecatedCount],
    ['source', event.deprecatedSource?.component || event.deprecatedSource?.host],
  ] as const;
  for (const [field, value] of stale) {
    if (value !== undefined && value !== '' && value !== 0) {
      failures.push(invalidValue(at(field), '', 'needs to be unset'));
    }
  }
  return failures;
}

function tooLongText(path: FieldPath, max: number): FieldFailure {
  return invalidValue(path, '', `can have at most ${max} characters`);
}

function validateSeries(event: Event): FieldFailure[] {
  if (event.series === undefined) return [];
  const path = FieldPath.of('series');
  const failures: FieldFailure[] = [];
  if ((event.series.count ?? 0) < 2) failures.push(invalidValue(path.child('count'), '', 'should be at least 2'));
  if (event.series.lastObservedTime === undefined) failures.push(required(path.child('lastObservedTime')));
  return failures;
}

/** Only the series goes on; what happened does not change. */
function validateEventUpdate(event: Event, old: Event, dialect: Dialect): FieldFailure[] {
  const before = eventToCore(old, dialect);
  const after = eventToCore(event, dialect);
  const fixed = [
    'involvedObject',
    'reason',
    'message',
    'source',
    'firstTimestamp',
    'lastTimestamp',
    'count',
    'type',
    'eventTime',
    'action',
    'related',
    'reportingComponent',
    'reportingInstance',
  ] as const;
  return fixed.flatMap((field) => validateImmutable(after[field], before[field], FieldPath.of(field)));
}
