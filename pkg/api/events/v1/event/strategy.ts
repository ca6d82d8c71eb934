/** The strategy of the newer form of events. */

import { commonEventRules, validateInvolvedNamespace, validateNewFields } from '#api/core/v1/event/strategy.js';
import { events } from '#api/core/v1/resources.gen.js';
import type { Event as CoreEvent } from '#api/core/v1/types.gen.js';
import { eventConversion, eventFieldLabels } from '#api/events/v1/event/conversion.js';
import { events as newerEvents } from '#api/events/v1/resources.gen.js';
import type { Event } from '#api/events/v1/types.gen.js';
import { convertedStrategy } from '#api/strategy/converted-strategy.js';
import { changedField } from '#api/strategy/immutable-fields.js';
import { type KindRules, kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy, StrategyContext } from '#api/strategy/strategy.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { invalidValue, required } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

/** Rules that both versions of events.k8s.io share: deleting a collection of events returns a Status. */
export const newerEventRules: KindRules<CoreEvent> = { collectionDeletionAnswer: 'status' };

export const eventsV1Strategy: Strategy<Event> = convertedStrategy<Event, CoreEvent>(newerEvents, {
  conversion: eventConversion('v1'),
  fieldLabels: eventFieldLabels,
  stored: kindStrategy<CoreEvent>(events, {
    ...commonEventRules,
    ...newerEventRules,
    validateFirst: (event, { dialect }) => validateStored(event, dialect),
    validate: (event, _context, old) => (old === undefined ? validateNewEvent(event) : []),
    validateUpdate: validateChange,
  }),
});

/** Rules of all events, in the stored form and with its field names. */
function validateStored(event: CoreEvent, dialect: Dialect): FieldFailure[] {
  return [
    ...validateInvolvedNamespace(event, dialect),
    ...(event.eventTime === undefined ? [] : validateNewFields(event)),
  ];
}

/** Required and forbidden fields of a new event. */
function validateNewEvent(event: CoreEvent): FieldFailure[] {
  const failures = validateSeries(event);
  const at = (name: string): FieldPath => FieldPath.of(name);
  if (event.eventTime === undefined) failures.push(required(at('eventTime')));
  if (event.type !== 'Normal' && event.type !== 'Warning') {
    failures.push(invalidValue(at('type'), '', `has invalid value: ${event.type ?? ''}`));
  }
  const { component = '', host = '' } = event.source ?? {};
  const stale = {
    firstTimestamp: event.firstTimestamp !== undefined,
    lastTimestamp: event.lastTimestamp !== undefined,
    count: (event.count ?? 0) !== 0,
    source: component !== '' || host !== '',
  };
  for (const [field, said] of Object.entries(stale)) {
    if (said) failures.push(invalidValue(at(field), '', 'needs to be unset'));
  }
  return failures;
}

function validateSeries({ series }: CoreEvent): FieldFailure[] {
  if (series === undefined) return [];
  const path = FieldPath.of('series');
  const failures: FieldFailure[] = [];
  if ((series.count ?? 0) < 2) failures.push(invalidValue(path.child('count'), '', 'should be at least 2'));
  if (series.lastObservedTime === undefined) failures.push(required(path.child('lastObservedTime')));
  return failures;
}

/** Fields that must not change. */
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

/** Only the series may change. */
function validateChange(after: CoreEvent, before: CoreEvent, { scheme }: StrategyContext): FieldFailure[] {
  const failures = semanticEqual(after.series, before.series) ? [] : validateSeries(after);
  const type = scheme.type('core.v1.Event');
  for (const name of fixed) {
    if (semanticEqual(after[name], before[name])) continue;
    const path = FieldPath.of(name === 'reportingComponent' ? 'reportingController' : name);
    failures.push(changedField(type, { name, value: after[name] }, path));
  }
  return failures;
}
