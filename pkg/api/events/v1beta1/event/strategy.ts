/** Version v1beta1 has the newer form and the rules of core events. */

import { oldEventStrategy } from '#api/core/v1/event/strategy.js';
import type { Event as CoreEvent } from '#api/core/v1/types.gen.js';
import { eventConversion, eventFieldLabels } from '#api/events/v1/event/conversion.js';
import { newerEventRules } from '#api/events/v1/event/strategy.js';
import { events } from '#api/events/v1beta1/resources.gen.js';
import type { Event } from '#api/events/v1beta1/types.gen.js';
import { convertedStrategy } from '#api/strategy/converted-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';

export const eventsV1beta1Strategy: Strategy<Event> = convertedStrategy<Event, CoreEvent>(events, {
  stored: oldEventStrategy(newerEventRules),
  conversion: eventConversion('v1beta1'),
  fieldLabels: eventFieldLabels,
});
