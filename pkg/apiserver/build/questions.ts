/** The endpoint that answers why. Its code is read some time after the start, or with the first question. */
import { pods } from '#api/core/v1/resources.gen.js';
import type { AuthorizationParts } from '#apiserver/build/authorization.js';
import type { QuestionParts } from '#apiserver/build/endpoints.js';
import type { ServerEnvironment } from '#apiserver/build/environment.js';
import type { ApiHandler } from '#apiserver/http/exchange.js';
import type { WhyEndpoint } from '#apiserver/insight/why-endpoint.js';
import type { Endpoint } from '#apiserver/pipeline/pipeline.js';
import { prepareSelection } from '#apiserver/registry/selectors.js';

/** From the readiness of the server until it prepares for questions: the start of a cluster needs the processor first. */
const restMs = 3000;

export interface QuestionsSetup {
  readonly environment: Pick<ServerEnvironment, 'dialect' | 'clock' | 'turns' | 'log'>;
  readonly authorization: Pick<AuthorizationParts, 'authorizer' | 'explainer'>;
  /** The server itself, which the endpoint asks for logs. */
  readonly handler: () => ApiHandler;
}

export class Questions {
  readonly #setup: QuestionsSetup;
  #parts: QuestionParts | undefined;
  #loaded: Promise<WhyEndpoint> | undefined;

  constructor(setup: QuestionsSetup) {
    this.#setup = setup;
  }

  endpoint(parts: QuestionParts): Endpoint {
    this.#parts = parts;
    return async (context) => (await this.#endpoint(parts)).serve(context);
  }

  /**
   * Does what the first question would wait for: loads the code, and reads what selectors compare of each pod, as the list of a
   * node's pods does. Resolves when the signal has aborted, or earlier. Never rejects: the server can do without.
   */
  async prepare(signal: AbortSignal): Promise<void> {
    const { clock, turns, log } = this.#setup.environment;
    await clock.sleep(restMs, signal);
    const parts = this.#parts;
    if (signal.aborted || parts === undefined) return;
    try {
      await this.#endpoint(parts);
      const resource = parts.resources.find('', pods.version, pods.resource);
      if (resource !== undefined) await prepareSelection(resource, turns.bulk, signal);
    } catch (error) {
      log.warn({ err: error }, 'cannot prepare for questions why; the first one takes longer');
    }
  }

  #endpoint(parts: QuestionParts): Promise<WhyEndpoint> {
    if (this.#loaded !== undefined) return this.#loaded;
    const loading = this.#load(parts);
    this.#loaded = loading;
    // The next question tries again.
    loading.catch(() => {
      this.#loaded = undefined;
    });
    return loading;
  }

  async #load({ resources, responder }: QuestionParts): Promise<WhyEndpoint> {
    const { environment, authorization, handler } = this.#setup;
    const { dialect, clock, turns } = environment;
    const { authorizer, explainer } = authorization;
    const { WhyEndpoint } = await import('#apiserver/insight/why-endpoint.js');
    return new WhyEndpoint({
      ...{ dialect, clock, authorizer, explainer, resources, responder, handler },
      turns: turns.bulk,
    });
  }
}
