/**
 * Pods of every kind come and go on real containers while the agent, the runtime and the API server are killed or stopped
 * at random moments. No run of a container may begin twice, no status may be revoked or false, every deleted pod must go
 * within a minute, and no pod may leave anything behind. Some pods hold devices, CPUs and volumes, whose plugin and driver come
 * and go: nothing may be given twice, and the agent's checkpoints must be true in the end.
 */
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import type { Client } from '#client/client.js';
import type { GrpcCRI } from '#nodeagent/cri/grpc/client.js';
import { PodHistory } from '#test/e2e/chaos/history.js';
import type { Holdings } from '#test/e2e/chaos/holdings/holdings.js';
import { finalizer, randomPod } from '#test/e2e/chaos/pods.js';
import { Runs } from '#test/e2e/chaos/runs.js';
import { strike, untilAllRun } from '#test/e2e/chaos/strikes.js';
import { eventually } from '#test/e2e/harness.js';
import { podCgroups, podFolders, podMounts } from '#test/e2e/leftovers.js';
import { untilNothingIsOrphaned } from '#test/e2e/observe.js';
import { namespace } from '#test/e2e/pods.js';

export interface ChaosOptions {
  readonly dataDir: string;
  readonly client: Client;
  readonly cri: GrpcCRI;
  readonly holdings: Holdings;
  /** From 0 to 1, the same for the same seed. */
  readonly random: () => number;
  readonly durationMs: number;
  /** Called with each action. */
  readonly tell: (what: string) => void;
}

export interface ChaosResult {
  readonly strikes: number;
  readonly pods: number;
  readonly runs: number;
  /** Violations; empty when all went well. */
  readonly problems: readonly string[];
}

const maxPods = 10;
/** Maximum pauses; those between strikes leave time for restarts. */
const pausesMs = { pods: 500, strikes: 8000 };
const leastBetweenStrikesMs = 1000;
/** Maximum time for pods to go after the last strike. */
const lastMs = 60_000;

export async function chaos(options: ChaosOptions): Promise<ChaosResult> {
  const { client, dataDir, cri, holdings } = options;
  const history = new PodHistory(client);
  const runs = new Runs(dataDir, cri);
  const problems: string[] = [];
  const must = async (what: string, work: Promise<unknown>) => {
    await work.catch((error: unknown) => problems.push(`${what}: ${String(error)} ${String((error as Error).cause)}`));
  };
  try {
    const endMs = realClock.monotonic() + options.durationMs;
    const [strikes] = await Promise.all([strikeUntil(endMs, options), comeAndGo(endMs, options)]);
    holdings.settle();
    await untilAllRun(dataDir);
    await must('no pod is Terminating', untilNoneTerminates(client));
    await must(
      'statuses are true',
      eventually('they are', async () => isTrue(await untrue(client, cri)), lastMs),
    );
    const areTrue = async () => {
      const wrong = await holdings.falseCheckpoints();
      if (wrong.length === 0) return true;
      const { items } = await client.resource(pods).list({ namespace });
      const owners = items.filter(({ metadata: { uid = '' } }) => wrong.some((problem) => problem.includes(uid)));
      return isTrue([...wrong, ...owners.map(({ metadata, status }) => JSON.stringify({ metadata, status }))]);
    };
    await must('checkpoints are true', eventually('they are', areTrue, lastMs));
    await removeAll(client);
    await must('all pods go', untilNoneTerminates(client));
    await must('nothing is orphaned', untilNothingIsOrphaned(client, cri));
    await must(
      'nothing is left',
      eventually('it is', async () => isTrue([...(await left(dataDir)), ...holdings.left()]), lastMs),
    );
    await must('checkpoints are empty', eventually('they are', areTrue, lastMs));
    await Promise.all([history.stop(), runs.stop()]);
    problems.push(...holdings.conflicts);
    problems.push(...history.contradictions, ...[...runs.twice].map((run) => `twice: ${run}`));
    problems.push(...falseExitCodes(history, runs));
    return { strikes, pods: history.uids.size, runs: runs.begun.size, problems };
  } finally {
    await Promise.all([history.stop(), runs.stop()]);
  }
}

/** Throws with the problems, if any. */
function isTrue(problems: readonly string[]): boolean {
  if (problems.length > 0) throw new Error(problems.join(', '));
  return true;
}

async function strikeUntil(endMs: number, { dataDir, holdings, random, tell }: ChaosOptions): Promise<number> {
  let strikes = 0;
  for (;;) {
    await realClock.sleep(leastBetweenStrikesMs + random() * pausesMs.strikes);
    if (realClock.monotonic() > endMs) return strikes;
    tell(await (random() < 0.3 ? holdings.strike() : strike(dataDir, random)));
    strikes++;
  }
}

/** Creates pods, deletes them with full, short or no grace period, and removes their finalizers. */
async function comeAndGo(endMs: number, { client, random }: ChaosOptions): Promise<void> {
  const resource = client.resource(pods);
  for (let n = 0; realClock.monotonic() < endMs; n++) {
    await realClock.sleep(random() * pausesMs.pods);
    const acts = random();
    try {
      const { items } = await resource.list({ namespace });
      const some = items[Math.floor(random() * items.length)];
      if (items.length < maxPods && acts < 0.6) await resource.create(randomPod(random, `pod-${n}`), { namespace });
      else if (some !== undefined) await end(client, some, acts);
    } catch {
      // The API server is down, or another client was quicker: go on with another act.
    }
  }
}

async function end(client: Client, { metadata }: Pod, acts: number): Promise<void> {
  const { name = '', deletionTimestamp } = metadata;
  if (deletionTimestamp !== undefined && (metadata.finalizers ?? []).includes(finalizer)) await letGo(client, name);
  const gracePeriodSeconds = deletionTimestamp !== undefined ? 1 : acts < 0.75 ? 0 : acts < 0.85 ? 20 : undefined;
  await client.resource(pods).delete(name, {
    namespace,
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
  });
}

async function letGo(client: Client, name: string): Promise<void> {
  await client.resource(pods).patch(name, { metadata: { finalizers: null } }, { namespace, type: 'merge' });
}

/** Removes the finalizers of pods that only wait for them. */
async function untilNoneTerminates(client: Client): Promise<void> {
  await eventually(
    'none is',
    async () => {
      const { items } = await client.resource(pods).list({ namespace });
      const ending = items.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
      for (const { metadata } of ending) {
        if ((metadata.finalizers ?? []).includes(finalizer)) await letGo(client, metadata.name ?? '');
      }
      return isTrue(ending.map(({ metadata, status }) => `${metadata.name} ${metadata.uid} ${JSON.stringify(status)}`));
    },
    lastMs,
  );
}

async function removeAll(client: Client): Promise<void> {
  for (const { metadata } of (await client.resource(pods).list({ namespace })).items) {
    await client.resource(pods).delete(metadata.name ?? '', { namespace });
  }
}

/** Containers whose state in the API differs from the runtime. */
async function untrue(client: Client, cri: GrpcCRI): Promise<string[]> {
  const { items } = await client.resource(pods).list({ namespace });
  const listed = new Map((await cri.listContainers()).map((each) => [`containerd://${each.id}`, each.state]));
  return items.flatMap(({ metadata, status }) =>
    (status?.containerStatuses ?? []).flatMap(({ name, state, containerID = '' }) => {
      const is = listed.get(containerID);
      const says = state?.running !== undefined ? 'CONTAINER_RUNNING' : state?.terminated && 'CONTAINER_EXITED';
      return says === undefined || says === is ? [] : [`${metadata.name} ${name}: ${says}, and is ${is}`];
    }),
  );
}

/** Containers whose exit code differs from any exit code in their pod's statuses. */
function falseExitCodes({ exitCodes: codesById }: PodHistory, { exitCodes }: Runs): string[] {
  return [...codesById].flatMap(([id, codes]) => {
    const code = exitCodes.get(id);
    const isTrue = codes.size === 1 && (code === undefined || codes.has(code));
    return isTrue ? [] : [`${id} exited with ${code}, its pod's status said ${[...codes].join()}`];
  });
}

/** Leftovers on the node after the end of all pods. */
async function left(dataDir: string): Promise<string[]> {
  const leftovers = await Promise.all([podFolders(dataDir), podMounts(dataDir), podCgroups(dataDir)]);
  return leftovers.flat();
}
