/** The manager with its port, and the order in which they start and stop. */
import { deferred } from '#apimachinery/deferred.js';
import type { ApiEventRecorder } from '#client/events/recorder.js';
import type { RestClient } from '#client/rest/rest-client.js';
import type { ControllerManager } from '#controllers/manager.js';
import type { Daemon } from '#daemon/daemon.js';
import type { DaemonServer } from '#daemon/serving/daemon-server.js';

/** A way to an API server, shared by several clients. */
export interface Connection {
  /** A client with a rate of its own; `purpose` is shown to the server. */
  client(purpose: string): RestClient;
  close(): Promise<void>;
}

export interface ProcessParts {
  readonly manager: ControllerManager;
  /** Undefined when HTTPS is off. */
  readonly server: DaemonServer | undefined;
  readonly recorder: ApiEventRecorder;
  readonly connections: readonly Connection[];
}

export class ControllerManagerProcess implements Daemon {
  readonly name: string;
  readonly #parts: ProcessParts;
  readonly #listening = deferred();

  constructor(parts: ProcessParts) {
    this.name = parts.manager.name;
    this.#parts = parts;
  }

  async ready(): Promise<void> {
    await this.#listening.promise;
    await this.#parts.manager.ready();
  }

  /** Health is answered before there is anything to lead, so that a standby is seen to be alive. */
  async start(signal: AbortSignal): Promise<void> {
    try {
      await this.#parts.server?.start();
      this.#listening.resolve();
    } catch (error) {
      this.#listening.reject(error);
      throw error;
    }
    await this.#parts.manager.start(signal);
  }

  /** The controllers first, then what they report to, the port last. */
  async close(): Promise<void> {
    const { manager, recorder, server, connections } = this.#parts;
    this.#listening.reject(new Error(`${this.name} stopped`));
    await manager.close();
    await recorder.close();
    await Promise.all(connections.map((connection) => connection.close()));
    await server?.close();
  }
}
