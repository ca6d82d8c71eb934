/** Connects features to the API server: their endpoints as paths, and their `around` as a step of each request. */
import type { MaybePromise } from '#apimachinery/async/steps.js';
import { badRequest } from '#apimachinery/errors/status.js';
import type { ApiServerSetup } from '#apiserver/build/build.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import type { TestEndpoint, TestFeature, TestMethod } from '#testcluster/feature/feature.js';

type Paths = NonNullable<ApiServerSetup['paths']>;
type Around = NonNullable<ApiServerSetup['around']>;

/** Below this path there are only endpoints of features. */
const testPath = '/test';

/** Handlers by path: one for each endpoint, and `/test` that lists them. */
export function pathsOf(features: readonly TestFeature[]): Paths {
  const endpoints = features.flatMap((feature) => feature.endpoints ?? []);
  const index: TestEndpoint = {
    path: testPath,
    methods: ['GET'],
    handle: async () => ({ endpoints: endpoints.map(({ path, methods }) => ({ path, methods })) }),
  };
  return Object.fromEntries([index, ...endpoints].map((endpoint) => [endpoint.path, handlerOf(endpoint)]));
}

function handlerOf(endpoint: TestEndpoint): (context: RequestContext) => Promise<ApiResponse> {
  return async ({ request, info, signal }) => {
    const method = endpoint.methods.find((each) => each === request.method);
    if (method === undefined) return notAllowed(endpoint.methods);
    const answer = await endpoint.handle({ method, query: info.query, body: bodyOf(request.body), signal });
    return { status: 200, headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify(answer)) };
  };
}

function notAllowed(methods: readonly TestMethod[]): ApiResponse {
  const text = `allowed methods: ${methods.join(', ')}\n`;
  return {
    status: 405,
    headers: { 'content-type': 'text/plain; charset=utf-8', allow: methods.join(', ') },
    body: Buffer.from(text),
  };
}

/** Throws 400 for a body that is no JSON. */
function bodyOf(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw badRequest(`the body is not JSON: ${error.message}`, error);
  }
}

/** The steps of all features, the first feature's outermost; undefined where no feature has one. */
export function aroundOf(features: readonly TestFeature[]): Around | undefined {
  const steps = features.flatMap((feature) => (feature.around === undefined ? [] : [feature.around.bind(feature)]));
  if (steps.length === 0) return undefined;
  return (endpoint) => (context) => {
    const { path } = context.info;
    if (path === testPath || path.startsWith(`${testPath}/`)) return endpoint(context);
    const from = (index: number): MaybePromise<ApiResponse> => {
      const step = steps[index];
      return step === undefined ? endpoint(context) : step(context, () => from(index + 1));
    };
    return from(0);
  };
}

/** Tells all features of work that begins and ends. */
export function beginWorkOf(features: readonly TestFeature[]): (description: string) => () => void {
  return (description) => {
    const ends = features.map((feature) => feature.beginWork?.(description));
    return () => {
      for (const end of ends) end?.();
    };
  };
}
