/** `ValidatingAdmissionWebhook`: calls webhooks that may refuse requests, all at once. */
import type { ValidatingWebhookConfiguration } from '#api/admissionregistration/v1/types.gen.js';
import { timeout } from '#apimachinery/errors/status.js';
import type { AdmissionAttributes, AdmissionPlugin } from '#apiserver/admission/admission.js';
import { callWebhook, withFailurePolicy } from '#apiserver/admission/webhook/call-webhook.js';
import { type Invocation, invocationOf, type Subject } from '#apiserver/admission/webhook/invocation.js';
import { Views } from '#apiserver/admission/webhook/views.js';
import { WebhookPlugin } from '#apiserver/admission/webhook/webhook-source.js';

export class ValidatingWebhooks extends WebhookPlugin<ValidatingWebhookConfiguration> implements AdmissionPlugin {
  readonly name = 'ValidatingAdmissionWebhook';

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { scope } = attributes;
    if (scope === undefined) return;
    const { reader } = this.environment;
    const { webhooks, equivalents } = await this.concerned(attributes, scope);
    const views = new Views(attributes, scope, { mutating: false });
    const invocations: Invocation[] = [];
    for (const webhook of webhooks) {
      const invocation = await invocationOf(webhook, attributes, { equivalents, resource: scope.resource, reader });
      if (invocation === undefined) continue;
      invocations.push({ ...invocation, place: invocations.length });
      // Convert before the first call, so that a failing conversion is not taken for an answer.
      await views.in(invocation.resource);
    }
    if (invocations.length === 0) return;
    if (scope.context.cancellation.aborted) throw timeout('request did not complete within requested timeout');
    const subject: Subject = { attributes, scope, views, type: 'validating' };
    const outcomes = await Promise.allSettled(
      invocations.map((each) =>
        withFailurePolicy(this.environment, each, subject, () => callWebhook(this.environment, each, subject)),
      ),
    );
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }
}
