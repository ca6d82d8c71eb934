/** Paths that are not served, or not with that method. */
import type { Case, Step } from '#test/integration/apiserver/recorded/step.js';

const paths = [
  '/nope',
  '/ui',
  '/swagger.json',
  '/openapi',
  '/.well-known',
  '/healthz/nope',
  '/metrics/',
  '/version/',
  '/api/',
  '/api/v1/',
  '/api/v2',
  '/api/v1/nothings',
  '/api/v1/namespaces/default/nothings',
  '/api/v1/namespaces/default/pods/x/nothing',
  '/api/v1/namespaces/default/pods/x/status/y',
  '/apis/nope.example.com',
  '/apis/nope.example.com/v1',
  '/apis/nope.example.com/v1/things',
  '/apis/apps/v1/',
  '/apis/apps/v1/nothings',
  '/apis/apps/v9',
  '/apis/apps/v9/deployments',
  '/apis/apps/v1/namespaces/default/deployments/x/scale/y',
];

/** Only the end, since the beginning names the server. */
const changing = new Set(['/version/', '/api/', '/api/v1/', '/apis/apps/v1/']);

export const unknownPaths: Case = {
  name: 'unknown-paths',
  steps: paths.flatMap((path) =>
    (['GET', 'POST', 'DELETE'] as const).map((method): Step => {
      const parts = method === 'GET' && changing.has(path) ? { parts: [['kind']] } : {};
      return { method, path, ...(method === 'POST' ? { body: '{}' } : {}), ...parts };
    }),
  ),
};
