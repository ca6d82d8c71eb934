/** The endpoint that answers why. Its code is read with the first question. */
import type { AuthorizationParts } from '#apiserver/build/authorization.js';
import type { QuestionParts } from '#apiserver/build/endpoints.js';
import type { ServerEnvironment } from '#apiserver/build/environment.js';
import type { ApiHandler } from '#apiserver/http/exchange.js';
import type { WhyEndpoint } from '#apiserver/insight/why-endpoint.js';
import type { Endpoint } from '#apiserver/pipeline/pipeline.js';

/** `handler`: the server itself, which the endpoint asks for logs. */
export function buildQuestions(
  { dialect, clock, turns }: Pick<ServerEnvironment, 'dialect' | 'clock' | 'turns'>,
  { authorizer, explainer }: Pick<AuthorizationParts, 'authorizer' | 'explainer'>,
  handler: () => ApiHandler,
): (parts: QuestionParts) => Endpoint {
  return ({ resources, responder }) => {
    let loaded: Promise<WhyEndpoint> | undefined;
    const load = async () => {
      const { WhyEndpoint } = await import('#apiserver/insight/why-endpoint.js');
      return new WhyEndpoint({
        ...{ dialect, clock, authorizer, explainer, resources, responder, handler },
        turns: turns.bulk,
      });
    };
    return async (context) => {
      loaded ??= load();
      return (await loaded).serve(context);
    };
  };
}
