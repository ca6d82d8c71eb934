/** A configuration's webhooks ready to be called: selectors compiled, defaults filled in. Pure. */

import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  RuleWithOperations,
  ValidatingWebhook,
  ValidatingWebhookConfiguration,
  WebhookClientConfig,
} from '#api/admissionregistration/v1/types.gen.js';
import type { ReviewVersion } from '#api/admissionregistration/v1/webhook/review-versions.js';
import { compileSelector, type LabelSelector } from '#apimachinery/selectors/labels.js';
import { reviewVersionOf } from '#apiserver/webhooks/review.js';

export type WebhookConfiguration = MutatingWebhookConfiguration | ValidatingWebhookConfiguration;

export interface CompiledWebhook {
  readonly name: string;
  readonly configuration: string;
  /** Unique among all webhooks: names may repeat. */
  readonly id: string;
  readonly rules: readonly RuleWithOperations[];
  readonly clientConfig: WebhookClientConfig;
  /** False: failures of the webhook are ignored. */
  readonly mustAnswer: boolean;
  readonly matchesEquivalent: boolean;
  /** Undefined if invalid; then every matching request is refused. */
  readonly namespaceSelector: LabelSelector | undefined;
  readonly objectSelector: LabelSelector | undefined;
  readonly supportsDryRun: boolean;
  readonly timeoutMs: number;
  /** `v1` or `v1beta1`; undefined if the webhook supports neither. */
  readonly reviewVersion: ReviewVersion | undefined;
  readonly reinvokedIfNeeded: boolean;
}

const defaultTimeoutSeconds = 10;

export function compileConfiguration({ metadata, webhooks = [] }: WebhookConfiguration): CompiledWebhook[] {
  const configuration = metadata.name ?? '';
  const times = new Map<string, number>();
  return (webhooks as readonly (MutatingWebhook | ValidatingWebhook)[]).map((webhook) => {
    const repeated = times.get(webhook.name) ?? 0;
    times.set(webhook.name, repeated + 1);
    const { rules = [], clientConfig, sideEffects = 'Unknown', admissionReviewVersions: versions = [] } = webhook;
    return {
      name: webhook.name,
      configuration,
      id: `${configuration}/${webhook.name}/${repeated}`,
      rules,
      clientConfig,
      mustAnswer: webhook.failurePolicy !== 'Ignore',
      matchesEquivalent: webhook.matchPolicy !== 'Exact',
      namespaceSelector: compileSelector(webhook.namespaceSelector ?? {}),
      objectSelector: compileSelector(webhook.objectSelector ?? {}),
      supportsDryRun: sideEffects === 'None' || sideEffects === 'NoneOnDryRun',
      timeoutMs: (webhook.timeoutSeconds ?? defaultTimeoutSeconds) * 1000,
      reviewVersion: reviewVersionOf(versions),
      reinvokedIfNeeded: 'reinvocationPolicy' in webhook && webhook.reinvocationPolicy === 'IfNeeded',
    };
  });
}
