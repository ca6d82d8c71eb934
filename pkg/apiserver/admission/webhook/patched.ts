/** What a webhook's patch makes of an object. */

import type { ApiObjectShape } from '#api/meta/object.js';
import { checkSize } from '#apimachinery/codec/json/size-limit.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Draft } from '#apimachinery/draft.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { badRequest, internalError } from '#apimachinery/errors/status.js';
import { jsonPatch } from '#apimachinery/patch/json-patch.js';
import type { AdmissionScope } from '#apiserver/admission/admission.js';
import { convertedTo } from '#apiserver/admission/webhook/convert.js';
import { CallingWebhookError } from '#apiserver/admission/webhook/failures.js';
import type { Invocation } from '#apiserver/admission/webhook/invocation.js';
import { isWholeOf, type View } from '#apiserver/admission/webhook/views.js';
import { strategyContext } from '#apiserver/resources/strategy-context.js';

/** The operations of a patch. Throws CallingWebhookError for what is none. */
export function patchFrom(webhook: string, text: Buffer): readonly unknown[] {
  try {
    checkSize(text);
    const patch: unknown = parseJSONText(text.toString(), 'literals');
    if (!Array.isArray(patch)) throw new Error('not a list of operations');
    return patch;
  } catch (error) {
    const why = `received undecodable patch in webhook response: ${messageOf(error)}`;
    throw new CallingWebhookError(webhook, why, { code: 503, cause: error });
  }
}

/**
 * The object in the request's own version and with its defaults. What is the system's in it stays as it was. Throws 500
 * for a patch that does not apply or makes something else of the object, and 400 for one that moves it to another namespace.
 */
export async function patched(
  patch: readonly unknown[],
  before: ApiObjectShape,
  view: View,
  { resource }: Invocation,
  scope: AdmissionScope,
): Promise<Draft<ApiObjectShape>> {
  const { registry, context } = scope;
  let next: Draft<ApiObjectShape>;
  try {
    next = registry.codec.normalize(jsonPatch(parseJSONText(view.object), patch), view.kind, 'Ignore').object;
  } catch (error) {
    throw internalError(new Error(whyOf(error), { cause: error }));
  }
  if (isWholeOf(resource, next)) {
    resource.strategy.defaults?.(next, strategyContext(registry, context));
    if (resource !== scope.resource) next = copyJson(await convertedTo(scope.resource, next, resource, context.signal));
  }
  keepSystemFields(next, before);
  return next;
}

/** What does not fit is the cause of a patch's failure, which clients are not told. */
function whyOf(error: unknown): string {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  return typeof cause === 'string' ? cause : messageOf(error);
}

const systemFields = [
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'resourceVersion',
  'selfLink',
] as const;

/** No webhook has a say in these: 1.24 sets them after all webhooks. */
function keepSystemFields(next: Draft<ApiObjectShape>, before: ApiObjectShape): void {
  const [now, was]: (Record<string, unknown> | undefined)[] = [next, before].map(({ metadata }) => ({ ...metadata }));
  // Options of connections have no metadata.
  if ((before as Partial<ApiObjectShape>).metadata === undefined || now === undefined || was === undefined) return;
  for (const name of systemFields) {
    if (was[name] === undefined) delete now[name];
    else now[name] = was[name];
  }
  const namespace = was['namespace'] ?? '';
  if ((now['namespace'] ?? '') === '') {
    if (namespace !== '') now['namespace'] = namespace;
  } else if (namespace !== '' && now['namespace'] !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  next.metadata = now as unknown as Draft<ApiObjectShape>['metadata'];
}
