/** Which resources are served in a form other than the stored one, and how the two become each other. */
import { autoscalerFromV2, autoscalerToV2 } from '#api/autoscaling/v1/horizontalpodautoscaler/conversion.js';
import type { HorizontalPodAutoscaler as AutoscalerV1 } from '#api/autoscaling/v1/types.gen.js';
import type { HorizontalPodAutoscaler as AutoscalerV2 } from '#api/autoscaling/v2/types.gen.js';
import type { Event as CoreEvent } from '#api/core/v1/types.gen.js';
import { eventFromCore, eventToCore } from '#api/events/v1/event/conversion.js';
import type { Event } from '#api/events/v1/types.gen.js';
import type { ApiObjectShape } from '#api/object.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { ResourceInfo } from '#apimachinery/schema/scheme.js';
import type { Conversion } from '#apiserver/registry/served-resource.js';

type Shape = ApiObjectShape;

/** Served form (`group/version/resource`) → its conversion. */
function table(dialect: Dialect): Readonly<Record<string, Conversion>> {
  return {
    'autoscaling/v1/horizontalpodautoscalers': {
      fromStored: (stored) => autoscalerFromV2(stored as AutoscalerV2, dialect) as Shape,
      toStored: (object) => autoscalerToV2(object as AutoscalerV1, dialect) as Shape,
    },
    'events/v1/events': {
      fromStored: (stored) => eventFromCore(stored as CoreEvent, dialect) as Shape,
      toStored: (object) => eventToCore(object as Event, dialect) as Shape,
    },
  };
}

export function conversionsOf(dialect: Dialect): (served: ResourceInfo) => Conversion | undefined {
  const conversions = table(dialect);
  return ({ declaration: { group, version, resource } }) => conversions[`${group}/${version}/${resource}`];
}
