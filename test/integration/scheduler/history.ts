/**
 * A random history of a cluster: nodes and pods come, go, change and end, while two schedulers with leader election are
 * killed, stopped, frozen and restarted. A model checks the result by the API's own history.
 */
import { namespaces, nodes, pods, serviceaccounts } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { priorityclasses } from '#api/scheduling/v1/resources.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import type { Client } from '#client/client.js';
import { type Lifetime, own, startApiServer } from '#test/integration/peers/implementations.js';
import { type Change, Model, milli } from '#test/integration/scheduler/model.js';
import { RestartableProcess } from '#test/integration/scheduler/restartable-process.js';

export interface HistoryOptions {
  readonly seed: number;
  /** Duration of random events. */
  readonly forMs: number;
  /** Time limit for binding everything that fits after the last event. */
  readonly settleMs: number;
}

export interface HistoryResult {
  /** Violations by schedulers, and pods left pending although they fit. */
  readonly findings: readonly string[];
  readonly bindings: number;
  /** Number of evicted pods. */
  readonly evictions: number;
  /** Number of pods without room in the end. */
  readonly waiting: number;
  /** Number of events by kind. */
  readonly happened: Readonly<Record<string, number>>;
  readonly log: string;
}

const namespace = 'default';
const where = { namespace };
const leaseMs = 3000;
/** With many more pods than room, a long history would consist of refusals only. */
const maxPods = 250;

/** Runs one history; its processes end with `lifetime`. */
export async function runHistory(lifetime: Lifetime, options: HistoryOptions): Promise<HistoryResult> {
  const server = await startApiServer(lifetime, own('orch-apiserver'));
  const { client } = server;
  await client.resource(namespaces).get(namespace);
  await client.resource(serviceaccounts).create({ metadata: { name: 'default', namespace } });
  const classes = client.resource(priorityclasses);
  await classes.create({ metadata: { name: 'urgent' }, value: 1000 });
  await classes.create({ metadata: { name: 'high' }, value: 100 });
  await classes.create({ metadata: { name: 'polite' }, value: 100, preemptionPolicy: 'Never' });
  const model = new Model();
  const changes: Change[] = [];
  const stop = new AbortController();
  lifetime.teardown(() => stop.abort());
  const from = (await client.resource(pods).list({ ...where, limit: 1 })).metadata?.resourceVersion ?? '';
  const history = { from, changes, signal: stop.signal };
  const following = [nodes, pods].map((type) =>
    // Without these watches there is no history to check.
    follow(client, type, history).catch((error: unknown) => stop.abort(error)),
  );
  const schedulers = [0, 1].map(
    () =>
      new RestartableProcess(() =>
        server.startScheduler(
          own('orch-scheduler'),
          0,
          `--leader-elect-lease-duration=${leaseMs / 1000}s`,
          '--leader-elect-renew-deadline=2s',
          '--leader-elect-retry-period=500ms',
        ),
      ),
  );
  const world = new World(client, schedulers, seededRandom(options.seed));
  for (let i = 0; i < 6; i++) await world.addNode();
  await world.fill();
  // Wait until the schedulers work, so that all events affect working schedulers.
  const isBound = ({ object }: Change) => 'nodeName' in (object.spec ?? {});
  for (const until = clock.monotonic() + options.settleMs; !changes.some(isBound); await clock.sleep(50)) {
    stop.signal.throwIfAborted();
    if (clock.monotonic() > until) throw new Error(`no scheduler binds: ${server.log().slice(-4000)}`);
  }
  const happen = async (forMs: number) => {
    for (const until = clock.monotonic() + forMs; clock.monotonic() < until; ) {
      stop.signal.throwIfAborted();
      await world.step(changes);
    }
  };
  await happen(options.forMs / 2);
  await world.killAll();
  await world.crowd(changes, options.settleMs, stop.signal);
  await happen(options.forMs / 2);
  for (const scheduler of schedulers) await scheduler.recover();

  // Apply the events of both watches in the order of their revisions.
  const look = async (): Promise<string[]> => {
    await caughtUp(client, changes, stop.signal);
    const seen = changes.splice(0).sort((a, b) => revisionOf(a) - revisionOf(b));
    for (const change of seen) model.apply(change);
    await world.letGo(seen);
    return model.waitingThoughTheyFit();
  };
  let waiting = await look();
  for (const until = clock.monotonic() + options.settleMs; clock.monotonic() < until; ) {
    if (waiting.length === 0) break;
    await clock.sleep(500);
    // Schedulers may lose their lease on a busy machine and exit.
    for (const scheduler of schedulers) scheduler.revive();
    waiting = await look();
  }
  stop.abort();
  await Promise.all(following);
  const left = waiting.map((name) => `${name} fits and still waits`);
  const { bindings, evictions, findings } = model;
  return {
    findings: [...findings, ...left],
    bindings,
    evictions,
    waiting: model.waiting,
    happened: Object.fromEntries(world.happened),
    log: server.log(),
  };
}

const revisionOf = ({ object }: Change) => Number(object.metadata.resourceVersion);

/** Records all changes of objects of a type after the revision. */
async function follow(
  client: Client,
  type: typeof nodes | typeof pods,
  { from, changes, signal }: { readonly from: string; readonly changes: Change[]; readonly signal: AbortSignal },
): Promise<void> {
  const resource = client.resource<Change['object']>(type as never);
  let resourceVersion = from;
  while (!signal.aborted) {
    for await (const { type, object } of resource.watch({ resourceVersion, signal })) {
      resourceVersion = object.metadata.resourceVersion ?? resourceVersion;
      if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED') changes.push({ type, object });
    }
  }
}

/** Resolves when both watches have shown objects created now, and so everything before. */
async function caughtUp(client: Client, changes: readonly Change[], signal: AbortSignal): Promise<void> {
  const name = `mark-${clock.monotonic().toFixed(0)}`;
  const node = await client.resource(nodes).create({ metadata: { name }, spec: { unschedulable: true } });
  // For another scheduler, so that ours ignore it.
  const spec = { schedulerName: 'other', containers: [{ name: 'c', image: 'i' }] };
  const pod = await client.resource(pods).create({ metadata: { name, namespace }, spec });
  await client.resource(pods).delete(name, { ...where, gracePeriodSeconds: 0 });
  await client.resource(nodes).delete(name);
  const uids = [node.metadata.uid, pod.metadata.uid];
  const gone = () => changes.filter(({ type, object }) => type === 'DELETED' && uids.includes(object.metadata.uid));
  for (const until = clock.monotonic() + 60_000; clock.monotonic() < until; await clock.sleep(20)) {
    signal.throwIfAborted();
    if (gone().length === 2) return;
  }
  throw new Error('the watches stand still');
}

class World {
  readonly happened = new Map<string, number>();
  readonly #client: Client;
  readonly #schedulers: readonly RestartableProcess[];
  readonly #random: () => number;
  readonly #nodes: string[] = [];
  readonly #pods: string[] = [];
  /** UIDs of pods that their nodes have removed. */
  readonly #gone = new Set<string>();
  #createdNodes = 0;

  constructor(client: Client, schedulers: readonly RestartableProcess[], random: () => number) {
    this.#client = client;
    this.#schedulers = schedulers;
    this.#random = random;
  }

  /** Makes one random event happen. */
  async step(changes: readonly Change[]): Promise<void> {
    const things: readonly [chance: number, name: string, happen: () => Promise<void>][] = [
      [this.#pods.length < maxPods ? 45 : 5, 'pod comes', () => this.#addPod()],
      [18, 'pod goes', () => this.#removePod(this.#pick(this.#pods))],
      [14, 'pod ends', () => this.#endPod()],
      [8, 'nodes let go', () => this.letGo(changes)],
      [7, 'node is cordoned or not', () => this.#cordon()],
      [3, 'node grows', () => this.#grow()],
      [2, 'node comes', () => this.addNode()],
      [1, 'node goes', () => this.#removeNode()],
      [2, 'scheduler is killed or started', () => this.#one(this.#schedulers).toggle('SIGKILL')],
      [1, 'scheduler is ended or started', () => this.#one(this.#schedulers).toggle('SIGTERM')],
      [0.5, 'scheduler is frozen', () => this.#freeze()],
    ];
    let at = this.#random() * things.reduce((sum, [chance]) => sum + chance, 0);
    for (const [chance, name, happen] of things) {
      at -= chance;
      if (at >= 0) continue;
      this.#count(name);
      await happen().catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
      break;
    }
    await clock.sleep(this.#random() * 20);
  }

  /** Kills all schedulers at once, in the middle of their work. */
  async killAll(): Promise<void> {
    this.#count('all schedulers are killed');
    await Promise.all(this.#schedulers.map((scheduler) => scheduler.replace()));
  }

  /** Fills the nodes with unimportant pods. */
  async fill(): Promise<void> {
    for (const _ of this.#nodes) {
      for (let i = 0; i < 2; i++) await this.#addPod({}, { cpu: '700m', memory: '64Mi' });
    }
  }

  /** Adds important pods until one evicts another. */
  async crowd(changes: readonly Change[], forMs: number, signal: AbortSignal): Promise<void> {
    this.#count('important pods come');
    const [open = ''] = this.#nodes;
    await this.#client.resource(nodes).patch(open, { spec: { unschedulable: false } }, { type: 'merge' });
    const from = changes.length;
    const isEvicted = ({ type, object }: Change) =>
      type === 'MODIFIED' && object.metadata.deletionTimestamp !== undefined;
    for (const until = clock.monotonic() + forMs; !changes.slice(from).some(isEvicted); await clock.sleep(100)) {
      signal.throwIfAborted();
      if (clock.monotonic() > until) throw new Error('no pod is evicted');
      // Schedulers may lose their lease on a busy machine and exit.
      for (const scheduler of this.#schedulers) scheduler.revive();
      await this.#addPod({}, { cpu: '100m', memory: '32Mi' });
      // Small pods, since the room of one evicted large pod would fit several important ones without further evictions.
      await this.#addPod({ priorityClassName: 'urgent' }, { cpu: '100m', memory: '32Mi' });
    }
  }

  /** Removes deleted pods, as their node agents would. */
  async letGo(changes: readonly Change[]): Promise<void> {
    for (const { type, object } of changes) {
      const { deletionTimestamp, name = '', uid = '' } = object.metadata;
      if (type !== 'MODIFIED' || deletionTimestamp === undefined || this.#gone.has(uid)) continue;
      this.#gone.add(uid);
      const options = { ...where, gracePeriodSeconds: 0, preconditions: { uid } };
      await this.#client
        .resource(pods)
        .delete(name, options)
        .catch((error: unknown) => {
          if (!isNotFound(error)) throw error;
        });
    }
  }

  #count(name: string): void {
    this.happened.set(name, (this.happened.get(name) ?? 0) + 1);
  }

  async addNode(): Promise<void> {
    // Names are never reused, since nodes only grow in the model.
    const name = `n${this.#createdNodes++}`;
    const api = this.#client.resource(nodes);
    await api.create({ metadata: { name, labels: { 'kubernetes.io/hostname': name } }, spec: {} });
    const room = { cpu: '2000m', memory: '2048Mi', pods: String(4 + Math.floor(this.#random() * 10)) };
    const status = { allocatable: room, capacity: room };
    await api.patch(name, { status }, { type: 'merge', subresource: 'status' });
    // Remove the taint of new nodes, since no controller does.
    await api.patch(name, { spec: { taints: [] } }, { type: 'merge' });
    this.#nodes.push(name);
  }

  async #addPod(spec: Partial<Pod['spec']> = this.#importance(), requested?: Record<string, string>): Promise<void> {
    const name = `p${this.#createdNodes++}`;
    this.#pods.push(name);
    const kind = this.#random();
    const app = `app-${Math.floor(this.#random() * 4)}`;
    const labelSelector = { matchLabels: { app } };
    const term = { topologyKey: 'kubernetes.io/hostname', labelSelector };
    const apart = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
    const port = 8080 + Math.floor(this.#random() * 3);
    const requests = requested ?? {
      cpu: `${50 * Math.ceil(this.#random() * 16)}m`,
      memory: `${32 * Math.ceil(this.#random() * 16)}Mi`,
    };
    const ports = kind < 0.2 ? { ports: [{ containerPort: port, hostPort: port }] } : {};
    const pod: Pod = {
      metadata: { name, namespace, labels: { app: kind > 0.8 ? app : 'plain' } },
      spec: {
        containers: [{ name: 'c', image: 'i', resources: { requests }, ...ports }],
        ...(kind > 0.8 ? { affinity: apart } : {}),
        ...spec,
      },
    };
    await this.#client.resource(pods).create(pod);
  }

  #importance(): Partial<Pod['spec']> {
    const kind = this.#random();
    if (kind < 0.15) return { priorityClassName: 'high' };
    return kind < 0.2 ? { priorityClassName: 'polite' } : {};
  }

  async #removePod(name: string | undefined): Promise<void> {
    if (name === undefined) return;
    this.#pods.splice(this.#pods.indexOf(name), 1);
    await this.#client.resource(pods).delete(name, { ...where, gracePeriodSeconds: 0 });
  }

  async #endPod(): Promise<void> {
    const name = this.#pick(this.#pods);
    if (name === undefined) return;
    const api = this.#client.resource(pods);
    const pod = await api.get(name, where);
    if ((pod.spec.nodeName ?? '') === '') return;
    const phase = this.#random() < 0.5 ? 'Succeeded' : 'Failed';
    await api.patch(name, { status: { phase } }, { ...where, type: 'merge', subresource: 'status' });
  }

  async #cordon(): Promise<void> {
    const name = this.#pick(this.#nodes);
    if (name === undefined) return;
    const spec = { unschedulable: this.#random() < 0.25 };
    await this.#client.resource(nodes).patch(name, { spec }, { type: 'merge' });
  }

  async #grow(): Promise<void> {
    const name = this.#pick(this.#nodes);
    if (name === undefined) return;
    const api = this.#client.resource(nodes);
    const { status } = await api.get(name);
    const cpu = `${milli(String(status?.allocatable?.['cpu'])) + 500}m`;
    const more = { allocatable: { cpu }, capacity: { cpu } };
    await api.patch(name, { status: more }, { type: 'merge', subresource: 'status' });
  }

  async #removeNode(): Promise<void> {
    if (this.#nodes.length <= 4) return;
    const name = this.#pick(this.#nodes);
    if (name === undefined) return;
    this.#nodes.splice(this.#nodes.indexOf(name), 1);
    await this.#client.resource(nodes).delete(name);
  }

  /** Freezes a scheduler until another leads; it continues its work when it wakes up. */
  async #freeze(): Promise<void> {
    const scheduler = this.#one(this.#schedulers);
    scheduler.freeze();
    const until = clock.monotonic() + leaseMs + 1500;
    while (clock.monotonic() < until) {
      await this.#addPod();
      await clock.sleep(this.#random() * 100);
    }
    scheduler.thaw();
  }

  #pick<T>(from: readonly T[]): T | undefined {
    return from[Math.floor(this.#random() * from.length)];
  }

  #one<T>(from: readonly T[]): T {
    const item = this.#pick(from);
    if (item === undefined) throw new RangeError('nothing to choose from');
    return item;
  }
}
