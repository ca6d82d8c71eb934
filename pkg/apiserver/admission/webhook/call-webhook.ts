/** Calls one webhook for one request; common to mutating and validating webhooks. */
import { reviewVersions } from '#api/admissionregistration/v1/webhook/review-versions.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { internalError, StatusError, timeout } from '#apimachinery/errors/status.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { AdmissionAttributes } from '#apiserver/admission/admission.js';
import {
  type Outcome,
  recordFailedOpen,
  recordOwn,
  recordTime,
} from '#apiserver/admission/webhook/audit-annotations.js';
import { type Invocation, isNamespace, type Subject } from '#apiserver/admission/webhook/invocation.js';
import { type Answer, readAnswer, reviewText } from '#apiserver/admission/webhook/review.js';
import { CallingWebhookError, dryRunUnsupported, WebhookDenial } from '#apiserver/admission/webhook/webhook-errors.js';
import { resourceName, type WebhookEnvironment } from '#apiserver/admission/webhook/webhook-source.js';
import { timed } from '#apiserver/http/request-context.js';
import { WebhookCallError } from '#apiserver/webhooks/call-error.js';

/** Clients are warned about webhooks that take longer. */
const slowMs = 1000;

/**
 * The webhook's answer if it allows the request. Throws WebhookDenial, CallingWebhookError, and a StatusError for a dry run
 * that the webhook does not support.
 */
export async function callWebhook(
  { dialect, client, credentials, newUID }: WebhookEnvironment,
  invocation: Invocation,
  subject: Subject,
): Promise<Answer> {
  const { webhook, resource } = invocation;
  const { attributes, scope, views, type } = subject;
  const { name } = webhook;
  const { dryRun, operation, subresource } = attributes;
  if (dryRun && !webhook.supportsDryRun) throw dryRunUnsupported(name);
  const version = webhook.reviewVersion;
  if (version === undefined) {
    const supported = reviewVersions.join(', ');
    const why = `could not create admission objects: webhook does not accept known AdmissionReview versions (${supported})`;
    throw new CallingWebhookError(name, why, { code: 400 });
  }
  const uid = newUID();
  const view = await views.in(resource);
  const text = reviewText(dialect, version, {
    uid,
    ...view,
    resource: resourceName(resource),
    requestKind: views.kindIn(scope.resource),
    requestResource: resourceName(scope.resource),
    subresource,
    operation,
    name: attributes.name,
    namespace: isNamespace(attributes) ? attributes.name : attributes.namespace,
    user: attributes.user,
    dryRun,
    options: optionsText(dialect, attributes, scope.context.info.query),
  });
  const { clientConfig: config, timeoutMs } = webhook;
  const { cancellation } = scope.context;
  const response = await client
    .post({ config, body: Buffer.from(text), timeoutMs, credentials, cancellation })
    .catch((error: unknown) => {
      if (!(error instanceof WebhookCallError)) throw error;
      const { code, failure, message } = error;
      const why =
        failure === 'unusable' ? `could not get REST client: ${message}` : `failed to call webhook: ${message}`;
      throw new CallingWebhookError(name, why, { code, canceled: failure === 'canceled', cause: error });
    });
  let answer: Answer;
  try {
    answer = readAnswer(response, { dialect, version, uid, mutating: type === 'admit' });
  } catch (error) {
    const why = `received invalid webhook response: ${messageOf(error)}`;
    throw new CallingWebhookError(name, why, { code: 503, cause: error });
  }
  for (const warning of answer.warnings) attributes.warn(warning);
  recordOwn(invocation, subject, answer.auditAnnotations);
  if (!answer.allowed) throw new WebhookDenial(name, answer.status);
  return answer;
}

/** Applies the failure policy; returns `ignored` if the policy ignores the failure. Throws StatusErrors. */
export async function withFailurePolicy<T>(
  { dialect, clock, metrics, log }: WebhookEnvironment,
  invocation: Invocation,
  subject: Subject,
  work: () => Promise<T>,
): Promise<{ readonly result: T } | 'ignored'> {
  const { name, configuration, mustAnswer } = invocation.webhook;
  const { attributes, scope, type } = subject;
  let outcome: Outcome = 'failed';
  const labels = { name, type, operation: attributes.operation };
  const startedMs = clock.monotonic();
  const elapsedMs = () => clock.monotonic() - startedMs;
  try {
    const result = await work();
    outcome = 'allowed';
    metrics.called(labels, { code: 200, rejected: false, durationMs: elapsedMs() });
    return { result };
  } catch (error) {
    const durationMs = elapsedMs();
    const fields = {
      err: error,
      auditId: scope.context.auditId,
      webhook: name,
      configuration,
      ms: Math.round(durationMs),
    };
    if (error instanceof CallingWebhookError) {
      const { code, canceled } = error;
      metrics.called(labels, { code, rejected: mustAnswer, durationMs });
      if (mustAnswer) {
        if (!canceled) metrics.rejected(labels, 'calling_webhook_error', code);
        log.warn(fields, 'failed calling webhook, failing closed');
        throw internalError(error);
      }
      outcome = 'ignored';
      if (!canceled) metrics.failedOpen(name, type);
      recordFailedOpen(dialect, invocation, subject);
      log.warn(fields, 'failed calling webhook, failing open');
      if (scope.context.cancellation.aborted) throw timeout('request did not complete within requested timeout');
      attributes.warn(`admission webhook ${JSON.stringify(name)} was ignored: ${error.message}`);
      return 'ignored';
    }
    if (error instanceof WebhookDenial) {
      const { status } = error;
      outcome = 'denied';
      metrics.called(labels, { code: status.code, rejected: true, durationMs });
      metrics.rejected(labels, 'no_error', status.code);
      log.info(fields, 'webhook denied request');
      throw status;
    }
    const code = error instanceof StatusError ? error.code : 0;
    metrics.called(labels, { code, rejected: true, durationMs });
    metrics.rejected(labels, 'apiserver_internal_error', code);
    throw error instanceof StatusError ? error : internalError(error);
  } finally {
    const durationMs = elapsedMs();
    recordTime(dialect, invocation, subject, { outcome, ms: durationMs });
    timed(scope.context, 'webhook', `${name} ${outcome}`, durationMs);
    scope.context.webhookMs ??= { inTurn: 0, atOnce: 0 };
    const { webhookMs } = scope.context;
    if (type === 'admit') webhookMs.inTurn += durationMs;
    else webhookMs.atOnce = Math.max(webhookMs.atOnce, durationMs);
    if (durationMs >= slowMs) {
      const seconds = (durationMs / 1000).toFixed(1);
      attributes.warn(`admission webhook ${JSON.stringify(name)} took ${seconds} seconds`);
    }
  }
}

const kinds = { CREATE: 'CreateOptions', UPDATE: 'UpdateOptions', DELETE: 'DeleteOptions' } as const;

/** The request's options as JSON for webhooks; `null` for connections. Pure. */
function optionsText(
  dialect: Dialect,
  { operation, dryRun, options }: Pick<AdmissionAttributes, 'operation' | 'dryRun' | 'options'>,
  query: URLSearchParams,
): string {
  if (operation === 'CONNECT') return 'null';
  const head = { kind: kinds[operation], apiVersion: dialect.apiVersion('meta', 'v1') };
  const dry = dryRun ? { dryRun: ['All'] } : {};
  if (operation === 'DELETE') return toJSONText({ ...head, ...options, dryRun: undefined, ...dry });
  const fieldManager = query.get('fieldManager') ?? '';
  const fieldValidation = query.get('fieldValidation') ?? '';
  return toJSONText({
    ...head,
    ...dry,
    ...(fieldManager === '' ? {} : { fieldManager }),
    ...(fieldValidation === '' ? {} : { fieldValidation }),
  });
}
