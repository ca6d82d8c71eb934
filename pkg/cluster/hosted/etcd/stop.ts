/** Stops a control plane in a cluster, so that a backup can be restored into the volumes of its etcd. */
import { deployments, statefulsets } from '#api/apps/v1/resources.gen.js';
import type { StatefulSet } from '#api/apps/v1/types.gen.js';
import { persistentvolumeclaims, pods as podType } from '#api/core/v1/resources.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { numbersBelow } from '#cluster/hosted/etcd/pods.js';
import type { HostContext } from '#cluster/hosted/host-client.js';
import { SetupError } from '#cluster/terminal/setup-error.js';

export interface RestoreOrder {
  /** Name of the StatefulSet. */
  readonly set: string;
  /** Annotation of the StatefulSet that names the backup that was restored last. */
  readonly annotation: string;
  readonly backup: string;
}

export interface StopInput extends RestoreOrder {
  readonly deployments: readonly string[];
  /** Selects the pods of all of them. */
  readonly selector: string;
  /** Number of members that the restored etcd will have. */
  readonly replicas: number;
}

const pauseMs = 1000;
const stopMs = 300_000;

/**
 * Stops the programs and etcd, unless this backup was restored before. Rejects with a SetupError: before anything stops where
 * a member has no volume, and after five minutes in which pods have not ended.
 */
export async function stopForRestore(input: StopInput, context: HostContext): Promise<void> {
  const { client, namespace, clock, say } = context;
  const existing = await setOf(input, context);
  if (isRestored(existing, input)) {
    say(`${input.backup} was restored before: nothing stops`);
    return;
  }
  await refuseMissingVolumes(input, context);
  for (const name of input.deployments)
    await unlessMissing(client.resource(deployments).patch(name, noReplicas, { namespace, type: 'merge' }));
  // An attempt that was interrupted goes on, so that members that have the backup keep it.
  const isStopped = existing.spec?.replicas === 0 && attemptFor(existing, input) !== undefined;
  const attempt = isStopped ? {} : { [attemptAnnotation(input)]: `${input.backup} ${timeOf(clock)}` };
  const stopped = { metadata: { annotations: attempt }, ...noReplicas };
  await client.resource(statefulsets).patch(input.set, stopped, { namespace, type: 'merge' });
  const deadline = clock.monotonic() + stopMs;
  for (let last = ''; ; ) {
    const { items } = await client.resource(podType).list({ namespace, labelSelector: input.selector });
    if (items.length === 0) break;
    const names = items.map(({ metadata }) => metadata.name).join(', ');
    if (clock.monotonic() > deadline) throw new SetupError(`still running: ${names}`);
    if (names !== last) say(`waiting for the end of ${names}`);
    last = names;
    await clock.sleep(pauseMs);
  }
  say('the control plane has stopped');
}

/**
 * Identifies this restore of the backup, since the same backup may be restored again later; undefined when it was restored
 * before. Rejects with a SetupError while etcd may run.
 */
export async function restoreAttempt(
  order: RestoreOrder,
  context: Pick<HostContext, 'client' | 'namespace'>,
): Promise<string | undefined> {
  const existing = await setOf(order, context);
  if (isRestored(existing, order)) return undefined;
  const attempt = attemptFor(existing, order);
  if (existing.spec?.replicas !== 0 || attempt === undefined)
    throw new SetupError(`${order.set} has not been stopped to restore ${order.backup}`);
  return attempt;
}

const noReplicas = { spec: { replicas: 0 } };

function timeOf(clock: Clock): string {
  return new Date(clock.now()).toISOString();
}

function isRestored({ metadata }: StatefulSet, { annotation, backup }: RestoreOrder): boolean {
  return metadata.annotations?.[annotation] === backup;
}

function attemptAnnotation({ annotation }: RestoreOrder): string {
  return `${annotation}-attempt`;
}

function attemptFor({ metadata }: StatefulSet, order: RestoreOrder): string | undefined {
  const attempt = metadata.annotations?.[attemptAnnotation(order)];
  return attempt?.startsWith(`${order.backup} `) ? attempt : undefined;
}

async function setOf(
  { set }: RestoreOrder,
  { client, namespace }: Pick<HostContext, 'client' | 'namespace'>,
): Promise<StatefulSet> {
  const existing = await unlessMissing(client.resource(statefulsets).get(set, { namespace }));
  if (existing === undefined)
    throw new SetupError(`there is no StatefulSet ${set}: install the chart first, then restore`);
  return existing;
}

async function refuseMissingVolumes({ set, replicas }: StopInput, { client, namespace }: HostContext): Promise<void> {
  for (const number of numbersBelow(replicas)) {
    const claim = `data-${set}-${number}`;
    if ((await unlessMissing(client.resource(persistentvolumeclaims).get(claim, { namespace }))) === undefined)
      throw new SetupError(`there is no claim ${claim}: restore with as many members as now, then change their number`);
  }
}

async function unlessMissing<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
