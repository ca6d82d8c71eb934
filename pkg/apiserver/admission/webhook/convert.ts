/** An object of one version of a resource in another one, by way of the stored form. */
import type { ApiObjectShape } from '#api/meta/object.js';
import type { Steps } from '#apimachinery/async/steps.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

/** Not shared with `object`. Rejects where a conversion webhook fails. */
export async function convertedTo(
  target: ServedResource,
  object: ApiObjectShape,
  from: ServedResource,
  signal: AbortSignal,
): Promise<ApiObjectShape> {
  const own = copyJson(object);
  if (target === from) return own;
  return fromStored(target, await toStored(from, own, signal), signal);
}

async function toStored({ conversion }: ServedResource, object: ApiObjectShape, signal: AbortSignal) {
  if (conversion === undefined) return object;
  return conversion.kind === 'remote' ? conversion.toStored(object, signal) : atOnce(conversion.toStored(object));
}

async function fromStored({ conversion }: ServedResource, stored: ApiObjectShape, signal: AbortSignal) {
  if (conversion === undefined) return stored;
  if (conversion.kind === 'in process') return copyJson(conversion.fromStored(stored));
  const [converted] = await conversion.fromStored([stored], signal);
  if (converted === undefined) throw new RangeError('a conversion lost its object');
  return converted;
}

function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
