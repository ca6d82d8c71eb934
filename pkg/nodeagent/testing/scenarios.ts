/** Scenarios of pods, written once and run on every runtime: their environment, and how they are run. */
import type { Test } from 'tap';
import { events, pods } from '#api/core/v1/resources.gen.js';
import type { Container, ContainerStatus, PodSpec, PodStatus } from '#api/core/v1/types.gen.js';
import type { FakeApi } from '#client/testing/fake-api.js';
import type { CRI } from '#nodeagent/cri/cri.js';
import { testPod } from '#nodeagent/testing/agent-fixture.js';

/** Arguments of the agent in all scenarios. */
export const scenarioArguments = ['--cluster-domain=cluster.local', '--cluster-dns=192.0.2.10'] as const;

export interface WorldOptions {
  readonly api: FakeApi;
  readonly cri: CRI;
  /** An image with a shell. */
  readonly image: string;
  /** Resolves once the condition holds; rejects after a time limit. */
  readonly until: (condition: () => boolean | Promise<boolean>, what: string) => Promise<void>;
}

/** An agent with its runtime and its API. */
export class World {
  readonly api: FakeApi;
  readonly cri: CRI;
  readonly image: string;
  readonly until: WorldOptions['until'];

  constructor({ api, cri, image, until }: WorldOptions) {
    this.api = api;
    this.cri = cri;
    this.image = image;
    this.until = until;
  }

  shell(script: string, more: Partial<Container> = {}): Container {
    return { name: 'main', image: this.image, command: ['sh', '-c', script], ...more };
  }

  /** `simulation`: behaviour of simulated containers, by the names of `simulated/behaviour.ts`. */
  run(name: string, spec: Partial<PodSpec>, simulation: Record<string, string> = {}): void {
    const annotations = Object.entries(simulation).map(([key, text]) => [`sim.orch.io/${key}`, text]);
    this.api.seed(pods, testPod(name, spec, Object.fromEntries(annotations)));
  }

  status(name: string): PodStatus | undefined {
    return this.api.get(pods, `default/${name}`)?.status;
  }

  main(name: string): ContainerStatus | undefined {
    return this.status(name)?.containerStatuses?.[0];
  }

  condition(name: string, type: string) {
    return this.status(name)?.conditions?.find((condition) => condition.type === type);
  }

  isReady(name: string): boolean {
    return this.condition(name, 'Ready')?.status === 'True';
  }

  /** Messages of the pod's events with that reason. */
  eventMessages(name: string, reason: string): string[] {
    return this.api
      .list(events)
      .flatMap((event) => (event.involvedObject.name === name && event.reason === reason ? [event.message ?? ''] : []));
  }

  delete(name: string, gracePeriodSeconds: number): Promise<unknown> {
    return this.api.client.resource(pods).delete(name, { namespace: 'default', gracePeriodSeconds });
  }

  /** Resolves once the runtime has nothing of the pod. */
  async untilGone(name: string, uid: string): Promise<void> {
    const sandboxes = async () => (await this.cri.listPodSandbox()).filter(({ metadata }) => metadata.uid === uid);
    await this.until(
      async () => this.api.get(pods, `default/${name}`) === undefined && (await sandboxes()).length === 0,
      `${name} is gone`,
    );
  }

  uid(name: string): string {
    return this.api.get(pods, `default/${name}`)?.metadata.uid ?? '';
  }

  /** The container's output before it exits with code 7. */
  async outputOf(name: string, spec: Partial<PodSpec>): Promise<string> {
    const containers = (spec.containers ?? []).map((container) => ({
      ...container,
      terminationMessagePolicy: 'FallbackToLogsOnError',
    }));
    this.run(name, { restartPolicy: 'Never', ...spec, containers });
    const terminated = () => this.main(name)?.state?.terminated;
    await this.until(() => terminated() !== undefined, `${name} has spoken`);
    return terminated()?.message ?? '';
  }
}

export interface Scenario {
  readonly name: string;
  run(t: Test, world: World): Promise<void>;
}

/** Runs all scenarios, concurrently if `together`: their pods have different names. */
export async function runScenarios(
  t: Test,
  situations: readonly Scenario[],
  { world, together }: { readonly world: World; readonly together: boolean },
): Promise<void> {
  if (together) t.jobs = situations.length;
  const played = situations.map(({ name, run }) => t.test(name, { buffered: together }, (t) => run(t, world)));
  await Promise.all(played);
}
