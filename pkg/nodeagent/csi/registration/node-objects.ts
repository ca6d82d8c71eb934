/** Writes what drivers say about this node into its Node and CSINode. */
import { nodes } from '#api/core/v1/resources.gen.js';
import { csinodes } from '#api/storage/v1/resources.gen.js';
import type { CSINode } from '#api/storage/v1/types.gen.js';
import { Backoff, exponentialDelayMs, jittered } from '#apimachinery/backoff/backoff.js';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import type { Logger } from '#daemon/log/logger.js';
import type { NodeInfo } from '#nodeagent/csi/driver/node-info.js';
import {
  installationPatch,
  newCSINode,
  removalPatch,
  withDriver,
  withoutDriver,
} from '#nodeagent/csi/registration/node-plan.js';
import { Turns } from '#nodeagent/csi/volumes/turns.js';

export interface NodeObjectsOptions {
  readonly client: Client;
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly nodeName: string;
  readonly log: Logger;
}

/** Attempts of one update and the times between them, as in 1.24. */
/** Times between attempts to create the CSINode. */
const creation = { initialMs: 500, maxMs: 60_000 };
const update = { steps: 4, initialMs: 10, factor: 5, jitter: 0.1 };

export class NodeObjects {
  readonly #options: NodeObjectsOptions;
  readonly #turns = new Turns();
  readonly #annotation: string;

  constructor(options: NodeObjectsOptions) {
    this.#options = options;
    this.#annotation = options.client.dialect.annotations.csiNodeID;
  }

  /** Creates the CSINode unless it exists, and tries until it does or the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    const backoff = new Backoff(creation);
    while (!signal.aborted) {
      try {
        await this.#csiNode();
        return;
      } catch (error) {
        log.warn({ err: error }, 'creating the CSINode failed');
        await clock.sleep(backoff.nextMs(), signal);
      }
    }
  }

  /** Throws Error with 1.24's text. */
  async install(driver: string, info: NodeInfo): Promise<void> {
    if (info.nodeID === '') throw new Error('error adding CSI driver node info: driverNodeID must not be empty');
    const annotation = this.#annotation;
    await prefixed('error updating Node object with CSI driver node info', () =>
      this.#patchNode((node) => installationPatch(node, driver, { info, annotation })),
    );
    await prefixed('error updating CSINode object with CSI driver node info', () =>
      this.#retried('error updating CSINode', async () => {
        await this.#update(withDriver(await this.#csiNode(), driver, info));
      }),
    );
  }

  /** Keeps topology labels, as 1.24 does. Throws Error with 1.24's text. */
  async uninstall(driver: string): Promise<void> {
    await prefixed('error uninstalling CSI driver from CSINode object', () =>
      this.#retried('error updating CSINode', async () => {
        const object = await this.#read();
        if (object !== undefined) await this.#update(withoutDriver(object, driver));
      }),
    );
    await prefixed('error removing CSI driver node info from Node object', () =>
      this.#patchNode((node) => removalPatch(node, driver, this.#annotation)),
    );
  }

  #patchNode(plan: (node: Parameters<typeof removalPatch>[0]) => object | undefined): Promise<void> {
    const { client, nodeName } = this.#options;
    // The annotation has the IDs of all drivers.
    return this.#retried('error updating node', () =>
      this.#turns.run(nodeName, async () => {
        const resource = client.resource(nodes);
        const node = await resource.get(nodeName);
        const patch = plan(node) as { readonly metadata?: object } | undefined;
        if (patch === undefined) return;
        const { resourceVersion } = node.metadata;
        await resource.patch(nodeName, { metadata: { ...patch.metadata, resourceVersion } }, { type: 'merge' });
      }),
    );
  }

  async #read(): Promise<CSINode | undefined> {
    const { client, nodeName } = this.#options;
    try {
      return await client.resource(csinodes).get(nodeName);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #csiNode(): Promise<CSINode> {
    const { client, nodeName } = this.#options;
    const existing = await this.#read();
    if (existing !== undefined) return existing;
    const node = await client.resource(nodes).get(nodeName);
    return client.resource(csinodes).create(newCSINode(node));
  }

  async #update(object: CSINode | undefined): Promise<void> {
    if (object !== undefined) await this.#options.client.resource(csinodes).update(object);
  }

  async #retried(what: string, attempt: () => Promise<void>): Promise<void> {
    const { clock, random } = this.#options;
    const problems: string[] = [];
    for (let step = 0; step < update.steps; step++) {
      try {
        await attempt();
        return;
      } catch (error) {
        problems.push(messageOf(error));
      }
      if (step + 1 === update.steps) break;
      const delayMs = exponentialDelayMs(step, update.initialMs, Number.POSITIVE_INFINITY, update.factor);
      await clock.sleep(jittered(delayMs, update.jitter, random));
    }
    const [first = '', ...others] = new Set(problems);
    const causes = others.length === 0 ? first : `[${[first, ...others].join(', ')}]`;
    throw new Error(`${what}: timed out waiting for the condition; caused by: ${causes}`);
  }
}

async function prefixed(text: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    throw new Error(`${text}: ${messageOf(error)}`, { cause: error });
  }
}
