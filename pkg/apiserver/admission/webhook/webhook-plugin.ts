/** What the plugins of both kinds of webhooks have in common. */
import type { AdmissionAttributes, AdmissionScope } from '#apiserver/admission/admission.js';
import { refusal } from '#apiserver/admission/refusal.js';
import type { WebhookEnvironment } from '#apiserver/admission/webhook/asking.js';
import type { WebhookConfiguration } from '#apiserver/admission/webhook/compiled-webhook.js';
import { isExempt } from '#apiserver/admission/webhook/exempt.js';
import type { Concerned, WebhookSource } from '#apiserver/admission/webhook/webhook-source.js';

export abstract class WebhookPlugin<T extends WebhookConfiguration> {
  protected readonly environment: WebhookEnvironment;
  readonly #source: WebhookSource<T>;

  constructor(source: WebhookSource<T>, environment: WebhookEnvironment) {
    this.#source = source;
    this.environment = environment;
  }

  start(signal: AbortSignal): void {
    this.#source.start(signal);
  }

  handles(attributes: AdmissionAttributes): boolean {
    const { scope } = attributes;
    return scope !== undefined && this.#source.mayConcern(scope) && !isExempt(attributes);
  }

  /** Throws 403 while it is not known which webhooks there are. */
  protected async concerned(attributes: AdmissionAttributes, scope: AdmissionScope): Promise<Concerned> {
    if (await this.#source.waitReady()) return this.#source.concerned(scope);
    throw refusal(attributes, this.environment.dialect, 'not yet ready to handle request');
  }
}
