/** `MutatingAdmissionWebhook`: webhooks that may change objects, one after the other. */
import type { MutatingWebhookConfiguration } from '#api/admissionregistration/v1/types.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import { internalError } from '#apimachinery/errors/status.js';
import { jsonEqual, valueAt } from '#apimachinery/patch/json-values.js';
import type { AdmissionAttributes, AdmissionPlugin } from '#apiserver/admission/admission.js';
import { Reinvocation } from '#apiserver/admission/reinvocation.js';
import { ask, type Subject, underPolicy } from '#apiserver/admission/webhook/asking.js';
import { type Invocation, invocationOf } from '#apiserver/admission/webhook/invocation.js';
import { patched, patchFrom } from '#apiserver/admission/webhook/patched.js';
import { isWholeOf, Views } from '#apiserver/admission/webhook/views.js';
import { WebhookPlugin } from '#apiserver/admission/webhook/webhook-plugin.js';
import { type Scale, specReplicas, withValue } from '#apiserver/resources/scale-of.js';

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
    const views = new Views(attributes, scope);
    const subject: Subject = { attributes, scope, views, type: 'admit' };
    if (reinvocation.round === 1 && reinvocation.output !== textOf(attributes)) reinvocation.changed();
    for (const webhook of webhooks) {
      const invocation = await invocationOf(webhook, attributes, { equivalents, resource: scope.resource, reader });
      if (invocation === undefined || !reinvocation.asks(webhook.id)) continue;
      const outcome = await underPolicy(this.environment, invocation, subject, () => this.#ask(invocation, subject));
      if (outcome !== 'ignored' && outcome.result) {
        views.forget();
        reinvocation.changedByWebhook();
      }
      if (webhook.reinvokedIfNeeded) reinvocation.invoked(webhook.id);
    }
    reinvocation.output = textOf(attributes);
  }

  /** True when the webhook changed the object. */
  async #ask(invocation: Invocation, subject: Subject): Promise<boolean> {
    const { attributes, scope, views } = subject;
    const { webhook, resource } = invocation;
    const { name, configuration, index } = webhook;
    const answer = await ask(this.environment, invocation, subject);
    const patch = answer.patch === undefined ? [] : patchFrom(name, answer.patch);
    const { object } = attributes;
    if (patch.length > 0 && object === undefined) {
      const why = `admission webhook ${JSON.stringify(name)} attempted to modify the object, which is not supported for this operation`;
      throw internalError(new Error(why));
    }
    const mutated = patch.length > 0 && object !== undefined && (await this.#apply(patch, object, invocation, subject));
    const key = `round_${attributes.reinvocation?.round ?? 0}_index_${index}`;
    const { auditId } = scope.context;
    const fields = { auditId, key, configuration, webhook: name, mutated, as: views.kindIn(resource).apiVersion };
    this.environment.log.debug(fields, 'A webhook was asked to change an object');
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
    if (isScale) return rescale(object, next as Scale, specReplicas(scope.resource.strategy));
    if (jsonEqual(object, next)) return false;
    replaceContents(object, next);
    return true;
  }
}

function textOf({ object }: AdmissionAttributes): string | undefined {
  return object === undefined ? undefined : JSON.stringify(object);
}

/** Of a scaled object only the number of replicas is the webhook's to change. */
function rescale(object: ApiObjectShape, { spec }: Scale, path: readonly string[]): boolean {
  const replicas = spec?.replicas ?? 0;
  if (valueAt(object, path) === replicas) return false;
  replaceContents(object, withValue(object, path, replicas) as unknown as ApiObjectShape);
  return true;
}

/** Whoever has the object goes on with it. */
function replaceContents(object: ApiObjectShape, next: ApiObjectShape): void {
  const own = object as unknown as Record<string, unknown>;
  for (const name of Object.keys(own)) if (!Object.hasOwn(next, name)) delete own[name];
  Object.assign(own, next);
}
