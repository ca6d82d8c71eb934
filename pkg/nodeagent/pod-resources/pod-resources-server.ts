/** Tells other programs of the machine which resources the containers of pods hold. */
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import protobuf from 'protobufjs';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import { GrpcServer, type GrpcService } from '#nodeagent/grpc/server.js';
import {
  type AllocatableResources,
  allocatableResources,
  type HeldResources,
  podResources,
} from '#nodeagent/pod-resources/listing.js';
import type { PodResourcesMetrics } from '#nodeagent/pod-resources/pod-resources-metrics.js';
import { podResourcesV1 } from '#nodeagent/protocols/pod-resources-v1.gen.js';
import { podResourcesV1alpha1 } from '#nodeagent/protocols/pod-resources-v1alpha1.gen.js';

export interface PodResourcesServerOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly socket: string;
  /** All pods of the node. */
  readonly pods: () => readonly Pod[];
  /** Frees what ended pods hold. */
  readonly refresh: () => void;
  readonly held: HeldResources;
  readonly allocatable: AllocatableResources;
  /** By the gate; otherwise calls of GetAllocatableResources fail. */
  readonly servesAllocatable: boolean;
  readonly metrics: PodResourcesMetrics;
}

export class PodResourcesServer {
  readonly #options: PodResourcesServerOptions;
  readonly #server: GrpcServer;

  constructor(options: PodResourcesServerOptions) {
    this.#options = options;
    const { clock, socket } = options;
    const root = protobuf.Root.fromJSON(podResourcesV1);
    protobuf.Root.fromJSON(podResourcesV1alpha1, root);
    this.#server = new GrpcServer({ ...{ clock, socket, root }, services: this.#services() });
  }

  /** A socket that cannot be opened is logged: pods run without it. */
  async start(): Promise<void> {
    const { log, socket } = this.#options;
    try {
      await mkdir(dirname(socket), { recursive: true, mode: 0o750 });
      await this.#server.start();
    } catch (error) {
      log.error({ err: error, socket }, 'failed to serve the resources of pods');
    }
  }

  stop(): Promise<void> {
    return this.#server.close();
  }

  #services(): GrpcService[] {
    const { pods, refresh, held, allocatable, servesAllocatable, metrics } = this.#options;
    const list = (version: string) => {
      try {
        refresh();
        return podResources(pods(), held);
      } catch (error) {
        metrics.listErrors.labels(version).inc();
        throw error;
      }
    };
    return [
      {
        name: 'v1.PodResourcesLister',
        unary: {
          List() {
            metrics.requests.labels('v1').inc();
            metrics.lists.labels('v1').inc();
            return list('v1');
          },
          GetAllocatableResources() {
            metrics.requests.labels('v1').inc();
            metrics.allocatableRequests.labels('v1').inc();
            if (!servesAllocatable) {
              metrics.allocatableErrors.labels('v1').inc();
              throw new Error('Pod Resources API GetAllocatableResources disabled');
            }
            // 1.24 counts these requests twice.
            metrics.requests.labels('v1').inc();
            return allocatableResources(allocatable);
          },
        },
      },
      {
        name: 'v1alpha1.PodResourcesLister',
        unary: {
          List() {
            metrics.requests.labels('v1alpha1').inc();
            return list('v1alpha1');
          },
        },
      },
    ];
  }
}
