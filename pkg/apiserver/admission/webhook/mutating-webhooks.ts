/** `MutatingAdmissionWebhook`: calls webhooks that may change objects, one after the other. */
import type { MutatingWebhookConfiguration } from '#api/admissionregistration/v1/types.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import { inSteps } from '#apimachinery/async/steps.js';
import { checkSize } from '#apimachinery/codec/json/size-limit.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Draft } from '#apimachinery/draft.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { badRequest, internalError } from '#apimachinery/errors/status.js';
import { toJSONText } from '#apimachinery/json-text.js';
import { jsonPatch } from '#apimachinery/patch/json-patch.js';
import { jsonEqual, valueAt } from '#apimachinery/patch/json-values.js';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionScope } from '#apiserver/admission/admission.js';
import { Reinvocation } from '#apiserver/admission/reinvocation.js';
import { recordMutation, recordPatch } from '#apiserver/admission/webhook/audit-annotations.js';
import { callWebhook, withFailurePolicy } from '#apiserver/admission/webhook/call-webhook.js';
import { type Invocation, invocationOf, type Subject } from '#apiserver/admission/webhook/invocation.js';
import { convertedTo, isWholeOf, type View, Views } from '#apiserver/admission/webhook/views.js';
import { CallingWebhookError } from '#apiserver/admission/webhook/webhook-errors.js';
import { WebhookPlugin } from '#apiserver/admission/webhook/webhook-source.js';
import { type Scale, specReplicas, withValue } from '#apiserver/resources/scale-of.js';
import { strategyContext } from '#apiserver/resources/strategy-context.js';

export class MutatingWebhooks extends WebhookPlugin<MutatingWebhookConfiguration> implements AdmissionPlugin {
  readonly name = 'MutatingAdmissionWebhook';

  async admit(attributes: AdmissionAttributes): Promise<void> {
    const { scope } = attributes;
    if (scope === undefined) return;
    const { reader } = this.environment;
    const { webhooks, equivalents } = await this.concerned(attributes, scope);
    if (webhooks.length === 0) return;
    attributes.reinvocation ??= new Reinvocation();
    const { reinvocation } = attributes;
    const views = new Views(attributes, scope, { mutating: true });
    const subject: Subject = { attributes, scope, views, type: 'admit' };
    const isChanged = () => reinvocation.output !== objectText(attributes);
    if (reinvocation.round === 1 && reinvocation.mayReinvoke && isChanged()) reinvocation.changed();
    for (const webhook of webhooks) {
      const invocation = await invocationOf(webhook, attributes, { equivalents, resource: scope.resource, reader });
      if (invocation === undefined || !reinvocation.mayCall(webhook.id)) continue;
      const outcome = await withFailurePolicy(this.environment, invocation, subject, () =>
        this.#call(invocation, subject),
      );
      if (outcome !== 'ignored' && outcome.result) {
        views.forget();
        reinvocation.changedByWebhook();
      }
      if (webhook.reinvokedIfNeeded) reinvocation.invoked(webhook.id);
    }
    // The text is needed only in the first round, and the object may be large.
    if (reinvocation.round === 0 && reinvocation.mayReinvoke) reinvocation.output = objectText(attributes);
  }

  /** True if the webhook changed the object. */
  async #call(invocation: Invocation, subject: Subject): Promise<boolean> {
    let mutated = false;
    try {
      mutated = await this.#callAndApply(invocation, subject);
      return mutated;
    } finally {
      recordMutation(this.environment.dialect, invocation, subject, mutated);
    }
  }

  async #callAndApply(invocation: Invocation, subject: Subject): Promise<boolean> {
    const { name } = invocation.webhook;
    const answer = await callWebhook(this.environment, invocation, subject);
    const patch = answer.patch === undefined ? [] : patchFrom(name, answer.patch);
    const { object } = subject.attributes;
    if (patch.length > 0 && object === undefined) {
      const why = `admission webhook ${JSON.stringify(name)} attempted to modify the object, which is not supported for this operation`;
      throw internalError(new Error(why));
    }
    if (patch.length === 0 || object === undefined) return false;
    const mutated = await this.#apply(patch, object, invocation, subject);
    recordPatch(this.environment.dialect, invocation, subject, patch);
    return mutated;
  }

  async #apply(
    patch: readonly unknown[],
    object: ApiObjectShape,
    invocation: Invocation,
    { scope, views }: Subject,
  ): Promise<boolean> {
    const view = await views.in(invocation.resource);
    const isScale = isWholeOf(scope.resource, object) && view.kind.kind !== scope.resource.declaration.kind;
    const next = await patched(patch, object, view, invocation, scope);
    if (!isScale && jsonEqual(object, next)) return false;
    if (isScale) return rescale(object, next as Scale, specReplicas(scope.resource.strategy));
    replaceContents(object, next);
    return true;
  }
}

function objectText({ object }: AdmissionAttributes): string | undefined {
  return object === undefined ? undefined : toJSONText(object);
}

/** Copies the number of replicas, all that a webhook may change here, from the Scale. True if it differed. */
function rescale(object: ApiObjectShape, { spec }: Scale, path: readonly string[]): boolean {
  const replicas = spec?.replicas ?? 0;
  if (valueAt(object, path) === replicas) return false;
  replaceContents(object, withValue(object, path, replicas) as unknown as ApiObjectShape);
  return true;
}

/** Replaces the members in place, because callers hold the object. */
function replaceContents(object: ApiObjectShape, next: ApiObjectShape): void {
  const target = object as unknown as Record<string, unknown>;
  for (const name of Object.keys(target)) if (!Object.hasOwn(next, name)) delete target[name];
  Object.assign(target, next);
}

/** Parses the operations of a patch. Throws CallingWebhookError for a malformed one. */
function patchFrom(webhook: string, text: Buffer): readonly unknown[] {
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
 * The patched object in the request's version, with defaults and the former system fields. Throws 500 for a patch that does
 * not apply or changes the object's kind, and 400 for one that changes its namespace.
 */
async function patched(
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
    const { strategy } = resource;
    const rules = strategyContext(registry, context);
    strategy.defaults?.(next, rules);
    if (strategy.defaultSteps !== undefined) {
      await inSteps(strategy.defaultSteps(next, rules), () => registry.turns.pause());
    }
    if (resource !== scope.resource) next = copyJson(await convertedTo(scope.resource, next, resource, context.signal));
  }
  keepSystemFields(next, before);
  return next;
}

/** 1.24 reports the cause of a patch's failure; clients see no other causes. */
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

/** Restores the system fields: 1.24 sets them after all webhooks. */
function keepSystemFields(next: Draft<ApiObjectShape>, before: ApiObjectShape): void {
  const [now, was]: (Record<string, unknown> | undefined)[] = [next, before].map(({ metadata }) => ({ ...metadata }));
  // Connection options have no metadata.
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
