/** The node agent's HTTPS server: pods, logs and sessions. Paths and access checks of release 1.24. */

import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Registry } from 'prom-client';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { statusOf } from '#apimachinery/errors/status.js';
import { canonicalAddress } from '#apimachinery/net/ip.js';
import type { DebugEndpoints } from '#daemon/debugging/debug-endpoints.js';
import type { Logger } from '#daemon/log/logger.js';
import type { AccessAttributes } from '#daemon/serving/authorizer.js';
import type { DaemonApp } from '#daemon/serving/daemon-app.js';
import { DaemonServer } from '#daemon/serving/daemon-server.js';
import type { DelegatedAuth } from '#daemon/serving/delegated-auth.js';
import { HealthChecks } from '#daemon/serving/health.js';
import { parseRequestTarget, queryOf, type RequestTarget } from '#daemon/serving/request-target.js';
import type { ServingCertificates } from '#daemon/serving/serving-certificate.js';
import { addHealthRoutes, addMetricsRoute } from '#daemon/serving/standard-routes.js';
import { type SystemLogsOptions, systemLogDir, systemLogs } from '#daemon/serving/system-logs.js';
import { readLog } from '#nodeagent/logs/reader.js';
import { isRunning, newestContainer } from '#nodeagent/runtime/pod-runtime.js';
import type { AgentServer, AgentServerInput } from '#nodeagent/server/agent-server.js';
import { agentHttpMetrics } from '#nodeagent/server/http-metrics.js';
import { addLocalVolumeRoutes } from '#nodeagent/server/local-volume-routes.js';
import { logContainer, parseLogRequest, podOnNode } from '#nodeagent/server/log-route.js';
import { addMetricsRoutes } from '#nodeagent/server/metrics-routes.js';
import { refusalText, refuseAll, refuseOtherMethods } from '#nodeagent/server/plain-responses.js';
import { serveReadOnly } from '#nodeagent/server/read-only-server.js';
import { addRunRoutes } from '#nodeagent/server/run-route.js';
import { Sessions } from '#nodeagent/server/sessions.js';
import { StatsSummary } from '#nodeagent/server/stats.js';
import { UsageCollector } from '#nodeagent/stats/collector.js';
import { StorageMeter } from '#nodeagent/stats/storage-meter.js';
import { observeVolumes, volumeTimes } from '#nodeagent/stats/volume-metrics.js';

export interface ServeOptions {
  /** Absent: the server gets certificates later; until then all handshakes fail. */
  readonly certificates?: ServingCertificates | undefined;
  readonly auth: DelegatedAuth;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics?: Registry;
  /** Served with the debugging handlers. */
  readonly debug?: DebugEndpoints | undefined;
  /** If another process has the configured port, uses a free one, which the node reports. */
  readonly isPortOnlyPreferred?: boolean;
  /** Called for each new connection, before its handshake. */
  readonly onConnection?: () => void;
  /** Served at `/logs/`; absent: `/var/log`. */
  readonly systemLogsDir?: string;
}

const verbs: ReadonlyMap<string, string> = new Map([
  ['POST', 'create'],
  ['GET', 'get'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
]);
/** By the first segment of a path. */
const subresources: ReadonlyMap<string, string> = new Map([
  ['stats', 'stats'],
  ['metrics', 'metrics'],
  ['logs', 'log'],
  ['spec', 'spec'],
]);

/** The resource that access is checked for: the node's `stats`, `metrics`, `log`, `spec`, else `proxy`. */
function accessAttributes(nodeName: string): (target: RequestTarget) => AccessAttributes {
  return ({ method, segments: [first = ''] }) => ({
    resource: 'nodes',
    subresource: subresources.get(first) ?? 'proxy',
    name: nodeName,
    version: 'v1',
    verb: verbs.get(method) ?? '',
  });
}

export interface ServingAgent extends AgentServer {
  /** Applies to new connections. */
  replaceCertificates(certificates: ServingCertificates): void;
}

/** Starts the server; resolves once it listens. */
export async function serveAgent(input: AgentServerInput, options: ServeOptions): Promise<ServingAgent> {
  const { node, pods, options: values } = input;
  const sessions = new Sessions({ node, pods, idleTimeoutMs: values['streaming-connection-idle-timeout'] });
  // These checks always pass: the agent has no loop over all pods and no log writer that could hang on their own.
  const health = new HealthChecks([
    { name: 'log', check: () => undefined },
    { name: 'syncloop', check: () => undefined },
  ]);
  const debugging = values['enable-debugging-handlers'];
  const collector = new UsageCollector({ node, machine: input.machine, pods: () => pods.list() });
  const { directories, csi, events } = node;
  const storage = new StorageMeter({
    clock: node.clock,
    machine: input.machine,
    podDir: directories === undefined ? undefined : (uid) => directories.pod(uid),
    podLogsDir: node.podLogsDir,
    volumeName: (uid, path) => node.volumes.volumeAt(uid, path),
    periodMs: values['volume-stats-agg-period'],
    ...(csi && { drivers: (uid: string) => csi.stats.ofPod(uid) }),
    onAbnormal: (pod, volume, message) =>
      events.pod(pod, 'Warning', 'VolumeConditionAbnormal', `Volume ${volume}: ${message}`),
    ...(options.metrics === undefined ? {} : { onMeasured: volumeTimes(options.metrics, node.dialect) }),
  });
  const meters: Meters = { collector, stats: new StatsSummary(input, { collector, storage }) };
  if (options.metrics !== undefined)
    observeVolumes({ registry: options.metrics, dialect: node.dialect, meter: storage, pods: () => pods.list() });
  const countRequests =
    options.metrics === undefined
      ? undefined
      : agentHttpMetrics({ registry: options.metrics, dialect: node.dialect, clock: options.clock });
  const address = canonicalAddress(values.address) ?? values.address;
  const server = new DaemonServer({
    bindAddress: address,
    port: values.port,
    isPortOnlyPreferred: options.isPortOnlyPreferred ?? false,
    certificates: options.certificates,
    cipherSuites: values['tls-cipher-suites'],
    minVersion: values['tls-min-version'],
    auth: options.auth,
    health,
    log: options.log,
    clock: options.clock,
    attributes: accessAttributes(options.nodeName),
    routes: (app) => {
      addRoutes(app, input, meters);
      addLocalVolumeRoutes(app, input.node);
      if (debugging) addDebuggingRoutes(app, input, sessions, options);
      else refuseDebugging(app);
    },
    refusalText,
    ...(options.onConnection === undefined ? {} : { onConnection: options.onConnection }),
    ...(options.metrics === undefined ? {} : { metrics: options.metrics }),
    ...(countRequests === undefined ? {} : { onRequest: countRequests('readwrite') }),
    ...(debugging && options.debug !== undefined ? { debug: options.debug } : {}),
    ...(debugging ? { upgrade: (upgrade) => sessions.upgrade(upgrade) } : {}),
  });
  const { port } = await server.start();
  const readOnly =
    values['read-only-port'] === 0
      ? undefined
      : await serveReadOnly({
          address,
          port: values['read-only-port'],
          log: options.log,
          onRequest: countRequests?.('readonly'),
          routes: (app) => {
            addHealthRoutes(app, health, { log: options.log, endpoints: ['healthz'] });
            addMetricsRoute(app, options.metrics);
            addRoutes(app, input, meters);
            refuseDebugging(app);
          },
        });
  return {
    port,
    replaceCertificates: (certificates) => server.replaceCertificates(certificates),
    async close() {
      sessions.close();
      await readOnly?.close();
      await server.close();
    },
  };
}

function podList(pods: readonly Pod[]) {
  const items = pods.map((pod) => ({ ...pod, apiVersion: undefined, kind: undefined }));
  return { kind: 'PodList', apiVersion: 'v1', metadata: {}, items };
}

/** Shared by both servers, so that usage is measured once. */
interface Meters {
  readonly collector: UsageCollector;
  readonly stats: StatsSummary;
}

/** Routes of both servers. */
function addRoutes(app: DaemonApp, input: AgentServerInput, meters: Meters): void {
  const { node, pods } = input;
  for (const slash of ['', '/']) {
    app.get(`/pods${slash}`, () => podList(pods.list().map((pod) => node.statuses.latest(pod))));
    refuseOtherMethods(app, `/pods${slash}`, ['GET']);
    const summary = `/stats/summary${slash}`;
    const answer = (request: FastifyRequest) => {
      const only = queryOf(request).get('only_cpu_and_memory') ?? '';
      return meters.stats.summary(['1', 't', 'T', 'true', 'TRUE', 'True'].includes(only));
    };
    app.get(summary, answer);
    app.post(summary, { onRequest: async (request, reply) => reply.send(await answer(request)) }, answer);
    refuseOtherMethods(app, summary, ['GET', 'POST']);
  }
  addMetricsRoutes(app, input, meters.collector);
}

/** Texts of 1.24; `/configz` has no route at all. */
function refuseDebugging(app: DaemonApp): void {
  for (const path of ['run', 'exec', 'attach', 'portForward', 'containerLogs', 'runningpods', 'debug/pprof', 'logs'])
    refuseAll(app, `/${path}`, 'Debug endpoints are disabled.');
}

function addDebuggingRoutes(app: DaemonApp, input: AgentServerInput, sessions: Sessions, options: ServeOptions): void {
  const { node, options: values } = input;
  for (const url of ['/runningpods', '/runningpods/']) {
    app.get(url, () => runningPods(input));
    refuseOtherMethods(app, url, ['GET']);
  }
  const logs = '/containerLogs/:namespace/:pod/:container';
  app.get(logs, (request, reply) => sendLog(request, reply, input));
  refuseOtherMethods(app, logs, ['GET']);
  addRunRoutes(app, input);
  addSessionRoutes(app, sessions);
  if (values['enable-system-log-handler'])
    addSystemLogRoutes(app, { dir: options.systemLogsDir ?? systemLogDir, linkedDirs: [node.podLogsDir] });
  else refuseAll(app, '/logs', 'logs endpoint is disabled.');
  if (!values['enable-profiling-handler']) refuseAll(app, '/debug/pprof', 'profiling endpoint is disabled.');
  if (!values['enable-debug-flags-handler']) refuseAll(app, '/debug/flags/v', 'flags endpoint is disabled.');
}

/** Handles session requests without an upgrade; their bodies are not read. */
function addSessionRoutes(app: DaemonApp, sessions: Sessions): void {
  const refuse = async (request: FastifyRequest, reply: FastifyReply) => {
    const { code, contentType, body } = sessions.refusal(parseRequestTarget(request.method, request.url));
    await reply.code(code).type(contentType).header('x-content-type-options', 'nosniff').send(body);
    return reply;
  };
  for (const kind of ['exec', 'attach', 'portForward']) app.all(`/${kind}/*`, { onRequest: refuse }, refuse);
}

function runningPods({ node, pods }: AgentServerInput) {
  const running = pods.list().filter((pod) => {
    const runtime = node.observer.get(pod.metadata.uid ?? '');
    return runtime?.containers.some((container) => isRunning(container)) === true;
  });
  return podList(running.map(({ metadata, spec }) => ({ metadata, spec })));
}

/** Limit of following a log (specification 3, section 8). Sessions have an idle limit instead. */
const maxLogFollowMs = 4 * 3_600_000;

type LogParams = { namespace: string; pod: string; container: string };

/** Errors are plain text: the API server puts them into its own Status. */
async function sendLog(request: FastifyRequest, reply: FastifyReply, { node, pods }: AgentServerInput) {
  const { namespace, pod: name, container } = request.params as LogParams;
  try {
    const logRequest = parseLogRequest(queryOf(request), node.clock);
    const pod = podOnNode(pods, { namespace, name });
    const run = logContainer(node, pod, container, logRequest.previous);
    const uid = pod.metadata.uid ?? '';
    const disconnected = new AbortController();
    const chunks = readLog({
      files: node.logFiles,
      path: run.logPath,
      request: logRequest,
      signal: disconnected.signal,
      writer: {
        running: () => {
          const runtime = node.observer.get(uid);
          const newest = runtime === undefined ? undefined : newestContainer(runtime, container);
          return newest?.id === run.id && isRunning(newest);
        },
        onChange: (handler) => node.observer.onChange((changed) => changed === uid && handler()),
      },
    });
    const limit = node.clock.setTimer(() => disconnected.abort(), maxLogFollowMs);
    reply.raw.on('close', () => {
      limit.cancel();
      disconnected.abort();
    });
    reply.type('text/plain; charset=utf-8');
    return await reply.send(Readable.from(chunks, { objectMode: false }));
  } catch (error) {
    const status = statusOf(error);
    if (status === undefined) throw error;
    return reply
      .code(status.code ?? 500)
      .type('text/plain; charset=utf-8')
      .send(`${status.message}\n`);
  }
}

/** Serves `/logs/` of the node. */
export function addSystemLogRoutes(app: DaemonApp, options: SystemLogsOptions): void {
  const answer = async (request: FastifyRequest, reply: FastifyReply) => {
    const { status, headers, body } = await systemLogs(parseRequestTarget(request.method, request.url), options);
    return reply
      .code(status)
      .headers(headers)
      .send(typeof body === 'string' ? body : Readable.from(body));
  };
  for (const url of ['/logs', '/logs/', '/logs/*']) app.get(url, answer);
}
