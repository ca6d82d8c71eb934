/** A real conversion webhook for custom objects, which may also return wrong objects or be down. */
import type { ServerResponse } from 'node:http';
import type { Test } from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { sendJson, startWebhook, type WebhookServer } from '#apiserver/webhooks/testing/webhook-server.js';
import { startWebhookCluster, type WebhookCluster } from '#test/integration/apiserver/webhooks/cluster.js';

// biome-ignore lint/suspicious/noExplicitAny: as the wire has it
export type Any = any;

export const group = 'web.example.com';
export const at = (version: string, name = '') =>
  `/apis/${group}/${version}/namespaces/default/sites${name && `/${name}`}`;

const common = { note: { type: 'string' }, replicas: { type: 'integer' } };

/** v1 has `host: "a:80"`, v2 `host` and `port`, and v3 has both in `address`. */
const fields: Readonly<Record<string, object>> = {
  v1: { host: { type: 'string' }, ...common },
  v2: { host: { type: 'string' }, port: { type: 'string' }, ...common },
  v3: { address: { type: 'object', properties: { host: { type: 'string' }, port: { type: 'string' } } }, ...common },
};

/** Converts by way of one version, as such webhooks usually do. */
function convert({ spec, ...object }: Any, apiVersion: string): Any {
  const { host, port, address, note, replicas } = spec ?? {};
  const [first, second] = address === undefined ? [host, port] : [address.host, address.port];
  const [name, number] = second === undefined ? (first ?? '').split(':') : [first, second];
  const others = { note, replicas };
  const specs: Record<string, object> = {
    v1: { host: name ? [name, number].filter(Boolean).join(':') : undefined, ...others },
    v2: { host: name || undefined, port: number, ...others },
    v3: { address: name ? { host: name, port: number } : undefined, ...others },
  };
  return { ...object, apiVersion, spec: { ...specs[apiVersion.split('/')[1] ?? ''], unknown: 1 } };
}

const success = { status: 'Success' };

/** A review's answer with all objects converted. */
export function converted({ apiVersion, kind, request }: Any): Any {
  const { uid, objects, desiredAPIVersion } = request;
  const convertedObjects = objects.map((object: Any) => convert(object, desiredAPIVersion));
  return { apiVersion, kind, response: { uid, result: success, convertedObjects } };
}

export interface Hook {
  readonly server: WebhookServer;
  readonly requests: Any[];
  answer: (review: Any, response: ServerResponse) => void;
}

export const honest: Hook['answer'] = (review, response) => sendJson(response, converted(review));

async function startHook(t: Test): Promise<Hook> {
  const requests: Any[] = [];
  const server = await startWebhook(t, (text, response) => {
    const review = JSON.parse(text);
    requests.push(review);
    hook.answer(review, response);
  });
  const hook: Hook = { server, requests: requests, answer: honest };
  return hook;
}

const status = { type: 'object', properties: { ready: { type: 'string' }, replicas: { type: 'integer' } } };

export function definition({ server }: Hook, reviews: readonly string[], stored = 'v1') {
  const versions = ['v1', 'v2', 'v3'].map((name) => ({
    name,
    served: true,
    storage: name === stored,
    schema: {
      openAPIV3Schema: {
        type: 'object',
        properties: { spec: { type: 'object', properties: fields[name] }, status },
      },
    },
    subresources: { status: {}, scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } },
  }));
  const clientConfig = { url: `https://localhost:${server.port}/convert`, caBundle: server.caBundle };
  return {
    metadata: { name: `sites.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'sites', kind: 'Site' },
      versions,
      conversion: { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: reviews } },
    },
  };
}

export const site = (version: string, name: string, spec: object) => ({
  apiVersion: `${group}/${version}`,
  kind: 'Site',
  metadata: { name },
  spec,
});

export async function setUp(t: Test, dialect: Dialect, reviews: readonly string[]): Promise<[WebhookCluster, Hook]> {
  const cluster = await startWebhookCluster(t, dialect);
  const hook = await startHook(t);
  const path = `/apis/${dialect.apiVersion('apiextensions', 'v1')}/customresourcedefinitions`;
  t.equal((await cluster.send('POST', path, definition(hook, reviews))).status, 201);
  while ((await cluster.send('GET', `/apis/${group}/v2/sites`)).status !== 200) await clock.sleep(5);
  return [cluster, hook];
}
