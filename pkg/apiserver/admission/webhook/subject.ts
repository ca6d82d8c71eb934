import type { AdmissionAttributes, AdmissionScope } from '#apiserver/admission/admission.js';
import type { Views } from '#apiserver/admission/webhook/views.js';
import type { WebhookStep } from '#apiserver/admission/webhook/webhook-metrics.js';

/** What a webhook is asked about. */
export interface Subject {
  readonly attributes: AdmissionAttributes;
  readonly scope: AdmissionScope;
  readonly views: Views;
  readonly type: WebhookStep;
}
