/** `/containerLogs/{namespace}/{pod}/{container}`: finds the container's log and parses the request's parameters. */
import type { Pod } from '#api/core/v1/types.gen.js';
import { type Clock, parseTime } from '#apimachinery/clock.js';
import { badRequest, notFound } from '#apimachinery/errors/status.js';
import type { LogRequest } from '#nodeagent/logs/reader.js';
import { containersNamed, isRunning, type RuntimeContainer } from '#nodeagent/runtime/pod-runtime.js';
import type { ServedNode, ServedPods } from '#nodeagent/server/agent-server.js';

/** `uid`: see `ServedPods.find`. Throws 404 for a pod that is not on this node. */
export function podOnNode(
  pods: Pick<ServedPods, 'find'>,
  { namespace, name, uid }: { readonly namespace: string; readonly name: string; readonly uid?: string | undefined },
): Pod {
  const pod = pods.find(namespace, name, uid);
  if (pod === undefined) throw notFound({ group: '', resource: 'pods' }, `${namespace}/${name}`);
  return pod;
}

function integer(query: URLSearchParams, name: string, least: number): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < least) {
    throw badRequest(`Invalid value: ${JSON.stringify(text)}: ${name} must be an integer of at least ${least}`);
  }
  return number;
}

function flag(query: URLSearchParams, name: string): boolean {
  const text = query.get(name);
  return text !== null && ['1', 't', 'true', 'True', 'TRUE', ''].includes(text);
}

export interface ParsedLogRequest extends LogRequest {
  readonly previous: boolean;
}

/** Throws 400 for invalid values. */
export function parseLogRequest(query: URLSearchParams, clock: Clock): ParsedLogRequest {
  const tailLines = integer(query, 'tailLines', 0);
  const limitBytes = integer(query, 'limitBytes', 1);
  const sinceSeconds = integer(query, 'sinceSeconds', 1);
  const sinceTime = query.get('sinceTime') ?? '';
  if (sinceSeconds !== undefined && sinceTime !== '') {
    throw badRequest('at most one of `sinceTime` or `sinceSeconds` may be specified');
  }
  let since = sinceSeconds === undefined ? undefined : clock.now() - sinceSeconds * 1000;
  if (sinceTime !== '') {
    since = parseTime(sinceTime);
    if (Number.isNaN(since))
      throw badRequest(`Invalid value: ${JSON.stringify(sinceTime)}: sinceTime must be RFC 3339`);
  }
  return {
    follow: flag(query, 'follow'),
    previous: flag(query, 'previous'),
    timestamps: flag(query, 'timestamps'),
    ...(tailLines === undefined ? {} : { tailLines }),
    ...(limitBytes === undefined ? {} : { limitBytes }),
    ...(since === undefined ? {} : { since }),
  };
}

/**
 * The run whose log is requested: the last one, or the previous one. Throws 404 for an unknown container, 400 for one
 * that has not run yet, with the messages of release 1.24.
 */
export function logContainer(
  node: Pick<ServedNode, 'observer' | 'statuses'>,
  pod: Pod,
  name: string,
  previous: boolean,
): RuntimeContainer {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  const podName = pod.metadata.name ?? '';
  if (![...containers, ...initContainers, ...ephemeralContainers].some((container) => container.name === name)) {
    throw notFound({ group: '', resource: 'containers' }, name);
  }
  const runtime = node.observer.get(pod.metadata.uid ?? '');
  const runs = runtime === undefined ? [] : containersNamed(runtime, name).filter((run) => run.startedAt > 0);
  const [newest, before] = runs;
  if (previous) {
    // For a container that waits for its restart, the last run is the previous one.
    const chosen = newest !== undefined && !isRunning(newest) && before === undefined ? undefined : before;
    if (chosen === undefined) throw badRequest(`previous terminated container "${name}" in pod "${podName}" not found`);
    return chosen;
  }
  if (newest === undefined) {
    const status = node.statuses.get(pod.metadata.uid ?? '');
    const all = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
    const waiting = all.find((s) => s.name === name)?.state?.waiting;
    const reason = waiting?.reason ?? 'ContainerCreating';
    const trying = ['ErrImagePull', 'ImagePullBackOff'].includes(reason)
      ? 'trying and failing to pull image'
      : `waiting to start: ${reason}`;
    throw badRequest(`container "${name}" in pod "${podName}" is ${trying}`);
  }
  return newest;
}
