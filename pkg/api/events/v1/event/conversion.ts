/** The two views of one event: the newer kind on the wire, the older one in the store. */

import { referenceFieldNames } from '#api/core/v1/event/strategy.js';
import type { Event as CoreEvent } from '#api/core/v1/types.gen.js';
import type { Event } from '#api/events/v1/types.gen.js';
import type { Conversion } from '#api/strategy/conversion.js';
import type { Dialect } from '#apimachinery/dialect.js';

/** Fields that only have another name in the other view: newer name, older name. */
const renamed = [
  ['regarding', 'involvedObject'],
  ['note', 'message'],
  ['reportingController', 'reportingComponent'],
  ['deprecatedSource', 'source'],
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
  ['deprecatedCount', 'count'],
] as const satisfies readonly (readonly [keyof Event, keyof CoreEvent])[];

const same = [
  'metadata',
  'eventTime',
  'series',
  'reportingInstance',
  'action',
  'reason',
  'related',
  'type',
] as const satisfies readonly (keyof Event & keyof CoreEvent)[];

/** Between a version of the newer view, which are the same in all else, and what is stored. */
export function eventConversion(version: string): Conversion<Event, CoreEvent> {
  return {
    toStored: (event, { dialect }) => eventToCore(event, dialect),
    fromStored: (event, { dialect }) => eventFromCore(event, dialect, version),
  };
}

/** The newer view of a stored event. Nested values are shared with the argument. */
export function eventFromCore(event: CoreEvent, dialect: Dialect, version = 'v1'): Event {
  const result = { apiVersion: dialect.apiVersion('events', version), kind: 'Event' };
  copy(
    event,
    result,
    same.map((field) => [field, field]),
  );
  copy(
    event,
    result,
    renamed.map(([newer, older]) => [older, newer]),
  );
  // Which the older view leaves out when it is zero.
  if (event.series !== undefined)
    Object.assign(result, { series: { ...event.series, count: event.series.count ?? 0 } });
  return result as Event;
}

/** What is stored for the newer view of an event. Nested values are shared with the argument. */
export function eventToCore(event: Event, dialect: Dialect): CoreEvent {
  const result = {
    apiVersion: dialect.apiVersion('core', 'v1'),
    kind: 'Event',
    // What the older kind always has and the newer one may leave out.
    involvedObject: {},
    source: {},
    reportingComponent: '',
    reportingInstance: '',
  };
  copy(
    event,
    result,
    same.map((field) => [field, field]),
  );
  copy(event, result, renamed);
  return result as unknown as CoreEvent;
}

/** Names of selectable fields: newer view → stored form. There is no source any more, but it can be selected by. */
export const eventFieldLabels: Readonly<Record<string, string>> = {
  ...Object.fromEntries(referenceFieldNames.map((name) => [`regarding.${name}`, `involvedObject.${name}`])),
  reason: 'reason',
  reportingController: 'reportingComponent',
  type: 'type',
};

function copy(from: object, to: object, fields: readonly (readonly [from: string, to: string])[]): void {
  for (const [source, target] of fields) {
    const value: unknown = Reflect.get(from, source);
    if (value !== undefined) Reflect.set(to, target, value);
  }
}
