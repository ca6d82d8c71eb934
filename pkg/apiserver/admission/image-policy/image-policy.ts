/** Asks a webhook whether the images of a pod may run. */
import { createHash } from 'node:crypto';
import type { Clock } from '#apimachinery/clock.js';
import { LruCache } from '#apimachinery/collections/lru-cache.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { forbidden, StatusError } from '#apimachinery/errors/status.js';
import { isQualifiedName } from '#apimachinery/validation/names.js';
import type { AdmissionAttributes, AdmissionPlugin } from '#apiserver/admission/admission.js';
import type { ImagePolicyConfiguration } from '#apiserver/admission/image-policy/configuration.js';
import {
  type ImageVerdict,
  reviewBody,
  reviewSpec,
  verdictIn,
} from '#apiserver/admission/image-policy/image-review.js';
import { concerns, refusal } from '#apiserver/admission/plugin.js';
import { newPod, podsOnly } from '#apiserver/admission/pod-plugin.js';
import type { WebhookBackend } from '#apiserver/webhooks/backend/backend.js';
import { WebhookCallError } from '#apiserver/webhooks/call-error.js';
import type { Logger } from '#daemon/log/logger.js';

export interface ImagePolicyOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly log: Logger;
  readonly backend: Pick<WebhookBackend, 'ask' | 'close'>;
  readonly configuration: Omit<ImagePolicyConfiguration, 'kubeConfigFile'>;
}

/** As in 1.24. */
const maxAnswers = 1024;
/** Longer answers are not remembered: the webhook decides about their length. */
const maxRememberedChars = 16 * 1024;

export class ImagePolicyWebhook implements AdmissionPlugin {
  readonly name = 'ImagePolicyWebhook';
  readonly resources = podsOnly;
  readonly #options: ImagePolicyOptions;
  /** Answers by the digest of the review. */
  readonly #answers: LruCache<string, ImageVerdict>;

  constructor(options: ImagePolicyOptions) {
    this.#options = options;
    const { allowMs, denyMs } = options.configuration;
    const ttlMs = ({ allowed }: ImageVerdict) => (allowed ? allowMs : denyMs);
    this.#answers = new LruCache({ limit: maxAnswers, age: { clock: options.clock, ttlMs } });
  }

  /** Ends calls with the server. */
  start(signal: AbortSignal): void {
    signal.addEventListener('abort', () => void this.#options.backend.close(), { once: true });
  }

  handles(attributes: AdmissionAttributes): boolean {
    const { operation } = attributes;
    if (operation !== 'CREATE' && operation !== 'UPDATE') return false;
    return concerns(attributes, 'core', 'pods') || concerns(attributes, 'core', 'pods', 'ephemeralcontainers');
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { dialect } = this.#options;
    const { namespace, subresource } = attributes;
    const { body, key } = reviewBody(reviewSpec(newPod(attributes), namespace, subresource, dialect), dialect);
    const verdict = await this.#verdict(attributes, body, key);
    if (verdict === undefined) return;
    for (const [name, value] of Object.entries(verdict.auditAnnotations)) this.#annotate(attributes, name, value);
    if (verdict.allowed) return;
    const { reason } = verdict;
    const why =
      reason === ''
        ? 'one or more images rejected by webhook backend'
        : `image policy webhook backend denied one or more images: ${reason}`;
    throw refusal(attributes, dialect, why);
  }

  /** Undefined: the webhook failed, and the pod is admitted without its answer. Throws 403, and 429 for too many calls. */
  async #verdict(attributes: AdmissionAttributes, body: string, review: string): Promise<ImageVerdict | undefined> {
    const key = createHash('sha256').update(review).digest('base64');
    const remembered = this.#answers.get(key);
    if (remembered !== undefined) return remembered;
    const { backend, dialect } = this.#options;
    try {
      const verdict = verdictIn(await backend.ask(body), dialect);
      if (sizeOf(verdict) <= maxRememberedChars) this.#answers.set(key, verdict);
      return verdict;
    } catch (error) {
      // Too many calls are no failure of the webhook: otherwise a flood of pods would switch the review off.
      if (!(error instanceof WebhookCallError)) throw error;
      this.#failed(attributes, error);
      return undefined;
    }
  }

  #failed(attributes: AdmissionAttributes, err: WebhookCallError): void {
    const { dialect, log, configuration } = this.#options;
    const { namespace, name } = attributes;
    log.warn({ err, namespace, name, admitted: configuration.defaultAllow }, 'the webhook for image reviews failed');
    if (!configuration.defaultAllow) throw failure(err) ?? refusal(attributes, dialect, err.message);
    this.#annotate(attributes, 'failed-open', 'true');
  }

  /** Adds an annotation to the audit event. */
  #annotate({ scope }: AdmissionAttributes, name: string, value: string): void {
    const key = `imagepolicywebhook.${this.#options.dialect.imagePolicy.domain}/${name}`;
    if (isQualifiedName(key)) scope?.context.audit?.annotate(key, value);
    else this.#options.log.warn({ annotation: key }, 'ignoring an audit annotation whose name is not a qualified name');
  }
}

/** Like 1.24, passes the webhook's own refusal on as it is. */
function failure({ code, message }: WebhookCallError): StatusError | undefined {
  if (code !== 403) return undefined;
  const details = { causes: [{ reason: 'UnexpectedServerResponse', message }] };
  const { status } = forbidden({ group: '', resource: '' }, '', message);
  return new StatusError({ ...status, message, details });
}

function sizeOf({ reason, auditAnnotations }: ImageVerdict): number {
  return Object.entries(auditAnnotations).reduce((sum, [key, value]) => sum + key.length + value.length, reason.length);
}
