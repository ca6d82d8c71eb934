/**
 * A third-party API server as a separate program: it keeps `flavors` in memory, takes the user from the headers of the front
 * proxy, and asks the cluster whether that user may. Arguments: the client config, and the files of its certificate and key.
 * Prints its port.
 */
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { configmaps } from '#api/core/v1/resources.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { connect } from '#client/rest/client-config.js';

const group = 'sample.example.com';
const apiVersion = `${group}/v1`;
const [config = '', cert = '', key = ''] = process.argv.slice(2);
const client = connect(await loadKubeconfig(config, { clock, env: {} }), { dialect, clock });

interface Flavor {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace: string; uid?: string; resourceVersion?: string; creationTimestamp?: string };
}

interface Watcher {
  readonly namespace: string;
  readonly name: string | undefined;
  tell(type: string, object: Flavor): void;
}

const flavors = new Map<string, Flavor>();
const watchers = new Set<Watcher>();
let version = 1;

const settings = await client
  .resource(configmaps)
  .get('extension-apiserver-authentication', { namespace: dialect.namespaces.system });
const setting = (name: string) => settings.data?.[name] ?? '';
const allowedNames = JSON.parse(setting('requestheader-allowed-names')) as string[];
const [userHeader = 'X-Remote-User'] = JSON.parse(setting('requestheader-username-headers')) as string[];
const [groupHeader = 'X-Remote-Group'] = JSON.parse(setting('requestheader-group-headers')) as string[];

const server = createServer(
  {
    cert: readFileSync(cert),
    key: readFileSync(key),
    ca: setting('requestheader-client-ca-file'),
    requestCert: true,
    rejectUnauthorized: true,
  },
  (request, response) => {
    answer(request, response).catch((error: unknown) => fail(response, 500, String(error)));
  },
);
server.listen(0, 'localhost', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
process.once('SIGTERM', () => process.exit(0));

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const peer = (request.socket as TLSSocket).getPeerCertificate().subject.CN;
  // An empty list allows every certificate of the authority.
  if (allowedNames.length > 0 && !allowedNames.includes(String(peer))) return fail(response, 401, 'Unauthorized');
  const url = new URL(request.url ?? '/', 'https://sample');
  if (url.pathname === `/apis/${apiVersion}`) return send(response, 200, discovery);
  const document = documents[url.pathname];
  if (document !== undefined) return send(response, 200, document);
  const match = /^\/apis\/sample\.example\.com\/v1(?:\/namespaces\/([^/]+))?\/flavors(?:\/([^/]+))?$/.exec(
    url.pathname,
  );
  if (match === null) return fail(response, 404, 'the server could not find the requested resource');
  const [, namespace = '', ownName] = match;
  const named = /^metadata\.name=(.+)$/.exec(url.searchParams.get('fieldSelector') ?? '');
  const name = ownName ?? named?.[1];
  const watches = ['1', 'true'].includes(url.searchParams.get('watch') ?? '');
  const verb = verbOf(request.method ?? '', ownName, watches);
  const user = String(request.headers[userHeader.toLowerCase()] ?? '');
  const groups = valuesOf(request, groupHeader);
  if (!(await mayDo({ user, groups }, { verb, namespace, name }))) {
    return fail(response, 403, `flavors.${group} is forbidden: User "${user}" cannot ${verb} it`);
  }
  switch (verb) {
    case 'watch':
      return watch(response, { namespace, name });
    case 'list': {
      const items = [...flavors.values()].filter((each) => isIn(each, namespace, name));
      return send(response, 200, {
        apiVersion,
        kind: 'FlavorList',
        metadata: { resourceVersion: String(version) },
        items,
      });
    }
    case 'create':
      return create(response, JSON.parse(await bodyOf(request)) as Flavor, namespace);
    default: {
      const flavor = flavors.get(`${namespace}/${name}`);
      if (flavor === undefined) return fail(response, 404, `flavors.${group} "${name}" not found`, 'NotFound');
      if (verb === 'delete') {
        flavors.delete(`${namespace}/${name}`);
        flavor.metadata.resourceVersion = String(++version);
        tell('DELETED', flavor);
      }
      return send(response, 200, flavor);
    }
  }
}

function verbOf(method: string, name: string | undefined, watches: boolean): string {
  if (method === 'POST') return 'create';
  if (method === 'DELETE') return 'delete';
  if (watches) return 'watch';
  return name === undefined ? 'list' : 'get';
}

async function mayDo(
  { user, groups }: { user: string; groups: string[] },
  what: { verb: string; namespace: string; name: string | undefined },
): Promise<boolean> {
  const review = {
    apiVersion: dialect.apiVersion('authorization', 'v1'),
    kind: 'SubjectAccessReview',
    spec: { user, groups, resourceAttributes: { group, version: 'v1', resource: 'flavors', ...what } },
  };
  const path = `/apis/${review.apiVersion}/subjectaccessreviews`;
  const answer = (await client.request('POST', path, review)) as { status?: { allowed?: boolean } };
  return answer.status?.allowed === true;
}

function create(response: ServerResponse, flavor: Flavor, namespace: string): void {
  const path = `${namespace}/${flavor.metadata.name}`;
  if (flavors.has(path))
    return fail(response, 409, `flavors.${group} "${flavor.metadata.name}" already exists`, 'AlreadyExists');
  const resourceVersion = String(++version);
  const metadata = {
    ...flavor.metadata,
    namespace,
    uid: `uid-${resourceVersion}`,
    resourceVersion,
    creationTimestamp: new Date().toISOString().replace(/\.\d+/, ''),
  };
  const created = { ...flavor, metadata };
  flavors.set(path, created);
  tell('ADDED', created);
  send(response, 201, created);
}

function watch(response: ServerResponse, { namespace, name }: { namespace: string; name: string | undefined }): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  const watcher: Watcher = {
    namespace,
    name,
    tell: (type, object) => response.write(`${JSON.stringify({ type, object })}\n`),
  };
  watchers.add(watcher);
  response.once('close', () => watchers.delete(watcher));
}

function tell(type: string, flavor: Flavor): void {
  for (const watcher of watchers) if (isIn(flavor, watcher.namespace, watcher.name)) watcher.tell(type, flavor);
}

function isIn({ metadata }: Flavor, namespace: string, name: string | undefined): boolean {
  return (namespace === '' || metadata.namespace === namespace) && (name === undefined || metadata.name === name);
}

const discovery = {
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion: apiVersion,
  resources: [
    {
      name: 'flavors',
      singularName: 'flavor',
      namespaced: true,
      kind: 'Flavor',
      verbs: ['create', 'delete', 'get', 'list', 'watch'],
    },
  ],
};

const schemaName = 'com.example.sample.v1.Flavor';
const schemas = {
  [schemaName]: {
    type: 'object',
    description: 'Something to taste.',
    properties: {
      // Older clients refuse fields that are missing here.
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      taste: { type: 'string', description: 'What it tastes like.' },
    },
    'x-kubernetes-group-version-kind': [{ group, version: 'v1', kind: 'Flavor' }],
  },
};
const operation = {
  operationId: 'readFlavor',
  'x-kubernetes-action': 'get',
  'x-kubernetes-group-version-kind': { group, version: 'v1', kind: 'Flavor' },
};
/** Clients look here to learn whether the server validates fields. */
const patch = { ...operation, operationId: 'patchFlavor', 'x-kubernetes-action': 'patch' };
const fieldValidation = { name: 'fieldValidation', in: 'query', uniqueItems: true };
const flavorPath = `/apis/${apiVersion}/namespaces/{namespace}/flavors/{name}`;
const info = { title: 'sample', version: '1' };
const documents: Readonly<Record<string, object>> = {
  '/openapi/v2': {
    swagger: '2.0',
    info,
    paths: {
      [flavorPath]: {
        get: {
          ...operation,
          responses: { 200: { description: 'OK', schema: { $ref: `#/definitions/${schemaName}` } } },
        },
      },
    },
    definitions: schemas,
  },
  '/openapi/v3': {
    paths: { [`apis/${apiVersion}`]: { serverRelativeURL: `/openapi/v3/apis/${apiVersion}?hash=1F` } },
  },
  [`/openapi/v3/apis/${apiVersion}`]: {
    openapi: '3.0.0',
    info,
    paths: {
      [flavorPath]: {
        get: { ...operation, responses: { 200: { description: 'OK' } } },
        patch: {
          ...patch,
          parameters: [{ ...fieldValidation, schema: { type: 'string' } }],
          responses: { 200: { description: 'OK' } },
        },
      },
    },
    components: { schemas },
  },
};

function valuesOf(request: IncomingMessage, name: string): string[] {
  const { rawHeaders } = request;
  return rawHeaders.flatMap((each, i) =>
    i % 2 === 0 && each.toLowerCase() === name.toLowerCase() ? [rawHeaders[i + 1] ?? ''] : [],
  );
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  return Buffer.concat(parts).toString();
}

function send(response: ServerResponse, code: number, value: unknown): void {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

function fail(response: ServerResponse, code: number, message: string, reason?: string): void {
  send(response, code, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code });
}
