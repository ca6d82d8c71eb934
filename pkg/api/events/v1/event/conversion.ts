/** Converts between the newer form of events, used in requests, and the older stored form. */

import { referenceFieldNames } from '#api/core/v1/event/strategy.js';
import type { Event as CoreEvent } from '#api/core/v1/types.gen.js';
import type { Event } from '#api/events/v1/types.gen.js';
import type { Conversion } from '#api/strategy/conversion.js';
import type { Dialect } from '#apimachinery/dialect.js';

/** Renamed fields: newer name, older name. */
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

/** The conversion between a version of the newer form and the stored form. */
export function eventConversion(version: string): Conversion<Event, CoreEvent> {
  return {
    toStored: (event, { dialect }) => eventToCore(event, dialect),
    fromStored: (event, { dialect }) => eventFromCore(event, dialect, version),
  };
}

/** The newer form of a stored event. Shares nested values with the argument. */
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
  // The older form omits a zero count.
  if (event.series !== undefined)
    Object.assign(result, { series: { ...event.series, count: event.series.count ?? 0 } });
  return result as Event;
}

/** The stored form of an event. Shares nested values with the argument. */
export function eventToCore(event: Event, dialect: Dialect): CoreEvent {
  const result = {
    apiVersion: dialect.apiVersion('core', 'v1'),
    kind: 'Event',
    // Members that are required in the older form and optional in the newer one.
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

/** Names of selectable fields: newer form → stored form. `source` stays selectable although the newer form lacks it. */
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
