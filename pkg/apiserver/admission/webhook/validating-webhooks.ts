/** `ValidatingAdmissionWebhook`: webhooks that may refuse requests, all of them at once. */
import type { ValidatingWebhookConfiguration } from '#api/admissionregistration/v1/types.gen.js';
import { timeout } from '#apimachinery/errors/status.js';
import type { AdmissionAttributes, AdmissionPlugin } from '#apiserver/admission/admission.js';
import { refusal } from '#apiserver/admission/refusal.js';
import { ask, type Subject, underPolicy, type WebhookEnvironment } from '#apiserver/admission/webhook/asking.js';
import { isExempt } from '#apiserver/admission/webhook/exempt.js';
import { type Invocation, invocationOf } from '#apiserver/admission/webhook/invocation.js';
import { Views } from '#apiserver/admission/webhook/views.js';
import type { WebhookSource } from '#apiserver/admission/webhook/webhook-source.js';

export class ValidatingWebhooks implements AdmissionPlugin {
  readonly name = 'ValidatingAdmissionWebhook';
  readonly #source: WebhookSource<ValidatingWebhookConfiguration>;
  readonly #environment: WebhookEnvironment;

  constructor(source: WebhookSource<ValidatingWebhookConfiguration>, environment: WebhookEnvironment) {
    this.#source = source;
    this.#environment = environment;
  }

  start(signal: AbortSignal): void {
    this.#source.start(signal);
  }

  handles(attributes: AdmissionAttributes): boolean {
    const { scope } = attributes;
    return scope !== undefined && this.#source.mayConcern(scope) && !isExempt(attributes);
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { scope } = attributes;
    if (scope === undefined) return;
    const { dialect, reader } = this.#environment;
    if (!(await this.#source.waitReady())) throw refusal(attributes, dialect, 'not yet ready to handle request');
    const { webhooks, equivalents } = this.#source.concerned(scope);
    const views = new Views(attributes, scope);
    const invocations: Invocation[] = [];
    for (const webhook of webhooks) {
      const invocation = await invocationOf(webhook, attributes, { equivalents, resource: scope.resource, reader });
      if (invocation === undefined) continue;
      invocations.push(invocation);
      // Before the first is asked: that an object cannot be converted is nobody's answer.
      await views.in(invocation.resource);
    }
    if (invocations.length === 0) return;
    if (scope.context.cancellation.aborted) throw timeout('request did not complete within requested timeout');
    const subject: Subject = { attributes, scope, views, type: 'validating' };
    const outcomes = await Promise.allSettled(
      invocations.map((each) =>
        underPolicy(this.#environment, each, subject, () => ask(this.#environment, each, subject)),
      ),
    );
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }
}
