/** All controllers and simulated nodes against a real API server in this process. */
import { Registry } from 'prom-client';
import type { Test } from 'tap';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { formatTime, realClock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { isConflict, isNotFound, statusOf } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import { ApiEventRecorder } from '#client/events/recorder.js';
import { InProcessTransport } from '#client/rest/in-process-transport.js';
import { RestClient } from '#client/rest/rest-client.js';
import { targetNode } from '#controllers/daemonset/placement.js';
import { ControllerManager } from '#controllers/manager.js';
import { type ControllerManagerValues, controllerManagerValues } from '#controllers/options/options.js';
import { constant } from '#daemon/certificates/followed-file.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import type { FeatureGateName } from '#daemon/options/groups/feature-gate-table.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import type { Store } from '#storage/store.js';
import { startServer } from '#test/integration/apiserver/server.js';

const clock = realClock;
const random = Math.random;

export interface ClusterOptions {
  readonly dialect: Dialect;
  /** The value of `--feature-gates`, also for the API server. */
  readonly gates?: Readonly<Record<string, boolean>>;
  /** `--controllers`; by default all. */
  readonly controllers?: readonly string[];
  /** Further options of the manager. */
  readonly values?: Partial<ControllerManagerValues>;
  /** By default in memory. */
  readonly store?: Store;
}

/** Starts an API server and a controller manager until the end of the test. Resolves when the controllers are ready. */
export async function startCluster(t: Test, options: ClusterOptions): Promise<Client> {
  const { dialect, gates = {}, controllers = ['*'], values = {}, store } = options;
  const features = new FeatureGates(gates);
  const api = await startServer(t, {
    dialect,
    dependencies: { gate: (name) => features.enabled(name as FeatureGateName) },
    ...(store === undefined ? {} : { store }),
  });
  const user = { name: 'tester', groups: [dialect.groups.masters] };
  const client = new RestClient({ transport: new InProcessTransport({ handler: api.handler, user }), dialect, clock });
  await runManager(t, { client, dialect, gates, controllers, values });
  t.teardown(() => client.close());
  return client;
}

export interface ManagerOptions extends Pick<ClusterOptions, 'dialect' | 'gates' | 'controllers' | 'values'> {
  readonly client: Client;
  /** Makes a controller's client; by default `client`. */
  readonly clientFor?: (controller: string) => Client;
}

/**
 * Starts a controller manager for a running server until the end of the test. Resolves when the controllers are ready, with
 * a function that stops it earlier.
 */
export async function runManager(t: Test, options: ManagerOptions): Promise<() => Promise<void>> {
  const { client, clientFor, dialect, gates = {}, controllers = ['*'], values = {} } = options;
  const recorder = new ApiEventRecorder({ client, source: { component: 'test' }, clock, random, log });
  const manager = new ControllerManager(
    controllerManagerValues(dialect, { 'leader-elect': false, 'feature-gates': gates, controllers, ...values }),
    {
      client,
      ...(clientFor === undefined ? {} : { clientFor }),
      dialect,
      clock,
      random,
      log,
      events: () => recorder,
      metrics: new Registry(),
      rootCA: constant('the root CA'),
    },
  );
  const stop = new AbortController();
  const running = manager.start(stop.signal);
  const end = async () => {
    stop.abort();
    await running;
    await manager.close();
    await recorder.close();
  };
  t.teardown(end);
  await manager.ready();
  return end;
}

/** Retries, because a server on a busy machine may time out. */
export function isBusy(error: unknown): boolean {
  const code = statusOf(error)?.code ?? 0;
  return code >= 500 || code === 429;
}

/** Polls until `matches` accepts the result. */
export async function until<T>(what: string, ask: () => Promise<T>, matches: (answer: T) => boolean): Promise<T> {
  let last: unknown;
  for (const deadline = clock.monotonic() + 60_000; clock.monotonic() < deadline; ) {
    try {
      const answer = await ask();
      if (matches(answer)) return answer;
      last = answer;
    } catch (error) {
      if (!isNotFound(error) && !isBusy(error)) throw error;
      last = error;
    }
    await clock.sleep(20);
  }
  throw new Error(`never: ${what}; last: ${JSON.stringify(last)}`);
}

/**
 * Simulates a node agent: binds and runs pending pods, and ends pods that are deleted or whose image says so. `startMs`:
 * the start time of each pod, one after the other.
 */
export function runPods(t: Test, client: Client, { startMs = 0 }: { readonly startMs?: number } = {}): void {
  const stop = new AbortController();
  let nextIP = 1;
  /** The final phase in the image of a pod without restarts. */
  const end = async ({ metadata, spec }: Pod) => {
    const phase = { succeeds: 'Succeeded', fails: 'Failed' }[spec.containers[0]?.image ?? ''];
    if (spec.restartPolicy !== 'Never' || phase === undefined) return;
    const { name = '', namespace = '' } = metadata;
    await client
      .resource(pods)
      .patch(name, { status: { phase, conditions: [] } }, { type: 'merge', namespace, subresource: 'status' });
  };
  const attend = async (pod: Pod) => {
    const { name = '', namespace = '', uid = '' } = pod.metadata;
    const resource = client.resource(pods);
    if (pod.metadata.deletionTimestamp !== undefined) {
      // Another pod may have the name now.
      if ((pod.metadata.deletionGracePeriodSeconds ?? 0) > 0)
        await resource.delete(name, { namespace, gracePeriodSeconds: 0, preconditions: { uid } });
      return;
    }
    if ((pod.spec.nodeName ?? '') === '') {
      await resource.createSubresource(
        name,
        'binding',
        { metadata: { name }, target: { kind: 'Node', name: targetNode(pod) ?? 'n1' } },
        { namespace },
      );
      return;
    }
    if (pod.status?.phase === 'Running') await end(pod);
    if (pod.status?.phase !== 'Pending') return;
    if (startMs > 0) await clock.sleep(startMs);
    const podIP = `10.1.0.${nextIP++}`;
    const lastTransitionTime = formatTime(clock.now());
    await resource.patch(
      name,
      {
        status: {
          phase: 'Running',
          startTime: lastTransitionTime,
          podIP,
          podIPs: [{ ip: podIP }],
          conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }],
        },
      },
      { type: 'strategic', namespace, subresource: 'status' },
    );
  };
  const watching = (async () => {
    for await (const { type, object } of client.resource(pods).watch({ signal: stop.signal })) {
      if (type === 'DELETED' || type === 'BOOKMARK') continue;
      for (let again = true; again; ) {
        again = await attend(object).then(
          () => false,
          (error: unknown) => {
            if (isBusy(error)) return true;
            // Deleted or changed since the event: the next event handles it.
            if (!isNotFound(error) && !isConflict(error)) t.error(error, `attending to pod ${object.metadata.name}`);
            return false;
          },
        );
      }
    }
  })();
  t.teardown(async () => {
    stop.abort();
    await watching;
  });
}
