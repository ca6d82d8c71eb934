/**
 * An API server with objects that carry unique markers, so that a response itself shows which objects it reveals;
 * changes of a request are read from the store and undone.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { realClock } from '#apimachinery/clock.js';
import { type Dialect, orchDialect } from '#apimachinery/dialect.js';
import { buildApiServer } from '#apiserver/build/build.js';
import type { CompleteApiServer } from '#apiserver/build/complete-api-server.js';
import { apiServerOptions } from '#apiserver/options/options.js';
import { type ClusterPki, ensureClusterPki } from '#cluster/pki/cluster-pki.js';
import { silentLogger } from '#daemon/log/logger.js';
import { parseOptions } from '#daemon/options/parse.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import { prefixEnd } from '#storage/sorted-map.js';
import { type Kind, kinds } from '#test/fuzz/access/addresses.js';
import type { Account } from '#test/fuzz/access/policy.js';
import type { State, Stored } from '#test/fuzz/access/state.js';

export const dialect: Dialect = orchDialect;
export const table: readonly Kind[] = kinds(dialect);
export const namespaces = ['tenant', 'victim'] as const;
export const nodeNames = ['n1', 'n2'] as const;
/** Every kind has objects with these names in each namespace. */
export const objectNames = ['mine', 'other'] as const;

const registry = '/registry/';
const root: Account = { name: 'root', groups: [dialect.groups.masters] };
const markerAnnotation = 'acme.example/marker';

/** A request to a node's agent. */
export interface AgentHit {
  readonly node: string;
  readonly path: string;
}

export interface Change {
  /** `resource/namespace/name`. */
  readonly key: string;
  readonly before?: Stored;
  readonly after?: Stored;
}

export interface Reply {
  readonly status: number;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever was asked for
  readonly json: any;
}

export class World {
  readonly server: CompleteApiServer;
  readonly pki: ClusterPki;
  readonly hits: AgentHit[] = [];
  /** Marker → key of its object. */
  readonly markers = new Map<string, string>();
  readonly #state = new Map<string, Stored>();
  readonly #stored = new Map<string, Buffer>();
  readonly #store: MemoryStore;
  readonly #stop: () => Promise<void>;
  #revision = 0n;

  private constructor(parts: {
    server: CompleteApiServer;
    pki: ClusterPki;
    store: MemoryStore;
    stop: () => Promise<void>;
  }) {
    this.server = parts.server;
    this.pki = parts.pki;
    this.#store = parts.store;
    this.#stop = parts.stop;
  }

  get state(): State {
    return this.#state;
  }

  static async start(): Promise<World> {
    const directory = await mkdtemp(join(tmpdir(), 'access-'));
    const store = new MemoryStore({ clock: realClock });
    const pki = await ensureClusterPki(directory, { dialect, names: [], ips: ['10.96.0.1'], now: Date.now() });
    await writeFile(join(directory, 'none.csv'), '');
    const file = (name: string) => join(directory, name);
    const argv = [
      ...['--bind-address', '127.0.0.1', '--advertise-address', '192.0.2.9', '--secure-port', '0'],
      ...['--tls-cert-file', file('apiserver.crt'), '--tls-private-key-file', file('apiserver.key')],
      ...['--client-ca-file', file('ca.crt'), '--requestheader-client-ca-file', file('front-proxy-ca.crt')],
      ...['--requestheader-username-headers', 'X-Remote-User', '--requestheader-group-headers', 'X-Remote-Group'],
      ...['--authorization-mode', 'Node,RBAC', '--enable-admission-plugins', 'NodeRestriction'],
      ...['--service-account-issuer', 'https://api.example', '--service-cluster-ip-range', '10.96.0.0/16'],
      ...['--service-account-signing-key-file', file('sa.key'), '--service-account-key-file', file('sa.pub')],
    ];
    const parsed = parseOptions(apiServerOptions(dialect), argv, { program: 'access' });
    if (parsed.kind !== 'run') throw new Error(JSON.stringify(parsed));
    const base = { dialect, clock: realClock, log: silentLogger, random: Math.random, store, components: [] };
    const server = await buildApiServer({ ...base, values: parsed.values, listenOnAnyPort: true });
    const stopping = new AbortController();
    const work = server.start(stopping.signal);
    await server.ready();
    const agents: Server[] = [];
    const stop = async () => {
      for (const agent of agents) {
        agent.closeAllConnections();
        agent.close();
      }
      stopping.abort();
      await work;
      await store.close();
      await rm(directory, { recursive: true });
    };
    const world = new World({ server, pki, store, stop });
    for (const node of nodeNames) agents.push(await world.#agent(node));
    const ports = agents.map((agent) => (agent.address() as AddressInfo).port);
    await world.#plant(ports);
    await world.settled();
    return world;
  }

  close(): Promise<void> {
    return this.#stop();
  }

  /** Sends a request as an administrator, or as `user`. */
  async ask(method: string, url: string, body?: unknown, user: Account = root): Promise<Reply> {
    const response = await this.server.handler({
      method,
      url,
      headers: { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' },
      body: Buffer.from(body === undefined ? '' : JSON.stringify(body)),
      remoteAddress: '127.0.0.1',
      user,
      signal: new AbortController().signal,
    });
    const parts: Buffer[] = [];
    for await (const part of Buffer.isBuffer(response.body) ? [response.body] : (response.body ?? [])) parts.push(part);
    const text = Buffer.concat(parts).toString();
    return { status: response.status, text, json: text.startsWith('{') ? JSON.parse(text) : undefined };
  }

  /** Throws if the object cannot be created. */
  async make(resource: string, namespace: string, object: Stored): Promise<void> {
    const kind = table.find((each) => each.resource === resource);
    if (kind === undefined) throw new RangeError(resource);
    const url = pathOf(kind, kind.namespaced ? namespace : '');
    const { status, text } = await this.ask('POST', url, object);
    if (status !== 201) throw new Error(`POST ${url}: ${status} ${text}`);
  }

  /** Changes since the last call, of the kinds in this world. */
  async changes(): Promise<Change[]> {
    const revision = await this.#store.currentRevision();
    if (revision === this.#revision) return [];
    this.#revision = revision;
    const { kvs } = await this.#store.range({ start: registry, end: prefixEnd(registry) });
    const changes: Change[] = [];
    const seen = new Set<string>();
    for (const { key: whole, value } of kvs) {
      const key = whole.slice(registry.length);
      if (!isTracked(key)) continue;
      seen.add(key);
      const previous = this.#stored.get(key);
      if (previous?.equals(value)) continue;
      const before = this.#state.get(key);
      const after = JSON.parse(value.toString()) as Stored;
      this.#stored.set(key, value);
      this.#state.set(key, after);
      changes.push({ key, after, ...(before && { before }) });
    }
    for (const [key, before] of this.#state) {
      if (seen.has(key)) continue;
      this.#state.delete(key);
      this.#stored.delete(key);
      changes.push({ key, before });
    }
    return changes;
  }

  /** Restores all objects and waits until the server notices. */
  async undo(changes: readonly Change[]): Promise<void> {
    for (const { key, before } of changes) {
      const whole = registry + key;
      const { kvs } = await this.#store.range({ start: whole, end: `${whole}\0` });
      const present = kvs[0]?.modRevision ?? 0n;
      const value = before === undefined ? undefined : Buffer.from(JSON.stringify(before));
      if (value === undefined) await this.#store.delete(whole, present);
      else if (present === 0n) await this.#store.create(whole, value);
      else await this.#store.update(whole, value, present);
    }
    await this.changes();
    if (changes.some(({ key }) => steers(key))) await this.settled();
  }

  /** Resolves when authorization uses the stored state: a new role is visible after all earlier changes of its kind. */
  async settled(): Promise<void> {
    const name = `settled-${randomUUID()}`;
    const roleRef = { apiGroup: dialect.groupName('rbac'), kind: 'ClusterRole', name };
    const rules = [{ verbs: ['get'], nonResourceURLs: [`/${name}`] }];
    const role = {
      metadata: { name, namespace: 'tenant' },
      rules: [{ verbs: ['get'], apiGroups: [name], resources: [name] }],
    };
    const subjects = [{ kind: 'User', apiGroup: dialect.groupName('rbac'), name }];
    await this.make('clusterroles', '', { metadata: { name }, rules });
    await this.make('roles', 'tenant', role);
    await this.make('clusterrolebindings', '', { metadata: { name }, subjects, roleRef });
    await this.make('rolebindings', 'tenant', { metadata: { name }, subjects, roleRef: { ...roleRef, kind: 'Role' } });
    await this.make('pods', 'tenant', {
      metadata: { name },
      spec: {
        nodeName: name,
        containers: [{ name: 'c', image: 'i', envFrom: [{ secretRef: { name } }] }],
        automountServiceAccountToken: false,
      },
    });
    const review = async (user: string, groups: string[], attributes: object) => {
      const url = `/apis/${dialect.apiVersion('authorization', 'v1')}/subjectaccessreviews`;
      const { json } = await this.ask('POST', url, { spec: { user, groups, ...attributes } });
      return json?.status?.allowed === true;
    };
    const node = `system:node:${name}`;
    const isEffective = async () =>
      (await review(name, [], { nonResourceAttributes: { verb: 'get', path: `/${name}` } })) &&
      (await review(name, [], {
        resourceAttributes: { verb: 'get', group: name, resource: name, namespace: 'tenant', name },
      })) &&
      (await review(node, [dialect.groups.nodes], {
        resourceAttributes: { verb: 'get', resource: 'secrets', namespace: 'tenant', name },
      }));
    for (let i = 0; !(await isEffective()); i += 1) {
      if (i > 5000) throw new Error('the server does not come to know its roles');
      await realClock.sleep(1);
    }
    for (const { group, version, resource, namespaced } of table) {
      if (!['pods', 'rolebindings', 'roles', 'clusterrolebindings', 'clusterroles'].includes(resource)) continue;
      const kind = { group, version, resource, namespaced };
      const grace = resource === 'pods' ? '?gracePeriodSeconds=0' : '';
      await this.ask('DELETE', `${pathOf(kind, namespaced ? 'tenant' : '')}/${name}${grace}`);
    }
    await this.changes();
  }

  #agent(node: string): Promise<Server> {
    const { certificate, privateKey } = this.pki.apiServer;
    const server = createServer({ cert: certificate, key: privateKey }, (request, response) => {
      this.hits.push({ node, path: request.url ?? '' });
      response.end(`an answer of ${node}`);
    });
    server.on('upgrade', (request, socket) => {
      this.hits.push({ node, path: request.url ?? '' });
      socket.on('error', () => socket.destroy());
      socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n');
    });
    return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
  }

  async #plant(agentPorts: readonly number[]): Promise<void> {
    const metadata = (name: string, more: object = {}) => ({
      name,
      annotations: { [markerAnnotation]: `marker-${randomUUID()}` },
      ...more,
    });
    for (const name of namespaces) await this.make('namespaces', '', { metadata: metadata(name) });
    for (const [i, name] of nodeNames.entries()) {
      await this.make('nodes', '', { metadata: metadata(name) });
      await this.ask('PATCH', `/api/v1/nodes/${name}/status`, {
        status: {
          addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
          daemonEndpoints: { kubeletEndpoint: { Port: agentPorts[i] } },
        },
      });
      await this.make('csinodes', '', { metadata: metadata(name), spec: { drivers: [] } });
      await this.make('leases', dialect.namespaces.nodeLease, { metadata: metadata(name), spec: {} });
    }
    for (const namespace of namespaces) {
      await this.make('serviceaccounts', namespace, { metadata: metadata('default') });
      for (const [i, name] of objectNames.entries())
        await this.#plantIn(namespace, name, nodeNames[i] ?? 'n1', metadata);
      // A volume with a secret for each of its operations.
      const volume = `${namespace}-volume`;
      for (const secret of ['publish', 'expand']) await this.make('secrets', namespace, { metadata: metadata(secret) });
      await this.make('persistentvolumes', '', {
        metadata: metadata(volume),
        spec: {
          capacity: { storage: '1Gi' },
          accessModes: ['ReadWriteOnce'],
          claimRef: { namespace, name: 'mine' },
          csi: {
            driver: 'd',
            volumeHandle: 'h',
            nodePublishSecretRef: { namespace, name: 'publish' },
            controllerExpandSecretRef: { namespace, name: 'expand' },
          },
        },
      });
    }
    const everything = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }];
    await this.make('clusterroles', '', { metadata: metadata('strong'), rules: everything });
    await this.make('clusterroles', '', { metadata: metadata('weak'), rules: [] });
    await this.make('clusterroles', '', {
      metadata: metadata('gathered'),
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { gather: 'yes' } }] },
      rules: [],
    });
    await this.changes();
    for (const [key, object] of this.#state) {
      const marker = object['metadata'].annotations?.[markerAnnotation] as string | undefined;
      if (marker !== undefined) this.markers.set(marker, key);
    }
  }

  async #plantIn(
    namespace: string,
    name: string,
    node: string,
    metadata: (name: string, more?: object) => object,
  ): Promise<void> {
    const make = (resource: string, more: object = {}) =>
      this.make(resource, namespace, { metadata: metadata(name), ...more });
    await make('secrets', { stringData: { a: 'b' } });
    await make('configmaps');
    await make('serviceaccounts');
    await make('services', { spec: { ports: [{ port: 80 }], selector: { a: name } } });
    await make('leases', { spec: {} });
    await make('persistentvolumeclaims', {
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    });
    await make('pods', {
      spec: {
        nodeName: node,
        serviceAccountName: name,
        automountServiceAccountToken: false,
        containers: [{ name: 'c', image: 'i', envFrom: [{ secretRef: { name } }, { configMapRef: { name } }] }],
        volumes: [{ name: 'v', persistentVolumeClaim: { claimName: name } }],
      },
    });
    const labels = { a: name };
    await make('deployments', {
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
      },
    });
    await make('roles', { rules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }] });
    const roleRef = { apiGroup: dialect.groupName('rbac'), kind: 'Role', name };
    await make('rolebindings', { subjects: [], roleRef });
  }
}

export function pathOf(
  { group, version, resource }: Pick<Kind, 'group' | 'version' | 'resource'>,
  namespace: string,
): string {
  const prefix = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return `${prefix}${namespace === '' ? '' : `/namespaces/${namespace}`}/${resource}`;
}

const tracked = new Set(table.map(({ resource }) => resource));
/** Objects that the server writes on its own. */
const own = /^(services\/default\/|configmaps\/[^/]*system\/)/;

function isTracked(key: string): boolean {
  return tracked.has(key.split('/')[0] ?? '') && !own.test(key);
}

/** Objects that affect authorization. */
function steers(key: string): boolean {
  return /^(cluster)?role(binding)?s\/|^pods\/|^persistentvolumes\//.test(key);
}
