/** The object that a span is about: the same names in all daemons, so that one query finds all that was done with it. */
import type { SpanAttributes } from '#daemon/tracing/tracer.js';

/** What of an object's metadata tells it from others. */
export interface Identity {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

/** `resource`: `pods`, `deployments.apps`. What is not known is left out. Pure. */
export function objectAttributes(
  resource: string,
  { namespace = '', name = '', uid = '', resourceVersion = '' }: Identity,
): SpanAttributes {
  return {
    'object.resource': resource,
    ...(namespace === '' ? {} : { 'object.namespace': namespace }),
    ...(name === '' ? {} : { 'object.name': name }),
    ...(uid === '' ? {} : { 'object.uid': uid }),
    ...(resourceVersion === '' ? {} : { 'object.resourceVersion': resourceVersion }),
  };
}
