/** Tells the request's span which object it came to. */
import type { ApiObjectShape } from '#api/meta/object.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import { objectAttributes } from '#daemon/tracing/object-attributes.js';
import type { Tracer } from '#daemon/tracing/tracer.js';
import type { Entry } from '#storage/resource-storage.js';

interface Annotated {
  readonly registry: { readonly tracer?: Pick<Tracer, 'annotate'> | undefined };
  readonly resource: Pick<ServedResource, 'qualified'>;
}

export function annotateSpan({ registry, resource }: Annotated, entry: Entry): void {
  registry.tracer?.annotate(() => {
    const { group, resource: name } = resource.qualified;
    const { metadata } = entry.object() as ApiObjectShape;
    const resourceVersion = String(entry.revision);
    return objectAttributes(group === '' ? name : `${name}.${group}`, { ...metadata, resourceVersion });
  });
}
